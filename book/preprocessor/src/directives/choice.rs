//! Selects and formats rows and columns of a table: `rows …`, `columns …`, `shares …`.
use anyhow::{Context, Result, bail, ensure};

use super::number::grouped;
use super::options;

/// A page's selection; by default the whole table, unchanged.
#[derive(Default)]
pub struct Choice {
    rows: Vec<String>,
    /// Names and headings.
    columns: Vec<(String, String)>,
    shares: Option<(String, String)>,
}

/// A table of texts.
pub struct Cells {
    /// The columns' names.
    pub head: Vec<String>,
    /// Rows with as many cells as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl Cells {
    /// Parses a CSV file.
    fn of_csv(text: &str) -> Result<Self> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let head = reader.headers()?.iter().map(str::to_owned).collect();
        let rows = reader.deserialize().collect::<Result<_, _>>()?;
        Ok(Self { head, rows })
    }

    /// Parses a table in a CSV file or in Markdown.
    pub fn of(text: &str) -> Result<Self> {
        if !text.starts_with('|') {
            return Self::of_csv(text);
        }
        let row = |line: &str| {
            let cells = line.trim().trim_start_matches('|').trim_end_matches('|');
            let cells = cells.split('|').map(|cell| cell.trim().to_owned());
            cells.collect::<Vec<_>>()
        };
        let mut rows = text.lines().map(row);
        let head = rows.next().unwrap_or_default();
        // The second line contains the rules.
        let rows: Vec<Vec<String>> = rows.skip(1).collect();
        ensure!(
            rows.iter().all(|row| row.len() == head.len()),
            "a row of the table has more or fewer cells than the header"
        );
        Ok(Self { head, rows })
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Result<usize> {
        let found = self.head.iter().position(|head| head == name);
        found.with_context(|| format!("it has no column `{name}`; it has {}", self.head.join(", ")))
    }

    /// Formats it as Markdown; columns of numbers are right-aligned.
    fn markdown(&self) -> String {
        let rules = (0..self.head.len()).map(|i| {
            let numbers = self.rows.iter().all(|row| is_number(&row[i]));
            if numbers { "---:" } else { "---" }.to_owned()
        });
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |", cells.join(" | "))
        };
        let mut lines = vec![line(&self.head), line(&rules.collect::<Vec<_>>())];
        lines.extend(self.rows.iter().map(|row| line(row)));
        lines.join("\n")
    }
}

fn is_number(text: &str) -> bool {
    let text = text.trim_end_matches('%').replace(',', "");
    text.is_empty() || text.parse::<f64>().is_ok()
}

impl Choice {
    /// Parses the options of a directive.
    pub fn read(text: Option<&str>) -> Result<Self> {
        let options = options::named(text, &["rows", "columns", "shares"])?;
        let list = |name| {
            let listed = options::value(&options, name).into_iter();
            listed.flat_map(|list: &str| list.split(',').map(str::trim))
        };
        let shares = options::value(&options, "shares").map(|value| {
            let (first, last) = value
                .split_once(" to ")
                .context("`| shares` takes the first and the last of the columns: `a to b`")?;
            anyhow::Ok((first.trim().to_owned(), last.trim().to_owned()))
        });
        let columns = list("columns").map(|column| {
            let (name, heading) = column.split_once(" as ").unwrap_or((column, column));
            (name.trim().to_owned(), heading.trim().to_owned())
        });
        Ok(Self {
            rows: list("rows").map(str::to_owned).collect(),
            columns: columns.collect(),
            shares: shares.transpose()?,
        })
    }

    /// The selected columns, by name; none if all are.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// The selected part of a CSV file.
    pub fn of_csv(&self, text: &str) -> Result<String> {
        self.markdown(Cells::of_csv(text)?)
    }

    /// The selected part of a table.
    pub fn markdown(&self, mut cells: Cells) -> Result<String> {
        if !self.rows.is_empty() {
            cells.rows = self.chosen(&cells.rows)?;
        }
        if let Some((first, last)) = &self.shares {
            shares(&mut cells, first, last)?;
        }
        if !self.columns.is_empty() {
            let places = self.columns().map(|name| cells.column(name));
            let places = places.collect::<Result<Vec<_>>>()?;
            let row =
                |row: Vec<String>| places.iter().map(|&place| readable(&row[place])).collect();
            let headings = self.columns.iter().map(|(_, heading)| heading);
            cells = Cells {
                head: headings.cloned().collect(),
                rows: cells.rows.into_iter().map(row).collect(),
            };
        }
        Ok(cells.markdown())
    }

    /// The rows that begin with one of the texts, in the order of the texts.
    fn chosen(&self, rows: &[Vec<String>]) -> Result<Vec<Vec<String>>> {
        let mut chosen = Vec::new();
        for text in &self.rows {
            let before = chosen.len();
            chosen.extend(rows_that_begin_with(rows, text).cloned());
            ensure!(chosen.len() > before, "no row of it begins with `{text}`");
        }
        Ok(chosen)
    }
}

/// The rows whose cells, joined, begin with this text.
pub fn rows_that_begin_with<'a>(
    rows: &'a [Vec<String>],
    text: &str,
) -> impl Iterator<Item = &'a Vec<String>> {
    rows.iter().filter(move |row| {
        let row = row.join(" ");
        let rest = row.strip_prefix(text);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

/// Replaces the numbers in a range of columns by percentages of their sum.
fn shares(cells: &mut Cells, first: &str, last: &str) -> Result<()> {
    let (first, last) = (cells.column(first)?, cells.column(last)?);
    ensure!(first < last, "`| shares` names a first and a later column");
    for row in &mut cells.rows {
        let numbers: Vec<f64> = row[first..=last]
            .iter()
            .map(|text| {
                let number = text.parse::<f64>().ok().filter(|number| *number >= 0.0);
                number.with_context(|| format!("`{text}` is not a number, so it has no share"))
            })
            .collect::<Result<_>>()?;
        let sum: f64 = numbers.iter().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            bail!("the numbers of a row add up to {sum}, so they have no shares");
        }
        for (cell, number) in row[first..=last].iter_mut().zip(numbers) {
            *cell = format!("{:.1}%", number / sum * 100.0);
        }
    }
    Ok(())
}

/// More decimals than these are not from a measurement.
const DIGITS: usize = 4;

/// Formats integers with commas, and unrounded numbers with their significant digits; leaves everything else unchanged.
pub fn readable(text: &str) -> String {
    match text.parse::<u32>() {
        Ok(number) if number.to_string() == text => return grouped(number.into()),
        _ => {}
    }
    let long = text
        .split_once('.')
        .is_some_and(|(_, digits)| digits.len() > DIGITS);
    match text.parse::<f64>() {
        Ok(number) if long && number.is_finite() => rounded(number),
        _ => text.to_owned(),
    }
}

/// Four significant digits, if there are more decimals.
pub fn rounded(number: f64) -> String {
    if number.fract() == 0.0 || number == 0.0 {
        return grouped(number);
    }
    let digits = 3 - number.abs().log10().floor() as i32;
    let scale = 10f64.powi(digits.max(0));
    grouped((number * scale).round() / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALLS: &str =
        "rung,tile,time,run,wait,other\n04,,1234567,1,2,1\n06,128x96,7,1,0,3\n06,128x128,8,0,0,0\n";

    fn shown(choice: &str) -> Result<String> {
        Choice::read((!choice.is_empty()).then_some(choice))?.markdown(Cells::of_csv(STALLS)?)
    }

    #[test]
    fn nothing_chosen_is_the_table_as_it_is() {
        let cells = Cells::of_csv("name,n\na|b,1\n\"c, d\",25000\n").expect("a table");
        assert_eq!(
            Choice::default().markdown(cells).expect("a table"),
            "| name | n |\n| --- | ---: |\n| a\\|b | 1 |\n| c, d | 25000 |"
        );
        assert!(Cells::of_csv("a,b\n1\n").is_err());
    }

    #[test]
    fn rows_and_columns_are_chosen_and_named() {
        assert_eq!(
            shown("rows 06 128x96, 04 | columns rung, time as time (ns)").expect("a table"),
            "| rung | time (ns) |\n| ---: | ---: |\n| 06 | 7 |\n| 04 | 1,234,567 |"
        );
    }

    #[test]
    fn shares_are_of_a_rows_sum() {
        assert_eq!(
            shown("rows 04, 06 128x96 | columns tile, wait, other | shares run to other")
                .expect("shares"),
            "| tile | wait | other |\n| --- | ---: | ---: |\n|  | 50.0% | 25.0% |\n| 128x96 | 0.0% | 75.0% |"
        );
        let error = shown("rows 06 128x128 | shares run to other").expect_err("nothing to share");
        assert!(format!("{error:#}").contains("add up to 0"), "{error:#}");
    }

    #[test]
    fn what_is_not_there_is_named() {
        for (choice, why) in [
            ("rows 05", "no row of it begins with `05`"),
            ("rows 0", "no row of it begins with `0`"),
            ("columns watts", "no column `watts`; it has rung, tile"),
            ("shares run", "the first and the last"),
            ("shares other to run", "a later column"),
            ("shares rung to tile", "`` is not a number"),
            ("row 04", "none of rows, columns, shares"),
        ] {
            let error = shown(choice).expect_err("an error");
            assert!(format!("{error:#}").contains(why), "{choice}: {error:#}");
        }
    }

    #[test]
    fn numbers_are_rounded() {
        for (number, text) in [
            (2641.99275, "2,642"),
            (353.863, "353.9"),
            (5.64418, "5.644"),
            (12_345.678, "12,346"),
            (0.001254, "0.001254"),
            (50.0, "50"),
            (0.0, "0"),
        ] {
            assert_eq!(rounded(number), text);
        }
        assert_eq!(readable("0.4685430240419011"), "0.4685");
        assert_eq!(readable("697.3395"), "697.3395");
    }
}
