//! `{{#commands}}`: the command line reference, made from what the programs say of themselves.
use anyhow::{Result, ensure};
use transcript::CommandLine;

use super::{Directive, Shown, run};
use crate::world::World;

/// All commands of `cargo ladder`, and those of a rung.
pub struct Commands {
    ladder: CommandLine,
}

impl Commands {
    pub fn read(words: &str) -> Result<Self> {
        ensure!(words.is_empty(), "`{{{{#commands}}}}` takes no words");
        Ok(Self {
            ladder: "cargo ladder --help".parse()?,
        })
    }
}

impl Directive for Commands {
    fn commands(&self) -> Vec<CommandLine> {
        vec![self.ladder.clone()]
    }

    fn show(&self, world: &World, _: &str) -> Result<Shown> {
        let text = world.success(&self.ladder)?;
        Ok(Shown::Block(run::block(&self.ladder.text, text)))
    }
}
