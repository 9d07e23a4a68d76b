//! The one device: an H100 that is emulated.
use emulator::Card;

use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_DEVICE, INVALID_VALUE};
use crate::host::{Out, Text};
use crate::state::{self, with};

/// The CUDA version whose driver API this is: 13.0, of which NVRTC and the Python bindings in use are.
const VERSION: i32 = 13_000;
/// What the device is called. `gpu::DeviceInfo::emulated` looks at how it begins.
const NAME: &str = "Emulated NVIDIA H100 (no GPU)";
/// Not that of any card: "emulated GPU" in ASCII.
const UUID: [u8; 16] = *b"emulated GPU 0\0\0";
const PCI_BUS_ID: &str = "0000:00:00.0";

/// That it is the one device there is.
pub fn check(device: i32) -> Answer {
    match device {
        0 => Ok(()),
        _ => Err(Fault::silent(INVALID_DEVICE)),
    }
}

/// A device attribute, by the number of `CUdevice_attribute`. Those that the emulator counts by are its own; the others are
/// an H100 SXM's (CUDA C++ Programming Guide, "Compute Capabilities"; NVIDIA H100 Tensor Core GPU data sheet), and 0 for
/// what is not here, such as textures of a width, peers and shared handles.
fn attribute(card: Card, which: i32) -> Option<i32> {
    let (major, minor) = card.compute_capability();
    let number = |value: u32| i32::try_from(value).ok();
    Some(match which {
        1..=3 => 1024,             // threads of a block, in all, in x and in y
        4 => 64,                   // in z
        5 => i32::MAX,             // blocks of a grid in x
        6 | 7 => 65_535,           // in y and z
        8 => 48 << 10,             // shared memory of a block that asks for no more
        9 => 64 << 10,             // constant memory
        10 => 32,                  // threads of a warp
        11 => i32::MAX,            // pitch of a copy
        12 | 82 => 65_536,         // registers of a block and of an SM
        13 => 1_980_000,           // kHz of the SMs, at most
        14 | 30 => 512,            // alignment of textures and surfaces
        15 | 31 => 1,              // copies and kernels beside kernels
        16 => number(card.sms())?, // SMs
        19 | 41 => 1,              // pinned memory of the host has the same address on the device
        36 => 2_619_000,           // kHz of the memory
        37 => 5120,                // bits of its bus
        38 => 50 << 20,            // L2
        39 => 2048,                // threads of an SM
        40 => 3,                   // copy engines
        51 => 32,                  // alignment of a texture's pitch
        75 => number(major)?,      // compute capability
        76 => number(minor)?,
        78..=80 => 1, // priorities of streams, L1 for global and local memory
        81 => number(card.shared_of_an_sm())?,
        83 => 1, // managed memory, which the host leaves alone while a kernel runs (89: 0)
        87 => 2, // f32 to f64 throughput
        90 => 1, // preemption
        95 => 1, // cooperative launches
        97 => number(card.shared_of_a_block())?,
        99 => 1,   // cuMemHostRegister, whose memory has a device address of its own (91: 0)
        106 => 32, // blocks of an SM
        111 => 1024, // shared memory of a block that is the system's
        115 => 1,  // memory pools
        120 => i32::from(major >= 9), // clusters
        126 => 4,  // memory synchronization domains
        127 => i32::from(major >= 9), // tensor maps
        129 => 1,  // pointers to functions
        131 => -1, // no NUMA node of the device
        142 | 144 => 1, // memory pools of the host
        _ if (1..=157).contains(&which) => 0,
        _ => return None,
    })
}

entry_points! {
    /// Must come first.
    2000 fn cuInit(flags: u32) {
        match flags {
            0 => state::initialize(),
            _ => Err(Fault::silent(INVALID_VALUE)),
        }
    }
    /// 1000 times the major version, 10 times the minor.
    2020 fn cuDriverGetVersion(version: Out<i32>) { version.put(VERSION) }
    /// How many devices: one.
    2000 fn cuDeviceGetCount(count: Out<i32>) { with(|_| count.put(1)) }
    /// A device is its number.
    2000 fn cuDeviceGet(device: Out<i32>, ordinal: i32) {
        with(|_| { check(ordinal)?; device.put(ordinal) })
    }
    /// Its name.
    2000 fn cuDeviceGetName(name: Out<u8>, room: i32, device: i32) {
        with(|_| { check(device)?; name.put_text(NAME, usize::try_from(room).unwrap_or(0)) })
    }
    /// Its UUID.
    9020 fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) {
        with(|_| { check(device)?; uuid.put(UUID) })
    }
    /// Its UUID.
    11040 fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: i32) {
        with(|_| { check(device)?; uuid.put(UUID) })
    }
    /// Bytes of device memory: what the emulator lets a client have.
    3020 fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        with(|state| { check(device)?; bytes.put(state.gpu.options().limits.memory as usize) })
    }
    /// An attribute.
    2000 fn cuDeviceGetAttribute(value: Out<i32>, which: i32, device: i32) {
        with(|state| {
            check(device)?;
            value.check()?;
            value.put(attribute(state.gpu.card(), which).ok_or(Fault::silent(INVALID_VALUE))?)
        })
    }
    /// Major and minor number of the compute capability.
    2000 fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) {
        with(|state| {
            check(device)?;
            let capability = state.gpu.card().compute_capability();
            major.put(capability.0 as i32)?;
            minor.put(capability.1 as i32)
        })
    }
    /// Where it would be on the bus.
    4010 fn cuDeviceGetPCIBusId(text: Out<u8>, room: i32, device: i32) {
        with(|_| { check(device)?; text.put_text(PCI_BUS_ID, usize::try_from(room).unwrap_or(0)) })
    }
    /// The device there.
    4010 fn cuDeviceGetByPCIBusId(device: Out<i32>, text: Text) {
        with(|_| match text.get()?.as_str() {
            PCI_BUS_ID => device.put(0),
            _ => Err(Fault::silent(INVALID_DEVICE)),
        })
    }
    /// There is no other device.
    4000 fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) {
        with(|_| { check(device)?; check(peer)?; can.put(0) })
    }
    /// There is no other device.
    8000 fn cuDeviceGetP2PAttribute(value: Out<i32>, _which: i32, device: i32, peer: i32) {
        with(|_| { check(device)?; check(peer)?; value.put(0) })
    }
    /// Processes cannot share it.
    11040 fn cuDeviceGetExecAffinitySupport(supported: Out<i32>, _kind: i32, device: i32) {
        with(|_| { check(device)?; supported.put(0) })
    }
}
