//! Who meets whom: two lanes of an access that want the same bank, and the wavefront player opened at it.
use emulator::{Asked, LANES, SharedAccess, shared_wavefronts};

/// The worst of some accesses.
pub struct Conflict {
    pub wavefronts: u64,
    pub ideal: u64,
    /// Two lanes served together that want different words of one bank: the lanes, and the bank.
    pub meeting: Option<([usize; 2], u64)>,
    /// The page and its fragment (book/src/wavefront_player.md).
    pub player: String,
}

/// The access with most wavefronts for each ideal one. None of these is of global memory or without a lane.
pub fn worst<'a>(asked: impl Iterator<Item = &'a Asked>, operation: &str) -> Option<Conflict> {
    let all = asked.filter_map(|one| of(one, operation));
    all.max_by(|a, b| (a.wavefronts * b.ideal).cmp(&(b.wavefronts * a.ideal)))
}

fn of(asked: &Asked, operation: &str) -> Option<Conflict> {
    let access = asked.shared?;
    let mut addresses = [0; LANES];
    let mut active = 0;
    for (lane, offset) in asked.offsets.iter().enumerate() {
        if let Some(offset) = offset {
            addresses[lane] = u32::try_from(*offset).ok()?;
            active |= 1 << lane;
        }
    }
    let cost = shared_wavefronts(access, asked.bytes, &addresses, active);
    (cost.ideal > 0).then(|| Conflict {
        wavefronts: cost.wavefronts,
        ideal: cost.ideal,
        meeting: meeting(asked),
        player: player(asked, access, operation),
    })
}

/// So many lanes are served together: those whose bytes fill the 128 of all banks.
fn together(bytes: u32) -> usize {
    (128 / bytes.clamp(4, 16)) as usize
}

fn meeting(asked: &Asked) -> Option<([usize; 2], u64)> {
    let words = u64::from(asked.bytes.div_ceil(4));
    let together = together(asked.bytes);
    for start in (0..LANES).step_by(together) {
        let mut first: [Option<(usize, u64)>; 32] = [None; 32];
        for lane in start..start + together {
            let Some(offset) = asked.offsets[lane] else {
                continue;
            };
            for word in offset / 4..offset / 4 + words {
                let bank = word % 32;
                match first[bank as usize] {
                    Some((other, there)) if there != word => return Some(([other, lane], bank)),
                    Some(_) => {}
                    None => first[bank as usize] = Some((lane, word)),
                }
            }
        }
    }
    None
}

fn player(asked: &Asked, access: SharedAccess, operation: &str) -> String {
    let rows = asked.offsets.iter().rposition(Option::is_some).unwrap_or(0) + 1;
    let (op, lanes) = match access {
        SharedAccess::Load => ("ld".to_owned(), LANES),
        SharedAccess::Store => ("st".to_owned(), LANES),
        SharedAccess::Matrix => {
            let name = operation.split('.').next().unwrap_or("ldmatrix");
            let matrices = rows.div_ceil(8).next_power_of_two();
            (format!("{name}.x{matrices}"), 8 * matrices)
        }
    };
    let offsets: Vec<String> = asked.offsets[..lanes.min(LANES)]
        .iter()
        .map(|offset| offset.map_or("-".into(), |offset| offset.to_string()))
        .collect();
    format!(
        "wavefront_player.html#op={op}&bytes={}&addresses={}",
        asked.bytes,
        offsets.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_and_bank_are_named() {
        let mut offsets = [None; LANES];
        for (row, offset) in offsets.iter_mut().take(8).enumerate() {
            *offset = Some(64 * row as u64);
        }
        let asked = Asked {
            instruction: 0,
            shared: Some(SharedAccess::Matrix),
            bytes: 16,
            offsets,
        };
        let found = worst([&asked].into_iter(), "ldmatrix.sync.aligned").expect("an access");
        assert_eq!((found.wavefronts, found.ideal), (4, 1));
        assert_eq!(found.meeting, Some(([0, 2], 0)));
        assert_eq!(
            found.player,
            "wavefront_player.html#op=ldmatrix.x1&bytes=16&addresses=0,64,128,192,256,320,384,448"
        );
    }
}
