//! `cargo ladder` as a reader calls it. One program, since each separate test program would link everything again.
mod calibrate;
mod classes;
mod commands;
mod course;
mod emulate;
mod export;
mod faults;
mod gradescope;
mod layout;
mod look;
mod records;
mod sandbox;
mod strangers;
mod timings;
mod untrusted;
mod watch;
