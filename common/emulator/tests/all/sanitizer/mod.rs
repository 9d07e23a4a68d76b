//! The classes of mistakes that `sanitize` finds, each paired with a correct twin.
mod flags;
mod global;
mod lanes;
mod undefined;
