//! The SM clock during a sample, counted by the SMs themselves.
//!
//! A sensor is read some ten times a second, but a sample takes a millisecond, and after idle time the clock drops during
//! it. So a small kernel before and after each sample reads on each SM `%clock64`, which counts SM clocks, and
//! `%globaltimer`, which counts nanoseconds (PTX ISA, Special Registers). The ratio of the two differences is that SM's
//! clock.
use crate::statistics::percentile;
use crate::{Buffer, Context, Function, GpuError, KernelArg, LaunchConfig};

/// Each block writes the counters of its SM to the SM's entry, two 64-bit values.
const KERNEL: &str = "
.version 7.0
.target sm_80
.address_size 64
.visible .entry read_clock(.param .u64 places, .param .u32 sms)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [places];
    ld.param.u32 %r1, [sms];
    mov.u32 %r2, %smid;
    setp.ge.u32 %p, %r2, %r1;
    @%p ret;
    mul.wide.u32 %rd2, %r2, 16;
    add.s64 %rd3, %rd1, %rd2;
    mov.u64 %rd4, %clock64;
    mov.u64 %rd5, %globaltimer;
    st.global.v2.u64 [%rd3], {%rd4, %rd5};
    ret;
}";

/// Device memory for readings of every SM's counters.
pub struct Clock {
    kernel: Function,
    places: Buffer,
    sms: u32,
    /// Readings so far.
    taken: usize,
}

/// One SM's counters: clocks, nanoseconds. Both are zero for an SM on which no block ran.
type Counters = [u64; 2];

impl Clock {
    /// Allocates memory for this many readings.
    ///
    /// # Errors
    /// [`GpuError::Driver`], [`GpuError::Memory`].
    pub fn new(gpu: &Context, readings: usize) -> Result<Self, GpuError> {
        let sms = gpu.info().sms;
        let bytes = readings * sms as usize * size_of::<Counters>();
        let places = gpu.alloc("clocks", bytes)?;
        gpu.fill(&places, 0)?;
        Ok(Self {
            kernel: gpu.load_module(KERNEL)?.function("read_clock")?,
            places,
            sms,
            taken: 0,
        })
    }

    /// Enqueues a reading.
    ///
    /// # Errors
    /// [`GpuError::Size`] if the buffer is full, [`GpuError::Driver`].
    pub fn read(&mut self, gpu: &Context) -> Result<(), GpuError> {
        let each = self.sms as usize * size_of::<Counters>();
        let end = (self.taken + 1) * each;
        if end > self.places.len() {
            return Err(GpuError::Size {
                what: "clocks",
                need: end,
                have: self.places.len(),
            });
        }
        let place = self.places.address() + (self.taken * each) as u64;
        self.taken += 1;
        let config = LaunchConfig {
            grid: [self.sms, 1, 1],
            ..LaunchConfig::default()
        };
        let args = [KernelArg::U64(place), KernelArg::U32(self.sms)];
        gpu.launch(&self.kernel, &config, &args)
    }

    /// The SM clock in MHz from the first reading to the second, from the third to the fourth, and so on: the median
    /// over the SMs that appear in both. Waits for all enqueued work.
    ///
    /// # Errors
    /// [`GpuError::Driver`]: also for faults of earlier kernels.
    pub fn mhz(&self, gpu: &Context) -> Result<Vec<Option<f64>>, GpuError> {
        let bytes = gpu.read(&self.places)?;
        let (words, _) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let (counters, _) = words.as_chunks::<2>();
        let readings: Vec<&[Counters]> = counters
            .chunks(self.sms as usize)
            .take(self.taken)
            .collect();
        let (pairs, _) = readings.as_chunks::<2>();
        Ok(pairs.iter().map(|[start, end]| mhz(start, end)).collect())
    }
}

/// The median over the SMs that have counters in both readings.
fn mhz(start: &[Counters], end: &[Counters]) -> Option<f64> {
    let of = |(start, end): (&Counters, &Counters)| {
        let clocks = end[0].checked_sub(start[0])?;
        let ns = end[1].checked_sub(start[1])?;
        (start[1] > 0 && ns > 0).then(|| 1e3 * clocks as f64 / ns as f64)
    };
    let all: Vec<f64> = start.iter().zip(end).filter_map(of).collect();
    (!all.is_empty()).then(|| percentile(&all, 50.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_of_the_sms_that_both_readings_saw() {
        let start = [[1000, 5000], [0, 0], [400, 5100], [900, 5000]];
        let end = [[3000, 6000], [7000, 6000], [0, 0], [2400, 6000]];
        // 2000 and 1500 clocks in 1000 ns.
        assert_eq!(mhz(&start, &end), Some(1750.0));
        assert_eq!(mhz(&start[1..3], &end[1..3]), None);
        assert_eq!(mhz(&end, &start), None, "time that runs backwards");
    }
}
