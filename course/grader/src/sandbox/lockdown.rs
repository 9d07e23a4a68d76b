//! What a process under the lock can still do: compute, take memory up to a limit, read and write the pipes that it
//! has, and end. The kernel of Linux enforces it, twice over: landlock refuses every file, and
//! seccomp every call that names one, with all others that a compiler has no use for. Resource limits bound the rest.
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter_all_threads,
};

use super::{Limits, REMEDY};

/// Shows that this process is locked for the rest of its life.
pub struct Lock(());

impl Lock {
    /// Locks this process, and tries the lock.
    ///
    /// # Errors
    /// If any of it cannot be had.
    pub fn take(limits: Limits) -> Result<Self> {
        // Landlock binds the thread that asks and those that it starts.
        let threads = fs::read_dir("/proc/self/task")
            .context("/proc is not there")?
            .count();
        ensure!(
            threads == 1,
            "{threads} threads run before the lock is taken"
        );
        no_files().with_context(|| format!("landlock is not to be had; {REMEDY}"))?;
        ensure!(
            denied(fs::read_dir("/")) && denied(fs::File::open("/proc/self/exe")),
            "landlock is there and lets files be opened; {REMEDY}"
        );
        bounded(limits).context("limits of resources are not to be had")?;
        few_calls().with_context(|| format!("seccomp is not to be had; {REMEDY}"))?;
        ensure!(
            fs::metadata("/").is_err(),
            "seccomp is there and lets files be looked at; {REMEDY}"
        );
        Ok(Self(()))
    }
}

/// Shows that this process, and those that it starts, write to one folder only and read little.
pub struct ToolsLock(());

/// Where the system's libraries are, and what a program opens that has no input.
const SYSTEM: [&str; 5] = ["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null"];

/// The largest file that may be written: machine code of a kernel has some hundred KiB.
const MOST_FILE: u64 = 64 << 20;

impl ToolsLock {
    /// Locks this process, and tries the lock: these folders may be read and their programs run, and `scratch` may be written to.
    ///
    /// # Errors
    /// If any of it cannot be had.
    pub fn take(limits: Limits, readable: &[PathBuf], scratch: &Path) -> Result<Self> {
        let read = SYSTEM.into_iter().map(Path::new);
        let read = read.chain(readable.iter().map(PathBuf::as_path));
        let written = [scratch, Path::new("/dev/null")];
        let ruleset = ruleset()
            .and_then(|ruleset| {
                Ok(ruleset
                    .add_rules(path_beneath_rules(read, AccessFs::from_read(ABI::V1)))?
                    .add_rules(path_beneath_rules(written, AccessFs::from_all(ABI::V1)))?)
            })
            .with_context(|| format!("landlock is not to be had; {REMEDY}"))?;
        enforce(ruleset)?;
        ensure!(
            denied(fs::read_dir("/")) && denied(fs::File::open("/proc/self/status")),
            "landlock is there and lets files be opened; {REMEDY}"
        );
        let seconds = u64::from(limits.seconds);
        let bytes = u64::from(limits.mebibytes) << 20;
        set_limits(&[
            (Resource::Cpu, seconds, seconds + 1),
            (Resource::As, bytes, bytes),
            (Resource::Fsize, MOST_FILE, MOST_FILE),
            (Resource::Core, 0, 0),
        ])
        .context("limits of resources are not to be had")?;
        Ok(Self(()))
    }
}

fn denied<T>(tried: std::io::Result<T>) -> bool {
    tried.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}

/// No file below any folder may be opened, executed, made or removed. That much every landlock has, and is
/// required; what later ones add is taken where it is there.
fn no_files() -> Result<()> {
    enforce(ruleset()?)
}

/// What every access is asked of.
fn ruleset() -> Result<RulesetCreated> {
    Ok(Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V6))?
        .handle_access(AccessNet::from_all(ABI::V6))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?)
}

fn enforce(ruleset: RulesetCreated) -> Result<()> {
    let status = ruleset.restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        bail!("it enforces nothing");
    }
    Ok(())
}

fn bounded(limits: Limits) -> Result<()> {
    let seconds = u64::from(limits.seconds);
    let bytes = u64::from(limits.mebibytes) << 20;
    set_limits(&[
        (Resource::Cpu, seconds, seconds + 1),
        (Resource::As, bytes, bytes),
        (Resource::Fsize, 0, 0),
        (Resource::Core, 0, 0),
        (Resource::Nproc, 0, 0),
        // Pipes could still be opened through /proc, which landlock lets pass.
        (Resource::Nofile, 0, 0),
    ])
}

/// Of each resource a limit that ends a program's calls, and one beyond it.
fn set_limits(limits: &[(Resource, u64, u64)]) -> Result<()> {
    for &(resource, soft, hard) in limits {
        let limit = Rlimit {
            current: Some(soft),
            maximum: Some(hard),
        };
        setrlimit(resource, limit).with_context(|| format!("{resource:?}"))?;
    }
    Ok(())
}

/// All other calls answer that there is no such file, which is what a compiler knows how to report.
fn few_calls() -> Result<()> {
    let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|&call| (call, Vec::new())).collect();
    // NVRTC raises its own stack, and nothing else.
    let is = |argument, value| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
    };
    let own_stack = SeccompRule::new(vec![is(0, 0)?, is(1, u64::from(libc::RLIMIT_STACK))?])?;
    rules.insert(libc::SYS_prlimit64, vec![own_stack]);
    let filter: BpfProgram = SeccompFilter::new(
        rules,
        SeccompAction::Errno(libc::ENOENT as u32),
        SeccompAction::Allow,
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()?;
    Ok(apply_filter_all_threads(&filter)?)
}

/// Memory, time, the pipes that are open, the end.
const ALLOWED: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getcwd,
    libc::SYS_getrandom,
    libc::SYS_sysinfo,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_getrusage,
    libc::SYS_times,
    libc::SYS_sched_yield,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];
