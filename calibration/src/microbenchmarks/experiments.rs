//! Every kernel with every setting.

/// One launch of a kernel in this folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its file, without the extension.
    pub file: &'static str,
    /// The kernel's name.
    pub kernel: String,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared: u32,
    /// The kernel's `bytes`: of `data`, all of it or each block's part.
    pub bytes: u32,
    /// The kernel's `step`.
    pub step: u32,
    /// Bytes from one row of the matrix that TMA reads to the next; 0 without TMA.
    pub pitch: u32,
    /// The number of turns of its loop.
    pub times: u32,
}

/// The warps that a pipe is measured with: one, one on each scheduler, and more, until throughput and not latency is
/// measured.
const THREADS: [u32; 5] = [32, 128, 256, 512, 1024];
/// A fraction of the SMs, and all of an H100 or H200.
const BLOCKS: [u32; 5] = [1, 8, 33, 66, 132];

const INSTRUCTIONS: &[&str] = &[
    "imad",
    "mul_wide",
    "lop3",
    "viaddmnmx",
    "vimnmx",
    "shf",
    "prmt",
    "popc",
    "isetp_sel",
    "fma_f32",
    "add_f32",
    "mul_f32",
    "fma_f16x2",
    "widen",
    "f16_to_f32_and_back",
    "fma_f64",
    "f32_to_s32_and_back",
    "uniform_add_xor",
    "uniform_imad",
    "mufu_ex2",
    "mufu_rsqrt",
    "ffma_beside_imad",
    "two_ffma_beside_imad",
    "ffma_beside_mul_wide",
    "imad_beside_widen",
    "ffma_beside_lop3",
    "two_ffma_beside_lop3",
    "ffma_beside_imad_and_lop3",
    "ffma_beside_shf",
    "imad_beside_shf",
    "shfl",
    "redux",
    "isetp_vote",
    "ldc",
    "bar_sync",
    "membar_cta",
    "membar_gl",
    "fence_acq_rel_cluster",
    "fence_proxy_async",
    "fence_proxy_async_shared",
];

/// Name, and the bytes of a lane; strides are multiples of them.
const SHARED: &[(&str, u32)] = &[
    ("ld_b32", 4),
    ("ld_b64", 8),
    ("ld_b128", 16),
    ("ldmatrix_x1", 16),
    ("ldmatrix_x2", 16),
    ("ldmatrix_x4", 16),
    ("ld_b32_beside_shfl", 4),
    ("atom_add", 4),
    ("st_b32", 4),
    ("st_b128", 16),
    ("stmatrix_x4", 16),
];

const MMA_SYNC: &[&str] = &[
    "m16n8k16_chain",
    "m16n8k16_of_2",
    "m16n8k16_of_4",
    "m16n8k16_of_8",
    "m16n8k8_chain",
    "m16n8k8_of_8",
];

/// Name, and the most warpgroups that its registers allow.
const WGMMA: &[(&str, u32)] = &[
    ("n64", 4),
    ("n128", 4),
    ("n256", 3),
    ("n64_one_pending", 4),
    ("n128_one_pending", 4),
    ("n256_one_pending", 3),
    ("n256_fence", 3),
    ("n256_acquire", 3),
];

const KIB: u32 = 1 << 10;
const MIB: u32 = 1 << 20;

/// All experiments; those with TMA and `wgmma` only for a GPU that has them.
pub fn experiments(hopper: bool) -> Vec<Experiment> {
    let mut all = Vec::new();
    all.extend(instructions());
    all.extend(shared());
    all.extend(mma_sync());
    all.extend(memory());
    if hopper {
        all.extend(wgmma());
        all.extend(tma());
        all.extend(barriers());
        all.extend(throttled());
    }
    all.extend(launches());
    all
}

fn one(file: &'static str, kernel: &str) -> Experiment {
    Experiment {
        file,
        kernel: kernel.into(),
        blocks: 1,
        threads: 32,
        shared: 0,
        bytes: 16,
        step: 0,
        pitch: 0,
        times: 50,
    }
}

fn instructions() -> Vec<Experiment> {
    let chains = INSTRUCTIONS.iter().flat_map(|kernel| {
        THREADS.map(|threads| Experiment {
            threads,
            ..one("instructions", kernel)
        })
    });
    let code = [128, 512, 2048, 8192].into_iter().flat_map(|turns| {
        let settings = [(1, 32), (132, 32), (1, 512)].into_iter();
        settings.flat_map(move |(blocks, threads)| {
            [1, 2, 10].map(|times| Experiment {
                blocks,
                threads,
                times,
                ..one("instructions", &format!("code_{turns}"))
            })
        })
    });
    chains
        .chain(code)
        .chain(turns("instructions", "turns_ffma"))
        .collect()
}

/// Four warps on each scheduler: how long does each take?
fn turns(file: &'static str, kernel: &'static str) -> impl Iterator<Item = Experiment> {
    (0..4).map(move |step| Experiment {
        threads: 512,
        step,
        ..one(file, kernel)
    })
}

fn shared() -> Vec<Experiment> {
    let steps = |bytes: u32| {
        [0, 4, 8, 16, 32, 64, 128]
            .into_iter()
            .filter(move |step| step % bytes == 0)
    };
    let settings = SHARED
        .iter()
        .flat_map(move |&(kernel, bytes)| steps(bytes).map(move |step| (kernel, step)));
    let accesses = settings.flat_map(|(kernel, step)| {
        THREADS.map(|threads| Experiment {
            threads,
            step,
            ..one("shared", kernel)
        })
    });
    // One to four warps of the first scheduler, or one or two warps of each.
    let bursts = [2, 4, 6, 8, 10, 12, 16, 24, 32, 40]
        .into_iter()
        .flat_map(|count| {
            let settings = [(32, 1), (256, 1), (384, 1), (512, 1), (128, 4), (256, 4)];
            settings.map(|(threads, step)| Experiment {
                threads,
                step,
                ..one("shared", &format!("burst_{count}"))
            })
        });
    accesses.chain(bursts).collect()
}

fn mma_sync() -> impl Iterator<Item = Experiment> {
    let chains = MMA_SYNC.iter().flat_map(|kernel| {
        THREADS.map(|threads| Experiment {
            threads,
            ..one("mma_sync", kernel)
        })
    });
    chains.chain(turns("mma_sync", "turns"))
}

fn wgmma() -> impl Iterator<Item = Experiment> {
    WGMMA.iter().flat_map(|&(kernel, most)| {
        (1..=most).map(move |groups| Experiment {
            threads: 128 * groups,
            times: 200,
            ..one("wgmma", kernel)
        })
    })
}

fn memory() -> Vec<Experiment> {
    let mut all = Vec::new();
    // One line of 128 bytes in each step: in L1, in L2, in both halves of L2, and in DRAM.
    for (kernel, bytes) in [
        ("chase_ca", 16 * KIB),
        ("chase_cg", 16 * KIB),
        ("chase_cg", MIB),
        ("chase_cg", 16 * MIB),
        ("chase_cg", 32 * MIB),
    ] {
        for blocks in [1, 132] {
            all.push(Experiment {
                blocks,
                threads: 1,
                bytes,
                times: (bytes / 128).min(4096),
                ..one("memory", kernel)
            });
        }
    }
    // As many as the L1 or the L2 may hold.
    for (kernel, bytes) in [128, 192, 208, 224, 240, 256]
        .map(|kib| ("chase_ca", kib * KIB))
        .into_iter()
        .chain([24, 28, 40, 48, 56, 64].map(|mib| ("chase_cg", mib * MIB)))
    {
        all.push(Experiment {
            threads: 1,
            bytes,
            times: bytes / 128,
            ..one("memory", kernel)
        });
    }
    // More lines than L2 holds, so that none is left from the previous launch.
    all.push(Experiment {
        threads: 1,
        bytes: 1024 * MIB,
        times: 1 << 20,
        ..one("memory", "chase_cg_once")
    });
    let whole_lines = [1, 2, 4].map(|matrices| format!("copies_beside_ldmatrix_{matrices}"));
    let rows = [64, 32]
        .into_iter()
        .flat_map(|row| [0, 1, 2, 4].map(|matrices| format!("copies_of_rows_{row}_{matrices}")));
    for kernel in whole_lines.into_iter().chain(rows) {
        for threads in [128, 256, 512] {
            all.push(Experiment {
                threads,
                shared: threads * 16 * 8,
                bytes: 256 * KIB,
                times: 300,
                ..one("memory", &kernel)
            });
        }
    }
    for (kernel, step) in [
        ("hits_u16", 0),
        ("hits_u16", 2),
        ("hits_u16", 4),
        ("hits_u32", 0),
        ("hits_u32", 4),
        ("hits_u32", 8),
        ("hits_u32", 16),
    ] {
        for threads in THREADS {
            all.push(Experiment {
                threads,
                bytes: 32 * KIB,
                step,
                times: 200,
                ..one("memory", kernel)
            });
        }
    }
    let own_or_shared = [(256 * KIB, 0), (256 * KIB, 1), (16 * MIB, 0), (16 * MIB, 1)];
    for blocks in BLOCKS {
        for (bytes, step) in own_or_shared {
            let setting = Experiment {
                blocks,
                bytes,
                step,
                times: 300,
                ..one("memory", "")
            };
            for threads in [128, 512, 1024] {
                for kernel in ["loads_1", "loads_2", "loads_4", "loads_8"] {
                    all.push(Experiment {
                        kernel: kernel.into(),
                        threads,
                        ..setting.clone()
                    });
                }
            }
            for threads in [128, 256, 512] {
                for ahead in [1, 2, 4, 8, 16] {
                    all.push(Experiment {
                        kernel: format!("copies_{ahead}"),
                        threads,
                        shared: threads * 16 * ahead,
                        ..setting.clone()
                    });
                }
            }
            if step == 1 {
                all.push(Experiment {
                    kernel: "stores".into(),
                    threads: 512,
                    ..setting
                });
            }
        }
    }
    // Bytes of a lane, and lanes of a row.
    for (lane, lanes) in [
        (4, 4),
        (4, 8),
        (4, 32),
        (8, 4),
        (8, 8),
        (16, 1),
        (16, 2),
        (16, 8),
    ] {
        for blocks in [1, 66, 132] {
            all.push(Experiment {
                blocks,
                threads: 512,
                bytes: 256,
                step: lanes,
                times: 200,
                ..one("memory", &format!("row_stores_{lane}"))
            });
        }
    }
    all
}

/// Boxes of a matrix with rows of 128 bytes, in which boxes are contiguous, and with rows of 8192, in which they are
/// tiles of a large matrix.
fn tma() -> Vec<Experiment> {
    let mut all = Vec::new();
    for (kernel, boxes, rows) in [
        ("one", 1, 8),
        ("one", 1, 64),
        ("one", 1, 128),
        ("one", 1, 256),
        ("four", 4, 8),
        ("four", 4, 64),
    ] {
        let bytes = rows * 128;
        for pitch in [128, 8192] {
            for slots in [1, 2, 3, 4, 6, 12] {
                for blocks in [1, 33, 66, 132] {
                    for step in [0, 1] {
                        all.push(Experiment {
                            blocks,
                            shared: slots * boxes * bytes,
                            bytes,
                            step,
                            pitch,
                            times: 300,
                            ..one("tma", kernel)
                        });
                    }
                }
            }
        }
    }
    // The first box of a launch, whose tensor map no cache has, and the first two, one after the other.
    for times in [1, 2] {
        for blocks in [1, 132] {
            all.push(Experiment {
                blocks,
                shared: 64 * 128,
                bytes: 64 * 128,
                pitch: 8192,
                times,
                ..one("tma", "one")
            });
        }
    }
    for kernel in ["prefetched", "two_maps"] {
        for times in [1, 2] {
            for blocks in [1, 132] {
                all.push(Experiment {
                    blocks,
                    shared: 2 * 64 * 128,
                    bytes: 64 * 128,
                    pitch: 8192,
                    times,
                    ..one("tma", kernel)
                });
            }
        }
    }
    // Ten blocks on an SM, one after the other, of which the first has a new tensor map.
    all.push(Experiment {
        blocks: 1320,
        shared: 200 * KIB,
        bytes: 25 * KIB,
        pitch: 8192,
        times: 1,
        ..one("tma", "one")
    });
    all.extend(small_copies());
    all.extend(shared_boxes());
    all.extend(tiles());
    for blocks in [1, 132] {
        for step in [0, 1] {
            all.push(Experiment {
                blocks,
                threads: 64,
                shared: 4 * 16 * KIB,
                bytes: 16 * KIB,
                step,
                pitch: 8192,
                times: 300,
                ..one("tma", "fence_beside_boxes")
            });
        }
    }
    all.retain(|experiment| experiment.shared <= 224 * KIB);
    all
}

/// Boxes of one to eight rows, and bulk copies of a few bytes: how many requests does TMA accept?
fn small_copies() -> Vec<Experiment> {
    let setting = |kernel: &str, bytes, threads, blocks| Experiment {
        blocks,
        threads,
        shared: 32 * KIB,
        bytes,
        step: u32::from(kernel != "small_boxes"),
        pitch: 128,
        times: 300,
        ..one("tma", kernel)
    };
    let mut all = Vec::new();
    for threads in [32, 128, 512, 1024] {
        all.push(setting("small_boxes", 128, threads, 1));
        for blocks in [1, 132] {
            all.push(setting("bulk_copies", 16, threads, blocks));
        }
    }
    for bytes in [256, 512, 1024] {
        all.push(setting("small_boxes", bytes, 128, 1));
    }
    all.push(setting("small_boxes", 1024, 128, 132));
    all.push(setting("bulk_copies", 128, 128, 1));
    all
}

/// Boxes that several blocks read: how much of them does the L2 read, and does it matter which blocks these are?
fn shared_boxes() -> Vec<Experiment> {
    let setting = |kernel: &str, blocks, step, slots: u32, bytes: u32| Experiment {
        blocks,
        shared: slots * bytes,
        bytes,
        step,
        pitch: 8192,
        times: 300,
        ..one("tma", kernel)
    };
    let mut all = Vec::new();
    for slots in [2, 4, 12] {
        for step in [1, 2, 3, 4, 6, 11, 22, 44, 132] {
            for kernel in ["neighbors", "strided"] {
                all.push(setting(kernel, 132, step, slots, 16 * KIB));
            }
        }
        for kernel in ["in_cluster", "across_clusters"] {
            all.push(setting(kernel, 64, 8, slots, 16 * KIB));
            all.push(setting(kernel, 128, 8, slots, 16 * KIB));
        }
    }
    // Several blocks on an SM, which are not in step.
    for (held, step) in [(2, 4), (3, 4)]
        .into_iter()
        .chain([2, 3, 4, 6, 8, 12].map(|held| (held, 12)))
        .chain([2, 3, 4, 6, 8, 12].map(|held| (held, 44)))
    {
        all.push(setting("strided", 132 * held, step, 1, 16 * KIB));
    }
    all
}

/// The boxes of a matrix product: shared by few blocks and by many, one block an SM and several, with little in flight and
/// with much.
fn tiles() -> Vec<Experiment> {
    let setting = |kernel: &str, rows: u32, columns, blocks, slots: u32| Experiment {
        blocks,
        shared: slots * 2 * rows * 128,
        bytes: rows * 128,
        step: columns,
        pitch: 8192,
        times: 300,
        ..one("tma", kernel)
    };
    let few = |rows, columns, blocks, slots| Experiment {
        pitch: 2048,
        ..setting("few_tiles", rows, columns, blocks, slots)
    };
    let mut all = Vec::new();
    for slots in [1, 2, 3, 6] {
        for columns in [4, 11, 32] {
            all.push(few(128, columns, 132, slots));
            all.push(few(64, columns, 132, slots));
        }
    }
    // Several blocks on an SM, of which each waits for its only stage: rows, columns, and blocks per SM.
    let several = [
        (64, 64, 4),
        (64, 64, 8),
        (64, 64, 12),
        (128, 32, 2),
        (128, 32, 3),
        (128, 32, 6),
    ];
    for (rows, columns, held) in [(64, 64, 2)].into_iter().chain(several) {
        all.push(few(rows, columns, 132 * held, 1));
    }
    for slots in [1, 2, 3, 6] {
        for columns in [4, 11, 32, 132] {
            all.push(setting("tiles", 128, columns, 132, slots));
        }
        for columns in [11, 32] {
            all.push(Experiment {
                pitch: 65536,
                ..setting("tiles_from_dram", 128, columns, 132, slots)
            });
            all.push(setting("tiles", 64, columns, 132, slots));
        }
    }
    for (rows, columns, held) in several {
        all.push(setting("tiles", rows, columns, 132 * held, 1));
    }
    all
}

fn barriers() -> Vec<Experiment> {
    // Barriers of a block with this many threads, and of two blocks of a cluster.
    let of_a_block = [
        ("mbarrier_cta", 64),
        ("mbarrier_cluster", 64),
        ("mbarrier_own", 32),
        ("mbarrier_arrive", 32),
        ("mbarrier_arrive", 128),
        ("mbarrier_arrive", 512),
        ("mbarrier_arrive_all", 32),
        ("mbarrier_arrive_all", 128),
        ("mbarrier_arrive_all", 512),
        ("mbarrier_ended", 32),
        ("mbarrier_ended", 128),
        ("mbarrier_ended", 512),
    ];
    let of_a_cluster = [
        ("mbarrier_remote", 32),
        ("cluster_barrier", 32),
        ("cluster_barrier", 128),
        ("cluster_barrier", 384),
    ];
    let blocks = |blocks| {
        move |(kernel, threads)| Experiment {
            blocks,
            threads,
            times: 1000,
            ..one("barriers", kernel)
        }
    };
    let mut all: Vec<_> = of_a_block.into_iter().map(blocks(1)).collect();
    for kernel in ["mbarrier_late", "mbarrier_late_polled"] {
        all.extend((0..24).map(|step| Experiment {
            threads: 64,
            step,
            times: 1000,
            ..one("barriers", kernel)
        }));
    }
    all.extend(of_a_cluster.into_iter().map(blocks(2)));
    all
}

/// At once, and after the tensor cores have been busy for a while.
fn throttled() -> Vec<Experiment> {
    let mut all = Vec::new();
    for (kernel, bytes, times) in [
        ("chase_l2", MIB, MIB / 128),
        ("chase_dram", 1024 * MIB, 1 << 19),
    ] {
        for (blocks, step) in [(1, 0), (132, 0), (132, 100), (132, 400), (132, 1000)] {
            all.push(Experiment {
                blocks,
                threads: 384,
                bytes,
                step,
                times,
                ..one("throttled", kernel)
            });
        }
    }
    // 64 KiB for each block fit into the L2, 8 MiB do not.
    for kernel in [
        "rate_beside_0",
        "rate_beside_25",
        "rate_beside_50",
        "rate_beside_100",
    ] {
        for (bytes, times) in [(64 * KIB, 4096), (8 * MIB, 2048)] {
            all.push(Experiment {
                blocks: 132,
                threads: 384,
                bytes,
                step: 500,
                times,
                ..one("throttled", kernel)
            });
        }
    }
    for kernel in [
        "copy_rate_beside_0",
        "copy_rate_beside_50",
        "copy_rate_beside_100",
    ] {
        all.push(Experiment {
            blocks: 132,
            threads: 384,
            shared: 6 * 16 * KIB,
            bytes: 64 * KIB,
            step: 500,
            times: 8192,
            ..one("throttled", kernel)
        });
    }
    all
}

fn launches() -> Vec<Experiment> {
    let mut all = Vec::new();
    for shared in [0, 200 * KIB] {
        for threads in [128, 384] {
            for blocks in [1, 132, 1320, 13200] {
                all.push(Experiment {
                    blocks,
                    threads,
                    shared,
                    ..one("launches", "nothing")
                });
                if shared == 0 && blocks <= 132 {
                    for kernel in ["nothing_but_a_load", "nothing_but_a_store"] {
                        all.push(Experiment {
                            blocks,
                            threads,
                            ..one("launches", kernel)
                        });
                    }
                }
            }
        }
    }
    for blocks in [1, 132] {
        all.push(Experiment {
            blocks,
            threads: 128,
            ..one("launches", "first_load")
        });
    }
    all.push(Experiment {
        blocks: 5 * 1000,
        threads: 128,
        shared: 50 * KIB,
        step: 2_000,
        ..one("launches", "clusters")
    });
    for threads in [128, 384] {
        all.push(Experiment {
            blocks: 8 * 132,
            threads,
            shared: 200 * KIB,
            step: 20_000,
            ..one("launches", "spin")
        });
    }
    // Two or four at a time.
    for (held, shared) in [(2, 100 * KIB), (4, 50 * KIB)] {
        for threads in [128, 256] {
            all.push(Experiment {
                blocks: held * 132,
                threads,
                shared,
                step: 50_000,
                ..one("launches", "starts")
            });
        }
    }
    all
}
