//! Verification detects wrong results, and `sanitize` finds what is wrong and where. The kernels are compiled here,
//! so NVRTC is needed.
use harness::ptx_file;
use ladder_tests::broken::shown::{EDITS, edits, shown};
use ladder_tests::broken::{
    A_TILE_IN_TWO_PIECES, Broken, Caught, SEVERAL_TILES_A_BLOCK, TWO_TILES_IN_FOUR_PIECES, all,
};
use ladder_tests::workspace::{entries, files, has_nvrtc, read, root, run};

/// `launch` does not predict the time, for which ptxas would have to compile the kernel.
fn run_broken(broken: &Broken, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = std::env::temp_dir().join(format!("ladder-tests-{}", std::process::id()));
    let path = broken.write(&folder).expect("a temporary file");
    let path = path.to_str().expect("a path");
    let output = run(
        &root().join("rungs").join(broken.rung),
        &[arguments, broken.arguments, &["--kernel", path]].concat(),
    );
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text.into_owned())
}

/// The findings, each with the text of its lines.
fn findings(text: &str) -> Vec<String> {
    let mut findings: Vec<String> = Vec::new();
    for line in text
        .lines()
        .filter_map(|line| line.strip_prefix("========= "))
    {
        match findings.last_mut() {
            Some(finding) if line.starts_with(' ') => *finding += &format!("\n{line}"),
            _ => findings.push(line.into()),
        }
    }
    findings
}

#[test]
fn wrong_values_never_pass() {
    if !has_nvrtc(gpu::Nvrtc::find().is_ok()) {
        return;
    }
    for broken in all() {
        let sizes: &[&str] = match broken.caught {
            Caught::Values => &["128", "200x136x72", "130x70x16384"],
            Caught::ValuesAtSize => &[broken.size],
            _ => &[],
        };
        for size in sizes {
            let (code, text) = run_broken(broken, &["launch", "--size", size]);
            assert_eq!(code, Some(1), "{} at {size}: {text}", broken.name);
            assert!(
                text.to_lowercase().contains("wrong"),
                "{} at {size}: {text}",
                broken.name
            );
        }
    }
}

#[test]
fn the_sanitizer_names_the_mistake_and_its_line() {
    if !has_nvrtc(gpu::Nvrtc::find().is_ok()) {
        return;
    }
    let missed: Vec<String> = all().filter_map(missed_by_the_sanitizer).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

/// What is wrong with the findings for a broken kernel, if anything.
fn missed_by_the_sanitizer(broken: &Broken) -> Option<String> {
    let Caught::Sanitizer { says, at } = broken.caught else {
        return None;
    };
    let name = broken.name;
    let lines: Vec<String> = broken
        .source()
        .lines()
        .zip(1..)
        .filter(|(line, _)| line.contains(at))
        .map(|(_, number)| format!("{name}.cu:{number}"))
        .collect();
    if lines.is_empty() {
        return Some(format!("{name}: no line holds {at:?}"));
    }
    let (code, text) = run_broken(broken, &["sanitize", "--size", broken.size]);
    if code != Some(1) {
        return Some(format!("{name}: exit code {code:?}\n{text}"));
    }
    let named = |finding: &String| {
        let mut words = finding.split_whitespace();
        finding.contains(says) && words.any(|word| lines.iter().any(|line| word == line))
    };
    let found = findings(&text).iter().any(named);
    (!found).then(|| format!("{name}: no finding says {says:?} at one of {lines:?}\n{text}"))
}

#[test]
fn what_no_gpu_takes_is_refused_with_the_reason() {
    if !has_nvrtc(gpu::Nvrtc::find().is_ok()) {
        return;
    }
    for broken in all() {
        let Caught::Refused { says } = broken.caught else {
            continue;
        };
        let (code, text) = run_broken(broken, &["sanitize", "--size", broken.size]);
        assert_eq!(code, Some(2), "{}: {text}", broken.name);
        assert!(
            text.contains(says),
            "{}: {says:?} is not in\n{text}",
            broken.name
        );
    }
}

/// Some mistakes show only in kernels with further changes. These changes alone are correct: a tile whose panels are
/// stored one in each step of the next tile, all at its end, or some of each.
#[test]
fn several_tiles_per_block_are_not_a_mistake() {
    if !has_nvrtc(gpu::Nvrtc::find().is_ok()) {
        return;
    }
    let rung = root().join("rungs").join(SEVERAL_TILES_A_BLOCK.rung);
    let ptx = files(&rung, ".ptx");
    let tiles: Vec<&str> = ptx
        .iter()
        .filter_map(|path| path.file_stem()?.to_str()?.strip_prefix("kernel."))
        .collect();
    assert!(!tiles.is_empty());
    // Several lengths of a tile for the one that is stored while the next is computed; the others are stored at their end.
    let lengths = |tile: &str| match tile {
        "128x256" => vec![8, 192, 256, 328],
        _ => vec![256],
    };
    for (tile, k) in tiles
        .iter()
        .flat_map(|tile| lengths(tile).into_iter().map(move |k| (tile, k)))
    {
        let size = format!("200x1000x{k}");
        let chosen = ["--tile", tile, "--size", &size];
        let launch = [&["launch"][..], &chosen].concat();
        let (code, text) = run_broken(&SEVERAL_TILES_A_BLOCK, &launch);
        assert_eq!(code, Some(0), "{chosen:?}: {text}");
        let sanitize = [&["sanitize", "--runs", "2"], &chosen[..]].concat();
        let (code, text) = run_broken(&SEVERAL_TILES_A_BLOCK, &sanitize);
        assert_eq!(code, Some(0), "{sanitize:?}: {text}");
    }
}

#[test]
fn tiles_in_pieces_are_not_a_mistake() {
    if !has_nvrtc(gpu::Nvrtc::find().is_ok()) {
        return;
    }
    for broken in [&A_TILE_IN_TWO_PIECES, &TWO_TILES_IN_FOUR_PIECES] {
        // Five schedules: another CTA arrives last, and the bits are the same.
        let (code, text) = run_broken(broken, &["launch", "--size", broken.size, "--runs", "5"]);
        assert_eq!(code, Some(0), "{}: {text}", broken.name);
        let (code, text) = run_broken(broken, &["sanitize", "--size", broken.size]);
        assert_eq!(code, Some(0), "{}: {text}", broken.name);
    }
}

/// Every name is unique, since `examples/broken_kernels.rs` names files by it.
#[test]
fn each_has_a_name_of_its_own() {
    let mut names: Vec<&str> = all().map(|broken| broken.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}

/// The PTX that the book runs is that of the listed kernels, made from the current rungs.
#[test]
fn the_books_kernels_are_current() {
    let mend = "`cargo run -p ladder-tests --example broken_kernels -- --book` writes it";
    let folder = root().join("book/kernels");
    let mut listed = Vec::new();
    for broken in shown() {
        let (file, source) = (broken.file(), broken.source());
        let path = folder.join(&file).with_extension("ptx");
        let ptx = read(&path);
        let kernel = broken.kernel_file(&file, &source, &ptx);
        assert_eq!(ptx_file::check(&kernel), Ok(()), "{file}: {mend}");
        listed.push(path);
    }
    let path = folder.join(EDITS);
    assert_eq!(read(&path), edits(), "{EDITS}: {mend}");
    listed.push(path);
    listed.sort();
    // The folders there are `cargo ladder ptx`'s.
    let mut there = entries(&folder);
    there.retain(|path| path.is_file());
    there.sort();
    assert_eq!(there, listed, "a file that no list has");
}
