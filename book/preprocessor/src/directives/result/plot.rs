//! A recorded plot.
use anyhow::{Context, Result};

use crate::directives::{Directive, Shown};
use crate::svg;
use crate::world::World;

/// A picture of the record, and what it shows.
pub struct Plot {
    file: String,
    alt: String,
}

impl Plot {
    pub fn read(file: &str, alt: Option<&str>) -> Result<Self> {
        let alt = alt.filter(|alt| !alt.trim().is_empty());
        Ok(Self {
            file: file.into(),
            alt: alt
                .context("a plot needs a text for those who do not see it: `| what it shows`")?
                .into(),
        })
    }
}

impl Directive for Plot {
    fn show(&self, world: &World, id: &str) -> Result<Shown> {
        let record = world.record()?;
        let text = record.file(world, &self.file)?;
        let picture = svg::inline(&text, &self.alt, id).with_context(|| self.file.clone())?;
        Ok(Shown::Block(format!(
            "<figure class=\"picture\">\n{picture}</figure>\n{}",
            super::provenance(record)
        )))
    }
}
