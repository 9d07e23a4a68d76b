//! What `sanitize` finds, class by class: mistakes, each beside a twin that is not one.
mod flags;
mod global;
mod lanes;
mod undefined;
