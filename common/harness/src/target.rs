//! Chooses the emulator or a GPU from what the user requests and what is present.
use std::str::FromStr;

use emulator::{Card, Options};

use crate::{Device, Error, Result, Size};

/// The requested device: `auto`, `emulator`, `gpu` or `gpu:N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A GPU if there is one, else the emulator.
    Auto,
    /// The emulator.
    Emulator,
    /// This GPU.
    Gpu(usize),
}

impl FromStr for Wanted {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let error = "expected auto, emulator, gpu or gpu:N";
        match text {
            "auto" => Ok(Self::Auto),
            "emulator" => Ok(Self::Emulator),
            "gpu" => Ok(Self::Gpu(0)),
            _ => text
                .strip_prefix("gpu:")
                .and_then(|n| n.parse().ok())
                .map(Self::Gpu)
                .ok_or(error),
        }
    }
}

/// The device that a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Any will do.
    Any,
    /// The emulator counts; a GPU may add its time.
    Counters,
    /// Only the emulator can carry it out.
    Emulator,
    /// Only a GPU can carry it out.
    Gpu,
}

/// The device that runs the kernel.
#[derive(Clone, Debug)]
pub enum Target {
    /// The emulator, which stands in for this GPU.
    Emulator(Card),
    /// On this GPU.
    Gpu(gpu::DeviceInfo),
}

impl Target {
    /// The requested device, if it is present. A card to emulate implies the emulator.
    ///
    /// # Errors
    /// If the device is missing, or does not meet the need.
    pub fn choose(wanted: Wanted, emulate: Option<Card>, need: Need) -> Result<Self> {
        let emulator = Self::Emulator(emulate.unwrap_or_default());
        let wanted = match (emulate, wanted) {
            (Some(card), Wanted::Gpu(_)) => return Err(Error::EmulatedOnGpu(card)),
            (Some(_), _) => Wanted::Emulator,
            (None, wanted) => wanted,
        };
        match (need, wanted) {
            (Need::Counters, _) => Ok(emulator),
            (Need::Emulator, Wanted::Gpu(_)) => Err(Error::EmulatorOnly),
            (Need::Emulator, Wanted::Emulator | Wanted::Auto) => Ok(emulator),
            (Need::Any, Wanted::Gpu(ordinal)) => Ok(Self::Gpu(gpu_at(ordinal)?)),
            (Need::Gpu, Wanted::Emulator) => Err(Error::BenchOnEmulator),
            (Need::Any, Wanted::Emulator) => Ok(emulator),
            (Need::Any, Wanted::Auto) => Ok(real_gpu().map_or(emulator, Self::Gpu)),
            (Need::Gpu, Wanted::Gpu(_) | Wanted::Auto) => {
                let ordinal = if let Wanted::Gpu(ordinal) = wanted {
                    ordinal
                } else {
                    0
                };
                let no_bench = |why| match why {
                    gpu::GpuError::NoDriver => "no NVIDIA driver was found".into(),
                    gpu::GpuError::NoDevice => "the NVIDIA driver sees no GPU".into(),
                    other => other.to_string(),
                };
                let found = gpu_at(ordinal).map_err(|why| Error::BenchNeedsGpu(no_bench(why)))?;
                match found.emulated {
                    true => Err(Error::BenchNeedsGpu("this one is emulated".into())),
                    false => Ok(Self::Gpu(found)),
                }
            }
        }
    }

    /// The GPU whose time is shown beside the emulator's counters: the requested one, or the first if it runs code
    /// for `arch`.
    ///
    /// # Errors
    /// If a GPU was requested that is missing or does not run that code.
    pub fn beside_the_emulator(
        wanted: Wanted,
        emulate: Option<Card>,
        arch: &str,
    ) -> Result<Option<Self>> {
        let runs_it = |info: gpu::DeviceInfo| {
            let target = Self::Gpu(info);
            target.check_arch(arch).map(|()| target)
        };
        match wanted {
            _ if emulate.is_some() => Ok(None),
            Wanted::Emulator => Ok(None),
            Wanted::Auto => Ok(real_gpu().and_then(|info| runs_it(info).ok())),
            Wanted::Gpu(ordinal) => runs_it(gpu_at(ordinal)?).map(Some),
        }
    }

    /// Opens the device; the emulator with these options and as its card.
    ///
    /// # Errors
    /// If the GPU cannot be opened.
    pub fn open(&self, options: Options) -> Result<Device> {
        Ok(match self {
            Self::Emulator(card) => {
                let options = Options {
                    card: *card,
                    ..options
                };
                Device::Emulator(Box::new(emulator::Context::new(options)))
            }
            Self::Gpu(info) => Device::Gpu(gpu::Context::open(info.ordinal)?),
        })
    }

    /// The name, as [`Wanted`] parses it.
    pub fn name(&self) -> String {
        match self {
            Self::Emulator(_) => "emulator".into(),
            Self::Gpu(info) => format!("gpu:{}", info.ordinal),
        }
    }

    /// The default size on a GPU: large enough to fill it.
    pub const FULL: Size = Size::cube(4096);

    /// The default size, which takes about a second.
    pub fn default_size(&self) -> Size {
        match self {
            Self::Emulator(_) => Size::cube(256),
            Self::Gpu(info) if info.emulated => Size::cube(256),
            Self::Gpu(_) => Self::FULL,
        }
    }

    /// The emulated GPU.
    pub fn emulated(&self) -> Option<Card> {
        match self {
            Self::Emulator(card) => Some(*card),
            Self::Gpu(_) => None,
        }
    }

    /// Number of SMs.
    pub fn sms(&self) -> u32 {
        match self {
            Self::Emulator(card) => card.sms(),
            Self::Gpu(info) => info.sms,
        }
    }

    /// Checks that the device runs code for `arch`: `sm_90a` only on 9.0, other code on every newer device.
    ///
    /// # Errors
    /// If it does not.
    pub fn check_arch(&self, arch: &str) -> Result<()> {
        let digits = arch.trim_start_matches("sm_");
        let number = digits.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let needed = number
            .parse::<u32>()
            .map(|n| (n / 10, n % 10))
            .unwrap_or((0, 0));
        let info = match self {
            Self::Emulator(card) if card.runs(arch) => return Ok(()),
            Self::Emulator(card) => {
                return Err(Error::WrongCard {
                    card: *card,
                    arch: arch.into(),
                });
            }
            Self::Gpu(info) => info,
        };
        let exact = digits.ends_with('a');
        if if exact {
            info.sm == needed
        } else {
            info.sm >= needed
        } {
            Ok(())
        } else {
            Err(Error::WrongGpu {
                gpu: info.name.clone(),
                sm: info.sm,
                arch: arch.into(),
            })
        }
    }
}

/// The first GPU, if it is a real one: the emulator behind CUDA's driver API is used only on request.
fn real_gpu() -> Option<gpu::DeviceInfo> {
    gpu_at(0).ok().filter(|info| !info.emulated)
}

fn gpu_at(ordinal: usize) -> std::result::Result<gpu::DeviceInfo, gpu::GpuError> {
    let devices = gpu::devices()?;
    let count = devices.len();
    let none = if count == 0 {
        gpu::GpuError::NoDevice
    } else {
        gpu::GpuError::NoSuchDevice { ordinal, count }
    };
    devices
        .into_iter()
        .find(|device| device.ordinal == ordinal)
        .ok_or(none)
}
