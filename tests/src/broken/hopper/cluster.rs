//! Mistakes between the blocks of a cluster: multicast, and a block that is told too much, too little or too late.
use super::{HOPPER, WIDE};
use crate::broken::{Broken, Caught};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "multicast_forgets_a_block",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[("(1 << CLUSTER) - 1", "1 << 0")],
        caught: Caught::Sanitizer {
            says: "Wrong transaction count",
            at: "expect(&s.full[stage]",
        },
        ..HOPPER
    },
    Broken {
        name: "multicast_to_a_block_too_many",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[("(1 << CLUSTER) - 1", "(1 << CLUSTER + 1) - 1")],
        caught: Caught::Sanitizer {
            says: "multicast to blocks 0b111, but the cluster has 2",
            at: "load(s.stage[stage].B",
        },
        ..HOPPER
    },
    Broken {
        name: "tells_its_own_block_twice",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[(
            "if (thread < CLUSTER) arrive(&s.empty[stage], thread)",
            "if (thread < CLUSTER) arrive(&s.empty[stage], block)",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "tells_a_block_that_there_is_not",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[(
            "if (thread < CLUSTER) arrive(&s.empty[stage], thread)",
            "if (thread < CLUSTER) arrive(&s.empty[stage], thread + 1)",
        )],
        caught: Caught::Sanitizer {
            says: "mapa to block 2 of a cluster of 2",
            at: "arrive(&s.empty[stage], thread + 1)",
        },
        ..HOPPER
    },
    Broken {
        name: "empty_counts_one_block_only",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[(
            "init(&s.empty[i], CONSUMERS * CLUSTER)",
            "init(&s.empty[i], CONSUMERS)",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "leaves_before_its_cluster",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[(
            "            for (int i = 0; i < STAGES; ++i) {\n                wait(&s.empty[stage], phase ^ 1);\n                advance();\n            }\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Invalid access to a block that has exited",
            at: "arrive(&s.empty[stage], thread)",
        },
        ..HOPPER
    },
    Broken {
        name: "block_barrier_in_place_of_the_clusters",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[(
            "        asm volatile(\"barrier.cluster.arrive.relaxed.aligned;\\nbarrier.cluster.wait.acquire.aligned;\" ::: \"memory\");",
            "        __syncthreads();",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "arrive(&s.empty[stage], thread)",
        },
        ..HOPPER
    },
    Broken {
        name: "does_not_wait_for_its_cluster",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[("\\nbarrier.cluster.wait.acquire.aligned;", "")],
        caught: Caught::Sanitizer {
            says: "of block 1, which is not initialised",
            at: "load(s.stage[stage].B",
        },
        ..HOPPER
    },
];
