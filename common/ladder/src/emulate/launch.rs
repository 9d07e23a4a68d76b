//! What to launch: flags, or a comment at the top of the file that has the same flags.
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Parser};

use super::argument::{Argument, BufferSpec, FORMS};
use super::tensor_map::{MapOf, MapSpec};

/// The line with which a file states its launch.
pub const HEAD: &str = "cargo ladder emulate:";

/// A launch, as given by flags.
#[derive(Clone, Debug, Default, Args)]
pub struct Launch {
    /// Which kernel, such as reduce or 'reduce<float, 256>' [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Blocks in x, y and z
    #[arg(long, value_name = "X,Y,Z")]
    pub grid: Option<Dimensions>,
    /// Threads of a block in x, y and z
    #[arg(long, value_name = "X,Y,Z")]
    pub block: Option<Dimensions>,
    /// Blocks of a cluster in x, y and z
    #[arg(long, value_name = "X,Y,Z")]
    pub cluster: Option<Dimensions>,
    /// Launch cooperatively: all blocks are resident at once, and can wait for each other by this_grid().sync()
    #[arg(long)]
    pub cooperative: bool,
    /// Let the launch begin before the previous one has ended (programmatic dependent launch)
    #[arg(long)]
    pub overlap: bool,
    /// Dynamic shared memory of a block, in bytes
    #[arg(long, value_name = "BYTES")]
    pub shared: Option<harness::Bytes>,
    /// The next argument: f32[4096]=normal, a.npy, 4096, 0.5, f16=0.5, hex:00ff, @0, null, map(…)
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true, long_help = help())]
    pub arguments: Vec<Argument>,
    /// The contents of a __device__ or __constant__ variable before the launch
    #[arg(long = "symbol", value_name = "NAME=TYPE=FILL")]
    pub symbols: Vec<Symbol>,
    /// The expected contents of an argument's buffer after the launch
    #[arg(long = "expect", value_name = "N=FILE.npy")]
    pub expectations: Vec<Numbered>,
    /// Tolerance for values: |actual - expected| <= ABS + REL |expected| [default: 0,0]
    #[arg(long, value_name = "REL,ABS")]
    pub tolerance: Option<Tolerance>,
    /// Define a macro
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    pub defines: Vec<String>,
    /// Whether the compiler contracts a floating-point multiplication and addition into one FMA [default: true with --time,
    /// as with nvcc; otherwise false, so that the PTX fixes every bit]
    #[arg(long, value_name = "true|false")]
    pub fmad: Option<bool>,
    /// The architecture to compile a .cu file for [default: sm_90a, or the GPU's]
    #[arg(long, value_name = "SM", value_parser = arch)]
    pub arch: Option<String>,
}

fn help() -> String {
    format!(
        "The next argument, in the order of the kernel's parameters: {FORMS}.\nBuffers have a type (f16, bf16, f32, f64, i8 to i64, u8 \
         to u64), a shape, and a fill: zeros (if there is none), ones, normal, uniform, uniform(LOW,HIGH), iota, nan, poison (all bits \
         set), a number, a number for each element, or a .npy file. Random numbers have a seed: normal:7 [default: the argument's \
         position]"
    )
}

/// The comment at the top of a file, parsed as flags.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Head {
    #[command(flatten)]
    launch: Launch,
}

impl Launch {
    /// The launch that the file's top comment states, if any. Files that it names are relative to the file's folder.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_head(text: &str, path: &Path) -> Result<Option<Self>, String> {
        let Some(flags) = head(text) else {
            return Ok(None);
        };
        let words = shlex::split(&flags)
            .ok_or_else(|| format!("the line `{HEAD}` has a quote that never ends"))?;
        let head = Head::try_parse_from(words).map_err(|error| {
            // Omits clap's usage advice.
            let said = error.to_string();
            let said = said.split("\n\nUsage").next().unwrap_or(&said).trim();
            format!(
                "the line `{HEAD}` at the head of the file: {}",
                said.trim_start_matches("error: ")
            )
        })?;
        let mut launch = head.launch;
        let folder = path.parent().unwrap_or(Path::new(""));
        for argument in &mut launch.arguments {
            match argument {
                Argument::Buffer(buffer)
                | Argument::Map(MapSpec {
                    of: MapOf::Buffer(buffer),
                    ..
                }) => buffer.below(folder),
                _ => {}
            }
        }
        for symbol in &mut launch.symbols {
            symbol.holds.below(folder);
        }
        for expected in &mut launch.expectations {
            expected.file = folder.join(&expected.file);
        }
        Ok(Some(launch))
    }

    /// These flags, completed by another launch's.
    pub fn or(self, other: Self) -> Self {
        fn either<T>(one: Vec<T>, other: Vec<T>) -> Vec<T> {
            if one.is_empty() { other } else { one }
        }
        Self {
            kernel: self.kernel.or(other.kernel),
            grid: self.grid.or(other.grid),
            block: self.block.or(other.block),
            cluster: self.cluster.or(other.cluster),
            cooperative: self.cooperative || other.cooperative,
            overlap: self.overlap || other.overlap,
            shared: self.shared.or(other.shared),
            arguments: either(self.arguments, other.arguments),
            symbols: either(self.symbols, other.symbols),
            expectations: either(self.expectations, other.expectations),
            tolerance: self.tolerance.or(other.tolerance),
            defines: either(self.defines, other.defines),
            fmad: self.fmad.or(other.fmad),
            arch: self.arch.or(other.arch),
        }
    }
}

impl BufferSpec {
    fn below(&mut self, folder: &Path) {
        if let super::fill::Fill::Npy(path) = &mut self.fill {
            *path = folder.join(&path);
        }
    }
}

/// The flags in the comments at the top of a file: after [`HEAD`], and on following lines that begin with a flag.
fn head(text: &str) -> Option<String> {
    let mut flags: Option<String> = None;
    // Within `/* … */`.
    let mut block = false;
    for line in text.trim_start_matches('\u{feff}').lines() {
        let line = line.trim();
        block |= line.starts_with("/*");
        if !(block || line.is_empty() || line.starts_with("//")) {
            break;
        }
        block &= !line.ends_with("*/");
        let comment = line.trim_start_matches(['/', '*', ' ', '\t']);
        let comment = comment.trim_end_matches("*/").trim();
        match (&mut flags, comment.strip_prefix(HEAD)) {
            (None, Some(rest)) => flags = Some(rest.to_owned()),
            (None, None) => {}
            (Some(flags), None) if comment.starts_with('-') => {
                flags.push(' ');
                flags.push_str(comment);
            }
            (Some(_), _) => break,
        }
    }
    flags
}

/// `8`, `8,4`, `8x4x2`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimensions(pub [u32; 3]);

impl FromStr for Dimensions {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "expected one to three numbers, such as 8 or 8,4,2";
        let mut sides = [1; 3];
        let mut given = text.trim_matches(['(', ')']).split([',', 'x']);
        for side in &mut sides {
            if let Some(number) = given.next() {
                *side = number.trim().parse().map_err(|_| WRONG)?;
            }
        }
        match given.next() {
            None => Ok(Self(sides)),
            Some(_) => Err(WRONG),
        }
    }
}

/// `1=c.npy`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    pub argument: usize,
    pub file: PathBuf,
}

impl FromStr for Numbered {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str =
            "expected the number of an argument, from 0, and a file, such as 1=c.npy";
        let (argument, file) = text.split_once('=').ok_or(WRONG)?;
        let argument = argument.trim().parse().map_err(|_| WRONG)?;
        let file = PathBuf::from(file.trim());
        match super::fill::is_npy(file.to_str().unwrap_or_default()) {
            true => Ok(Self { argument, file }),
            false => Err(WRONG),
        }
    }
}

/// `name=f32=0.5`, `name=f32[16]=iota`, `name=a.npy`
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    pub name: String,
    pub holds: BufferSpec,
}

impl FromStr for Symbol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, holds) = text.split_once('=').ok_or(
            "expected a variable and what it holds, such as scale=f32=0.5 or table=table.npy",
        )?;
        Ok(Self {
            name: name.trim().to_owned(),
            holds: BufferSpec::parse(holds)?,
        })
    }
}

/// `1e-5` or `1e-5,1e-6`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    pub relative: f64,
    pub absolute: f64,
}

impl FromStr for Tolerance {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "expected numbers that are not negative, relative and absolute, such as 1e-5 or 1e-5,1e-6";
        let (relative, absolute) = text.split_once(',').unwrap_or((text, "0"));
        let number = |text: &str| {
            text.trim()
                .parse()
                .ok()
                .filter(|&value: &f64| value >= 0.0 && value.is_finite())
        };
        match (number(relative), number(absolute)) {
            (Some(relative), Some(absolute)) => Ok(Self { relative, absolute }),
            _ => Err(WRONG),
        }
    }
}

/// An architecture, which is passed to the compiler.
fn arch(text: &str) -> Result<String, &'static str> {
    let digits = text
        .strip_prefix("sm_")
        .map(|rest| rest.strip_suffix(['a', 'f']).unwrap_or(rest));
    match digits {
        Some(digits)
            if !digits.is_empty()
                && digits.len() < 4
                && digits.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            Ok(text.into())
        }
        _ => Err("expected an architecture such as sm_80 or sm_90a"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Option<Launch>, String> {
        Launch::of_head(text, Path::new("folder/k.cu"))
    }

    #[test]
    fn a_head_has_the_same_flags() {
        let text = "\u{feff}// Adds vectors.\n//\n// cargo ladder emulate: --kernel 'add<float, 4>' --grid 8,2\n//   --block 256 --arg 'f32[4]=a.npy'\n\
            //   --arg -1 --expect 0=c.npy\n// More.\n#include <cstdio>\n// cargo ladder emulate: --grid 9\n";
        let launch = of(text).expect("flags").expect("a head");
        assert_eq!(launch.kernel.as_deref(), Some("add<float, 4>"));
        assert_eq!(launch.grid, Some(Dimensions([8, 2, 1])));
        assert_eq!(launch.arguments.len(), 2);
        assert_eq!(launch.arguments[1], Argument::Number("-1".into()));
        assert_eq!(launch.expectations[0].file, Path::new("folder/c.npy"));
        let flags = Launch {
            grid: Some(Dimensions([1; 3])),
            arguments: vec![Argument::Null],
            ..Launch::default()
        };
        let both = flags.or(launch);
        assert_eq!(
            (both.grid, both.block),
            (Some(Dimensions([1; 3])), Some(Dimensions([256, 1, 1])))
        );
        assert_eq!(both.arguments, [Argument::Null]);
        for none in [
            "",
            "int x;\n// cargo ladder emulate: --grid 8",
            "/* a\n * b */\nint x;",
        ] {
            assert!(of(none).expect("no flags").is_none(), "{none}");
        }
        assert!(
            of("/* a\ncargo ladder emulate: --grid 3 */")
                .expect("flags")
                .is_some()
        );
    }

    #[test]
    fn a_head_that_is_wrong_is_quoted() {
        for (flags, why) in [
            (
                "--grid x",
                "invalid value 'x' for '--grid <X,Y,Z>': expected one to three numbers",
            ),
            ("--out 1=c.npy", "unexpected argument '--out' found"),
            ("--arg 'f32", "has a quote that never ends"),
            ("--arg f33[4]", "`f33[4]` is not an argument"),
            ("--symbol x", "expected a variable and what it holds"),
            ("--expect c.npy", "expected the number of an argument"),
            ("--tolerance -1", "unexpected argument '-1' found"),
            ("--arch sm_9x", "expected an architecture"),
        ] {
            let error = of(&format!("// {HEAD} {flags}\n")).expect_err(flags);
            assert!(error.contains(why) && !error.contains("Usage"), "{error}");
        }
    }

    #[test]
    fn small_words() {
        assert_eq!("(8,4x2)".parse(), Ok(Dimensions([8, 4, 2])));
        assert!("1,2,3,4".parse::<Dimensions>().is_err() && "".parse::<Dimensions>().is_err());
        assert_eq!(
            "1e-3".parse(),
            Ok(Tolerance {
                relative: 1e-3,
                absolute: 0.0
            })
        );
        assert!("nan,0".parse::<Tolerance>().is_err() && "1,".parse::<Tolerance>().is_err());
        let symbol = "c=f32[2]=1,2".parse::<Symbol>().expect("a symbol");
        assert_eq!(
            (symbol.name.as_str(), symbol.holds.shape),
            ("c", Some(vec![2]))
        );
    }
}
