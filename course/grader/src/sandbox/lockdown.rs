//! What a locked process can still do: compute, allocate memory up to a limit, use its open pipes, and exit. The Linux
//! kernel enforces this twice: landlock denies access to every file, and seccomp denies every call that names a file
//! and all others that a compiler does not need. Resource limits bound the rest.
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

/// Proof that this process is locked for the rest of its life.
pub struct Lock(());

impl Lock {
    /// Locks this process and tests the lock.
    ///
    /// # Errors
    /// If any part of it is not available.
    pub fn take(limits: Limits) -> Result<Self> {
        // Landlock restricts the calling thread and threads that it starts later.
        let threads = fs::read_dir("/proc/self/task")
            .context("cannot read /proc")?
            .count();
        ensure!(
            threads == 1,
            "{threads} threads are running, but the lock must be taken before others start"
        );
        deny_files().with_context(|| format!("landlock is not available; {REMEDY}"))?;
        ensure!(
            denied(fs::read_dir("/")) && denied(fs::File::open("/proc/self/exe")),
            "landlock is enabled, but files can be opened; {REMEDY}"
        );
        limit_resources(limits).context("resource limits cannot be set")?;
        deny_calls().with_context(|| format!("seccomp is not available; {REMEDY}"))?;
        ensure!(
            fs::metadata("/").is_err(),
            "seccomp is enabled, but files can be examined; {REMEDY}"
        );
        Ok(Self(()))
    }
}

/// Proof that this process and its children can write to one folder only and read only a few.
pub struct ToolsLock(());

/// System libraries, and the file that programs open as empty input.
const SYSTEM: [&str; 5] = ["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null"];

/// The size limit of a written file: a kernel's machine code has some hundred KiB.
const MOST_FILE: u64 = 64 << 20;

impl ToolsLock {
    /// Locks this process and tests the lock: these folders may be read and their programs run, and `scratch` may be
    /// written to.
    ///
    /// # Errors
    /// If any part of it is not available.
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
            .with_context(|| format!("landlock is not available; {REMEDY}"))?;
        enforce(ruleset)?;
        ensure!(
            denied(fs::read_dir("/")) && denied(fs::File::open("/proc/self/status")),
            "landlock is enabled, but files can be opened; {REMEDY}"
        );
        let seconds = u64::from(limits.seconds);
        let bytes = u64::from(limits.mebibytes) << 20;
        set_limits(&[
            (Resource::Cpu, seconds, seconds + 1),
            (Resource::As, bytes, bytes),
            (Resource::Fsize, MOST_FILE, MOST_FILE),
            (Resource::Core, 0, 0),
        ])
        .context("resource limits cannot be set")?;
        Ok(Self(()))
    }
}

fn denied<T>(tried: std::io::Result<T>) -> bool {
    tried.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}

/// Denies opening, executing, creating and removing files everywhere. Every landlock version can do this, so it is
/// required; restrictions of newer versions are used if available.
fn deny_files() -> Result<()> {
    enforce(ruleset()?)
}

/// A ruleset that handles all kinds of access.
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

fn limit_resources(limits: Limits) -> Result<()> {
    let seconds = u64::from(limits.seconds);
    let bytes = u64::from(limits.mebibytes) << 20;
    set_limits(&[
        (Resource::Cpu, seconds, seconds + 1),
        (Resource::As, bytes, bytes),
        (Resource::Fsize, 0, 0),
        (Resource::Core, 0, 0),
        (Resource::Nproc, 0, 0),
        // Landlock does not prevent pipes from being opened through /proc.
        (Resource::Nofile, 0, 0),
    ])
}

/// Sets for each resource a soft limit, at which calls fail, and a hard limit.
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

/// All other calls fail with "no such file", which a compiler knows how to report.
fn deny_calls() -> Result<()> {
    let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|&call| (call, Vec::new())).collect();
    // NVRTC raises its own stack limit, and no other.
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

/// Calls for memory, time and open pipes, and to exit.
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
