//! Every recorded measurement of an H100 is reproduced. `h100/*.csv`: one-instruction kernels under
//! Nsight Compute 2025.3 on an H100 80GB HBM3, driver 580, CUDA 13.0.
use emulator::{SharedAccess, global_sectors, shared_wavefronts};

/// The lanes' byte offsets; an inactive lane is `-`.
fn lanes(field: &str) -> ([u64; 32], u32) {
    let (mut addresses, mut active) = ([0; 32], 0);
    for (lane, text) in field.split_whitespace().enumerate() {
        if text != "-" {
            addresses[lane] = text.parse().expect("an offset");
            active |= 1 << lane;
        }
    }
    (addresses, active)
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(|line| line.split(',').collect())
}

#[test]
fn shared_memory_as_measured() {
    let mut checked = 0;
    for row in rows(include_str!("h100/shared_memory.csv")) {
        let access = match row[0] {
            "ld" => SharedAccess::Load,
            "st" => SharedAccess::Store,
            // One address for each of the 8, 16 or 32 rows.
            _ => SharedAccess::Matrix,
        };
        let (addresses, active) = lanes(row[2]);
        let cost = shared_wavefronts(
            access,
            row[1].parse().expect("bytes"),
            &addresses.map(|a| a as u32),
            active,
        );
        assert_eq!(
            (cost.wavefronts, cost.conflicts),
            (row[3].parse().expect("n"), row[4].parse().expect("n")),
            "{row:?}"
        );
        checked += 1;
    }
    assert_eq!(checked, 450);
}

#[test]
fn global_memory_as_measured() {
    let mut checked = 0;
    for row in rows(include_str!("h100/global_memory.csv")) {
        let (addresses, active) = lanes(row[2]);
        let (sectors, _) = global_sectors(row[1].parse().expect("bytes"), &addresses, active);
        assert_eq!(sectors, row[3].parse::<u64>().expect("n"), "{row:?}");
        assert_eq!(row[4], "1");
        checked += 1;
    }
    assert_eq!(checked, 84);
}
