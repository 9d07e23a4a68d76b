//! The existing `.version`s and `.target`s (PTX ISA, "PTX Module Directives: .version", ".target", and "Release
//! Notes").
use std::fmt;

/// Major versions, each with its last minor one.
const VERSIONS: &[(u32, &[u32])] = &[
    (1, &[0, 1, 2, 3, 4, 5]),
    (2, &[0, 1, 2, 3]),
    (3, &[0, 1, 2]),
    (4, &[0, 1, 2, 3]),
    (5, &[0]),
    (6, &[0, 1, 2, 3, 4, 5]),
    (7, &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
    (8, &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
    (9, &[0, 1, 2]),
];

/// Targets, each with the first PTX version that has it.
#[rustfmt::skip]
const TARGETS: &[(&str, (u32, u32))] = &[
    ("sm_10", (1, 0)),
    ("sm_11", (1, 0)),
    ("sm_12", (1, 2)),
    ("sm_13", (1, 2)),
    ("sm_20", (2, 0)),
    ("sm_21", (2, 0)),
    ("sm_30", (3, 0)),
    ("sm_32", (4, 0)),
    ("sm_35", (3, 1)),
    ("sm_37", (4, 1)),
    ("sm_50", (4, 0)),
    ("sm_52", (4, 1)),
    ("sm_53", (4, 2)),
    ("sm_60", (5, 0)),
    ("sm_61", (5, 0)),
    ("sm_62", (5, 0)),
    ("sm_70", (6, 0)),
    ("sm_72", (6, 1)),
    ("sm_75", (6, 3)),
    ("sm_80", (7, 0)),
    ("sm_86", (7, 1)),
    ("sm_87", (7, 4)),
    ("sm_88", (7, 3)),
    ("sm_89", (7, 8)),
    ("sm_90", (7, 8)),
    ("sm_90a", (8, 0)),
    ("sm_100", (8, 6)),
    ("sm_100a", (8, 6)),
    ("sm_100f", (8, 8)),
    ("sm_101", (8, 6)),
    ("sm_101a", (8, 6)),
    ("sm_101f", (8, 8)),
    ("sm_103", (8, 8)),
    ("sm_103a", (8, 8)),
    ("sm_103f", (8, 8)),
    ("sm_110", (9, 0)),
    ("sm_110a", (9, 0)),
    ("sm_110f", (9, 0)),
    ("sm_120", (8, 7)),
    ("sm_120a", (8, 7)),
    ("sm_120f", (8, 8)),
    ("sm_121", (8, 8)),
    ("sm_121a", (8, 8)),
    ("sm_121f", (8, 8)),
];

/// Options that may follow the architecture.
const OPTIONS: [&str; 4] = [
    "texmode_unified",
    "texmode_independent",
    "debug",
    "map_f64_to_f32",
];

/// A target such as `sm_90`, or `sm_90a` with features specific to compute capability 9.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub number: u32,
    /// `a` or `f`
    pub suffix: Option<char>,
}

impl Target {
    /// Whether it has the features of another target: newer targets do, except for architecture-specific features.
    pub fn has(self, other: Target) -> bool {
        match other.suffix {
            Some(_) => self == other,
            None => self.number >= other.number,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

/// The target of this name, if there is one.
pub(super) fn find(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name)?;
    let digits = name.strip_prefix("sm_")?;
    let suffix = digits.chars().last().filter(char::is_ascii_alphabetic);
    let number = digits.trim_end_matches(['a', 'f']).parse().ok()?;
    Some(Target { number, suffix })
}

/// Checks that a `.version` exists.
pub(super) fn check_version((major, minor): (u32, u32)) -> Result<(), String> {
    let is_known = |(known, minors): &(u32, &[u32])| *known == major && minors.contains(&minor);
    if VERSIONS.iter().any(is_known) {
        return Ok(());
    }
    let (newest, minors) = VERSIONS[VERSIONS.len() - 1];
    let last = minors[minors.len() - 1];
    Err(format!(
        "there is no PTX ISA .version {major}.{minor}; the newest that is known here is {newest}.{last}"
    ))
}

/// Checks that a `.target` exists in a module of this version.
pub(super) fn check_target(name: &str, version: (u32, u32)) -> Result<(), String> {
    match TARGETS.iter().find(|(known, _)| *known == name) {
        None => Err(format!(
            "there is no .target {name}; existing ones are sm_80, sm_90 and sm_90a, for example"
        )),
        Some((_, (major, minor))) if (*major, *minor) > version => Err(format!(
            "PTX ISA .version {}.{} does not have .target {name}, which came with {major}.{minor}",
            version.0, version.1
        )),
        Some(_) => Ok(()),
    }
}

/// Whether a word may follow the architecture.
pub(super) fn is_option(word: &str) -> bool {
    OPTIONS.contains(&word) || TARGETS.iter().any(|(known, _)| *known == word)
}

/// The first version that has a target.
#[cfg(test)]
pub(super) fn first_version(target: Target) -> (u32, u32) {
    let name = target.to_string();
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.map_or((1, 0), |(_, version)| *version)
}

/// The previous version.
#[cfg(test)]
pub(super) fn before(version: (u32, u32)) -> (u32, u32) {
    let all = VERSIONS
        .iter()
        .flat_map(|(major, minors)| minors.iter().map(|&minor| (*major, minor)));
    all.filter(|one| *one < version).max().unwrap_or((1, 0))
}

/// The previous target without a suffix.
#[cfg(test)]
pub(super) fn lower(target: Target) -> Target {
    let all = TARGETS.iter().filter_map(|(name, _)| find(name));
    let lower = all.filter(|one| one.suffix.is_none() && one.number < target.number);
    lower.max_by_key(|one| one.number).unwrap_or(target)
}
