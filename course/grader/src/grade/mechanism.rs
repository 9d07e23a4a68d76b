//! Whether C is right for the right reason: memory traffic, tensor-core products, bytes of shared memory.
use std::collections::BTreeMap;

use emulator::{AccessPattern, Counters, Instruction, InstructionKind, Transfer};
use harness::{Launched, lines, thousands};

use super::budget::{Budget, Effect, Per};
use super::conflict::{self, Conflict};
use super::gap::{self, Gap};
use super::judge::Judged;
use super::launches::LaunchResults;
use super::plan::PlannedLaunch;
use super::rubric::{AssignmentKind, Measure, TileVariant, What};
use super::turns::Turns;
use super::{Complaint, budget, clock, feeds, pipeline, quote, sectors, turns};

/// The most lines in a complaint; further lines usually have the same mistake.
const SHOWN: usize = 4;

/// Bytes of an element, of a sector, and of a wavefront that uses all banks.
const ELEMENT: u64 = 2;
const SECTOR: u64 = 32;
const WAVEFRONT: u64 = 128;

/// Of a warp.
const LANES: u64 = 32;

/// Row lengths that are a multiple of this many elements start every row at a sector boundary.
const ROW: u32 = (SECTOR / ELEMENT) as u32;

/// The fraction of the points, reasons, and complaints. For a launch with a wrong C only the cost of its instructions
/// is judged, because the kernel may have ended early.
pub fn judge<'a>(all: &LaunchResults<'a>) -> Judged<'a> {
    let mut judged = Judged::new();
    budget::judge(all, &mut judged);
    // Conflicts explain excess wavefronts, so they are reported first.
    let is_conflicts = |measure: &&Measure| measure.what == What::SharedWavefronts;
    let measures = all.part.measure.iter().chain(&all.rubric.measure);
    let (conflicts, others): (Vec<_>, Vec<_>) = measures.partition(is_conflicts);
    let (mut has_conflicts, mut has_excess_sectors) = (false, false);
    for measure in conflicts.into_iter().chain(others) {
        if has_conflicts
            && matches!(
                measure.what,
                What::SharedTraffic | What::OperandTraffic | What::OperandTrafficByHand
            )
        {
            // The reason has been reported.
            judged.has_complained();
        }
        if has_excess_sectors && measure.what == What::LoadsPerSector {
            judged.has_complained();
        }
        match measure.what {
            What::SharedWavefronts => {
                by_instruction(measure, all, &mut judged);
                in_turns(measure, all, &mut judged);
            }
            What::GlobalLoads | What::GlobalStores | What::SharedTraffic => {
                traffic(measure, all, &mut judged);
            }
            What::OperandTraffic | What::OperandTrafficByHand => {
                operand_traffic(measure, all, &mut judged);
            }
            What::TensorProducts => tensor_products(measure, all, &mut judged),
            What::CopiesAhead => pipeline::copies_ahead(measure, all, &mut judged),
            What::LoadsPerSector => sectors::loads_per_sector(measure, all, &mut judged),
            What::BlockBarriers | What::BarriersPerStep => {
                pipeline::block_barriers(measure, all, &mut judged)
            }
            What::MultiplyingProducers => {
                pipeline::multiplying_producers(measure, all, &mut judged);
            }
            What::MultiplyingWarps => pipeline::multiplying_warps(measure, all, &mut judged),
            What::PersistentBlocks => pipeline::persistent_blocks(measure, all, &mut judged),
            What::BoxBytes => pipeline::box_bytes(measure, all, &mut judged),
            What::PredictedClocks => clock::predicted_clocks(measure, all, &mut judged),
        }
        let complained = judged.next();
        has_conflicts |= complained && measure.what == What::SharedWavefronts;
        has_excess_sectors |= complained && measure.what == What::GlobalLoads;
    }
    shared_bytes(all, &mut judged);
    judged
}

/// Bytes of an mbarrier, and how many of a block are not counted: a way to wait costs no room for tiles, and too many would be
/// padding.
const MBARRIER: u64 = 8;
const FREE_MBARRIERS: u32 = 16;
/// The counter of threads that a `cuda::pipeline` of a block has beside its mbarriers, with padding.
const PIPELINE_STATE: u64 = 8;

/// Whether each tile's block keeps within its bytes; says how many the first has.
fn shared_bytes<'a>(all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for (index, (launch, one)) in all.done.iter().enumerate() {
        let barriers = MBARRIER * u64::from(one.run.mbarriers.min(FREE_MBARRIERS));
        let bytes = all.trial(launch).shared_bytes().saturating_sub(barriers);
        let tile = all.rubric.tile[launch.tile];
        let allowed = tile.shared_bytes;
        // Where no shared memory is allowed, no pipeline has anything to copy to; mbarriers are free as everywhere.
        let state = if barriers > 0 && allowed > 0 {
            PIPELINE_STATE
        } else {
            0
        };
        let bytes = match bytes <= allowed + state {
            true => bytes.min(allowed),
            false => bytes,
        };
        // A launch that a fault has ended may not have initialized its mbarriers, which then count as other bytes.
        if one.run.findings.iter().any(emulator::Finding::is_fatal) {
            continue;
        }
        if index == 0 {
            let beside = if barriers > 0 {
                " beside mbarriers"
            } else {
                ""
            };
            judged.why.push(format!(
                "{} bytes of shared memory{beside}, {} are allowed",
                thousands(bytes),
                thousands(allowed)
            ));
        }
        if bytes > allowed {
            let block = match launch.tile {
                0 => "a block".into(),
                number => format!("with tile {} ({}), a block", number + 1, tile.name()),
            };
            // A kernel's declaration is not secret, whichever launch it is.
            let what = format!(
                "{block} has {} bytes of shared memory, {} more than allowed",
                thousands(bytes),
                thousands(bytes - allowed)
            );
            let hint = "what are the extra bytes for, and are they needed?";
            judged.credit = 0.0;
            // It costs all of the points, so it comes first.
            let complaint = Complaint::new(what, hint, "over-padding");
            judged.complaints.insert(0, complaint);
            return;
        }
    }
}

/// The worst ratio of wavefronts to their minimum of any instruction.
fn by_instruction<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for (launch, one) in all.done.iter() {
        let quotients = one.run.counters.iter().map(|counters| {
            let shared = counters.shared;
            shared.wavefronts as f64 / shared.ideal.max(1) as f64
        });
        let degree = quotients.fold(1.0, f64::max);
        let words =
            format!("the worst access takes {degree:.2} times the ideal number of wavefronts");
        by_measure(measure, all, launch, (degree, words), judged);
    }
}

/// Lanes that take turns cost what conflicts between them would cost.
fn in_turns<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for (launch, one) in all.done.iter() {
        let Some(Turns { times, words }) = turns::worst(all, launch, one) else {
            continue;
        };
        let credit = measure.credit(times);
        if credit < 1.0 && !judged.has_complained() {
            judged.complain(all, launch, &words, turns::HINT, "shared-traffic");
        }
        let words = format!("where lanes take turns, {times:.2} times the necessary wavefronts");
        judged.note(credit, times, words, launch);
    }
}

/// All sectors or wavefronts of a launch, relative to those that its tiles fill.
fn traffic<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for (launch, one) in all.done.iter() {
        let padded = one.problem.padded;
        let is_whole = padded.n.is_multiple_of(ROW) && padded.k.is_multiple_of(ROW);
        let is_gemm = all.rubric.task == AssignmentKind::Gemm;
        if is_gemm && measure.what != What::SharedTraffic && !is_whole {
            // Rows begin within a sector, so every kernel has to load the rest of it.
            continue;
        }
        let TileVariant {
            m,
            n,
            k,
            global_loads,
            shared_traffic,
            ..
        } = all.rubric.tile[launch.tile];
        let [m, n, k] = [m, n, k].map(u64::from);
        let [rows, columns, steps] = launch.tiles(all.rubric);
        let (operands, result) = match all.rubric.task {
            AssignmentKind::Gemm => (steps * (m * k + k * n), m * n),
            AssignmentKind::Transpose | AssignmentKind::Predict => (m * n, m * n),
        };
        let counted = all
            .trial(launch)
            .instructions()
            .iter()
            .zip(&one.run.counters);
        let sectors = |stored: bool| -> u64 {
            let of = counted
                .clone()
                .filter(|(of, _)| stores_globally(of) == stored);
            of.map(|(_, counters)| counters.global_sectors * SECTOR)
                .sum()
        };
        let wavefronts = counted
            .clone()
            .map(|(_, of)| of.shared.wavefronts * WAVEFRONT);
        let (done, elements, unit, words) = match measure.what {
            What::GlobalStores => (
                sectors(true),
                result,
                1.0,
                match all.rubric.task {
                    AssignmentKind::Transpose => "the sectors of out's tiles are stored",
                    AssignmentKind::Gemm | AssignmentKind::Predict => {
                        "the sectors of C's tiles are stored"
                    }
                },
            ),
            What::GlobalLoads => (
                sectors(false),
                operands,
                global_loads,
                "the necessary sectors are loaded",
            ),
            _ => (
                wavefronts.sum(),
                match all.rubric.task {
                    AssignmentKind::Gemm => operands,
                    AssignmentKind::Transpose | AssignmentKind::Predict => operands + result,
                },
                shared_traffic,
                "the necessary wavefronts are taken by all accesses to shared memory",
            ),
        };
        let ideal = (rows * columns * elements * ELEMENT) as f64 * unit;
        let ideal = ideal + through_shared(measure, all, launch, one);
        let times = done as f64 / ideal.max(1.0);
        by_measure(
            measure,
            all,
            launch,
            (times, format!("{times:.2} times {words}")),
            judged,
        );
    }
}

/// Bytes of C that a product stores in shared memory, as far as a budget allows, and loads from there.
fn through_shared(
    measure: &Measure,
    all: &LaunchResults,
    launch: &PlannedLaunch,
    one: &Launched,
) -> f64 {
    let is_it =
        |budget: &&Budget| budget.of == Effect::RegistersToShared && budget.and_results > 0.0;
    let budget = all.rubric.budget.iter().find(is_it);
    let Some(budget) = budget.filter(|_| measure.what == What::SharedTraffic) else {
        return 0.0;
    };
    let counted = all
        .trial(launch)
        .instructions()
        .iter()
        .zip(&one.run.counters);
    let stored: f64 = counted
        .map(|(of, counters)| budget.of.done(of, counters))
        .sum();
    let unit = |per| budget::unit(per, all, launch);
    let beside = stored - budget.at_least.unwrap_or(0.0) * unit(budget.per);
    2.0 * beside.clamp(0.0, budget.and_results * unit(Per::Result))
}

/// Complains about the lines that cost more than necessary, or about the launch if there are none.
fn by_measure<'a>(
    measure: &Measure,
    all: &LaunchResults<'a>,
    launch: &'a PlannedLaunch,
    (number, words): (f64, String),
    judged: &mut Judged<'a>,
) {
    let credit = measure.credit(number);
    if credit < 1.0 && !launch.closed && !judged.has_complained() {
        let mistake = match measure.what {
            What::SharedWavefronts
            | What::SharedTraffic
            | What::OperandTraffic
            | What::OperandTrafficByHand => "shared-traffic",
            _ => "uncoalesced",
        };
        let one = all.done.iter().find(|(other, _)| *other == launch);
        let lines = one.map(|(_, one)| by_line(measure, all, launch, one));
        let lines = lines.unwrap_or_default();
        if measure.what != What::SharedWavefronts || lines.is_empty() {
            judged.complain(all, launch, &words, &measure.hint, mistake);
        }
        // Which launch it was matters where it is not the one that a profile shows.
        let label = (launch.tile > 0).then(|| all.label(launch));
        let lines = lines.into_iter().map(|line| match &label {
            Some(label) => Complaint {
                what: format!("{label}, {}", line.what),
                ..line
            },
            None => line,
        });
        judged.complaints.extend(lines);
    } else if credit < 1.0 && launch.closed {
        return judged.measured(measure, all, launch, (number, words), "uncoalesced");
    }
    judged.note(credit, number, words, launch);
}

/// Whether the instruction writes to global memory, given that it accesses it.
pub fn stores_globally(instruction: &Instruction) -> bool {
    match instruction.kind {
        InstructionKind::Atomic { .. } => true,
        // The destination's state space comes first.
        InstructionKind::BulkCopy { .. } => {
            let mut words = instruction.opcode.split('.');
            words.find(|word| *word == "global" || word.starts_with("shared")) == Some("global")
        }
        _ => instruction.kind.is_store(),
    }
}

/// The cost of a line, and its worst access.
#[derive(Default)]
struct LineCost<'a> {
    done: u64,
    ideal: u64,
    opcode: &'a str,
    /// How many instructions the line has.
    instructions: u64,
    /// The line's text.
    quoted: Option<String>,
    conflict: Option<Conflict>,
    gap: Option<Gap>,
}

fn by_line(
    measure: &Measure,
    all: &LaunchResults,
    launch: &PlannedLaunch,
    one: &Launched,
) -> Vec<Complaint> {
    let is_global = matches!(measure.what, What::GlobalLoads | What::GlobalStores);
    let trial = all.trial(launch);
    // By line, and by the line of the function that it calls.
    let mut found = BTreeMap::<(u32, Option<u32>), LineCost>::new();
    let counted = trial.instructions().iter().zip(&one.run.counters);
    for (index, (instruction, counters)) in counted.enumerate() {
        let stored = measure.what == What::GlobalStores;
        if is_global && stored != stores_globally(instruction) {
            continue;
        }
        let (done, ideal) = done_and_ideal(is_global, counters);
        if done <= ideal {
            continue;
        }
        let is_it = |asked: &&AccessPattern| asked.instruction == index;
        let patterns = || one.run.patterns.iter().filter(is_it);
        let line = lines::line_of(trial.source(), instruction).unwrap_or_default();
        let inner = quote::innermost(trial.source(), instruction);
        let cost = found.entry((line, inner)).or_insert_with(|| LineCost {
            opcode: &instruction.opcode,
            quoted: quote::line(trial.source(), instruction),
            ..LineCost::default()
        });
        cost.done += done;
        cost.ideal += ideal;
        cost.instructions += 1;
        let conflict = || conflict::worst(patterns(), &instruction.opcode);
        cost.conflict = cost.conflict.take().or_else(conflict);
        cost.gap = cost.gap.take().or_else(|| gap::worst(patterns()));
    }
    let shown = found.into_iter().take(SHOWN);
    let complaints = shown.map(|((line, _), cost)| at_line(measure, is_global, line, cost));
    complaints.collect()
}

/// The cost of an instruction, and its minimum.
fn done_and_ideal(is_global: bool, counters: &Counters) -> (u64, u64) {
    match is_global {
        true => (counters.global_sectors, counters.global_sectors_ideal),
        false => (counters.shared.wavefronts, counters.shared.ideal),
    }
}

/// Vector types of CUDA C++ that a store may have.
const VECTORS: [&str; 9] = [
    "char4",
    "short2",
    "short4",
    "int2",
    "int4",
    "float2",
    "float4",
    "longlong2",
    "double2",
];

fn at_line(measure: &Measure, is_global: bool, line: u32, cost: LineCost) -> Complaint {
    let opcode = cost.opcode;
    let of_vector = |text: &String| VECTORS.iter().any(|vector| text.contains(vector));
    let is_split = cost.instructions > 1
        && opcode.starts_with("st.")
        && !opcode.contains(".v")
        && cost.quoted.as_ref().is_some_and(of_vector);
    let what = if is_global { "sectors" } else { "wavefronts" };
    let mut words = format!(
        "{}\n  {opcode}: {} {what}, {} would suffice",
        cost.quoted.unwrap_or_else(|| match line {
            0 => "in code that is not the kernel's".into(),
            line => format!("line {line}"),
        }),
        thousands(cost.done),
        thousands(cost.ideal)
    );
    if let Some((one, other, bank)) = cost.conflict.as_ref().and_then(|found| found.lanes) {
        words += &format!(
            "\n  lanes {one} and {other} are served together and access different words of bank {bank}"
        );
    }
    if let (true, Some(gap)) = (is_global, &cost.gap) {
        words += &format!("\n  {gap}");
    }
    if is_global && is_split {
        words += &format!(
            "\n  the compiler makes {} stores of this line: `__stcs`, or `st.global.v4` in inline PTX, keeps a vector whole",
            cost.instructions
        );
    }
    let mistake = match opcode.split('.').next() {
        _ if is_global => "uncoalesced",
        Some("ldmatrix") => "conflicts-on-ldmatrix",
        Some("ld") => "conflicts-on-loads",
        _ => "conflicts-on-stores",
    };
    Complaint {
        player: cost.conflict.map(|found| found.player),
        line: Some(line),
        ..Complaint::new(words, &measure.hint, mistake)
    }
}

/// The line whose loads take the most wavefronts beyond those that the same bytes would fill if all lanes loaded at once; if there is
/// none, the line with the most wavefronts.
fn most_wavefronts(all: &LaunchResults, launch: &PlannedLaunch, one: &Launched) -> Option<String> {
    let source = all.trial(launch).source();
    let instructions = all.trial(launch).instructions();
    let mut lines = BTreeMap::new();
    for (of, counters) in instructions.iter().zip(&one.run.counters) {
        let wavefronts = counters.shared.wavefronts;
        if of.kind.is_load() && wavefronts > 0 {
            let line = lines
                .entry(quote::innermost(source, of))
                .or_insert((0, 0, of));
            line.0 += wavefronts.saturating_sub(counters.bytes.div_ceil(filled(of)));
            line.1 += wavefronts;
        }
    }
    let (.., most) = lines
        .into_values()
        .max_by_key(|(too_many, wavefronts, _)| (*too_many, *wavefronts))?;
    Some(budget::at(all, launch, most))
}

/// Bytes of a wavefront that a whole warp's load fills; as many for 8 bits per lane as for 16, so that narrower loads cost more.
fn filled(load: &Instruction) -> u64 {
    match load.kind {
        InstructionKind::Load(Transfer {
            bytes, elements, ..
        }) => (LANES * u64::from(bytes * elements)).clamp(LANES * ELEMENT, WAVEFRONT),
        _ => WAVEFRONT,
    }
}

/// Wavefronts of shared loads, relative to those that hold the multiplied elements and C's tiles. By hand, elements of B
/// need twice as many: the two of a register are in two rows. The elements that a step multiplies are known from launches whose
/// inputs identify elements, and are the same in every launch with this tile.
fn operand_traffic<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    let right = all.done.iter().filter(|(_, one)| one.verification.ok());
    let telling = right.clone().filter(|(_, one)| !one.run.factors.is_empty());
    let by_hand = measure.what == What::OperandTrafficByHand;
    let of_a_step = telling.map(|(launch, _)| {
        let steps: u64 = launch.tiles(all.rubric).iter().product();
        let needed = all.coverage(launch);
        let bytes = match by_hand {
            true => needed.by_hand.iter().sum(),
            false => needed.operand_bytes,
        };
        let of_a_step = |bytes: u64| bytes / steps.max(1);
        (
            launch.tile,
            (of_a_step(bytes), needed.by_hand.map(of_a_step)),
        )
    });
    let of_a_step: BTreeMap<_, _> = of_a_step.collect();
    for (launch, one) in right {
        let Some((of_a_step, by_operand)) = of_a_step.get(&launch.tile) else {
            continue;
        };
        let tile = all.rubric.tile[launch.tile];
        let [rows, columns, steps] = launch.tiles(all.rubric);
        let result = rows * columns * u64::from(tile.m * tile.n) * ELEMENT;
        let counted = all
            .trial(launch)
            .instructions()
            .iter()
            .zip(&one.run.counters);
        let staged = counted
            .clone()
            .filter(|(of, counters)| of.kind.is_store() && counters.shared.wavefronts > 0);
        let staged: u64 = staged.map(|(_, counters)| counters.bytes).sum();
        let needed =
            rows * columns * steps * of_a_step + staged.min(result + all.bytes_of_sums(launch));
        let loads = counted.filter(|(of, _)| of.kind.is_load());
        let wavefronts: u64 = loads.map(|(_, counters)| counters.shared.wavefronts).sum();
        // A warp may read the number of each tile from shared memory.
        let numbers = rows * columns * all.trial(launch).warps();
        let wavefronts = wavefronts.saturating_sub(numbers);
        let mut times = (wavefronts * WAVEFRONT) as f64 / needed.max(1) as f64;
        // Neither operand may take what the other one leaves.
        if by_hand {
            let instructions = all.trial(launch).instructions();
            let fed = feeds::operands(instructions);
            for (operand, of_a_step) in [1, 2].into_iter().zip(by_operand) {
                let loads = instructions.iter().zip(&one.run.counters).zip(&fed);
                let loads = loads.filter(|((of, _), fed)| of.kind.is_load() && **fed == operand);
                let wavefronts: u64 = loads.map(|((_, of), _)| of.shared.wavefronts).sum();
                let needed = rows * columns * steps * of_a_step;
                times = times.max((wavefronts * WAVEFRONT) as f64 / needed.max(1) as f64);
            }
        }
        let words = format!(
            "loads from shared memory take {times:.2} times the wavefronts that the multiplied elements {}",
            if by_hand {
                "need by hand: those of A fill them, those of B fill half"
            } else {
                "fill"
            }
        );
        let before = judged.complaints.len();
        judged.measured(measure, all, launch, (times, words), "shared-traffic");
        if let Some(complaint) = judged.complaints.get_mut(before).filter(|_| !launch.closed) {
            complaint.what += &most_wavefronts(all, launch, one).unwrap_or_default();
        }
    }
}

/// The fraction of the problem's products that tensor cores compute, in launches whose inputs identify elements.
fn tensor_products<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    let told = |launch: &PlannedLaunch| launch.on.values == harness::Values::Distinct;
    for (launch, one) in all.done.iter().filter(|(launch, _)| told(launch)) {
        if !one.verification.ok() {
            continue;
        }
        let found = all.coverage(launch);
        let part = found.products as f64 / found.of.max(1) as f64;
        let words = format!("tensor cores compute {:.0}% of C's products", 100.0 * part);
        judged.measured(measure, all, launch, (part, words), "another-way");
    }
}
