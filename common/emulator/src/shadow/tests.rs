//! Accesses that race, and accesses that do not.
use super::*;
use crate::happens_before::{Engine, HappensBefore, View};

const ALL: u32 = u32::MAX;

fn race(check: AccessCheck) -> bool {
    matches!(check, AccessCheck::Race(_))
}
fn fine(check: AccessCheck) -> bool {
    matches!(check, AccessCheck::Fine)
}
fn touch(
    shadow: &mut Shadow,
    order: &HappensBefore,
    how: AccessMode,
    address: u32,
    bytes: u32,
    thread: usize,
) -> AccessCheck {
    let observer = order
        .observer(thread / 32, 1 << (thread % 32))
        .expect("a warp");
    shadow.access(how, address, bytes, 0, &observer)
}
/// All warps synchronize at a block's barrier.
fn barrier(order: &mut HappensBefore, warps: usize) {
    let mut view = View::default();
    (0..warps).for_each(|warp| order.release(warp, ALL, ALL, &mut view));
    (0..warps).for_each(|warp| order.acquire(warp, ALL, ALL, &view));
}

#[test]
fn a_barrier_orders_and_its_absence_races() {
    let (mut shadow, mut order) = (Shadow::new(64, 0, 2, 4), HappensBefore::new(2, 2, 0));
    let first = touch(&mut shadow, &order, AccessMode::Read, 0, 4, 0);
    assert!(matches!(first, AccessCheck::Uninitialized));
    assert!(fine(touch(&mut shadow, &order, AccessMode::Write, 8, 4, 0)));
    assert!(fine(touch(&mut shadow, &order, AccessMode::Read, 8, 4, 0)));
    assert!(
        race(touch(&mut shadow, &order, AccessMode::Read, 8, 4, 1)),
        "another lane, same warp, no sync"
    );
    assert!(
        race(touch(&mut shadow, &order, AccessMode::Read, 8, 4, 32)),
        "another warp"
    );
    barrier(&mut order, 2);
    assert!(fine(touch(&mut shadow, &order, AccessMode::Read, 8, 4, 33)));
    assert!(
        race(touch(&mut shadow, &order, AccessMode::Write, 8, 4, 0)),
        "write after a read that is not ordered"
    );
}

/// Checking lanes together gives the same result as checking them one by one.
#[test]
fn a_warp_reads_as_its_lanes_do() {
    let mut state = 1;
    let mut random = |below: u64| (crate::random::random(&mut state) % below) as u32;
    let mut unclear = 0;
    for _ in 0..200 {
        let (mut together, mut order) = (Shadow::new(256, 0, 3, 2), HappensBefore::new(3, 3, 0));
        let mut singly = Shadow::new(256, 0, 3, 2);
        // The last bytes are never written, and some are written after the barrier.
        let written = 128 + 2 * random(60);
        for at in 0..written {
            let thread = random(96) as usize;
            for shadow in [&mut together, &mut singly] {
                touch(shadow, &order, AccessMode::Write, at, 1, thread);
            }
        }
        barrier(&mut order, 3);
        let late = random(8) * 16;
        for shadow in [&mut together, &mut singly] {
            touch(shadow, &order, AccessMode::Write, late, 2, 40);
        }
        let bytes = 1 << random(5);
        let (spread, of) = (1 + random(9), 1 + random(31));
        let addresses: [u32; 32] =
            std::array::from_fn(|lane| (lane as u32 % of * spread * bytes) % (256 - bytes));
        for warp in [0, 1] {
            let mask = random(1 << 32) | 1;
            let observer = order.observer(warp, mask).expect("a warp");
            let rest = together.read_by_warp(&addresses, bytes, 7, &observer);
            assert_eq!(rest & !mask, 0);
            unclear += rest.count_ones();
            for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                let check = singly.access(
                    AccessMode::Read,
                    addresses[lane],
                    bytes,
                    7,
                    &observer.of(lane),
                );
                match rest >> lane & 1 {
                    0 => assert!(fine(check), "lane {lane}"),
                    _ => {
                        let again = together.access(
                            AccessMode::Read,
                            addresses[lane],
                            bytes,
                            7,
                            &observer.of(lane),
                        );
                        assert_eq!(fine(again), fine(check), "lane {lane}");
                    }
                }
            }
        }
        assert_eq!(together.lanes, singly.lanes);
        let clocks = |shadow: &Shadow| -> Vec<u32> {
            shadow
                .reads
                .iter()
                .map(|&bits| Stamp::from_bits(bits).clock)
                .collect()
        };
        assert_eq!(clocks(&together), clocks(&singly));
    }
    assert!(unclear > 0, "no read that has to be looked at singly");
}

#[test]
fn halves_of_a_word_do_not_race_when_the_grain_is_two() {
    let (mut shadow, order) = (Shadow::new(64, 0, 1, 2), HappensBefore::new(1, 1, 0));
    assert!(fine(touch(&mut shadow, &order, AccessMode::Write, 0, 2, 0)));
    assert!(fine(touch(&mut shadow, &order, AccessMode::Write, 2, 2, 1)));
    assert!(race(touch(&mut shadow, &order, AccessMode::Write, 2, 2, 2)));
}

/// One thread issues an asynchronous access.
fn issue(
    shadow: &mut Shadow,
    order: &mut HappensBefore,
    how: AccessMode,
    thread: usize,
) -> AccessCheck {
    let engine = Engine::Bulk(thread / 32);
    let clock = order.begin(engine);
    let by = AsyncOp {
        engine,
        actor: order.engine(engine),
        clock,
        site: Site {
            warp: thread / 32,
            lane: 0,
            op: 0,
        },
    };
    let observer = order
        .observer(thread / 32, 1 << (thread % 32))
        .expect("a warp");
    let wrong = shadow.asynchronous(how, &[0], 16, &by, &[observer]);
    wrong
        .into_iter()
        .next()
        .map_or(AccessCheck::Fine, |(_, check)| check)
}

#[test]
fn the_async_proxy_needs_a_fence_before_the_barrier_or_after_it() {
    for fences in [[false, false], [true, false], [false, true]] {
        let (mut shadow, mut order) = (Shadow::new(64, 0, 2, 4), HappensBefore::new(2, 2, 0));
        for thread in 0..4 {
            touch(
                &mut shadow,
                &order,
                AccessMode::Write,
                4 * thread,
                4,
                thread as usize,
            );
        }
        if fences[0] {
            order.fence_proxy(0, ALL, ALL);
        }
        barrier(&mut order, 2);
        if fences[1] {
            order.fence_proxy(1, 1, ALL);
        }
        let check = issue(&mut shadow, &mut order, AccessMode::AsyncRead, 32);
        let unfenced = matches!(check, AccessCheck::Unfenced(_));
        assert_eq!(unfenced, fences == [false, false]);
        assert!(unfenced || fine(check));
    }
}

#[test]
fn an_asynchronous_read_ends_when_a_thread_has_waited_for_it() {
    let (mut shadow, mut order) = (Shadow::new(64, 0, 2, 4), HappensBefore::new(2, 2, 0));
    for thread in 0..4 {
        touch(
            &mut shadow,
            &order,
            AccessMode::Write,
            4 * thread,
            4,
            thread as usize,
        );
    }
    order.fence_proxy(0, ALL, ALL);
    barrier(&mut order, 2);
    assert!(fine(issue(
        &mut shadow,
        &mut order,
        AccessMode::AsyncRead,
        0
    )));
    assert!(race(touch(&mut shadow, &order, AccessMode::Write, 0, 4, 0)));
    let mut view = View::default();
    order.complete(Engine::Bulk(0), 1, &mut view);
    order.acquire(0, 1, ALL, &view);
    assert!(fine(touch(&mut shadow, &order, AccessMode::Write, 4, 4, 0)));
    assert!(race(touch(
        &mut shadow,
        &order,
        AccessMode::Write,
        8,
        4,
        32
    )));
    barrier(&mut order, 2);
    assert!(fine(touch(
        &mut shadow,
        &order,
        AccessMode::Write,
        12,
        4,
        32
    )));
}
