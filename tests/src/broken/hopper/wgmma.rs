//! Mistakes with `wgmma`: its fence, its groups, its descriptors.
use crate::broken::{BASE, Broken, Caught};

const WGMMA: Broken = Broken {
    rung: "10_wgmma",
    size: "128x128x64",
    ..BASE
};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "no_wgmma_fence",
        edits: &[("        wgmma_fence();\n", "")],
        caught: Caught::Sanitizer {
            says: "wgmma.fence is missing",
            at: "wgmma(acc[m], a + ",
        },
        ..WGMMA
    },
    Broken {
        name: "no_wgmma_commit",
        edits: &[("        wgmma_commit();\n", "")],
        caught: Caught::Sanitizer {
            says: "wgmma.commit_group is missing",
            at: "wgmma(acc[m], a + ",
        },
        ..WGMMA
    },
    Broken {
        name: "half_a_warpgroup_multiplies",
        edits: &[(
            "wgmma(acc[m], a + ",
            "if (threadIdx.x % 64 < 32) wgmma(acc[m], a + ",
        )],
        caught: Caught::Sanitizer {
            says: "for the other warps of its warpgroup",
            at: "wgmma_wait<0>",
        },
        ..WGMMA
    },
    Broken {
        name: "reads_the_stage_ahead",
        edits: &[(
            "descriptor(s.stage[stage].B[0]",
            "descriptor(s.stage[(stage + 1) % STAGES].B[0]",
        )],
        caught: Caught::Sanitizer {
            says: "Uninitialized __shared__ memory read",
            at: "wgmma(acc[m], a + ",
        },
        ..WGMMA
    },
    Broken {
        name: "stride_beyond_shared_memory",
        edits: &[(".A, 16, 1024)", ".A, 16, 1024 * 32)")],
        caught: Caught::Sanitizer {
            says: "Invalid wgmma",
            at: "wgmma(acc[m], a + ",
        },
        ..WGMMA
    },
    Broken {
        name: "descriptor_of_another_swizzle",
        edits: &[("1ull << 62", "2ull << 62")],
        caught: Caught::Sanitizer {
            says: "Swizzle mismatch between tensor map and descriptor",
            at: "wgmma(acc[m], a + ",
        },
        ..WGMMA
    },
    Broken {
        name: "tensor_map_without_a_swizzle",
        edits: &[("{BK, BM, 128, PANEL", "{BK, BM, 0, PANEL")],
        caught: Caught::Sanitizer {
            says: "Swizzle mismatch between tensor map and descriptor",
            at: "wgmma(acc[m], a + ",
        },
        ..WGMMA
    },
    Broken {
        name: "wrong_stride_of_a",
        edits: &[(".A, 16, 1024)", ".A, 16, 512)")],
        caught: Caught::Values,
        ..WGMMA
    },
    Broken {
        name: "wrong_panel_stride_of_b",
        edits: &[("BK * PANEL * 2, 1024", "BK * PANEL, 1024")],
        caught: Caught::Values,
        ..WGMMA
    },
];
