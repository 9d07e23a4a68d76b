//! What crosses crates. One program, since each file alone would be linked with all of them again.
mod bound;
mod broken_kernels;
mod h100;
mod hostile;
mod instruction_set;
mod invariants;
mod layout_agrees;
mod layout_as_executed;
mod layout_as_recorded;
mod layout_tables;
mod prediction;
mod readme;
mod rungs;
mod sanitizers;
mod tiles;
mod tma_as_executed;
mod wgmma_as_executed;
