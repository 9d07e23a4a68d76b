//! Bulk loads with a missing or wrong step.
use emulator::Swizzle;

use super::common::Setup;
use super::common::tma::run;
use super::{FENCE, has, load, setup, show, tensor};

#[test]
fn mistakes_in_a_load() {
    let tile = tensor(&[32, 16], Swizzle::None);
    let good = load(2, "0, 0", 1024) + &show(1024);
    let go = |text: &str, sanitize: bool| {
        let setup = Setup {
            sanitize,
            limits: emulator::Limits {
                instructions: 1 << 18,
                ..emulator::Limits::default()
            },
            ..setup(32)
        };
        run(&setup, &tile, text).expect("a map")
    };
    assert!(go(&good, true).findings.is_empty());
    // Without the wait: stale data, and a race with the copy.
    let wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bar], 0; @!%p1 bra W;";
    let no_wait = good.replace(wait, "");
    assert_eq!(go(&no_wait, false).words[..16], [0; 16]);
    assert!(
        has(&go(&no_wait, true), "Race", 27),
        "{}",
        go(&no_wait, true).report()
    );
    // The wrong parity, that of the previous phase.
    let parity = good.replace("[%bar], 0; @!", "[%bar], 1; @!");
    assert!(
        has(&go(&parity, true), "Race", 27),
        "{}",
        go(&parity, true).report()
    );
    // Without expect_tx the phase completes at once, and the next one never.
    let expect = good.replace(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 1024;",
        "mbarrier.arrive.shared::cta.b64 _, [%bar];",
    );
    assert!(
        has(&go(&expect, true), "Race", 27),
        "{}",
        go(&expect, true).report()
    );
    let again = expect.replace(
        wait,
        &wait
            .replace("W", "A")
            .replace("[%bar], 0", "[%bar], 1")
            .replace("A:", &format!("{wait} A:")),
    );
    let outcome = go(&again, false);
    assert!(
        outcome.report().contains(
            "for phase 1 (parity 1) of mbarrier bars (initialized at kernel.cu:24): 1 of 1 arrivals pending, 1024 bytes \
             more than expected have arrived"
        ),
        "{}",
        outcome.report()
    );
    // The wrong number of bytes.
    for (bytes, what) in [
        (1040, "0 of 1 arrivals pending, 16 bytes still expected"),
        (
            1008,
            "0 of 1 arrivals pending, 16 bytes more than expected have arrived",
        ),
    ] {
        let wrong = good.replace("[%bar], 1024;", &format!("[%bar], {bytes};"));
        let report = go(&wrong, true).report();
        assert!(
            report.contains("Deadlock") && report.contains(what),
            "{report}"
        );
    }
    // The last arrival expects a part, and the rest is expected later: a copy that lands in between ends the phase.
    let rest = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], 512;";
    let part = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512;";
    let whole = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 1024;";
    let before = good.replace(whole, &format!("{rest} {part}"));
    assert!(go(&before, true).findings.is_empty());
    let after = good
        .replace(whole, part)
        .replace(wait, &format!("@%p0 {rest} {wait}"));
    let report = go(&after, true).report();
    assert!(
        report.contains("512 bytes are expected after the last arrival"),
        "{report}"
    );
    // As long as more bytes are expected than the copies so far bring, the phase cannot end.
    let enough = good.replace(
        whole,
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 2048;",
    );
    let enough = enough.replace(wait, &format!("@%p0 {rest} {wait}"));
    let report = go(&enough, true).report();
    assert!(!report.contains("after the last arrival"), "{report}");
    // Without the fence after mbarrier.init.
    let fence = good.replace("fence.mbarrier_init.release.cluster;", "");
    assert!(
        has(&go(&fence, true), "MissingProxyFence", 27),
        "{}",
        go(&fence, true).report()
    );
    let proxy = good.replace("fence.mbarrier_init.release.cluster;", FENCE);
    assert!(go(&proxy, true).findings.is_empty());
    // Without mbarrier.init.
    let init = good.replace("mbarrier.init.shared::cta.b64 [%bar], 1;", "");
    assert!(has(&go(&init, true), "InvalidMbarrier", 26));
}
