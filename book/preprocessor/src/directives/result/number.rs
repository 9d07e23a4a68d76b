//! A recorded number within a sentence.
use anyhow::Result;

use crate::directives::{Directive, Shown};
use crate::world::World;

/// Of which rung, at which size, and which number.
pub struct Number {
    label: String,
    size: String,
    field: String,
}

impl Number {
    pub fn new(label: String, size: &str, field: &str) -> Self {
        Self {
            label,
            size: size.into(),
            field: field.into(),
        }
    }
}

impl Directive for Number {
    fn show(&self, world: &World, _: &str) -> Result<Shown> {
        let number = world
            .record()?
            .number(&self.label, &self.size, &self.field)?;
        Ok(Shown::Inline(number))
    }
}
