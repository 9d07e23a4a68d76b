//! The layout tables' predictions equal the emulator's measurements: by its rule for any pattern, and by executing
//! PTX.
use emulator::{Context, LaunchConfig, Options, SharedAccess, shared_wavefronts};
use ladder_tests::workspace::{read, root};
use layout::banks::{Access, BankTable};
use layout::expression::Expression;
use layout::mapping::{Mapping, Shape, degree};
use layout::swizzle::Swizzle;
use proptest::prelude::*;

/// The emulator's count of the same access: wavefronts, conflicts, ideal.
fn measured(access: Access, bytes: u32, offset: impl Fn(u32) -> Option<u32>) -> [u64; 3] {
    let offsets: [Option<u32>; 32] = std::array::from_fn(|lane| offset(lane as u32));
    let active = (0..32).fold(0, |mask, lane| {
        mask | u32::from(offsets[lane].is_some()) << lane
    });
    let access = if access == Access::Load {
        SharedAccess::Load
    } else {
        SharedAccess::Store
    };
    let cost = shared_wavefronts(
        access,
        bytes,
        &offsets.map(Option::unwrap_or_default),
        active,
    );
    [cost.wavefronts, cost.conflicts, cost.ideal]
}

fn predicted(table: &BankTable) -> [u64; 3] {
    [table.wavefronts(), table.conflicts(), table.ideal()].map(u64::from)
}

proptest! {
    /// Any access: few distinct addresses, so that lanes share words and phases merge.
    #[test]
    fn any_pattern(width in 0u32..5, kind in 0u32..3, few in 1u32..40, seeds: [u32; 32], inactive: u32) {
        let (access, bytes) = match kind {
            0 => (Access::Load, 1 << width),
            1 => (Access::Store, 1 << width),
            _ => (Access::Matrix, 16),
        };
        let idle = inactive & inactive.rotate_left(7);
        let offset = |lane: u32| (idle & 1 << lane == 0).then_some(seeds[lane as usize] % few * bytes);
        let table = BankTable::new(access, bytes, offset);
        prop_assert_eq!(predicted(&table), measured(access, bytes, offset));
    }

    /// The degree that `cargo ladder layout map` states for a column equals the emulator's count.
    #[test]
    fn the_verdict_on_a_mapping(mask in 0u32..16, shift in 0u32..3, add: bool) {
        let text = match add {
            true => format!("(col + ((row & {mask}) >> {shift})) % 8"),
            false => format!("col ^ ((row & {mask} & 7) >> {shift})"),
        };
        let shape = Shape { rows: 8, row_bytes: 128, unit_bytes: 16 };
        let expression = Expression::parse(&text).expect("an expression");
        let mapping = Mapping::of_expression(&expression, shape).expect("a mapping");
        prop_assert!(mapping.is_bijective(), "{}", text);
        let column = |column| {
            let offset = |row| Some(mapping.place(row, column)? * 16);
            measured(Access::Matrix, 16, offset)[0]
        };
        let worst = (0..8).map(column).max();
        prop_assert_eq!(worst, Some(u64::from(mapping.column_degree(16).0)), "{}", text);
        prop_assert_eq!(worst, mapping.matrix_degree().map(u64::from), "{}", text);
    }
}

#[test]
fn recorded_matrix_accesses() {
    let text = read(&root().join("calibration/h100/shared_memory.csv"));
    let mut checked = 0;
    for line in text.lines().filter(|line| line.contains("matrix.")) {
        let fields: Vec<&str> = line.split(',').collect();
        let lanes: Vec<Option<u32>> = fields[2]
            .split_whitespace()
            .map(|text| text.parse().ok())
            .collect();
        let table = BankTable::new(Access::Matrix, 16, |lane| *lanes.get(lane as usize)?);
        assert_eq!(table.wavefronts().to_string(), fields[3], "{line}");
        assert_eq!(table.conflicts().to_string(), fields[4], "{line}");
        checked += 1;
    }
    assert!(checked > 90, "{checked}");
}

/// A kernel of one warp: lane i stores 16 bytes to row i of a tile of 128-byte rows, at a column of units, swizzled
/// by the formula in the kernel's own instructions.
fn kernel(swizzle: &Swizzle, column: u32) -> String {
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.shared .align 1024 .b8 tile[4096];\n\
         .visible .entry column()\n{{\n.reg .b32 %r<9>;\n\
         mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 7;\nadd.u32 %r3, %r2, {};\n\
         and.b32 %r4, %r3, {};\nshr.u32 %r5, %r4, {};\nxor.b32 %r6, %r3, %r5;\n\
         mov.u32 %r7, tile;\nadd.u32 %r8, %r7, %r6;\n\
         st.shared.v4.u32 [%r8], {{%r1, %r1, %r1, %r1}};\nret;\n}}\n",
        column * 16,
        swizzle.y_mask(),
        swizzle.shift()
    )
}

#[test]
fn a_swizzled_column_as_executed() {
    for bits in 0..=3 {
        let swizzle = Swizzle::new(bits, 4, 3).expect("|S| >= B");
        for column in 0..8 {
            let mut context = Context::new(Options::default());
            let module = context.load_module(&kernel(&swizzle, column)).expect("PTX");
            let function = module.function("column").expect("a kernel");
            let config = LaunchConfig {
                block: [32, 1, 1],
                ..LaunchConfig::default()
            };
            let run = context.launch(&function, &config, &[]).expect("a run");
            let stores = function.instructions().iter().zip(&run.counters);
            let (_, found) = stores
                .into_iter()
                .find(|(i, _)| i.text.starts_with("st.shared"))
                .expect("the store");
            let table = BankTable::new(Access::Store, 16, |lane| {
                Some(swizzle.apply(lane * 128 + column * 16))
            });
            let found = [
                found.shared.wavefronts,
                found.shared.conflicts,
                found.shared.ideal,
            ];
            assert_eq!(predicted(&table), found, "{swizzle}, column {column}");
            assert_eq!(degree(&table), 8 >> bits, "{swizzle}, column {column}");
        }
    }
}

/// `ldmatrix` accepts any 16-byte aligned rows: padding avoids conflicts as well as a swizzle does.
#[test]
fn padding_frees_ldmatrix_too() {
    for (pitch, wavefronts) in [(128, 8), (144, 1), (160, 2), (192, 4), (256, 8), (272, 1)] {
        let table = BankTable::new(Access::Matrix, 16, |lane| {
            (lane < 8).then_some(lane * pitch)
        });
        assert_eq!(
            predicted(&table),
            measured(Access::Matrix, 16, |lane| (lane < 8)
                .then_some(lane * pitch))
        );
        assert_eq!(table.wavefronts(), wavefronts, "rows of {pitch} bytes");
    }
}

/// The formula in rung 05's source, as `cargo ladder layout map` evaluates it: for its tiles of 128-byte rows (A) and
/// of 256-byte rows (B, C).
#[test]
fn the_swizzle_of_05() {
    let kernel = root().join("rungs/05_swizzle/kernel.cu");
    if !kernel.is_file() {
        eprintln!("skipped: there is no rung 05 yet");
        return;
    }
    let source = read(&kernel);
    let formulas: Vec<String> = source
        .split("hunk ^ (")
        .skip(1)
        .filter_map(|rest| Some(format!("col ^ ({})", rest.split_once(')')?.0)))
        .filter(|formula| formula.contains("row"))
        .collect();
    assert!(
        formulas.len() >= 5,
        "every access is swizzled: {formulas:?}"
    );
    for (formula, row_bytes) in formulas
        .iter()
        .flat_map(|formula| [(formula, 128), (formula, 256)])
    {
        let shape = Shape {
            rows: 64,
            row_bytes,
            unit_bytes: 16,
        };
        let expression = Expression::parse(formula).expect(formula);
        let mapping = Mapping::of_expression(&expression, shape).expect(formula);
        assert!(
            mapping.is_bijective() && mapping.leaves_its_row().is_none(),
            "{formula}"
        );
        assert_eq!(
            mapping.matrix_degree(),
            Some(1),
            "{formula}, rows of {row_bytes} bytes"
        );
        assert_eq!(
            mapping.row_degree(16),
            1,
            "{formula}, rows of {row_bytes} bytes"
        );
    }
}
