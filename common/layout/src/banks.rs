//! Shared memory has 32 banks, each 4 bytes wide. Drawn as a table with 32 columns, each column is a bank and
//! each row holds 128 consecutive bytes. In one wavefront every bank serves one row.
//!
//! The words that a group of lanes accesses, drawn in that table, determine the cost: as many wavefronts as
//! the fullest column has words. Source of the grouping: measurements on an H100, which the emulator's tests
//! reproduce.

/// Number of banks, and of columns of the table.
pub const BANKS: u32 = 32;
/// Lanes of a warp.
pub const LANES: u32 = 32;

/// A number and width of banks other than an H100's, for smaller pictures: four banks suffice to show a whole
/// transpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Banks {
    count: u32,
    width: u32,
}

/// Why these banks are rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{count} banks of {width} bytes: both must be powers of two, at most {} banks of at most {} bytes",
    Banks::MAX_COUNT,
    Banks::MAX_WIDTH
)]
pub struct BanksError {
    count: u32,
    width: u32,
}

impl Banks {
    /// The banks of an H100's shared memory: 32, each 4 bytes wide.
    pub const H100: Self = Self {
        count: BANKS,
        width: 4,
    };
    const MAX_COUNT: u32 = 256;
    const MAX_WIDTH: u32 = 64;

    /// `count` banks, each `width` bytes wide.
    ///
    /// # Errors
    /// If one of the numbers is not a power of two, or too large.
    pub fn new(count: u32, width: u32) -> Result<Self, BanksError> {
        let fits = |number: u32, most| number.is_power_of_two() && number <= most;
        if fits(count, Self::MAX_COUNT) && fits(width, Self::MAX_WIDTH) {
            Ok(Self { count, width })
        } else {
            Err(BanksError { count, width })
        }
    }

    /// Bytes that all banks together serve in one wavefront.
    pub fn wavefront_bytes(self) -> u32 {
        self.count * self.width
    }

    /// The bank that holds a byte.
    pub fn bank(self, byte: u32) -> u32 {
        byte / self.width % self.count
    }

    /// Lanes that are served together: as many as access the bytes of one wavefront, and at least one.
    pub fn lanes_per_phase(self, bytes_per_lane: u32) -> u32 {
        (self.wavefront_bytes() / bytes_per_lane.max(self.width)).clamp(1, LANES)
    }
}

impl std::fmt::Display for Banks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} bytes", self.count, self.width)
    }
}

/// The instruction that makes the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// An ordinary load.
    Load,
    /// An ordinary store.
    Store,
    /// `ldmatrix` or `stmatrix`: each lane gives the address of a row of 16 bytes, and 8 lanes address an 8x8
    /// matrix.
    Matrix,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Access::Load => "load",
            Access::Store => "store",
            Access::Matrix => "matrix access",
        })
    }
}

/// The bank that holds a byte of shared memory: bits 2 to 6 of its address.
pub fn bank(byte: u32) -> u32 {
    Banks::H100.bank(byte)
}

/// Lanes that are served together: a phase. A warp's 32 lanes access at most 128 bytes at a time, so wider
/// elements take more phases: 1 for up to 4 bytes a lane, 2 for 8, 4 for 16.
pub fn lanes_per_phase(bytes_per_lane: u32) -> u32 {
    Banks::H100.lanes_per_phase(bytes_per_lane)
}

/// The words that a warp accesses, each at its place in the table, phase by phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankTable {
    phases: Vec<Phase>,
}

/// One phase: for each bank, the rows of the table that hold an accessed word, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// The banks, each with the accessed rows and the lanes that access the word there.
    pub columns: Vec<Vec<Word>>,
}

/// One accessed word, as wide as a bank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Row of the table: the byte address divided by the bytes of a wavefront, 128.
    pub row: u32,
    /// The lanes that access it.
    pub lanes: Vec<u32>,
}

impl Word {
    /// The first lane that accesses it.
    pub fn first_lane(&self) -> Option<u32> {
        self.lanes.first().copied()
    }
}

impl BankTable {
    /// `offset(lane)` is the lane's byte offset in shared memory, or `None` for an inactive lane.
    pub fn new(access: Access, bytes_per_lane: u32, offset: impl Fn(u32) -> Option<u32>) -> Self {
        Self::with(Banks::H100, access, bytes_per_lane, offset)
    }

    /// The same for other banks. Their phases follow an H100's rule, except that phases never merge: merging
    /// was measured on an H100 and is not assumed for other banks.
    pub fn with(
        banks: Banks,
        access: Access,
        bytes_per_lane: u32,
        offset: impl Fn(u32) -> Option<u32>,
    ) -> Self {
        let offsets: Vec<Option<u32>> = (0..LANES).map(offset).collect();
        let together = banks.lanes_per_phase(bytes_per_lane)
            * match access {
                Access::Load if banks == Banks::H100 => merged_phases(bytes_per_lane, &offsets),
                Access::Load | Access::Store | Access::Matrix => 1,
            };
        let phase = |phase| {
            let mut columns = vec![Vec::<Word>::new(); banks.count as usize];
            for lane in phase * together..(phase + 1) * together {
                let Some(first) = offsets[lane as usize] else {
                    continue;
                };
                for byte in (first..first + bytes_per_lane).step_by(banks.width as usize) {
                    let column = &mut columns[banks.bank(byte) as usize];
                    let row = byte / banks.wavefront_bytes();
                    match column.binary_search_by_key(&row, |word| word.row) {
                        Ok(at) => column[at].lanes.push(lane),
                        Err(at) => {
                            let lanes = vec![lane];
                            column.insert(at, Word { row, lanes });
                        }
                    }
                }
            }
            Phase { columns }
        };
        let phases = (0..LANES / together).map(phase).collect();
        Self { phases }
    }

    /// The phases, in the order of their lanes.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// Wavefronts of the whole access: the sum over its phases.
    pub fn wavefronts(&self) -> u32 {
        self.phases.iter().map(Phase::degree).sum::<u32>().max(1)
    }

    /// Wavefronts if no bank had to serve two words: one for each phase with an active lane.
    pub fn ideal(&self) -> u32 {
        let phases = self.phases.iter();
        phases.filter(|phase| phase.degree() > 0).count() as u32
    }

    /// Wavefronts beyond the ideal.
    pub fn conflicts(&self) -> u32 {
        self.wavefronts() - self.ideal()
    }
}

impl Phase {
    /// The word that each bank serves in each wavefront: one row a wavefront, 32 banks, in the order of the
    /// words' rows. (The hardware's own order within a phase is not known; the number of wavefronts is.)
    pub fn wavefronts(&self) -> Vec<Vec<Option<&Word>>> {
        (0..self.degree() as usize)
            .map(|pass| self.columns.iter().map(|column| column.get(pass)).collect())
            .collect()
    }

    /// The first two lanes that access different words of one bank, and that bank.
    pub fn first_conflict(&self) -> Option<(u32, u32, u32)> {
        let pairs = (0..).zip(&self.columns).filter_map(|(bank, column)| {
            let mut lanes: Vec<u32> = column.iter().filter_map(Word::first_lane).collect();
            lanes.sort_unstable();
            Some((*lanes.first()?, *lanes.get(1)?, bank))
        });
        pairs.min_by_key(|&(first, second, bank)| (second, first, bank))
    }

    /// The most words that one bank has to serve in a phase: a phase of degree 2 is a 2-way conflict.
    pub fn degree(&self) -> u32 {
        self.columns.iter().map(Vec::len).max().unwrap_or(0) as u32
    }
}

/// How many phases of a wide load are served together: 2 if neighboring lanes, or lanes two apart, access
/// the same address throughout the warp; else 1.
fn merged_phases(bytes_per_lane: u32, offsets: &[Option<u32>]) -> u32 {
    let same = |distance: usize| {
        (0..LANES as usize).all(|lane| match (offsets[lane], offsets[lane ^ distance]) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        })
    };
    let is_merged = bytes_per_lane >= 8 && (same(1) || same(2));
    1 + u32::from(is_merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_cases() {
        let table = |stride: u32| BankTable::new(Access::Load, 4, |lane| Some(lane * stride * 4));
        assert_eq!(
            [1, 2, 3, 4, 8, 32, 33].map(|stride| table(stride).wavefronts()),
            [1, 2, 1, 4, 8, 32, 1]
        );
        assert_eq!(
            BankTable::new(Access::Load, 4, |_| Some(64)).conflicts(),
            0,
            "one word for all lanes is not a conflict"
        );
    }

    #[test]
    fn other_banks() {
        let four = Banks::new(4, 4).expect("powers of two");
        let column = |stride: u32| {
            BankTable::with(four, Access::Load, 4, |lane| {
                (lane < 4).then_some(lane * stride)
            })
        };
        assert_eq!(column(16).wavefronts(), 4, "a 4x4 column in one bank");
        assert_eq!(column(20).wavefronts(), 1, "a diagonal in all four");
        assert_eq!(column(16).phases().len(), 8, "four lanes at a time");
        let groups = Banks::new(8, 16).expect("powers of two");
        let row = |lane: u32| Some(lane * 16);
        let words = BankTable::new(Access::Store, 16, row);
        let units = BankTable::with(groups, Access::Store, 16, row);
        assert_eq!(units.wavefronts(), words.wavefronts());
        let narrow = BankTable::with(four, Access::Load, 32, |lane| (lane == 0).then_some(0));
        assert_eq!(narrow.wavefronts(), 2, "one lane needs two wavefronts");
        assert_eq!(
            (Banks::H100.bank(132), Banks::H100.lanes_per_phase(8)),
            (1, 16)
        );
        for (count, width) in [(0, 4), (3, 4), (4, 0), (4, 3), (512, 4), (4, 128)] {
            assert!(Banks::new(count, width).is_err(), "{count} of {width}");
        }
    }

    #[test]
    fn wide_accesses_take_several_phases() {
        let row = |access, bytes| BankTable::new(access, bytes, |lane| Some(lane * bytes));
        assert_eq!(row(Access::Store, 8).wavefronts(), 2);
        assert_eq!(row(Access::Store, 16).wavefronts(), 4);
        assert_eq!(row(Access::Store, 16).conflicts(), 0);
        let pairs = BankTable::new(Access::Load, 16, |lane| Some(lane / 2 * 16));
        assert_eq!(
            pairs.phases().len(),
            2,
            "neighbors with one address halve the phases of a load"
        );
        let pairs = BankTable::new(Access::Store, 16, |lane| Some(lane / 2 * 16));
        assert_eq!(pairs.phases().len(), 4, "but not of a store");
    }
}
