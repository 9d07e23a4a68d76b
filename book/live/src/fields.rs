//! The parts of a command that a reader may change, from the command line's own definition, so that there is no second
//! list of options.
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde::Serialize;

/// Options that a page does not offer: it has one device, shows text, can stop a run itself, and has only the files
/// that it shows.
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

/// A command's parts: fixed and changeable ones.
#[derive(Serialize)]
pub struct Fields {
    /// The subcommands before the options, such as `layout`, `swizzle`.
    path: Vec<String>,
    /// The subcommands to choose from, if one may be omitted or replaced.
    choices: Vec<Choice>,
    /// Options and operands, in order.
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
    /// `--name`; none for an operand.
    long: Option<String>,
    help: String,
    /// Whether it is a flag without a value.
    flag: bool,
    /// The possible values, if they are a list.
    values: Vec<String>,
    default: Option<String>,
    required: bool,
    /// Whether several operands may be given.
    several: bool,
    /// The value in this command.
    given: Vec<String>,
    /// Whether a page should not offer it.
    hidden: bool,
}

/// The fields of a command with these words, the first of which is its name.
///
/// # Errors
/// If they are not a valid command line for it.
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
    /// Values of an option that the command line does not list; none to offer if there is only one.
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
