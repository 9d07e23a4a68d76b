//! The conditions of a measurement: clocks, power, temperature, driver.
//!
//! They come from NVML, which is part of the driver and optional: without it nothing is reported.
use crate::dynamic::{self, api};
use crate::statistics::percentile;
use crate::{Context, Range, Telemetry, driver};
use cudarc::driver::sys;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

type Device = *mut c_void;
api!(Nvml {
    nvmlInit_v2: fn() -> c_int;
    nvmlSystemGetDriverVersion: fn(*mut c_char, c_uint) -> c_int;
    nvmlDeviceGetHandleByPciBusId_v2: fn(*const c_char, *mut Device) -> c_int;
    nvmlDeviceGetClockInfo: fn(Device, c_int, *mut c_uint) -> c_int;
    nvmlDeviceGetPowerUsage: fn(Device, *mut c_uint) -> c_int;
    nvmlDeviceGetEnforcedPowerLimit: fn(Device, *mut c_uint) -> c_int;
    nvmlDeviceGetTemperature: fn(Device, c_int, *mut c_uint) -> c_int;
});
// Exists since Volta, but not in every NVML; without it the other sensors still work.
api!(Energy {
    nvmlDeviceGetTotalEnergyConsumption: fn(Device, *mut u64) -> c_int;
});

const NVML_CLOCK_SM: c_int = 1;
const NVML_TEMPERATURE_GPU: c_int = 0;

const INTERVAL: Duration = Duration::from_millis(20);

impl Telemetry {
    /// Runs `work` and meanwhile samples the sensors of `gpu` on another thread, at least once. `None` without NVML, or
    /// if it has no sensors (as in a virtual machine).
    pub fn during<T>(gpu: &Context, work: impl FnOnce() -> T) -> (T, Option<Self>) {
        let bus_id = bus_id(gpu);
        thread::scope(|scope| {
            let (running, stopped) = channel::<()>();
            let sampler = scope.spawn(move || sample(&bus_id?, &stopped));
            let done = work();
            drop(running); // tells the sampler; so does a panic in `work`
            (done, sampler.join().ok().flatten())
        })
    }
}

/// The driver's own version, such as `580.159.04`; `None` without NVML.
pub fn driver_version() -> Option<String> {
    let nvml = nvml()?;
    let mut text = [0u8; 96];
    // SAFETY: NVML is initialized, and the buffer has the length stated.
    let status = unsafe { (nvml.nvmlSystemGetDriverVersion)(text.as_mut_ptr().cast(), 96) };
    (status == 0).then(|| driver::text(&text))
}

/// NVML, loaded and initialized once.
fn nvml() -> Option<&'static Nvml> {
    libraries().map(|(nvml, _)| nvml)
}

/// NVML, and its energy counter if it has one.
fn libraries() -> Option<&'static (Nvml, Option<Energy>)> {
    static NVML: OnceLock<Option<(Nvml, Option<Energy>)>> = OnceLock::new();
    let load = || {
        let name = if cfg!(windows) {
            "nvml.dll"
        } else {
            "libnvidia-ml.so.1"
        };
        let library = dynamic::open(name).ok()?;
        let nvml = Nvml::load(library).ok()?;
        // SAFETY: takes nothing; may be called at any time.
        (unsafe { (nvml.nvmlInit_v2)() } == 0).then(|| (nvml, Energy::load(library).ok()))
    };
    NVML.get_or_init(load).as_ref()
}

/// The PCI bus id of `gpu`, as NUL-terminated text: CUDA and NVML number GPUs differently.
fn bus_id(gpu: &Context) -> Option<[u8; 32]> {
    let mut text = [0u8; 32];
    // SAFETY: a device of the ready driver, and a buffer with its length.
    let result =
        unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), 32, gpu.context.device()) };
    driver::check("cuDeviceGetPCIBusId", result)
        .ok()
        .map(|()| text)
}

/// Samples until the sender of `stopped` is dropped.
fn sample(bus_id: &[u8; 32], stopped: &Receiver<()>) -> Option<Telemetry> {
    let (nvml, energy) = libraries()?;
    let mut device = null_mut();
    // SAFETY: NVML is initialized; NUL-terminated text and a valid place for the handle.
    let status =
        unsafe { (nvml.nvmlDeviceGetHandleByPciBusId_v2)(bus_id.as_ptr().cast(), &raw mut device) };
    if status != 0 {
        return None;
    }
    let gpu = Sensors { device };
    let (mut clocks, mut power, mut celsius) = (Vec::new(), Vec::new(), Vec::new());
    let mut millijoules = Vec::new();
    loop {
        let used = energy.and_then(|energy| gpu.energy(energy.nvmlDeviceGetTotalEnergyConsumption));
        millijoules.extend(used.map(|used| (Instant::now(), used)));
        clocks.extend(gpu.read_kind(nvml.nvmlDeviceGetClockInfo, NVML_CLOCK_SM));
        power.extend(
            gpu.read(nvml.nvmlDeviceGetPowerUsage)
                .map(|milliwatts| milliwatts / 1e3),
        );
        celsius.extend(gpu.read_kind(nvml.nvmlDeviceGetTemperature, NVML_TEMPERATURE_GPU));
        if stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    Some(Telemetry {
        sm_mhz: range(&clocks)?,
        power_watts: range(&power)?,
        mean_watts: mean_watts(&millijoules),
        celsius: range(&celsius)?,
        power_limit_watts: gpu.read(nvml.nvmlDeviceGetEnforcedPowerLimit)? / 1e3,
        samples: clocks.len(),
    })
}

/// A GPU's sensors. A reading is `None` if the GPU does not have the sensor.
struct Sensors {
    device: Device,
}

impl Sensors {
    fn read(&self, sensor: unsafe extern "C" fn(Device, *mut c_uint) -> c_int) -> Option<f64> {
        let mut value = 0;
        // SAFETY: a function of NVML, its handle, and a valid place for the value.
        let status = unsafe { sensor(self.device, &raw mut value) };
        (status == 0).then_some(value.into())
    }

    /// The energy used since the driver was loaded, in millijoules.
    fn energy(&self, counter: unsafe extern "C" fn(Device, *mut u64) -> c_int) -> Option<u64> {
        let mut millijoules = 0;
        // SAFETY: as in `read`; the counter has 64 bits.
        let status = unsafe { counter(self.device, &raw mut millijoules) };
        (status == 0).then_some(millijoules)
    }

    fn read_kind(
        &self,
        sensor: unsafe extern "C" fn(Device, c_int, *mut c_uint) -> c_int,
        kind: c_int,
    ) -> Option<f64> {
        let mut value = 0;
        // SAFETY: as in `read`; a kind that NVML does not know is a status.
        let status = unsafe { sensor(self.device, kind, &raw mut value) };
        (status == 0).then_some(value.into())
    }
}

/// The mean power, in watts, from readings of an energy counter in millijoules. The counter is constant between its
/// updates, so only its first and last change have a known time, to within a sample's interval.
fn mean_watts(readings: &[(Instant, u64)]) -> Option<f64> {
    let mut changes = readings
        .windows(2)
        .filter(|pair| pair[0].1 != pair[1].1)
        .map(|pair| pair[1]);
    let (first_time, first) = changes.next()?;
    let (last_time, last) = changes.next_back()?;
    let seconds = last_time.checked_duration_since(first_time)?.as_secs_f64();
    // A counter that was reset has no valid difference.
    let joules = last.checked_sub(first)? as f64 / 1e3;
    (seconds > 0.0).then(|| joules / seconds)
}

fn range(values: &[f64]) -> Option<Range> {
    let at = |p| percentile(values, p);
    (!values.is_empty()).then(|| Range {
        min: at(0.0),
        median: at(50.0),
        max: at(100.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of readings at these milliseconds.
    fn watts(readings: &[(u64, u64)]) -> Option<f64> {
        let start = Instant::now();
        let at = |&(ms, used): &(u64, u64)| (start + Duration::from_millis(ms), used);
        mean_watts(&readings.iter().map(at).collect::<Vec<_>>())
    }

    #[test]
    fn mean_power_is_between_the_first_and_the_last_change_of_the_counter() {
        // 14 J between the changes at 40 and 60 ms; the energy before the first change belongs to an unknown time.
        let readings = [(0, 100), (20, 100), (40, 9_000), (60, 23_000), (80, 23_000)];
        assert_eq!(watts(&readings), Some(700.0));
        // The same if a reading in between is missing or the counter pauses.
        let readings = [
            (0, 5),
            (20, 1_000),
            (60, 1_000),
            (100, 49_000),
            (120, 57_000),
        ];
        assert_eq!(watts(&readings), Some(560.0));
    }

    #[test]
    fn a_counter_that_changed_less_than_twice_has_no_mean() {
        for readings in [
            &[][..],
            &[(0, 7)],
            &[(0, 7), (20, 7), (40, 7)],
            &[(0, 7), (20, 9), (40, 9)],
            // Reset by a reload of the driver.
            &[(0, 7), (20, 9), (40, 1)],
        ] {
            assert_eq!(watts(readings), None, "{readings:?}");
        }
    }
}
