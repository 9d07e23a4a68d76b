//! An NVIDIA H200: 132 SMs (sm_90a) at 1,980 MHz; all times are in SM clocks. No constant is fitted to a rung or a lab.
//! "ceilings.csv" and "microbenchmark" are results/h200/ceilings.csv and microbenchmarks.csv (`cargo ladder ceilings`);
//! tests/tests/all/constants.rs derives the constants from them. "assumed": not measured yet.
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
        alu: 2.0,  // 16 lanes: CUDA C++ Programming Guide, "Arithmetic Instructions", 9.0
        imad: 2.0, // microbenchmark: imad
        imad_wide: 4.0, // microbenchmark: mul_wide
        half: 2.0, // microbenchmark: fma_f16x2, widen
        double: 2.0, // the same table: 64
        uniform: 2.0, // assumed
        special: 8.0, // microbenchmark: MUFU
        convert: 8.0, // the same table: 16 lanes per clock and SM
        mma_flop: 662.0, // ceilings.csv, mma_sync: 2,648 FLOP per clock and SM
        wgmma_flop: 1024.0, // ceilings.csv, wgmma: 4,094 FLOP per clock and SM
        mbarrier_arrive: 7.6, // microbenchmark: mbarrier_arrive, arrivals of 4 warps; shared by the SM, not per sub-partition
        shuffle: 2.0,         // the same table: 32 lanes per clock and SM
    },
    // Clocks from issue to the result.
    latency: Latency {
        fixed: 4.0, // microbenchmark: fma_f32 and lop3, one warp, each reads the result of the one before, 4.15 to 4.27
        special: 17.0, // microbenchmark: MUFU chain
        constant: 28.0, // microbenchmark: ldc
        shared: 28.0, // microbenchmark: one warp, one wavefront
        shared_wavefront: 2.0, // each further wavefront of one access: the same
        l1: 41.0,   // microbenchmark: pointer chase
        l2: 283.0,  // the same
        dram: 672.0, // the same
        tma: 272.0, // microbenchmark: one box after the other, 1 to 32 KiB, extrapolated to 0 bytes; the bytes take bytes.tma in addition
        mma: 25.0,  // microbenchmark: mma.sync m16n8k16, 24 to 25
        wgmma_drain: 53.0, // microbenchmark: issuing a group of four products and waiting for it takes 64 clocks longer than the products; 11 of these are instructions
        barrier: 12.0,     // microbenchmark: bar.sync of 1 warp takes 14, of 32 warps 76
        barrier_warp: 2.0,
        mbarrier: 40.0, // assumed: from the completion of a phase to the waiting warp
        mbarrier_arrive: 90.0, // microbenchmark: mbarrier_cta, 163 from an arrival to the waiting warp, less `mbarrier` and 33 for instructions
        mbarrier_test: 53.0, // microbenchmark: mbarrier_ended, a wait for a phase that is complete already
        mbarrier_remote: 62.0, // microbenchmark: 225 one way between CTAs of a cluster, less 163 within a CTA
        cluster_barrier: 80.0, // microbenchmark: cluster_barrier, 79 with one warp per block, 101 with 12
        membar_cta: 9.0,       // microbenchmark
        membar_gpu: 266.0, // microbenchmark: alone. With bulk copies in flight it takes 1,100 and more, because it waits for them
        proxy_fence: 9.5,  // microbenchmark: fence.proxy.async.shared::cta
        launch: 1370.0,    // microbenchmark: an empty launch in a graph, 0.69 us
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
        store: 19.1,      // microbenchmark: stores, all SMs active, of data that fits into the L2
        store_port: 31.6, // the same by one SM alone, and by up to 66 SMs
    },
    queue: Queue {
        memory_instructions: 10.0, // assumed: per sub-partition, queued for shared memory's pipe
        copy_passes: 1.33, // microbenchmark: copies_beside_ldmatrix: 512 bytes by cp.async cost ldmatrix 5.3 clocks
        l1_bytes: 262_144.0, // CUDA C++ Programming Guide, "Compute Capabilities", 9.0: 256 KB with shared memory
        gpcs: 8.0,           // the same: GPCs of the GPU
        l2_bytes: 50e6,      // NVIDIA H100 Tensor Core GPU Architecture: 50 MB; an H200 reports 60
    },
    // Of a latency the part that does not follow the SM clock: microbenchmarks throttled/chase_l2 and chase_dram, at the clock that the
    // card chose beside idle SMs and beside busy tensor cores. What DRAM delivers a nanosecond does not follow it either: 4% less at 1,733 MHz
    // (rate_beside_50). Assumed of the L2, whose limit that microbenchmark does not reach. TMA and a fence of the GPU's scope wait for the
    // L2, so they have the same part.
    memory: OwnClock {
        l2_ns: 72.0,
        dram_ns: 230.0,
    },
};
