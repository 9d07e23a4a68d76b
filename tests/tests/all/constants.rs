//! The clock model's constants against the recordings that they were read from.
use std::collections::HashSet;

use clock::Card;
use harness::records::Errors;
use ladder_tests::workspace::{read, root};
use serde::Deserialize;

/// A row of `results/h200/microbenchmarks.csv`.
#[derive(Deserialize)]
struct Row {
    file: String,
    kernel: String,
    blocks: u32,
    threads: u32,
    shared: u32,
    bytes: u32,
    step: u32,
    pitch: u32,
    times: u32,
    clocks_each: f64,
    microseconds: f64,
    sm_mhz: Option<f64>,
}

/// A row of `results/h200/ceilings.csv`.
#[derive(Deserialize)]
struct Ceiling {
    name: String,
    per_clock: f64,
}

struct Record {
    rows: Vec<Row>,
    ceilings: Vec<Ceiling>,
}

impl Record {
    fn new() -> Self {
        let folder = root().join("results/h200");
        Self {
            rows: table(&read(&folder.join("microbenchmarks.csv"))),
            ceilings: table(&read(&folder.join("ceilings.csv"))),
        }
    }

    /// The rows of a kernel with this many threads in each block.
    fn rows(&self, kernel: &str, threads: u32) -> Vec<&Row> {
        let is =
            |row: &&Row| format!("{}/{}", row.file, row.kernel) == kernel && row.threads == threads;
        let rows: Vec<&Row> = self.rows.iter().filter(is).collect();
        assert!(
            !rows.is_empty(),
            "{kernel} with {threads} threads is not recorded"
        );
        rows
    }

    /// Clocks per operation of one warp, from the first such row.
    fn clocks(&self, kernel: &str, threads: u32) -> f64 {
        self.rows(kernel, threads)[0].clocks_each
    }

    /// The same with this stride between lanes.
    fn clocks_at(&self, kernel: &str, threads: u32, step: u32) -> f64 {
        let rows = self.rows(kernel, threads);
        let row = rows.iter().find(|row| row.step == step);
        row.expect("a recorded distance").clocks_each
    }

    /// Clocks for each box of TMA, with a ring of this many bytes in flight.
    fn boxes(&self, blocks: u32, bytes: u32, ring: u32, step: u32) -> f64 {
        let rows = self.rows("tma/one", 32);
        let row = rows.iter().find(|row| {
            (row.blocks, row.bytes, row.shared, row.step) == (blocks, bytes, ring, step)
                && (row.pitch, row.times) == (8192, 300)
        });
        row.expect("recorded boxes").clocks_each
    }

    /// Nanoseconds of a load's latency that do not follow the SM clock: from the clocks that it takes beside idle SMs, and at the
    /// clock that a card chooses whose tensor cores have been busy.
    fn own_nanoseconds(&self, kernel: &str) -> f64 {
        let rows = self.rows(kernel, 384);
        let one = |blocks, step| {
            let row = rows
                .iter()
                .find(|row| (row.blocks, row.step) == (blocks, step));
            let row = row.expect("a recorded chain");
            (row.clocks_each, row.sm_mhz.expect("a recorded clock"))
        };
        let ((fast, mhz), (slow, throttled)) = (one(1, 0), one(132, 400));
        1e3 * (fast - slow) / (mhz - throttled)
    }

    fn ceiling(&self, name: &str) -> f64 {
        let row = self.ceilings.iter().rfind(|row| row.name == name);
        row.expect("a recorded ceiling").per_clock
    }
}

fn table<R: for<'de> Deserialize<'de>>(text: &str) -> Vec<R> {
    let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    rows.collect::<Result<_, _>>().expect("a table")
}

/// Each constant, the recorded value, and the tolerance.
fn derived(record: &Record, card: &Card) -> Vec<(&'static str, f64, f64, f64)> {
    let (interval, latency, bytes) = (&card.interval, &card.latency, &card.bytes);
    // 32 warps, 8 on each scheduler.
    let of_8 = |kernel| record.clocks(kernel, 1024) / 8.0;
    let one_way = record.clocks("barriers/mbarrier_cta", 64);
    let late = |steps: u32| record.clocks_at("barriers/mbarrier_late", 64, steps);
    let lines = |bytes: u32, lanes: u32, blocks: u32| {
        let rows = record.rows(&format!("memory/row_stores_{bytes}"), 512);
        let row = rows
            .iter()
            .find(|row| (row.step, row.blocks) == (lanes, blocks));
        // Of 16 warps, which write this many lines each.
        row.expect("recorded stores").clocks_each / 16.0 / f64::from(32 / lanes)
    };
    // Accesses in the queues when a burst has been issued: all that were issued, less those that the pipe has begun, one every
    // `each` clocks.
    let queued = |count: u32, threads: u32, schedulers: u32, each: f64| {
        let clocks = record.clocks_at(&format!("shared/burst_{count}"), threads, schedulers);
        let of_scheduler = f64::from(count * (threads / 128).max(1));
        of_scheduler * f64::from(schedulers) - clocks / each
    };
    let copies = |matrices: u32| {
        record.clocks(&format!("memory/copies_beside_ldmatrix_{matrices}"), 512) / 16.0
    };
    let rows = |bytes: u32, matrices: u32| {
        record.clocks(&format!("memory/copies_of_rows_{bytes}_{matrices}"), 512) / 16.0
    };
    let tested = interval.mbarrier_poll / 2.0 + latency.mbarrier_test;
    let launch = |kernel: &str| {
        let rows = record.rows(&format!("launches/{kernel}"), 128);
        let row = rows.iter().find(|row| row.blocks == 132);
        row.expect("a recorded launch on all SMs").microseconds * card.mhz
    };
    vec![
        // An SM has 4 sub-partitions of 32 lanes.
        (
            "interval.fma",
            interval.fma,
            128.0 / record.ceiling("fma"),
            0.02,
        ),
        (
            "interval.mma_flop",
            interval.mma_flop,
            record.ceiling("mma_sync") / 4.0,
            0.01,
        ),
        (
            "interval.wgmma_flop",
            interval.wgmma_flop,
            record.ceiling("wgmma") / 4.0,
            0.01,
        ),
        (
            "interval.imad",
            interval.imad,
            of_8("instructions/imad"),
            0.02,
        ),
        (
            "interval.imad_wide",
            interval.imad_wide,
            of_8("instructions/mul_wide"),
            0.02,
        ),
        (
            "interval.half",
            interval.half,
            of_8("instructions/widen"),
            0.03,
        ),
        // The ALU's dispatch port serves both: one clock for an FFMA, two for a LOP3. An IMAD uses another port.
        (
            "interval.fma + interval.alu",
            interval.fma + interval.alu,
            2.0 * of_8("instructions/ffma_beside_lop3"),
            0.02,
        ),
        (
            "2 interval.fma + interval.alu",
            2.0 * interval.fma + interval.alu,
            3.0 * of_8("instructions/two_ffma_beside_lop3"),
            0.02,
        ),
        // Two FFMA and an IMAD share both halves of the FMA pipe, for two clocks each.
        (
            "(4 interval.fma + interval.imad) / 2",
            (4.0 * interval.fma + interval.imad) / 2.0,
            3.0 * of_8("instructions/two_ffma_beside_imad"),
            0.05,
        ),
        (
            "interval.alu",
            interval.alu,
            of_8("instructions/lop3"),
            0.03,
        ),
        (
            "interval.uniform",
            interval.uniform,
            of_8("instructions/uniform_add_xor"),
            0.03,
        ),
        (
            "interval.double",
            interval.double,
            of_8("instructions/fma_f64"),
            0.03,
        ),
        (
            "latency.double",
            latency.double,
            record.clocks("instructions/fma_f64", 32),
            0.02,
        ),
        (
            "interval.convert",
            interval.convert,
            of_8("instructions/popc"),
            0.01,
        ),
        // With a conversion back, which the ALU does.
        (
            "interval.convert, F2I",
            interval.convert,
            2.0 * of_8("instructions/f32_to_s32_and_back"),
            0.05,
        ),
        // 32 warps share the data pipe, and each shuffles, or loads and shuffles.
        (
            "interval.shuffle",
            interval.shuffle,
            record.clocks("instructions/shfl", 1024) / 32.0,
            0.01,
        ),
        (
            "interval.shuffle + 1",
            interval.shuffle + 1.0,
            record.clocks_at("shared/ld_b32_beside_shfl", 1024, 4) / 32.0,
            0.04,
        ),
        (
            "latency.shuffle",
            latency.shuffle,
            record.clocks("instructions/shfl", 32),
            0.01,
        ),
        (
            "interval.special",
            interval.special,
            of_8("instructions/mufu_ex2"),
            0.02,
        ),
        (
            "latency.special",
            latency.special,
            record.clocks("instructions/mufu_ex2", 32),
            0.02,
        ),
        (
            "latency.fixed",
            latency.fixed,
            record.clocks("instructions/fma_f32", 32),
            0.07,
        ),
        (
            "latency.constant",
            latency.constant,
            record.clocks("instructions/ldc", 32),
            0.02,
        ),
        (
            "latency.shared",
            latency.shared,
            record.clocks_at("shared/ld_b32", 32, 4),
            0.02,
        ),
        (
            "latency.shared_wavefront",
            latency.shared_wavefront,
            (record.clocks_at("shared/ld_b32", 32, 128) - record.clocks_at("shared/ld_b32", 32, 4))
                / 31.0,
            0.02,
        ),
        (
            "latency.l1",
            latency.l1,
            record.clocks("memory/chase_ca", 1),
            0.02,
        ),
        (
            "latency.l2",
            latency.l2,
            record.clocks("memory/chase_cg", 1),
            0.02,
        ),
        (
            "latency.l2_far",
            latency.l2_far,
            chase(record, "chase_cg", 40 << 20),
            0.02,
        ),
        (
            "latency.dram",
            latency.dram,
            record.clocks("memory/chase_cg_once", 1),
            0.1,
        ),
        (
            "latency.mma",
            latency.mma,
            record.clocks("mma_sync/m16n8k16_chain", 32),
            0.02,
        ),
        (
            "latency.barrier + latency.barrier_warp",
            latency.barrier + latency.barrier_warp,
            record.clocks("instructions/bar_sync", 32),
            0.04,
        ),
        (
            "latency.barrier + 32 latency.barrier_warp",
            latency.barrier + 32.0 * latency.barrier_warp,
            record.clocks("instructions/bar_sync", 1024),
            0.01,
        ),
        (
            "latency.membar_cta",
            latency.membar_cta,
            record.clocks("instructions/membar_cta", 32),
            0.05,
        ),
        (
            "latency.membar_gpu",
            latency.membar_gpu,
            record.clocks("instructions/membar_gl", 32),
            0.02,
        ),
        (
            "latency.proxy_fence",
            latency.proxy_fence,
            record.clocks("instructions/fence_proxy_async_shared", 32),
            0.02,
        ),
        // An arrival and a wait for the phase that it completes, less such a wait alone.
        (
            "latency.mbarrier_arrive",
            latency.mbarrier_arrive,
            record.clocks("barriers/mbarrier_own", 32)
                - record.clocks("barriers/mbarrier_ended", 32),
            0.05,
        ),
        // One step of the arriving warp costs less than a poll. From one arrival of a warp to its next, two ways pass and the warp
        // polls once more or not at all. So a way is longer by half a poll.
        (
            "interval.mbarrier_poll",
            interval.mbarrier_poll,
            2.0 * (late(5) - 2.0 * late(4) + late(3)),
            0.02,
        ),
        // The same from the distance of such steps: at 5, 11, 16 and 22, and counting by one takes a warp twice what a way gets longer.
        (
            "interval.mbarrier_poll",
            interval.mbarrier_poll,
            f64::from(22 - 5) / 3.0 * 2.0 * (late(4) - late(3)),
            0.1,
        ),
        (
            "latency.mbarrier_test",
            latency.mbarrier_test,
            // Instructions around a test take 5 clocks.
            record.clocks("barriers/mbarrier_ended", 32) - 5.0,
            0.02,
        ),
        (
            "interval.mbarrier_arrive",
            interval.mbarrier_arrive,
            record.clocks("barriers/mbarrier_arrive", 128) / 4.0,
            0.02,
        ),
        // A group of four products of 64 clocks each, and 11 clocks of other instructions.
        (
            "latency.wgmma_drain",
            latency.wgmma_drain,
            4.0 * (record.clocks("wgmma/n128", 128) - 64.0) - 11.0,
            0.02,
        ),
        // One box of 8 KiB at a time. The barrier takes half a poll, on average, and a test; 31 clocks are the instructions'.
        (
            "latency.tma",
            latency.tma,
            record.boxes(132, 8192, 8192, 0) - 8192.0 / bytes.tma - tested - 31.0,
            0.02,
        ),
        (
            "bytes.tma",
            bytes.tma,
            32768.0 / record.boxes(1, 32768, 6 * 32768, 0),
            0.02,
        ),
        (
            "bytes.l2_own",
            bytes.l2_own,
            16384.0 / record.boxes(132, 16384, 6 * 16384, 1),
            0.03,
        ),
        (
            "latency.start",
            latency.start,
            record.clocks("launches/starts", 128),
            0.02,
        ),
        (
            "latency.mbarrier_remote",
            latency.mbarrier_remote,
            record.clocks("barriers/mbarrier_remote", 32) - one_way,
            0.05,
        ),
        (
            "latency.cluster_barrier",
            latency.cluster_barrier,
            record.clocks("barriers/cluster_barrier", 32),
            0.05,
        ),
        (
            "latency.cta",
            latency.cta,
            record.clocks("launches/spin", 128),
            0.02,
        ),
        ("latency.launch", latency.launch, launch("nothing"), 0.05),
        (
            "latency.cold",
            latency.cold,
            launch("nothing_but_a_store") - launch("nothing"),
            0.02,
        ),
        // 16 warps, each of which copies 512 bytes and reads as many with one or four ldmatrix of 4 wavefronts.
        (
            "queue.copy_passes",
            card.queue.copy_passes,
            (copies(4) - 16.0) / 4.0,
            0.03,
        ),
        // The same where a copy has half of each line: at most a tenth more or less.
        (
            "queue.copy_passes",
            card.queue.copy_passes,
            (rows(64, 4) - 16.0) / 4.0,
            0.1,
        ),
        // 16 warps, whose copies have 8 or 16 lines each.
        (
            "interval.copy_line",
            interval.copy_line,
            rows(64, 0) / 8.0,
            0.07,
        ),
        (
            "interval.copy_line",
            interval.copy_line,
            rows(32, 0) / 16.0,
            0.07,
        ),
        (
            "memory.l2_ns",
            card.memory.l2_ns,
            record.own_nanoseconds("throttled/chase_l2"),
            0.02,
        ),
        (
            "memory.dram_ns",
            card.memory.dram_ns,
            record.own_nanoseconds("throttled/chase_dram"),
            0.02,
        ),
        // Lines with one sector and with four, all SMs active.
        (
            "bytes.store",
            bytes.store,
            3.0 * 32.0 / (lines(16, 8, 132) - lines(16, 2, 132)),
            0.02,
        ),
        (
            "interval.store_line",
            interval.store_line,
            lines(16, 2, 132) - 32.0 / bytes.store,
            0.06,
        ),
        (
            "bytes.store_port",
            bytes.store_port,
            16.0 * 512.0 / of_sms(record, 1, "memory/stores", 512),
            0.02,
        ),
        // Half a sector counts as two, by one SM and by all.
        (
            "bytes.store_port, half sectors",
            bytes.store_port,
            64.0 / lines(4, 4, 1),
            0.02,
        ),
        (
            "bytes.store, half sectors",
            interval.store_line + 64.0 / bytes.store,
            lines(4, 4, 132),
            0.05,
        ),
        (
            "latency.tensor_map",
            latency.tensor_map,
            first_box(record, "one") - first_box(record, "prefetched"),
            0.05,
        ),
        (
            "interval.tma_copy",
            interval.tma_copy,
            record.clocks("tma/bulk_copies", 1024),
            0.02,
        ),
        (
            "interval.tma_box",
            interval.tma_box,
            record.clocks("tma/small_boxes", 1024),
            0.02,
        ),
        (
            "interval.tma_lane",
            interval.tma_lane,
            record.clocks("tma/bulk_copies", 32),
            0.02,
        ),
        (
            "bytes.l2_port",
            bytes.l2_port,
            16.0 * 512.0 / of_sms(record, 1, "memory/loads_8", 512),
            0.05,
        ),
        // One scheduler's stores of 32 wavefronts take 63 clocks each, those of all four 32.
        (
            "queue.memory_instructions + queue.data_accesses",
            card.queue.memory_instructions + card.queue.data_accesses,
            queued(40, 32, 1, 63.0),
            0.03,
        ),
        (
            "4 queue.memory_instructions + queue.data_accesses",
            4.0 * card.queue.memory_instructions + card.queue.data_accesses,
            (queued(16, 128, 4, 32.0) + queued(10, 256, 4, 32.0)) / 2.0,
            0.03,
        ),
        (
            "queue.gpcs",
            card.queue.gpcs,
            record.clocks("launches/clusters", 128),
            0.01,
        ),
        ("bytes.dram", bytes.dram, record.ceiling("dram"), 0.02),
        (
            "bytes.l2_port_copy",
            bytes.l2_port_copy,
            16.0 * 512.0 / of_sms(record, 1, "memory/copies_16", 512),
            0.02,
        ),
    ]
}

/// Clocks per load of one thread that goes through this many bytes again and again.
fn chase(record: &Record, kernel: &str, bytes: u32) -> f64 {
    let rows = record.rows(&format!("memory/{kernel}"), 1);
    let whole = |row: &&&Row| row.bytes == bytes && row.times == bytes / 128;
    rows.iter()
        .find(whole)
        .expect("a recorded chain")
        .clocks_each
}

/// A block's first box, one SM active.
fn first_box(record: &Record, kernel: &str) -> f64 {
    let rows = record.rows(&format!("tma/{kernel}"), 32);
    let first = |row: &&&Row| (row.blocks, row.bytes, row.times) == (1, 8192, 1);
    rows.iter()
        .find(first)
        .expect("a recorded first box")
        .clocks_each
}

/// Clocks per operation if this many SMs each access data of their own in the L2.
fn of_sms(record: &Record, sms: u32, kernel: &str, threads: u32) -> f64 {
    let rows = record.rows(kernel, threads);
    let row = rows
        .iter()
        .find(|row| row.blocks == sms && row.bytes == 256 << 10);
    row.expect("a recorded launch on this number of SMs")
        .clocks_each
}

#[test]
fn constants_follow_from_the_recordings() {
    let card = Card::H200;
    let record = Record::new();
    let mut wrong = Vec::new();
    for (name, constant, recorded, tolerance) in derived(&record, &card) {
        if (constant / recorded - 1.0).abs() > tolerance {
            wrong.push(format!(
                "{name} = {constant}, and the recording says {recorded:.2}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Loads one after the other through as many bytes as a cache may hold: some miss from one number of bytes to the next.
#[test]
fn caches_hold_what_their_constants_say() {
    let (card, record) = (Card::H200, Record::new());
    let (l1, l2) = (card.queue.l1_bytes, card.queue.l2_bytes);
    let chase = |kernel, bytes| chase(&record, kernel, bytes);
    let kib = |kib: u32| kib << 10;
    assert!(
        (f64::from(kib(208))..f64::from(kib(224))).contains(&l1),
        "{l1}"
    );
    assert!(chase("chase_ca", kib(208)) < 1.02 * card.latency.l1);
    assert!(chase("chase_ca", kib(224)) > 1.5 * card.latency.l1);
    let mib = |mib: u32| mib << 20;
    assert!(
        (f64::from(mib(56))..f64::from(mib(64))).contains(&l2),
        "{l2}"
    );
    // The half that is far from the SM is slower, but faster than DRAM.
    assert!(chase("chase_cg", mib(56)) < 0.85 * card.latency.dram);
    assert!(chase("chase_cg", mib(64)) > 0.95 * card.latency.dram);
}

/// Warps of a scheduler that can issue take turns: those that begin together end together.
#[test]
fn warps_take_turns() {
    let record = Record::new();
    for (kernel, most) in [("instructions/turns_ffma", 1.002), ("mma_sync/turns", 1.02)] {
        let clocks: Vec<f64> = (0..4)
            .map(|nth| record.clocks_at(kernel, 512, nth))
            .collect();
        let (first, last) = clocks
            .iter()
            .fold((f64::MAX, 0.0f64), |(first, last), &one| {
                (first.min(one), last.max(one))
            });
        assert!(last / first < most, "{kernel}: {clocks:?}");
    }
}

/// Bytes a clock and SM of boxes that several of 132 blocks read, where enough of them are in flight: as recorded, and by the rule
/// that the L2 reads once for all SMs of a GPC.
fn shared_boxes(record: &Record, card: &Card, kernel: &str) -> Vec<(f64, f64)> {
    let rows = record.rows(kernel, 32).into_iter();
    let rows = rows.filter(|row| row.blocks == 132 && row.shared >= 4 * row.bytes);
    let both = rows.map(|row| {
        let readers = |block: u32| match kernel {
            "tma/neighbors" => block / row.step,
            _ => block % (row.blocks / row.step),
        };
        let reads: HashSet<(u32, u32)> = (0..row.blocks)
            .map(|block| (card.gpc(block), readers(block)))
            .collect();
        let read = reads.len() as f64 / f64::from(row.blocks);
        let clocks = (1.0 - read) / card.bytes.tma + read / card.bytes.l2_own;
        (f64::from(row.bytes) / row.clocks_each, 1.0 / clocks)
    });
    both.collect()
}

/// Neighbors are in one GPC, blocks far from each other are not.
#[test]
fn sms_of_a_gpc_share_what_they_read() {
    let card = Card::H200;
    let record = Record::new();
    for (kernel, most, worst) in [("tma/strided", 0.05, 0.31), ("tma/neighbors", 0.12, 0.35)] {
        let boxes = shared_boxes(&record, &card, kernel);
        let errors = Errors::new(boxes.iter().map(|(recorded, rule)| rule / recorded - 1.0));
        let errors = errors.expect("recorded boxes");
        assert!(errors.median < most, "{kernel}: {:.3}", errors.median);
        assert!(
            errors.worst < worst,
            "{kernel}: {:.3} at worst",
            errors.worst
        );
    }
}

/// What DRAM delivers in a nanosecond does not follow the SM clock, which the card lowers if its tensor cores are busy.
#[test]
fn dram_delivers_as_much_at_a_lower_clock() {
    let record = Record::new();
    let clock_and_rate = |products: u32| {
        let rows = record.rows(&format!("throttled/rate_beside_{products}"), 384);
        let row = rows.iter().find(|row| row.bytes == 8 << 20);
        let row = row.expect("a recorded rate");
        let mhz = row.sm_mhz.expect("a recorded clock");
        (mhz, mhz / row.clocks_each)
    };
    let ((fast, alone), (slow, beside)) = (clock_and_rate(0), clock_and_rate(50));
    let (clock, rate) = (slow / fast, beside / alone);
    assert!(clock < 0.9 && rate > 0.95, "{rate:.3} at {clock:.3}");
}

/// Nor does what the L2 delivers, by copies of 16 KiB.
#[test]
fn the_l2_delivers_as_much_at_a_lower_clock() {
    let record = Record::new();
    let clock_and_rate = |products: u32| {
        let rows = record.rows(&format!("throttled/copy_rate_beside_{products}"), 384);
        let row = rows.first().expect("a recorded rate");
        let mhz = row.sm_mhz.expect("a recorded clock");
        (mhz, 512.0 * mhz / row.clocks_each)
    };
    let ((fast, alone), (slow, beside)) = (clock_and_rate(0), clock_and_rate(100));
    let (clock, rate) = (slow / fast, beside / alone);
    assert!(
        clock < 0.95 && (rate - 1.0).abs() < 0.02,
        "{rate:.3} at {clock:.3}"
    );
    let limit = Card::H200.bytes.l2_own * Card::H200.mhz;
    assert!((alone / limit - 1.0).abs() < 0.02, "the L2's limit");
}
