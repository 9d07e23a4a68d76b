//! NumPy's `.npy` files: a type, a shape and the numbers. They are not read by the crate `npyz`, which panics if a
//! shape overflows and allocates whatever length a header states: see ARCHITECTURE.md, "Libraries that were considered".
use super::element::Element;

/// The magic number of a file.
const MAGIC: &[u8] = b"\x93NUMPY";
/// The most dimensions of an array, as in NumPy.
const MOST_DIMENSIONS: usize = 64;

/// An array: elements in C order, the last index fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub element: Element,
    pub shape: Vec<u64>,
    pub bytes: Vec<u8>,
}

/// The name of a type in a file. NumPy has no bf16; libraries write it as two bytes.
fn descriptions(element: Element) -> &'static [&'static str] {
    match element {
        Element::F16 => &["<f2"],
        Element::Bf16 => &["<V2", "|V2", "bfloat16"],
        Element::F32 => &["<f4"],
        Element::F64 => &["<f8"],
        Element::I8 => &["|i1", "<i1"],
        Element::U8 => &["|u1", "<u1", "|b1"],
        Element::I16 => &["<i2"],
        Element::U16 => &["<u2"],
        Element::I32 => &["<i4"],
        Element::U32 => &["<u4"],
        Element::I64 => &["<i8"],
        Element::U64 => &["<u8"],
    }
}

/// Reads the array in a file.
///
/// # Errors
/// What is wrong with it.
pub fn read(file: &[u8]) -> Result<Array, String> {
    let rest = file.strip_prefix(MAGIC).ok_or("it is no .npy file")?;
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (u32::from_le_bytes([*a, *b, 0, 0]), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]), rest),
        _ => return Err("its version is none of 1, 2 and 3".into()),
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let (header, data) = rest
        .split_at_checked(length)
        .ok_or("it ends within its header")?;
    let header = std::str::from_utf8(header).map_err(|_| "its header is not text")?;
    let description = entry(header, "descr").ok_or("its header names no type")?;
    let description = description.trim_matches(['\'', '"']);
    let known = |element: &Element| descriptions(*element).contains(&description);
    let Some(element) = Element::ALL.into_iter().find(known) else {
        return Err(format!(
            "its type is `{description}`; save it as one of float16, float32, float64, int8 to int64, uint8 to uint64"
        ));
    };
    let fortran = match entry(header, "fortran_order") {
        Some("True") => true,
        Some("False") => false,
        _ => return Err("its header does not say in which order it is".into()),
    };
    let shape = entry(header, "shape")
        .and_then(shape_of)
        .ok_or("its header names no shape")?;
    let count = count(&shape).and_then(|count| count.checked_mul(element.bytes()));
    let bytes = count.and_then(|count| data.get(..count));
    let bytes =
        bytes.ok_or_else(|| format!("it holds {} bytes, too few for its shape", data.len()))?;
    let bytes = match fortran {
        true => transposed(bytes, &shape, element.bytes()),
        false => bytes.to_vec(),
    };
    Ok(Array {
        element,
        shape,
        bytes,
    })
}

/// The number of elements of a shape, if it does not overflow.
pub fn count(shape: &[u64]) -> Option<usize> {
    let product = shape
        .iter()
        .try_fold(1u64, |product, &side| product.checked_mul(side));
    usize::try_from(product?).ok()
}

/// The text of a value in a header such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn entry<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let (_, rest) = quoted
        .iter()
        .find_map(|key| header.split_once(key.as_str()))?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = match value.starts_with('(') {
        true => value.find(')')? + 1,
        false => value.find([',', '}'])?,
    };
    Some(value[..end].trim_end())
}

/// `()`, `(3,)`, `(3, 4)`
fn shape_of(text: &str) -> Option<Vec<u64>> {
    let inside = text.strip_prefix('(')?.strip_suffix(')')?.trim();
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    if inside.is_empty() {
        return Some(Vec::new());
    }
    let sides = inside
        .split(',')
        .map(|side| side.trim().trim_end_matches('L').parse());
    let shape: Vec<u64> = sides.collect::<Result<_, _>>().ok()?;
    (shape.len() <= MOST_DIMENSIONS).then_some(shape)
}

/// Converts Fortran order, the first index fastest, to C order.
fn transposed(bytes: &[u8], shape: &[u64], width: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = vec![0u64; shape.len()];
    for _ in 0..bytes.len() / width {
        let at = index
            .iter()
            .zip(shape)
            .rev()
            .fold(0, |at, (&i, &side)| at * side + i);
        let at = at as usize * width;
        out.extend_from_slice(&bytes[at..at + width]);
        for (i, &side) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < side {
                break;
            }
            *i = 0;
        }
    }
    out
}

/// A file with this array; bf16 is written as float32, which has all its values and which NumPy can read.
pub fn write(array: &Array) -> Vec<u8> {
    let (element, bytes) = match array.element {
        Element::Bf16 => {
            let values = array.element.values(&array.bytes);
            let wide = values.flat_map(|value| Element::F32.of_f64(value.as_f64()));
            (Element::F32, wide.collect())
        }
        element => (element, array.bytes.clone()),
    };
    let sides: String = array.shape.iter().map(|side| format!("{side}, ")).collect();
    let sides = match array.shape.len() {
        1 => sides.trim_end(),
        _ => sides.trim_end_matches(", "),
    };
    let mut header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({sides}), }}",
        descriptions(element)[0]
    );
    // Data begin at a multiple of 64 (NumPy, "NPY format").
    let before = MAGIC.len() + 4;
    let blanks = (before + header.len() + 1).next_multiple_of(64) - before - header.len() - 1;
    header += &" ".repeat(blanks);
    header.push('\n');
    let length = u16::try_from(header.len()).unwrap_or(u16::MAX);
    [
        MAGIC,
        &[1, 0],
        &length.to_le_bytes(),
        header.as_bytes(),
        &bytes,
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len()).expect("short").to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
    }

    #[test]
    fn what_is_written_is_read() {
        for (element, shape) in [
            (Element::F32, vec![2, 3]),
            (Element::I8, vec![6]),
            (Element::U64, vec![]),
            (Element::F16, vec![3, 1, 2]),
            (Element::F64, vec![0, 4]),
        ] {
            let count = count(&shape).expect("small");
            let bytes = (0..count).flat_map(|i| element.of_int(i as i128)).collect();
            let array = Array {
                element,
                shape,
                bytes,
            };
            let written = write(&array);
            assert_eq!(read(&written), Ok(array));
            assert!((written.len() - count * element.bytes()).is_multiple_of(64));
        }
        let bytes = Element::Bf16.of_f64(1.5);
        let written = write(&Array {
            element: Element::Bf16,
            shape: vec![1],
            bytes,
        });
        assert_eq!(
            read(&written).map(|array| (array.element, array.bytes)),
            Ok((Element::F32, Element::F32.of_f64(1.5)))
        );
    }

    /// The output of NumPy 2.1 for `numpy.asfortranarray([[1, 2, 3], [4, 5, 6]], dtype="int8")`.
    #[test]
    fn the_order_of_fortran_is_turned() {
        let header = "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }          \n";
        let array = read(&file(header, &[1, 4, 2, 5, 3, 6])).expect("an array");
        assert_eq!(
            (array.shape, array.bytes),
            (vec![2, 3], vec![1, 2, 3, 4, 5, 6])
        );
    }

    #[test]
    fn other_files_are_refused() {
        let header = |description: &str, shape: &str| {
            format!("{{'descr': {description}, 'fortran_order': False, 'shape': {shape}, }}")
        };
        for (file, why) in [
            (b"P6".to_vec(), "it is no .npy file"),
            (b"\x93NUMPY".to_vec(), "its version is none of 1, 2 and 3"),
            (
                b"\x93NUMPY\x02\0\xff\xff\xff\xff{".to_vec(),
                "it ends within its header",
            ),
            (
                file(&header("'>f4'", "(1,)"), &[0; 4]),
                "its type is `>f4`; save it as",
            ),
            (
                file(&header("[('a', '<f4')]", "(1,)"), &[0; 4]),
                "its type is `[('a`; save it as",
            ),
            (
                file(&header("'<f4'", "(2,)"), &[0; 4]),
                "it holds 4 bytes, too few for its shape",
            ),
            (
                file(&header("'<f4'", "(4294967296, 4294967296, 4)"), &[0; 4]),
                "it holds 4 bytes, too few for its shape",
            ),
            (
                file(&header("'<f4'", "(-1,)"), &[0; 4]),
                "its header names no shape",
            ),
            (
                file("{'descr': '<f4'}", &[]),
                "its header does not say in which order it is",
            ),
        ] {
            let error = read(&file).expect_err(why);
            assert!(error.starts_with(why), "{error}");
        }
    }
}
