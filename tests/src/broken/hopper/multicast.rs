//! Mistakes between the CTAs of a cluster: wrong arrival counts, masks and orders.
use crate::broken::{BASE, Broken, Caught};

const MULTICAST: Broken = Broken {
    rung: "12_multicast",
    size: "256x256x64",
    ..BASE
};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "multicast_forgets_a_block",
        edits: &[("(1 << CLUSTER) - 1", "1 << 0")],
        caught: Caught::Sanitizer {
            says: "Wrong transaction count",
            at: "mbarrier_expect(&s.full[stage]",
        },
        ..MULTICAST
    },
    Broken {
        name: "multicast_to_a_block_too_many",
        edits: &[("(1 << CLUSTER) - 1", "(1 << CLUSTER + 1) - 1")],
        caught: Caught::Sanitizer {
            says: "multicast to blocks 0b111, but the cluster has 2",
            at: "tma_multicast(s.stage[stage].B",
        },
        ..MULTICAST
    },
    Broken {
        name: "tells_its_own_block_twice",
        size: "256x256x512",
        edits: &[(
            "mbarrier_arrive(&s.empty[previous], thread)",
            "mbarrier_arrive(&s.empty[previous], rank)",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + ",
        },
        ..MULTICAST
    },
    Broken {
        name: "tells_a_block_that_there_is_not",
        edits: &[(
            "mbarrier_arrive(&s.empty[previous], thread)",
            "mbarrier_arrive(&s.empty[previous], thread + 1)",
        )],
        caught: Caught::Sanitizer {
            says: "mapa to block 2 of a cluster of 2",
            at: "mbarrier_arrive(&s.empty[previous], thread + 1)",
        },
        ..MULTICAST
    },
    Broken {
        name: "empty_counts_one_block_only",
        size: "256x256x512",
        edits: &[(
            "mbarrier_init(&s.empty[i], CONSUMERS * CLUSTER)",
            "mbarrier_init(&s.empty[i], CONSUMERS)",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + ",
        },
        ..MULTICAST
    },
    Broken {
        name: "leaves_before_its_cluster",
        edits: &[(
            "        for (int i = 0; i < STAGES && thread == 0; ++i, advance())\n            mbarrier_wait(&s.empty[stage], phase ^ 1);\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Invalid access to a block that has exited",
            at: "mbarrier_arrive(&s.empty[previous], thread)",
        },
        ..MULTICAST
    },
    Broken {
        name: "block_barrier_in_place_of_the_clusters",
        edits: &[("        cluster_barrier();\n", "        __syncthreads();\n")],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "mbarrier_arrive(&s.empty[previous], thread)",
        },
        ..MULTICAST
    },
    Broken {
        name: "does_not_wait_for_its_cluster",
        edits: &[("\\nbarrier.cluster.wait.acquire.aligned;", "")],
        caught: Caught::Sanitizer {
            says: "of block 1, which is not initialized",
            at: "tma_multicast(s.stage[stage].B",
        },
        ..MULTICAST
    },
];
