//! `{{#commands}}`: the command line reference, generated from the programs' `--help`.
use anyhow::Result;
use transcript::CommandLine;

use super::{Directive, run};
use crate::world::World;

/// A program whose commands are all shown: title, prefix of the anchors, and invocation.
const PROGRAMS: [(&str, &str, &str); 2] = [
    ("The ladder", "ladder", "cargo ladder"),
    // Any rung would do; this one has every option, because its kernels have tiles.
    ("A rung", "rung", "cargo run -p rung16_stream_k --"),
];

/// The directive, which has no arguments.
pub fn directive() -> Directive {
    let commands = |world: &World| {
        let helps = PROGRAMS.iter().flat_map(|(.., start)| below(world, start));
        helps.map(|(_, help)| help).collect()
    };
    Directive {
        commands: Box::new(commands),
        ..Directive::block(|world, _| show(world))
    }
}

fn show(world: &World) -> Result<String> {
    let mut out = String::new();
    for (title, anchor, start) in PROGRAMS {
        out += &format!("## {title} {{#{anchor}}}\n\n");
        for (name, help) in below(world, start) {
            let text = world.success(&help)?;
            let heading = name.trim_end_matches(" --");
            let inner = name.trim_start_matches(start).replace(' ', "-");
            let block = run::block(&help.text, text);
            out += &format!("### `{heading}` {{#{anchor}{inner}-help}}\n\n{block}\n");
        }
    }
    Ok(out)
}

/// A command and its subcommands, as far as known, each with the command that prints its help.
fn below(world: &World, name: &str) -> Vec<(String, CommandLine)> {
    let Ok(help) = format!("{name} --help").parse::<CommandLine>() else {
        return Vec::new();
    };
    let text = world
        .output(&help)
        .map_or("", |output| output.text.as_str());
    let inner: Vec<String> = subcommands(text)
        .map(|inner| format!("{name} {inner}"))
        .collect();
    let inner = inner.iter().flat_map(|inner| below(world, inner));
    [(name.to_owned(), help)].into_iter().chain(inner).collect()
}

/// The names that clap lists under "Commands:".
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // A long description continues on indented lines.
    let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_a_help_text() {
        let help = "Usage: x\n\nCommands:\n  bench  Time\n           more of it\n  get-nvrtc\n  help   Print\n\nOptions:\n  -h\n";
        assert_eq!(
            subcommands(help).collect::<Vec<_>>(),
            ["bench", "get-nvrtc"]
        );
        assert_eq!(subcommands("Usage: x\n").count(), 0);
    }
}
