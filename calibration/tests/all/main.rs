//! The recordings, compared with the emulator. One program, since each separate test program would link everything
//! again.
mod approximate;
mod arithmetic_h100;
mod fragments;
mod hardware;
mod tma_layout;
mod wgmma_layout;
