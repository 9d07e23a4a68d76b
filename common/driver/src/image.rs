//! What a module is loaded from: PTX text, or a fatbin that contains PTX. Machine code cannot run here.
use crate::error::{FILE_NOT_FOUND, Fault, INVALID_IMAGE, INVALID_VALUE, NO_BINARY_FOR_GPU};
use crate::host::{self, In, Text};

const ELF: u32 = u32::from_le_bytes(*b"\x7fELF");
/// Magic numbers of a fatbin, and of the struct in nvcc's programs that points to one (`fatbinary_section.h`,
/// `fatBinaryCtl.h`).
const FATBIN: u32 = 0xba55_ed50;
const FATBIN_WRAPPER: u32 = 0x4662_43b1;
/// Kinds of an entry of a fatbin.
const KIND_PTX: u16 = 1;
/// Flags of a compressed entry: LZ4, zstd.
const COMPRESSED: u64 = 0x2000 | 0x8000;
/// Larger than any fatbin.
const MOST: u64 = 1 << 30;

/// How to get PTX from compilers that otherwise emit machine code.
const REMEDY: &str = "PTX is needed: this is machine code, which only a GPU runs. NVRTC writes PTX for --gpu-architecture=compute_90a \
     (nvrtcGetPTX; in cuda.core Program.compile(\"ptx\")), nvcc with -ptx or -gencode arch=compute_90a,code=compute_90a";

/// The PTX at an address of the client.
pub fn ptx_at(address: usize) -> Result<String, Fault> {
    if address == 0 {
        return Err(Fault::silent(INVALID_VALUE));
    }
    // One byte at a time: a short text may end at the end of mapped memory.
    let mut magic = [0; 4];
    for (offset, byte) in magic.iter_mut().enumerate() {
        *byte = In::<u8>::at(address.wrapping_add(offset)).get()?;
        if *byte == 0 {
            break;
        }
    }
    match u32::from_le_bytes(magic) {
        ELF => Err(Fault::of(NO_BINARY_FOR_GPU, REMEDY)),
        FATBIN_WRAPPER => {
            // A magic number, a version, and the address.
            let data = In::<u64>::at(address.wrapping_add(8)).get()?;
            ptx_in_fatbin_at(data as usize)
        }
        FATBIN => ptx_in_fatbin_at(address),
        _ => Text::at(address).get(),
    }
}

/// The PTX in a file.
pub fn ptx_of_file(path: &str) -> Result<String, Fault> {
    ptx_of_bytes(&read(path)?)
}

/// A file.
pub fn read(path: &str) -> Result<Vec<u8>, Fault> {
    let bytes = std::fs::read(path);
    bytes.map_err(|error| Fault::of(FILE_NOT_FOUND, format!("{path}: {error}")))
}

/// The PTX in an image of known length.
pub fn ptx_of_bytes(bytes: &[u8]) -> Result<String, Fault> {
    let magic = bytes.first_chunk().map(|magic| u32::from_le_bytes(*magic));
    match magic {
        Some(ELF) => Err(Fault::of(NO_BINARY_FOR_GPU, REMEDY)),
        Some(FATBIN) => ptx_in_fatbin(bytes),
        _ => Ok(text(bytes)),
    }
}

/// The text before the first NUL.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Number of `N` bytes at an offset.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let found = bytes.get(at..at.checked_add(N)?)?;
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(found);
    Some(u64::from_le_bytes(wide))
}

fn ptx_in_fatbin_at(address: usize) -> Result<String, Fault> {
    let mut head = [0; 16];
    host::read(address as u64, &mut head)?;
    let size = number::<2>(&head, 6).unwrap_or(0);
    let size = size.saturating_add(number::<8>(&head, 8).unwrap_or(0));
    if number::<4>(&head, 0) != Some(FATBIN.into()) || !(16..MOST).contains(&size) {
        return Err(Fault::silent(INVALID_IMAGE));
    }
    ptx_in_fatbin(&host::bytes(address as u64, size as usize)?)
}

/// The PTX for the newest architecture in a fatbin: a 16-byte header, then entries, each with its own header.
fn ptx_in_fatbin(bytes: &[u8]) -> Result<String, Fault> {
    let wrong = Fault::silent(INVALID_IMAGE);
    let mut at = number::<2>(bytes, 6).ok_or(wrong.clone())? as usize;
    let mut best: Option<(u64, String)> = None;
    let mut compressed = false;
    while let (Some(kind), Some(head), Some(payload)) = (
        number::<2>(bytes, at),
        number::<4>(bytes, at + 4),
        number::<8>(bytes, at + 8),
    ) {
        let (head, payload) = (head as usize, payload as usize);
        let start = at.checked_add(head).ok_or(wrong.clone())?;
        let end = start.checked_add(payload).ok_or(wrong.clone())?;
        let body = bytes.get(start..end).ok_or(wrong.clone())?;
        if end <= at {
            return Err(wrong);
        }
        if kind == u64::from(KIND_PTX) {
            let arch = number::<4>(bytes, at + 28).unwrap_or(0);
            let flags = number::<8>(bytes, at + 40).unwrap_or(0);
            if flags & COMPRESSED != 0 {
                compressed = true;
            } else if best.as_ref().is_none_or(|(known, _)| *known < arch) {
                // This is text even if it begins like a fatbin: fatbins do not nest.
                best = Some((arch, text(body)));
            }
        }
        at = end;
    }
    match best {
        Some((_, ptx)) => Ok(ptx),
        None if compressed => Err(Fault::of(
            NO_BINARY_FOR_GPU,
            "PTX is needed: this fatbin's is compressed; make it with `nvcc --no-compress` or `fatbinary --compress=false`, or load PTX itself",
        )),
        None => Err(Fault::of(NO_BINARY_FOR_GPU, REMEDY)),
    }
}
