//! The driver's linker. Its result, which a client takes for machine code, is the PTX that it was given.
use crate::entry::entry_points;
use crate::error::{Fault, INVALID_HANDLE, INVALID_IMAGE, INVALID_PTX, NOT_SUPPORTED};
use crate::host::{self, In, Out, Text};
use crate::image;
use crate::jit::JitOptions;
use crate::state::{State, with};
use crate::table::Handle;

/// What is to be linked.
pub struct Link {
    options: JitOptions,
    inputs: Vec<String>,
    /// With a NUL behind it; the client has its address until the link is destroyed.
    linked: Vec<u8>,
}

/// `CU_JIT_INPUT_PTX` and `CU_JIT_INPUT_FATBINARY`
const PTX: u32 = 1;
const FATBINARY: u32 = 2;

impl State {
    fn link(&mut self, handle: Handle) -> Result<&mut Link, Fault> {
        let found = self.links.get_mut(handle);
        found.ok_or(Fault::silent(INVALID_HANDLE))
    }
}

fn add(state: &mut State, link: Handle, kind: u32, bytes: &[u8]) -> Result<(), Fault> {
    if !matches!(kind, PTX | FATBINARY) {
        return Err(Fault::of(
            NOT_SUPPORTED,
            "PTX is needed: machine code, objects and LTO-IR cannot be linked here; give the linker one PTX",
        ));
    }
    let ptx = image::ptx_of_bytes(bytes)?;
    state.link(link)?.inputs.push(ptx);
    Ok(())
}

entry_points! {
    /// A linker.
    6050 fn cuLinkCreate_v2(count: u32, options: In<u32>, values: Out<usize>, link: Out<Handle>) {
        link.check()?;
        let options = JitOptions::read(count, options, values)?;
        with(|state| link.put(state.links.insert(Link { options, inputs: Vec::new(), linked: Vec::new() })))
    }
    /// Adds PTX from memory.
    6050 fn cuLinkAddData_v2(
        link: Handle, kind: u32, data: u64, size: usize, _name: Text,
        _count: u32, _options: In<u32>, _values: Out<usize>,
    ) {
        let mut bytes = Vec::new();
        let reserved = bytes.try_reserve_exact(size);
        reserved.map_err(|_| Fault::silent(INVALID_IMAGE))?;
        bytes.resize(size, 0);
        host::read(data, &mut bytes)?;
        with(|state| add(state, link, kind, &bytes))
    }
    /// Adds PTX from a file.
    6050 fn cuLinkAddFile_v2(
        link: Handle, kind: u32, path: Text, _count: u32, _options: In<u32>, _values: Out<usize>,
    ) {
        let ptx = image::ptx_of_file(&path.get()?)?;
        with(|state| add(state, link, kind, ptx.as_bytes()))
    }
    /// The one PTX there is, with its size.
    5050 fn cuLinkComplete(link: Handle, image: Out<usize>, size: Out<usize>) {
        with(|state| {
            image.check()?;
            let link = state.link(link)?;
            let one = match &link.inputs[..] {
                [one] => Ok(one.clone()),
                all => Err(Fault::of(
                    INVALID_PTX,
                    format!("{} PTX texts to link; the emulator takes one: compile them as one source", all.len()),
                )),
            };
            let options = link.options;
            options.log(one, |ptx| {
                link.linked = [ptx.as_bytes(), &[0]].concat();
                image.put(link.linked.as_ptr() as usize)?;
                size.put_if_wanted(link.linked.len())
            })
        })
    }
    /// Frees it.
    5050 fn cuLinkDestroy(link: Handle) {
        with(|state| state.links.remove(link).map(|_| ()).ok_or(Fault::silent(INVALID_HANDLE)))
    }
}
