//! Mutations that keep PTX nearly correct, so that it passes the parser: lines are inserted and removed; operands,
//! numbers and types are exchanged.
use crate::workspace::{files, read, root};

/// A pseudorandom number generator (Steele, Lea and Flood 2014, SplitMix).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// One item of the list.
    pub fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list.get(self.below(list.len()))
            .copied()
            .unwrap_or_default()
    }
}

/// Boundary values.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "2",
    "7",
    "8",
    "15",
    "16",
    "31",
    "32",
    "64",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "9223372036854775808",
];

const TYPES: [&str; 22] = [
    "u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64", "b128", "f16",
    "f16x2", "bf16", "bf16x2", "f32", "f64", "pred", "v2", "v4",
];

const SPACES: [&str; 6] = [
    "global",
    "shared",
    "local",
    "const",
    "param",
    "shared::cluster",
];

/// The rungs' committed PTX, without debug information.
pub fn rungs() -> Vec<String> {
    let ptx = files(&root().join("rungs"), ".ptx");
    let kept = |line: &&str| {
        let line = line.trim();
        !(line.is_empty() || line.starts_with("//") || line.starts_with(".loc"))
    };
    let lines = |path: &std::path::PathBuf| {
        read(path)
            .lines()
            .filter(kept)
            .collect::<Vec<_>>()
            .join("\n")
    };
    ptx.iter().map(lines).collect()
}

/// Mutates a text in a few places; inserted lines come from the text itself and from `others`.
pub fn mutate(text: &str, others: &[String], random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..1 + random.below(4) {
        let (at, to) = (random.below(lines.len()), random.below(lines.len()));
        if lines.is_empty() {
            break;
        }
        match random.below(12) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(to, lines[at].clone()),
            2 => lines.swap(at, to),
            // A loop's body, or a declaration with the lines after it.
            3 => drop(lines.drain(at..(at + 1 + random.below(20)).min(lines.len()))),
            4 => {
                let other = others
                    .get(random.below(others.len()))
                    .map_or("", String::as_str);
                let other: Vec<&str> = other.lines().collect();
                lines.insert(at, random.pick(&other).to_owned());
            }
            5 => lines.truncate(at + 1),
            // Most mutations change single words.
            _ => {
                let other = lines[to].clone();
                lines[at] = words(&lines[at], &other, random);
            }
        }
    }
    lines.join("\n")
}

/// Changes one word of a line, or swaps two.
fn words(line: &str, other: &str, random: &mut Random) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '%' | '_' | '$' | ':' | '-');
    let mut pieces: Vec<&str> = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| part(c) != part(first)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    let at = random.below(pieces.len());
    let Some(&piece) = pieces.get(at) else {
        return other.to_owned();
    };
    let same = |word: &&str| word.chars().next() == piece.chars().next();
    let registers: Vec<&str> = other.split(|c| !part(c)).filter(same).collect();
    let replacement = match piece {
        _ if random.below(8) == 0 => "",
        _ if piece.parse::<i64>().is_ok() => random.pick(&NUMBERS),
        _ if TYPES.contains(&piece) => random.pick(&TYPES),
        _ if SPACES.contains(&piece) => random.pick(&SPACES),
        _ if !registers.is_empty() => random.pick(&registers),
        _ => {
            let to = random.below(pieces.len());
            pieces.swap(at, to);
            return pieces.concat();
        }
    };
    pieces[at] = replacement;
    pieces.concat()
}
