//! Chooses the kernel: the user's file, or one of the rung's kernels, by device and size.
use std::path::Path;

use gpu::Nvrtc;

use crate::{Error, KernelChoice, KernelFile, Result, Rung, Size, Source, Target, source};

/// The PTX of the chosen kernel.
///
/// # Errors
/// If the chosen kernel does not exist, or cannot be compiled or run on this device.
pub fn source(rung: &Rung, target: &Target, choice: &KernelChoice, size: Size) -> Result<Source> {
    let source = match &choice.file {
        Some(path) => of_file(path, choice)?,
        None => kernel(rung, target, choice, size)?.current(&format!("rungs/{}", rung.name))?,
    };
    target.check_arch(&source.arch)?;
    Ok(source)
}

fn of_file(path: &Path, choice: &KernelChoice) -> Result<Source> {
    let arch = choice.arch.as_deref();
    let tile = choice.tile.as_deref().unwrap_or_default();
    let mut source = source::of_file(path, arch, tile, Nvrtc::find())?;
    if source.origin == source::Origin::File {
        // PTX states its own target; a file that cannot be parsed is refused later, with its line.
        if let Ok(ptx) = emulator::Ptx::parse(&source.ptx) {
            source.arch = ptx.target().to_owned();
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

/// The rung's kernel for the requested architecture, or the newest that this device runs: a rung lists the newest
/// last. Of its tiles, the requested one or the rung's choice at this size.
///
/// # Errors
/// If there is no such kernel.
pub fn kernel<'a>(
    rung: &'a Rung,
    target: &Target,
    choice: &KernelChoice,
    size: Size,
) -> Result<&'a KernelFile<'a>> {
    let arch = choice.arch.as_deref();
    let fits = |kernel: &&KernelFile<'_>| match arch {
        Some(arch) => kernel.arch == arch,
        None => target.check_arch(kernel.arch).is_ok(),
    };
    let newest = rung.kernels.iter().rfind(fits);
    let newest = newest.or(rung.kernels.first().filter(|_| arch.is_none()));
    let newest = newest.ok_or_else(|| Error::NoArch {
        rung: rung.name.into(),
        wanted: arch.unwrap_or("this device").into(),
        has: rung
            .kernels
            .iter()
            .map(|kernel| kernel.arch.to_owned())
            .collect(),
    })?;
    let mut tiles = rung.tiles_of(newest.file);
    let wanted = match (&choice.tile, rung.tile) {
        (Some(wanted), _) => wanted,
        (None, Some(tile)) => tile(size),
        (None, None) => return Ok(newest),
    };
    let several = tiles.clone().count() > 1;
    let found = tiles.find(|kernel| several && kernel.tile() == wanted);
    found.ok_or_else(|| Error::NoTile {
        file: newest.file.into(),
        wanted: wanted.into(),
        has: rung
            .tiles_of(newest.file)
            .filter(|_| several)
            .map(KernelFile::tile)
            .collect(),
    })
}
