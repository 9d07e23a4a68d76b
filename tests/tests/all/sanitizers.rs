//! The emulator's `sanitize` against NVIDIA's compute-sanitizer: the emulator finds every mistake that
//! compute-sanitizer finds in a broken kernel on an H200. `calibration/h200/sanitizers.csv` was made by
//! `examples/sanitizers.rs`.
use ladder_tests::broken::Caught;
use ladder_tests::sanitizers::{Row, SOUND, TABLE, Verdict, subjects};
use ladder_tests::workspace::{program, root, skipped};

/// Mistakes that may not show in C: that depends on the GPU's timing, which hid them in this recording. The emulator
/// chooses an order in which they show.
const HIDDEN_BY_TIMING: [(&str, &str); 2] = [
    (
        "stores_a_tile_before_there_is_one",
        "what is stored too early goes where a right tile goes later",
    ),
    (
        "adds_before_all_pieces_have_arrived",
        "the other's piece may have been written before it is read",
    ),
];

/// The recorded rows; empty if nothing is recorded.
fn recorded() -> Option<Vec<Row>> {
    let path = root().join("calibration/h200").join(TABLE);
    if !path.is_file() {
        skipped("compute-sanitizer is not recorded (`examples/sanitizers.rs`)");
        return None;
    }
    let rows = csv::Reader::from_path(path).expect("a table");
    Some(
        rows.into_deserialize()
            .map(|row| row.expect("a row"))
            .collect(),
    )
}

fn verdict(cell: &str) -> Verdict {
    cell.parse().expect("a cell")
}

#[test]
fn every_broken_kernel_was_recorded_as_it_is() {
    let Some(rows) = recorded() else { return };
    let recorded: Vec<[&str; 4]> = rows
        .iter()
        .map(|row| [&row.kernel, &row.rung, &row.arguments, &row.size].map(String::as_str))
        .collect();
    let subjects = subjects();
    let arguments: Vec<String> = subjects.iter().map(|of| of.arguments.join(" ")).collect();
    let expected: Vec<[&str; 4]> = subjects
        .iter()
        .zip(&arguments)
        .map(|(of, arguments)| [of.name, of.rung, arguments, of.size])
        .collect();
    assert_eq!(recorded, expected);
}

#[test]
fn what_compute_sanitizer_finds_sanitize_finds() {
    let Some(rows) = recorded() else { return };
    let is_sound = |row: &&Row| calibration::SOUND.contains(&row.kernel.as_str());
    let mut missed = Vec::new();
    let mut found = 0;
    for row in rows.iter().filter(|row| !is_sound(row)) {
        let same = |other: &&Row| (&other.rung, &other.arguments) == (&row.rung, &row.arguments);
        let sound: Vec<&Row> = rows.iter().filter(is_sound).filter(same).collect();
        assert!(!sound.is_empty(), "{}: what is it made from?", row.kernel);
        let ours = matches!(
            verdict(&row.sanitize),
            Verdict::Found(..) | Verdict::Stopped(_)
        );
        for (tool, cell) in row.tools().into_iter().enumerate() {
            let kind = verdict(cell).kind();
            // A finding that a tool also has for a correct kernel does not detect the mistake.
            let known = sound
                .iter()
                .any(|row| verdict(row.tools()[tool]).kind() == kind);
            if kind.is_some() && !known {
                found += 1;
                if !ours {
                    missed.push(format!("{}: {cell}", row.kernel));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert!(found > 0, "compute-sanitizer has found nothing at all");
}

#[test]
fn sound_kernels_are_sound_and_wrong_ones_wrong_on_the_h200() {
    let Some(rows) = recorded() else { return };
    for row in rows.iter().filter(|row| row.kernel == SOUND) {
        assert_eq!([&row.sanitize, &row.alone], ["nothing"; 2], "{row:?}");
    }
    for broken in subjects()
        .into_iter()
        .filter(|of| !calibration::SOUND.contains(&of.name))
    {
        let row = rows
            .iter()
            .find(|row| row.kernel == broken.name)
            .expect("a row");
        match broken.caught {
            Caught::Values | Caught::ValuesAtSize => {
                let hidden = HIDDEN_BY_TIMING.iter().any(|(name, _)| *name == row.kernel);
                let alone = if hidden { "nothing" } else { "C is wrong" };
                // Values stored in the wrong place may also be a race.
                let seen = matches!(verdict(&row.sanitize), Verdict::Wrong | Verdict::Found(..));
                assert!(seen && row.alone == alone, "{row:?}");
            }
            Caught::Sanitizer { .. } => {
                assert!(
                    matches!(verdict(&row.sanitize), Verdict::Found(..)),
                    "{row:?}"
                )
            }
            Caught::Refused { .. } => {
                assert!(
                    matches!(verdict(&row.sanitize), Verdict::Stopped(_)),
                    "{row:?}"
                )
            }
        }
    }
}

/// The book's numbers are counted from the same table, by other code.
#[test]
fn the_ladders_summary_counts_what_the_table_holds() {
    let Some(rows) = recorded() else { return };
    let output = program("ladder").arg("sanitizers").output();
    let output = output.expect("the ladder starts");
    let summary = String::from_utf8_lossy(&output.stdout);
    type Cell = fn(&Row) -> &String;
    let checkers: [(&str, Cell); 6] = [
        ("sanitize", |row| &row.sanitize),
        ("no tool", |row| &row.alone),
        ("memcheck", |row| &row.memcheck),
        ("racecheck", |row| &row.racecheck),
        ("initcheck", |row| &row.initcheck),
        ("synccheck", |row| &row.synccheck),
    ];
    for (name, cell) in checkers {
        let mut expected = [0; 5];
        for row in rows
            .iter()
            .filter(|row| !calibration::SOUND.contains(&row.kernel.as_str()))
        {
            expected[match verdict(cell(row)) {
                Verdict::Found(..) | Verdict::NoEnd(Some(_)) => 0,
                Verdict::Stopped(_) => 1,
                Verdict::Wrong => 2,
                Verdict::NoEnd(None) => 3,
                Verdict::Nothing => 4,
            }] += 1;
        }
        let line = summary
            .lines()
            .find(|line| line.contains(&format!("| {name} ")));
        let numbers = line
            .unwrap_or_default()
            .split('|')
            .filter_map(|cell| cell.trim().parse().ok());
        assert_eq!(
            numbers.collect::<Vec<u32>>(),
            expected,
            "{name} in\n{summary}"
        );
    }
}
