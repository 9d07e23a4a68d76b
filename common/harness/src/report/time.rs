//! What the clock says of a kernel, as text.
use clock::{PARTITIONS, Pipe, STALLS};

use crate::predict::Prediction;
use crate::table::thousands;

/// A prediction.
pub fn prediction(prediction: &Prediction) -> String {
    let estimate = &prediction.estimate;
    let simulation = &estimate.simulation;
    let milliseconds = prediction.milliseconds(prediction.card.mhz);
    let mut text = format!(
        "{}: {} clocks, {milliseconds:.4} ms at {} MHz, {:.1} TFLOP/s\n",
        prediction.size,
        thousands(estimate.clocks as u64),
        prediction.card.mhz,
        prediction.size.flop() / milliseconds / 1e9,
    );
    text += &format!(
        "  {} CTAs an SM, {} of {} simulated; {} of {} traced instructions unmatched; {} registers\n",
        prediction.resident,
        estimate.simulated,
        estimate.clusters,
        estimate.unmatched.0,
        estimate.unmatched.1,
        prediction.code.registers,
    );
    let end = simulation.ends.iter().copied().fold(1.0, f64::max);
    let all = end * f64::from(simulation.sms);
    let tensor = simulation.busy[Pipe::Tensor as usize] / all / PARTITIONS as f64;
    text += &format!(
        "  tensor {:.1}%, shared memory {:.1}%, L2 port {:.1}%, issue {:.1}%\n",
        100.0 * tensor,
        100.0 * simulation.shared_busy / all,
        100.0 * simulation.port_busy / all,
        100.0 * simulation.issued as f64 / all / PARTITIONS as f64,
    );
    let mut sums = [0.0; STALLS.len()];
    for stalls in &simulation.stalls {
        for (sum, one) in sums.iter_mut().zip(stalls) {
            *sum += one;
        }
    }
    let issued = simulation.issued as f64;
    for (stall, sum) in STALLS.iter().zip(sums) {
        text += &format!("  {:20} {:6.2}\n", stall.name(), sum / issued);
    }
    text
}
