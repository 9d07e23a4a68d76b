//! Rayon's parallel iterators. WebAssembly has no threads; there they are the standard library's.
#[cfg(not(target_family = "wasm"))]
pub use rayon::prelude::*;

#[cfg(target_family = "wasm")]
pub use on_one_thread::*;

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

#[cfg(target_family = "wasm")]
mod on_one_thread {
    use std::slice::{ChunksExact, ChunksExactMut, Iter};

    pub trait IntoParallelIterator: IntoIterator + Sized {
        fn into_par_iter(self) -> Self::IntoIter {
            self.into_iter()
        }
    }

    impl<I: IntoIterator> IntoParallelIterator for I {}

    pub trait IndexedParallelIterator: Iterator + Sized {
        fn with_min_len(self, _: usize) -> Self {
            self
        }
    }

    impl<I: Iterator> IndexedParallelIterator for I {}

    pub trait ParallelSlice<T> {
        fn par_iter(&self) -> Iter<'_, T>;
        fn par_chunks_exact(&self, size: usize) -> ChunksExact<'_, T>;
        fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksExactMut<'_, T>;
    }

    impl<T> ParallelSlice<T> for [T] {
        fn par_iter(&self) -> Iter<'_, T> {
            self.iter()
        }

        fn par_chunks_exact(&self, size: usize) -> ChunksExact<'_, T> {
            self.chunks_exact(size)
        }

        fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksExactMut<'_, T> {
            self.chunks_exact_mut(size)
        }
    }
}
