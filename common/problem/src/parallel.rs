//! Rayon's parallel iterators. WebAssembly has no threads; there they are the standard library's.
#[cfg(not(target_family = "wasm"))]
pub use rayon::prelude::*;

#[cfg(target_family = "wasm")]
pub use on_one_thread::*;

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
