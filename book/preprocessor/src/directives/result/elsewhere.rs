//! Recorded tables outside of the main record: stalls of whole kernels, times of labs.
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::provenance;
use crate::directives::Directive;
use crate::directives::choice::{Cells, Choice, rounded};

/// A CSV file, or a list in a JSON file.
pub fn read(what: &str, choice: Option<&str>) -> Result<Directive> {
    let (file, list) = match what.split_once('#') {
        Some((file, list)) => (file, Some(list.to_owned())),
        None => (what, None),
    };
    let choice = Choice::read(choice)?;
    match file.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "csv" => ensure!(list.is_none(), "a CSV file has no parts: `{file}`"),
        "json" => ensure!(
            list.is_some() && choice.columns().next().is_some(),
            "which list, and what of its entries? `FILE.json#list | columns …`"
        ),
        _ => anyhow::bail!("`{file}` is neither a .csv file nor a list, .json#list"),
    }
    let file = file.to_owned();
    Ok(Directive::block(move |world, _| {
        let text = world.read(&file)?;
        let table = match &list {
            None => choice.of_csv(&text),
            Some(list) => {
                of_list(&text, list, choice.columns()).and_then(|cells| choice.markdown(cells))
            }
        };
        let table = table.with_context(|| file.clone())?;
        let from = super::recorded_on(&provenance::of_file(world, &file)?);
        Ok(format!("{table}\n\n{from}"))
    }))
}

/// These fields of each element of a list in a JSON file.
fn of_list<'a>(text: &str, list: &str, fields: impl Iterator<Item = &'a str>) -> Result<Cells> {
    let json: Value = serde_json::from_str(text).context("not JSON")?;
    let entries = json.get(list).and_then(Value::as_array);
    let entries = entries.with_context(|| format!("it has no list `{list}`"))?;
    let head: Vec<String> = fields.map(str::to_owned).collect();
    let row = |entry: &Value| {
        let cell = |name: &String| match entry.get(name) {
            Some(Value::Number(number)) => Ok(rounded(number.as_f64().unwrap_or(f64::NAN))),
            Some(Value::String(text)) => Ok(text.clone()),
            _ => anyhow::bail!("an entry of `{list}` has no number or text `{name}`"),
        };
        head.iter().map(cell).collect::<Result<Vec<_>>>()
    };
    let rows = entries.iter().map(row).collect::<Result<_>>()?;
    Ok(Cells { head, rows })
}
