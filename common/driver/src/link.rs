//! The driver's linker. Its output, which a client takes for machine code, is PTX: a single text, or several merged
//! into one.
use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED};
use crate::host::{self, In, Out, Text};
use crate::image;
use crate::jit::JitOptions;
use crate::merge::merged;
use crate::state::{State, with};
use crate::table::Handle;

/// A linker's inputs and output.
pub struct Link {
    options: JitOptions,
    inputs: Vec<String>,
    /// The output, NUL-terminated, once it is complete; the client has its address until the link is destroyed.
    linked: Option<Vec<u8>>,
}

/// `CU_JIT_INPUT_PTX`, `CU_JIT_INPUT_FATBINARY` and `CU_JIT_INPUT_LIBRARY`
const PTX: u32 = 1;
const FATBINARY: u32 = 2;
const LIBRARY: u32 = 4;

/// The magic of an archive, and the member that identifies NVIDIA's device runtime.
const ARCHIVE: &[u8] = b"!<arch>\n";
const DEVICE_RUNTIME: &[u8] = b"cuda_device_runtime.o";

impl State {
    fn link(&mut self, handle: Handle) -> Result<&mut Link, Fault> {
        let found = self.links.get_mut(handle);
        found.ok_or(Fault::silent(INVALID_HANDLE))
    }
}

fn add(state: &mut State, link: Handle, kind: u32, bytes: &[u8]) -> Answer {
    let link = state.link(link)?;
    if link.linked.is_some() {
        return Err(Fault::of(
            INVALID_VALUE,
            "this link is complete; create another one",
        ));
    }
    let ptx = match kind {
        PTX | FATBINARY => image::ptx_of_bytes(bytes)?,
        LIBRARY if is_device_runtime(bytes) => include_str!("device_runtime.ptx").to_owned(),
        _ => {
            return Err(Fault::of(
                NOT_SUPPORTED,
                "PTX is needed: machine code, objects, LTO-IR and libraries other than libcudadevrt.a cannot be linked here",
            ));
        }
    };
    link.inputs.push(ptx);
    Ok(())
}

fn is_device_runtime(archive: &[u8]) -> bool {
    let has = |name: &[u8]| archive.windows(name.len()).any(|window| window == name);
    archive.starts_with(ARCHIVE) && has(DEVICE_RUNTIME)
}

entry_points! {
    /// Creates a linker.
    6050 fn cuLinkCreate_v2(count: u32, options: In<u32>, values: Out<usize>, link: Out<Handle>) {
        link.check()?;
        let options = JitOptions::read(count, options, values)?;
        with(|state| link.put(state.links.insert(Link { options, inputs: Vec::new(), linked: None })))
    }
    /// Adds PTX from memory.
    6050 fn cuLinkAddData_v2(
        link: Handle, kind: u32, data: usize, size: usize, _name: Text,
        _count: u32, _options: In<u32>, _values: Out<usize>,
    ) {
        let bytes = host::bytes(data as u64, size)?;
        with(|state| add(state, link, kind, &bytes))
    }
    /// Adds PTX from a file.
    6050 fn cuLinkAddFile_v2(
        link: Handle, kind: u32, path: Text, _count: u32, _options: In<u32>, _values: Out<usize>,
    ) {
        let bytes = image::read(&path.get()?)?;
        with(|state| add(state, link, kind, &bytes))
    }
    /// The PTX and its size; once, as on a GPU.
    5050 fn cuLinkComplete(link: Handle, image: Out<usize>, size: Out<usize>) {
        with(|state| {
            image.check()?;
            let link = state.link(link)?;
            if link.linked.is_some() {
                return Err(Fault::silent(INVALID_HANDLE));
            }
            let ptx = merged(&link.inputs);
            let options = link.options;
            options.log(ptx, |ptx| {
                let bytes = link.linked.insert([ptx.as_bytes(), &[0]].concat());
                image.put(bytes.as_ptr() as usize)?;
                size.put_if_wanted(bytes.len())
            })
        })
    }
    /// Destroys a linker.
    5050 fn cuLinkDestroy(link: Handle) {
        with(|state| state.links.remove(link).map(|_| ()).ok_or(Fault::silent(INVALID_HANDLE)))
    }
}
