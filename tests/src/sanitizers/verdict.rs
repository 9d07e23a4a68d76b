//! A tool's output for one kernel, condensed to one line.
use super::Checker;
use super::watch::NO_END;

/// The verdict of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No finding, or C is right.
    Nothing,
    /// The number of errors, and the first message.
    Found(u64, String),
    /// C is wrong, and the tool has no finding.
    Wrong,
    /// The kernel was stopped by the GPU, or refused; the message.
    Stopped(String),
    /// Stopped by the time limit; the first message up to then, if any.
    NoEnd(Option<String>),
}

/// The message of `sanitize` if it has no other finding.
const WRONG: &str = "and yet C is wrong";

/// Lines of compute-sanitizer about itself or the program, which are not findings.
const NOT_FINDINGS: [&str; 12] = [
    WRONG,
    "COMPUTE-SANITIZER",
    "ERROR SUMMARY",
    "RACECHECK SUMMARY",
    "LEAK SUMMARY",
    "Target application returned an error",
    "Error: Target application",
    "Error: process didn't terminate successfully",
    "Error: No attachable process",
    "No CUDA-MEMCHECK results found",
    "WARNING: Some",
    // Of `sanitize`: what a launch did not execute.
    "Note: ",
];

impl Verdict {
    /// Parses a file of `raw/`; its first line says how the process ended.
    pub fn of(checker: Checker, raw: &str) -> Self {
        let (ended, text) = raw.split_once('\n').unwrap_or((raw, ""));
        let first = first_finding(text);
        // A process that has printed its report and then waits for the GPU counts as ended; a tool's summary comes
        // after that.
        let reported = |how: &str| text.lines().any(|line| line.trim_start().starts_with(how));
        let error = || {
            let line = text.lines().find_map(|line| line.strip_prefix("error: "))?;
            // The text after it is the remedy.
            line.split("; ").next().map(without_addresses)
        };
        match (checker, first) {
            (Checker::Hardware, _) if reported("verified ") => Self::Nothing,
            (Checker::Hardware, _) if reported("WRONG ") => Self::Wrong,
            (Checker::Hardware, first) => match error().or(first) {
                Some(error) => Self::Stopped(error),
                None if ended.starts_with(NO_END) => Self::NoEnd(None),
                None => Self::Stopped(ended.into()),
            },
            (_, first) if ended.starts_with(NO_END) => Self::NoEnd(first),
            // Only the emulator's sanitizer compares C, too.
            (_, None) if text.contains(WRONG) => Self::Wrong,
            (_, Some(first)) => Self::Found(summed(text).unwrap_or(1), first),
            (_, None) => match error() {
                Some(error) => Self::Stopped(error),
                None if summed(text).is_some() => Self::Nothing,
                // Without a summary the tool has not checked the kernel.
                None => Self::Stopped("the tool gave no summary".into()),
            },
        }
    }

    /// The finding without the places and numbers that differ between kernels.
    pub fn kind(&self) -> Option<String> {
        let (Self::Found(_, message) | Self::NoEnd(Some(message))) = self else {
            return None;
        };
        let kind = message.split(" at ").next().unwrap_or_default();
        Some(kind.chars().filter(|c| !c.is_ascii_digit()).collect())
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Found(count, first) => write!(f, "{count}: {first}"),
            Self::Wrong => f.write_str("C is wrong"),
            Self::Stopped(why) => write!(f, "stopped: {why}"),
            Self::NoEnd(None) => f.write_str("no end"),
            Self::NoEnd(Some(first)) => write!(f, "no end: {first}"),
        }
    }
}

impl std::str::FromStr for Verdict {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((count, first)) = text.split_once(": ")
            && let Ok(count) = count.parse()
        {
            return Ok(Self::Found(count, first.into()));
        }
        match (text, text.split_once(": ")) {
            ("nothing", _) => Ok(Self::Nothing),
            ("C is wrong", _) => Ok(Self::Wrong),
            ("no end", _) => Ok(Self::NoEnd(None)),
            (_, Some(("no end", first))) => Ok(Self::NoEnd(Some(first.into()))),
            (_, Some(("stopped", why))) => Ok(Self::Stopped(why.into())),
            _ => Err(format!("{text:?} is not a verdict")),
        }
    }
}

/// The first finding with its place: its first line, and the place in its second line.
fn first_finding(text: &str) -> Option<String> {
    let mut lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("========= "));
    let is_finding = |line: &&str| {
        !line.is_empty()
            && !line.starts_with(' ')
            && !NOT_FINDINGS.iter().any(|aside| line.starts_with(aside))
    };
    let first = lines.find(is_finding)?;
    let second = lines.next().map(str::trim).unwrap_or_default();
    let whole = match second.split_whitespace().next() {
        Some("at" | "and") => format!("{} {second}", first.trim_end()),
        _ => first.trim_end().to_owned(),
    };
    Some(without_addresses(&whole))
}

/// Turns `at load4(float *, const float *)+0x5f0 in NAME.cu:12` into `at NAME.cu:12`: offsets belong to one
/// compilation, and a function's name may contain spaces.
fn without_addresses(message: &str) -> String {
    let mut kept = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once("+0x") {
        let after = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        match (before.rsplit_once(" at "), after.strip_prefix(" in ")) {
            (Some((message, _)), Some(place)) => {
                kept += message;
                kept += " at ";
                rest = place;
            }
            _ => {
                kept += before;
                rest = after;
            }
        }
    }
    kept += rest;
    let words = kept.split_whitespace();
    let words = words.filter(|word| !word.starts_with("0x"));
    words.map(last_part).collect::<Vec<_>>().join(" ")
}

/// A file name without folders.
fn last_part(word: &str) -> &str {
    match word.rsplit_once('/') {
        Some((_, file)) if file.contains(".cu:") => file,
        _ => word,
    }
}

/// The number in the summary; racecheck's begins with the number of displayed hazards, which `--print-limit` bounds.
fn summed(text: &str) -> Option<u64> {
    let mut lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("========= "));
    let number = |text: &str| text.split_whitespace().next()?.parse::<u64>().ok();
    lines.find_map(|line| {
        if let Some(summary) = line.strip_prefix("ERROR SUMMARY: ") {
            return number(summary);
        }
        let (_, counts) = line.strip_prefix("RACECHECK SUMMARY: ")?.split_once('(')?;
        let (errors, warnings) = counts.split_once(", ")?;
        Some(number(errors)?.saturating_add(number(warnings)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: Checker = Checker::Tool("memcheck");
    const READ: &str = "exit status: 2\n\
        ========= COMPUTE-SANITIZER\n\
        ========= Invalid __global__ read of size 2 bytes\n\
        =========     at load4(float *, const float *)+0x5f0 in reads_past.cu:31\n\
        =========     by thread (0,0,0) in block (1,0,0)\n\
        ========= \n\
        ========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719)\n\
        ========= ERROR SUMMARY: 33 errors\n\
        ========= ERROR SUMMARY: 29 errors were not printed. Use --print-limit option\n";
    const RACE: &str = "exit status: 0\n\
        ========= COMPUTE-SANITIZER\n\
        ========= Error: Race reported between Write access at gemm+0x9b0 in /a/b.cu:70\n\
        =========     and Read access at ldmatrix(unsigned int (&)[4], unsigned int)+0xc10 in /a/b.cu:81 [8192 hazards]\n\
        ========= \n\
        ========= RACECHECK SUMMARY: 4 hazards displayed (5 errors, 10 warnings)\n";
    const DIVERGES: &str = "exit status: 1\n\
        ========= COMPUTE-SANITIZER\n\
        ========= Barrier error detected. Divergent thread(s) in block.\n\
        =========     at gemm::[lambda(int, int) (instance 1)]::operator ()(int, int) const+0x2cf0 in d.cu:98\n\
        =========     by thread (224,0,0) in block (0,0,0)\n\
        ========= ERROR SUMMARY: 128 errors\n";
    const LOST: &str = "exit status: 1\n\
        error: cuMemcpyDtoHAsync failed: CUDA_ERROR_LAUNCH_FAILED (719); the kernel went wrong on the GPU\n";
    const CLEAN: &str = "exit status: 1\n========= COMPUTE-SANITIZER\n01_naive\n\
        ========= Target application returned an error\n========= ERROR SUMMARY: 0 errors\n";

    #[test]
    fn the_first_finding_stands_for_all() {
        let verdict = Verdict::of(TOOL, READ);
        let read = "Invalid __global__ read of size 2 bytes at reads_past.cu:31";
        assert_eq!(verdict, Verdict::Found(33, read.into()));
        let race = Verdict::of(Checker::Tool("racecheck"), RACE);
        assert_eq!(
            race.to_string(),
            "15: Error: Race reported between Write access at b.cu:70 and Read access at b.cu:81 [8192 hazards]"
        );
        assert_eq!(
            Verdict::of(Checker::Tool("synccheck"), DIVERGES).to_string(),
            "128: Barrier error detected. Divergent thread(s) in block. at d.cu:98"
        );
        assert_eq!(Verdict::of(TOOL, CLEAN), Verdict::Nothing);
        let unseen = LOST.to_owned() + "========= ERROR SUMMARY: 0 errors\n";
        let failed = "cuMemcpyDtoHAsync failed: CUDA_ERROR_LAUNCH_FAILED (719)";
        assert_eq!(Verdict::of(TOOL, &unseen), Verdict::Stopped(failed.into()));
        let wrong = CLEAN.to_owned() + "========= and yet C is wrong; see where\n";
        assert_eq!(Verdict::of(TOOL, &wrong), Verdict::Wrong);
        let refused = "exit status: 2\nerror: /a/b/c.cu: no such thing\n";
        let refused = Verdict::of(TOOL, refused);
        assert_eq!(refused, Verdict::Stopped("c.cu: no such thing".into()));
        let stuck = READ.replace("exit status: 2", "no end in 12 s");
        assert_eq!(Verdict::of(TOOL, &stuck), Verdict::NoEnd(Some(read.into())));
    }

    #[test]
    fn without_a_tool_c_is_compared() {
        let of = |raw: &str| Verdict::of(Checker::Hardware, raw);
        assert_eq!(of("exit status: 0\n  verified  all\n"), Verdict::Nothing);
        assert_eq!(of("exit status: 1\n  WRONG     8 wrong\n"), Verdict::Wrong);
        // It had computed C, and was stopped while others used the GPU.
        assert_eq!(of("no end in 8 s\n  WRONG     8 wrong\n"), Verdict::Wrong);
        let failed = "cuMemcpyDtoHAsync failed: CUDA_ERROR_LAUNCH_FAILED (719)";
        assert_eq!(of(LOST), Verdict::Stopped(failed.into()));
        assert_eq!(of("no end in 8 s\n"), Verdict::NoEnd(None));
    }

    #[test]
    fn a_tool_without_a_summary_has_not_checked_the_kernel() {
        let lost = "exit status: 1\n========= COMPUTE-SANITIZER\nerror: no GPU\n";
        assert_eq!(Verdict::of(TOOL, lost), Verdict::Stopped("no GPU".into()));
    }

    #[test]
    fn a_cell_is_read_back() {
        for verdict in [
            Verdict::of(TOOL, READ),
            Verdict::of(TOOL, RACE),
            Verdict::Nothing,
            Verdict::Wrong,
            Verdict::Stopped("a: b".into()),
            Verdict::NoEnd(None),
            Verdict::NoEnd(Some("c at d".into())),
        ] {
            assert_eq!(verdict.to_string().parse(), Ok(verdict));
        }
        assert!("something".parse::<Verdict>().is_err());
    }

    #[test]
    fn a_kind_has_no_place() {
        let other = READ.replace("31", "32").replace("33", "1");
        assert_eq!(
            Verdict::of(TOOL, READ).kind(),
            Verdict::of(TOOL, &other).kind()
        );
        assert_ne!(
            Verdict::of(TOOL, READ).kind(),
            Verdict::of(TOOL, RACE).kind()
        );
        assert_eq!(Verdict::Nothing.kind(), None);
    }
}
