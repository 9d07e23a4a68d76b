//! What a kernel may do and must do, measured by its effects and not by its instructions: the bytes that move from one
//! memory to another, and the products that are computed.
//!
//! Together the bounds leave one way. If nothing may be loaded from global memory to registers, and from shared memory
//! only by `ldmatrix`, then operands must arrive by asynchronous copies and `ldmatrix`. Products are bounded from below
//! and from above, so none are computed in addition to those that count.
use emulator::{
    Counters, FactorFormat, Instruction, InstructionKind, MatrixProduct, Number, Space,
};
use harness::{Launched, Size, thousands};
use serde::Deserialize;

use super::judge::Judged;
use super::launches::LaunchResults;
use super::mechanism::stores_globally;
use super::plan::{Class, PlannedLaunch};
use super::rubric::AssignmentKind;
use super::{dead, own_slots, quote, shared_values, stored_as_f16};

/// Bounds on one effect, for each launch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub of: Effect,
    pub per: Per,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    /// Allowed beyond `at_most`, since C may be stored there, too: in units of [`Per::Result`]. Ignored where `per` is `result`.
    #[serde(default)]
    pub and_results: f64,
    pub hint: String,
}

/// An effect of instructions.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Bytes loaded from global memory to registers, by any instruction.
    GlobalToRegisters,
    /// Bytes stored from registers to global memory.
    RegistersToGlobal,
    /// Bytes copied by `cp.async`.
    AsyncCopies,
    /// Bytes of tiles that TMA copies to or from shared memory.
    TensorCopies,
    /// How many of them to shared memory are issued.
    TensorCopyCount,
    /// Bytes that arrive in shared memory by bulk copies without a tensor map, from global or from shared memory.
    NonTensorBulkCopies,
    /// Bytes that bulk copies store in global memory, tiles included.
    BulkStores,
    /// Bytes loaded from shared memory to registers, except by `ldmatrix`. `wmma.load` counts: it computes the lanes' addresses.
    SharedToRegisters,
    /// The sum of [`Effect::SharedToRegisters`] and [`Effect::MatrixLoads`].
    SharedLoads,
    /// Bytes loaded by `ldmatrix`.
    MatrixLoads,
    /// Bytes stored from registers to shared memory.
    RegistersToShared,
    /// Bytes loaded from and stored to local memory.
    LocalBytes,
    /// Atomics, counted per thread.
    Atomics,
    /// Volatile loads and loads with a memory order, counted per warp: with these, warps wait for other warps.
    OrderedLoads,
    /// Arrivals at mbarriers that order nothing: `.relaxed` ones, and `mbarrier.complete_tx`, counted per warp, less the fences.
    RelaxedArrivals,
    /// `nanosleep`, counted per warp.
    Sleeps,
    /// Reads of a clock or timer, counted per warp. The wait of a `cuda::barrier` reads one.
    ClockReads,
    /// Bytes exchanged between lanes: shuffles, votes, matches.
    Exchanges,
    /// The same without `movmatrix`, which transposes what `ldmatrix` has loaded.
    Shuffles,
    /// Tensor-core products of f16.
    TensorProducts,
    /// Instructions `wgmma`, each counted once for its warpgroup.
    Wgmmas,
    /// Tensor-core products of other formats.
    OtherTensorProducts,
    /// Tensor-core products by `mma.sync`, of any format.
    SynchronousProducts,
    /// Floating-point instructions in f64, counted per thread.
    DoubleArithmetic,
    /// Floating-point instructions, counted per thread, including conversions. A multiplication and an addition count as one
    /// together, since kernels are compiled without contraction to `fma`.
    FloatArithmetic,
    /// Integer instructions, counted per thread, including address arithmetic.
    IntegerArithmetic,
}

/// The unit of a bound.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Bytes of the tiles of A and B over all steps along K; for a transposition, of the input tiles.
    Operands,
    /// Bytes of the tiles of C.
    Result,
    /// Products of the problem.
    Product,
    /// Tiles of C.
    Tile,
}

impl Effect {
    fn is_arithmetic(self) -> bool {
        matches!(
            self,
            Self::DoubleArithmetic | Self::FloatArithmetic | Self::IntegerArithmetic
        )
    }

    /// Whether these are bytes loaded from shared memory or stored there.
    pub fn is_shared(self) -> bool {
        matches!(
            self,
            Self::SharedToRegisters
                | Self::SharedLoads
                | Self::MatrixLoads
                | Self::RegistersToShared
        )
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::GlobalToRegisters => "bytes from global memory into registers",
            Self::RegistersToGlobal => "bytes from registers to global memory",
            Self::AsyncCopies => "bytes by cp.async",
            Self::TensorCopies => "bytes by TMA",
            Self::TensorCopyCount => "copies to shared memory by TMA",
            Self::NonTensorBulkCopies => "bytes copied by cp.async.bulk without a tensor map",
            Self::BulkStores => "bytes stored by TMA",
            Self::SharedToRegisters => "bytes from shared memory by ordinary loads",
            Self::SharedLoads => "bytes from shared memory into registers",
            Self::MatrixLoads => "bytes by ldmatrix or wmma.load",
            Self::RegistersToShared => "bytes from registers to shared memory",
            Self::LocalBytes => "bytes to and from local memory",
            Self::Atomics => "atomics of threads",
            Self::OrderedLoads => "volatile or ordered loads of warps",
            Self::RelaxedArrivals => "relaxed arrivals of warps at mbarriers",
            Self::Sleeps => "sleeps of warps",
            Self::ClockReads => "reads of a clock by warps",
            Self::Exchanges => "bytes exchanged between lanes",
            Self::Shuffles => "bytes exchanged between lanes by shuffles",
            Self::TensorProducts => "products of f16 by tensor cores",
            Self::Wgmmas => "wgmma instructions",
            Self::OtherTensorProducts => "products of other formats by tensor cores",
            Self::SynchronousProducts => "products by mma.sync",
            Self::DoubleArithmetic => "f64 instructions of threads",
            Self::FloatArithmetic => {
                "floating-point instructions of threads (a multiplication and an addition count as one)"
            }
            Self::IntegerArithmetic => "integer instructions of threads",
        }
    }

    /// How much of the effect an instruction had.
    pub fn done(self, instruction: &Instruction, counters: &Counters) -> f64 {
        use InstructionKind as Kind;
        let of = |is_it: bool, amount: f64| if is_it { amount } else { 0.0 };
        let kind = &instruction.kind;
        let (bytes, threads) = (counters.bytes as f64, counters.threads as f64);
        let global = counters.global_sectors > 0;
        let shared = counters.shared.wavefronts > 0;
        let loads = match kind {
            Kind::Load(load) => !matches!(load.space, Space::Param | Space::Const | Space::Local),
            Kind::Atomic { .. } => true,
            _ => false,
        };
        let stores = matches!(
            kind,
            Kind::Store(_) | Kind::StoreMatrix { .. } | Kind::Atomic { .. }
        );
        let products = |product: &MatrixProduct| {
            let warps = if matches!(kind, Kind::Wgmma(_)) {
                4.0
            } else {
                1.0
            };
            // If the guard is false, no lane takes part.
            let executions = counters.executions.min(counters.threads) as f64;
            product.flop() as f64 / 2.0 * executions / warps
        };
        match self {
            Self::GlobalToRegisters => {
                let matrix = matches!(kind, Kind::LoadMatrix { .. });
                of((loads || matrix) && global, bytes)
            }
            Self::RegistersToGlobal => of(stores && global, bytes),
            // Counted for both memories.
            Self::AsyncCopies => of(matches!(kind, Kind::AsyncCopy { .. }), bytes / 2.0),
            Self::TensorCopies => of(matches!(kind, Kind::BulkCopy { tensor: true }), bytes),
            Self::TensorCopyCount => of(
                matches!(kind, Kind::BulkCopy { tensor: true }) && !stores_globally(instruction),
                threads,
            ),
            Self::NonTensorBulkCopies => of(
                matches!(kind, Kind::BulkCopy { tensor: false }) && !stores_globally(instruction),
                bytes,
            ),
            Self::BulkStores => of(
                matches!(kind, Kind::BulkCopy { .. }) && stores_globally(instruction),
                bytes,
            ),
            Self::SharedToRegisters => of(
                (loads || instruction.opcode.starts_with("wmma.load")) && shared,
                bytes,
            ),
            Self::SharedLoads => {
                let matrix = matches!(kind, Kind::LoadMatrix { .. });
                of((loads || matrix) && shared, bytes)
            }
            Self::MatrixLoads => of(matches!(kind, Kind::LoadMatrix { .. }), bytes),
            // `st.async` and `red.async`, which the profiler counts no wavefronts for, store in shared memory of the cluster.
            Self::RegistersToShared => {
                let to_cluster = match kind {
                    Kind::Store(to) => to.space == Space::Cluster,
                    Kind::Atomic { space, .. } => *space == Space::Cluster,
                    _ => false,
                };
                of(stores && (shared || to_cluster), bytes)
            }
            Self::LocalBytes => match kind {
                Kind::Load(access) | Kind::Store(access) if access.space == Space::Local => {
                    f64::from(access.bytes * access.elements) * threads
                }
                _ => 0.0,
            },
            Self::Atomics => of(matches!(kind, Kind::Atomic { .. }), threads),
            Self::OrderedLoads => of(
                matches!(kind, Kind::Load(load) if load.ordered),
                counters.executions as f64,
            ),
            Self::RelaxedArrivals => {
                let opcode = &instruction.opcode;
                let arrives = opcode.starts_with("mbarrier.arrive") && opcode.contains(".relaxed");
                let executions = counters.executions as f64;
                // A fence before a relaxed arrival makes it order. Which fence belongs to which arrival is not known, so each execution of a
                // fence offsets one.
                let is_fence = ["fence.acq_rel", "fence.sc", "membar"]
                    .iter()
                    .any(|fence| opcode.starts_with(fence));
                match is_fence {
                    true => -executions,
                    false => of(
                        arrives || opcode.starts_with("mbarrier.complete_tx"),
                        executions,
                    ),
                }
            }
            Self::Sleeps => of(
                instruction.opcode.starts_with("nanosleep"),
                counters.executions as f64,
            ),
            Self::ClockReads => of(reads_clock(instruction), counters.executions as f64),
            Self::Exchanges => of(matches!(kind, Kind::Shuffle | Kind::Vote), 4.0 * threads),
            Self::Shuffles => match instruction.opcode.starts_with("movmatrix") {
                true => 0.0,
                false => Self::Exchanges.done(instruction, counters),
            },
            Self::TensorProducts => match kind {
                Kind::Mma(of) | Kind::Wgmma(of) if of.factors == FactorFormat::F16 => products(of),
                _ => 0.0,
            },
            Self::Wgmmas => of(
                matches!(kind, Kind::Wgmma(_)),
                counters.executions as f64 / 4.0,
            ),
            Self::OtherTensorProducts => match kind {
                Kind::Mma(of) | Kind::Wgmma(of) if of.factors != FactorFormat::F16 => products(of),
                _ => 0.0,
            },
            Self::SynchronousProducts => match kind {
                Kind::Mma(of) => products(of),
                _ => 0.0,
            },
            Self::DoubleArithmetic => of(
                matches!(
                    kind,
                    Kind::Arithmetic {
                        number: Number::F64,
                        ..
                    }
                ),
                threads,
            ),
            Self::FloatArithmetic => of(is_float(kind), float_instructions(instruction) * threads),
            Self::IntegerArithmetic => of(
                matches!(
                    kind,
                    Kind::Arithmetic {
                        number: Number::Integer,
                        ..
                    }
                ),
                threads,
            ),
        }
    }
}

fn reads_clock(instruction: &Instruction) -> bool {
    ["%clock", "%globaltimer"].map(|clock| instruction.text.contains(clock)) != [false, false]
}

/// What a floating-point instruction counts as.
fn float_instructions(instruction: &Instruction) -> f64 {
    match instruction.opcode.split('.').next() {
        Some("mul" | "add" | "sub") => 0.5,
        _ => 1.0,
    }
}

fn is_float(kind: &InstructionKind) -> bool {
    match kind {
        InstructionKind::Approximate { .. } => true,
        InstructionKind::Arithmetic { number, .. } => {
            matches!(number, Number::Half | Number::F32 | Number::F64)
        }
        _ => false,
    }
}

/// The size of the unit in a launch. Blocks of a cluster that have no tile of C may compute as much as the others.
pub fn unit(per: Per, all: &LaunchResults, launch: &PlannedLaunch) -> f64 {
    let tile = all.rubric.tile[launch.tile];
    let [rows, columns, steps] = launch.tiles(all.rubric);
    let rows = rows.next_multiple_of(all.trial(launch).cluster().into());
    let [rows, columns, steps] = [rows, columns, steps].map(|tiles| tiles as f64);
    let [m, n, k] = [tile.m, tile.n, tile.k].map(f64::from);
    let tiles = rows * columns;
    match (per, all.rubric.task) {
        (Per::Tile, _) => tiles,
        (Per::Operands, AssignmentKind::Gemm) => tiles * steps * 2.0 * (m + n) * k,
        (Per::Product, AssignmentKind::Gemm) => tiles * steps * m * n * k,
        (Per::Result, _) | (_, AssignmentKind::Transpose | AssignmentKind::Predict) => {
            tiles * 2.0 * m * n
        }
    }
}

/// The size of the unit for a lower bound: the tensor cores need not compute products with zeros beyond the edges of the matrices.
fn least_unit(budget: &Budget, all: &LaunchResults, launch: &PlannedLaunch) -> f64 {
    let Size { m, n, k } = launch.on.size;
    match (budget.of, budget.per) {
        (Effect::TensorProducts, Per::Product) => [m, n, k].map(f64::from).iter().product(),
        _ => unit(budget.per, all, launch),
    }
}

/// Adds what is over or under its bounds, per launch. For arithmetic, per assignment part: small launches are mostly
/// prologue.
pub fn judge<'a>(all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for budget in all.part.budget.iter().chain(&all.rubric.budget) {
        // Launches of many tiles, with at most five steps, are mostly prologue, too.
        let is_it = |launch: &PlannedLaunch| {
            !budget.of.is_arithmetic() || !matches!(launch.class, Class::Many(_))
        };
        let right = all
            .done
            .iter()
            .filter(|(launch, one)| one.verification.ok() && is_it(launch));
        let each = right.map(|(launch, one)| Spent::of(budget, all, launch, one));
        let mut each: Vec<Spent> = each.collect();
        if budget.of.is_arithmetic() {
            let sums = |of: fn(&Spent) -> f64| each.iter().map(of).sum::<f64>();
            let (total, unit) = (sums(|one| one.total), sums(|one| one.unit));
            each.truncate(1);
            each.iter_mut()
                .for_each(|one| (one.total, one.unit) = (total, unit));
        }
        let Some((spent, what)) = each.iter().find_map(|one| Some((one, one.missed(budget)?)))
        else {
            // Only a kernel that has no other fault is launched again for this.
            if judged.credit > 0.0
                && all.sound()
                && let Some((launch, what)) = shared_values::missed(budget, all)
                    .or_else(|| dead::missed(budget, all))
                    .or_else(|| own_slots::missed(budget, all))
                    .or_else(|| stored_as_f16::missed(budget, all))
            {
                judged.credit = 0.0;
                judged.complain(all, launch, &what, &budget.hint, "another-way");
            }
            continue;
        };
        let at = match budget
            .at_most
            .is_some_and(|most| spent.total > most * spent.unit + spent.more)
        {
            true => spent.worst.map(|worst| at(all, spent.launch, worst)),
            false => None,
        };
        judged.credit = 0.0;
        let what = what + &at.unwrap_or_default();
        judged.complain(all, spent.launch, &what, &budget.hint, "another-way");
    }
}

/// How much of an effect a launch had.
struct Spent<'a, 'b> {
    launch: &'a PlannedLaunch,
    total: f64,
    unit: f64,
    least_unit: f64,
    /// What is allowed beyond.
    more: f64,
    /// The instruction with the largest share.
    worst: Option<&'b Instruction>,
}

impl<'a, 'b> Spent<'a, 'b> {
    fn of(
        budget: &Budget,
        all: &'b LaunchResults<'a>,
        launch: &'a PlannedLaunch,
        one: &Launched,
    ) -> Self {
        let counted = all.trial(launch).instructions().iter();
        let counted = counted.zip(&one.run.counters);
        let each: Vec<_> = counted
            .map(|(of, counters)| (budget.of.done(of, counters), of))
            .collect();
        let worst = each.iter().max_by(|(a, _), (b, _)| a.total_cmp(b));
        Self {
            launch,
            total: each.iter().map(|(amount, _)| amount).sum(),
            unit: unit(budget.per, all, launch),
            least_unit: least_unit(budget, all, launch),
            more: match (budget.of, budget.per) {
                (Effect::SharedToRegisters | Effect::RegistersToShared, Per::Result) => {
                    all.bytes_of_sums(launch) as f64
                }
                _ => budget.and_results * unit(Per::Result, all, launch),
            },
            worst: worst.map(|(_, of)| *of),
        }
    }

    /// The message for an effect out of bounds.
    fn missed(&self, budget: &Budget) -> Option<String> {
        let (total, unit, name) = (self.total, self.unit, budget.of.words());
        let whole = |number: f64| thousands(number.round() as u64);
        let most = budget.at_most.map(|most| most * unit + self.more);
        let least = budget.at_least.map(|least| least * self.least_unit);
        match (most, least) {
            (Some(most), _) if total > most * 1.000_001 => {
                let (total, most) = (whole(total), whole(most));
                Some(format!("{total} {name}, at most {most} are allowed"))
            }
            (_, Some(least)) if total < least * 0.999_999 => {
                let (total, least) = (whole(total), whole(least));
                Some(format!("{total} {name}, at least {least} are needed"))
            }
            _ => None,
        }
    }
}

/// The instruction and line with the largest share.
pub fn at(all: &LaunchResults, launch: &PlannedLaunch, instruction: &Instruction) -> String {
    let quoted = quote::line(all.trial(launch).source(), instruction);
    let quoted = quoted.map_or(String::new(), |quoted| format!(" in {quoted}"));
    format!("\n  most of them by {}{quoted}", instruction.opcode)
}
