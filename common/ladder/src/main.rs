//! `cargo ladder`; everything is in the library, where tests can reach it.
fn main() -> std::process::ExitCode {
    ladder::main()
}
