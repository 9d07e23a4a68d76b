//! Products whose fragments are exact by definition: f64 of every shape, 4 bits and single bits, by `mma.sync` and by `wmma`.
use crate::common::{body_with, threads};

/// Small integers: sums of their products are exact in any order.
fn value(row: usize, column: usize) -> i64 {
    (row * 31 + column * 17) as i64 % 13 - 6
}

fn list<T: ToString>(values: impl Iterator<Item = T>) -> String {
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    values.join(", ")
}

/// A matrix in memory, as f64.
fn doubles(name: &str, rows: usize, columns: usize, seed: usize) -> String {
    let values =
        (0..rows * columns).map(|i| format!("{}.0", value(i / columns + seed, i % columns)));
    format!(
        ".global .align 16 .f64 {name}[{}] = {{{}}}; ",
        rows * columns,
        list(values)
    )
}

/// A's row i times B's column j, and C.
fn product(i: usize, j: usize, depth: usize) -> i64 {
    let products = (0..depth).map(|k| value(i, k) * value(k + 3, j));
    products.sum::<i64>() + value(i + 5, j)
}

#[test]
fn every_shape_of_f64() {
    for (rows, depth) in [(8, 4), (16, 4), (16, 8), (16, 16)] {
        let declarations = doubles("ma", rows, depth, 0)
            + &doubles("mb", depth, 8, 3)
            + &doubles("mc", rows, 8, 5);
        let tall = rows / 8;
        let names = |name: &str, count: usize| list((0..count).map(|i| format!("%{name}{i}")));
        let mut text = String::from(
            ".reg .f64 %a<8>, %b<4>, %c<4>; .reg .b64 %m; .reg .b32 %g, %t, %i; and.b32 %t, %tid, 3; shr.u32 %g, %tid, 2;\n",
        );
        // Lane 4 g + t: A's row g + 8 (r % 2) at k t + 4 (r / 2), B's k t + 4 r in column g, C's row g + 8 (r / 2).
        let mut load = |d: String, matrix: &str, row: String, column: String, width: usize| {
            text += &format!(
                "{row} mad.lo.u32 %i, %i, {width}, 0; {column} mov.u64 %m, {matrix}; mul.wide.u32 %d0, %i, 8; add.u64 %m, %m, %d0; ld.global.f64 %{d}, [%m];\n"
            );
        };
        for r in 0..tall * depth / 4 {
            let row = format!("add.u32 %i, %g, {};", 8 * (r % tall));
            load(
                format!("a{r}"),
                "ma",
                row,
                format!("add.u32 %i, %i, %t; add.u32 %i, %i, {};", 4 * (r / tall)),
                depth,
            );
        }
        for r in 0..depth / 4 {
            load(
                format!("b{r}"),
                "mb",
                format!("add.u32 %i, %t, {};", 4 * r),
                "add.u32 %i, %i, %g;".into(),
                8,
            );
        }
        for r in 0..2 * tall {
            let column = format!(
                "add.u32 %i, %i, %t; add.u32 %i, %i, %t; add.u32 %i, %i, {};",
                r % 2
            );
            load(
                format!("c{r}"),
                "mc",
                format!("add.u32 %i, %g, {};", 8 * (r / 2)),
                column,
                8,
            );
        }
        let [a, b, c] = [("a", tall * depth / 4), ("b", depth / 4), ("c", 2 * tall)]
            .map(|(name, count)| names(name, count));
        let m = if rows == 8 { "m8" } else { "m16" };
        text += &format!(
            "mma.sync.aligned.{m}n8k{depth}.row.col.f64.f64.f64.f64 {{{c}}}, {{{a}}}, {{{b}}}, {{{c}}};\n"
        );
        for r in 0..2 * tall {
            // Store 32-bit integers at the row's position in the output.
            text += &format!(
                "cvt.rni.s32.f64 %r1, %c{r}; mad.lo.u32 %i, %g, 8, {}; mad.lo.u32 %i, %t, 2, %i; mul.wide.u32 %m, %i, 4; add.u64 %m, %m, %out; st.global.u32 [%m], %r1;\n",
                64 * (r / 2) + r % 2
            );
        }
        let text = text.replace('\n', " ");
        let words = body_with(&threads(32), &declarations, &text).clean();
        for (at, &word) in words.iter().enumerate().take(8 * rows) {
            assert_eq!(
                i64::from(word as i32),
                product(at / 8, at % 8, depth),
                "{rows} x {depth}, {at}"
            );
        }
    }
}

/// `wmma` of f64 in every layout, with a stride and without one.
#[test]
fn wmma_of_f64() {
    for (layout_a, layout_b, layout_c) in [
        ("row", "col", "row"),
        ("col", "row", "col"),
        ("row", "row", "col"),
    ] {
        let matrix = |name: &str, rows: usize, columns: usize, seed: usize, by_rows: bool| {
            let at = |i: usize| match by_rows {
                true => (i / columns, i % columns),
                false => (i % rows, i / rows),
            };
            let values = (0..rows * columns)
                .map(at)
                .map(|(row, column)| format!("{}.0", value(row + seed, column)));
            format!(
                ".global .align 16 .f64 {name}[{}] = {{{}}}; ",
                rows * columns,
                list(values)
            )
        };
        let declarations = matrix("ma", 8, 4, 0, layout_a == "row")
            + &matrix("mb", 4, 8, 3, layout_b == "row")
            + &matrix("mc", 8, 8, 5, layout_c == "row")
            + ".global .align 16 .f64 md[64]; ";
        let stride = if layout_a == "row" { 4 } else { 8 };
        let text = format!(
            ".reg .f64 %a, %b, %c<2>; mov.u64 %d0, ma; wmma.load.a.sync.aligned.{layout_a}.m8n8k4.global.f64 {{%a}}, [%d0], {stride};
            mov.u64 %d0, mb; wmma.load.b.sync.aligned.{layout_b}.m8n8k4.global.f64 {{%b}}, [%d0];
            mov.u64 %d0, mc; wmma.load.c.sync.aligned.{layout_c}.m8n8k4.global.f64 {{%c0, %c1}}, [%d0], 8;
            wmma.mma.sync.aligned.{layout_a}.{layout_b}.m8n8k4.rn.f64.f64.f64.f64 {{%c0, %c1}}, {{%a}}, {{%b}}, {{%c0, %c1}};
            mov.u64 %d0, md; wmma.store.d.sync.aligned.row.m8n8k4.global.f64 [%d0], {{%c0, %c1}}, 8; bar.warp.sync -1;
            mul.wide.u32 %d1, %tid, 8; add.u64 %d1, %d1, %d0; ld.global.f64 %a, [%d1]; cvt.rni.s32.f64 %r0, %a; st.global.u32 [%at], %r0;
            ld.global.f64 %a, [%d1+256]; cvt.rni.s32.f64 %r0, %a; st.global.u32 [%at+128], %r0;"
        );
        let words = body_with(&threads(32), &declarations, &text.replace('\n', " ")).clean();
        for (at, &word) in words.iter().enumerate().take(64) {
            assert_eq!(
                i64::from(word as i32),
                product(at / 8, at % 8, 4),
                "{layout_a} {layout_b} {layout_c}, {at}"
            );
        }
    }
}

/// `wmma` of packed factors: the bytes of both matrices, and what each element is.
#[test]
fn wmma_of_4_bits_and_of_single_bits() {
    let byte = |i: usize| (i * 73 + i / 16 * 29) as u8;
    for (shape, ty, operation, bits) in [
        ("m8n8k32", "s4", "", 4),
        ("m8n8k32", "u4", "", 4),
        ("m8n8k32", "s4", ".satfinite", 4),
        ("m8n8k128", "b1", "and", 1),
        ("m8n8k128", "b1", "xor", 1),
    ] {
        let bytes = |name: &str, seed: usize| {
            format!(
                ".global .align 16 .b8 {name}[128] = {{{}}}; ",
                list((0..128).map(|i| byte(i + seed)))
            )
        };
        // The first row's sums begin close to the largest number.
        let addend = |i: usize| if i < 8 { i32::MAX - 40 } else { i as i32 };
        let sums = format!(
            ".global .align 16 .s32 mc[64] = {{{}}}; ",
            list((0..64).map(addend))
        );
        let declarations = bytes("ma", 0) + &bytes("mb", 7) + &sums;
        let depth = 128 / bits;
        let stride = 16 * 8 / bits;
        let product = match bits {
            4 => format!("wmma.mma.sync.aligned.row.col.{shape}.s32.{ty}.{ty}.s32{operation}"),
            _ => format!("wmma.mma.{operation}.popc.sync.aligned.row.col.{shape}.s32.b1.b1.s32"),
        };
        let text = format!(
            "mov.u64 %d0, ma; wmma.load.a.sync.aligned.row.{shape}.global.{ty} {{%r0}}, [%d0], {stride};
            mov.u64 %d0, mb; wmma.load.b.sync.aligned.col.{shape}.global.{ty} {{%r1}}, [%d0];
            mov.u64 %d0, mc; wmma.load.c.sync.aligned.row.{shape}.global.s32 {{%r2, %r3}}, [%d0];
            {product} {{%r4, %r5}}, {{%r0}}, {{%r1}}, {{%r2, %r3}};
            wmma.store.d.sync.aligned.row.{shape}.global.s32 [%out], {{%r4, %r5}}, 8;"
        );
        let words = body_with(&threads(32), &declarations, &text.replace('\n', " ")).clean();
        let element = |seed: usize, row: usize, k: usize| {
            let bit = k * bits;
            let raw = i64::from(byte(16 * row + bit / 8 + seed) >> (bit % 8)) & ((1 << bits) - 1);
            if ty == "s4" && raw >= 8 {
                raw - 16
            } else {
                raw
            }
        };
        for (at, &word) in words.iter().enumerate().take(64) {
            let (row, column) = (at / 8, at % 8);
            let terms = (0..depth).map(|k| {
                let (a, b) = (element(0, row, k), element(7, column, k));
                if operation == "xor" { a ^ b } else { a * b }
            });
            let sum = terms.sum::<i64>() + i64::from(addend(at));
            let expected = match operation {
                ".satfinite" => sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
                _ => sum as i32,
            };
            assert_eq!(word as i32, expected, "{product}, {at}");
        }
    }
}
