//! Shared memory has 32 banks of 4 bytes, side by side: seen as a table with 32 columns, each column is
//! a bank, and each row 128 consecutive bytes. In one pass every bank serves one row.
//!
//! So the words that a group of lanes asks for, put into that table, tell everything: as many passes as
//! the fullest column has words. Source of the grouping: measurements on an H100, which the emulator's
//! tests hold.

/// Banks, and columns of the table.
pub const BANKS: u32 = 32;
/// Lanes of a warp.
pub const LANES: u32 = 32;

/// What the warp does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// An ordinary load.
    Load,
    /// An ordinary store.
    Store,
    /// `ldmatrix` or `stmatrix`: each lane gives the address of a row of 16 bytes; 8 lanes, an 8x8 matrix.
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
    byte / 4 % BANKS
}

/// Lanes that are served together: a phase. A warp's 32 lanes ask for up to 128 bytes at a time, so wider
/// elements take more phases: 1 for up to 4 bytes a lane, 2 for 8, 4 for 16.
pub fn lanes_in_a_phase(bytes_per_lane: u32) -> u32 {
    LANES.min(128 / bytes_per_lane.max(4))
}

/// The words that a warp asks for, each in its place in the table, phase by phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankTable {
    phases: Vec<Phase>,
}

/// One phase: for each bank, the rows of the table in which a word is wanted, in rising order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// 32 banks, each with its rows and the lanes that want the word there.
    pub columns: Vec<Vec<Word>>,
}

/// One 4-byte word that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Row of the table: the byte address divided by 128.
    pub row: u32,
    /// Who wants it.
    pub lanes: Vec<u32>,
}

impl BankTable {
    /// `offset(lane)` is the lane's byte offset in shared memory, or `None` if it takes no part.
    pub fn new(access: Access, bytes_per_lane: u32, offset: impl Fn(u32) -> Option<u32>) -> Self {
        let offsets: Vec<Option<u32>> = (0..LANES).map(offset).collect();
        let together = lanes_in_a_phase(bytes_per_lane)
            * if access == Access::Load {
                merged(bytes_per_lane, &offsets)
            } else {
                1
            };
        let phases = (0..LANES / together)
            .map(|phase| {
                let mut columns = vec![Vec::<Word>::new(); BANKS as usize];
                for lane in phase * together..(phase + 1) * together {
                    let Some(first) = offsets[lane as usize] else {
                        continue;
                    };
                    for byte in (first..first + bytes_per_lane).step_by(4) {
                        let (column, row) = (&mut columns[bank(byte) as usize], byte / (4 * BANKS));
                        match column.iter_mut().find(|word| word.row == row) {
                            Some(word) => word.lanes.push(lane),
                            None => column.push(Word {
                                row,
                                lanes: vec![lane],
                            }),
                        }
                    }
                }
                columns
                    .iter_mut()
                    .for_each(|column| column.sort_by_key(|word| word.row));
                Phase { columns }
            })
            .collect();
        Self { phases }
    }

    /// The phases, in the order of their lanes.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// Passes that the whole access takes: the sum over its phases.
    pub fn wavefronts(&self) -> u32 {
        self.phases.iter().map(Phase::degree).sum::<u32>().max(1)
    }

    /// Passes if no bank were asked for two words: one for each phase in which anybody takes part.
    pub fn ideal(&self) -> u32 {
        self.phases
            .iter()
            .filter(|phase| phase.degree() > 0)
            .count() as u32
    }

    /// Passes beyond the ideal.
    pub fn conflicts(&self) -> u32 {
        self.wavefronts() - self.ideal()
    }
}

impl Phase {
    /// Which word each bank serves in each pass: one row a wavefront, 32 banks, in the order of the words'
    /// rows. (The hardware's own order within a phase is not known; the number of passes is.)
    pub fn wavefronts(&self) -> Vec<Vec<Option<&Word>>> {
        (0..self.degree() as usize)
            .map(|pass| self.columns.iter().map(|column| column.get(pass)).collect())
            .collect()
    }

    /// The first two lanes that want different words of one bank, with that bank.
    pub fn first_conflict(&self) -> Option<(u32, u32, u32)> {
        let pairs = self
            .columns
            .iter()
            .enumerate()
            .filter_map(|(bank, column)| {
                let mut lanes = column
                    .iter()
                    .filter_map(|word| word.lanes.first().copied())
                    .collect::<Vec<_>>();
                lanes.sort_unstable();
                Some((*lanes.first()?, *lanes.get(1)?, bank as u32))
            });
        pairs.min_by_key(|&(first, second, bank)| (second, first, bank))
    }

    /// The most words that one bank must serve: a phase of degree 2 is a 2-way conflict.
    pub fn degree(&self) -> u32 {
        self.columns.iter().map(Vec::len).max().unwrap_or(0) as u32
    }
}

/// How many phases of a wide load are served as one: 2 if neighbouring lanes, or lanes two apart, ask for
/// the same address all over the warp; else 1.
fn merged(bytes_per_lane: u32, offsets: &[Option<u32>]) -> u32 {
    let same = |distance: usize| {
        (0..LANES as usize).all(|lane| match (offsets[lane], offsets[lane ^ distance]) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        })
    };
    if bytes_per_lane >= 8 && (same(1) || same(2)) {
        2
    } else {
        1
    }
}

impl std::fmt::Display for BankTable {
    /// One line a phase and bank that is asked for more than one word; one line a phase without any.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, phase) in self.phases.iter().enumerate() {
            writeln!(
                f,
                "phase {number}: {} wavefront{}",
                phase.degree(),
                if phase.degree() == 1 { "" } else { "s" }
            )?;
            for (bank, column) in phase
                .columns
                .iter()
                .enumerate()
                .filter(|(_, column)| column.len() > 1)
            {
                let words: Vec<String> = column
                    .iter()
                    .map(|word| {
                        let lanes: Vec<String> = word.lanes.iter().map(u32::to_string).collect();
                        format!("row {} for lane {}", word.row, lanes.join(", "))
                    })
                    .collect();
                writeln!(f, "  bank {bank:2}: {}", words.join("; "))?;
            }
        }
        Ok(())
    }
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
            "one word for all is no conflict"
        );
    }

    #[test]
    fn wide_accesses_come_in_phases() {
        let row = |access, bytes| BankTable::new(access, bytes, |lane| Some(lane * bytes));
        assert_eq!(row(Access::Store, 8).wavefronts(), 2);
        assert_eq!(row(Access::Store, 16).wavefronts(), 4);
        assert_eq!(row(Access::Store, 16).conflicts(), 0);
        let pairs = BankTable::new(Access::Load, 16, |lane| Some(lane / 2 * 16));
        assert_eq!(
            pairs.phases().len(),
            2,
            "neighbours with one address halve the phases of a load"
        );
        let pairs = BankTable::new(Access::Store, 16, |lane| Some(lane / 2 * 16));
        assert_eq!(pairs.phases().len(), 4, "but not of a store");
    }
}
