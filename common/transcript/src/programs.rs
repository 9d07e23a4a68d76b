//! Finds the executables, and runs them.
use std::collections::BTreeSet;
use std::env;
use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{CommandLine, Error};

/// The output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// On standard output.
    pub text: String,
    /// On standard error.
    pub errors: String,
}

/// The executables of a workspace.
#[derive(Clone, Debug)]
pub struct Programs {
    root: PathBuf,
    beside: PathBuf,
}

impl Programs {
    /// The executables of the workspace at `root`: those beside this program, or those in cargo's folder.
    pub fn of(root: &Path) -> Self {
        let this = env::current_exe().unwrap_or_default();
        let folder = this.parent().unwrap_or(Path::new("."));
        // A test is in target/debug/deps, the programs one folder up.
        let beside = match folder.file_name() {
            Some(name) if name == "deps" => folder.parent().unwrap_or(folder),
            _ => folder,
        };
        let root = root.canonicalize().unwrap_or(root.to_owned());
        Self {
            root,
            beside: beside.to_owned(),
        }
    }

    /// Whether this program was built in this workspace.
    fn at_home(&self) -> bool {
        self.beside.starts_with(&self.root)
    }

    /// The executable of a package, if it has been built.
    pub fn executable(&self, package: &str) -> Option<PathBuf> {
        let name = package.to_owned() + EXE_SUFFIX;
        let own = self.root.join("target/debug");
        let folders = match self.at_home() {
            true => [self.beside.clone(), own],
            false => [own, self.beside.clone()],
        };
        let mut files = folders.iter().map(|folder| folder.join(&name));
        files.find(|file| file.is_file())
    }

    /// The packages of all rungs, if their sources are here.
    fn rungs(&self) -> Vec<String> {
        let folders = fs::read_dir(self.root.join("rungs"))
            .into_iter()
            .flatten()
            .flatten();
        let rungs = folders.filter(|folder| folder.path().join("Cargo.toml").is_file());
        rungs
            .filter_map(|folder| Some(format!("rung{}", folder.file_name().to_str()?)))
            .collect()
    }

    /// Builds these packages with cargo in this program's folder. If this program was built elsewhere, the
    /// executables beside it are left unchanged, and cargo builds only what is missing.
    pub fn build(&self, packages: &BTreeSet<&str>) -> Result<(), Error> {
        let at_home = self.at_home();
        // The ladder runs the rungs' executables.
        let rungs = match packages.contains("ladder") {
            true => self.rungs(),
            false => Vec::new(),
        };
        let mut packages = packages.clone();
        packages.extend(rungs.iter().map(String::as_str));
        let wanted = |package: &&&str| at_home || self.executable(package).is_none();
        let wanted: Vec<&str> = packages.iter().filter(wanted).copied().collect();
        if !wanted.is_empty() {
            let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.current_dir(&self.root).args(["build", "--quiet"]);
            match self.beside.file_name().and_then(|name| name.to_str()) {
                Some("debug") | None => {}
                Some(_) if !at_home => {}
                Some(profile) => {
                    cargo.args(["--profile", profile]);
                }
            }
            cargo.args(wanted.iter().flat_map(|package| ["--package", package]));
            // Without cargo, the executables must exist.
            if cargo.status().is_ok_and(|status| !status.success()) {
                return Err(Error::Build(
                    wanted.into_iter().map(str::to_owned).collect(),
                ));
            }
        }
        match packages
            .iter()
            .find(|package| self.executable(package).is_none())
        {
            Some(&package) => Err(Error::Missing {
                package: package.into(),
            }),
            None => Ok(()),
        }
    }

    /// Runs a command in the workspace's folder, on the emulator and with the committed PTX.
    pub fn run(&self, line: &CommandLine) -> Result<Output, Error> {
        let package = &line.package;
        let executable = self.executable(package).ok_or_else(|| Error::Missing {
            package: package.clone(),
        })?;
        let mut program = Command::new(executable);
        if package.starts_with("rung") {
            program.args(["--device", "emulator"]);
        }
        let output = program
            .args(&line.arguments)
            .env("GEMM_NVRTC", self.root.join("no-compiler"))
            // Everything it runs has been built; waiting for cargo's lock would only take time.
            .env("CARGO", self.root.join("no-cargo"))
            .env("CUDA_VISIBLE_DEVICES", "") // hides GPUs from every program
            .env("NO_COLOR", "1")
            .env("COLUMNS", "120")
            .env_remove("CARGO_MANIFEST_DIR")
            .current_dir(&self.root)
            .output()
            .map_err(|source| Error::Start {
                command: line.text.clone(),
                source,
            })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Output {
            code: output.status.code(),
            text: text(&output.stdout),
            errors: text(&output.stderr),
        })
    }
}
