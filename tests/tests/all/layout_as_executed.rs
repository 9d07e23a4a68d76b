//! The fragment tables against execution: a table fills the registers, the emulator multiplies or moves them, and a
//! table interprets the result.
use emulator::{Context, KernelArg, LaunchConfig, Options};
use half::f16;
use ladder_tests::workspace::{files, read, root};
use layout::fragment::{Fragment, Operand};

/// Runs a kernel of one warp with an input and an output of these sizes. `None` if the emulator does not support the
/// instruction, which is not a failure unless a rung needs it.
fn run(body: &str, instruction: &str, input: Vec<u8>, output: usize) -> Option<Vec<u8>> {
    let text = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 tile[512];\n\
         .visible .entry kernel(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .b32 %r<20>;\n.reg .b64 %rd<8>;\n\
         ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r19, tile;\n\
         shl.b32 %r18, %r0, 4;\nadd.u32 %r17, %r19, %r18;\n{body}\nret;\n}}\n"
    );
    let mut context = Context::new(Options::default());
    let module = context.load_module(&text);
    let function = match module.and_then(|module| module.function("kernel")) {
        Ok(function) => function,
        Err(why) => {
            let used = files(&root().join("rungs"), ".ptx")
                .iter()
                .any(|ptx| read(ptx).contains(instruction));
            assert!(!used, "a rung uses {instruction}: {why}");
            eprintln!("skipped: the emulator has no {instruction} yet");
            return None;
        }
    };
    let input = context.upload("in", &input).expect("small");
    let result = context.alloc("out", output).expect("small");
    let config = LaunchConfig {
        block: [32, 1, 1],
        ..LaunchConfig::default()
    };
    let args = [&input, &result].map(KernelArg::Buffer);
    context.launch(&function, &config, &args).expect("a run");
    Some(context.read(&result).expect("the output"))
}

/// Loads or stores `count` registers from %r`first` on, lane by lane, `at` bytes into the buffer at %rd`base`.
fn registers(op: &str, base: u32, at: u32, first: u32, count: u32) -> String {
    let mut text = format!(
        "mul.wide.u32 %rd4, %r0, {};\nadd.u64 %rd5, %rd{base}, %rd4;\n",
        4 * count
    );
    for i in 0..count {
        let place = format!("[%rd5+{}]", at + 4 * i);
        let register = format!("%r{}", first + i);
        text += &match op {
            "ld" => format!("ld.global.u32 {register}, {place};\n"),
            _ => format!("st.global.u32 {place}, {register};\n"),
        };
    }
    text
}

fn list(first: u32, count: u32) -> String {
    let names: Vec<String> = (first..first + count).map(|i| format!("%r{i}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// Small integers, so that every sum is exact; all rows and columns differ.
fn value(operand: u32, row: u32, column: u32) -> i32 {
    let mixed = (row * 31 + column * 17 + operand * 101).wrapping_mul(2_654_435_761) >> 28;
    mixed as i32 - 7
}

#[test]
fn mma_multiplies_what_the_tables_say() {
    for k16 in [false, true] {
        let [a, b, c] =
            [Operand::A, Operand::B, Operand::C].map(|operand| Fragment::Mma { k16, operand });
        let mut input = Vec::new();
        for (number, fragment) in [(0, a), (1, b)] {
            for (lane, i) in
                (0..32).flat_map(|lane| (0..fragment.elements()).map(move |i| (lane, i)))
            {
                let (row, column) = fragment.at(lane, i);
                input.extend(f16::from_f32(value(number, row, column) as f32).to_le_bytes());
            }
        }
        for (lane, i) in (0..32).flat_map(|lane| (0..4).map(move |i| (lane, i))) {
            let (row, column) = c.at(lane, i);
            input.extend((value(2, row, column) as f32).to_le_bytes());
        }
        let (of_a, of_b) = (a.elements() / 2, b.elements() / 2);
        let shape = if k16 { "m16n8k16" } else { "m16n8k8" };
        let instruction = format!("mma.sync.aligned.{shape}.row.col.f32.f16.f16.f32");
        let body = [
            registers("ld", 1, 0, 1, of_a),
            registers("ld", 1, 128 * of_a, 5, of_b),
            registers("ld", 1, 128 * (of_a + of_b), 7, 4),
            format!(
                "{instruction} {}, {}, {}, {};\n",
                list(11, 4),
                list(1, of_a),
                list(5, of_b),
                list(7, 4)
            ),
            registers("st", 2, 0, 11, 4),
        ];
        let Some(output) = run(&body.concat(), &instruction, input, 512) else {
            continue;
        };
        let k = a.shape().1;
        for (index, bytes) in (0..).zip(output.chunks_exact(4)) {
            let (row, column) = c.at(index / 4, index % 4);
            let sum: i32 = (0..k).map(|k| value(0, row, k) * value(1, k, column)).sum();
            let found = f32::from_le_bytes(bytes.try_into().expect("4 bytes"));
            assert_eq!(
                found,
                (sum + value(2, row, column)) as f32,
                "{shape}, row {row}, column {column}"
            );
        }
    }
}

/// Matrix j, row r is stored at 16 (8 j + r) of the tile, and lane 8 j + r gives that address.
#[test]
fn ldmatrix_and_stmatrix_move_what_the_tables_say() {
    for (count, trans) in [1, 2, 4]
        .into_iter()
        .flat_map(|count| [(count, false), (count, true)])
    {
        let fragment = Fragment::Matrices { count, trans };
        let element = |row: u32, column: u32| (row * 8 + column) as u16;
        let suffix = format!(
            "m8n8.x{count}{}.shared.b16",
            if trans { ".trans" } else { "" }
        );
        // Every lane copies its 16 bytes of the tile.
        let rows: Vec<u8> = (0..256u16).flat_map(u16::to_le_bytes).collect();
        let fill = format!(
            "{}st.shared.v4.u32 [%r17], {};\nbar.warp.sync -1;\n",
            registers("ld", 1, 0, 1, 4),
            list(1, 4)
        );
        let load = format!("ldmatrix.sync.aligned.{suffix}");
        let body = format!(
            "{fill}{load} {}, [%r17];\n{}",
            list(5, count),
            registers("st", 2, 0, 5, count)
        );
        if let Some(output) = run(&body, &load, rows, 128 * count as usize) {
            for (index, bytes) in (0..).zip(output.chunks_exact(2)) {
                let (row, column) =
                    fragment.at(index / fragment.elements(), index % fragment.elements());
                let found = u16::from_le_bytes(bytes.try_into().expect("2 bytes"));
                assert_eq!(found, element(row, column), "{load}, element {index}");
            }
        }
        let held = (0..32).flat_map(|lane| (0..fragment.elements()).map(move |i| (lane, i)));
        let held = held.flat_map(|(lane, i)| {
            let (row, column) = fragment.at(lane, i);
            element(row, column).to_le_bytes()
        });
        let store = format!("stmatrix.sync.aligned.{suffix}");
        let body = format!(
            "{}{store} [%r17], {};\nbar.warp.sync -1;\nsetp.ge.u32 %p1, %r0, {};\n@%p1 ret;\n\
             ld.shared.v4.u32 {}, [%r17];\n{}",
            registers("ld", 1, 0, 5, count),
            list(5, count),
            8 * count,
            list(1, 4),
            registers("st", 2, 0, 1, 4)
        );
        let body = format!(".reg .pred %p<2>;\n{body}");
        if let Some(output) = run(&body, &store, held.collect(), 512) {
            for (index, bytes) in (0..64 * count).zip(output.chunks_exact(2)) {
                let found = u16::from_le_bytes(bytes.try_into().expect("2 bytes"));
                assert_eq!(
                    found,
                    index as u16,
                    "{store}, row {}, column {}",
                    index / 8,
                    index % 8
                );
            }
        }
    }
}
