//! Under which conditions a number was measured: clocks, power, temperature, driver.
//!
//! From NVML, which comes with the driver and is optional: without it there is nothing to report.
use crate::dynamic::{self, api};
use crate::statistics::percentile;
use crate::{Context, driver};
use cudarc::driver::sys;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

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

const NVML_CLOCK_SM: c_int = 1;
const NVML_TEMPERATURE_GPU: c_int = 0;

const INTERVAL: Duration = Duration::from_millis(20);

/// How a quantity varied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least sample.
    pub min: f64,
    /// The median sample.
    pub median: f64,
    /// The greatest sample.
    pub max: f64,
}

/// What a GPU's sensors said while something ran, sampled every 20 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Telemetry {
    /// Clock of the SMs, in MHz.
    pub sm_mhz: Range,
    /// Power drawn, in watts. From Ampere on the sensor averages over a second.
    pub power_watts: Range,
    /// Temperature, in degrees Celsius.
    pub celsius: Range,
    /// The power limit in force, in watts.
    pub power_limit_watts: f64,
    /// How many samples these are.
    pub samples: usize,
}

impl Telemetry {
    /// Runs `work` and samples the sensors of `gpu` on another thread meanwhile, once at least.
    /// `None` without NVML, or where it does not offer them (as in a virtual machine).
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
    // SAFETY: NVML is initialised, and the buffer has the length stated.
    let status = unsafe { (nvml.nvmlSystemGetDriverVersion)(text.as_mut_ptr().cast(), 96) };
    (status == 0).then(|| driver::text(&text))
}

/// NVML, loaded and initialised once.
fn nvml() -> Option<&'static Nvml> {
    static NVML: OnceLock<Option<Nvml>> = OnceLock::new();
    let load = || {
        let name = if cfg!(windows) {
            "nvml.dll"
        } else {
            "libnvidia-ml.so.1"
        };
        let nvml = Nvml::load(dynamic::open(name).ok()?).ok()?;
        // SAFETY: takes nothing; may be called at any time.
        (unsafe { (nvml.nvmlInit_v2)() } == 0).then_some(nvml)
    };
    NVML.get_or_init(load).as_ref()
}

/// Where `gpu` sits, as NUL-terminated text: CUDA and NVML number GPUs differently.
fn bus_id(gpu: &Context) -> Option<[u8; 32]> {
    let mut text = [0u8; 32];
    // SAFETY: a device of the ready driver, and a buffer with its length.
    let result =
        unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), 32, gpu.context.device()) };
    driver::check("cuDeviceGetPCIBusId", result)
        .ok()
        .map(|()| text)
}

/// Samples until the other end of `stopped` is gone.
fn sample(bus_id: &[u8; 32], stopped: &Receiver<()>) -> Option<Telemetry> {
    let nvml = nvml()?;
    let mut device = null_mut();
    // SAFETY: NVML is initialised; NUL-terminated text and a valid place for the handle.
    let status =
        unsafe { (nvml.nvmlDeviceGetHandleByPciBusId_v2)(bus_id.as_ptr().cast(), &raw mut device) };
    if status != 0 {
        return None;
    }
    let gpu = Sensors { device };
    let (mut clocks, mut power, mut celsius) = (Vec::new(), Vec::new(), Vec::new());
    loop {
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
        celsius: range(&celsius)?,
        power_limit_watts: gpu.read(nvml.nvmlDeviceGetEnforcedPowerLimit)? / 1e3,
        samples: clocks.len(),
    })
}

/// A GPU's sensors. A reading is `None` where the GPU does not offer it.
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

fn range(values: &[f64]) -> Option<Range> {
    let at = |p| percentile(values, p);
    (!values.is_empty()).then(|| Range {
        min: at(0.0),
        median: at(50.0),
        max: at(100.0),
    })
}
