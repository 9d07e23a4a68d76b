//! `wmma_layout.csv`: which element of a matrix each register of a `wmma` fragment holds.
//!
//! A row is a matrix (`a`, `b`, or `c`, the accumulator), a shape, a type, a layout, and the [`Digest`] of the
//! fragment, lane by lane, register by register. Elements of the matrix in memory are numbered from 0, as values of
//! the type; 8-bit elements are the low bits of their number. Elements of 4 bits and of 1 bit are random.
use anyhow::{Context, Result, bail};

use super::random::mix;
use super::{Digest, Experiment, Row};

/// Elements in memory: the largest matrix has 512.
const ELEMENTS: u32 = 512;

/// A row of the file.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    matrix: String,
    shape: String,
    /// Its type, and the number of its registers: 8 bytes each for f64, otherwise 4.
    element: (String, u32),
    layout: String,
    /// Elements from one row in memory to the next.
    stride: u32,
}

impl Fragment {
    fn new(matrix: &str, shape: &str, ty: &str, layout: &str) -> Option<Self> {
        let [m, n, k] = match shape {
            "m16n16k16" => [16, 16, 16],
            "m32n8k16" => [32, 8, 16],
            "m8n32k16" => [8, 32, 16],
            "m16n16k8" => [16, 16, 8],
            "m8n8k4" => [8, 8, 4],
            "m8n8k32" => [8, 8, 32],
            "m8n8k128" => [8, 8, 128],
            _ => return None,
        };
        let (rows, columns) = match matrix {
            "a" => (m, k),
            "b" => (k, n),
            "c" => (m, n),
            _ => return None,
        };
        let of_eight_rows = rows == 8 && columns == 8;
        let registers = match (matrix, ty) {
            ("c", "s32") if of_eight_rows => 2,
            ("c", "f64") => 2,
            ("a" | "b", "f64" | "s4" | "u4" | "b1") => 1,
            ("a" | "b", "f16") => 8,
            ("a" | "b", "bf16") => rows * columns / 64,
            ("a" | "b", "tf32") => 4,
            ("a" | "b", "u8" | "s8") => rows * columns / 128,
            ("c", "f16") => 4,
            ("c", "f32" | "s32") => 8,
            _ => return None,
        };
        let stride = match layout {
            "row" => columns,
            "col" => rows,
            _ => return None,
        };
        Some(Self {
            matrix: matrix.into(),
            shape: shape.into(),
            element: (ty.into(), registers),
            layout: layout.into(),
            stride,
        })
    }

    fn input(&self) -> Vec<u8> {
        let element = |i: u32| match self.element.0.as_str() {
            "f16" => half::f16::from_f32(i as f32).to_bits().to_le_bytes().into(),
            "bf16" => ((i as f32).to_bits() >> 16).to_le_bytes()[..2].to_vec(),
            "tf32" | "f32" => (i as f32).to_bits().to_le_bytes().into(),
            "f64" => f64::from(i).to_le_bytes().into(),
            "s32" => i.to_le_bytes().into(),
            "s4" | "u4" | "b1" => vec![mix(0, i) as u8],
            _ => vec![i as u8],
        };
        (0..ELEMENTS).flat_map(element).collect()
    }

    fn experiment(&self) -> Experiment {
        let (ty, registers) = &self.element;
        let names: Vec<String> = (0..*registers).map(|i| format!("%r{i}")).collect();
        let (class, bytes) = match ty.as_str() {
            "f64" => ("f64", 8),
            "f32" => ("f32", 4),
            _ => ("b32", 4),
        };
        let mut body = format!(
            ".reg .{class} %r<8>;\n.reg .b32 %lane;\n.reg .b64 %at;\n\
             wmma.load.{}.sync.aligned.{}.{}.global.{ty} {{{}}}, [%in], {};\n\
             mov.u32 %lane, %tid.x;\nmad.wide.u32 %at, %lane, {}, %out;\n",
            self.matrix,
            self.layout,
            self.shape,
            names.join(", "),
            self.stride,
            bytes * registers,
        );
        for (i, name) in names.iter().enumerate() {
            body += &format!("st.global.{class} [%at+{}], {name};\n", bytes * i as u32);
        }
        Experiment {
            ptx: Experiment::module("", &body),
            blocks: 1,
            threads: 32,
            dynamic_shared: 0,
            input: self.input(),
            output_bytes: (32 * bytes * registers) as usize,
            tensor: None,
        }
    }
}

impl Row for Fragment {
    type Measured = Digest;

    const HEADER: &'static str = "matrix,shape,type,layout,digest";

    fn parse(_: usize, fields: &[&str]) -> Result<(Self, Digest)> {
        let [matrix, shape, ty, layout, digest] = *fields else {
            bail!("a fragment has 5 fields");
        };
        let fragment = Self::new(matrix, shape, ty, layout);
        let fragment = fragment.with_context(|| {
            format!("there is no fragment {matrix:?} of {shape:?}, {ty:?}, {layout:?}")
        })?;
        Ok((fragment, Digest::parse(digest)?))
    }

    fn experiments(&self) -> Result<Vec<Experiment>> {
        Ok(vec![self.experiment()])
    }

    fn measured(&self, outputs: &[Vec<u8>]) -> Result<Digest> {
        Ok(Digest::of(&outputs.concat()))
    }

    fn fields(&self, digest: &Digest) -> Vec<String> {
        vec![digest.to_string()]
    }

    fn difference(&self, recorded: &Digest, found: &Digest) -> [String; 3] {
        let Self { matrix, shape, .. } = self;
        let what = format!("{matrix}, {shape}, {}, {}", self.element.0, self.layout);
        let [expected, found] = Digest::sides(recorded, found);
        [what, expected, found]
    }
}

/// The rows to record. The digests are zero.
pub(super) fn plan() -> String {
    let mut text = Fragment::HEADER.to_owned() + "\n";
    let types = ["f16", "bf16", "tf32", "u8", "f32", "s32"];
    for matrix in ["a", "b", "c"] {
        for shape in ["m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8"] {
            for ty in types {
                // tf32 has a shape of its own, with f32 sums.
                let fits = (shape == "m16n16k8") == (ty == "tf32")
                    || (matrix, shape, ty) == ("c", "m16n16k8", "f32");
                for layout in ["row", "col"] {
                    if fits && Fragment::new(matrix, shape, ty, layout).is_some() {
                        text += &format!("{matrix},{shape},{ty},{layout},{:016x}\n", 0);
                    }
                }
            }
        }
    }
    text
}

/// The rows of shapes and types added after the first recording: f64, 4 bits and single bits.
pub(super) fn plan_more() -> String {
    let mut text = Fragment::HEADER.to_owned() + "\n";
    let mut add = |matrix: &str, shape: &str, ty: &str, layout: &str| {
        text += &format!("{matrix},{shape},{ty},{layout},{:016x}\n", 0);
    };
    for layout in ["row", "col"] {
        for matrix in ["a", "b", "c"] {
            add(matrix, "m8n8k4", "f64", layout);
        }
        for shape in ["m8n8k32", "m8n8k128"] {
            add("c", shape, "s32", layout);
        }
    }
    // PTX ISA: elements smaller than a byte have no other layouts.
    for (shape, ty) in [("m8n8k32", "s4"), ("m8n8k32", "u4"), ("m8n8k128", "b1")] {
        add("a", shape, ty, "row");
        add("b", shape, ty, "col");
    }
    text
}
