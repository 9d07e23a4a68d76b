//! What a rung says of itself in its `main.rs`.

/// One step of the ladder: its kernels and what a reader may switch.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// The name of its folder in `rungs/`, such as `03_padded`.
    pub name: &'static str,
    /// Its kernels, one for each architecture that it is written for.
    pub kernels: &'static [KernelFile<'static>],
    /// What can be switched at run time.
    pub switches: &'static [Switch],
}

/// A kernel's source with the PTX that was committed for it.
#[derive(Clone, Copy, Debug)]
pub struct KernelFile<'a> {
    /// The file's name in the rung's folder, such as `kernel.cu`.
    pub file: &'a str,
    /// Its text.
    pub source: &'a str,
    /// The text of the committed PTX beside it.
    pub ptx: &'a str,
    /// What it is compiled for: `sm_80` or `sm_90a`.
    pub arch: &'a str,
}

/// A flag of the command line that the kernel takes as a trailing `int` parameter, 0 or 1.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// The flag without its dashes, such as `uncoalesced`.
    pub flag: &'static str,
    /// What it does, for `--help`.
    pub help: &'static str,
}
