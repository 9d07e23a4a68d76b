//! Facts that cross crates, and the invariants of ARCHITECTURE.md.
