//! What an NVIDIA H200 does in a clock of its SMs (132 of them, sm_90a), at 1,980 MHz. No constant is of a rung or a lab.
//! "ceilings.csv" and "microbenchmark" are results/h200/ceilings.csv and microbenchmarks.csv (`cargo ladder ceilings`);
//! tests/tests/all/constants.rs derives them again. "assumed": not measured yet.
use super::{Bytes, Card, Interval, Latency, Queue};

pub(super) const H200: Card = Card {
    name: "NVIDIA H200",
    sms: 132,
    mhz: 1980.0,
    // Pipes of a sub-partition (each SM has four): clocks between two warp instructions.
    interval: Interval {
        // FFMA: each half of the FMA pipe takes one in two clocks (ceilings.csv, fma: 126.6 of 128 lanes a clock and SM), and each
        // takes the ALU's dispatch port for one clock: microbenchmarks ffma_beside_lop3, 3.0 clocks a pair, and two_ffma_beside_lop3, 4.0.
        fma: 1.0,
        alu: 2.0,  // 16 lanes: CUDA C++ Programming Guide, "Arithmetic Instructions", 9.0
        imad: 2.0, // microbenchmark: imad
        imad_wide: 4.0, // microbenchmark: mul_wide
        half: 2.0, // microbenchmark: fma_f16x2, widen
        double: 2.0, // the same table: 64
        uniform: 2.0, // assumed
        special: 8.0, // microbenchmark: MUFU
        convert: 8.0, // the same table: 16 lanes a clock and SM
        mma_flop: 662.0, // ceilings.csv, mma_sync: 2,648 FLOP a clock and SM
        wgmma_flop: 1024.0, // ceilings.csv, wgmma: 4,094 FLOP a clock and SM
        mbarrier_arrive: 7.6, // microbenchmark: mbarrier_arrive, arrivals of 4 warps; of the SM, not of a sub-partition
        shuffle: 2.0,         // the same table: 32 lanes a clock and SM
    },
    // Clocks from issue to the result.
    latency: Latency {
        fixed: 4.0, // microbenchmark: fma_f32 and lop3, one warp, each reads the one before, 4.15 to 4.27
        special: 17.0, // microbenchmark: MUFU chain
        constant: 28.0, // microbenchmark: ldc
        shared: 28.0, // microbenchmark: one warp, one wavefront
        shared_wavefront: 2.0, // each further wavefront of one access: the same
        l1: 41.0,   // microbenchmark: pointer chase
        l2: 283.0,  // the same
        dram: 672.0, // the same
        tma: 272.0, // microbenchmark: one box after the other, 1 to 32 KiB: what is left at 0 bytes; the bytes take bytes.tma besides
        mma: 25.0,  // microbenchmark: mma.sync m16n8k16, 24 to 25
        wgmma_drain: 53.0, // microbenchmark: a group of four products that is waited for takes 64 clocks more than the products; 11 of them are instructions
        barrier: 12.0,     // microbenchmark: bar.sync of 1 warp takes 14, of 32 warps 76
        barrier_warp: 2.0,
        mbarrier: 40.0, // assumed: from the completion of a phase to the waiting warp
        mbarrier_arrive: 90.0, // microbenchmark: mbarrier_cta, from an arrival to the warp that waits 163: less mbarrier, and 33 for instructions
        mbarrier_test: 53.0,   // microbenchmark: mbarrier_ended, a wait for a completed phase
        mbarrier_remote: 62.0, // microbenchmark: one way between CTAs of a cluster, 225, less 163 within one
        cluster_barrier: 80.0, // microbenchmark: cluster_barrier, 79 with a warp in each block, 101 with 12
        membar_cta: 9.0,       // microbenchmark
        membar_gpu: 266.0, // microbenchmark: alone. Beside bulk copies in flight it takes 1,100 and more: it waits for them
        proxy_fence: 9.5,  // microbenchmark: fence.proxy.async.shared::cta
        launch: 1370.0,    // microbenchmark: an empty launch in a graph, 0.69 us
        start: 27.0, // microbenchmark: starts, from the start of a CTA to that of the next on its SM
        cta: 345.0,  // microbenchmark: from the end of a CTA to the next on its SM
    },
    // Bytes a clock and SM, with all SMs at work.
    bytes: Bytes {
        l2_port: 64.0,       // microbenchmark: loads of data that all SMs read, 61
        l2_port_copy: 118.0, // microbenchmark: copies_16, by one SM alone
        tma: 107.0,          // microbenchmark: boxes of 32 KiB, by one SM alone
        // All SMs at work, each with data of its own: microbenchmarks copies_16 (34.8), loads_8 and tma/one (35.4). If all want the same
        // it is the port's rate. In between, what the L2 reads for one SM takes this rate, what it passes on to others of the GPC besides
        // takes the port's. An H100 recorded the loads of a matrix product (results/h100-80gb-hbm3, tma/tiles): with its own rate of 31 in
        // place of 35, the rule is within a fifth of most, and 40% off at worst (a block column shared by 33, three stages).
        // Where fewer SMs are at work they share the same sum, each no more than l2_port: tma/one on 33 and 66 SMs, 59 to 77.
        l2_own: 35.0,
        dram: 15.0,  // ceilings.csv, dram
        store: 31.0, // microbenchmark
    },
    queue: Queue {
        memory_instructions: 10.0, // assumed: of a sub-partition, before shared memory's pipe
        copy_passes: 1.33, // microbenchmark: copies_beside_ldmatrix: 512 bytes by cp.async take 5.3 clocks from ldmatrix
        l1_bytes: 262_144.0, // CUDA C++ Programming Guide, "Compute Capabilities", 9.0: 256 KB with shared memory
        gpcs: 8.0,           // the same: GPCs of the GPU
        l2_bytes: 50e6,      // NVIDIA H100 Tensor Core GPU Architecture: 50 MB; an H200 reports 60
    },
};
