//! The module's exports, a C interface: memory for a request, and the call. The caller is JavaScript, which accesses
//! the module's memory by address and length.
use std::cell::RefCell;

thread_local! {
    /// The last answer, which stays in place until the next call.
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Tells the page how many blocks are done, and how many there are.
    fn progress(done: f64, all: f64);
    /// Gives the page a last message before the module stops for good.
    fn panicked(at: *const u8, bytes: usize);
}

fn last_words(panic: &std::panic::PanicHookInfo<'_>) {
    let text = format!("the engine stopped, which is a fault of its own: {panic}");
    // SAFETY: an import that reads that many bytes from there; they live until it returns.
    unsafe { panicked(text.as_ptr(), text.len()) }
}

fn tell(done: u64, all: u64) {
    // SAFETY: an import that takes two numbers and touches no memory of the module.
    unsafe { progress(done as f64, all as f64) }
}

/// Allocates memory for a request of `bytes` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn request(bytes: usize) -> *mut u8 {
    // `call` takes it back.
    Box::into_raw(vec![0u8; bytes].into_boxed_slice()).cast()
}

/// Answers the request; returns the answer's length.
///
/// # Safety
/// `at` is what `request(bytes)` returned, not yet passed to `call`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn call(at: *mut u8, bytes: usize) -> usize {
    // SAFETY: by the contract it is the slice that `request` leaked, and nothing else refers to it.
    let request = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, bytes)) };
    std::panic::set_hook(Box::new(last_words));
    harness::listen(tell);
    let answer = crate::answer(&request);
    ANSWER.with_borrow_mut(|kept| {
        *kept = answer.into_bytes();
        kept.len()
    })
}

/// The address of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|kept| kept.as_ptr())
}
