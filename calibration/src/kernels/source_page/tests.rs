use super::*;

pub const SASS: &str = "==PROF== Disconnected\n\
\"Kernel Name\",\"gemm\"\n\
\"#\",\"Address\",\"Source\",\"# Samples\",\"Instructions Executed\",\"Predicated-On Thread Instructions Executed\",\"Access Size\",\"L1 Tag Requests Global\",\"L1 Wavefronts Shared\",\"L1 Wavefronts Shared Ideal\",\"L2 Theoretical Sectors Global\"\n\
\"0\",\"0x7f01\",\"      MOV R1, c[0x0][0x28] \",\"1\",\"64\",\"2048\",\"-\",\"0\",\"0\",\"0\",\"0\"\n\
\"1\",\"0x7f11\",\"@!P0  LDG.E.128.CONSTANT R4, [R2] \",\"1\",\"64\",\"2048\",\"128\",\"128\",\"0\",\"0\",\"1,024\"\n\
\"2\",\"0x7f21\",\"      STS [R0], R4 \",\"1\",\"64\",\"2048\",\"32\",\"0\",\"128\",\"64\",\"0\"\n\
\"3\",\"0x7f31\",\"      LDSM.16.M88.4 R4, [R0] ;\",\"1\",\"64\",\"2048\",\"32\",\"0\",\"256\",\"256\",\"0\"\n\
\"4\",\"0x7f41\",\"      STS [R0+0x80], R4 \",\"1\",\"64\",\"2048\",\"32\",\"0\",\"64\",\"64\",\"0\"\n";

pub const BOTH: &str = "\"File Path\",\"/rungs/02_smem/kernel.cu\"\n\
\"Function Name\",\"gemm\"\n\
\"Line No\",\"Source\",\"Address\",\"Source\",\"Instructions Executed\"\n\
\"1\",\"// a kernel\",\"\",\"\",\"0\"\n\
\"9\",\"float a = A[i];\",\"\",\"\",\"128\"\n\
\"\",\"\",\"0x7f01\",\"      MOV R1, c[0x0][0x28] \",\"64\"\n\
\"\",\"\",\"0x7f11\",\"@!P0  LDG.E.128.CONSTANT R4, [R2] \",\"64\"\n\
\"12\",\"As[j] = a;\",\"\",\"\",\"128\"\n\
\"\",\"\",\"0x7f21\",\"      STS [R0], R4 \",\"64\"\n\
\"\",\"\",\"0x7f41\",\"      STS [R0+0x80], R4 \",\"64\"\n\
\"File Path\",\"/usr/include/mma.h\"\n\
\"Function Name\",\"gemm\"\n\
\"Line No\",\"Source\",\"Address\",\"Source\",\"Instructions Executed\"\n\
\"77\",\"ldmatrix\",\"\",\"\",\"64\"\n\
\"\",\"\",\"0x7f31\",\"      LDSM.16.M88.4 R4, [R0] ;\",\"64\"\n";

#[test]
fn instructions_have_their_counters() {
    let listing = instructions(SASS).expect("a page");
    assert_eq!(listing.len(), 5);
    let load = &listing["0x7f11"];
    assert_eq!(load.opcode, "LDG.E.128.CONSTANT");
    assert_eq!(
        (
            load.counts.executions,
            load.counts.sectors,
            load.tag_requests
        ),
        (64, 1024, 128)
    );
    let store = &listing["0x7f21"];
    assert_eq!((store.counts.wavefronts, store.counts.ideal), (128, 64));
    assert_eq!(listing["0x7f31"].opcode, "LDSM.16.M88.4");
    assert!(load.guarded && !store.guarded);
    assert_eq!(load.counts.threads, 2048);
    // An instruction that is never executed is not an access.
    let never = SASS.replace("      STS [R0],", "@!PT  STS [R0],");
    assert_eq!(instructions(&never).expect("a page").len(), 4);
}

#[test]
fn a_kernel_without_such_accesses_has_no_such_column() {
    let lines = SASS.lines().filter(|line| !line.contains("LDG"));
    let without: String = lines.map(|line| line.to_owned() + "\n").collect();
    let without = without
        .replace("L1 Tag Requests Global", "?")
        .replace("L2 Theoretical Sectors Global", "?");
    let listing = instructions(&without).expect("a page");
    assert_eq!(listing["0x7f21"].counts.sectors, 0);
    assert_eq!(listing["0x7f21"].counts.wavefronts, 128);
}

#[test]
fn names_of_metrics_are_taken_for_labels() {
    let renamed = SASS
        .replace("L1 Wavefronts Shared\"", "memory_l1_wavefronts_shared\"")
        .replace("\"Instructions Executed", "\"inst_executed");
    assert_eq!(
        instructions(&renamed).expect("a page"),
        instructions(SASS).expect("a page")
    );
}

#[test]
fn lines_are_those_of_the_kernels_file() {
    let found = lines(BOTH, "kernel.cu").expect("a page");
    let expected = [("0x7f01", 9), ("0x7f11", 9), ("0x7f21", 12), ("0x7f41", 12)];
    assert_eq!(
        found,
        expected.map(|(at, line)| (at.to_owned(), line)).into()
    );
}

#[test]
fn instructions_of_a_header_have_no_line() {
    let of_both = BOTH.replace("0x7f31", "0x7f21");
    let found = lines(&of_both, "kernel.cu").expect("a page");
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        ["0x7f01", "0x7f11", "0x7f41"]
    );
}

#[test]
fn a_page_that_cannot_be_read_is_shown() {
    let error = |text: &str| format!("{:#}", instructions(text).expect_err("no page"));
    let lost = SASS.replace("L1 Wavefronts Shared Ideal", "?");
    assert!(error(&lost).contains("no column \"L1 Wavefronts Shared Ideal\""));
    let lost = SASS.replace("L2 Theoretical Sectors Global", "?");
    assert!(error(&lost).contains("no column \"L2 Theoretical Sectors Global\""));
    assert!(error(&lost).contains("Kernel Name"), "it begins so");
    assert!(error("==WARNING== nothing\n").contains("no instruction"));
    assert!(error(&SASS.replace("1,024", "many")).contains("\"many\" as"));
    assert!(error(&(SASS.to_owned() + SASS)).contains("more than one kernel"));
    let error = format!("{:#}", lines(SASS, "kernel.cu").expect_err("no lines"));
    assert!(
        error.contains("no instruction belongs to a line of kernel.cu"),
        "{error}"
    );
    assert!(error.contains("\"Kernel Name\",\"gemm\""), "{error}");
}
