//! Predicts how long a launch takes, without a GPU: a small, explicit model of one SM and the memory system behind it.
//!
//! | what | from | where |
//! | --- | --- | --- |
//! | trip counts, wavefronts, addresses, mbarriers | the emulator's trace | [`emulator::WarpTrace`] |
//! | order, stall counts, scoreboards | ptxas's machine code | [`MachineCode`], `machine_code.rs` |
//! | which machine instructions a warp issued | both | [`Walk`], `path.rs`, `anchors.rs` |
//! | a replacement for both, without ptxas | PTX, list-scheduled | [`Listed`], `listed/` |
//! | the cost of an instruction | its opcode | [`Class`], `class.rs` |
//! | intervals, latencies, rates | microbenchmarks on a card | [`Card`], `card/` |
//! | L2 traffic that SMs share | the addresses of one wave of CTAs | [`Sharing`], `sharing.rs` |
//! | when each warp issues each instruction | all of the above | [`simulate()`], `simulate/` |
//! | a picture of an SM's warps over a few loop iterations | a simulation | [`timeline()`], `timeline.rs` |
//! | a long loop, from some of its iterations | what each iteration does | `shorten.rs` |
//! | CTAs that fit on an SM | registers, shared memory, threads | [`Sm`], `occupancy.rs` |
//! | a launch of many waves | a few CTAs of one SM | [`Launch`], `launch.rs` |
mod anchors;
mod card;
mod class;
mod launch;
mod listed;
mod machine_code;
mod memory;
mod occupancy;
mod path;
mod sharing;
mod shorten;
mod simulate;
mod stall;
mod timeline;

pub use card::{BadConstant, Bytes, Card, Interval, Latency, OwnClock, Queue};
pub use class::{Class, Does, PIPES, Pipe};
pub use launch::{Estimate, Launch, LaunchError};
pub use listed::{CtaSize, Listed};
pub use machine_code::{MachineCode, MachineCodeError, MachineInstruction};
pub use memory::MemoryBusy;
pub use occupancy::{AtMost, Sm};
pub use path::{Step, Walk};
pub use sharing::{Place, Read, Sharing, written};
pub use simulate::{
    Activity, Job, PARTITIONS, Program, Simulation, SimulationError, Span, Unit, simulate,
};
pub use stall::{STALLS, Stall};
pub use timeline::timeline;
