//! An NVIDIA H200: 132 SMs (sm_90a) at 1,980 MHz; all times are in SM clocks. No constant is fitted to a rung or a lab.
//! "ceilings.csv" and "microbenchmark" are results/h200/ceilings.csv and microbenchmarks.csv (`cargo ladder ceilings`);
//! tests/tests/all/constants.rs derives the constants from them.
use super::{Bytes, Card, Interval, Latency, OwnClock, Queue};

pub(super) const H200: Card = Card {
    name: "NVIDIA H200",
    sms: 132,
    mhz: 1980.0,
    // Pipes of a sub-partition (each SM has four): clocks between two warp instructions.
    interval: Interval {
        // FFMA: each half of the FMA pipe takes one every two clocks (ceilings.csv, fma: 126.6 of 128 lanes per clock and SM), and each
        // instruction occupies the ALU's dispatch port for one clock: microbenchmarks ffma_beside_lop3, 3.0 clocks per pair, and two_ffma_beside_lop3, 4.0.
        fma: 1.0,
        alu: 2.0,             // microbenchmark: lop3
        imad: 2.0,            // microbenchmark: imad
        imad_wide: 4.0,       // microbenchmark: mul_wide
        half: 2.0,            // microbenchmark: fma_f16x2, widen
        double: 2.0,          // microbenchmark: fma_f64
        uniform: 2.0,         // microbenchmark: uniform_add_xor, uniform_imad
        special: 8.0,         // microbenchmark: MUFU
        convert: 8.0,         // microbenchmark: popc, f32_to_s32_and_back
        mma_flop: 662.0,      // ceilings.csv, mma_sync: 2,648 FLOP per clock and SM
        wgmma_flop: 1024.0,   // ceilings.csv, wgmma: 4,094 FLOP per clock and SM
        mbarrier_arrive: 7.6, // microbenchmark: mbarrier_arrive, arrivals of 4 warps; shared by the SM, not per sub-partition
        mbarrier_poll: 150.0, // microbenchmark: mbarrier_late. A warp that waits sees the phase at one of its polls
        tma_copy: 3.8,        // microbenchmark: bulk_copies, of 32 warps; of the SM
        tma_box: 5.7,         // microbenchmark: small_boxes, of 32 warps; of the SM
        tma_lane: 59.0,       // microbenchmark: bulk_copies of one warp, whose lanes take turns
        store_line: 0.85, // microbenchmark: row_stores, see bytes.store; of an SM, with all SMs active
        copy_line: 1.08, // microbenchmark: copies_of_rows_64_0 and 32_0, per line of 128 bytes; of the SM
        shuffle: 1.0, // microbenchmark: shfl; of the SM, in shared memory's data pipe (ld_b32_beside_shfl)
    },
    // Clocks from issue to the result.
    latency: Latency {
        fixed: 4.0, // microbenchmark: fma_f32 and lop3, one warp, each reads the result of the one before, 4.15 to 4.27
        double: 8.0, // microbenchmark: fma_f64, one warp
        special: 17.0, // microbenchmark: MUFU chain
        constant: 28.0, // microbenchmark: ldc
        shared: 28.0, // microbenchmark: one warp, one wavefront
        shared_wavefront: 2.0, // each further wavefront of one access: the same
        shuffle: 24.0, // microbenchmark: shfl, one warp
        l1: 41.0,   // microbenchmark: pointer chase
        l2: 283.0,  // the same
        l2_far: 531.0, // the same through 40 to 48 MiB: an SM has half of the L2 near
        dram: 672.0, // the same
        tma: 184.0, // microbenchmark: one box after the other, 1 to 32 KiB, extrapolated to 0 bytes; the bytes take bytes.tma in addition
        tensor_map: 106.0, // microbenchmark: a block's first box, of `one` and of `prefetched`
        mma: 25.0,  // microbenchmark: mma.sync m16n8k16, 24 to 25
        wgmma_drain: 53.0, // microbenchmark: issuing a group of four products and waiting for it takes 64 clocks longer than the products; 11 of these are instructions
        barrier: 12.0,     // microbenchmark: bar.sync of 1 warp takes 14, of 32 warps 76
        barrier_warp: 2.0,
        mbarrier_arrive: 8.0, // microbenchmark: mbarrier_own, 66 from an arrival to the end of a wait for it, less the 58 of mbarrier_ended
        mbarrier_test: 53.0, // microbenchmark: mbarrier_ended, a wait for a phase that is complete already
        mbarrier_remote: 62.0, // microbenchmark: 225 one way between CTAs of a cluster, less 163 within a CTA
        cluster_barrier: 80.0, // microbenchmark: cluster_barrier, 79 with one warp per block, 101 with 12
        membar_cta: 9.0,       // microbenchmark
        membar_gpu: 266.0, // microbenchmark: alone. With bulk copies in flight it takes 1,100 and more, because it waits for them
        proxy_fence: 9.5,  // microbenchmark: fence.proxy.async.shared::cta
        launch: 1130.0,    // microbenchmark: nothing, an empty launch of 132 blocks in a graph
        cold: 510.0, // microbenchmark: nothing_but_a_store, by how much it takes longer than nothing: no cache has the first instructions and parameters
        start: 27.0, // microbenchmark: starts, from the start of a CTA to that of the next on its SM
        cta: 345.0,  // microbenchmark: from the end of a CTA to the next on its SM
    },
    // Bytes per clock and SM, with all SMs active.
    bytes: Bytes {
        l2_port: 64.0,       // microbenchmark: loads of data that all SMs read, 61
        l2_port_copy: 118.0, // microbenchmark: copies_16, by one SM alone
        tma: 107.0,          // microbenchmark: boxes of 32 KiB, by one SM alone
        // All SMs active, each with its own data: microbenchmarks copies_16 (34.8), loads_8 and tma/one (35.4). If all SMs read the same
        // data, the port's rate applies. In between, this rate applies to what the L2 reads for one SM, and the port's rate to what it
        // also delivers to other SMs of the GPC. An H100 recorded the loads of a matrix product (results/h100-80gb-hbm3, tma/tiles): with
        // its own rate of 31 in place of 35, the rule is within a fifth of most, and 40% off at worst (a block column shared by 33, three
        // stages). If fewer SMs are active they share the same sum, each at most l2_port: tma/one on 33 and 66 SMs, 59 to 77.
        l2_own: 35.0,
        dram: 15.0,       // ceilings.csv, dram
        store: 20.0, // microbenchmark: row_stores, all SMs active, of lines with one sector and with four; a line takes interval.store_line in addition
        store_port: 31.6, // microbenchmark: stores, by one SM alone and by up to 66. A sector that is written in part counts twice: row_stores_4
    },
    queue: Queue {
        // Accesses that wait for shared memory's data pipe: microbenchmarks burst, of one scheduler (30) and of all four (54).
        memory_instructions: 8.0, // per sub-partition
        data_accesses: 22.0,      // and then in one queue of the SM
        copy_passes: 1.33, // microbenchmark: copies_beside_ldmatrix: 512 bytes by cp.async cost ldmatrix 5.3 clocks, in whole lines or (copies_of_rows_64) in halves
        l1_bytes: 212_992.0, // microbenchmark: chase_ca, 208 KiB hit and of 224 a seventh misses
        gpcs: 8.0,         // microbenchmark: clusters
        l2_bytes: 60e6, // microbenchmark: chase_cg, 56 MiB are faster than DRAM and 64 are not; an H200 reports 60 MB
    },
    // Of a latency the part that does not follow the SM clock: microbenchmarks throttled/chase_l2 and chase_dram, at the clock that the
    // card chose beside idle SMs and beside busy tensor cores. What DRAM delivers a nanosecond does not follow it either: 4% less at 1,733 MHz
    // (rate_beside_50). Nor does what the L2 delivers: the same at 1,814 MHz (copy_rate_beside_100). TMA and a fence of the GPU's scope wait
    // for the L2, so they have the same part.
    memory: OwnClock {
        l2_ns: 72.0,
        dram_ns: 230.0,
    },
};
