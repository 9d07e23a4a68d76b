//! Parses text into an [`AxisLayout`].
use super::{AxisLayout, Iter, MAX_ELEMENTS, MEMORY};
use crate::cursor::{Cursor, caret};

/// Why a layout cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AxisError {
    /// Another symbol was expected.
    #[error("{text}\n{} {expected}", caret(*column))]
    Unexpected {
        /// The text.
        text: String,
        /// The column of the error, from 1.
        column: usize,
        /// What the parser expected.
        expected: &'static str,
    },
    /// Extents and strides do not match.
    #[error(
        "{extents} extents but {strides} strides: each extent needs its stride, as in S[(8, 4) : \
         (4@laneid, 1@m)]"
    )]
    Lengths {
        /// Number of extents.
        extents: usize,
        /// Number of strides.
        strides: usize,
    },
    /// No element, or too many.
    #[error(
        "a layout needs from 1 to {MAX_ELEMENTS} elements, copies included, and positions below 2^31"
    )]
    Size,
}

/// The longest text that is parsed, in bytes.
const MAX_LENGTH: usize = 2000;

pub fn parse(text: &str) -> Result<AxisLayout, AxisError> {
    if text.len() > MAX_LENGTH {
        return Err(AxisError::Size);
    }
    let mut parser = Parser(Cursor::new(text));
    parser.expect("S", "expected S[extents : strides]")?;
    let shard = parser.iters()?;
    let (mut replica, mut offset) = (Vec::new(), Vec::new());
    while !parser.0.rest().is_empty() {
        parser.expect("+", "expected + or the end")?;
        if replica.is_empty() && offset.is_empty() && parser.0.take("R") {
            replica = parser.iters()?;
        } else {
            offset.push(parser.stride()?);
        }
    }
    AxisLayout::new(shard, replica, offset)
}

struct Parser<'a>(Cursor<'a>);

impl Parser<'_> {
    fn expect(&mut self, symbol: &str, expected: &'static str) -> Result<(), AxisError> {
        if self.0.take(symbol) {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    fn unexpected(&self, expected: &'static str) -> AxisError {
        AxisError::Unexpected {
            text: self.0.text.to_string(),
            column: self.0.column(),
            expected,
        }
    }

    /// `[extents : strides]`
    fn iters(&mut self) -> Result<Vec<Iter>, AxisError> {
        self.expect("[", "expected [")?;
        let extents = self.tuple(Parser::number)?;
        self.expect(":", "expected : and the strides")?;
        let strides = self.tuple(Parser::stride)?;
        self.expect("]", "expected ]")?;
        if extents.len() != strides.len() {
            return Err(AxisError::Lengths {
                extents: extents.len(),
                strides: strides.len(),
            });
        }
        let iter = |(extent, (stride, axis))| Iter {
            extent,
            stride,
            axis,
        };
        Ok(extents.into_iter().zip(strides).map(iter).collect())
    }

    /// One item, or several in parentheses.
    fn tuple<T>(
        &mut self,
        item: fn(&mut Self) -> Result<T, AxisError>,
    ) -> Result<Vec<T>, AxisError> {
        if !self.0.take("(") {
            return Ok(vec![item(self)?]);
        }
        let mut items = vec![item(self)?];
        while self.0.take(",") {
            if self.0.rest().starts_with(')') {
                break;
            }
            items.push(item(self)?);
        }
        self.expect(")", "expected , or )")?;
        Ok(items)
    }

    fn number(&mut self) -> Result<u32, AxisError> {
        let rest = self.0.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = rest[..digits]
            .parse()
            .map_err(|_| self.unexpected("expected a number below 2^32"))?;
        self.0.skip(digits);
        Ok(number)
    }

    /// `4@laneid`, or `4` for `4@m`.
    fn stride(&mut self) -> Result<(u32, String), AxisError> {
        let stride = self.number()?;
        if !self.0.take("@") {
            return Ok((stride, MEMORY.to_string()));
        }
        let axis = self.0.word();
        if axis.is_empty() {
            return Err(self.unexpected("expected the name of an axis, such as laneid, m, TLane"));
        }
        self.0.skip(axis.len());
        Ok((stride, axis.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_show_where() {
        let error = |text: &str| parse(text).expect_err(text).to_string();
        assert_eq!(
            error("T[8 : 1]"),
            "T[8 : 1]\n^ expected S[extents : strides]"
        );
        assert_eq!(error("S[8 1]"), "S[8 1]\n    ^ expected : and the strides");
        assert_eq!(
            error("S[8 : 1@]"),
            "S[8 : 1@]\n        ^ expected the name of an axis, such as laneid, m, TLane"
        );
        assert!(error("S[(8, 4) : 1@m]").contains("2 extents but 1 strides"));
        assert!(error("S[(1000000, 1000000) : (1, 1)]").contains("2^31"));
        assert!(error("S[0 : 1]").contains("from 1"));
        assert!(error("S[4294967295 : 4294967295] + 4294967295 + 4294967295").contains("2^31"));
        assert!(error("S[8 : 1] R[2 : 1]").contains("+ or the end"));
    }

    #[test]
    fn a_stride_without_an_axis_is_on_m() {
        let layout = parse("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)]+R[2:4@warpid] + 5@warpid")
            .expect("a layout");
        assert_eq!(
            layout.to_string(),
            "S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1@m)] + R[2 : 4@warpid] + 5@warpid"
        );
    }
}
