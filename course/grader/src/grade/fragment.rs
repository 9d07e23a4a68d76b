//! Finds the register of a lane, or the row of a descriptor's operand, that holds the wrong element.
use std::collections::BTreeMap;

use emulator::{Instruction, InstructionKind, MatrixFactors};
use harness::Launched;

use super::diagnosis::{Cause, CauseKind};
use super::feeds;
use super::labels::{Element, Labels};

/// Examines the first operand of a matrix product that is not a block of A or of B; `step`: the elements of one along K.
pub fn wrong(launched: &Launched, instructions: &[Instruction], step: u32) -> Option<Cause> {
    let labels = Labels::of(&launched.problem);
    let all = &launched.run.factors;
    let is_zero = |of: fn(&MatrixFactors) -> &Vec<u16>| {
        !all.is_empty() && all.iter().all(|one| of(one).iter().all(|bits| *bits == 0))
    };
    for (name, zero) in [('A', is_zero(|one| &one.a)), ('B', is_zero(|one| &one.b))] {
        if zero {
            return Some(nothing_loaded(name));
        }
    }
    let is_box = |of: &Instruction| matches!(of.kind, InstructionKind::BulkCopy { tensor: true });
    let by_tma = instructions.iter().any(is_box);
    let reached = feeds::operands(instructions);
    let matrix = instructions
        .iter()
        .zip(&reached)
        .filter(|(of, _)| of.opcode.starts_with("ldmatrix"));
    let by_ldmatrix = matrix.fold(0, |all, (_, reached)| all | reached);
    let found = all.iter().find_map(|factors| {
        let instruction = instructions.get(factors.instruction)?;
        let by_wgmma = matches!(instruction.kind, InstructionKind::Wgmma(_));
        let mut a = Operand::of(factors, &labels, 'A', (by_ldmatrix & 1 != 0, step));
        let mut b = Operand::of(factors, &labels, 'B', (by_ldmatrix & 2 != 0, step));
        if a.first_wrong(&labels, by_wgmma).is_none() {
            b.begins_at = a.first().map(|(_, k)| k);
        } else if by_wgmma && b.first_wrong(&labels, by_wgmma).is_none() {
            a.begins_at = b.first().map(|(k, _)| k);
        }
        let empty = || a.empty_half().or_else(|| b.empty_half());
        let unknown = || {
            empty()
                .or_else(|| a.first_unknown())
                .or_else(|| b.first_unknown())
        };
        let unknown = if by_wgmma { None } else { unknown() };
        let found = unknown.or_else(|| a.first_wrong(&labels, by_wgmma));
        let found = found.or_else(|| b.first_wrong(&labels, by_wgmma));
        found.or_else(|| differing((&a, &b), factors, all, &labels, by_tma))
    });
    match by_tma {
        true => found.map(said_of_tma),
        false => found,
    }
}

/// Adds to a hint what is so only for copies by TMA.
fn said_of_tma(cause: Cause) -> Cause {
    let more = match cause.kind {
        CauseKind::Chunk => " For TMA, the permutation is the swizzle of `gemm_boxes`",
        CauseKind::Other("exchanged-indices") => " TMA takes the column first, then the row",
        _ => "",
    };
    Cause {
        hint: cause.hint + more,
        ..cause
    }
}

/// A decoded operand: `rows` of A, or of B.
struct Operand {
    name: char,
    /// Whether an `ldmatrix` loads it.
    by_ldmatrix: bool,
    /// Elements of a step along K.
    step: u32,
    columns: usize,
    /// The k at which this operand has to begin, if the other one is right: where that does.
    begins_at: Option<u32>,
    /// In row-major order.
    held: Vec<Option<Element>>,
    bits: Vec<u16>,
}

impl Operand {
    fn of(
        factors: &MatrixFactors,
        labels: &Labels,
        name: char,
        (by_ldmatrix, step): (bool, u32),
    ) -> Self {
        let (bits, columns) = match name {
            'A' => (&factors.a, factors.k as usize),
            _ => (&factors.b, factors.columns()),
        };
        Self {
            name,
            by_ldmatrix,
            step,
            columns,
            begins_at: None,
            held: bits.iter().map(|bits| labels.get(*bits)).collect(),
            bits: bits.clone(),
        }
    }

    /// The row and column, relative to the block's first element, that an entry should have.
    fn place(&self, at: usize) -> (usize, usize) {
        (at / self.columns.max(1), at % self.columns.max(1))
    }

    /// The first element of the block that the operand's first entry belongs to; a block begins at a multiple of eight.
    fn first(&self) -> Option<(u32, u32)> {
        match (self.name, self.held.first().copied().flatten()?) {
            ('A', Element::A(row, column)) => {
                Some((row / 8 * 8, self.begins_at.unwrap_or(column / 8 * 8)))
            }
            ('B', Element::B(k, column)) => {
                let rows = (self.held.len() / self.columns.max(1)) as u32;
                let begins_at = self.begins_at.filter(|at| (*at..at + rows).contains(&k));
                Some((begins_at.unwrap_or(k / 8 * 8), column / 8 * 8))
            }
            // The transposed product is not examined.
            _ => None,
        }
    }

    fn element(&self, row: u32, column: u32) -> Element {
        match self.name {
            'A' => Element::A(row, column),
            _ => Element::B(row, column),
        }
    }

    fn first_wrong(&self, labels: &Labels, by_wgmma: bool) -> Option<Cause> {
        let (row, column) = self.first()?;
        let should = |at: usize| {
            let (down, right) = self.place(at);
            self.element(row + down as u32, column + right as u32)
        };
        // In the order of lanes and registers; padding may be beyond the matrix.
        let wrong = |at: &usize| self.held[*at] != Some(should(*at)) && self.held[*at].is_some();
        let order = |at: &usize| match by_wgmma {
            true => (0, *at),
            false => self.register(*at),
        };
        let at = (0..self.held.len()).filter(wrong).min_by_key(order)?;
        let held = self.held[at]?;
        let wanted = should(at);
        if !by_wgmma && !labels.has(wanted) {
            return Some(self.begins_too_late(self.element(row, column)));
        }
        Some(match by_wgmma {
            true => self.of_descriptor(at, held, wanted),
            false => self.of_lane(at, held, wanted),
        })
    }

    /// A fragment from its first element on would not fit in the matrix, so that is wrong already.
    fn begins_too_late(&self, first: Element) -> Cause {
        let register = self.name.to_ascii_lowercase();
        Cause {
            what: format!(
                "the fragment of {} is wrong: lane 0, {register}[0] holds {first}, and a fragment that begins there does not fit in {}",
                self.name, self.name
            ),
            hint: "which row and which column does lane 0 of this warp compute? The lane is the thread's number in its warp, not in its block".into(),
            kind: CauseKind::Fragment,
        }
    }

    /// Register and lane of an element in `mma.m16n8k16` and smaller shapes, and which half.
    fn register(&self, at: usize) -> (usize, usize) {
        let (row, column) = self.place(at);
        match self.name {
            'A' => {
                let lane = row % 8 * 4 + column % 8 / 2;
                (lane, 2 * (row / 8 + 2 * (column / 8)) + column % 2)
            }
            _ => (column * 4 + row % 8 / 2, 2 * (row / 8) + row % 2),
        }
    }

    /// What an element's 8x8 matrix has in its place if it is transposed.
    fn transposed(&self, at: usize) -> Option<Element> {
        let (first_row, first_column) = self.first()?;
        let (row, column) = self.place(at);
        let (down, right) = (row / 8 * 8 + column % 8, column / 8 * 8 + row % 8);
        Some(self.element(first_row + down as u32, first_column + right as u32))
    }

    fn of_lane(&self, at: usize, held: Element, wanted: Element) -> Cause {
        let (lane, half) = self.register(at);
        let is_transposed = self.transposed(at) == Some(held);
        let register = self.name.to_ascii_lowercase();
        let which = if half % 2 == 0 { "lower" } else { "upper" };
        Cause {
            what: format!(
                "the fragment of {} is wrong: lane {lane}, {register}[{}] holds {held} in its {which} half, should hold {wanted}",
                self.name,
                half / 2
            ),
            hint: match is_transposed {
                true => "each 8x8 matrix of this operand is transposed: in which order is it stored, and in which does mma want it?".into(),
                false if self.is_of_another_step(held, wanted) => OTHER_STEP.into(),
                false if self.is_chunk_of_row(held, wanted) => OTHER_CHUNK.into(),
                false => self.whose_address(lane, half / 2),
            },
            kind: match is_transposed {
                true => CauseKind::Other("transposed-fragment"),
                false if self.is_of_another_step(held, wanted) => CauseKind::Factors,
                false if self.is_chunk_of_row(held, wanted) => CauseKind::Chunk,
                false => CauseKind::Fragment,
            },
        }
    }

    /// Whether one is in the place of the other in the tile of another step.
    fn is_of_another_step(&self, held: Element, wanted: Element) -> bool {
        let steps = |one: u32, other: u32| {
            one != other && one.abs_diff(other).checked_rem(self.step) == Some(0)
        };
        match (held, wanted) {
            (Element::A(row, k), Element::A(of, other)) => row == of && steps(k, other),
            (Element::B(k, column), Element::B(other, of)) => column == of && steps(k, other),
            _ => false,
        }
    }

    /// Whether both are in one row of the operand, some chunks of 16 bytes apart.
    fn is_chunk_of_row(&self, held: Element, wanted: Element) -> bool {
        match (held, wanted) {
            (Element::A(row, one), Element::A(of, other))
            | (Element::B(row, one), Element::B(of, other)) => {
                row == of && one.abs_diff(other) % 8 == 0
            }
            _ => false,
        }
    }

    fn whose_address(&self, lane: usize, register: usize) -> String {
        let name = self.name.to_ascii_lowercase();
        match self.by_ldmatrix {
            true => format!(
                "which lanes name the rows of the matrix that {name}[{register}] comes from, is it to be transposed, and is it this register of \
                 ldmatrix that the product takes?"
            ),
            false => format!(
                "which row and which column does lane {lane} compute for {name}[{register}]?"
            ),
        }
    }

    /// Whether one half of every register is 0, the lower (0) or the upper one: an element was loaded, and not a pair.
    fn empty_half(&self) -> Option<Cause> {
        let half = |at: usize| self.register(at).1 % 2;
        let is_empty = |which: usize| {
            let all = 0..self.bits.len();
            all.clone()
                .filter(|at| half(*at) == which)
                .all(|at| self.bits[at] == 0)
                && all
                    .filter(|at| half(*at) != which)
                    .all(|at| self.held[at].is_some())
        };
        let empty = (0..2).find(|which| is_empty(*which))?;
        let name = self.name.to_ascii_lowercase();
        let which = if empty == 0 { "lower" } else { "upper" };
        Some(Cause {
            what: format!(
                "the fragment of {} is wrong: the {which} half of {name}[0], and of every other register, is 0 in all lanes",
                self.name
            ),
            hint: "a register holds two elements that are neighbors along K: how many bits does this load bring, and where does the other element \
                   come from?"
                .into(),
            kind: CauseKind::Fragment,
        })
    }

    /// The first number that is not an element of A or B.
    fn first_unknown(&self) -> Option<Cause> {
        let unknown = |at: &usize| self.held[*at].is_none() && self.bits[*at] != 0;
        let at = (0..self.held.len())
            .filter(unknown)
            .min_by_key(|at| self.register(*at))?;
        let (lane, half) = self.register(at);
        let register = self.name.to_ascii_lowercase();
        let which = if half % 2 == 0 { "lower" } else { "upper" };
        Some(Cause {
            what: format!(
                "the fragment of {} is wrong: lane {lane}, {register}[{}] holds 0x{:04x} in its {which} half, which is not an element of A or B",
                self.name,
                half / 2,
                self.bits[at]
            ),
            hint: "how are two 16-bit elements packed into one register: which of them is shifted, by how much, and is its type unsigned?".into(),
            kind: CauseKind::Fragment,
        })
    }

    fn of_descriptor(&self, at: usize, held: Element, wanted: Element) -> Cause {
        let (row, column) = self.place(at);
        let (mn, k) = match self.name {
            'A' => (row, column),
            _ => (column, row),
        };
        let side = if self.name == 'A' { "row" } else { "column" };
        let mode = "which swizzle has the box that brought this operand, and which does the descriptor's mode say?";
        // What of the operand is right up to there.
        let (field, hint) = match (self.name, mn, k) {
            // No swizzle moves the first chunk of its pattern.
            (_, 0, 0) => (
                "where it begins: the start address",
                "how many bytes further does this operand begin than that of the product before, and in which unit does a descriptor count them?",
            ),
            ('A', 0..8, _) => ("its first 8 rows: the swizzle's mode", mode),
            ('A', ..) => (
                "the distance of 8 rows to the next 8: the stride byte offset",
                "how many bytes are there from a row of this panel of A to the one 8 rows below?",
            ),
            (_, 0..8, 0..8) => (
                "its first 8 columns and 8 rows of k: the swizzle's mode, or the major",
                mode,
            ),
            (_, _, 0..8) if mn % 32 == 0 => (
                "the distance of a panel to the next along N: the leading byte offset; or at the column where the copy of that panel begins",
                "how many bytes has a panel of B, with all of its rows, and which columns of B are copied to each?",
            ),
            (_, _, 0..8) => ("columns within a panel: the swizzle's mode", mode),
            _ => (
                "the distance of 8 rows of k to the next 8: the stride byte offset",
                "how many bytes are there from a row of this panel of B to the one 8 rows below?",
            ),
        };
        Cause {
            what: format!(
                "operand {} is not where its descriptor says: {side} {mn}, k {k} of the wgmma holds {held}, should hold {wanted}; look at {field}",
                self.name
            ),
            hint: hint.into(),
            kind: CauseKind::Other("wrong-descriptor"),
        }
    }
}

/// What it asks if the element belongs to the same place in another step.
const OTHER_STEP: &str = "this is what another step copied to the same place: which threads copy this row in this step, and to which stage?";

/// What a wrong fragment's hint asks if both elements are in one row.
const OTHER_CHUNK: &str = "both are in one row, some chunks of 16 bytes apart: does the address apply the permutation with which the row was \
     written, and which chunk does this lane name?";

/// Where the operands of the warp's first product begin.
fn first_of(all: &[MatrixFactors], of: &MatrixFactors, labels: &Labels) -> [Option<(u32, u32)>; 2] {
    let same = |one: &&MatrixFactors| {
        (one.block, one.warp, one.instruction) == (of.block, of.warp, of.instruction)
    };
    let first = all.iter().find(same).unwrap_or(of);
    ['A', 'B'].map(|name| Operand::of(first, labels, name, (false, 0)).first())
}

/// Row and column where an operand of A begins, and where one of B does.
type Starts = ((u32, u32), (u32, u32));

/// Where the first products of a warp begin, by block: with exchanged coordinates, blocks of several columns of C multiply the same
/// columns of B in several k, and likewise for A. Returns what the operand begins with in these factors, and what it should.
fn turned_at_once(
    of: &MatrixFactors,
    all: &[MatrixFactors],
    labels: &Labels,
) -> Option<(Element, Element)> {
    let same = |one: &&MatrixFactors| (one.warp, one.instruction) == (of.warp, of.instruction);
    let mut firsts = BTreeMap::new();
    for one in all.iter().filter(same) {
        firsts.entry(one.block).or_insert(one);
    }
    let starts = |one: &MatrixFactors| {
        let [a, b] = ['A', 'B'].map(|name| Operand::of(one, labels, name, (false, 0)).first());
        a.zip(b)
    };
    if firsts.get(&of.block).copied() != Some(of) {
        return None;
    }
    let ((row, of_a), (of_b, column)) = starts(of)?;
    let all: Vec<_> = firsts.into_values().filter_map(starts).collect();
    let is_same =
        |number: fn(&Starts) -> u32| all.windows(2).all(|two| number(&two[0]) == number(&two[1]));
    let (same_row, same_column) = (is_same(|at| at.0.0), is_same(|at| at.1.1));
    let (same_a, same_b) = (is_same(|at| at.0.1), is_same(|at| at.1.0));
    let (held, wanted) = match (same_a, same_b) {
        (true, false) if same_column => {
            let wanted = (of_b + column).checked_sub(of_a)?;
            (Element::B(of_b, column), Element::B(of_a, wanted))
        }
        (false, true) if same_row => {
            let wanted = (of_a + row).checked_sub(of_b)?;
            (Element::A(row, of_a), Element::A(wanted, of_b))
        }
        _ => return None,
    };
    labels.has(wanted).then_some((held, wanted))
}

/// All of an operand is 0, in every product.
fn nothing_loaded(name: char) -> Cause {
    Cause {
        what: format!("every product multiplies with 0 in the place of {name}"),
        hint: format!(
            "which code stores the elements of {name} where this product reads them: is it executed, is its address the same, and is \
             anything stored there later?"
        ),
        kind: CauseKind::Factors,
    }
}

/// Both are blocks, of different k: `a` and `b` of these factors.
fn differing(
    (a, b): (&Operand, &Operand),
    factors: &MatrixFactors,
    all: &[MatrixFactors],
    labels: &Labels,
    by_tma: bool,
) -> Option<Cause> {
    let before = first_of(all, factors, labels);
    let ((row, of_a), (of_b, column)) = (a.first()?, b.first()?);
    if of_a == of_b {
        return None;
    }
    // The other operand has gone on along K by as much as this one in the other direction.
    let (first_row, first_column) = (before[0]?.0, before[1]?.1);
    let turned = if row > first_row && of_b > of_a && row - first_row == of_b - of_a {
        Some((Element::A(row, of_a), Element::A(first_row, of_b)))
    } else if column > first_column && of_a > of_b && column - first_column == of_a - of_b {
        Some((Element::B(of_b, column), Element::B(of_a, first_column)))
    } else {
        None
    };
    let copied = if by_tma { "box" } else { "tile" };
    if let Some((held, wanted)) = turned.or_else(|| turned_at_once(factors, all, labels)) {
        return Some(Cause {
            what: format!(
                "an operand begins with {held}, should begin with {wanted}: the two coordinates of its {copied} are exchanged"
            ),
            hint: "from one step along K to the next, which of the two coordinates of this operand's tile changes?".into(),
            kind: CauseKind::Other("exchanged-indices"),
        });
    }
    Some(Cause {
        what: format!(
            "a product multiplies columns of A from k {of_a} on with rows of B from k {of_b} on"
        ),
        hint: "at which k does each operand begin in this product, and by how many bytes does its address go on from one product to \
               the next? If one ldmatrix brings the operands of two products: which rows do lanes 16 to 31 name?"
            .into(),
        kind: CauseKind::Factors,
    })
}
