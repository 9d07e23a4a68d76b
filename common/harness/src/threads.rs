//! How many threads there are, and what runs on two of them.
#[cfg(not(target_family = "wasm"))]
use std::thread::available_parallelism;

/// The most threads for each core. More than one shows that results do not depend on their number; hundreds would only take
/// memory, and time in which they look for work.
#[cfg(not(target_family = "wasm"))]
const MAX_PER_CORE: usize = 4;

/// Limits the threads to [`MAX_PER_CORE`] for each core, whatever `RAYON_NUM_THREADS` says. Called before any work.
pub fn limit_threads() {
    #[cfg(not(target_family = "wasm"))]
    {
        let asked = std::env::var("RAYON_NUM_THREADS").ok();
        let cores = available_parallelism().map_or(1, usize::from);
        if let Some(threads) = asked.and_then(|asked| limited(&asked, cores)) {
            let bounded = rayon::ThreadPoolBuilder::new().num_threads(threads);
            // A pool already exists, and its size cannot be changed.
            let _ = bounded.build_global();
        }
    }
}

/// The number of threads instead of the one that was asked for, if that is too large.
#[cfg(not(target_family = "wasm"))]
fn limited(asked: &str, cores: usize) -> Option<usize> {
    let asked: usize = asked.trim().parse().ok()?;
    let most = cores.saturating_mul(MAX_PER_CORE);
    (asked > most).then_some(most)
}

/// Runs `here`, and `beside` at the same time on its own thread, if there is one. In rayon's shared pool, `beside` would be queued
/// behind the work of `here`.
pub fn both<A, B: Send>(
    here: impl FnOnce() -> A,
    beside: impl FnOnce() -> B + Send,
) -> (A, Option<B>) {
    #[cfg(not(target_family = "wasm"))]
    if let Ok(thread) = rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        let mut second = None;
        let first = thread.in_place_scope(|scope| {
            scope.spawn(|_| second = Some(beside()));
            here()
        });
        return (first, second);
    }
    (here(), Some(beside()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_limited_by_the_cores() {
        for (asked, cores, threads) in [
            ("100000", 2, Some(8)),
            ("512", 2, Some(8)),
            (" 9 ", 2, Some(8)),
            ("8", 2, None),
            ("1", 2, None),
            ("many", 2, None),
            ("512", 128, None),
        ] {
            assert_eq!(limited(asked, cores), threads, "{asked} on {cores}");
        }
    }
}
