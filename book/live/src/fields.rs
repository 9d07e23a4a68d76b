//! What a reader may change in a command, from the command line's own definition: so there is no second list of options.
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde::Serialize;

/// Options that a page does not offer: it has one device, shows text, says itself when to stop, and has the files of what it
/// shows only.
const HIDDEN: [&str; 15] = [
    "accesses",
    "alone",
    "device",
    "file",
    "format",
    "json",
    "lab",
    "max_blocks",
    "max_instructions",
    "max_memory",
    "quick",
    "runs",
    "scale",
    "sizes",
    "timeline",
];

/// Subcommands that need a GPU.
const OF_A_GPU: [&str; 3] = ["bench", "launch", "help"];

/// A command's parts: what stays, and what may be changed.
#[derive(Serialize)]
pub struct Fields {
    /// The subcommands that lead to it, such as `layout`, `swizzle`.
    path: Vec<String>,
    /// If it can be left out or exchanged: what a rung may be told to do.
    choices: Vec<Choice>,
    /// Options and operands, in their order.
    fields: Vec<Field>,
}

/// A subcommand.
#[derive(Serialize)]
struct Choice {
    name: String,
    help: String,
}

/// An option or an operand.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Field {
    name: String,
    /// `--name`; an operand has none.
    long: Option<String>,
    help: String,
    /// Whether it is there or not, and takes nothing.
    flag: bool,
    /// What it may be, if that is a list.
    values: Vec<String>,
    /// What it is where the command does not say.
    default: Option<String>,
    required: bool,
    /// Operands may be several.
    several: bool,
    /// What it is in this command.
    given: Vec<String>,
    /// Whether it is nothing for a page to offer.
    hidden: bool,
}

/// The fields of a command that was given these words, the first of which is its name.
///
/// # Errors
/// If they are not a command line of its.
pub fn of(mut command: Command, words: &[&str]) -> Result<Fields, String> {
    command.build();
    let matches = command.clone().try_get_matches_from(words);
    let matches = matches.map_err(|error| error.to_string())?;
    let (mut command, mut matches) = (&command, &matches);
    let mut path = Vec::new();
    let mut choices = Vec::new();
    if !command.is_subcommand_required_set() {
        let all = command.get_subcommands();
        let these = all.filter(|one| !OF_A_GPU.contains(&one.get_name()));
        choices.extend(these.map(|one| Choice {
            name: one.get_name().into(),
            help: one.get_about().map_or(String::new(), ToString::to_string),
        }));
    }
    while let Some((name, inner)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else {
            break;
        };
        path.push(name.to_owned());
        (command, matches) = (found, inner);
    }
    let fields = command.get_arguments().filter(|arg| arg.get_id() != "help");
    Ok(Fields {
        path,
        choices,
        fields: fields.map(|arg| Field::of(arg, matches)).collect(),
    })
}

impl Fields {
    /// What an option may be, where the command line does not list it; nothing to offer if that is one thing only.
    pub fn offer(&mut self, name: &str, mut values: Vec<String>) {
        values.dedup();
        if let Some(field) = self.fields.iter_mut().find(|field| field.name == name) {
            field.hidden |= values.len() < 2;
            field.values = values;
        }
    }
}

impl Field {
    fn of(arg: &Arg, matches: &ArgMatches) -> Self {
        let id = arg.get_id().as_str();
        let flag = matches!(arg.get_action(), ArgAction::SetTrue);
        let typed = matches.value_source(id) == Some(clap::parser::ValueSource::CommandLine);
        let given = match (typed, flag) {
            (false, _) => Vec::new(),
            (true, true) => vec!["true".into()],
            (true, false) => {
                let raw = matches.get_raw(id).into_iter().flatten();
                raw.map(|value| value.to_string_lossy().into_owned())
                    .collect()
            }
        };
        let default = arg.get_default_values().first();
        let values = match flag {
            true => Vec::new(),
            false => arg.get_possible_values(),
        };
        Self {
            name: id.into(),
            long: arg.get_long().map(str::to_owned),
            help: arg.get_help().map_or(String::new(), ToString::to_string),
            flag,
            values: values.iter().map(|one| one.get_name().into()).collect(),
            default: default
                .filter(|_| !flag)
                .map(|value| value.to_string_lossy().into_owned()),
            required: arg.is_required_set(),
            several: arg
                .get_num_args()
                .is_some_and(|range| range.max_values() > 1),
            given,
            hidden: HIDDEN.contains(&id) || arg.is_hide_set(),
        }
    }
}
