//! Copies to global memory, and their mistakes.
use emulator::{FindingKind, Swizzle};

use super::common::Setup;
use super::common::tma::run;
use super::{FENCE, elements, has, kinds, setup, tensor};

const READ: &str = "cp.async.bulk.wait_group.read 0;";

/// All threads fill the tile with their numbers, thread 0 stores it to COORDINATES.
fn store(fence: &str, wait: &str) -> String {
    format!(
        "mad.lo.u32 %r1, %tid, 16, %s;
        st.shared.v4.u32 [%r1], {{%tid, %tid, %tid, %tid}};
        {fence}
        bar.sync 0;
        @%p0 bra END;
        cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {{80, 30}}], [%s];
        cp.async.bulk.commit_group;
        {wait}
        END:"
    )
}

#[test]
fn a_store_undoes_the_swizzle_and_drops_elements_outside() {
    for (swizzle, mask) in [(Swizzle::None, 0), (Swizzle::B64, 3)] {
        let tensor = tensor(&[32, 16], swizzle);
        for schedule in 0..4 {
            let setup = Setup {
                schedule,
                ..setup(64)
            };
            let outcome = run(&setup, &tensor, &store(FENCE, READ)).expect("a map");
            let written = elements(&outcome.clean()[8192..]);
            for row in 0..40 {
                for column in 0..112 {
                    let at = row * 112 + column;
                    let inside = row >= 30 && (80..100).contains(&column);
                    let byte = (row.max(30) - 30) * 64 + (column.max(80) - 80) * 2;
                    let byte = byte ^ (byte >> 7 & mask) << 4;
                    let thread = (byte / 16) as u16;
                    let expected = match (inside, column % 2) {
                        (true, 0) => thread,
                        (true, _) => 0,
                        _ => at as u16,
                    };
                    assert_eq!(written[at], expected, "({row}, {column})");
                }
            }
        }
    }
}

#[test]
fn a_forgotten_proxy_fence() {
    let tensor = tensor(&[32, 16], Swizzle::B64);
    for schedule in 0..4 {
        let setup = Setup {
            schedule,
            ..setup(64)
        };
        let outcome = run(&setup, &tensor, &store("", READ)).expect("a map");
        assert_eq!(kinds(&outcome), [("MissingProxyFence".to_string(), 28)]);
        assert!(
            outcome.report().starts_with(
                "Missing fence.proxy.async before an asynchronous read at kernel.cu:28"
            ),
            "{}",
            outcome.report()
        );
        // A fence by thread 0 before the barrier covers only thread 0's writes.
        let alone = format!("@!%p0 {FENCE}");
        let outcome = run(&setup, &tensor, &store(&alone, READ)).expect("a map");
        assert_eq!(kinds(&outcome), [("MissingProxyFence".to_string(), 28)]);
        // After the barrier it covers the writes of all threads.
        let text = store("", READ).replace("@%p0 bra END;", &format!("@%p0 bra END; {FENCE}"));
        run(&setup, &tensor, &text).expect("a map").clean();
    }
}

#[test]
fn a_source_that_is_overwritten_before_it_was_read() {
    let tensor = tensor(&[32, 16], Swizzle::B64);
    let again = "END: bar.sync 0; st.shared.u32 [%r1], 9;";
    let late = store(FENCE, "").replace("END:", &format!("{again} @!%p0 {READ}"));
    let in_time = store(FENCE, READ).replace("END:", again);
    let off_by_one = store(FENCE, "cp.async.bulk.wait_group.read 1;").replace("END:", again);
    for schedule in 0..4 {
        let setup = Setup {
            schedule,
            ..setup(64)
        };
        run(&setup, &tensor, &in_time).expect("a map").clean();
        let line = 31;
        for text in [&late, &off_by_one] {
            let outcome = run(&setup, &tensor, text).expect("a map");
            let race = outcome.findings.iter().any(|f| {
                matches!(&f.kind, FindingKind::Race(race) if f.location.ptx_line.max(race.other.ptx_line) == line)
            });
            assert!(race, "{:?} {}", kinds(&outcome), outcome.report());
        }
        // The data is wrong too.
        let plain = Setup {
            sanitize: false,
            ..setup.clone()
        };
        let words = run(&plain, &tensor, &late).expect("a map").words;
        assert_eq!(elements(&words[8192..])[30 * 112 + 80], 9);
    }
}

#[test]
fn leaving_before_a_store_has_read_its_source() {
    let outcome = run(
        &setup(64),
        &tensor(&[32, 16], Swizzle::None),
        &store(FENCE, ""),
    )
    .expect("");
    assert!(has(&outcome, "UnfinishedCopy", 28), "{}", outcome.report());
}
