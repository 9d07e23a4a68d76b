//! `cuGetProcAddress`: the address of a function by its name without a suffix, and the version that a client was compiled for.
use std::sync::OnceLock;

use crate::entry::{EntryPoint, entry_points};
use crate::error::{Answer, Fault, INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED};
use crate::host::{In, Out, Text};
use crate::{
    context, device, event, graph, graph_memory, graph_node, host_memory, launch, link, log,
    memory, module, occupancy, pointer, pool, refusals, results, stream, tensor_map,
};

// CUdriverProcAddressQueryResult
const FOUND: u32 = 0;
const SYMBOL_NOT_FOUND: u32 = 1;
const VERSION_NOT_SUFFICIENT: u32 = 2;

/// Every function that this library has.
pub fn all() -> &'static [EntryPoint] {
    static ALL: OnceLock<Vec<EntryPoint>> = OnceLock::new();
    ALL.get_or_init(|| {
        let groups = [
            results::entry_points(),
            device::entry_points(),
            context::entry_points(),
            module::entry_points(),
            link::entry_points(),
            memory::entry_points(),
            host_memory::entry_points(),
            pointer::entry_points(),
            pool::entry_points(),
            stream::entry_points(),
            event::entry_points(),
            graph::entry_points(),
            graph_node::entry_points(),
            graph_memory::entry_points(),
            launch::entry_points(),
            occupancy::entry_points(),
            tensor_map::entry_points(),
            refusals::entry_points(),
            entry_points(),
        ];
        groups.into_iter().flatten().collect()
    })
}

/// A name without `_v2` and its like.
fn base(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((base, version)) if version.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    }
}

/// The newest function of a name that a client of this version knows, or the name itself if it has a suffix.
pub fn find(name: &str, version: i32) -> Result<usize, u32> {
    let mut of_name = all()
        .iter()
        .filter(|one| base(one.name) == name || one.name == name);
    let newest = of_name.clone().filter(|one| one.since <= version);
    match newest.max_by_key(|one| one.since) {
        Some(found) => Ok(found.address),
        None if of_name.next().is_some() => Err(VERSION_NOT_SUFFICIENT),
        None => Err(SYMBOL_NOT_FOUND),
    }
}

fn get(name: Text, address: Out<usize>, version: i32, status: Out<u32>) -> Answer {
    address.check()?;
    let name = name.get()?;
    match find(&name, version) {
        Ok(found) => {
            status.put_if_wanted(FOUND)?;
            address.put(found)
        }
        Err(why) => {
            log::remark(&format!(
                "{name} is not there: a program that calls it cannot run on the emulator"
            ));
            status.put_if_wanted(why)?;
            address.put(0)?;
            Err(Fault::silent(NOT_FOUND))
        }
    }
}

/// The table that libcudart asks for first, 6bd5fb6c-5bf4-e74a-8987-d93912fd9df9.
const RUNTIME: [u8; 16] = [
    0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9,
];

entry_points! {
    /// The address of a function.
    11030 fn cuGetProcAddress(name: Text, address: Out<usize>, version: i32, _flags: u64) {
        get(name, address, version, Out::at(0))
    }
    /// The same, with the reason where there is none.
    12000 fn cuGetProcAddress_v2(name: Text, address: Out<usize>, version: i32, _flags: u64, status: Out<u32>) {
        get(name, address, version, status)
    }
    /// Tables that NVIDIA does not document. Its Python packages ask for one that they can do without; its runtime library
    /// cannot start without [`RUNTIME`].
    3000 fn cuGetExportTable(table: Out<usize>, id: In<[u8; 16]>) {
        table.put_if_wanted(0)?;
        match id.get()? {
            RUNTIME => Err(Fault::of(
                NOT_SUPPORTED,
                "NVIDIA's runtime library (libcudart: cudaMalloc, <<<>>>) needs tables of the driver that no document describes. Write the host's part with the driver API (cuMemAlloc, cuLaunchKernel; in Python cuda.core), or launch the kernel alone: cargo ladder emulate FILE.cu",
            )),
            _ => Err(Fault::silent(INVALID_VALUE)),
        }
    }
}
