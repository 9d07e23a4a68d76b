//! What a launch records on request about matrix products: their factors, and how early copies were issued.

/// The factors of one f16 matrix product of a warp: an `mma.sync`, or a warp's 16 rows of a `wgmma`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixFactors {
    /// Index in [`Function::instructions`](crate::Function::instructions).
    pub instruction: usize,
    /// `blockIdx`.
    pub block: [u32; 3],
    /// The warp's number in its block.
    pub warp: u32,
    /// Products in the sum of each element of C.
    pub k: u32,
    /// Bits of A, rows of `k` elements.
    pub a: Vec<u16>,
    /// Bits of B, `k` rows.
    pub b: Vec<u16>,
}

impl MatrixFactors {
    /// Rows of A.
    pub fn rows(&self) -> usize {
        self.a.len() / self.k.max(1) as usize
    }

    /// Columns of B.
    pub fn columns(&self) -> usize {
        self.b.len() / self.k.max(1) as usize
    }
}

/// How early an asynchronous copy was issued, counted in matrix products of a warp that reads the copied data or waits
/// for the copy. Only products that are not ordered before the issue count: on any GPU they may run while the copy is
/// in flight, whatever the order of the warps was here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyLead {
    /// `blockIdx`.
    pub block: [u32; 3],
    /// The warp's number in its block.
    pub warp: u32,
    /// Matrix products that the warp had executed before it read or waited.
    pub at: u64,
    /// The smallest lead of all copies that it read or waited for there.
    pub products: u64,
    /// Matrix products of the warp in the whole launch; 0 for a warp that only copies.
    pub of: u64,
    /// The same for the warp that issued the copy; the maximum if there are several.
    pub issuer_of: u64,
    /// How many bytes of the block are in flight together, as a quotient: numerator and denominator. It is an average over the half of the
    /// issuing warp's bytes for which it is least. A copy of b bytes adds b d and b to the two, if d bytes are issued by the block from the
    /// middle of this copy until the first issue that comes after a wait for it; so the last copies add nothing. Nor do those that fill the
    /// pipeline, before any copy of the block is issued after a wait, and bytes that neither `ldmatrix` nor `wgmma` reads. If several warps
    /// issue copies, this is for the one with the smallest part of its bytes in flight.
    pub in_flight: [u64; 2],
    /// How often the block issued a copy when no other was in flight, after the first time.
    pub restarts: u64,
    /// [`Self::in_flight`] without the copies that fill the pipeline after each of these restarts, and those that drain it before.
    pub between_restarts: [u64; 2],
    /// All bytes that the block copied and that `ldmatrix` or `wgmma` read.
    pub bytes: u64,
    /// How often the warp itself issued copies that another warp waited for.
    pub copies_for_others: u64,
    /// How often it issued copies.
    pub copies: u64,
    /// How often the warp waited at a barrier of several warps, in the whole launch.
    pub barriers: u64,
    /// How often it waited for a phase of an mbarrier that other warps complete: in which no copy landed; in which a warp that
    /// multiplies, and had not issued the copies, arrived or completed bytes; or after which it knew that another warp has multiplied as many steps.
    pub waits_for_warps: u64,
}

impl CopyLead {
    /// How many of the block's bytes are in flight together, on average, seen from the middle of each of the issuing warp's copies that
    /// follow a wait. If the pipeline restarts at most so often, as it may for each further tile of C, copies that fill and drain it do not
    /// count. Infinite if there are none for which a wait is known before another copy is issued.
    pub fn bytes_in_flight(&self, restarts: u64) -> f64 {
        let counted = match self.restarts <= restarts {
            true => self.between_restarts,
            false => self.in_flight,
        };
        match counted {
            [_, 0] => f64::INFINITY,
            [sum, count] => sum as f64 / count as f64,
        }
    }
}
