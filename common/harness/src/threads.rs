//! How many threads there are, and what runs on two of them.
/// Above this number, more threads do not help and take a lot of memory.
#[cfg(not(target_family = "wasm"))]
const MAX_THREADS: usize = 512;

/// Limits the threads to [`MAX_THREADS`], whatever `RAYON_NUM_THREADS` says. Called before any work.
pub fn limit_threads() {
    #[cfg(not(target_family = "wasm"))]
    {
        let asked = std::env::var("RAYON_NUM_THREADS").ok();
        let asked = asked.and_then(|threads| threads.trim().parse::<usize>().ok());
        if asked.is_some_and(|threads| threads > MAX_THREADS) {
            let bounded = rayon::ThreadPoolBuilder::new().num_threads(MAX_THREADS);
            // A pool already exists, and its size cannot be changed.
            let _ = bounded.build_global();
        }
    }
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
