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
    let nearest = forms.iter().map(|form| form.nearest(&suffixes));
    let nearest = nearest.min_by_key(|(cost, _)| *cost);
    let words = nearest.map_or(Vec::new(), |(_, words)| words);
    let nearest = [&[opcode.as_str()][..], &words].concat().join(".");
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

    /// What these suffixes may have been meant to be: how different that is, and the words.
    fn nearest(&self, suffixes: &[&str]) -> (usize, Vec<&'static str>) {
        let mut left = suffixes.to_vec();
        let mut cost = 0;
        // Words that are there come first, so that no other word is taken for them.
        let name = self.name.iter().map(std::slice::from_ref);
        let wanted = name.map(|part| (false, part));
        let modifiers = self.modifiers.iter();
        let wanted = wanted.chain(modifiers.map(|one| (one.optional, &one.words[..])));
        let mut chosen: Vec<_> = wanted
            .map(|(optional, words)| {
                let at = left.iter().position(|suffix| words.contains(suffix));
                let suffix = at.map(|at| left.remove(at));
                let exact = words.iter().find(|word| suffix == Some(**word));
                (optional, words, exact.copied())
            })
            .collect();
        for (optional, words, chosen) in chosen.iter_mut().filter(|one| one.2.is_none()) {
            let pairs = left.iter().flat_map(|&suffix| {
                let words = words.iter();
                words.map(move |&word| (alike(suffix, word), suffix, word))
            });
            let enough = |of: usize, suffix: &str| of > 0 && (!*optional || 2 * of >= suffix.len());
            let pairs = pairs.filter(|&(of, suffix, _)| enough(of, suffix));
            match pairs.rev().max_by_key(|&(of, ..)| of) {
                Some((of, suffix, word)) => {
                    let at = left.iter().position(|one| *one == suffix);
                    at.map(|at| left.remove(at));
                    cost += 4 - of.min(3);
                    *chosen = Some(word);
                }
                None if !*optional => {
                    cost += 4;
                    *chosen = words.first().copied();
                }
                None => {}
            }
        }
        let words = chosen.into_iter().filter_map(|(.., word)| word);
        (cost + 4 * left.len(), words.collect())
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
