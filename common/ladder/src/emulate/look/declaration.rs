//! Finds how a source declares a variable in shared memory: `__shared__ float tile[ROWS][COLUMNS]`. More complex
//! declarations, with structs or template parameters, are not understood.
use layout::expression::Expression;

use super::super::element::Element;

/// The information in a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    pub element: Option<Element>,
    /// Rows and columns of a two-dimensional array with known sides.
    pub shape: Option<(usize, usize)>,
}

/// Limits the chain of constants that refer to other constants.
const DEEPEST: usize = 8;

/// Limits the length of a formula: one that refers to itself would grow without end.
const LONGEST: usize = 200;

/// The declaration of a variable, if the source has one.
pub fn of(source: &str, symbol: &str) -> Option<Declared> {
    let source = without_comments(source);
    let statements = source.split([';', '{', '}']);
    let (kind, sides) = statements
        .filter(|one| one.contains("__shared__"))
        .find_map(|one| declares(one, symbol))?;
    let sides: Option<Vec<usize>> = sides.iter().map(|side| value(&source, side)).collect();
    let shape = match sides.as_deref() {
        Some(&[rows, columns]) => Some((rows, columns)),
        _ => None,
    };
    Some(Declared {
        element: element(&kind),
        shape,
    })
}

fn without_comments(source: &str) -> String {
    let lines = source.lines();
    let lines = lines.map(|line| line.split("//").next().unwrap_or_default());
    lines.map(|line| line.to_owned() + "\n").collect()
}

/// The words before the name, and the sides of the array.
fn declares(statement: &str, symbol: &str) -> Option<(String, Vec<String>)> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let (at, _) = statement.match_indices(symbol).find(|(at, _)| {
        let before = statement[..*at].chars().next_back();
        let after = statement[at + symbol.len()..].chars().next();
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })?;
    let sides = statement[at + symbol.len()..].split('[').skip(1);
    let sides = sides.map(|side| side.split(']').next().unwrap_or_default().trim().to_owned());
    Some((statement[..at].to_owned(), sides.collect()))
}

fn element(kind: &str) -> Option<Element> {
    let words: Vec<&str> = kind.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    let is_unsigned = has("unsigned");
    Some(match () {
        () if has("*") => return None,
        () if has("float") => Element::F32,
        () if has("double") => Element::F64,
        () if has("__nv_bfloat16") => Element::Bf16,
        // Without CUDA's headers, f16 is declared as unsigned short.
        () if has("half") || has("__half") || is_unsigned && has("short") => Element::F16,
        () if has("short") => Element::I16,
        () if has("char") && is_unsigned || has("uint8_t") => Element::U8,
        () if has("char") => Element::I8,
        () if has("long") && is_unsigned || has("uint64_t") => Element::U64,
        () if is_unsigned || has("uint32_t") => Element::U32,
        () if has("int") => Element::I32,
        () => return None,
    })
}

/// The value of a formula of constants.
fn value(source: &str, formula: &str) -> Option<usize> {
    let mut formula = formula.to_owned();
    for _ in 0..DEEPEST {
        if formula.len() > LONGEST {
            return None;
        }
        let (next, is_done) = replaced(source, &formula)?;
        if is_done {
            let value = Expression::parse(&next).ok()?.value(0, 0).ok()?;
            return usize::try_from(value).ok();
        }
        formula = next;
    }
    None
}

/// Replaces each name by its definition; returns whether there was none.
fn replaced(source: &str, formula: &str) -> Option<(String, bool)> {
    let (mut out, mut name, mut is_done) = (String::new(), String::new(), true);
    for c in formula.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' {
            name.push(c);
            continue;
        }
        if name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            out += &format!("({})", constant(source, &name)?);
            is_done = false;
        } else {
            out += &name;
        }
        name.clear();
        out.push(c);
    }
    Some((out.trim().to_owned(), is_done))
}

/// The definition of a macro or a constant: `#define N 8`, `constexpr int M = 2, N = 8;`.
fn constant(source: &str, name: &str) -> Option<String> {
    let macros = source.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix("#define")?.trim_start();
        let value = rest.strip_prefix(name)?;
        value
            .starts_with(char::is_whitespace)
            .then(|| value.trim().to_owned())
    });
    let constants = || {
        let all = source.split([';', '{', '}']);
        let all = all.filter(|one| one.contains("const"));
        let mut parts = all.flat_map(|one| one.split(','));
        parts.find_map(|part| {
            let (left, right) = part.split_once('=')?;
            (left.split_whitespace().next_back()? == name).then(|| right.trim().to_owned())
        })
    };
    macros.or_else(constants).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "#define TILE 16\n// __shared__ int tile[1][1];\nconstexpr int BM = TILE * 2, PAD = 4;   // tile\n\
        constexpr int LD = BM + PAD;\nconstexpr int A = B, B = A;\n\
        void k() {\n__shared__ __align__(128) float tile[BM][LD];\n__shared__ unsigned short flat[BM * 8];\n\
        extern __shared__ char raw[];\n__shared__ Pair pairs[2][A]; __shared__ int more[sizeof(int)][2];\n}\n";

    #[test]
    fn rows_columns_and_type() {
        let of = |symbol| of(SOURCE, symbol);
        let known = |element, shape| Some(Declared { element, shape });
        assert_eq!(of("tile"), known(Some(Element::F32), Some((32, 36))));
        assert_eq!(of("flat"), known(Some(Element::F16), None));
        assert_eq!(of("raw"), known(Some(Element::I8), None));
        // Unknown values are not guessed, and self-references do not loop forever.
        assert_eq!(of("pairs"), known(None, None));
        assert_eq!(of("more"), known(Some(Element::I32), None));
        assert_eq!(of("til"), None);
    }
}
