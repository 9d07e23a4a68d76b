//! Finds two lanes of an access that conflict, and a link that opens the wavefront player at that access.
use emulator::{AccessPattern, LANES, SharedAccess};
use layout::banks::{Access, BankTable, Phase};

/// The worst of some accesses.
pub struct Conflict {
    wavefronts: u32,
    ideal: u32,
    /// Two lanes of the same phase that access different words of a bank, and that bank.
    pub lanes: Option<(u32, u32, u32)>,
    /// The page and fragment (book/src/wavefront_player.md).
    pub player: String,
}

/// The access with the highest ratio of wavefronts to the minimum. All are to shared memory and have active lanes.
pub fn worst<'a>(
    patterns: impl Iterator<Item = &'a AccessPattern>,
    opcode: &str,
) -> Option<Conflict> {
    let all = patterns.filter_map(|one| of(one, opcode));
    all.max_by(|a, b| (a.wavefronts * b.ideal).cmp(&(b.wavefronts * a.ideal)))
}

fn of(pattern: &AccessPattern, opcode: &str) -> Option<Conflict> {
    let access = match pattern.shared? {
        SharedAccess::Load => Access::Load,
        SharedAccess::Store => Access::Store,
        SharedAccess::Matrix => Access::Matrix,
    };
    let offset = |lane: u32| u32::try_from(pattern.offsets[lane as usize]?).ok();
    let table = BankTable::new(access, pattern.bytes, offset);
    (table.ideal() > 0).then(|| Conflict {
        wavefronts: table.wavefronts(),
        ideal: table.ideal(),
        lanes: table.phases().iter().find_map(Phase::first_conflict),
        player: player(pattern, access, opcode),
    })
}

fn player(pattern: &AccessPattern, access: Access, opcode: &str) -> String {
    let (op, lanes) = match access {
        Access::Load => ("ld".to_owned(), LANES),
        Access::Store => ("st".to_owned(), LANES),
        Access::Matrix => {
            let name = opcode.split('.').next().unwrap_or("ldmatrix");
            let last = pattern.offsets.iter().rposition(Option::is_some);
            let matrices = (last.unwrap_or(0) / 8 + 1).next_power_of_two();
            (format!("{name}.x{matrices}"), 8 * matrices)
        }
    };
    let offsets: Vec<String> = pattern.offsets[..lanes]
        .iter()
        .map(|offset| offset.map_or("-".into(), |offset| offset.to_string()))
        .collect();
    format!(
        "wavefront_player.html#op={op}&bytes={}&addresses={}",
        pattern.bytes,
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
        let asked = AccessPattern {
            instruction: 0,
            shared: Some(SharedAccess::Matrix),
            bytes: 16,
            offsets,
        };
        let found = worst([&asked].into_iter(), "ldmatrix.sync.aligned").expect("an access");
        assert_eq!((found.wavefronts, found.ideal), (4, 1));
        assert_eq!(found.lanes, Some((0, 2, 0)));
        assert_eq!(
            found.player,
            "wavefront_player.html#op=ldmatrix.x1&bytes=16&addresses=0,64,128,192,256,320,384,448"
        );
    }
}
