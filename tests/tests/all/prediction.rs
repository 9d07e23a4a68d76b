//! Prediction (`layout`, from a formula) equals measurement (`emulator`, from executed PTX).
use emulator::{Context, Counters, Instruction, KernelArg, LaunchConfig, Options};
use ladder_tests::workspace::{read, root};
use layout::banks::{Access, BankTable};
use layout::tile::Tile;

const SIZE: usize = 128;

/// One tile of C, 128 deep, on the emulator: the counters of each instruction.
fn measure(rung: &str) -> Vec<(Instruction, Counters)> {
    let ptx = read(&root().join("rungs").join(rung).join("kernel.ptx"));
    let mut context = Context::new(Options::default());
    let module = context.load_module(&ptx).expect("PTX");
    let function = module.function("gemm").expect("a kernel");
    let matrices = ["A", "B", "C"].map(|name| context.alloc(name, 2 * SIZE * SIZE).expect("small"));
    let side = KernelArg::U32(SIZE as u32);
    let [a, b, c] = matrices.each_ref().map(KernelArg::Buffer);
    let config = LaunchConfig {
        block: [256, 1, 1],
        ..LaunchConfig::default()
    };
    let run = context.launch(&function, &config, &[a, b, c, side, side, side]);
    let run = run.expect("a run");
    function
        .instructions()
        .iter()
        .cloned()
        .zip(run.counters)
        .collect()
}

/// The leading dimension of As in the kernel's source.
fn leading_dimension(rung: &str) -> u32 {
    let source = read(&root().join("rungs").join(rung).join("kernel.cu"));
    let (_, rest) = source.split_once("LDA = ").expect("LDA");
    let (sum, _) = rest.split_once(';').expect("a constant");
    sum.split('+')
        .map(|term| term.trim().parse::<u32>().expect("a number"))
        .sum()
}

#[test]
fn the_transposed_store_of_02_and_03() {
    for (rung, degree) in [("02_smem", 2), ("03_padded", 1)] {
        let tile = Tile {
            rows: 8,
            columns: 128,
            leading_dimension: leading_dimension(rung),
            element_bytes: 4,
        };
        let measured = measure(rung);
        let stores: Vec<_> = measured
            .iter()
            .filter(|(i, _)| i.text.starts_with("st.shared.f32"))
            .collect();
        assert_eq!(stores.len(), 4, "one store for each of a lane's 4 elements");
        for (j, (_, counters)) in (0..).zip(stores) {
            // Two lanes load a row of A: the first k 0 to 3, the second k 4 to 7.
            let table = BankTable::new(Access::Store, 4, |lane| {
                Some(tile.offset(lane % 2 * 4 + j, lane / 2))
            });
            assert_eq!(table.wavefronts(), degree);
            assert_eq!(
                counters.shared.wavefronts,
                counters.executions * u64::from(table.wavefronts()),
                "{rung}"
            );
            assert_eq!(
                counters.shared.conflicts,
                counters.executions * u64::from(table.conflicts()),
                "{rung}"
            );
        }
    }
}

#[test]
fn the_reads_of_02_and_03() {
    for rung in ["02_smem", "03_padded"] {
        let a = Tile {
            rows: 8,
            columns: 128,
            leading_dimension: leading_dimension(rung),
            element_bytes: 4,
        };
        let b = Tile {
            leading_dimension: 128,
            ..a
        };
        // The lanes are arranged 4 x 8: row bits 4 and 0, column bits 3 to 1.
        let (row, column) = (
            |lane: u32| (lane & 1) + 2 * (lane >> 4),
            |lane: u32| lane / 2 % 8,
        );
        let as_read = BankTable::new(Access::Load, 16, |lane| Some(a.offset(0, row(lane) * 8)));
        let bs_read = BankTable::new(Access::Load, 16, |lane| Some(b.offset(0, column(lane) * 4)));
        assert_eq!((as_read.wavefronts(), as_read.conflicts()), (2, 0));
        assert_eq!((bs_read.wavefronts(), bs_read.conflicts()), (2, 0));
        let measured = measure(rung);
        let reads: Vec<_> = measured
            .iter()
            .filter(|(i, _)| i.text.starts_with("ld.shared.v4.f32"))
            .collect();
        assert_eq!(reads.len(), 32, "4 reads for each of 8 steps");
        for (instruction, counters) in reads {
            assert_eq!(
                counters.shared.wavefronts,
                2 * counters.executions,
                "{rung}: {}",
                instruction.text
            );
            assert_eq!(counters.shared.conflicts, 0, "{rung}: {}", instruction.text);
        }
    }
}

/// Two derivations of the same rules, on every recorded pattern of the hardware.
#[test]
fn layout_and_emulator_agree_on_recorded_patterns() {
    let text = read(&root().join("calibration/h100/shared_memory.csv"));
    let mut checked = 0;
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let access = match fields[0] {
            "ld" => Access::Load,
            "st" => Access::Store,
            _ => continue,
        };
        let lanes: Vec<Option<u32>> = fields[2]
            .split_whitespace()
            .map(|text| text.parse().ok())
            .collect();
        let table = BankTable::new(access, fields[1].parse().expect("bytes"), |lane| {
            lanes[lane as usize]
        });
        assert_eq!(table.wavefronts().to_string(), fields[3], "{line}");
        assert_eq!(table.conflicts().to_string(), fields[4], "{line}");
        checked += 1;
    }
    assert!(checked > 300);
}
