//! The rungs, from their `main.rs` files.
include!(concat!(env!("OUT_DIR"), "/rungs.rs"));
