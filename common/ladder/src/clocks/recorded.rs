//! Recorded clock logs, the output of `cargo ladder clocks`: parsed and summarized.
use std::path::Path;

use anyhow::{Context, Result, ensure};
use emulator::Ptx;
use harness::ceilings::Ceilings;
use harness::table::table;
use harness::{LaunchSpec, Size, TENSOR_FLOP_PER_CLOCK, occupancy, rungs, thousands};
use serde::Serialize;

/// A log, in clocks of an SM.
#[derive(Serialize)]
pub struct Recorded {
    /// Such as `06_pipeline`.
    pub rung: String,
    /// The device on which it was logged.
    pub gpu: String,
    /// Tiles of C that a block computes, one after another.
    pub tiles: u64,
    /// The logged blocks.
    pub blocks: Vec<Block>,
    /// Steps along K of a block.
    pub steps: u64,
    /// Clocks until A and B of the first step are loaded.
    pub prologue: Spread,
    /// Clocks from one step to the next.
    pub step: Spread,
    /// The 90th percentile of the steps.
    pub slowest: Spread,
    /// Additional clocks of the first step of each further tile of C; null if there is no further tile.
    pub pause: Option<Spread>,
    /// Clocks from the last step to the end.
    pub end: Spread,
    /// Clocks from the first step to the last.
    steps_in_all: Spread,
    in_all: Spread,
    /// Clocks that the tensor cores need for a step of all blocks on an SM.
    pub needed: Needed,
    /// The fraction of all clocks in which the tensor cores are busy, in percent, if `wgmma` multiplies.
    busy_percent: f64,
    /// By how many percent a step, with its share of everything else, takes fewer clocks than in the previous log.
    fewer_percent: Option<f64>,
    /// The pause minus the step that the tensor cores still multiply in it.
    idle_in_a_pause: Option<f64>,
}

/// A row of the log.
#[derive(Clone, Copy, Serialize)]
pub struct Block {
    pub prologue: u64,
    pub steps: u64,
    pub step: u64,
    pub slowest: u64,
    pub pause: Option<u64>,
    pub end: u64,
    pub in_all: u64,
}

/// The distribution of a number over all blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    least: u64,
    pub median: u64,
    most: u64,
}

/// Clocks of a step, for each instruction that multiplies.
#[derive(Serialize)]
pub struct Needed {
    /// At the documented rate.
    pub wgmma: f64,
    /// At the measured rate.
    mma_sync: f64,
    /// Whether this kernel uses `wgmma`.
    by_wgmma: bool,
}

/// All logs of this folder, in the order of the rungs.
///
/// # Errors
/// If there is no log, or one of them is malformed.
pub fn all(folder: &Path) -> Result<Vec<Recorded>> {
    let mut logs: Vec<Recorded> = Vec::new();
    for rung in rungs::all()? {
        let number: String = rung.name.chars().take(2).collect();
        let file = folder.join(format!("{number}.txt"));
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let log = Recorded::of(&rung, &text);
        logs.push(log.with_context(|| format!("{} is not a clock log", file.display()))?);
    }
    let clocks: Vec<f64> = logs.iter().map(Recorded::clocks_of_a_step).collect();
    for (log, clocks) in logs.iter_mut().skip(1).zip(clocks.windows(2)) {
        log.fewer_percent = Some(tenths((1.0 - clocks[1] / clocks[0]) * 100.0));
    }
    ensure!(
        !logs.is_empty(),
        "no clock log NN.txt in {}",
        folder.display()
    );
    Ok(logs)
}

impl Recorded {
    /// Parses the log of this rung.
    fn of(rung: &rungs::Rung, text: &str) -> Result<Self> {
        let (head, rest) = text.split_once(", clocks on ").context("its first line")?;
        let gpu = rest.lines().next().unwrap_or_default().to_owned();
        let (head, tile) = match head.split_once(", tile ") {
            Some((head, tile)) => (head, Some(tile)),
            None => (head, None),
        };
        let size = head.rsplit(' ').next().unwrap_or_default();
        let size: Size = size.parse().map_err(anyhow::Error::msg)?;
        let blocks = blocks(text)?;
        let spread = |of: &dyn Fn(&Block) -> u64| Spread::of(blocks.iter().map(of));
        let steps = blocks.first().context("no block")?.steps;
        let pause = blocks.iter().map(|block| block.pause);
        let pause = pause.collect::<Option<Vec<u64>>>().map(Spread::of);
        let Work { flop, bk, by_wgmma } =
            Work::of_a_step(rung, tile, size, pause.is_none().then_some(steps))?;
        let tiles = (steps as f64 * bk / f64::from(size.k)).round().max(1.0);
        let wgmma = flop / TENSOR_FLOP_PER_CLOCK;
        let in_all = spread(&|block| block.in_all);
        let busy = wgmma * steps as f64 / in_all.median as f64 * 100.0;
        Ok(Self {
            rung: rung.name.clone(),
            gpu,
            tiles: tiles as u64,
            steps,
            prologue: spread(&|block| block.prologue),
            step: spread(&|block| block.step),
            slowest: spread(&|block| block.slowest),
            end: spread(&|block| block.end),
            steps_in_all: spread(&|block| block.in_all - block.prologue - block.end),
            in_all,
            needed: Needed {
                wgmma,
                mma_sync: (flop / Ceilings::recorded()?.per_clock("mma_sync")?).round(),
                by_wgmma,
            },
            busy_percent: tenths(busy),
            fewer_percent: None,
            idle_in_a_pause: pause.map(|pause| (pause.median as f64 - wgmma).max(0.0)),
            pause,
            blocks,
        })
    }

    /// Clocks of the tensor cores in a step, for the instruction that this kernel uses.
    pub fn needed(&self) -> f64 {
        match self.needed.by_wgmma {
            true => self.needed.wgmma,
            false => self.needed.mma_sync,
        }
    }

    /// Clocks per clock that the tensor cores need, so that steps of any size compare.
    fn clocks_of_a_step(&self) -> f64 {
        self.in_all.median as f64 / self.steps as f64 / self.needed.wgmma
    }
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

impl Spread {
    /// The distribution of at least one number.
    fn of(numbers: impl IntoIterator<Item = u64>) -> Self {
        let mut numbers: Vec<u64> = numbers.into_iter().collect();
        numbers.sort_unstable();
        let at = |place: usize| numbers.get(place).copied().unwrap_or(0);
        Self {
            least: at(0),
            median: at(numbers.len() / 2),
            most: at(numbers.len().saturating_sub(1)),
        }
    }
}

/// A step along K of all blocks that an SM holds.
struct Work {
    flop: f64,
    /// Its length along K.
    bk: f64,
    by_wgmma: bool,
}

impl Work {
    /// `of_k`: the number of steps in which a block covers K, if known.
    fn of_a_step(
        rung: &rungs::Rung,
        tile: Option<&str>,
        size: Size,
        of_k: Option<u64>,
    ) -> Result<Self> {
        let mut specs = Vec::new();
        for kernel in rung.kernels()? {
            let kernel = kernel.kernel();
            if tile.is_none_or(|tile| tile == kernel.tile()) {
                let text = kernel.current(&rung.place())?.ptx;
                let by_wgmma = text.contains("wgmma.mma_async");
                let spec = LaunchSpec::of(&Ptx::parse(&text)?);
                let spec = spec.map_err(|why| anyhow::anyhow!("{why:?}"))?;
                specs.push((spec, kernel.registers(), by_wgmma));
            }
        }
        // A log of a kernel with several tiles names its tile; in older logs it is the largest.
        let largest = |(spec, ..): &(LaunchSpec, Option<u32>, bool)| spec.tile.bm * spec.tile.bn;
        let (spec, registers, by_wgmma) =
            specs.into_iter().max_by_key(largest).context("its tile")?;
        let [bm, bn, bk] = [spec.tile.bm, spec.tile.bn, spec.tile.bk].map(f64::from);
        // The host pads K to a multiple of this, which may be several steps of a block with a single tile.
        let padded = (f64::from(size.k) / bk).ceil() * bk;
        let bk = of_k.map_or(bk, |steps| padded / steps as f64);
        let (threads, shared) = (spec.threads, spec.dynamic_shared);
        let most = occupancy::Sm::HOPPER.holds(threads, registers.unwrap_or(1), shared);
        Ok(Self {
            flop: f64::from(most.blocks) * 2.0 * bm * bn * bk,
            bk,
            by_wgmma,
        })
    }
}

/// The rows of a log; no pause if a block has a single tile.
fn blocks(text: &str) -> Result<Vec<Block>> {
    let is_row = |line: &&str| {
        let first = line.split_whitespace().next().unwrap_or_default();
        first.parse::<u32>().is_ok()
    };
    let rows = text.lines().filter(is_row).map(|line| {
        let numbers = line.split_whitespace().skip(1);
        let numbers = numbers.map(|cell| cell.replace(',', "").parse::<u64>());
        let numbers = numbers.collect::<Result<Vec<_>, _>>();
        let numbers = numbers.with_context(|| line.to_owned())?;
        let (prologue, steps, step, slowest, pause, end, in_all) = match numbers[..] {
            [prologue, steps, step, slowest, pause, end, in_all] => {
                (prologue, steps, step, slowest, Some(pause), end, in_all)
            }
            [prologue, steps, step, slowest, end, in_all] => {
                (prologue, steps, step, slowest, None, end, in_all)
            }
            _ => anyhow::bail!("a block has 6 or 7 numbers: {line}"),
        };
        ensure!(in_all >= prologue + end, "the parts exceed the sum: {line}");
        Ok(Block {
            prologue,
            steps,
            step,
            slowest,
            pause,
            end,
            in_all,
        })
    });
    rows.collect()
}

/// The medians of all logs, as text for a terminal.
pub fn text(logs: &[Recorded]) -> String {
    let head = [
        "rung", "steps", "a step", "needed", "prologue", "pause", "end", "in all", "busy",
    ];
    let row = |log: &Recorded| {
        let median = |spread: Spread| thousands(spread.median);
        vec![
            log.rung.clone(),
            log.steps.to_string(),
            median(log.step),
            thousands(log.needed.wgmma as u64),
            median(log.prologue),
            log.pause.map_or(String::new(), median),
            median(log.end),
            median(log.in_all),
            format!("{:.1}%", log.busy_percent),
        ]
    };
    let lines = table(&head, &logs.iter().map(row).collect::<Vec<_>>());
    lines.join("\n")
        + "\n\nmedians of the logged blocks. needed: what the tensor cores need by wgmma for a step of all blocks that an SM holds;\n\
           busy: that for all steps, of all clocks of a block\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_tile_has_no_pause() {
        let three = "13_persistent at 4096x4096x4096, clocks on X\n\nblock prologue steps\n\
            0  4,954  256  1,016  1,142  3,223  4,111  277,319\n1  4,956  256  1,018  1,142  3,225  4,113  277,319\n\
            2  4,951  256  1,018  1,142  3,220  4,119  277,319\n";
        let rows = blocks(three).expect("rows");
        let spread = Spread::of(rows.iter().map(|row| row.prologue));
        assert_eq!(
            (spread.least, spread.median, spread.most),
            (4951, 4954, 4956)
        );
        assert_eq!(rows[1].pause, Some(3225));
        let none = "0  3,068  64  2,007  2,188  3,078  131,123\n";
        let row = blocks(none).expect("a row")[0];
        assert_eq!((row.pause, row.end, row.in_all), (None, 3078, 131_123));
        for wrong in ["0 a b c d e f\n", "0 1 2 3\n", "0 9 64 1 1 9 5\n"] {
            assert!(blocks(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_committed_record_is_parsed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/h200/clocks");
        let logs = all(&folder).expect("clock logs");
        let of = |rung: &str| logs.iter().find(|log| log.rung == rung).expect("its log");
        // Two blocks of 128x128 by 64, and one of 128x256.
        for rung in ["06_pipeline", "10_wgmma", "16_stream_k"] {
            assert_eq!(of(rung).needed.wgmma, 1024.0, "{rung}");
        }
        // K is padded to 66 tiles of 64.
        assert_eq!(of("07_registers").needed.wgmma, 1024.0);
        // Its registers allow two blocks of 128x128 by 32, its shared memory three.
        assert_eq!(of("08_warp_tile").needed.wgmma, 512.0);
        assert_eq!(of("06_pipeline").steps, 64);
        let first = of("11_specialized").blocks[0];
        assert_eq!(first.in_all - first.prologue - first.end, 63_793);
        assert!(of("13_persistent").busy_percent > of("12_multicast").busy_percent);
        assert!(
            of("13_persistent")
                .fewer_percent
                .is_some_and(|percent| percent > 5.0)
        );
    }
}
