//! Where a mistake can be watched: a page of the book steps through a kernel that has it.

/// Anchors on the book's page of mistakes, and the kernel that demonstrates each.
const KERNELS: [(&str, &str); 11] = [
    ("out-of-bounds", "reads_past_the_end_of_b"),
    ("misaligned", "misaligned_float4"),
    ("race-after-the-copy", "no_barrier_after_the_copy"),
    ("race-before-the-copy", "no_barrier_before_the_next_copy"),
    ("uninitialized", "copies_half_of_b"),
    ("cp-async-wait", "does_not_wait_for_its_copies"),
    ("bulk-wait", "does_not_wait_for_tma"),
    ("wgmma-wait", "epilogue_does_not_wait_for_wgmma"),
    ("proxy-fence", "no_proxy_fence_before_the_store"),
    ("divergent-barrier", "half_a_warp_at_the_barrier"),
    ("deadlock", "producer_waits_for_the_other_parity"),
];

/// The page of the book with its fragment; none if no kernel of the book has the mistake.
pub fn page(mistake: &str) -> Option<String> {
    let (_, kernel) = KERNELS.iter().find(|(anchor, _)| *anchor == mistake)?;
    Some(format!("stepper.html#kernel={kernel}&at=finding"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page of mistakes demonstrates each mistake with the same kernel.
    #[test]
    fn kernels_are_those_of_the_page_of_mistakes() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/mistakes.md");
        let text = std::fs::read_to_string(path).expect("the page");
        for (anchor, kernel) in KERNELS {
            let (_, section) = text.split_once(&format!("{{#{anchor}}}")).expect(anchor);
            let section = section.split("\n#").next().unwrap_or_default();
            let run = section.lines().find(|line| line.contains(" sanitize "));
            let run = run.expect(anchor);
            assert!(
                run.contains(&format!("book/kernels/{kernel}.ptx")),
                "{anchor}: {run}"
            );
        }
        assert_eq!(page("none-of-these"), None);
    }
}
