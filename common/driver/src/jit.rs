//! Options of the driver's JIT compiler: only the log buffers matter here.
use crate::error::{Answer, Fault, INVALID_VALUE};
use crate::host::{In, Out};

// CUjit_option
const INFO_LOG_BUFFER: u32 = 3;
const INFO_LOG_BYTES: u32 = 4;
const ERROR_LOG_BUFFER: u32 = 5;
const ERROR_LOG_BYTES: u32 = 6;
/// More options than there are.
const MOST: u32 = 256;

/// The log buffers.
#[derive(Clone, Copy, Default)]
pub struct JitOptions {
    info: Log,
    error: Log,
}

/// A buffer of the client; the option's value is its size before the call and the bytes written after it.
#[derive(Clone, Copy, Default)]
struct Log {
    buffer: usize,
    /// Address of the option's value, which receives the number of bytes written.
    length: usize,
}

impl JitOptions {
    /// Parses the two arrays.
    pub fn read(count: u32, options: In<u32>, values: Out<usize>) -> Result<Self, Fault> {
        if count > MOST {
            return Err(Fault::silent(INVALID_VALUE));
        }
        let mut this = Self::default();
        for (index, option) in options.all(count as usize)?.into_iter().enumerate() {
            let place = values.address().wrapping_add(index * size_of::<usize>());
            match option {
                INFO_LOG_BUFFER => this.info.buffer = In::at(place).get()?,
                ERROR_LOG_BUFFER => this.error.buffer = In::at(place).get()?,
                INFO_LOG_BYTES => this.info.length = place,
                ERROR_LOG_BYTES => this.error.length = place,
                _ => {}
            }
        }
        Ok(this)
    }

    /// Passes a result on; an error is written to the log first.
    pub fn log<T>(&self, result: Result<T, Fault>, done: impl FnOnce(T) -> Answer) -> Answer {
        let why = match &result {
            Ok(_) => "",
            Err(fault) => fault.why.as_deref().unwrap_or_default(),
        };
        self.info.write("")?;
        self.error.write(why)?;
        result.and_then(done)
    }
}

impl Log {
    fn write(self, text: &str) -> Answer {
        if self.buffer == 0 || self.length == 0 {
            return Ok(());
        }
        // The value is a 32-bit number in place of a pointer.
        let room = In::<u32>::at(self.length).get()? as usize;
        if room > 0 {
            Out::<u8>::at(self.buffer).put_text(text, room)?;
        }
        let written = if text.is_empty() {
            0
        } else {
            text.len().min(room.saturating_sub(1)) + 1
        };
        Out::<u32>::at(self.length).put(written as u32)
    }
}
