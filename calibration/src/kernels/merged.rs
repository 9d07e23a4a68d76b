//! Merges new rows of some rungs into a recorded table. Its first column is the rung, its fourth the size.
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use csv::StringRecord;

const SIZE: usize = 3;

/// An existing table; `None` if there is none.
///
/// # Errors
/// If the table exists and cannot be read: overwriting it would lose the rows of other rungs.
pub fn older(path: &Path) -> Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        bytes => Ok(Some(bytes.with_context(|| {
            format!(
                "cannot read {}, whose other rows must be kept",
                path.display()
            )
        })?)),
    }
}

/// The rows of `new`, and those rows of `older` that belong to none of these `rungs`: by size, in the order of
/// `sizes`, and by rung, in the tables' own order.
///
/// # Errors
/// If a table cannot be read, or the columns differ.
pub fn with(older: Option<&[u8]>, new: &[u8], rungs: &[&str], sizes: &[&str]) -> Result<Vec<u8>> {
    let Some(older) = older else {
        return Ok(new.to_vec());
    };
    let (columns, mut rows) = read(older)?;
    rows.retain(|row| !row.get(0).is_some_and(|rung| rungs.contains(&rung)));
    // A table for which nothing could be recorded has no columns either.
    if !new.is_empty() {
        let (others, new) = read(new)?;
        anyhow::ensure!(
            columns == others,
            "the existing recording has other columns"
        );
        rows.extend(new);
    }
    rows.sort_by_key(|row| {
        let size = row.get(SIZE).unwrap_or_default();
        let at = sizes.iter().position(|one| *one == size);
        (
            at.unwrap_or(sizes.len()),
            row.get(0).unwrap_or_default().to_owned(),
        )
    });
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&columns)?;
    rows.iter().try_for_each(|row| writer.write_record(row))?;
    writer.into_inner().context("a table is not complete")
}

fn read(table: &[u8]) -> Result<(StringRecord, Vec<StringRecord>)> {
    let mut reader = csv::Reader::from_reader(table);
    let columns = reader.headers()?.clone();
    let rows = reader.records().collect::<Result<_, _>>()?;
    Ok((columns, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLDER: &str =
        "rung,arch,tile,size,time\n01,a,,8,1\n02,a,x,8,2\n02,a,y,8,3\n01,a,,4,4\n02,a,x,4,5\n";

    fn made(new: &str, rungs: &[&str]) -> Result<String> {
        let made = with(Some(OLDER.as_bytes()), new.as_bytes(), rungs, &["8", "4"]);
        Ok(String::from_utf8(made?)?)
    }

    #[test]
    fn rows_of_other_rungs_stay() {
        let new = "rung,arch,tile,size,time\n01,a,,8,6\n01,a,,4,7\n";
        assert_eq!(
            made(new, &["01"]).expect("a table"),
            "rung,arch,tile,size,time\n01,a,,8,6\n02,a,x,8,2\n02,a,y,8,3\n01,a,,4,7\n02,a,x,4,5\n"
        );
        // A kernel that was deleted, or could not be recorded, leaves no row.
        let new = "rung,arch,tile,size,time\n02,a,z,8,6\n";
        assert_eq!(
            made(new, &["02"]).expect("a table"),
            "rung,arch,tile,size,time\n01,a,,8,1\n02,a,z,8,6\n01,a,,4,4\n"
        );
        assert!(!made("", &["02"]).expect("a table").contains("02"));
        assert_eq!(
            with(None, b"x\n1\n", &[], &[]).expect("as it is"),
            b"x\n1\n"
        );
    }

    #[test]
    fn a_table_that_cannot_be_read_is_not_none() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let file = folder.path().join("rungs.csv");
        assert_eq!(older(&file).expect("nothing yet"), None);
        std::fs::write(&file, OLDER).expect("writable");
        assert_eq!(older(&file).expect("a table"), Some(OLDER.into()));
        // A folder of that name is not a file.
        let why = older(folder.path()).expect_err("no file").to_string();
        assert!(why.contains("cannot read"), "{why}");
    }

    #[test]
    fn other_columns_are_refused() {
        let error = made("rung,arch,tile,size\n01,a,,8\n", &["01"]).expect_err("columns");
        assert!(error.to_string().contains("other columns"), "{error}");
    }
}
