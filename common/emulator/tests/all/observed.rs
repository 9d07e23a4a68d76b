//! Optional records of a launch: the factors of matrix products, and how early copies were issued.
use emulator::{CopyLead, KernelArg, LaunchConfig, LaunchReport};

use crate::common::{Setup, module};

const SHARED: &str = ".shared .align 16 .b8 s[1024];";
const MMA: &str = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, \
                   {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};";
/// Initializes all registers.
const CLEAR: &str = "mov.b32 %f0, 0; mov.b32 %f1, 0; mov.b32 %f2, 0; mov.b32 %f3, 0; mov.u32 %r0, 0; mov.u32 %r1, 0; \
                     mov.u32 %r2, 0; mov.u32 %r3, 0; mov.u32 %r4, 0; mov.u32 %r5, 0;";

fn launch(threads: u32, schedule: u64, body: &str) -> LaunchReport {
    let setup = Setup {
        block: [threads, 1, 1],
        schedule,
        ..Setup::default()
    };
    let (mut context, function) = setup.context(&module(SHARED, body));
    let options = context.options_mut();
    (options.factors, options.lookahead) = (true, true);
    let out = context.upload("out", &setup.fresh()).expect("room");
    let config = LaunchConfig {
        block: setup.block,
        ..LaunchConfig::default()
    };
    let report = context.launch(&function, &config, &[KernelArg::Buffer(&out)]);
    report.expect("a launch")
}

/// Every half of every register encodes its register, lane and half.
#[test]
fn factors_are_rows_of_a_and_columns_of_b() {
    let name = |register: u32| {
        // 64 halves in a register: lane l has numbers 2 l and 2 l + 1.
        format!(
            "mul.lo.u32 %r10, %tid, 131074; add.u32 %r10, %r10, {}; mov.u32 %r{register}, %r10;",
            (64 * register) | (64 * register + 1) << 16
        )
    };
    let names: String = (0..6).map(name).collect();
    let report = launch(32, 0, &format!("{CLEAR}\n{names}\n{MMA}"));
    let [factors] = &report.factors[..] else {
        panic!("{} products", report.factors.len());
    };
    assert_eq!((factors.rows(), factors.columns(), factors.k), (16, 8, 16));
    // PTX ISA, "Matrix Fragments for mma.m16n8k16".
    for row in 0..16u16 {
        for k in 0..16u16 {
            let (register, lane) = (row / 8 + 2 * (k / 8), row % 8 * 4 + k % 8 / 2);
            let wanted = 64 * register + 2 * lane + k % 2;
            assert_eq!(
                factors.a[usize::from(16 * row + k)],
                wanted,
                "A[{row}][{k}]"
            );
        }
    }
    for k in 0..16u16 {
        for column in 0..8u16 {
            let (register, lane) = (4 + k / 8, column * 4 + k % 8 / 2);
            let wanted = 64 * register + 2 * lane + k % 2;
            assert_eq!(
                factors.b[usize::from(8 * k + column)],
                wanted,
                "B[{k}][{column}]"
            );
        }
    }
}

/// Each thread copies 16 bytes to its place in `s`.
const COPY: &str = "mov.u32 %r20, s; and.b32 %r21, %tid, 31; mad.lo.u32 %r20, %r21, 16, %r20; \
                    mul.wide.u32 %d0, %r21, 16; add.u64 %d0, %d0, %out; cp.async.cg.shared.global [%r20], [%d0], 16; \
                    cp.async.commit_group;";
const WAIT: &str = "cp.async.wait_group 0;";
const READ: &str = "mov.u32 %r22, s; and.b32 %r23, %tid, 31; mad.lo.u32 %r22, %r23, 16, %r22; \
                    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r22];";

fn leads(report: &LaunchReport, warp: u32) -> Vec<(u64, u64, u64)> {
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let own = report.leads.iter().filter(|lead| lead.warp == warp);
    own.map(
        |&CopyLead {
             at, products, of, ..
         }| (at, products, of),
    )
    .collect()
}

#[test]
fn a_warp_that_copies_for_itself_is_measured_from_the_issue_to_its_wait() {
    let early = launch(
        32,
        0,
        &format!("{CLEAR}\n{COPY}\n{MMA}\n{MMA}\n{WAIT}\n{READ}\n{MMA}"),
    );
    assert_eq!(leads(&early, 0), [(2, 2, 3)]);
    assert!(early.leads.iter().all(|lead| lead.issuer_of == 3));
    let late = launch(
        32,
        0,
        &format!("{CLEAR}\n{MMA}\n{MMA}\n{COPY}\n{WAIT}\n{READ}\n{MMA}"),
    );
    assert_eq!(leads(&late, 0), [(2, 0, 3)]);
    // An early wait limits the lead, even if the read is late.
    let waited = launch(
        32,
        0,
        &format!("{CLEAR}\n{COPY}\n{WAIT}\n{MMA}\n{MMA}\n{READ}\n{MMA}"),
    );
    assert_eq!(leads(&waited, 0), [(0, 0, 3), (2, 0, 3)]);
}

/// The lead counts products that are not ordered before the issue, in any order of warps.
#[test]
fn a_warp_that_only_copies_is_measured_by_the_one_that_reads() {
    let kernel = |before: &str, beside: &str| {
        format!(
            "{CLEAR}\nsetp.lt.u32 %p0, %tid, 32;\n@!%p0 bra producer;\n{before}\nbar.sync 0;\n{beside}\nbar.sync 0;\n{READ}\n\
             {MMA}\nbra done;\nproducer:\nbar.sync 0;\n{COPY}\n{WAIT}\nbar.sync 0;\ndone:"
        )
    };
    for schedule in 0..8 {
        let both = format!("{MMA}\n{MMA}");
        let beside = launch(64, schedule, &kernel(MMA, &both));
        assert_eq!(leads(&beside, 0), [(3, 2, 4)], "schedule {schedule}");
        let by_the_producer = beside.leads.iter().all(|lead| lead.issuer_of == 0);
        assert!(by_the_producer, "schedule {schedule}");
        let before = launch(64, schedule, &kernel(&both, ""));
        assert_eq!(leads(&before, 0), [(2, 0, 3)], "schedule {schedule}");
    }
}

/// However many stages are full: a warp that waits for each of its copies before it issues the next has one in flight.
#[test]
fn copies_in_flight_together_are_those_before_the_first_that_comes_after_a_wait() {
    let in_flight = |body: &str| {
        let report = launch(32, 0, &format!("{CLEAR}\n{body}\n{READ}\n{MMA}"));
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        let all = report
            .leads
            .iter()
            .map(|lead| (lead.bytes_in_flight(0), lead.bytes));
        all.reduce(|a, b| if a.0 < b.0 { a } else { b })
    };
    // A place of its own for each copy in flight.
    let other = COPY.replace("[%r20]", "[%r20+512]");
    let all_but_one = "cp.async.wait_group 1;";
    let read_other = READ.replace("[%r22]", "[%r22+512]");
    let each = format!("{COPY}\n{WAIT}\n{READ}");
    assert_eq!(in_flight(&each.repeat(3)), Some((256.0, 3 * 512)));
    let next = format!("{COPY}\n{all_but_one}\n{read_other}\n{other}\n{all_but_one}\n{READ}");
    let two = format!(
        "{COPY}\n{other}\n{all_but_one}\n{READ}\n{}\n{WAIT}\n{READ}\n{read_other}",
        next.repeat(2)
    );
    assert_eq!(in_flight(&two), Some((512.0 + 256.0, 6 * 512)));
    // Only the first two are in flight together, which fill the pipeline.
    let fills = format!(
        "{COPY}\n{other}\n{WAIT}\n{READ}\n{read_other}\n{}",
        each.repeat(3)
    );
    assert_eq!(in_flight(&fills), Some((256.0, 5 * 512)));
    let never_told = format!("{COPY}\n{other}\n{WAIT}\n{read_other}");
    assert_eq!(in_flight(&never_told), Some((f64::INFINITY, 2 * 512)));
    // The pipeline is drained after three steps: where that is allowed once, nothing between filling and draining is left.
    let tile = format!(
        "{COPY}\n{other}\n{all_but_one}\n{READ}\n{COPY}\n{all_but_one}\n{read_other}\n{WAIT}\n{READ}"
    );
    let two_tiles = tile.repeat(2);
    assert_eq!(in_flight(&two_tiles), Some((256.0, 6 * 512)));
    let report = launch(32, 0, &format!("{CLEAR}\n{two_tiles}\n{MMA}"));
    for lead in &report.leads {
        assert_eq!(lead.restarts, 1);
        assert_eq!(lead.bytes_in_flight(1), f64::INFINITY);
    }
    assert!(!report.leads.is_empty());
    // A copy that nothing reads does not count.
    let for_show = format!("{COPY}\n{other}\n{WAIT}\n{READ}");
    assert_eq!(in_flight(&for_show.repeat(3)), Some((256.0, 3 * 512)));
}

/// Barriers of the block and of the cluster; a barrier of one warp makes no other wait.
#[test]
fn barriers_are_counted_for_each_warp() {
    let body = format!(
        "{CLEAR}\n{COPY}\n{WAIT}\nbar.sync 0;\n{READ}\n{MMA}\nbar.sync 1, 64;\nshr.u32 %r24, %tid, 5;\n\
         add.u32 %r24, %r24, 2;\nbar.sync %r24, 32;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;"
    );
    let report = launch(64, 0, &body);
    assert!(!report.leads.is_empty());
    for lead in &report.leads {
        assert_eq!((lead.barriers, lead.waits_for_warps), (3, 0));
    }
}

/// In a block of one warp, no other warp waits at its barriers.
#[test]
fn barriers_of_a_block_of_one_warp_are_not_counted() {
    let body = format!("{CLEAR}\n{COPY}\n{WAIT}\nbar.sync 0;\n{READ}\n{MMA}\nbar.sync 0;");
    let report = launch(32, 0, &body);
    assert!(!report.leads.is_empty());
    for lead in &report.leads {
        assert_eq!(lead.barriers, 0);
    }
}
