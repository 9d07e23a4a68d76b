//! Keeps only the compiler's messages about the kernel. Messages about other files may quote something that a student
//! must not see. Under the lock no file can be read; should that ever fail, this is a second safeguard.
//!
//! A message is a line `FILE(LINE): …` and everything up to the next such line: quoted source, a caret, the template
//! instantiation. The summary at the end belongs to no message.

/// The messages about the file of this name; a last line counts the others.
pub fn about(name: &str, log: &str) -> String {
    let mut kept = String::new();
    let mut others = 0;
    let mut keeping = true;
    for line in log.lines() {
        if let Some(file) = head(line) {
            keeping = file == name;
            others += u32::from(!keeping);
        }
        if keeping || sums_up(name, line) {
            kept += line;
            kept += "\n";
        }
    }
    match others {
        0 => log.into(),
        1 => kept + "1 message about another file is omitted\n",
        _ => kept + &format!("{others} messages about other files are omitted\n"),
    }
}

/// The file named by a line that begins a message. Quoted source is indented.
fn head(line: &str) -> Option<&str> {
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    line.match_indices("): ").find_map(|(end, _)| {
        let (file, number) = line[..end].rsplit_once('(')?;
        is_number(number).then_some(file)
    })
}

fn sums_up(name: &str, line: &str) -> bool {
    let counted = line.split_once(" detected in the compilation of ");
    let is_count = |text: &str| {
        let (number, what) = text.split_once(' ').unwrap_or_default();
        let what = what.trim_start_matches("catastrophic ");
        number.parse::<u32>().is_ok() && ["error", "errors"].contains(&what)
    };
    line == "Compilation terminated."
        || line.starts_with("At end of source: ")
        || counted.is_some_and(|(count, of)| is_count(count) && of == format!("\"{name}\"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_THE_KERNEL: &str =
        "/kernel.cu(3): error: identifier \"y\" is undefined\n  int x = y(3): 1;\n          ^\n\n";
    const OF_ANOTHER: &str = "/etc/passwd(1): error: expected a declaration\n  root:x:0\n  ^\n\n\
        /etc/(2): x(7): error: no such type\n  secret(1): too\n\n";
    const SUM: &str =
        "3 errors detected in the compilation of \"/kernel.cu\".\nCompilation terminated.\n";

    #[test]
    fn messages_about_the_kernel_stay_as_they_are() {
        for log in [
            &format!("{OF_THE_KERNEL}{OF_THE_KERNEL}{SUM}"),
            "nvrtc: error: invalid value\n",
            "",
        ] {
            assert_eq!(about("/kernel.cu", log), log);
        }
    }

    #[test]
    fn messages_about_other_files_go_with_what_they_quote() {
        let log = format!("{OF_THE_KERNEL}{OF_ANOTHER}{OF_THE_KERNEL}{OF_ANOTHER}{SUM}");
        let said = about("/kernel.cu", &log);
        let left = "4 messages about other files are omitted\n";
        assert_eq!(said, format!("{OF_THE_KERNEL}{OF_THE_KERNEL}{SUM}{left}"));
    }
}
