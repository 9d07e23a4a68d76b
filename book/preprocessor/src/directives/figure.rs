//! `{{#figure …}}`: a picture in the page, drawn by `cargo ladder layout`, `clocks` or `approximate`, printed by
//! another command of this repository, or drawn by hand in book/figures/.
use anyhow::{Context, Result, bail};
use html_escape::encode_double_quoted_attribute as escape;
use transcript::CommandLine;

use super::{Directive, options};
use crate::svg;
use crate::world::exit_code;

/// The folder of hand-drawn pictures.
const DRAWN: &str = "book/figures";

/// Subcommands of the ladder that print text, SVG or JSON, depending on `--format`.
pub const LADDER: [&str; 3] = ["layout", "clocks", "approximate"];

/// Parses the arguments.
pub fn read(words: &str) -> Result<Directive> {
    let (what, alt) = options::split(words);
    let Some(alt) = alt.map(str::trim).filter(|alt| !alt.is_empty()) else {
        bail!(
            "a figure needs a description for readers who do not see it: `{{{{#figure … | what it shows}}}}`"
        );
    };
    let alt = alt.to_owned();
    let (first, _) = what.split_once(' ').unwrap_or((what, ""));
    // Pictures that are drawn in the page's colors use no others.
    let class = if first == "clocks" {
        "picture drawn"
    } else {
        "picture"
    };
    let printed = first == "cargo";
    if !printed && !LADDER.contains(&first) {
        let file = format!("{DRAWN}/{what}");
        return Ok(Directive::block(move |world, id| {
            let picture = svg::inline(&world.read(&file)?, &alt, id);
            let picture = picture.with_context(|| file.clone())?;
            Ok(figure("picture drawn", &picture))
        }));
    }
    let (command, line) = match printed {
        true => (what.to_owned(), what.to_owned()),
        false => {
            let command = format!("cargo ladder {what}");
            (command.clone(), format!("{command} --format svg"))
        }
    };
    let line: CommandLine = line.parse()?;
    Ok(Directive::of_command(line.clone(), move |world, id| {
        let output = world.output(&line)?;
        // An unsound mapping is drawn, too, and then the command exits with 1.
        if output.code != Some(0) && !output.text.starts_with("<svg") {
            exit_code(&line, output, 0)?;
        }
        let picture = svg::inline(&output.text, &alt, id).with_context(|| line.text.clone())?;
        let command = escape(&command);
        Ok(figure(
            class,
            &format!("{picture}<figcaption><code>{command}</code></figcaption>\n"),
        ))
    }))
}

/// The picture and the caption below it.
pub fn figure(class: &str, picture: &str) -> String {
    format!("<figure class=\"{class}\">\n{picture}</figure>\n")
}
