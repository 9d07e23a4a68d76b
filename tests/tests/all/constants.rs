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
    let copies = |matrices: u32| {
        record.clocks(&format!("memory/copies_beside_ldmatrix_{matrices}"), 512) / 16.0
    };
    let microseconds = record.rows("launches/nothing", 128)[0].microseconds;
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
        // Instructions between a waiting warp's release and the next arrival take 33 clocks, those around a test 5.
        (
            "latency.mbarrier + latency.mbarrier_arrive",
            latency.mbarrier + latency.mbarrier_arrive,
            one_way - 33.0,
            0.02,
        ),
        (
            "latency.mbarrier_test",
            latency.mbarrier_test,
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
        // One box of 8 KiB at a time; 71 clocks are the barrier's and the instructions'.
        (
            "latency.tma",
            latency.tma,
            record.boxes(132, 8192, 8192, 0) - 8192.0 / bytes.tma - 71.0,
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
        (
            "latency.launch",
            latency.launch,
            microseconds * card.mhz,
            0.05,
        ),
        // 16 warps, each of which copies 512 bytes and reads as many with one or four ldmatrix of 4 wavefronts.
        (
            "queue.copy_passes",
            card.queue.copy_passes,
            (copies(4) - 16.0) / 4.0,
            0.03,
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
        (
            "bytes.store",
            bytes.store,
            16.0 * 512.0 / of_sms(record, 132, "memory/stores", 512),
            0.02,
        ),
        (
            "bytes.store_port",
            bytes.store_port,
            16.0 * 512.0 / of_sms(record, 1, "memory/stores", 512),
            0.02,
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
