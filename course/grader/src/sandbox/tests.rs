use std::os::unix::process::ExitStatusExt;

use super::*;

#[test]
fn a_killed_process_may_have_run_out_of_memory() {
    let sandboxed = Sandboxed {
        program: PathBuf::new(),
        arguments: Vec::new(),
        limits: Limits::default(),
        version: (0, 0),
    };
    let told = |signal| {
        let error = sandboxed.stopped(ExitStatus::from_raw(signal));
        error.to_string()
    };
    assert!(told(24).contains("stopped after 10 s"), "{}", told(24));
    assert!(
        told(9).contains("10 s, or more memory than the system"),
        "{}",
        told(9)
    );
}
