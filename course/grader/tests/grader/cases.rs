//! What a grade says of single kernels. They are compiled here, so NVRTC is needed.
use std::path::Path;

use grader::grade::{Grade, VERSION};

use crate::grading::{SECRET, assignments, graded, grader, solution, swizzle};
use crate::mutations::{Mutation, Mutations};
use crate::support::{self, has_nvrtc, has_ptxas, is_timed, read, root};

fn json(grade: &Grade) -> String {
    grade.json("book").expect("JSON")
}

#[test]
fn a_grade_is_the_same_again_and_names_what_it_rests_on() {
    if !has_nvrtc() {
        return;
    }
    let two_way = solution(&swizzle()).replace("(row >> 1 & 3)", "(row & 3)");
    let grader = grader(&swizzle(), None);
    let [one, other] = [(); 2].map(|()| graded(&grader, &swizzle(), &two_way));
    assert_eq!(one.text("book"), other.text("book"));
    assert_eq!(json(&one), json(&other));
    let results: serde_json::Value = serde_json::from_str(&json(&one)).expect("JSON");
    assert_eq!(results["score"], 79.0, "{}", one.text("book"));
    let extra = &results["extra_data"];
    let compiler = extra["compiler"].as_str().unwrap_or_default();
    assert!(
        compiler.starts_with("NVRTC 1") && compiler.matches('.').count() == 2,
        "{compiler}"
    );
    assert_eq!(extra["rubric_sha256"].as_str().map(str::len), Some(64));
    assert_eq!(extra["submission_sha256"].as_str().map(str::len), Some(64));
    assert_eq!(extra["grader"], VERSION);
    let tests = results["tests"].as_array().expect("tests");
    let sum: f64 = tests.iter().filter_map(|test| test["score"].as_f64()).sum();
    assert!((sum - 79.0).abs() < 1e-9);
    let hidden = tests
        .iter()
        .filter(|test| test["visibility"] == "after_published");
    assert_eq!(hidden.count(), 1);
}

/// Only success and tile are disclosed for a hidden launch: another secret, with different sizes and numbers, gives the
/// same text.
#[test]
fn hidden_launches_are_not_revealed() {
    if !has_nvrtc() {
        return;
    }
    let graded = |name: &str, secret: &[u8]| {
        let all = Mutations::of(&swizzle()).mutation;
        let one = all.iter().find(|one| one.name == name).expect(name);
        let grade = graded(
            &grader(&swizzle(), Some(secret)),
            &swizzle(),
            &one.text(&swizzle()),
        );
        let text = grade.text("book") + &grade.text("book");
        assert!(text.contains("hidden size"), "{name}: {text}");
        let lines = text.lines().filter(|line| !line.starts_with("grader "));
        lines.collect::<Vec<_>>().join("\n")
    };
    for name in ["right_for_the_public_seed_only", "b_in_two_turns"] {
        let [one, other] = [SECRET, b"another secret of the tests"].map(|of| graded(name, of));
        assert_eq!(one, other);
    }
}

/// The points that later launches could give are lost.
#[test]
fn no_launch_follows_a_wrong_hidden_one() {
    if !has_nvrtc() {
        return;
    }
    let all = Mutations::of(&swizzle()).mutation;
    let is_it = |one: &&Mutation| one.name == "right_for_the_public_seed_only";
    let one = all.iter().find(is_it).expect("such a cheat");
    let grader = grader(&swizzle(), Some(SECRET));
    let grade = graded(&grader, &swizzle(), &one.text(&swizzle()));
    let right: Vec<_> = grade.launches().iter().map(|one| one.right).collect();
    let mut from_wrong = right.iter().skip_while(|right| **right == Some(true));
    assert_eq!(from_wrong.next(), Some(&Some(false)), "{right:?}");
    assert!(from_wrong.clone().count() > 1, "{right:?}");
    assert!(from_wrong.all(Option::is_none), "{right:?}");
    let text = grade.text("book");
    assert!(
        text.contains("the sizes after it were not launched"),
        "{text}"
    );
}

#[test]
fn lines_where_warps_of_a_deadlock_wait_are_shown() {
    if !has_nvrtc() {
        return;
    }
    let acc = "    float acc[WM / 16][WN / 8][4] = {};";
    let barrier = r#"if (threadIdx.x >= 32) asm volatile("bar.sync 1, %0;" :: "n"(THREADS));"#;
    let text = solution(&swizzle()).replace(acc, &format!("{acc}\n    {barrier}"));
    let grade = graded(&grader(&swizzle(), None), &swizzle(), &text);
    let text = grade.text("book");
    assert!(text.contains(" threads have arrived"), "{text}");
    for line in [barrier, "__syncthreads();"] {
        assert!(text.contains(&format!(": {line}\n")), "{line}: {text}");
    }
}

/// ptxas ignores a `setmaxnreg` that leaves a warp too few registers, whether for a `wgmma` (24) or for what else it holds
/// (104). C is right, so that this costs no points.
#[test]
fn setmaxnreg_below_what_is_in_use() {
    if !has_nvrtc() || !has_ptxas() {
        return;
    }
    let specialized = root().join("course/assignments/11_specialized");
    let solution = solution(&specialized);
    let grader = grader(&specialized, None);
    let with = |registers: u32| {
        let loops = "    for (int step = 0; step < steps; ++step) {\n        const int round = step / STAGES, from";
        let gives =
            format!("    asm volatile(\"setmaxnreg.dec.sync.aligned.u32 {registers};\");\n{loops}");
        assert!(solution.contains(loops));
        graded(&grader, &specialized, &solution.replacen(loops, &gives, 1))
    };
    let ignores = "ptxas ignores each setmaxnreg of this kernel";
    for registers in [24, 104] {
        let grade = with(registers);
        let text = grade.text("book");
        assert!(grade.passed() && text.contains(ignores), "{text}");
    }
    let text = with(144).text("book");
    assert!(!text.contains("setmaxnreg"), "{text}");
}

/// What the compiler warns about in a header is not the student's mistake.
#[test]
fn warnings_of_headers_are_not_shown() {
    if !has_nvrtc() {
        return;
    }
    let wrong = solution(&swizzle()).replace("(row >> 1 & 3)", "(row & 3)");
    let with_header = format!("#include <cooperative_groups/memcpy_async.h>\n{wrong}");
    let first = |text: &str| {
        let grade = graded(&grader(&swizzle(), None), &swizzle(), text);
        grade.complaints()[0].mistake.clone()
    };
    assert_eq!(first(&with_header), "conflicts-on-ldmatrix");
    let own = with_header.replace("// Where am I?", "M == N;\n    // Where am I?");
    assert_eq!(first(&own), "compiler-warning");
}

/// A call that the clock cannot follow has a hint of its own.
#[test]
fn the_hint_of_an_indirect_call() {
    if !has_nvrtc() || !has_ptxas() {
        return;
    }
    let faster = root().join("course/assignments/12_faster");
    let all = Mutations::of(&faster).mutation;
    let is_called = |one: &&Mutation| one.name == "copies_by_a_pointer";
    let called = all.iter().find(is_called).expect("such a cheat");
    let text = graded(&grader(&faster, None), &faster, &called.text(&faster)).text("book");
    let hint = "hint: which function is called by a pointer, or which `switch` has many cases?";
    assert!(text.contains(hint), "{text}");
}

/// Clocks, bounds and sizes in the text of a timed assignment are those of a run and of its rubric.
#[test]
fn numbers_of_a_timed_assignment_are_so() {
    if !has_nvrtc() || !has_ptxas() {
        return;
    }
    for assignment in assignments().into_iter().filter(|one| is_timed(one)) {
        let readme = read(&assignment.join("README.md"));
        let rubric: toml::Table = read(&assignment.join("rubric.toml")).parse().expect("TOML");
        let has = |text: String| assert!(readme.contains(&text), "README.md lacks {text:?}");
        let number = |value: &toml::Value| {
            harness::thousands(value.as_integer().expect("whole").unsigned_abs())
        };
        let degrees = rubric["measure"][0]["degree"].as_array().expect("degrees");
        for degree in degrees {
            let credit = degree["credit"].as_float().expect("a fraction");
            has(format!(
                "| {} | {:.0}% |",
                number(&degree["at_most"]),
                100.0 * credit
            ));
        }
        has(format!("less than {}:", number(&degrees[0]["at_most"])));
        has(format!(
            "at most {} bytes",
            number(&rubric["tile"][0]["shared_bytes"])
        ));
        let starter = support::starter(&assignment);
        let text = graded(&grader(&assignment, None), &assignment, &starter).text("book");
        let clocks = text
            .split(" clocks are predicted")
            .next()
            .and_then(|text| text.rsplit(' ').next());
        let clocks: u64 = clocks
            .expect("clocks")
            .replace(',', "")
            .parse()
            .expect("a number");
        has(format!(
            "The starter takes {}.",
            harness::thousands((clocks + 500) / 1000 * 1000)
        ));
        let timed = rubric["sizes"]["timed"].as_str().expect("a size");
        let command = "time --kernel my_kernel.cu --size ";
        for text in [&readme, &starter, &solution(&assignment)] {
            let mut sizes = text.split(command).skip(1).peekable();
            assert!(
                sizes.peek().is_some() && sizes.all(|size| size.starts_with(timed)),
                "{text}"
            );
        }
    }
}

/// A line of an inlined function is quoted with the call, and a deadlock names its mbarriers.
#[test]
fn lines_of_inlined_functions_and_mbarriers_are_named() {
    if !has_nvrtc() {
        return;
    }
    let ring = root().join("course/assignments/10_ring");
    let says = |name: &str| {
        let all = Mutations::of(&ring).mutation;
        let one = all.iter().find(|one| one.name == name).expect(name);
        graded(&grader(&ring, None), &ring, &one.text(&ring)).text("book")
    };
    let text = says("releases_a_stage_before_it_is_read");
    let quoted = "  line 166: tma_load(s.stages[stage].A, A, step * BK, tileRow, &s.full[stage]);\n  in `load`, called from line 196: load(step, step % STAGES);\n";
    assert!(text.contains(quoted), "{text}");
    let text = says("the_producer_waits_for_the_other_parity");
    let named = "waits at kernel.cu:195 for phase 0 (parity 0) of mbarrier s + 0x9018 (index 0 of the 3 initialized at kernel.cu:155): 4 of 4 \
         arrivals pending";
    assert!(text.contains(named), "{text}");
}

/// Mistakes in inline PTX have the line where it is written, not that of the call.
#[test]
fn inline_ptx_of_an_inlined_function_has_its_own_line() {
    if !has_nvrtc() {
        return;
    }
    let coalesce = root().join("course/assignments/01_coalesce");
    let right = solution(&coalesce);
    let written = "cvt.f32.f16 %0, %1;";
    let at = right.lines().position(|line| line.contains(written));
    let place = format!("(kernel.cu:{})", at.expect("inline PTX") + 1);
    for wrong in [
        "cvt.f32.f16 %0 %1;",
        "cvt.f32.f17 %0, %1;",
        "cvt.f32.u16 %0, %1;",
    ] {
        let kernel = right.replace(written, wrong);
        let text = graded(&grader(&coalesce, None), &coalesce, &kernel).text("book");
        assert!(text.contains(&place), "{text}");
    }
}

/// Wavefronts that no conflict explains have a line, too.
#[test]
fn the_line_of_most_wavefronts_is_named() {
    if !has_nvrtc() {
        return;
    }
    let all = Mutations::of(&swizzle()).mutation;
    let one = all
        .iter()
        .find(|one| one.name == "reads_the_same_rows_again")
        .expect("a mutation");
    let text = graded(&grader(&swizzle(), None), &swizzle(), &one.text(&swizzle())).text("book");
    let most = "the multiplied elements fill\n  most of them by ldmatrix";
    assert!(text.contains(most) && text.contains(" in line "), "{text}");
}

/// Only the launch bounds of the kernel that is launched count.
#[test]
fn launch_bounds_of_another_kernel_do_not_count() {
    if !has_nvrtc() {
        return;
    }
    let bounds = "extern \"C\" __global__ void __launch_bounds__(";
    let of_other = format!("{bounds}1024) other() {{}}\n\n{bounds}");
    let two_way = solution(&swizzle()).replace("(row >> 1 & 3)", "(row & 3)");
    let text = two_way.replace(bounds, &of_other);
    assert_ne!(text, two_way);
    let text = graded(&grader(&swizzle(), None), &swizzle(), &text).text("book");
    assert!(text.contains("conflict"), "{text}");
    assert!(!text.contains("__launch_bounds__"), "{text}");
}

#[test]
fn what_a_kernel_prints_is_shown() {
    if !has_nvrtc() {
        return;
    }
    let acc = "    float acc[WM / 16][WN / 8][4] = {};";
    let prints = format!(
        "{acc}\n    if (threadIdx.x == 3 && blockIdx.x == 0) printf(\"row %d\\n\\x1b[2J\", myRow);"
    );
    let text = solution(&swizzle()).replace(acc, &prints);
    let grade = graded(&grader(&swizzle(), None), &swizzle(), &text);
    let text = grade.text("book");
    assert!(
        text.contains("printed at 64x32x32:\n  row 0\n  \u{fffd}[2J\n"),
        "{text}"
    );
}

#[test]
fn starters_hold_no_answer() {
    for assignment in assignments() {
        let starter = support::starter(&assignment);
        assert!(
            !starter.contains("//:") && !starter.contains("row >> 1"),
            "{}",
            assignment.display()
        );
    }
}

/// Every page that a complaint links to exists.
#[test]
fn complaints_link_to_mistakes_of_the_book() {
    let book = read(&root().join("book/src/mistakes.md"));
    let is_there = |word: &str| book.contains(&format!("{{#{word}}}"));
    let grade = root().join("course/grader/src/grade");
    let mut found = 0;
    for file in [
        "advice.rs",
        "answers.rs",
        "clock.rs",
        "diagnosis.rs",
        "fragment.rs",
        "diagnose.rs",
        "mechanism/by_line.rs",
        "mechanism/products.rs",
        "mechanism/shared_bytes.rs",
        "mechanism/wavefronts.rs",
        "misplaced.rs",
        "mod.rs",
        "pipeline.rs",
        "probe.rs",
        "sanitizer.rs",
        "values.rs",
        "warnings.rs",
    ] {
        for word in quoted(&grade.join(file)) {
            let is_option = word.starts_with('-');
            let is_anchor = word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            if word.contains('-') && is_anchor && !is_option {
                assert!(is_there(&word), "{file}: no {word} in mistakes.md");
                found += 1;
            }
        }
    }
    assert!(found > 8, "{found}");
    for assignment in assignments() {
        let rubric: toml::Table = read(&assignment.join("rubric.toml")).parse().expect("TOML");
        if let Some(mistake) = rubric
            .get("wrong")
            .and_then(|wrong| wrong["mistake"].as_str())
        {
            assert!(is_there(mistake), "{}: {mistake}", assignment.display());
        }
    }
}

fn quoted(path: &Path) -> Vec<String> {
    read(path)
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Counters end with the launch: after a fault they do not tell what the kernel would have executed.
#[test]
fn after_a_fault_nothing_is_said_of_later_waits() {
    if !has_nvrtc() {
        return;
    }
    let text = solution(&swizzle()).replace("(row >> 1 & 3)", "(row & 7)");
    let text = graded(&grader(&swizzle(), None), &swizzle(), &text).text("book");
    assert!(
        text.contains("out of bounds") && text.contains("Race"),
        "{text}"
    );
    assert!(!text.contains("no wait for copies"), "{text}");
}

/// A barrier that no thread executes is the first complaint if it would order a race, and else a remark after it.
#[test]
fn a_barrier_that_is_never_executed_comes_first_if_it_is_missing() {
    if !has_nvrtc() {
        return;
    }
    let grader = grader(&swizzle(), None);
    let says = |edits: &[[&str; 2]]| {
        let mut text = solution(&swizzle());
        for [from, to] in edits {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        let grade = graded(&grader, &swizzle(), &text);
        let mistakes = grade.complaints().iter().map(|one| one.mistake.clone());
        mistakes.collect::<Vec<_>>()
    };
    let last = "        B += BK * N;\n        __syncthreads();";
    let never = "        B += BK * N;\n        if (k0 > K) __syncthreads();\n";
    let found = says(&[[last, never]]);
    assert_eq!(
        found.first().map(String::as_str),
        Some("never-executed"),
        "{found:?}"
    );
    // A barrier before the loop would order nothing.
    let first = "wait_all;\" ::: \"memory\");\n        __syncthreads();";
    let acc = "    float acc[WM / 16][WN / 8][4] = {};";
    let before = format!("    if (K < 0) __syncthreads();\n{acc}");
    let found = says(&[[first, "wait_all;\" ::: \"memory\");"], [acc, &before]]);
    let at = |mistake: &str| found.iter().position(|one| one == mistake);
    assert_eq!(at("race-after-the-copy"), Some(0), "{found:?}");
    assert!(at("never-executed") > Some(0), "{found:?}");
}

/// Stages are mentioned where copies of several steps are in flight.
#[test]
fn a_ring_is_mentioned_where_there_is_one() {
    if !has_nvrtc() {
        return;
    }
    for (name, from, to, is_ring) in [
        ("05_swizzle", "cp.async.wait_all;", "", false),
        ("06_pipeline", "cp.async.wait_group %0;", "", true),
    ] {
        let assignment = root().join("course/assignments").join(name);
        let text = solution(&assignment);
        assert!(text.contains(from), "{name}");
        let grade = graded(
            &grader(&assignment, None),
            &assignment,
            &text.replace(from, to),
        );
        let found = grade
            .complaints()
            .iter()
            .find(|one| one.mistake == "cp-async-wait");
        let hint = &found.expect("a race").hint;
        assert_eq!(
            hint.contains("in a ring of stages"),
            is_ring,
            "{name}: {hint}"
        );
    }
}

/// If the tensor cores multiply all that they should, it is asked where the sums are stored.
#[test]
fn sums_in_other_places_are_those_of_the_epilogue() {
    if !has_nvrtc() {
        return;
    }
    let pair = "acc[m][n][half * 2], acc[m][n][half * 2 + 1]";
    let text = solution(&swizzle());
    assert!(text.contains(pair));
    let text = text.replace(pair, "acc[m][n][half], acc[m][n][half + 2]");
    let grade = graded(&grader(&swizzle(), None), &swizzle(), &text);
    let found = grade.complaints().first().expect("a complaint");
    assert_eq!(found.mistake, "exchanged-indices");
    assert!(
        found.hint.contains("every product is computed"),
        "{}",
        found.hint
    );
}

/// What only the timed launch tells is not shown as won before it.
#[test]
fn clocks_that_are_not_known_yet_win_nothing() {
    if !has_nvrtc() || !has_ptxas() {
        return;
    }
    let faster = root().join("course/assignments/12_faster");
    let grader = grader(&faster, None);
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = folder.path().join("kernel.cu");
    let mechanism = |text: &str| {
        std::fs::write(&kernel, text).expect("a file");
        let grade = grader.grade_public(&kernel, "").expect("a grade");
        let mut items = grade.items().iter();
        items
            .find(|item| item.name == "mechanism")
            .map(|item| item.points)
    };
    assert_eq!(mechanism(&solution(&faster)), None);
    let wrong = solution(&faster).replace("acc[m][n][half * 2]", "acc[0][n][half * 2]");
    assert_eq!(mechanism(&wrong), Some(0.0));
}
