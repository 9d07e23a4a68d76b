//! The list of rungs, for programs that build and run them: the folders in rungs/ if the sources are here, else the
//! executables beside this one.
use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::KernelOnDisk;
use anyhow::{Context, Result, bail};

/// One rung.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Such as `03_padded`.
    pub name: String,
    /// Its folder, if the sources are here.
    pub folder: Option<PathBuf>,
}

impl Rung {
    /// The name of its package and executable.
    pub fn package(&self) -> String {
        format!("rung{}", self.name)
    }

    /// Its folder, relative to the workspace's root.
    pub fn place(&self) -> String {
        format!("rungs/{}", self.name)
    }

    /// Its kernels, sorted by name.
    pub fn kernels(&self) -> Result<Vec<KernelOnDisk>> {
        let folder = self
            .folder
            .as_deref()
            .context("the sources of the rungs are not here; run this in the workspace")?;
        KernelOnDisk::in_folder(folder).with_context(|| format!("cannot read {}", folder.display()))
    }

    /// Its first kernel.
    pub fn kernel(&self) -> Result<KernelOnDisk> {
        self.kernels()?
            .into_iter()
            .next()
            .with_context(|| format!("rung {} has no kernel.cu", self.name))
    }

    /// Its executable, built if necessary: see [`build`].
    pub fn executable(&self) -> Result<PathBuf> {
        Ok(folder_of_executables()?.join(self.package() + EXE_SUFFIX))
    }
}

/// A rung's kernels for one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Which rung.
    pub rung: Rung,
    /// Such as `sm_80`; `None` if the rung has kernels for one architecture only.
    pub arch: Option<String>,
}

impl Variant {
    /// The variants of these rungs, whose executables have been built.
    pub fn all(rungs: &[Rung]) -> Result<Vec<Self>> {
        let mut variants = Vec::new();
        for rung in rungs {
            let mut archs: Vec<_> = choices(rung)?
                .into_iter()
                .map(|choice| choice.arch)
                .collect();
            archs.dedup();
            let several = archs.len() > 1;
            variants.extend(archs.into_iter().map(|arch| Self {
                rung: rung.clone(),
                arch: several.then_some(arch),
            }));
        }
        Ok(variants)
    }

    /// Such as `05_swizzle` or `06_pipeline sm_80`.
    pub fn label(&self) -> String {
        let words = [Some(self.rung.name.as_str()), self.arch.as_deref()];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// A command that runs it, to which arguments can be added.
    pub fn command(&self) -> Result<Command> {
        let mut command = Command::new(self.rung.executable()?);
        command.args(self.arch.iter().flat_map(|arch| ["--arch", arch]));
        Ok(command)
    }
}

/// A kernel of a rung, as its `--json` lists them.
#[derive(Clone, Debug, serde::Deserialize)]
pub struct Choice {
    /// For `--arch`.
    pub arch: String,
    /// For `--tile`, if there are several.
    pub tile: Option<String>,
}

/// The kernels of a rung, whose executable has been built.
pub fn choices(rung: &Rung) -> Result<Vec<Choice>> {
    #[derive(serde::Deserialize)]
    struct Report {
        kernels: Vec<Choice>,
    }
    let output = Command::new(rung.executable()?)
        .args(["--json", "--device", "emulator", "--size", "1"])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", rung.package()))?;
    let report: Report = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{} does not list its kernels", rung.package()))?;
    Ok(report.kernels)
}

/// The workspace's root, if its sources are here.
pub fn root() -> Option<PathBuf> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let starts = [manifest, env::current_dir().ok(), env::current_exe().ok()];
    let is_root =
        |folder: &&Path| folder.join("Cargo.toml").is_file() && folder.join("rungs").is_dir();
    starts
        .iter()
        .flatten()
        .find_map(|start| start.ancestors().find(is_root))
        .map(Path::to_owned)
}

/// All rungs, in order.
pub fn all() -> Result<Vec<Rung>> {
    let mut rungs = match root() {
        Some(root) => of_folders(&root.join("rungs"))?,
        None => of_executables(&folder_of_executables()?)?,
    };
    if rungs.is_empty() {
        bail!("there are no rungs: neither a folder rungs/ nor executables beside this one");
    }
    rungs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(rungs)
}

/// The folders with kernels of the book's experiments, relative to the workspace's root and sorted, such as
/// `book/labs/transpose`. `cargo ladder ptx` keeps these, the rungs' and the [`faults`]' PTX current.
pub fn labs() -> Result<Vec<(String, Vec<KernelOnDisk>)>> {
    kernels_below("book/labs", KernelOnDisk::in_folder)
}

/// The folders with planted faults, which the sanitizer must find, such as `tests/faults/race_warp`.
pub fn faults() -> Result<Vec<(String, Vec<KernelOnDisk>)>> {
    kernels_below("tests/faults", KernelOnDisk::all_in_folder)
}

fn kernels_below(
    folder: &str,
    kernels: impl Fn(&Path) -> std::io::Result<Vec<KernelOnDisk>>,
) -> Result<Vec<(String, Vec<KernelOnDisk>)>> {
    let Some(path) = root()
        .map(|root| root.join(folder))
        .filter(|path| path.is_dir())
    else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for path in entries(&path)?.into_iter().filter(|path| path.is_dir()) {
        let kernels = kernels(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if let (Some(name), false) = (path.file_name(), kernels.is_empty()) {
            found.push((format!("{folder}/{}", name.to_string_lossy()), kernels));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// The rung called `3`, `03`, `03_padded` or `rung03_padded`.
pub fn find(which: &str) -> Result<Rung> {
    let all = all()?;
    let wanted = which.trim_start_matches("rung");
    let number = |text: &str| text.parse::<u32>().ok();
    let same_number = |rung: &Rung| {
        number(wanted).is_some() && rung.name.split('_').next().and_then(number) == number(wanted)
    };
    let is_it = |rung: &&Rung| rung.name == wanted || same_number(rung);
    all.iter().find(is_it).cloned().with_context(|| {
        let names: Vec<_> = all.iter().map(|rung| rung.name.as_str()).collect();
        format!("there is no rung {which}; there are {}", names.join(", "))
    })
}

/// These rungs, each named as for [`find`]; all if the list is empty.
pub fn named(which: &[String]) -> Result<Vec<Rung>> {
    match which {
        [] => all(),
        some => some.iter().map(|which| find(which)).collect(),
    }
}

/// Builds the executables with cargo, in this program's profile; cargo skips those that are current. Without cargo or
/// sources, the executables must exist.
pub fn build(rungs: &[Rung]) -> Result<()> {
    if let Some(root) = root() {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command
            .current_dir(root)
            .args(["build", "--quiet"])
            .args(profile(&folder_of_executables()?));
        for rung in rungs {
            command.args(["--package", &rung.package()]);
        }
        match command.status() {
            Ok(status) if !status.success() => bail!("cargo could not build the rungs"),
            Ok(_) | Err(_) => {}
        }
    }
    for rung in rungs {
        let executable = rung.executable()?;
        if !executable.is_file() {
            bail!(
                "{} is missing; `cargo build --package {}` makes it",
                executable.display(),
                rung.package()
            );
        }
    }
    Ok(())
}

/// The arguments that make cargo build into this program's folder.
fn profile(folder: &Path) -> Vec<String> {
    match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => Vec::new(),
        Some(name) => vec!["--profile".into(), name.into()],
    }
}

/// The folder of this program and of the rungs' executables.
///
/// # Errors
/// If the operating system does not report the path of this program.
pub fn folder_of_executables() -> Result<PathBuf> {
    let this = env::current_exe().context("cannot find the folder of this program")?;
    Ok(this.parent().map(Path::to_owned).unwrap_or_default())
}

fn of_folders(folder: &Path) -> Result<Vec<Rung>> {
    let has_kernel =
        |folder: &PathBuf| KernelOnDisk::in_folder(folder).is_ok_and(|kernels| !kernels.is_empty());
    let folders = entries(folder)?.into_iter().filter(has_kernel);
    let rung = |folder: PathBuf| {
        Some(Rung {
            name: folder.file_name()?.to_str()?.to_owned(),
            folder: Some(folder),
        })
    };
    Ok(folders.filter_map(rung).collect())
}

fn of_executables(folder: &Path) -> Result<Vec<Rung>> {
    let name = |file: &PathBuf| {
        let name = file
            .file_name()?
            .to_str()?
            .strip_suffix(EXE_SUFFIX)?
            .strip_prefix("rung")?
            .to_owned();
        let is_rung = name.starts_with(|c: char| c.is_ascii_digit()) && !name.contains('.');
        is_rung.then_some(Rung { name, folder: None })
    };
    Ok(entries(folder)?.iter().filter_map(name).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_are_found_by_number_and_by_name() {
        let rung = find("1").expect("the folder rungs/");
        for which in ["01", "01_naive", "rung01_naive"] {
            assert_eq!(find(which).expect("the folder rungs/"), rung);
        }
        let error = find("99").expect_err("no such rung").to_string();
        assert!(error.contains("01_naive"), "{error}");
    }

    #[test]
    fn rungs_are_found_beside_the_ladder() {
        let folder = env::temp_dir().join(format!("ladder-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a writable folder for temporary files");
        for file in ["rung01_naive", "rung01_naive.d", "rungs", "ladder"] {
            fs::write(folder.join(format!("{file}{EXE_SUFFIX}")), "").expect("writable");
        }
        let found = of_executables(&folder).expect("readable");
        fs::remove_dir_all(&folder).expect("it was made above");
        assert_eq!(
            found,
            [Rung {
                name: "01_naive".into(),
                folder: None
            }]
        );
    }

    #[test]
    fn each_rung_has_a_kernel() {
        for rung in all().expect("the folder rungs/") {
            let kernel = rung.kernel().expect("a kernel");
            assert_eq!(kernel.kernel().file, "kernel.cu", "{}", rung.name);
        }
    }
}
