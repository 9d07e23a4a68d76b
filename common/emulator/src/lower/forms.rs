//! Which modifiers an opcode takes, so that a misspelt one is refused, as ptxas does, and not ignored.
use std::collections::HashMap;
use std::sync::LazyLock;

use super::Result;
use crate::ptx::Instr;

/// The forms by opcode.
static FORMS: LazyLock<HashMap<&str, Vec<Form>>> =
    LazyLock::new(|| parse(include_str!("forms.txt")));

struct Form {
    /// The parts of its name, after the opcode.
    name: Vec<&'static str>,
    modifiers: Vec<Modifier>,
}

#[derive(Clone)]
struct Modifier {
    optional: bool,
    words: Vec<&'static str>,
}

/// Refuses an instruction whose modifiers fit no form of its opcode.
pub(super) fn check(instr: &Instr) -> Result<()> {
    let Some((opcode, suffixes)) = instr.opcode.split_first() else {
        return Ok(());
    };
    let suffixes: Vec<&str> = suffixes.iter().map(String::as_str).collect();
    let Some(forms) = FORMS.get(opcode.as_str()) else {
        return Ok(());
    };
    if forms.iter().any(|form| form.fits(&suffixes)) {
        return Ok(());
    }
    let names: Vec<&str> = forms.iter().flat_map(|form| &form.name).copied().collect();
    let nearest = forms.iter().map(|form| form.nearest(&suffixes, &names));
    let nearest = nearest.min_by_key(|(cost, _)| *cost);
    let words = nearest.map_or(Vec::new(), |(_, words)| words);
    let nearest = [&[opcode.clone()][..], &words].concat().join(".");
    let what = format!("fits no form of `{opcode}`; did you mean `{nearest}`?");
    Err(instr.wrong(what))
}

impl Form {
    fn fits(&self, suffixes: &[&str]) -> bool {
        let mut left: Vec<&Modifier> = self.modifiers.iter().collect();
        let Some(suffixes) = suffixes.strip_prefix(&self.name[..]) else {
            return false;
        };
        let all = suffixes.iter().all(|suffix| {
            let at = left.iter().position(|one| one.words.contains(suffix));
            at.map(|at| left.remove(at)).is_some()
        });
        all && left.iter().all(|one| one.optional)
    }

    /// What these suffixes may have been meant to be: how different that is, and the words. A missing modifier costs little, one of
    /// another form's `names` the most: `red.async` is not a misspelled `red.global`.
    fn nearest(&self, suffixes: &[&str], names: &[&str]) -> (usize, Vec<String>) {
        let mut left = suffixes.to_vec();
        let name = self.name.iter().map(std::slice::from_ref);
        let wanted = name.map(|part| (false, part));
        let modifiers = self.modifiers.iter();
        let wanted = wanted.chain(modifiers.map(|one| (one.optional, &one.words[..])));
        // Words that are there come first, so that no other word is taken for them.
        let mut chosen: Vec<_> = wanted
            .map(|(optional, words)| {
                let at = left.iter().position(|suffix| words.contains(suffix));
                (optional, words, at.map(|at| left.remove(at).to_owned()))
            })
            .collect();
        let mut cost = 0;
        // Then those that are most like a word.
        loop {
            let open = chosen.iter().enumerate().filter(|(_, one)| one.2.is_none());
            let pairs = open.flat_map(|(place, (optional, words, _))| {
                let with = |at: usize, suffix: &&str| {
                    let words = words
                        .iter()
                        .map(|word| (alike(suffix, word), place, at, *word));
                    let enough = |of: usize| of > 0 && (!*optional || 2 * of >= suffix.len());
                    words.filter(|(of, ..)| enough(*of)).collect::<Vec<_>>()
                };
                let each = left.iter().enumerate();
                each.flat_map(|(at, suffix)| with(at, suffix))
                    .collect::<Vec<_>>()
            });
            let Some((of, place, at, word)) = pairs.rev().max_by_key(|(of, ..)| *of) else {
                break;
            };
            let suffix = left.remove(at);
            cost += 2 * (suffix.len() - of) + (word.len() - of);
            chosen[place].2 = Some(word.to_owned());
        }
        for (place, (optional, words, chosen)) in chosen.iter_mut().enumerate() {
            if !*optional && chosen.is_none() {
                let is_name = place < self.name.len();
                cost += if is_name { SUPERFLUOUS } else { MISSING };
                *chosen = Some(any_of(words));
            }
        }
        let is_another = |suffix: &&&str| names.contains(suffix);
        cost += ANOTHER_FORM * left.iter().filter(is_another).count();
        // `commit.group` has the parts of `commit_group`.
        let is_part = |suffix: &str| {
            chosen
                .iter()
                .flat_map(|one| &one.2)
                .any(|word| word.contains(suffix))
        };
        let dropped = left.iter().map(|suffix| {
            if is_part(suffix) {
                1
            } else {
                SUPERFLUOUS + suffix.len()
            }
        });
        cost += dropped.sum::<usize>();
        (
            cost,
            chosen.into_iter().filter_map(|(.., word)| word).collect(),
        )
    }
}

/// What a missing modifier costs in [`Form::nearest`], a missing part of the name, or, beside its letters, a modifier too many; and
/// one that names another form.
const MISSING: usize = 3;
const SUPERFLUOUS: usize = 6;
const ANOTHER_FORM: usize = 20;

/// The words that a modifier may be, if they are few.
fn any_of(words: &[&str]) -> String {
    match words {
        [_, _, ..] if words.len() <= 4 => format!("{{{}}}", words.join("|")),
        _ => words.first().copied().unwrap_or_default().to_owned(),
    }
}

/// How many letters two words have in common at the beginning and at the end.
fn alike(one: &str, other: &str) -> usize {
    let same = |(a, b): &(u8, u8)| a == b;
    let start = one.bytes().zip(other.bytes()).take_while(same).count();
    let end = one.bytes().rev().zip(other.bytes().rev());
    (start + end.take_while(same).count())
        .min(one.len())
        .min(other.len())
}

fn parse(text: &'static str) -> HashMap<&'static str, Vec<Form>> {
    let mut forms: HashMap<&str, Vec<Form>> = HashMap::new();
    let mut sets: HashMap<&str, &str> = HashMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some((name, words)) = line.split_once(" = ") {
            sets.insert(name, words);
            continue;
        }
        let mut parts = line.split_whitespace();
        let names = parts.next().unwrap_or_default();
        let modifiers: Vec<Modifier> = parts
            .map(|part| {
                let words = part.trim_matches(['{', '}']);
                let words = sets.get(words).copied().unwrap_or(words);
                Modifier {
                    optional: part.starts_with('{'),
                    words: words.split('|').collect(),
                }
            })
            .collect();
        for name in names.split('|').filter(|name| !name.is_empty()) {
            let mut name = name.split('.');
            let opcode = name.next().unwrap_or_default();
            forms.entry(opcode).or_default().push(Form {
                name: name.collect(),
                modifiers: modifiers.clone(),
            });
        }
    }
    forms
}
