//! Who is faster: contestants that take turns in one process.
//!
//! Clocks and power drift, so that a baseline from another minute compares the weather. Here every
//! contestant gives one sample a round, and every other round runs backwards, so that nobody always
//! follows the same neighbour. All samples are enqueued before any is waited for: the GPU never
//! waits for the host, and no sample holds the time of a launch that came late. Between samples it only reads its clocks. With rests, which
//! keep the card cool and its clock high, each sample follows one of the same work that is not
//! kept: the GPU is busy when the clock starts.
use std::time::Duration;

use crate::clock::Clock;
use crate::graph::{Event, Graph};
use crate::statistics::percentile;
use crate::{Context, GpuError};

/// Something to be timed.
pub struct Contestant<'a> {
    /// What the report calls it.
    pub name: String,
    /// Enqueues one launch on the [`Context`]'s stream, with buffer set number `rotation`
    /// (0 to `Timing::rotations` - 1). It must not wait, copy or allocate.
    #[allow(clippy::type_complexity)]
    pub enqueue: Box<dyn Fn(usize) -> Result<(), GpuError> + 'a>,
}

/// How to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Samples for each contestant.
    pub rounds: usize,
    /// Launches of each contestant before the first sample.
    pub warmup: usize,
    /// Launches that one sample averages over, unless it repeats them; at least 1.
    pub launches_per_sample: usize,
    /// Whether a sample is one launch of a graph that holds those launches, which takes the host's
    /// time for each launch out of the measurement of short kernels.
    pub graph: bool,
    /// How often a sample repeats those launches, or that graph; at least 1.
    pub repeats: usize,
    /// Sets of buffers to rotate over, so that none is still in the L2 cache; at least 1.
    pub rotations: usize,
    /// How long the GPU idles after each sample; zero for no rests.
    pub rest: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            rounds: 30,
            warmup: 5,
            launches_per_sample: 20,
            graph: false,
            repeats: 1,
            rotations: 1,
            rest: Duration::ZERO,
        }
    }
}

/// What one contestant needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Its name.
    pub name: String,
    /// Milliseconds per launch, one value a round, in the order of the rounds.
    pub milliseconds: Vec<f64>,
    /// The SMs' clock during each of them, in MHz, counted by the SMs; empty if an SM could not be asked.
    pub mhz: Vec<f64>,
}

impl Samples {
    /// The median, in milliseconds; NaN without samples, as all of these.
    pub fn median(&self) -> f64 {
        self.percentile(50.0)
    }

    /// The median clock of the SMs, in MHz.
    pub fn median_mhz(&self) -> Option<f64> {
        (!self.mhz.is_empty()).then(|| percentile(&self.mhz, 50.0))
    }

    /// The fastest sample, in milliseconds.
    pub fn min(&self) -> f64 {
        self.percentile(0.0)
    }

    /// The slowest sample, in milliseconds.
    pub fn max(&self) -> f64 {
        self.percentile(100.0)
    }

    /// The `p`-th percentile (0 to 100), in milliseconds, interpolated.
    pub fn percentile(&self, p: f64) -> f64 {
        percentile(&self.milliseconds, p)
    }

    /// The width of the middle 80% of all samples, as a fraction of the median.
    pub fn spread(&self) -> f64 {
        (self.percentile(90.0) - self.percentile(10.0)) / self.median()
    }
}

/// Times `contestants` against each other; the result has their order.
///
/// # Errors
/// [`GpuError::Emulated`]; the first error of any contestant, and faults of their kernels.
pub fn alternate(
    gpu: &Context,
    contestants: &[Contestant<'_>],
    options: &Timing,
) -> Result<Vec<Samples>, GpuError> {
    if gpu.info().emulated {
        return Err(GpuError::Emulated);
    }
    let launches = options.launches_per_sample.max(1) * options.repeats.max(1);
    // Before the warm-up, so that the GPU does not idle between that and the first sample.
    let mut clock = Clock::new(gpu, 2 * (options.rounds + 1) * contestants.len())?;
    let mut prepared = contestants
        .iter()
        .map(|contestant| Prepared::new(gpu, contestant, options))
        .collect::<Result<Vec<_>, _>>()?;
    gpu.synchronize()?; // a fault in the warm-up is reported before anything is timed

    // Round 0 is not kept: in its first sample the GPU waits for the host.
    let mut spans = Vec::new();
    for round in 0..=options.rounds {
        for which in order(round, prepared.len()) {
            if !options.rest.is_zero() {
                prepared[which].sample(options)?;
            }
            clock.read(gpu)?;
            let start = Event::record(&gpu.context)?;
            prepared[which].sample(options)?;
            spans.push((round, which, start, Event::record(&gpu.context)?));
            clock.read(gpu)?;
            if !options.rest.is_zero() {
                gpu.synchronize()?;
                std::thread::sleep(options.rest);
            }
        }
    }
    gpu.synchronize()?;

    let none = |contestant: &Contestant<'_>| Samples {
        name: contestant.name.clone(),
        milliseconds: Vec::new(),
        mhz: Vec::new(),
    };
    let clocks = clock.mhz(gpu)?;
    let mut samples: Vec<Samples> = contestants.iter().map(none).collect();
    for ((round, which, start, stop), mhz) in spans.iter().zip(clocks) {
        if *round > 0 {
            let of = &mut samples[*which];
            of.milliseconds
                .push(stop.milliseconds_since(start)? / launches as f64);
            of.mhz.extend(mhz);
        }
    }
    // A sample without a clock would move those behind it.
    for of in &mut samples {
        if of.mhz.len() < of.milliseconds.len() {
            of.mhz.clear();
        }
    }
    Ok(samples)
}

/// Who runs when in a round: every other round backwards.
fn order(round: usize, contestants: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..contestants).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

/// A contestant, warmed up.
struct Prepared<'a> {
    contestant: &'a Contestant<'a>,
    graph: Option<Graph>,
    /// Launches so far, which choose the buffer set.
    launched: usize,
}

impl<'a> Prepared<'a> {
    fn new(
        gpu: &Context,
        contestant: &'a Contestant<'a>,
        options: &Timing,
    ) -> Result<Self, GpuError> {
        let mut this = Self {
            contestant,
            graph: None,
            launched: 0,
        };
        this.enqueue(options.warmup, options.rotations)?;
        if options.graph {
            let launches = options.launches_per_sample.max(1);
            let graph = Graph::capture(&gpu.context, || this.enqueue(launches, options.rotations))?;
            graph.launch()?; // the first launch also uploads it
            this.graph = Some(graph);
        }
        Ok(this)
    }

    /// Enqueues what one sample measures.
    fn sample(&mut self, options: &Timing) -> Result<(), GpuError> {
        for _ in 0..options.repeats.max(1) {
            match &self.graph {
                Some(graph) => graph.launch()?,
                None => self.enqueue(options.launches_per_sample.max(1), options.rotations)?,
            }
        }
        Ok(())
    }

    fn enqueue(&mut self, launches: usize, rotations: usize) -> Result<(), GpuError> {
        for _ in 0..launches {
            (self.contestant.enqueue)(self.launched % rotations.max(1))?;
            self.launched += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_always_follows_the_same_neighbour() {
        assert_eq!(order(1, 3), [2, 1, 0]);
        assert_eq!(order(2, 3), [0, 1, 2]);
    }

    #[test]
    fn samples_say_what_is_typical() {
        let samples = Samples {
            name: "a".into(),
            milliseconds: vec![2.0, 1.0, 3.0],
            mhz: Vec::new(),
        };
        assert_eq!(
            (samples.min(), samples.median(), samples.max()),
            (1.0, 2.0, 3.0)
        );
        assert!((samples.spread() - 0.8).abs() < 1e-12);
    }
}
