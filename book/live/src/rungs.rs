//! The rungs, each as its own `main.rs` states it.
include!(concat!(env!("OUT_DIR"), "/rungs.rs"));
