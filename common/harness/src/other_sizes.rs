//! Finds sizes at which a kernel executes code that it did not execute at the user's size, by running it.
use emulator::{Finding, FindingKind, LaunchReport, Options};

use crate::device::Device;
use crate::{Host, KernelChoice, LaunchSpec, Result, Rung, Settings, Size, Target, Values, choose};

/// The multiplications of the largest trial: one tile more than are resident, for the largest of the rungs' tiles. All
/// trials together execute at most four products of 256x256x256.
const MAX_WORK_OF_TRIAL: u64 = 1 << 29;
const MAX_WORK: u64 = 1 << 26;

/// Steps along K: both parities, and more than a pipeline has stages. Launches of several tiles use only the second
/// list.
const STEPS: [u32; 6] = [1, 2, 3, 4, 6, 9];
const STEPS_OF_TILES: [u32; 2] = [1, 4];

/// Looks for sizes that execute what `report` lists as never executed, and names the first of each.
pub(crate) fn propose(
    rung: &Rung,
    settings: &Settings,
    target: &Target,
    host: &mut Host,
    report: &mut LaunchReport,
    spec: &LaunchSpec,
) {
    let mut left: Vec<&mut Finding> = report
        .remarks
        .iter_mut()
        .filter(is_never_executed)
        .collect();
    let mut work = 0;
    for Candidate {
        size,
        sampled,
        work: one,
    } in candidates(spec, target.sms())
    {
        work += one;
        if left.is_empty() || work > MAX_WORK {
            return;
        }
        if size == settings.size {
            continue;
        }
        // A size at which the kernel cannot be launched, or fails, proves nothing.
        let Ok(Some(executed)) = executed(host, settings, size, sampled) else {
            continue;
        };
        let seen = left.extract_if(.., |finding| executed(finding.location.instruction));
        let mut seen = seen.peekable();
        if seen.peek().is_none() {
            continue;
        }
        let by = flags(rung, settings, target, spec, size);
        for finding in seen {
            if let FindingKind::NeverExecuted { executed_by, .. } = &mut finding.kind {
                *executed_by = Some(by.clone());
            }
        }
    }
}

fn is_never_executed(finding: &&mut Finding) -> bool {
    matches!(finding.kind, FindingKind::NeverExecuted { .. })
}

/// The instructions that a plain launch of this size executes, or for a `sampled` one its first cluster; `None` if
/// the sanitizer finds a fault.
fn executed(
    host: &mut Host,
    settings: &Settings,
    size: Size,
    sampled: bool,
) -> Result<Option<impl Fn(usize) -> bool>> {
    if sampled {
        host.run_one_cluster(Some(0));
    }
    let finished = host.run_unsanitized(size, settings.seed, settings.emulator.schedule);
    host.run_one_cluster(None);
    let finished = finished?;
    let report = finished.report.unwrap_or_default();
    if !report.findings.is_empty() {
        return Ok(None);
    }
    let sources: Vec<_> = finished
        .kernel
        .function
        .instructions()
        .iter()
        .map(|instruction| {
            (
                instruction.source.clone(),
                emulator::Synchronization::of(instruction),
            )
        })
        .collect();
    let counters = report.counters;
    // One instruction of the line is enough, as for the note.
    Ok(Some(move |index: usize| {
        let wanted = &sources[index];
        let mut all = sources.iter().zip(&counters).enumerate();
        all.any(|(at, (source, counters))| {
            let same = at == index || (source.0.is_some() && source == wanted);
            same && counters.threads > 0
        })
    }))
}

fn multiplications(Size { m, n, k }: Size) -> u64 {
    u64::from(m) * u64::from(n) * u64::from(k)
}

/// A size to try.
#[derive(Clone, Copy)]
struct Candidate {
    size: Size,
    /// Only the first cluster runs: with one tile more than are resident, it is the one that computes two.
    sampled: bool,
    /// Multiplications of the trial.
    work: u64,
}

/// Sizes that differ in what a kernel may branch on: steps along K, tiles, whether the last tiles are whole, and
/// whether persistent blocks compute several tiles. The cheapest come first.
fn candidates(spec: &LaunchSpec, sms: u32) -> Vec<Candidate> {
    let (tile, whole) = (spec.tile, spec.whole);
    let rows = tile.bm.saturating_mul(spec.cluster);
    let mut all = Vec::new();
    let mut add = |[m, n, k]: [u32; 3], sampled| {
        let size = Size { m, n, k };
        if multiplications(size) <= MAX_WORK_OF_TRIAL {
            let work = match sampled {
                true => 2 * u64::from(rows) * u64::from(tile.bn) * u64::from(k),
                false => multiplications(size),
            };
            all.push(Candidate {
                size,
                sampled,
                work,
            });
        }
    };
    for steps in STEPS {
        let k = tile.bk.saturating_mul(steps);
        add([tile.bm, tile.bn, k], false);
        // A partial last tile, which a kernel sees only with TMA, which knows where a matrix ends.
        add([rows + whole.bm, tile.bn + whole.bn, k + whole.bk], false);
        if !STEPS_OF_TILES.contains(&steps) {
            continue;
        }
        add(
            [rows.saturating_mul(2), tile.bn.saturating_mul(2), k],
            false,
        );
        let resident = sms * spec.persistent_per_sm / spec.cluster;
        if resident > 0 {
            add([rows, tile.bn.saturating_mul(resident + 1), k], true);
        }
    }
    all.sort_by_key(|one| (one.work, one.size.m, one.size.n));
    all.dedup_by_key(|one| one.size);
    all
}

/// The flags that make this launch, with the tile if the size alone would choose another.
fn flags(
    rung: &Rung,
    settings: &Settings,
    target: &Target,
    spec: &LaunchSpec,
    size: Size,
) -> String {
    let chosen = |choice: &KernelChoice, size| {
        choose::kernel(rung, target, choice, size).map_or(String::new(), |kernel| kernel.tile())
    };
    let choice = &settings.kernel;
    let (here, there) = (chosen(choice, settings.size), chosen(choice, size));
    let tile = match choice.file.is_none() && choice.tile.is_none() && here != there {
        true => format!(" --tile {}x{}", spec.tile.bm, spec.tile.bn),
        false => String::new(),
    };
    format!("--size {size}{tile}")
}

impl Host {
    /// Runs the kernel on other numbers, without the sanitizer.
    fn run_unsanitized(
        &mut self,
        size: Size,
        seed: u64,
        schedule: u64,
    ) -> Result<crate::host::Finished> {
        let plain = |options: &Options| Options {
            sanitize: false,
            patterns: false,
            ..options.clone()
        };
        let before = match self.device_mut() {
            Device::Emulator(context) => {
                let before = context.options().clone();
                *context.options_mut() = plain(&before);
                Some(before)
            }
            Device::Gpu(_) => None,
        };
        let finished = self.run_on(size, (Values::Random, seed), schedule);
        if let (Some(before), Device::Emulator(context)) = (before, self.device_mut()) {
            *context.options_mut() = before;
        }
        finished
    }
}
