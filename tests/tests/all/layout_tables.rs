//! Every layout table as printed: the text is pinned by a snapshot; SVG and JSON are checked for validity.
use layout::axis::AxisLayout;
use layout::banks::Access;
use layout::canonical::{Canonical, Major};
use layout::descriptor::{Descriptor, Mode};
use layout::expression::Expression;
use layout::fragment::{Fragment, Operand};
use layout::mapping::{Mapping, Shape};
use layout::scales::{Scaled, Scales};
use layout::show::Sheet;
use layout::swizzle::Swizzle;
use layout::tile::{Pattern, Tile};
use layout::tmem::Accumulator;
use layout::{sheets, tmem};
use sha2::{Digest, Sha256};

fn swizzles() -> Vec<(String, Sheet)> {
    let cases = [
        (0, 4, 3),
        (1, 4, 3),
        (2, 4, 3),
        (3, 4, 3),
        (2, 5, 2),
        (3, 4, -3),
        (2, 2, 5),
    ];
    let sheet = |(b, m, s)| {
        let swizzle = Swizzle::new(b, m, s).expect("|S| >= B");
        (format!("swizzle_{b}_{m}_{s}"), sheets::swizzle(&swizzle))
    };
    let mut found: Vec<_> = cases.map(sheet).into();
    found.push(("swizzles".into(), sheets::swizzles()));
    let xor = |size| {
        (
            format!("xor_{size}"),
            sheets::xor(size).expect("a power of two"),
        )
    };
    found.extend([1, 8].map(xor));
    found
}

fn mappings() -> Vec<(String, Sheet)> {
    let floats = Shape {
        rows: 32,
        row_bytes: 128,
        unit_bytes: 4,
    };
    let units = Shape {
        rows: 8,
        row_bytes: 128,
        unit_bytes: 16,
    };
    let cases = [
        ("map_plain", "col", units),
        ("map_xor", "col ^ (row & 7)", units),
        ("map_half_working", "col ^ ((row & 0b1100) >> 2)", units),
        ("map_rotation", "(col + row) % 8", units),
        ("map_leaves_its_row", "col + row", units),
        ("map_loses_data", "col & 6", units),
        ("map_tears_vectors", "col ^ row", floats),
        (
            "map_padded",
            "col",
            Shape {
                row_bytes: 144,
                ..units
            },
        ),
    ];
    let sheet = |(name, text, shape): (&str, &str, Shape)| {
        let expression = Expression::parse(text).expect(text);
        let mapping = Mapping::of_expression(&expression, shape).expect(text);
        (name.to_string(), sheets::mapping(text, &mapping, None).0)
    };
    let sudoku = [[2, 3, 1, 0], [0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 0, 1]].map(Vec::from);
    let sudoku = Mapping::of_table(&sudoku).expect("a table");
    let mut found: Vec<_> = cases.map(sheet).into();
    found.push((
        "map_sudoku".into(),
        sheets::mapping("by table", &sudoku, None).0,
    ));
    found
}

fn bankmaps() -> Vec<(String, Sheet)> {
    let transpose = |leading_dimension| Tile {
        rows: 32,
        columns: 32,
        leading_dimension,
        element_bytes: 4,
    };
    let a = |leading_dimension| Tile {
        rows: 8,
        columns: 128,
        leading_dimension,
        element_bytes: 4,
    };
    let cases = [
        (
            "transpose_32",
            transpose(32),
            Access::Load,
            4,
            Pattern::Column,
        ),
        (
            "transpose_33",
            transpose(33),
            Access::Load,
            4,
            Pattern::Column,
        ),
        (
            "transpose_34",
            transpose(34),
            Access::Load,
            4,
            Pattern::Column,
        ),
        (
            "a_tile_128_store",
            a(128),
            Access::Store,
            4,
            Pattern::Transposed,
        ),
        (
            "a_tile_132_store",
            a(132),
            Access::Store,
            4,
            Pattern::Transposed,
        ),
        (
            "a_tile_128_float4_column",
            a(128),
            Access::Store,
            16,
            Pattern::Column,
        ),
        (
            "a_tile_132_float4_column",
            a(132),
            Access::Store,
            16,
            Pattern::Column,
        ),
        (
            "a_tile_132_float4_row",
            a(132),
            Access::Load,
            16,
            Pattern::Row,
        ),
        ("phases_8_bytes", a(128), Access::Load, 8, Pattern::Row),
    ];
    let sheet = |(name, tile, access, bytes, pattern): (&str, Tile, Access, u32, Pattern)| {
        let sheet = sheets::bankmap(&tile, access, bytes, pattern).expect(name);
        (format!("bankmap_{name}"), sheet)
    };
    let mut found: Vec<_> = cases.map(sheet).into();
    found.push(("phases".into(), sheets::phases()));
    found
}

fn fragments() -> Vec<(String, Sheet)> {
    let mma = ["m16n8k8", "m16n8k16"].into_iter();
    let operands = [Operand::A, Operand::B, Operand::C];
    let mma = mma.flat_map(|shape| operands.map(|operand| (shape.to_string(), Some(operand))));
    let matrices = ["ldmatrix", "stmatrix"].into_iter().flat_map(|op| {
        let counts = ["x1", "x2", "x4", "x1.trans", "x2.trans", "x4.trans"];
        counts.map(|count| (format!("{op}.{count}"), None))
    });
    let wgmma = [8, 64, 256].map(|n| (format!("m64n{n}k16"), Some(Operand::C)));
    let sheet = |(shape, operand): (String, Option<Operand>)| {
        let fragment = Fragment::named(&shape, operand).expect("a fragment");
        let name = operand.map_or(shape.clone(), |operand| format!("{shape} {operand:?}"));
        let sheet = sheets::fragment(&name, &fragment).expect("a layout");
        (
            format!("fragment_{}", name.replace([' ', '.'], "_").to_lowercase()),
            sheet,
        )
    };
    mma.chain(matrices).chain(wgmma).map(sheet).collect()
}

fn descriptors() -> Vec<(String, Sheet)> {
    let mut found = vec![
        (
            "descriptor_k_step".to_string(),
            sheets::descriptor(0x4000_0040_0001_0042),
        ),
        (
            "descriptor_unused_bits".to_string(),
            sheets::descriptor(u64::MAX),
        ),
    ];
    let encoded = Descriptor {
        start: 512,
        leading: 512,
        stride: 1024,
        base_offset: 0,
        mode: Mode::B64,
    };
    found.push((
        "descriptor_64".into(),
        sheets::descriptor(encoded.encode().expect("fits")),
    ));
    for (major, name) in [(Major::K, "k"), (Major::Mn, "mn")] {
        for mode in Mode::ALL {
            let k = if major == Major::K {
                (mode.bytes() / 2).max(16)
            } else {
                16
            };
            let layout = Canonical {
                major,
                mode,
                element_bytes: 2,
                mn: 128,
                k,
            };
            let sheet = sheets::canonical(&layout, 1024).expect("a layout");
            found.push((format!("canonical_{name}_{}", mode.bytes()), sheet));
        }
    }
    found
}

fn tensor_memory() -> Vec<(String, Sheet)> {
    let accumulator = |(m, cta_group, ws)| {
        let accumulator = Accumulator::new(m, 128, cta_group, ws).expect("an accumulator");
        let name = format!("tmem_layout_{:?}", accumulator.path()).to_lowercase();
        (name, sheets::accumulator(&accumulator).expect("a layout"))
    };
    let mut found: Vec<_> = tmem::ALL.map(accumulator).into();
    let ids = [(1, 0), (1, 3), (2, 2), (4, 0)];
    for (of, name, rows, cta_group) in [
        (Scaled::A, "SFA", 128, 1),
        (Scaled::A, "SFA", 256, 2),
        (Scaled::B, "SFB", 64, 1),
        (Scaled::B, "SFB", 256, 2),
    ] {
        for (vector, id) in ids {
            let scales = Scales::new(of, rows, vector, id, cta_group).expect("factors");
            let sheet = sheets::scales(name, cta_group, &scales).expect("a layout");
            found.push((
                format!(
                    "tmem_{}_{vector}x_id{id}_cta{cta_group}",
                    name.to_lowercase()
                ),
                sheet,
            ));
        }
    }
    found
}

fn axes() -> Vec<(String, Sheet)> {
    let cases = [
        ("axis_8x8", "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@m)]"),
        (
            "axis_replicated",
            "S[(4, 32, 4) : (1@TCol, 1@TLane, 1@byte)] + R[4 : 32@TLane]",
        ),
        (
            "axis_loses_data",
            "S[(4, 4) : (1@laneid, 1@laneid)] + 8@laneid",
        ),
    ];
    cases
        .map(|(name, text)| {
            (
                name.to_string(),
                sheets::axis(&AxisLayout::parse(text).expect(text)).0,
            )
        })
        .into()
}

fn all() -> Vec<(String, Sheet)> {
    [
        swizzles(),
        mappings(),
        bankmaps(),
        fragments(),
        descriptors(),
        tensor_memory(),
        axes(),
    ]
    .concat()
}

#[test]
fn every_table_as_text() {
    for (name, sheet) in all() {
        insta::assert_snapshot!(name, sheet.to_text());
    }
}

/// One table of each kind in full, for a reader of the snapshots.
#[test]
fn one_table_of_each_kind_as_svg_and_json() {
    let kinds = [
        swizzles().remove(1),
        mappings().remove(1),
        bankmaps().remove(0),
        fragments().remove(0),
        descriptors().remove(0),
        tensor_memory().remove(0),
        axes().remove(0),
    ];
    for (name, sheet) in kinds {
        insta::assert_snapshot!(format!("{name}_svg"), sheet.to_svg());
        insta::assert_snapshot!(format!("{name}_json"), json(&sheet));
    }
}

/// All tables by their SHA-256: the hash shows that one changed, and the text beside it what changed.
#[test]
fn every_table_as_svg_and_json_is_pinned() {
    let hash = |text: String| -> String {
        let digest = Sha256::digest(text);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let line = |(name, sheet): (String, Sheet)| {
        format!(
            "{name}: svg {}, json {}\n",
            hash(sheet.to_svg()),
            hash(json(&sheet))
        )
    };
    let lines: String = all().into_iter().map(line).collect();
    insta::assert_snapshot!("svg_and_json_sha256", lines);
}

fn json(sheet: &Sheet) -> String {
    serde_json::to_string_pretty(sheet).expect("JSON")
}

#[test]
fn refusals_name_the_remedy() {
    let tile = Tile {
        rows: 8,
        columns: 128,
        leading_dimension: 129,
        element_bytes: 4,
    };
    let misaligned =
        sheets::bankmap(&tile, Access::Load, 16, Pattern::Row).expect_err("misaligned");
    assert!(
        misaligned
            .to_string()
            .contains("a leading dimension of 132 does"),
        "{misaligned}"
    );
    let overlaps = Swizzle::new(3, 4, 2).expect_err("|S| < B");
    assert!(
        overlaps
            .to_string()
            .contains("no longer undoes it; take S = 3 or -3"),
        "{overlaps}"
    );
    let collapses = Swizzle::new(2, 4, 0).expect_err("S = 0");
    assert!(
        collapses.to_string().contains("not a bijection"),
        "{collapses}"
    );
    let layout = Canonical {
        major: Major::K,
        mode: Mode::B128,
        element_bytes: 2,
        mn: 64,
        k: 64,
    };
    let square = sheets::xor(6).expect_err("no power of two");
    assert!(square.to_string().contains("take 1, 2, 4"), "{square}");
    let start = sheets::canonical(&layout, 512).expect_err("misaligned");
    assert!(
        start.to_string().contains("align it to 1024 bytes"),
        "{start}"
    );
}

/// Every accepted input can be printed, including the extremes.
#[test]
fn no_swizzle_is_too_odd_to_show() {
    let sizes = [0, 1, 2, 3, 5, 8, 15, 16, 29, 31, 32];
    let shifts = sizes.iter().flat_map(|&size| [size, -size]);
    let all = shifts
        .flat_map(|s| sizes.map(|b| (b, s)))
        .flat_map(|(b, s)| sizes.map(|m| (b, m, s)));
    let mut shown = 0;
    for (b, m, s) in all {
        if let Ok(swizzle) = Swizzle::new(b as u32, m as u32, s) {
            assert!(sheets::swizzle(&swizzle).to_text().starts_with("Swizzle<"));
            shown += 1;
        }
    }
    assert!(shown > 300, "{shown}");
}

/// Matching tags, a title for screen readers, and nothing outside the picture.
#[test]
fn every_table_as_svg_is_sound() {
    for (name, sheet) in all() {
        let svg = sheet.to_svg();
        let mut open = Vec::new();
        for tag in svg.split('<').skip(1) {
            let (tag, _) = tag
                .split_once('>')
                .unwrap_or_else(|| panic!("{name}: an open tag <{tag}"));
            let word = tag.split([' ', '\n']).next().unwrap_or_default();
            match word.strip_prefix('/') {
                Some(closed) => assert_eq!(open.pop(), Some(closed), "{name}"),
                None if tag.ends_with('/') => {}
                None => open.push(word),
            }
        }
        assert!(open.is_empty(), "{name}: {open:?} stay open");
        assert!(
            svg.contains("role=\"img\"")
                && svg.contains("<title>")
                && !svg.contains("<title></title>"),
            "{name}"
        );
        let size = |attribute: &str| -> f64 {
            let (_, rest) = svg.split_once(&format!(" {attribute}=\"")).expect("a size");
            rest.split('"')
                .next()
                .and_then(|text| text.parse().ok())
                .expect("a number")
        };
        let (width, height) = (size("width"), size("height"));
        for rect in svg.split("<rect x=\"").skip(1) {
            let numbers: Vec<f64> = rect
                .split('"')
                .filter_map(|part| part.parse().ok())
                .take(4)
                .collect();
            let [x, y, w, h] = numbers[..] else {
                panic!("{name}: {rect}")
            };
            assert!(
                x + w <= width && y + h <= height && x >= 0.0 && y >= 0.0,
                "{name}: a cell outside the picture"
            );
        }
    }
}

#[test]
fn every_table_as_json_holds_the_same() {
    for (name, sheet) in all() {
        let json = serde_json::to_value(&sheet).expect("JSON");
        assert_eq!(json["title"], sheet.title, "{name}");
        assert_eq!(
            json["facts"].as_object().map(serde_json::Map::len),
            Some(sheet.facts.len()),
            "{name}: two facts of one name"
        );
        for (grid, found) in sheet
            .grids
            .iter()
            .zip(json["grids"].as_array().expect("grids"))
        {
            for (row, found) in grid
                .rows
                .iter()
                .zip(found["rows"].as_array().expect("rows"))
            {
                assert_eq!(
                    row.cells.len(),
                    grid.columns.len(),
                    "{name}: {} has a cell for each column",
                    grid.title
                );
                assert_eq!(
                    found["cells"].as_array().map(Vec::len),
                    Some(row.cells.len()),
                    "{name}"
                );
                assert_eq!(found["cells"][0]["text"], row.cells[0].text, "{name}");
            }
        }
    }
}
