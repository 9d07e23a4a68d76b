//! An access of a warp: an instruction, and the address of each lane.
use layout::banks::Access;
use serde::Deserialize;

use super::formula::Formula;

/// The instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Op {
    /// A load from shared memory.
    #[serde(rename = "ld")]
    Load,
    /// A store to shared memory.
    #[serde(rename = "st")]
    Store,
    /// A load of 8x8 matrices: a lane gives the address of each 16-byte row.
    #[serde(rename = "ldmatrix")]
    Matrix,
    /// A load from global memory.
    #[serde(rename = "ld.global")]
    GlobalLoad,
    /// A store to global memory.
    #[serde(rename = "st.global")]
    GlobalStore,
}

/// What a question can ask about an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Count {
    /// Wavefronts of shared memory.
    #[default]
    Wavefronts,
    /// Wavefronts beyond the minimum.
    Conflicts,
    /// Sectors of global memory.
    Sectors,
}

impl Count {
    pub fn name(self) -> &'static str {
        match self {
            Self::Wavefronts => "wavefronts",
            Self::Conflicts => "conflicts",
            Self::Sectors => "sectors",
        }
    }
}

impl Op {
    /// Its kind in the bank model; none for global memory.
    pub fn shared(self) -> Option<Access> {
        match self {
            Self::Load => Some(Access::Load),
            Self::Store => Some(Access::Store),
            Self::Matrix => Some(Access::Matrix),
            Self::GlobalLoad | Self::GlobalStore => None,
        }
    }

    pub fn is_load(self) -> bool {
        !matches!(self, Self::Store | Self::GlobalStore)
    }

    /// What questions ask about it.
    pub fn counts(self) -> &'static [Count] {
        match self.shared() {
            Some(_) => &[Count::Wavefronts, Count::Conflicts],
            None => &[Count::Sectors],
        }
    }
}

/// An access whose addresses follow a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpAccess {
    pub op: Op,
    /// Bytes per lane.
    pub bytes: u32,
    /// The first N lanes take part; for `ldmatrix`, they give row addresses.
    pub lanes: u32,
    /// Formulas of `row` and `col` in terms of `lane`; without them, `address` uses `lane` itself.
    pub place: Option<[Formula; 2]>,
    /// Byte offset from a multiple of 128.
    pub address: Formula,
}

impl WarpAccess {
    /// An access by all lanes; `address` is in terms of `lane`.
    pub fn new(op: Op, bytes: u32, address: Formula) -> Self {
        Self {
            op,
            bytes,
            lanes: 32,
            place: None,
            address,
        }
    }

    /// The same with an address in terms of `row` and `col`.
    pub fn at(mut self, place: [Formula; 2]) -> Self {
        self.place = Some(place);
        self
    }

    /// The same by the first N lanes only.
    pub fn of_lanes(mut self, lanes: u32) -> Self {
        self.lanes = lanes;
        self
    }

    /// The PTX instruction.
    pub fn instruction(&self) -> String {
        let space = match self.op.shared() {
            Some(_) => "shared",
            None => "global",
        };
        let kind = match self.bytes {
            1 => "u8",
            2 => "u16",
            4 => "u32",
            8 => "v2.u32",
            _ => "v4.u32",
        };
        match self.op {
            Op::Matrix => format!("ldmatrix.sync.aligned.m8n8.x{}.shared.b16", self.lanes / 8),
            Op::Load | Op::GlobalLoad => format!("ld.{space}.{kind}"),
            Op::Store | Op::GlobalStore => format!("st.{space}.{kind}"),
        }
    }

    /// Each name and its formula, the address last.
    pub fn formulas(&self) -> Vec<(&'static str, &Formula)> {
        let mut all = vec![("address", &self.address)];
        if let Some([row, col]) = &self.place {
            all.splice(0..0, [("row", row), ("col", col)]);
        }
        all
    }
}
