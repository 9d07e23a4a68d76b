//! Hidden sizes, seeds and schedules: from a secret and a student, by SHA-256, so the same on every machine.
use harness::Size;
use sha2::{Digest, Sha256};

use super::rubric::{Rubric, Tile};

/// Where there is no secret: everybody can read it here, and the grade says so.
pub const PUBLIC_SECRET: &[u8] = b"no secret was given";

/// One launch that is graded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Which of the rubric's tiles.
    pub tile: usize,
    pub size: Size,
    pub seed: u64,
    pub schedule: u64,
    pub hidden: bool,
}

/// The public launches, then the hidden ones.
pub fn launches(rubric: &Rubric, secret: &[u8], student: &str) -> anyhow::Result<Vec<Launch>> {
    let public = rubric.public_sizes()?.into_iter().map(|size| Launch {
        tile: 0,
        size,
        seed: 0,
        schedule: 0,
        hidden: false,
    });
    let hidden = (0..rubric.sizes.hidden).map(|number| {
        let draw = |what| {
            number_of(
                &[secret, rubric.name.as_bytes(), student.as_bytes()],
                number,
                what,
            )
        };
        let tiles = |what, up_to: u64| 2 + (draw(what) % up_to) as u32;
        // One after the other from where the first draw starts, so that few launches take many variants.
        let first = number_of(
            &[secret, rubric.name.as_bytes(), student.as_bytes()],
            0,
            "tile",
        );
        let variants = rubric.tile.len() as u64;
        let tile = ((first % variants + u64::from(number)) % variants) as usize;
        let Tile { m, n, k, .. } = rubric.tile[tile];
        Launch {
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
    number_of(
        &[secret, assignment.as_bytes(), student.as_bytes()],
        0,
        "exam",
    )
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
        let text = include_str!("../../../../assignments/05_swizzle/rubric.toml");
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
        for Launch {
            tile, size, seed, ..
        } in hidden
        {
            let Tile { m, n, k, .. } = rubric().tile[*tile];
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
