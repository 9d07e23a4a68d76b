//! `cargo ladder`; what it does is in the library, where tests can reach it.
fn main() -> std::process::ExitCode {
    ladder::main()
}
