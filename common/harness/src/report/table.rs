//! Tables and numbers for a terminal.

/// The lines of a table with a header: the first column is left-aligned, the others right-aligned. Lines have no
/// trailing blanks. Empty if there are no rows.
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
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| padded(cell, *width, column == 0));
        cells.collect::<Vec<_>>().join("   ").trim_end().to_owned()
    };
    all().map(line).collect()
}

/// Pads to any width; a format string allows at most 65,535.
fn padded(cell: &str, width: usize, left: bool) -> String {
    let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
    match left {
        true => format!("{cell}{blanks}"),
        false => format!("{blanks}{cell}"),
    }
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

/// `measured / ideal` as a factor: `1.00x`; `-` if the ideal is 0.
pub fn factor(measured: u64, ideal: u64) -> String {
    if ideal == 0 {
        "-".into()
    } else {
        format!("{:.2}x", measured as f64 / ideal as f64)
    }
}

/// A Markdown table, whose header is the first row: the first two columns are left-aligned, the others, which are
/// numbers, right-aligned. All rows must be as long as the first. Empty if there are no rows.
pub fn markdown_table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(4)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| padded(cell, *width, column < 2));
        text += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
        if index == 0 {
            let rules = widths
                .iter()
                .enumerate()
                .map(|(column, width)| match column {
                    0 | 1 => "-".repeat(*width),
                    _ => "-".repeat(*width - 1) + ":",
                });
            text += &format!("| {} |\n", rules.collect::<Vec<_>>().join(" | "));
        }
    }
    text
}

/// The cells of a header.
pub fn head<T: ToString>(names: impl IntoIterator<Item = T>) -> Vec<String> {
    names.into_iter().map(|name| name.to_string()).collect()
}

/// `97.3%`.
pub fn percent(ratio: f64) -> String {
    format!("{:.1}%", 100.0 * ratio)
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

    #[test]
    fn a_cell_may_be_of_any_width() {
        let wide = vec!["x".repeat(70_000), "1".into()];
        let row = vec!["a".to_owned(), "b".into()];
        assert_eq!(
            table(&["", ""], &[wide.clone(), row.clone()])[2].len(),
            70_004
        );
        assert!(markdown_table(&[row, wide]).starts_with("| a    "));
    }
}
