//! `printf` and `assert`: functions that the driver provides.
use super::block::Execution;
use super::lane_access::{Fatal, LaneAccess, Result};
use super::lanes::lanes;
use super::warp::Warp;
use crate::Space;
use crate::finding::FindingKind;
use crate::launch::Printed;
use crate::op::SystemCall;
use crate::printf::{self, Arguments};
use crate::shadow::Site;

/// The longest text without a terminating NUL, in bytes.
const MOST_TEXT: usize = 1 << 16;
/// The most that a cluster may print, in MiB, with a record of each call's location. A GPU keeps the latest MiB of a launch.
const MOST_PRINTED: u64 = 64;

impl Warp {
    pub(super) fn system_call(
        &mut self,
        call: SystemCall,
        pc: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        match call {
            SystemCall::Print {
                format,
                arguments,
                result,
            } => {
                for lane in lanes(mask) {
                    let read = self.print(format, arguments, self.site(pc, lane), cx)?;
                    if let Some(result) = result {
                        let at = self.local_place(lane, result, cx);
                        self.local[at..at + 4].copy_from_slice(&read.to_le_bytes());
                    }
                }
                Ok(())
            }
            // The launch ends at the first failure; on a GPU every thread at the assertion reports it.
            SystemCall::AssertFail {
                message,
                file,
                line,
                function,
            } => {
                for lane in lanes(mask) {
                    let site = self.site(pc, lane);
                    let mut text = |place| {
                        let address = self.local_value(lane, place, 8, cx);
                        let text = Reading {
                            warp: self,
                            site,
                            cx,
                        }
                        .text_at(address)?;
                        Ok(String::from_utf8_lossy(&text).into_owned())
                    };
                    let kind = FindingKind::Assertion {
                        message: text(message)?,
                        file: text(file)?,
                        function: text(function)?,
                        line: self.local_value(lane, line, 4, cx) as u32,
                    };
                    cx.report(kind, site);
                }
                match mask {
                    0 => Ok(()),
                    _ => Err(Fatal),
                }
            }
        }
    }

    /// Prints for one lane. Returns the result of `vprintf`: the number of arguments that it read, or -1 for a null
    /// format.
    fn print(
        &self,
        format: u32,
        arguments: u32,
        site: Site,
        cx: &mut Execution<'_>,
    ) -> Result<i32> {
        let [format, arguments] =
            [format, arguments].map(|place| self.local_value(site.lane, place, 8, cx));
        if format == 0 {
            return Ok(-1);
        }
        let mut reading = Reading {
            warp: self,
            site,
            cx,
        };
        let format = reading.text_at(format)?;
        let mut given = Given {
            reading,
            at: arguments,
        };
        let (text, read) = printf::format(&format, &mut given)?;
        cx.writes.print(text.len());
        if cx.writes.printed() > MOST_PRINTED << 20 {
            let reason = format!(
                "more than {MOST_PRINTED} MiB were printed, of which a GPU keeps the latest MiB; print in fewer threads or steps"
            );
            cx.report(FindingKind::InvalidCall(reason), site);
            return Err(Fatal);
        }
        cx.block.activity += 1;
        let location = cx.location(site);
        cx.common.printed.push(Printed {
            location,
            text: String::from_utf8_lossy(&text).into_owned(),
        });
        Ok(i32::try_from(read).unwrap_or(i32::MAX))
    }

    /// The offset of a lane's variable in the warp's local memory.
    fn local_place(&self, lane: usize, offset: u32, cx: &Execution<'_>) -> usize {
        lane * cx.machine.local as usize + (self.calls.base(lane) + offset) as usize
    }

    /// The value of a lane's `.param` variable; lowering has checked its size.
    fn local_value(&self, lane: usize, offset: u32, bytes: usize, cx: &Execution<'_>) -> u64 {
        let at = self.local_place(lane, offset, cx);
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&self.local[at..at + bytes]);
        u64::from_le_bytes(value)
    }
}

/// Reads from generic addresses of a lane; an invalid address is a finding.
struct Reading<'w, 'c, 'x> {
    warp: &'w Warp,
    site: Site,
    cx: &'c mut Execution<'x>,
}

impl Reading<'_, '_, '_> {
    fn read(&mut self, address: u64, out: &mut [u8]) -> Result<()> {
        let access = LaneAccess::new(Space::Generic, address, out.len() as u32, self.site);
        self.cx.read(self.warp, &access, out)
    }

    /// The bytes up to a NUL.
    fn text_at(&mut self, address: u64) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < MOST_TEXT {
            let mut byte = [0];
            self.read(address.wrapping_add(text.len() as u64), &mut byte)?;
            match byte {
                [0] => break,
                [byte] => text.push(byte),
            }
        }
        Ok(text)
    }
}

/// The arguments of a `printf`.
struct Given<'w, 'c, 'x> {
    reading: Reading<'w, 'c, 'x>,
    at: u64,
}

impl Arguments for Given<'_, '_, '_> {
    type Error = Fatal;

    fn value(&mut self, offset: u64, bytes: u32) -> Result<u64> {
        let mut value = [0; 8];
        let out = &mut value[..bytes as usize];
        self.reading.read(self.at.wrapping_add(offset), out)?;
        Ok(u64::from_le_bytes(value))
    }

    fn text(&mut self, address: u64) -> Result<Vec<u8>> {
        self.reading.text_at(address)
    }
}
