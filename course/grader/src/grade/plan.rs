//! The launches of a kernel. Hidden sizes, seeds and schedules come from a secret and a student by SHA-256, so they are the
//! same on every machine.
use anyhow::Result;
use harness::Size;
use sha2::{Digest, Sha256};

use super::rubric::{Rubric, TileVariant};

/// Where there is no secret: everybody can read it here, and the grade says so.
pub const PUBLIC_SECRET: &[u8] = b"no secret was given";

/// One launch that is graded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedLaunch {
    /// Which of the rubric's tiles.
    pub tile: usize,
    pub size: Size,
    pub seed: u64,
    pub schedule: u64,
    pub hidden: bool,
}

impl PlannedLaunch {
    /// What it is called: a hidden one does not say what it is.
    pub fn label(&self) -> String {
        match self.hidden {
            false => self.size.to_string(),
            true => "at a hidden size".into(),
        }
    }

    /// How many of the rubric's tiles it has along M, N and K, each number rounded up.
    pub fn tiles(&self, rubric: &Rubric) -> [u64; 3] {
        let (Size { m, n, k }, tile) = (self.size, rubric.tile[self.tile]);
        [(m, tile.m), (n, tile.n), (k, tile.k)].map(|(side, tile)| side.div_ceil(tile).into())
    }
}

/// The public launches, then the hidden ones.
pub fn launches(rubric: &Rubric, secret: &[u8], student: &str) -> Result<Vec<PlannedLaunch>> {
    let public = rubric
        .public_sizes()?
        .into_iter()
        .map(|size| PlannedLaunch {
            tile: 0,
            size,
            seed: 0,
            schedule: 0,
            hidden: false,
        });
    let hidden = (0..rubric.sizes.hidden).map(|number| {
        let of_number = |number, what| {
            let parts = [secret, rubric.name.as_bytes(), student.as_bytes()];
            number_of(&parts, number, what)
        };
        let draw = |what| of_number(number, what);
        let tiles = |what, up_to: u64| 2 + (draw(what) % up_to) as u32;
        // One after the other from where the first draw starts, so that few launches take many variants.
        let variants = rubric.tile.len() as u64;
        let first = of_number(0, "tile") % variants;
        let tile = ((first + u64::from(number)) % variants) as usize;
        let TileVariant { m, n, k, .. } = rubric.tile[tile];
        PlannedLaunch {
            tile,
            // Several tiles each way and several steps, or what only the first of them needs would be enough.
            size: Size {
                m: m * tiles("m", 2),
                n: n * tiles("n", 4),
                k: k * (1 + tiles("k", 6)),
            },
            // 0 is the public one.
            seed: draw("seed") | 1,
            schedule: draw("schedule") | 1,
            hidden: true,
        }
    });
    Ok(public.chain(hidden).collect())
}

/// The seed of a student's own questions.
pub fn exam(assignment: &str, secret: &[u8], student: &str) -> u64 {
    let parts = [secret, assignment.as_bytes(), student.as_bytes()];
    number_of(&parts, 0, "exam")
}

/// 64 bits of a hash over all of these, each after its length, so that no two lists look alike.
pub fn number_of(parts: &[&[u8]], number: u32, what: &str) -> u64 {
    let mut hash = Sha256::new();
    let counter = number.to_le_bytes();
    for part in parts.iter().copied().chain([&counter[..], what.as_bytes()]) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize()[..8]);
    u64::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rubric() -> Rubric {
        let text = include_str!("../../../assignments/05_swizzle/rubric.toml");
        Rubric::parse(text).expect("a rubric")
    }

    #[test]
    fn secret_and_student_decide() {
        let of = |secret: &[u8], student| launches(&rubric(), secret, student).expect("sizes");
        let mine = of(b"s", "ada");
        assert_eq!(mine, of(b"s", "ada"));
        assert_ne!(mine, of(b"t", "ada"));
        assert_ne!(mine, of(b"s", "bob"));
        assert_ne!(of(b"sa", "da"), of(b"s", "ada"), "lengths are hashed too");
        let hidden: Vec<_> = mine.iter().filter(|launch| launch.hidden).collect();
        assert_eq!(hidden.len(), 2);
        assert_ne!(hidden[0].seed, hidden[1].seed);
        assert_ne!(
            hidden[0].tile, hidden[1].tile,
            "as many tiles as there can be"
        );
        for PlannedLaunch {
            tile, size, seed, ..
        } in hidden
        {
            let TileVariant { m, n, k, .. } = rubric().tile[*tile];
            assert!(size.m % m == 0 && size.n % n == 0 && size.k % k == 0 && size.k >= 3 * k);
            assert_ne!(*seed, 0);
        }
    }

    /// Pinned: a grade given on one machine can be given again on another.
    #[test]
    fn the_same_everywhere() {
        let all = launches(&rubric(), PUBLIC_SECRET, "").expect("sizes");
        let words: Vec<String> = all
            .iter()
            .filter(|launch| launch.hidden)
            .map(|launch| format!("{} by {} {:x}", launch.size, launch.tile, launch.seed))
            .collect();
        // Computed by a second implementation, in Python.
        assert_eq!(
            words,
            [
                "128x96x256 by 0 ca3ca7469d243f75",
                "64x64x256 by 1 467f9f64f43ff8d1"
            ]
        );
    }
}
