//! How long a launch takes, without a GPU: a small explicit model of one SM and the memory behind it.
//!
//! | what | from | where |
//! | --- | --- | --- |
//! | trip counts, wavefronts, addresses, mbarriers | the emulator's trace | [`emulator::WarpTrace`] |
//! | order, stall counts, scoreboards | ptxas's machine code | [`MachineCode`], `machine_code.rs` |
//! | which machine instructions a warp issued | both | [`Walk`], `path.rs` |
//! | what stands for both without ptxas | PTX, list-scheduled | [`Listed`], `listed/` |
//! | what an instruction asks of its SM | its opcode | [`Class`], `class.rs` |
//! | intervals, latencies, rates | microbenchmarks on a card | [`Card`], `card/` |
//! | what SMs ask of the L2 together | the addresses of a wave of CTAs | [`Sharing`], `sharing.rs` |
//! | when each warp issues what | all of them | [`simulate()`], `simulate/` |
//! | warps of an SM over a few steps, as a picture | a simulation | [`timeline()`], `timeline.rs` |
//! | a long loop, by some of its rounds | what it does each time | `shorten.rs` |
//! | a launch of many waves | a few CTAs of one SM | [`Launch`], `launch.rs` |
mod card;
mod class;
mod launch;
mod listed;
mod machine_code;
mod memory;
mod path;
mod sharing;
mod shorten;
mod simulate;
mod stall;
mod timeline;

pub use card::{Bytes, Card, Interval, Latency, NoConstant, Queue};
pub use class::{Class, Does, PIPES, Pipe};
pub use launch::{Estimate, Launch, LaunchError};
pub use listed::Listed;
pub use machine_code::{MachineCode, MachineCodeError, MachineInstruction};
pub use memory::MemoryBusy;
pub use path::{Step, Walk};
pub use sharing::{Read, Sharing, Spread};
pub use simulate::{
    Activity, Job, PARTITIONS, Program, Simulation, SimulationError, Span, Unit, simulate,
};
pub use stall::{STALLS, Stall};
pub use timeline::timeline;
