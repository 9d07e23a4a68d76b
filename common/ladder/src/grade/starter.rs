//! A starter is its solution without what the student is to find.
use anyhow::{Result, bail};

/// Between `//: solution` and `//: starter` stands what the starter lacks; from there to `//: end`, behind `//|`, what
/// it has instead.
///
/// # Errors
/// If a marker is missing or out of turn, or there is none.
pub fn of_solution(text: &str) -> Result<String> {
    #[derive(PartialEq)]
    enum Part {
        Shared,
        Solution,
        Starter,
    }
    let mut part = Part::Shared;
    let mut out = String::new();
    let mut found = false;
    for (line, number) in text.lines().zip(1..) {
        let bare = line.trim_start();
        let indent = &line[..line.len() - bare.len()];
        match (bare.trim_end(), &part) {
            ("//: solution", Part::Shared) => (part, found) = (Part::Solution, true),
            ("//: starter", Part::Solution) => part = Part::Starter,
            ("//: end", Part::Starter) => part = Part::Shared,
            (marker, _) if marker.starts_with("//:") => {
                bail!("line {number}: {marker} is out of turn: it goes solution, starter, end")
            }
            (_, Part::Solution) => {}
            (_, Part::Starter) => {
                let Some(line) = bare.strip_prefix("//|") else {
                    bail!("line {number}: lines for the starter begin with //|")
                };
                out += &format!("{indent}{}\n", line.strip_prefix(' ').unwrap_or(line));
            }
            (_, Part::Shared) => out += &format!("{line}\n"),
        }
    }
    if !found || part != Part::Shared {
        bail!("it needs `//: solution`, `//: starter` and `//: end`, in this order");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_are_cut_out() {
        let text =
            "a\n    //: solution\n    secret\n    //: starter\n    //| try\n    //: end\nb\n";
        assert_eq!(of_solution(text).expect("markers"), "a\n    try\nb\n");
        for bad in [
            "a\n",
            "//: solution\nx\n",
            "//: starter\n",
            "//: solution\n//: starter\nx\n//: end\n",
            "//: solution\n//: end\n",
            "//: hint\n",
        ] {
            assert!(of_solution(bad).is_err(), "{bad:?}");
        }
    }
}
