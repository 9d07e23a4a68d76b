//! Describes which elements of C are wrong, if a few words suffice.
use std::collections::BTreeSet;

/// What all wrong elements have in common.
pub fn of(wrong: &[(usize, usize)], [rows, columns]: [usize; 2]) -> Option<String> {
    let of_rows: BTreeSet<_> = wrong.iter().map(|(row, _)| *row).collect();
    let of_columns: BTreeSet<_> = wrong.iter().map(|(_, column)| *column).collect();
    // An element among them may be right by chance.
    let all = of_rows.len() * of_columns.len();
    if all == 0 || 10 * wrong.len() < 9 * all {
        return None;
    }
    let words = [
        numbers(&of_rows, rows, "row"),
        numbers(&of_columns, columns, "column"),
    ];
    let words: Vec<_> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", in "))
}

/// Describes a set of row or column numbers; none if it has all of them or no short description.
fn numbers(found: &BTreeSet<usize>, of: usize, name: &str) -> Option<String> {
    let (first, last) = (*found.first()?, *found.last()?);
    if found.len() == of {
        return None;
    }
    if found.len() == last - first + 1 {
        return Some(match found.len() {
            1 => format!("{name} {first}"),
            _ => format!("{name}s {first} to {last}"),
        });
    }
    // The same numbers in each group of a power of two.
    let groups = (1..8).map(|bits| 1usize << bits);
    let group = groups.into_iter().find(|group| {
        let members: BTreeSet<_> = found.iter().map(|number| number % group).collect();
        let whole = (0..of).filter(|number| members.contains(&(number % group)));
        members.len() < *group && whole.eq(found.iter().copied())
    })?;
    let members: BTreeSet<_> = found.iter().map(|number| number % group).collect();
    let (first, last) = (*members.first()?, *members.last()?);
    let is_run = members.len() == last - first + 1;
    Some(match members.len() {
        1 => format!("{name} {first} of each {group}"),
        _ if is_run => format!("{name}s {first} to {last} of each {group}"),
        2..=4 => {
            let all: Vec<_> = members.iter().map(usize::to_string).collect();
            format!("{name}s {} of each {group}", all.join(", "))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_words_say_which() {
        let those = |is_it: fn(usize, usize) -> bool| {
            let all = (0..32).flat_map(|row| (0..64).map(move |column| (row, column)));
            let wrong: Vec<_> = all.filter(|(row, column)| is_it(*row, *column)).collect();
            of(&wrong, [32, 64])
        };
        assert_eq!(those(|_, _| true), None);
        assert_eq!(those(|_, _| false), None);
        assert_eq!(those(|row, _| row >= 8).as_deref(), Some("rows 8 to 31"));
        assert_eq!(
            those(|_, column| column % 4 == 3).as_deref(),
            Some("column 3 of each 4")
        );
        assert_eq!(
            those(|row, column| row % 16 >= 8 && column < 32).as_deref(),
            Some("rows 8 to 15 of each 16, in columns 0 to 31")
        );
        assert_eq!(
            those(|row, column| (row * 7 + column * 13) % 5 == 0),
            None,
            "no few words"
        );
    }
}
