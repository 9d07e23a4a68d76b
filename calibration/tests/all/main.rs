//! The recordings, held against the emulator. One program, since each file alone would be linked with all of it again.
mod approximate;
mod arithmetic_h100;
mod fragments;
mod hardware;
mod tma_layout;
mod wgmma_layout;
