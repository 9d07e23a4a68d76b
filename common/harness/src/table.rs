//! Tables and numbers for a terminal.

/// Rows under a head, aligned: the first column to the left, the others to the right. No line ends
/// in blanks. No rows, no table.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let all = || std::iter::once(&head).chain(rows);
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            all()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |row: &Vec<String>| {
        let cells =
            row.iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| match column {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
        cells.collect::<Vec<_>>().join("   ").trim_end().to_owned()
    };
    all().map(line).collect()
}

/// `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 block`, `7 blocks`, `2 launches`.
pub fn plural(number: u64, noun: &str) -> String {
    let ending = match number {
        1 => "",
        _ if noun.ends_with('s') || noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", thousands(number))
}

/// `measured / ideal` as a factor: `1.00x`; `-` where nothing was needed.
pub fn factor(measured: u64, ideal: u64) -> String {
    if ideal == 0 {
        "-".into()
    } else {
        format!("{:.2}x", measured as f64 / ideal as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0, 999, 1000, 1_234_567]
                .map(thousands)
                .each_ref()
                .map(|s| s.as_str())
        );
        assert_eq!(
            (plural(1, "block"), plural(2000, "block")),
            ("1 block".into(), "2,000 blocks".into())
        );
        assert_eq!((factor(3, 2), factor(0, 0)), ("1.50x".into(), "-".into()));
    }

    #[test]
    fn columns_line_up() {
        let rows = [
            vec!["a".into(), "1".into()],
            vec!["long".into(), "1,000".into()],
        ];
        assert_eq!(
            table(&["", "x"], &rows),
            ["           x", "a          1", "long   1,000"]
        );
    }
}
