//! Detects that a file was saved.
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::{Context, Result};
use notify_debouncer_mini::notify::{PollWatcher, RecommendedWatcher, RecursiveMode};
use notify_debouncer_mini::{Config, DebounceEventResult, Debouncer, new_debouncer_opt};
use sha2::{Digest, Sha256};

use super::state::Event;
use crate::submission::BESIDE;

/// A save consists of several events: an editor truncates a file and writes it, or writes another and renames it.
const SETTLED: Duration = Duration::from_millis(50);

/// How long a file may be absent while an editor replaces it.
const REPLACED: Duration = Duration::from_millis(200);

/// How often files are polled on systems without events.
const POLLED: Duration = Duration::from_millis(300);

/// Reports when a file's content changes, until dropped.
pub enum Saved {
    Told(
        #[expect(dead_code, reason = "it watches until it is dropped")]
        Debouncer<RecommendedWatcher>,
    ),
    Polled(#[expect(dead_code, reason = "likewise")] Debouncer<PollWatcher>),
}

impl Saved {
    /// Watches a kernel and the predictions beside it. It watches their folder, since editors replace files.
    ///
    /// # Errors
    /// If the folder cannot be watched.
    pub fn watch(file: &Path, to: Sender<Event>) -> Result<Self> {
        let folder = match file.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let cannot = || format!("{} cannot be watched", folder.display());
        let config = || Config::default().with_timeout(SETTLED);
        let polled = || {
            config().with_notify_config(
                notify_debouncer_mini::notify::Config::default().with_poll_interval(POLLED),
            )
        };
        let told = new_debouncer_opt::<_, RecommendedWatcher>(config(), changed(file, to.clone()))
            .and_then(|mut told| {
                told.watcher().watch(folder, RecursiveMode::NonRecursive)?;
                Ok(told)
            });
        if let Ok(told) = told {
            return Ok(Self::Told(told));
        }
        let mut polled = new_debouncer_opt::<_, PollWatcher>(polled(), changed(file, to))
            .with_context(cannot)?;
        polled
            .watcher()
            .watch(folder, RecursiveMode::NonRecursive)
            .with_context(cannot)?;
        Ok(Self::Polled(polled))
    }
}

/// Handles an event in the folder.
fn changed(file: &Path, to: Sender<Event>) -> impl FnMut(DebounceEventResult) + Send + 'static {
    let file = file.to_owned();
    let mut before = content(&file);
    move |_| {
        let mut now = content(&file);
        if now.0.is_none() && before.0.is_some() {
            std::thread::sleep(REPLACED);
            now = content(&file);
        }
        // Opening or touching a file changes nothing.
        let event = match (&before.0, &now.0) {
            (None, None) => return,
            (Some(_), None) => Event::FileRemoved,
            _ if now == before => return,
            _ => Event::FileChanged,
        };
        before = now;
        let _ = to.send(event);
    }
}

type Hash = Option<Vec<u8>>;

/// Hash of the kernel and the files that belong to it.
fn content(file: &Path) -> (Hash, [Hash; BESIDE.len()]) {
    let hash = |path: PathBuf| {
        let bytes = std::fs::read(path).ok()?;
        Some(Sha256::digest(bytes).to_vec())
    };
    (
        hash(file.to_owned()),
        BESIDE.map(|name| hash(file.with_file_name(name))),
    )
}
