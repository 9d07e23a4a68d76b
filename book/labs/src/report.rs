//! The report of a run for a terminal.
use std::collections::HashSet;
use std::fmt::Write as _;

use emulator::Counters;
use harness::lines::{Row, by_line, sum, totals};
use harness::table::{factor, table, thousands};
use owo_colors::OwoColorize;

use crate::lab::{CompletedLaunch, Lab, Purpose};

/// The experiments, one line each.
pub fn list(labs: &[Lab]) -> String {
    let width = labs.iter().map(|lab| lab.name.len()).max().unwrap_or(0);
    let name = |lab: &Lab| format!("{:<width$}", lab.name);
    let line = |lab: &Lab| format!("{}  {}\n", name(lab).bold(), lab.about);
    labs.iter().map(line).collect()
}

/// The report of a run.
pub fn text(lab: &Lab, place: &str, done: &[CompletedLaunch]) -> String {
    let mut text = head(lab, place, done);
    section(&mut text, &counters(done));
    for remark in (lab.remarks)(done) {
        section(&mut text, &remark);
    }
    let (shown, others): (Vec<_>, Vec<_>) = done.iter().partition(|one| one.as_intended());
    for one in shown.iter().filter(|one| one.verdict.is_none()) {
        let _ = writeln!(text, "\n  {} stops:", one.launch.name);
        for line in one.findings().iter().flat_map(|finding| finding.lines()) {
            let _ = writeln!(text, "    {line}");
        }
    }
    for one in others {
        let name = one.launch.name.red();
        let _ = writeln!(text, "\n  {name} does not show what it should");
        let first_wrong = one.verdict.as_ref().and_then(|verdict| verdict.first_wrong);
        if let Some((place, got, want)) = first_wrong {
            let _ = writeln!(text, "  value {place} is {got}, and should be {want}");
        }
        for finding in one.findings() {
            let _ = writeln!(text, "  {finding}");
        }
    }
    text
}

/// What ran where.
pub fn head(lab: &Lab, place: &str, done: &[CompletedLaunch]) -> String {
    let mut text = format!("{}  {}\n", lab.name.bold(), lab.about);
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "  {}{value}", format!("{label:<10}").dimmed());
    };
    line("on", place);
    let mut files = HashSet::new();
    for source in done.iter().map(|one| &one.source) {
        let file = format!("{} for {}, {}", source.file, source.arch, source.origin);
        if files.insert(file.clone()) {
            line("kernel", &file);
        }
    }
    text
}

/// A row for each launch.
fn counters(done: &[CompletedLaunch]) -> Vec<String> {
    const HEAD: [&str; 10] = [
        "",
        "values",
        "stores / ideal",
        "ways",
        "loads / ideal",
        "ways",
        "other / ideal",
        "sectors / ideal",
        "shared bytes",
        "",
    ];
    let rows: Vec<Vec<String>> = done.iter().map(cells).collect();
    // Columns that are empty or uninformative are omitted.
    let filled = |column: usize| {
        let cells = rows.iter().map(move |row| &row[column]);
        cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
    };
    let mut kept: Vec<usize> = (0..HEAD.len()).collect();
    kept.retain(|&column| match HEAD[column] {
        _ if column == 0 => true,
        "sectors / ideal" => done.iter().any(|done| !is_coalesced(done)),
        "shared bytes" => filled(column).windows(2).any(|pair| pair[0] != pair[1]),
        _ => !filled(column).is_empty(),
    });
    let keep = |row: &Vec<String>| kept.iter().map(|&column| row[column].clone()).collect();
    let head: Vec<&str> = kept.iter().map(|&column| HEAD[column]).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(keep).collect();
    table(&head, &rows)
}

fn cells(done: &CompletedLaunch) -> Vec<String> {
    let mut row = vec![done.launch.name.clone(), values(done)];
    if let Some((program, run)) = &done.emulated
        && !run.counters.is_empty()
    {
        let totals = totals(program.instructions(), &run.counters);
        let of = |kinds: &[Row]| sum(kinds.iter().filter_map(|kind| totals.get(kind)));
        let all = sum(&run.counters);
        for kind in [Row::SharedStores, Row::SharedLoads] {
            let counters = of(&[kind]);
            row.push(wavefronts(&counters));
            row.push(match counters.shared.ideal {
                0 => String::new(),
                ideal => factor(counters.shared.wavefronts, ideal),
            });
        }
        row.push(wavefronts(&of(&[Row::SharedCopies, Row::SharedOther])));
        row.push(pair(all.global_sectors, all.global_sectors_ideal));
        let shared_bytes = program.static_shared() + done.launch.dynamic_shared;
        row.push(thousands(shared_bytes.into()));
    } else {
        row.extend(std::iter::repeat_n(String::new(), 7));
    }
    row.push(match done.launch.purpose {
        Purpose::Right => String::new(),
        Purpose::Wrong | Purpose::Fault(_) if done.as_intended() => "as intended".into(),
        Purpose::Wrong | Purpose::Fault(_) => "not as intended".into(),
    });
    row
}

/// Whether no access took more sectors than necessary.
fn is_coalesced(done: &CompletedLaunch) -> bool {
    let all = done.emulated.as_ref().map(|(_, run)| sum(&run.counters));
    all.is_none_or(|all| all.global_sectors == all.global_sectors_ideal)
}

fn values(done: &CompletedLaunch) -> String {
    match &done.verdict {
        None => match done.launch.purpose {
            Purpose::Fault(words) if done.as_intended() => format!("stops: {words}"),
            _ => "stops".into(),
        },
        Some(verdict) if verdict.ok() => "right".into(),
        Some(verdict) => {
            let [wrong, checked] = [verdict.wrong, verdict.checked].map(|n| thousands(n as u64));
            format!("{wrong} of {checked} wrong")
        }
    }
}

fn wavefronts(counters: &Counters) -> String {
    pair(counters.shared.wavefronts, counters.shared.ideal)
}

fn pair(measured: u64, ideal: u64) -> String {
    if measured == 0 {
        return String::new();
    }
    format!("{} / {}", thousands(measured), thousands(ideal))
}

/// The kernels with the counters of their lines: one listing of a file for all kernels that are launched once, and
/// one for each launch of the others.
pub fn listings(done: &[CompletedLaunch]) -> String {
    let kernel = |one: &CompletedLaunch| (one.source.file.clone(), one.launch.entry);
    let mut groups: Vec<(bool, Vec<&CompletedLaunch>)> = Vec::new();
    for one in done {
        let same = done.iter().filter(|other| kernel(other) == kernel(one));
        let once = same.count() == 1;
        let group = groups
            .iter_mut()
            .find(|(of_once, group)| *of_once && once && group[0].source.file == one.source.file);
        match group {
            Some((_, group)) => group.push(one),
            None => groups.push((once, vec![one])),
        }
    }
    let mut text = String::new();
    for (_, group) in groups {
        let names: Vec<_> = group.iter().map(|one| one.launch.name.as_str()).collect();
        let _ = writeln!(text, "\n{}", names.join(", ").bold());
        let counted = group.iter().filter_map(|one| one.emulated.as_ref());
        let (instructions, counters): (Vec<_>, Vec<Counters>) = counted
            .flat_map(|(program, run)| {
                let instructions = program.instructions().iter().cloned();
                instructions.zip(run.counters.iter().copied())
            })
            .unzip();
        let source = &group[0].source;
        text += &harness::source_lines(source, &by_line(source, &instructions, &counters));
        for finding in group.iter().flat_map(|one| one.findings()) {
            let _ = writeln!(text, "{finding}");
        }
    }
    text
}

/// The findings, launch by launch.
pub fn findings(done: &[CompletedLaunch]) -> String {
    let mut text = String::new();
    for one in done {
        let right = one.verdict.as_ref().is_none_or(|verdict| verdict.ok());
        let _ = writeln!(text, "{}", one.launch.name.bold());
        text += &harness::findings(
            &one.findings(),
            one.remarks(),
            right || one.launch.purpose == Purpose::Wrong,
        );
    }
    text
}

fn section(text: &mut String, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    text.push('\n');
    for line in lines {
        let _ = writeln!(text, "{}", format!("  {line}").trim_end());
    }
}
