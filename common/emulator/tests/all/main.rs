//! Tests of instructions, kernels and launches. They are one program, to link the emulator only once.
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/warpgroup.rs"]
mod warpgroup;

mod approximate;
mod atomics;
mod barriers;
mod before_load;
mod bulk_copies;
mod calls;
mod cards;
mod clusters;
mod context;
mod control_flow_only;
mod cooperative;
mod determinism;
mod divergence;
mod examples;
mod hostile;
mod integers;
mod limits;
mod matrix;
mod mbarriers;
mod memory_faults;
mod memory_spaces;
mod mma_formats;
mod modes;
mod observed;
mod printing;
mod races;
mod refusals;
mod sanitizer;
mod small_matrices;
mod snapshot;
mod strangers;
mod texts;
mod warp_level;
mod wgmma;
mod wgmma_order;
mod wmma;
