//! Tables in Markdown, which a terminal shows as well.

/// Rows under the first, aligned: the first two columns to the left, the others, numbers, to the right. All rows are
/// as long as the first; no rows, no table.
pub fn markdown_table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(4)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells =
            row.iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| match column {
                    0 | 1 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
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

/// The cells of a head.
pub fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// `97.3%`.
pub fn percent(ratio: f64) -> String {
    format!("{:.1}%", 100.0 * ratio)
}
