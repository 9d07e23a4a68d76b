//! The tables of waves on the pages of rungs 16 and 17 are typed by hand, since their cells show how each number is computed. The
//! engine of the page's figure computes them here as well.
use serde_json::{Value, json};

/// Whole tiles, and those of two rungs.
#[derive(PartialEq)]
enum Tiles {
    Whole,
    Split16,
    Narrow17,
}

/// A square size in tiles of 128x256, on the 132 SMs of an H100.
fn waves(size: u64, tiles: Tiles) -> Value {
    let request = json!({
        "ask": "waves", "m": size, "n": size, "k": size, "tile": [128, 256, 64], "sms": 132, "cluster": 2,
        "stream_k": tiles != Tiles::Whole, "narrow": tiles == Tiles::Narrow17,
    });
    serde_json::from_str(&live::answer(request.to_string().as_bytes())).expect("JSON")
}

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../src/16_stream_k.md");
    std::fs::read_to_string(path).expect("the page")
}

/// The cells of the only row with this first cell.
fn row(page: &str, first: &str) -> Vec<String> {
    let rows: Vec<Vec<String>> = page
        .lines()
        .filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'))
        .map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect())
        .filter(|cells: &Vec<String>| cells[0] == first)
        .collect();
    let [cells] = rows
        .try_into()
        .unwrap_or_else(|rows| panic!("{first}: {rows:?}"));
    cells
}

/// The last number of a cell, after the computation.
fn number(cell: &str) -> f64 {
    let digits = |c: char| !(c.is_ascii_digit() || c == '.' || c == ',');
    let cell = cell.split(": ").next().unwrap_or_default();
    let last = cell
        .split(digits)
        .rfind(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let last = last.unwrap_or_else(|| panic!("no number in {cell:?}"));
    last.replace(',', "").parse().expect("a number")
}

fn int(found: &Value, name: &str) -> u64 {
    found[name]
        .as_u64()
        .unwrap_or_else(|| panic!("no {name} in {found}"))
}

/// The tile and range of steps of each of a cluster's pieces of work.
fn work(found: &Value, cluster: usize) -> Vec<[u64; 3]> {
    let pieces = found["work"][cluster].as_array().expect("pieces");
    pieces
        .iter()
        .map(|piece| ["tile", "from", "to"].map(|name| int(piece, name)))
        .collect()
}

const SIZES: [u64; 4] = [4096, 5120, 8192, 16384];

#[test]
fn the_table_of_waves_is_what_the_figure_computes() {
    let page = page();
    let rounded =
        |value: f64, decimals: i32| (value * 10f64.powi(decimals)).round() / 10f64.powi(decimals);
    for (i, size) in SIZES.into_iter().enumerate() {
        let found = waves(size, Tiles::Whole);
        let of = |name: &str| found[name].as_f64().expect("a number");
        let clusters = of("clusters");
        let rows = [
            ("tiles: size / 256, squared", of("tiles")),
            ("tiles / 66: waves", rounded(of("tiles") / clusters, 2)),
            ("tiles in the last wave", of("lastWave")),
            ("steps of a tile: size / 64", of("steps")),
            ("steps of all waves", of("longest")),
            (
                "if all clusters had equal work: tiles · steps / 66",
                rounded(of("tiles") * of("steps") / clusters, 1),
            ),
            (
                "lost",
                rounded(100.0 - 100.0 * found["busy"].as_f64().expect("busy"), 1),
            ),
        ];
        for (name, expected) in rows {
            assert_eq!(
                number(&row(&page, name)[i + 1]),
                expected,
                "{name}, at {size}"
            );
        }
    }
}

#[test]
fn the_table_of_shares_is_what_the_figure_computes() {
    let page = page();
    for (i, size) in SIZES.into_iter().enumerate() {
        let found = waves(size, Tiles::Split16);
        let of = |name| int(&found, name);
        let rest = of("lastWave") * of("steps");
        let equal = rest.div_ceil(of("clusters")).max(8);
        let is_split = found["split"] == true;
        let whole = of("tiles") - if is_split { of("lastWave") } else { 0 };
        let with_a_share = (0..of("clusters") as usize).filter(|&cluster| {
            work(&found, cluster)
                .iter()
                .any(|&[tile, ..]| tile >= whole)
        });
        let rows = [
            ("`rest`", rest),
            ("`equal`", equal),
            ("`steps - equal`", of("steps") - equal),
            ("`max(16, steps / 4)`", 16.max(of("steps") / 4)),
            ("`share`", of("share")),
            ("`whole`", whole),
        ];
        for (name, expected) in rows {
            assert_eq!(
                number(&row(&page, name)[i + 2]),
                expected as f64,
                "{name}, at {size}"
            );
        }
        let shares = &row(&page, "`rest / share`")[i + 2];
        match is_split {
            true => assert_eq!(number(shares), with_a_share.count() as f64, "at {size}"),
            false => assert_eq!(shares, "", "at {size}"),
        }
    }
}

#[test]
fn the_table_of_narrow_tiles_is_what_the_figure_computes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../src/17_narrow_tiles.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let found = waves(4096, Tiles::Narrow17);
    for (name, clusters) in [("clusters 0 to 3", 0..4), ("clusters 4 to 65", 4..66)] {
        let cells = row(&page, name);
        for cluster in clusters {
            let pieces = found["work"][cluster].as_array().expect("pieces");
            let of = |columns| {
                let there = pieces.iter().map(|piece| int(piece, "columns"));
                there.filter(|&one| one == columns).count() as f64
            };
            let (wide, narrow) = (of(256), of(240));
            let steps = int(&found, "steps") as f64 * (wide + narrow * 240.0 / 256.0);
            let expected = [wide, narrow, steps];
            assert_eq!([1, 2, 3].map(|i| number(&cells[i])), expected, "{cluster}");
        }
    }
}

#[test]
fn the_pieces_at_8192_are_those_of_the_figure() {
    let page = page();
    let found = waves(8192, Tiles::Split16);
    let whole = int(&found, "tiles") - int(&found, "lastWave");
    let table = page
        .split("| cluster, at 8192 |")
        .nth(1)
        .expect("the table of pieces");
    let table = table.split("\n\n").next().expect("its rows");
    for cluster in [0, 1, 2, 3, 65] {
        let cells = row(table, &cluster.to_string());
        let pieces: Vec<String> = work(&found, cluster)
            .into_iter()
            .filter(|&[tile, ..]| tile >= whole)
            .map(|[tile, from, to]| format!("tile {tile}, steps {from} to {}", to - 1))
            .collect();
        let shown: Vec<String> = cells[2..]
            .iter()
            .map(|cell| cell.replace(',', "").replacen(" steps", ", steps", 1))
            .collect();
        let shown: Vec<&String> = shown.iter().filter(|cell| !cell.is_empty()).collect();
        assert_eq!(
            shown,
            pieces.iter().collect::<Vec<_>>(),
            "cluster {cluster}"
        );
    }
}
