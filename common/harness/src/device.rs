//! Emulator or GPU, and which of the rung's kernels it runs.
use std::path::Path;

use emulator::Card;
use gpu::Nvrtc;

use crate::arguments::{Arguments, Command, Device as Wanted};
use crate::{Error, KernelFile, Result, Rung, Size, source};

/// Where the kernel runs.
#[derive(Clone, Debug)]
pub enum Device {
    /// On this machine's processor, as this GPU would.
    Emulator(Card),
    /// On this GPU.
    Gpu(gpu::DeviceInfo),
}

impl Device {
    /// What the arguments ask for, if it is there.
    pub fn choose(arguments: &Arguments) -> Result<Self> {
        let emulator = Self::Emulator(arguments.emulate.unwrap_or_default());
        // Who names the card to emulate wants the emulator.
        let wanted = match (arguments.emulate, arguments.device) {
            (Some(card), Wanted::Gpu(_)) => return Err(Error::EmulatorsCard(card)),
            (Some(_), _) => Wanted::Emulator,
            (None, wanted) => wanted,
        };
        // `profile` counts on the emulator; a GPU adds its time to that.
        if arguments.command == Some(Command::Profile) {
            return Ok(emulator);
        }
        let sanitize = arguments.command == Some(Command::Sanitize);
        let emulator_only = sanitize.then_some("sanitize");
        let bench = matches!(arguments.command, Some(Command::Bench { .. }));
        match (wanted, emulator_only) {
            (Wanted::Gpu(_), Some(command)) => Err(Error::EmulatorOnly(command)),
            (Wanted::Gpu(ordinal), None) => Ok(Self::Gpu(gpu_at(ordinal)?)),
            (Wanted::Emulator, _) if bench => {
                Err(Error::BenchNeedsGpu("the emulator is none".into()))
            }
            (Wanted::Auto, None) => match gpu_at(0) {
                Ok(info) => Ok(Self::Gpu(info)),
                Err(why) if bench => Err(Error::BenchNeedsGpu(why.to_string())),
                Err(_) => Ok(emulator),
            },
            (Wanted::Emulator | Wanted::Auto, _) => Ok(emulator),
        }
    }

    /// The GPU whose time `profile` shows beside the emulator's counters: the one that the arguments name, or the
    /// first if it runs code for `arch`.
    ///
    /// # Errors
    /// If the arguments name one, and it is not there or does not run that code.
    pub fn beside_the_emulator(
        arguments: &Arguments,
        arch: &str,
    ) -> Result<Option<gpu::DeviceInfo>> {
        let runs_it = |info: gpu::DeviceInfo| {
            let device = Self::Gpu(info.clone());
            device.check_arch(arch).map(|()| info)
        };
        match arguments.device {
            _ if arguments.emulate.is_some() => Ok(None),
            Wanted::Emulator => Ok(None),
            Wanted::Auto => Ok(gpu_at(0).ok().and_then(|info| runs_it(info).ok())),
            Wanted::Gpu(ordinal) => runs_it(gpu_at(ordinal)?).map(Some),
        }
    }

    /// As `--device` names it.
    pub fn flag(&self) -> String {
        match self {
            Self::Emulator(_) => "emulator".into(),
            Self::Gpu(info) => format!("gpu:{}", info.ordinal),
        }
    }

    /// What a GPU runs where no size is asked for: enough to fill it.
    pub const FULL: Size = Size::cube(4096);

    /// The size where none is asked for: one that takes about a second.
    pub fn default_size(&self) -> Size {
        match self {
            Self::Emulator(_) => Size::cube(256),
            Self::Gpu(_) => Self::FULL,
        }
    }

    /// The GPU that the emulator stands for.
    pub fn emulated(&self) -> Option<Card> {
        match self {
            Self::Emulator(card) => Some(*card),
            Self::Gpu(_) => None,
        }
    }

    /// How many multiprocessors there are.
    pub fn multiprocessors(&self) -> u32 {
        match self {
            Self::Emulator(card) => card.multiprocessors(),
            Self::Gpu(info) => info.multiprocessors,
        }
    }

    /// The PTX for this device: the reader's file, or the rung's kernel that fits best, also to the size.
    pub fn source(&self, rung: &Rung, arguments: &Arguments, size: Size) -> Result<source::Source> {
        let source = match &arguments.kernel {
            Some(path) => self.source_of_file(path, arguments)?,
            None => source::of_folder(
                &format!("rungs/{}", rung.name),
                self.kernel(rung, arguments, size, self.multiprocessors())?,
                Nvrtc::find(),
            )?,
        };
        self.check_arch(&source.arch)?;
        Ok(source)
    }

    fn source_of_file(&self, path: &Path, arguments: &Arguments) -> Result<source::Source> {
        let arch = arguments.arch.as_deref();
        let tile = arguments.tile.as_deref().unwrap_or_default();
        let mut source = source::of_file(path, arch, tile, Nvrtc::find())?;
        if source.origin == source::Origin::File {
            // PTX says itself what it is for; what cannot be parsed is refused later, with its line.
            if let Ok(module) = emulator::Module::parse(&source.ptx) {
                source.arch = module.target().to_owned();
            }
            if let Some(wanted) = arch.filter(|wanted| *wanted != source.arch) {
                return Err(Error::ArchOfPtx {
                    file: source.file,
                    found: source.arch,
                    wanted: wanted.into(),
                });
            }
        }
        Ok(source)
    }

    /// The kernel for `arch`, or the last of those that this device runs: a rung lists the newest last. Of
    /// its configurations the one that costs least at this size on a card of so many multiprocessors.
    pub fn kernel<'a>(
        &self,
        rung: &'a Rung,
        arguments: &Arguments,
        size: Size,
        multiprocessors: u32,
    ) -> Result<&'a KernelFile<'a>> {
        let arch = arguments.arch.as_deref();
        let fits = |kernel: &&KernelFile<'_>| match arch {
            Some(arch) => kernel.arch == arch,
            None => self.check_arch(kernel.arch).is_ok(),
        };
        let newest = rung
            .kernels
            .iter()
            .rfind(fits)
            .or(rung.kernels.first().filter(|_| arch.is_none()));
        let newest = newest.ok_or_else(|| Error::NoArch {
            rung: rung.name.into(),
            wanted: arch.unwrap_or("this device").into(),
            has: rung
                .kernels
                .iter()
                .map(|kernel| kernel.arch.to_owned())
                .collect(),
        })?;
        let cost = |kernel: &KernelFile| kernel.cost(size, multiprocessors);
        let of_newest = rung.configurations(newest.file);
        let several = of_newest.clone().count() > 1;
        let wanted = |kernel: &&KernelFile| {
            let wanted = arguments.tile.as_deref();
            wanted.is_none_or(|wanted| several && kernel.tile() == wanted)
        };
        let best = of_newest
            .clone()
            .filter(wanted)
            .min_by(|a, b| cost(a).total_cmp(&cost(b)));
        best.ok_or_else(|| Error::NoTile {
            file: newest.file.into(),
            wanted: arguments.tile.clone().unwrap_or_default(),
            has: of_newest
                .filter(|_| several)
                .map(KernelFile::tile)
                .collect(),
        })
    }

    /// Whether this device runs code for `arch`: `sm_90a` only on 9.0, others on all that are newer.
    fn check_arch(&self, arch: &str) -> Result<()> {
        let digits = arch.trim_start_matches("sm_");
        let number = digits.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let needed = number
            .parse::<u32>()
            .map(|n| (n / 10, n % 10))
            .unwrap_or((0, 0));
        let info = match self {
            Self::Emulator(Card::H100) => return Ok(()),
            Self::Emulator(card) if card.compute_capability() >= needed => return Ok(()),
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
