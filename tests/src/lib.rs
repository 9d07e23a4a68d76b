//! Tests that cross crates: the rungs as a reader runs them, prediction against measurement, and the invariants of
//! ARCHITECTURE.md.
pub mod attempts;
pub mod broken;
pub mod hostile;
pub mod sanitizers;
pub mod workspace;
