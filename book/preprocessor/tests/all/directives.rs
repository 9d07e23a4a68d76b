//! Every directive on one page, and all of their errors; needs neither mdBook nor the repository's commands.
use crate::common;

use book::page::Page;
use book::world::World;

/// A page of the small repository as a reader sees it, and its errors.
fn shown(text: &str) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    shown_in(&common::world(folder.path()), text)
}

fn shown_in(world: &World, text: &str) -> (String, Vec<String>) {
    let (page, mut problems) = Page::read("book/src/page.md".into(), text);
    let (text, more) = page.show(world);
    problems.extend(more);
    (
        text,
        problems.iter().map(|problem| problem.to_string()).collect(),
    )
}

#[test]
fn a_page_with_every_directive() {
    let (text, problems) = shown(include_str!("pages/every_directive.md"));
    assert_eq!(problems, Vec::<String>::new());
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_wrong_is_named_with_page_and_line() {
    let predict = |lines: &str| format!("{{{{#predict\n{lines}\n}}}}");
    let json = "answer = { run = \"cargo run -p rung04_mma -- --json\", pointer = \"/counters/shared_wavefronts\" }";
    let base = format!("question = \"q\"\nwhy = \"w\"\n{json}");
    for (text, why) in [
        ("{{#rum x}}", "there is no directive `rum`"),
        ("{{#include x}}", "use `{{#code FILE}}`"),
        ("a {{#run x", "never ends with `}}`"),
        (
            "a {{#run cargo run -p rung04_mma}} b",
            "stands alone on its line",
        ),
        ("{{#code}}", "takes a file"),
        ("{{#code nowhere.cu}}", "cannot read nowhere.cu"),
        ("{{#code ../x}}", "not a path inside the repository"),
        (
            "{{#code /etc/hostname}}",
            "not a path inside the repository",
        ),
        ("{{#code rungs/04_mma/kernel.cu#Wait}}", "no section `Wait`"),
        ("{{#diff 4}}", "takes two rungs"),
        ("{{#budget}}", "the words are rungs"),
        (
            "{{#budget 05_swizzle}}",
            "cannot read rungs/05_swizzle/kernel.ptx",
        ),
        ("{{#diff 4 5 | hunk 3}}", "there are 2 hunks"),
        ("{{#diff 4 6}}", "has not been run"),
        ("{{#run rm -r x}}", "neither `cargo run"),
        (
            "{{#run cargo run -p rung04_mma | form x}}",
            "none of from, to, line, exit",
        ),
        (
            "{{#run cargo run -p rung04_mma | from nothing}}",
            "no line of its output contains `nothing`",
        ),
        (
            "{{#run cargo run -p rung04_mma -- sanitize}}",
            "ended with exit code 1, not 0: error: see above",
        ),
        (
            "{{#run cargo run -p rung04_mma | exit 1}}",
            "ended with exit code 0, not 1",
        ),
        ("{{#figure drawn.svg}}", "for readers who do not see it"),
        (
            "{{#figure other.svg | x}}",
            "cannot read book/figures/other.svg",
        ),
        ("{{#figure layout swizzle x | x}}", "x is not a number"),
        ("{{#result bench.md}}", "which of its sections"),
        ("{{#result bench.md#by-size}}", "no section by-size"),
        ("{{#result bench.md#empty}}", "holds no table"),
        ("{{#result rungs.svg}}", "for readers who do not see it"),
        (
            "{{#result ../../x.csv}}",
            "the words are a file of the record",
        ),
        (
            "{{#result other.csv}}",
            "cannot read results/card/other.csv",
        ),
        (
            "{{#result bench.md#by-rung | rows x}}",
            "only a picture or a CSV file",
        ),
        ("{{#result counters.csv | cols x}}", "none of rows, columns"),
        (
            "{{#result tests/card/stalls.csv | rows 05}}",
            "tests/card/stalls.csv: no row of it begins with `05`",
        ),
        (
            "{{#result tests/card/unknown.csv}}",
            "provenance.json has no `unknown`",
        ),
        (
            "{{#result results/nobody/copies.csv}}",
            "nothing says where results/nobody/copies.csv comes from",
        ),
        (
            "{{#result results/labs/copies.json#launches}}",
            "which list, and what of its entries",
        ),
        (
            "{{#result results/labs/copies.json#lunches | columns name}}",
            "no list `lunches`",
        ),
        (
            "{{#result results/labs/copies.json#launches | columns grid}}",
            "no number or text `grid`",
        ),
        ("{{#result tests/card/x.txt}}", "neither a .csv file nor"),
        ("{{#table}}", "the words are a file"),
        ("{{#table ../x.csv}}", "not a path inside the repository"),
        (
            "{{#table results/card/counters.csv | columns x}}",
            "no column `x`",
        ),
        (
            "{{#result bench 07 4096 percent}}",
            "the record has no `07`",
        ),
        (
            "{{#result bench 05_swizzle 512 percent}}",
            "no 05_swizzle at 512x512x512",
        ),
        (
            "{{#result bench 05_swizzle 4096 joules}}",
            "there is no `joules`",
        ),
        (
            "{{#result bench 16_stream_k 512 tflops}}",
            "was wrong at 512x512x512",
        ),
        (
            "{{#result bench 16_stream_k 4096 percent}}",
            "cuBLAS f16 was not timed",
        ),
        (
            "{{#number counters.csv | row 06 | column ncu}}",
            "counters.csv: no row of it begins with `06`",
        ),
        (
            "{{#number bench.md#by-rung | row 05_swizzle | column watts}}",
            "bench.md#by-rung: it has no column `watts`",
        ),
        (
            "{{#number tests/nowhere.csv | regex (x)}}",
            "cannot read tests/nowhere.csv",
        ),
        ("{{#number counters.csv}}", "where is it?"),
        (
            "{{#number cargo run -p rung04_mma | regex shared [a-z]+ +([\\d,]+)}}",
            "`cargo run -p rung04_mma`: `shared [a-z]+ +([\\d,]+)` matches 2 times",
        ),
        (
            "{{#number cargo run -p rung04_mma -- sanitize | regex (\\d+) fault}}",
            "ended with exit code 1",
        ),
        (
            "{{#number counters.csv | row 05_swizzle | column rung | digits 2}}",
            "is not a number to be rounded",
        ),
        (
            &predict(&base.replace("\"q\"", "\"{{#number counters.csv | row 6 | column ncu}}\"")),
            "no row of it begins with `6`",
        ),
        (
            "{{#result bench 05_swizzle 4096x4096x1024 clocks}}",
            "no SM counted its clocks",
        ),
        ("{{#commands x}}", "takes no words"),
        ("{{#minutes 5}}", "takes no words"),
        ("{{#predict\nquestion = 1", "never ends with `}}`"),
        (&predict("question = "), "the TOML of a prediction"),
        (
            &predict(&format!("{base}\nanser = 1")),
            "unknown field `anser`",
        ),
        (
            &predict(&format!(
                "{base}\nwrong = [{{ value = 2048, reply = \"x\" }}]"
            )),
            "2048 is listed as wrong",
        ),
        (
            &predict(&base.replace("/counters", "/nothing")),
            "has no `/nothing/shared_wavefronts`",
        ),
        (
            &predict(&base.replace("question = \"q\"", "question = \"\"")),
            "needs a `question` and a `why`",
        ),
        (
            &predict(&base.replace(" -- --json", "")),
            "this is not JSON",
        ),
    ] {
        let (_, problems) = shown(&format!("# Page\n\n{text}\n"));
        let [problem] = &problems[..] else {
            panic!("{text}: {problems:?}");
        };
        assert!(
            problem.starts_with("book/src/page.md:3: "),
            "{text}: {problem}"
        );
        assert!(problem.contains(why), "{text}: {problem}");
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let (_, problems) = shown("{{#rum}}\n\n{{#code x}} and {{#code y}}\n\n{{#code nowhere}}\n");
    let lines: Vec<&str> = problems
        .iter()
        .filter_map(|line| line.split(':').nth(1))
        .collect();
    assert_eq!(lines, ["1", "3", "3", "5"], "{problems:?}");
}

#[test]
fn no_text_makes_it_panic() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let world = common::world(folder.path());
    let page = include_str!("pages/every_directive.md");
    for end in (0..page.len())
        .filter(|&end| page.is_char_boundary(end))
        .step_by(41)
    {
        shown_in(&world, &page[..end]);
    }
    for text in [
        "{{#",
        "}}",
        "{{#}}",
        "{{# }}",
        "{{#predict",
        "{{#predict}}",
        "`{{#",
        "{{#diff | }}",
        "{{#run 'x}}",
        "{{#figure | }}",
        "{{#result  | }}",
        "{{#code #}}",
        "{{#code rungs/04_mma/kernel.cu#}}",
    ] {
        shown_in(&world, text);
    }
}
