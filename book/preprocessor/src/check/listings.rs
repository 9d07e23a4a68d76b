//! The lines of code on a page.
use crate::fence::{Fences, Folds};

/// The code of all lines in its listings, and of lines that a diff adds or keeps. Folded listings do not count.
pub fn lines(shown: &str) -> impl Iterator<Item = String> {
    let mut fences = Fences::default();
    let mut folds = Folds::default();
    let lines = shown.lines().filter(move |line| {
        if fences.inside(line) {
            return !folds.open && !line.trim_start().starts_with("```");
        }
        folds.follow(line);
        false
    });
    lines.map(|line| code(line.strip_prefix(['+', ' ']).unwrap_or(line)).to_owned())
}

/// A line of code without its comment.
pub fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or(line).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_listings_and_differences_count() {
        let page = "a();\n```cpp\nb();    // why\n```\nc();\n```diff\n-    d();\n+    e();\n     f();\n```\n<details>\n```cpp\ng();\n```\n</details>\n";
        let found: Vec<String> = lines(page).collect();
        assert_eq!(found, ["b();", "-    d();", "e();", "f();"]);
    }
}
