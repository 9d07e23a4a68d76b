//! Invalid accesses: the message and the thread in a report.
use crate::common;
use common::{Outcome, body, body_with, threads};
use emulator::{AccessKind, FindingKind, MemoryAccess, Space};

/// The only finding's kind, its thread and its PTX line.
fn only(outcome: &Outcome) -> (&FindingKind, [u32; 3], u32) {
    assert_eq!(outcome.findings.len(), 1, "{}", outcome.report());
    let finding = &outcome.findings[0];
    let line = finding.location.source.as_ref().map(|s| s.line);
    assert_eq!(line, Some(finding.location.ptx_line));
    (
        &finding.kind,
        finding.location.thread,
        finding.location.ptx_line,
    )
}

#[test]
fn one_element_past_global_memory() {
    let outcome = body(&threads(1024), "st.global.u32 [%at+4], %tid;");
    let (kind, thread, line) = only(&outcome);
    assert_eq!((thread, line), ([1023, 0, 0], 17));
    let FindingKind::OutOfBounds {
        access,
        nearest,
        after,
        other_window: false,
    } = kind
    else {
        panic!("{kind:?}")
    };
    assert_eq!(*after, Some(("out".to_string(), 4096)));
    assert_eq!(
        (access.space, access.access, access.bytes),
        (Space::Global, AccessKind::Write, 4)
    );
    assert!(
        nearest.starts_with("1 bytes after the nearest allocation, out, at 0x"),
        "{nearest}"
    );
    // Writes before the fault are kept.
    assert_eq!(outcome.words[1], 0);
    // The whole message, except addresses.
    let report = outcome.report();
    let lines: Vec<&str> = report.lines().map(str::trim).collect();
    assert_eq!(lines[0], "Invalid __global__ write of size 4 bytes");
    assert_eq!(lines[1], "at kernel.cu:17 (PTX line 17)");
    assert_eq!(lines[2], "by thread (1023,0,0) in block (0,0,0)");
    assert!(lines[3].starts_with("Access at 0x") && lines[3].ends_with(" is out of bounds"));
    assert!(lines[4].starts_with("and is 1 bytes after the nearest allocation, out, at 0x"));
    assert!(lines[4].ends_with("of size 4096 bytes"));
}

#[test]
fn one_byte_past_shared_and_local_memory() {
    // 16 bytes each; static shared memory ends at 16, so the byte after it is not allocated.
    for space in ["shared", "local"] {
        let text = format!(
            ".{space} .align 16 .b8 room[16];
            cvt.u64.u32 %d1, %tid;
            mov.u64 %d2, room;
            add.u64 %d1, %d1, %d2;
            ld.{space}.u8 %r0, [%d1];"
        );
        let mut setup = threads(17);
        setup.sanitize = false;
        let outcome = body(&setup, &text);
        let (kind, thread, line) = only(&outcome);
        assert_eq!((thread, line), ([16, 0, 0], 21));
        assert!(
            matches!(
                kind,
                FindingKind::OutOfBounds { access, .. }
                    if (access.access, access.bytes) == (AccessKind::Read, 1)
            ),
            "{kind:?}"
        );
    }
}

#[test]
fn vectors_that_begin_inside_and_end_outside() {
    let outcome = body_with(
        &threads(32),
        ".shared .align 16 .b8 room[496];",
        "mov.u32 %r0, room;\nmad.lo.u32 %r0, %tid, 16, %r0;\nst.shared.v4.u32 [%r0], {%tid, %tid, %tid, %tid};",
    );
    let (kind, thread, _) = only(&outcome);
    assert_eq!(thread, [31, 0, 0]);
    assert!(matches!(kind, FindingKind::OutOfBounds { access, .. }
            if (access.space, access.bytes, access.address) == (Space::Shared, 16, 1024 + 496)));
}

/// Each iteration moves all lanes by the same distance, the fast path of loads (`load_last_pattern`), which must detect the
/// end too.
#[test]
fn a_loop_that_walks_out_of_memory() {
    for (space, address, step) in [
        ("shared", "mov.u32 %r0, room;", 128),
        ("shared", "mov.u32 %r0, room;\nadd.u32 %r0, %r0, 384;", -128),
        ("global", "mov.u64 %d0, buffer;", 128),
        (
            "global",
            "mov.u64 %d0, buffer;\nadd.u64 %d0, %d0, 384;",
            -128,
        ),
    ] {
        let (base, wide) = match space {
            "shared" => ("%r0", "mad.lo.u32 %r0, %tid, 4, %r0;"),
            _ => ("%d0", "mad.wide.u32 %d0, %tid, 4, %d0;"),
        };
        let bits = if space == "shared" { "u32" } else { "u64" };
        let text = format!(
            "{address}\n{wide}\nmov.u32 %r1, 0;\nAGAIN:\nld.{space}.u32 %r2, [{base}];\n\
             add.{bits} {base}, {base}, {step};\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p0, %r1, 5;\n@%p0 bra AGAIN;"
        );
        let mut setup = threads(32);
        setup.sanitize = false;
        let declarations = ".shared .align 128 .b8 room[512]; .global .align 128 .b8 buffer[512];";
        let outcome = body_with(&setup, declarations, &text);
        let FindingKind::OutOfBounds { access, .. } = only(&outcome).0 else {
            panic!("{}", outcome.report())
        };
        assert_eq!((access.access, access.bytes), (AccessKind::Read, 4));
        // Four iterations fit; the fifth is out of bounds.
        let fifth = if step > 0 { 1024 + 512 } else { 1024 - 128 };
        assert!(space == "global" || access.address == fifth, "{access:?}");
    }
}

#[test]
fn the_gap_between_two_allocations() {
    let outcome = body_with(
        &threads(32),
        ".global .u32 other[8];",
        "mov.u64 %d0, other;\nsub.u64 %d0, %d0, 4;\nld.global.u32 %r0, [%d0];",
    );
    let FindingKind::OutOfBounds { nearest, after, .. } = only(&outcome).0 else {
        panic!("{}", outcome.report())
    };
    assert_eq!(*after, None);
    assert!(
        nearest.starts_with("4 bytes before the nearest allocation, other"),
        "{nearest}"
    );
}

#[test]
fn misaligned_addresses() {
    for (text, bytes, access) in [
        ("ld.global.u32 %r0, [%at+2];", 4, AccessKind::Read),
        (
            "st.global.v4.u32 [%out+8], {%tid, %tid, %tid, %tid};",
            16,
            AccessKind::Write,
        ),
        (
            "atom.global.add.u64 %d0, [%out+4], 1;",
            8,
            AccessKind::Atomic,
        ),
        ("ld.global.u16 %r0, [%out+1];", 2, AccessKind::Read),
    ] {
        let outcome = body(&threads(32), text);
        let (kind, thread, line) = only(&outcome);
        assert_eq!((thread, line), ([0, 0, 0], 17), "{text}");
        let FindingKind::Misaligned(found) = kind else {
            panic!("{kind:?}")
        };
        assert_eq!(
            (found.space, found.access, found.bytes),
            (Space::Global, access, bytes)
        );
    }
}

#[test]
fn null_pointers_and_writes_to_constants() {
    let outcome = body(&threads(32), "mov.u64 %d0, 0;\nld.u32 %r0, [%d0];");
    assert!(matches!(
        only(&outcome).0,
        FindingKind::OutOfBounds { access, .. }
            if (access.space, access.address) == (Space::Global, 0)
    ));
    let outcome = body_with(
        &threads(32),
        ".const .u32 fixed = 1;",
        "mov.u64 %d0, fixed;\ncvta.const.u64 %d0, %d0;\nst.u32 [%d0], 1;",
    );
    assert!(matches!(
        only(&outcome).0,
        FindingKind::OutOfBounds { access, .. }
            if (access.space, access.access) == (Space::Const, AccessKind::Write)
    ));
}

#[test]
fn the_fault_of_a_thread_that_is_not_lane_zero_in_a_late_block() {
    let setup = common::Setup {
        grid: [5, 2, 1],
        block: [8, 8, 1],
        ..threads(1)
    };
    let outcome = body(
        &setup,
        "mov.u32 %r0, %ctaid.x;
        mov.u32 %r1, %ctaid.y;
        mov.u32 %r2, %tid.y;
        setp.eq.u32 %p0, %r0, 3;
        setp.eq.and.u32 %p0, %r1, 1, %p0;
        setp.eq.and.u32 %p0, %r2, 6, %p0;
        setp.eq.and.u32 %p0, %tid, 5, %p0;
        @%p0 ld.global.u32 %r3, [%out+-4];",
    );
    let (_, thread, line) = only(&outcome);
    assert_eq!(
        (thread, outcome.findings[0].location.block, line),
        ([5, 6, 0], [3, 1, 0], 24)
    );
}

#[test]
fn uninitialized_shared_memory() {
    let text = "mov.u32 %r0, room;
        mad.lo.u32 %r0, %tid, 4, %r0;
        setp.lt.u32 %p0, %tid, 30;
        @%p0 st.shared.u32 [%r0], %tid;
        ld.shared.u32 %r1, [%r0];
        st.global.u32 [%at], %r1;";
    let outcome = body_with(&threads(32), ".shared .u32 room[32];", text);
    let (kind, thread, line) = only(&outcome);
    assert_eq!((thread, line), ([30, 0, 0], 21));
    let expected = FindingKind::Uninitialized(MemoryAccess {
        space: Space::Shared,
        access: AccessKind::Read,
        bytes: 4,
        address: 1024 + 120,
    });
    assert_eq!((kind, outcome.findings[0].count), (&expected, 2));
    // The finding is not fatal, so there are counters and results.
    assert_eq!((outcome.words[29], outcome.words[30]), (29, 0));
    assert_eq!(outcome.counters.len(), 11);
    // Without `sanitize` it is not checked.
    let mut setup = threads(32);
    setup.sanitize = false;
    body_with(&setup, ".shared .u32 room[32];", text).clean();
}

#[test]
fn trap() {
    let outcome = body(&threads(64), "setp.eq.u32 %p0, %tid, 40;\n@%p0 trap;");
    assert_eq!(only(&outcome), (&FindingKind::Trap, [40, 0, 0], 18));
}

/// Which bytes of which variable, or which kind of address it is.
#[test]
fn an_access_outside_shared_memory_says_where_it_is() {
    let declared = ".shared .align 16 .b8 first[64]; .shared .align 16 .b8 tile[128];";
    for (address, says) in [
        (
            "mov.u32 %r0, tile; add.u32 %r0, %r0, 128;",
            "Bytes 128 to 131 of tile, which has 128",
        ),
        (
            "mov.u32 %r0, first; sub.u32 %r0, %r0, 8;",
            "8 bytes before first: a negative index",
        ),
        (
            "mov.u32 %r0, 0; sub.u32 %r0, %r0, 8;",
            "1032 bytes before first: a negative index",
        ),
        (
            "mov.u32 %r0, tile; cvt.u64.u32 %d1, %r0; cvta.shared.u64 %d1, %d1; cvt.u32.u64 %r0, %d1;",
            "A generic address of shared memory is not one of the shared window",
        ),
    ] {
        let text = format!("{address} ld.shared.u32 %r1, [%r0]; st.global.u32 [%at], %r1;");
        let report = body_with(&threads(1), declared, &text).report();
        assert!(report.contains(says), "{says}: {report}");
    }
    let text =
        "mov.u32 %r0, tile; cvt.u64.u32 %d1, %r0; ld.u32 %r1, [%d1]; st.global.u32 [%at], %r1;";
    let report = body_with(&threads(1), declared, text).report();
    assert!(
        report.contains("only with `.shared` in its name"),
        "{report}"
    );
}
