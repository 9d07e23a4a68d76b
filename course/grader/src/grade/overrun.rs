//! Finds a store that runs beyond the end of its array in shared memory, into the next one.

/// If only one of two lines that write the same bytes names the array to which they belong: the line that names another array,
/// and that array.
pub fn of<T: AsRef<str>>(lines: &[(u32, T)], owner: &str, source: &str) -> Option<String> {
    let arrays: Vec<&str> = source.lines().filter_map(declared).collect();
    let names = |text: &str, name: &str| words(text).any(|word| word == name);
    let is_owners = |(_, text): &&(u32, T)| names(text.as_ref(), owner);
    lines.iter().find(is_owners)?;
    let (line, other) = lines.iter().find_map(|(line, text)| {
        let text = text.as_ref();
        let other = arrays
            .iter()
            .find(|name| **name != owner && names(text, name))?;
        (!names(text, owner)).then_some((line, other))
    })?;
    Some(format!(
        "line {line} accesses {other}, but these bytes belong to {owner}: is its index beyond the end of {other}?"
    ))
}

/// The array that a line declares in shared memory.
fn declared(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("__shared__")?;
    words(rest.split_once('[')?.0).last()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let all = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    all.filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        "__shared__ __align__(16) float As[A_FLOATS]; // (BK, BM)\n__shared__ float Bs[BK * BN];";

    #[test]
    fn the_line_that_names_another_array() {
        let stores = [
            (7, "As[place(k, row)] = a;"),
            (9, "*(float4*)&Bs[row] = b;"),
        ];
        let found = of(&stores, "Bs", SOURCE).expect("an overrun");
        assert!(
            found.starts_with("line 7 accesses As, but these bytes belong to Bs"),
            "{found}"
        );
    }

    #[test]
    fn nothing_where_both_name_the_owner_or_neither_does() {
        let both = [(7, "Bs[0] = a;"), (9, "Bs[1] = b;")];
        assert_eq!(of(&both, "Bs", SOURCE), None);
        let neither = [(7, "p[0] = a;"), (9, "q[1] = b;")];
        assert_eq!(of(&neither, "Bs", SOURCE), None);
    }
}
