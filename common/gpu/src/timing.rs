//! Compares contestants by interleaving their samples in one process.
//!
//! Clocks and power drift, so a baseline from another minute would compare conditions, not kernels. Here every
//! contestant contributes one sample per round, and every other round runs in reverse, so that none always follows the
//! same neighbor. All samples are enqueued before any is waited for: the GPU never waits for the host, and no sample
//! includes the time of a late launch. Between samples the GPU only reads its clocks. With idle time in between, which keeps
//! the card cool and its clock high, each sample follows a discarded one of the same work, so that the GPU is busy when the
//! measurement starts.

use crate::clock::Clock;
use crate::graph::{Event, Graph};
use crate::{Contestant, Context, GpuError, Samples, Timing};

/// Times `contestants` against each other; results are in their order.
///
/// # Errors
/// [`GpuError::Emulated`]; the first error of any contestant, including faults of their kernels.
pub fn alternate(
    gpu: &Context,
    contestants: &[Contestant<'_>],
    options: &Timing,
) -> Result<Vec<Samples>, GpuError> {
    if gpu.info().emulated {
        return Err(GpuError::Emulated);
    }
    let launches = options.launches_per_sample.max(1) * options.repeats.max(1);
    // Before the warm-up, so that the GPU does not idle between it and the first sample.
    let mut clock = Clock::new(gpu, 2 * (options.rounds + 1) * contestants.len())?;
    let mut prepared = contestants
        .iter()
        .map(|contestant| Prepared::new(gpu, contestant, options))
        .collect::<Result<Vec<_>, _>>()?;
    gpu.synchronize()?; // a fault in the warm-up is reported before anything is timed

    // Round 0 is discarded: the GPU waits for the host in its first sample.
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
    // Skipping a sample without a clock would misalign those after it.
    for of in &mut samples {
        if of.mhz.len() < of.milliseconds.len() {
            of.mhz.clear();
        }
    }
    Ok(samples)
}

/// The order of contestants in a round: reversed in every other round.
fn order(round: usize, contestants: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..contestants).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

/// A warmed-up contestant.
struct Prepared<'a> {
    contestant: &'a Contestant<'a>,
    graph: Option<Graph>,
    /// Launches so far; they choose the buffer set.
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

    /// Enqueues the launches of one sample.
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
    fn no_contestant_always_follows_the_same_one() {
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
