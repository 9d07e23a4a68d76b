//! Merges several PTX texts into one. This links them, since only names connect them.
use crate::error::{Fault, INVALID_PTX};

/// The texts as one module, with the newest `.version` and `.target`. Functions and variables that one text declares
/// and another one defines are matched by name. `.file` numbers of the second and later texts are renumbered after
/// those of the texts before.
///
/// # Errors
/// If there is no text.
pub fn merged(texts: &[String]) -> Result<String, Fault> {
    let [one] = texts else {
        return several(texts);
    };
    Ok(one.clone())
}

fn several(texts: &[String]) -> Result<String, Fault> {
    let newest = |directive: &str| {
        let lines = texts.iter().flat_map(|text| text.lines());
        let values = lines.filter_map(|line| line.trim().strip_prefix(directive));
        let values = values.map(|value| value.split("//").next().unwrap_or_default().trim());
        values.max_by_key(|value| order(value)).map(str::to_owned)
    };
    let (Some(version), Some(target)) = (newest(".version"), newest(".target")) else {
        return Err(Fault::of(
            INVALID_PTX,
            "there is no PTX to link: add some by cuLinkAddData",
        ));
    };
    let mut all = format!(".version {version}\n.target {target}\n.address_size 64\n");
    let mut files = 0;
    for text in texts {
        let mut highest = files;
        // Debug sections are dropped: the emulator does not use them, and their labels would be defined twice.
        let mut in_section = false;
        for line in text.lines() {
            let words = line.trim_start();
            if [".version", ".target", ".address_size"]
                .iter()
                .any(|one| words.starts_with(one))
            {
                continue;
            }
            in_section |= words.starts_with(".section");
            if in_section {
                in_section = !words.contains('}');
                continue;
            }
            let (line, file) = moved(line, files);
            highest = highest.max(file);
            all += &line;
            all.push('\n');
        }
        files = highest;
    }
    Ok(all)
}

/// Sorts `8.0` before `8.10`, and `sm_90` before `sm_90a` before `sm_100`.
fn order(value: &str) -> (Vec<u32>, usize) {
    let first = value.split(',').next().unwrap_or_default();
    let numbers = first.split(|c: char| !c.is_ascii_digit());
    (
        numbers.filter_map(|number| number.parse().ok()).collect(),
        first.len(),
    )
}

/// A line with the numbers of `.file`, `.loc` and `inlined_at` raised, and the highest file that it names.
fn moved(line: &str, by: u32) -> (String, u32) {
    let mut out = String::new();
    let mut highest = 0;
    let mut after = false;
    for piece in line.split_inclusive(|c: char| c.is_whitespace() || c == ',') {
        let word = piece.trim_end_matches(|c: char| c.is_whitespace() || c == ',');
        match word.parse::<u32>() {
            Ok(number) if after => {
                let number = number.saturating_add(by);
                highest = highest.max(number);
                out += &number.to_string();
                out += &piece[word.len()..];
            }
            _ => out += piece,
        }
        // Consecutive spaces between the word and its number yield empty pieces.
        after = matches!(word, ".file" | ".loc" | "inlined_at") || (after && word.is_empty());
    }
    (out, highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_merged_and_files_numbered_on() {
        let one = ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func f;\n\t.loc\t1 7 0\n.file 1 \"a.cu\"\n";
        let two = ".version 8.10\n.target sm_90a, debug\n.address_size 64\n.visible .func f { \n\t.loc\t1 4 0, function_name x, inlined_at 1 9 1\nret; }\n.file\t1 \"b.cu\"\n.section .debug_str\n{\n.b8 1\n}\n";
        let expected = ".version 8.10\n.target sm_90a, debug\n.address_size 64\n.extern .func f;\n\t.loc\t1 7 0\n.file 1 \"a.cu\"\n.visible .func f { \n\t.loc\t2 4 0, function_name x, inlined_at 2 9 1\nret; }\n.file\t2 \"b.cu\"\n";
        assert_eq!(several(&[one.into(), two.into()]), Ok(expected.into()));
        assert!(several(&[]).is_err());
    }
}
