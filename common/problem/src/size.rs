//! The size of a problem: `512`, or `512x256x1024` for M x N x K.
use std::fmt;
use std::str::FromStr;

/// C is M x N, A is M x K, B is K x N; each at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
}

impl Size {
    /// A problem of square matrices.
    pub const fn cube(n: u32) -> Self {
        Self { m: n, n, k: n }
    }

    /// Floating-point operations of the product: two for each of the M N K multiplications.
    pub fn flop(&self) -> f64 {
        2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k)
    }

    /// Elements of A, B and C.
    pub fn elements(&self) -> [u64; 3] {
        let [m, n, k] = [self.m, self.n, self.k].map(u64::from);
        [m * k, k * n, m * n]
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides = text.split('x').map(side).collect::<Result<Vec<_>, _>>()?;
        match sides[..] {
            [n] => Ok(Self::cube(n)),
            [m, n, k] => Ok(Self { m, n, k }),
            _ => Err("expected one number or MxNxK, such as 512 or 512x256x1024".into()),
        }
    }
}

/// One side: 1 to 2147483647, since kernels take it as an `int`.
fn side(text: &str) -> Result<u32, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err("expected one number or MxNxK, such as 512 or 512x256x1024".into());
    }
    match text.parse::<i32>() {
        Ok(0) => Err("a side must be at least 1".into()),
        Ok(n) => Ok(n.unsigned_abs()),
        Err(_) => Err(format!("{text} is too large: a side is at most 2147483647")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_or_three() {
        assert_eq!("512".parse(), Ok(Size::cube(512)));
        assert_eq!(
            "512x256x1024".parse(),
            Ok(Size {
                m: 512,
                n: 256,
                k: 1024
            })
        );
        assert_eq!(Size { m: 1, n: 2, k: 3 }.to_string(), "1x2x3");
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "0",
            "1x0x1",
            "1x2",
            "1x2x3x4",
            "-1",
            "+1",
            "1.5",
            "x",
            "1x",
            "99999999999",
            "2147483648",
            "12 ",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text:?}");
        }
    }
}
