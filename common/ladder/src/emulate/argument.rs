//! `--arg`: one word for each parameter of the kernel.
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use emulator::{Param, ParamKind};
use harness::table::plural;

use super::element::{Element, float, integer};
use super::fill::{Fill, is_npy};
use super::tensor_map::{self, MapSpec};

/// A requested buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferSpec {
    /// None: the type of the file.
    pub element: Option<Element>,
    pub shape: Option<Vec<u64>>,
    pub fill: Fill,
}

/// One argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// `f32[64, 64]=normal`, `a.npy`
    Buffer(BufferSpec),
    /// `@0`: the buffer of argument 0.
    Same(usize),
    /// `null`
    Null,
    /// `4096`, `0.5`
    Number(String),
    /// `f16=0.5`, `f32=1,2,3`: a value of this type, or a struct of such values.
    Typed(Element, Vec<String>),
    /// `hex:0011aa`: the bytes of a struct.
    Bytes(Vec<u8>),
    /// `map(f16[64,64]=normal; box=8x64; swizzle=128)`: a tensor map, by value or in memory.
    Map(MapSpec),
}

/// The syntax of arguments.
pub const FORMS: &str = "f32[4096]=normal, f16[64,64]=a.npy, 4096, 0.5, f16=0.5, hex:0011aabb, @0 (the same buffer as argument 0), null, or for TMA map(f16[2048,2048]=normal; box=128x64; swizzle=128)";

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "null" {
            return Ok(Self::Null);
        }
        if let Some(inside) = text.strip_prefix("map(") {
            let inside = inside
                .strip_suffix(')')
                .ok_or_else(|| format!("`{text}` has no `)`; write {}", tensor_map::FORM))?;
            return MapSpec::parse(inside).map(Self::Map);
        }
        if let Some(number) = text.strip_prefix('@') {
            let number = number
                .parse()
                .map_err(|_| format!("`{text}` does not name an argument; write @0, @1 …"))?;
            return Ok(Self::Same(number));
        }
        if let Some(digits) = text.strip_prefix("hex:") {
            return hexadecimal(digits).map(Self::Bytes);
        }
        if is_npy(text) && !text.contains('=') {
            return BufferSpec::parse(text).map(Self::Buffer);
        }
        let typed = text.split(['[', '=']).next().unwrap_or_default().trim();
        let is_typed = typed.len() < text.len();
        match Element::parse(typed) {
            Some(element) if is_typed && !text.contains('[') => {
                let value = text.split_once('=').map_or("", |(_, value)| value.trim());
                if is_npy(value) {
                    return BufferSpec::parse(text).map(Self::Buffer);
                }
                let values: Vec<String> =
                    value.split(',').map(|one| one.trim().to_owned()).collect();
                for value in &values {
                    element.read(value)?;
                }
                Ok(Self::Typed(element, values))
            }
            Some(_) if is_typed => BufferSpec::parse(text).map(Self::Buffer),
            _ if float(text).is_some() || integer(text).is_some() => {
                Ok(Self::Number(text.to_owned()))
            }
            _ => Err(format!("`{text}` is not an argument; write {FORMS}")),
        }
    }
}

impl BufferSpec {
    /// `f32[64, 64]=normal`, `f32=a.npy`, `a.npy`; without a fill, the buffer is zeroed.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if is_npy(text) && !text.contains('=') {
            return Ok(Self {
                element: None,
                shape: None,
                fill: Fill::Npy(PathBuf::from(text)),
            });
        }
        let (kind, fill) = match text.split_once('=') {
            Some((kind, fill)) => (kind.trim(), Fill::parse(fill)?),
            None => (text, Fill::Zeros),
        };
        let (name, shape) = match kind.split_once('[') {
            Some((name, sides)) => (name.trim(), Some(shape(sides)?)),
            None => (kind, None),
        };
        let element = Element::parse(name).ok_or_else(|| {
            let names = Element::ALL.map(Element::name).join(", ");
            format!("`{name}` is not an element type; use one of {names}")
        })?;
        Ok(Self {
            element: Some(element),
            shape,
            fill,
        })
    }
}

/// `64, 64]` or `64x64]`
fn shape(text: &str) -> Result<Vec<u64>, String> {
    let wrong = || format!("`[{text}` is not a shape; write [4096] or [64,64]");
    let inside = text.trim().strip_suffix(']').ok_or_else(wrong)?;
    let sides = inside
        .split([',', 'x'])
        .map(|side| side.trim().parse::<u64>());
    sides.collect::<Result<_, _>>().map_err(|_| wrong())
}

fn hexadecimal(digits: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = digits
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace() && *byte != b'_')
        .collect();
    let value = |digit: &u8| char::from(*digit).to_digit(16).map(|value| value as u8);
    let values: Option<Vec<u8>> = digits.iter().map(value).collect();
    match values {
        Some(values) if values.len().is_multiple_of(2) => Ok(values
            .chunks_exact(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect()),
        _ => Err("bytes are two hexadecimal digits each: hex:0011aabb".into()),
    }
}

/// A parameter, for messages.
pub struct Described<'a> {
    pub position: usize,
    pub param: &'a Param,
    /// Its type in the source, if known.
    pub declared: Option<&'a str>,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Param { name, .. } = self.param;
        write!(f, "parameter {} ({name}", self.position)?;
        if let Some(declared) = self.declared {
            write!(f, ", `{declared}`")?;
        }
        write!(f, "), {}", kind(self.param))
    }
}

/// Describes the type that a parameter needs.
pub fn kind(param: &Param) -> String {
    let bytes = plural(param.bytes.into(), "byte");
    match param.kind {
        ParamKind::Pointer => "a pointer".into(),
        ParamKind::Integer => format!("an integer of {bytes}"),
        ParamKind::Float => format!("a float of {bytes}"),
        ParamKind::Struct => format!("a struct of {bytes}"),
    }
}

impl Argument {
    /// The bytes of an argument that is passed by value; none for a buffer.
    ///
    /// # Errors
    /// If it does not fit the parameter; the message says what does.
    pub fn by_value(&self, to: &Described<'_>) -> Result<Option<Vec<u8>>, String> {
        let Param { bytes, kind, .. } = *to.param;
        let bytes = bytes as usize;
        match (self, kind) {
            (Self::Buffer(_) | Self::Same(_), ParamKind::Pointer) => Ok(None),
            (Self::Buffer(_) | Self::Same(_), ParamKind::Integer) if bytes == 8 => Ok(None),
            (Self::Buffer(_) | Self::Same(_), _) => {
                Err(format!("{to}, takes no buffer; {}", remedy(to.param)))
            }
            (Self::Map(_), ParamKind::Pointer) => Ok(None),
            (Self::Map(_), ParamKind::Integer) if bytes == 8 => Ok(None),
            (Self::Map(_), ParamKind::Struct) if bytes == 128 => Ok(None),
            (Self::Map(_), _) => Err(format!("{to}, takes no tensor map; {}", remedy(to.param))),
            (Self::Null, ParamKind::Pointer | ParamKind::Integer) if bytes == 8 => {
                Ok(Some(vec![0; 8]))
            }
            (Self::Null, _) => Err(format!("{to}, takes no null; {}", remedy(to.param))),
            (Self::Number(text), ParamKind::Integer) => {
                let value = integer(text)
                    .ok_or_else(|| format!("{to}, takes no `{text}`; {}", remedy(to.param)))?;
                // A number may be meant as signed or unsigned.
                let bits = 8 * bytes as u32;
                if value < -(1 << (bits - 1)) || value >= 1 << bits {
                    return Err(format!("{to}, cannot hold {text}"));
                }
                Ok(Some(value.to_le_bytes()[..bytes].to_vec()))
            }
            (Self::Number(text), ParamKind::Float) => {
                let element = if bytes == 8 {
                    Element::F64
                } else {
                    Element::F32
                };
                let value = element.read(text);
                value
                    .map(Some)
                    .map_err(|why| format!("{to}: {why}; {}", remedy(to.param)))
            }
            (Self::Number(text), ParamKind::Pointer | ParamKind::Struct) => {
                Err(format!("{to}, takes no `{text}`; {}", remedy(to.param)))
            }
            (Self::Typed(..) | Self::Bytes(_), ParamKind::Pointer) => {
                Err(format!("{to}, takes no value; {}", remedy(to.param)))
            }
            (Self::Typed(element, values), _) => {
                let values = values.iter().map(|value| element.read(value));
                let value = values.collect::<Result<Vec<_>, _>>()?.concat();
                fits(value, to).map(Some)
            }
            (Self::Bytes(value), _) => fits(value.clone(), to).map(Some),
        }
    }
}

fn fits(value: Vec<u8>, to: &Described<'_>) -> Result<Vec<u8>, String> {
    match value.len() == to.param.bytes as usize {
        true => Ok(value),
        false => Err(format!(
            "{to}, was given {}; {}",
            plural(value.len() as u64, "byte"),
            remedy(to.param)
        )),
    }
}

/// Suggests an argument for a parameter.
fn remedy(param: &Param) -> String {
    match (param.kind, param.bytes) {
        (ParamKind::Pointer, _) => "give it memory, as in --arg 'f32[1024]=normal', or null".into(),
        (ParamKind::Integer, 8) => {
            "give it a number, as in --arg 4096, or memory, as in --arg 'f32[1024]'".into()
        }
        (ParamKind::Integer, _) => "give it an integer, as in --arg 4096".into(),
        (ParamKind::Float, _) => "give it a number, as in --arg 0.5".into(),
        (ParamKind::Struct, 2) => {
            "give it a value of its type, as in --arg f16=0.5 or bf16=0.5".into()
        }
        (ParamKind::Struct, 128) => format!(
            "give it its 128 bytes, as in --arg hex:0011…, or, if it is a tensor map, --arg '{}'",
            tensor_map::FORM
        ),
        (ParamKind::Struct, bytes) => format!(
            "give it its {bytes} bytes, as in --arg hex:0011… or, where all its members are of one type, --arg f32=1,2,3"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(kind: ParamKind, bytes: u32) -> Param {
        let ptx = match kind {
            ParamKind::Pointer => ".param .u64 .ptr .align 1 p".to_owned(),
            ParamKind::Integer => format!(".param .u{} p", 8 * bytes),
            ParamKind::Float => format!(".param .f{} p", 8 * bytes),
            ParamKind::Struct => format!(".param .align 1 .b8 p[{bytes}]"),
        };
        let ptx = format!(".version 8.0\n.target sm_80\n.visible .entry k({ptx}) {{ ret; }}");
        let parsed = emulator::Ptx::parse(&ptx).expect("PTX");
        parsed.params("k").expect("a kernel").remove(0)
    }

    fn given(text: &str, kind: ParamKind, bytes: u32) -> Result<Option<Vec<u8>>, String> {
        let param = param(kind, bytes);
        let declared = None;
        let position = 3;
        text.parse::<Argument>()?.by_value(&Described {
            position,
            param: &param,
            declared,
        })
    }

    #[test]
    fn words_are_read() {
        let buffer = |element, shape: &[u64], fill| {
            Ok(Argument::Buffer(BufferSpec {
                element: Some(element),
                shape: Some(shape.to_vec()),
                fill,
            }))
        };
        assert_eq!(
            "f32[4096]=normal".parse(),
            buffer(Element::F32, &[4096], Fill::Normal(None))
        );
        assert_eq!(
            " bf16 [ 64 , 2 ] = normal:7 ".parse(),
            buffer(Element::Bf16, &[64, 2], Fill::Normal(Some(7)))
        );
        assert_eq!(
            "u8[2x3x4]".parse(),
            buffer(Element::U8, &[2, 3, 4], Fill::Zeros)
        );
        assert_eq!(
            "f16[4]=a=b.npy".parse(),
            buffer(Element::F16, &[4], Fill::Npy("a=b.npy".into()))
        );
        let file = BufferSpec {
            element: None,
            shape: None,
            fill: Fill::Npy("x/a.npy".into()),
        };
        assert_eq!("x/a.npy".parse(), Ok(Argument::Buffer(file)));
        assert_eq!(
            "f16=0.5".parse(),
            Ok(Argument::Typed(Element::F16, vec!["0.5".into()]))
        );
        assert_eq!(
            "hex:00 ff_1A".parse(),
            Ok(Argument::Bytes(vec![0, 255, 26]))
        );
        assert_eq!("@2".parse(), Ok(Argument::Same(2)));
        assert_eq!("-1e-3".parse(), Ok(Argument::Number("-1e-3".into())));
        for (text, why) in [
            (
                "f33[4]",
                "`f33[4]` is not an argument; write f32[4096]=normal",
            ),
            ("f32[4", "`[4` is not a shape"),
            ("f32[-4]", "`[-4]` is not a shape"),
            ("f32[]", "`[]` is not a shape"),
            ("f32[4]=random", "`random` is not a fill"),
            ("f32=", "`` is not a number"),
            ("f32", "`f32` is not an argument"),
            ("@x", "`@x` does not name an argument"),
            ("hex:123", "bytes are two"),
            ("hex:zz", "bytes are two"),
            ("", "`` is not an argument"),
        ] {
            let error = text.parse::<Argument>().expect_err(text);
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }

    #[test]
    fn values_become_bytes_of_the_parameters_type() {
        use ParamKind::{Float, Integer, Pointer, Struct};
        assert_eq!(given("-1", Integer, 4), Ok(Some(vec![255; 4])));
        assert_eq!(given("4294967295", Integer, 4), Ok(Some(vec![255; 4])));
        assert_eq!(
            given("0x10", Integer, 8),
            Ok(Some(vec![16, 0, 0, 0, 0, 0, 0, 0]))
        );
        assert_eq!(given("true", Integer, 1), Ok(Some(vec![1])));
        assert_eq!(given("2", Float, 4), Ok(Some(2f32.to_le_bytes().to_vec())));
        assert_eq!(
            given("inf", Float, 8),
            Ok(Some(f64::INFINITY.to_le_bytes().to_vec()))
        );
        assert_eq!(given("f16=1", Struct, 2), Ok(Some(vec![0, 60])));
        assert_eq!(
            given("i32=1,-1", Struct, 8),
            Ok(Some(vec![1, 0, 0, 0, 255, 255, 255, 255]))
        );
        assert_eq!(given("f32[4]", Pointer, 8), Ok(None));
        assert_eq!(
            given("f32[4]", Integer, 8),
            Ok(None),
            "compilers before CUDA 12 declare no pointers"
        );
        assert_eq!(given("null", Pointer, 8), Ok(Some(vec![0; 8])));
        for (kind, bytes) in [(Struct, 128), (Pointer, 8), (Integer, 8)] {
            assert_eq!(given("map(f16[64,64]; box=8x64)", kind, bytes), Ok(None));
        }
        let error = given("map(f16[64,64]; box=8x64)", Struct, 64).expect_err("too small");
        assert!(error.contains("takes no tensor map"), "{error}");
    }

    #[test]
    fn what_does_not_fit_names_position_type_and_remedy() {
        use ParamKind::{Float, Integer, Pointer, Struct};
        for (text, kind, bytes, why) in [
            (
                "4096",
                Pointer,
                8,
                "parameter 3 (p), a pointer, takes no `4096`; give it memory, as in --arg 'f32[1024]=normal', or null",
            ),
            (
                "f32=1",
                Pointer,
                8,
                "parameter 3 (p), a pointer, takes no value; give it memory",
            ),
            (
                "f32[4]",
                Integer,
                4,
                "parameter 3 (p), an integer of 4 bytes, takes no buffer; give it an integer",
            ),
            (
                "@0",
                Float,
                4,
                "parameter 3 (p), a float of 4 bytes, takes no buffer; give it a number",
            ),
            (
                "0.5",
                Integer,
                4,
                "parameter 3 (p), an integer of 4 bytes, takes no `0.5`; give it an integer",
            ),
            (
                "4294967296",
                Integer,
                4,
                "parameter 3 (p), an integer of 4 bytes, cannot hold 4294967296",
            ),
            (
                "-129",
                Integer,
                1,
                "parameter 3 (p), an integer of 1 byte, cannot hold -129",
            ),
            (
                "1",
                Struct,
                2,
                "parameter 3 (p), a struct of 2 bytes, takes no `1`; give it a value of its type, as in --arg f16=0.5",
            ),
            (
                "hex:00",
                Struct,
                12,
                "parameter 3 (p), a struct of 12 bytes, was given 1 byte; give it its 12 bytes",
            ),
            (
                "null",
                Float,
                4,
                "parameter 3 (p), a float of 4 bytes, takes no null",
            ),
        ] {
            let error = given(text, kind, bytes).expect_err(text);
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }
}
