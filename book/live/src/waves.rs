//! Which cluster computes which tile, in which wave, which tiles are split along K, and which are narrower: for any
//! problem, tile and card.
use serde::Deserialize;
use serde_json::{Value, json};

/// A persistent grid: a problem, its tiles, and a card.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WavesOf {
    m: u32,
    n: u32,
    k: u32,
    /// Rows, columns and depth of a CTA's tile.
    tile: [u32; 3],
    /// SMs of the card; each holds one CTA.
    sms: u32,
    /// CTAs of a cluster, one above the other.
    #[serde(default = "one")]
    cluster: u32,
    /// Whether the tiles of a partial last wave may be split along K.
    stream_k: bool,
    /// Whether some tiles may be narrower, if none is split.
    #[serde(default)]
    narrow: bool,
}

fn one() -> u32 {
    1
}

/// SMs of an H100 or H200: with more CTAs, rung 16 splits no tile.
const MOST_SHARING: u64 = 132;
/// The minimum number of steps in a share.
const LEAST_SHARE: u64 = 8;
/// The minimum number of steps that splitting must save; also a quarter of a tile's, or a third where tiles may be narrower.
const LEAST_SAVED: u64 = 16;
/// Columns of a narrow tile; a wide one has 256.
const NARROW: u64 = 240;
/// As many narrow tiles are as wide as one wide tile less.
const NARROW_TILES: u64 = 16;
/// Rows of clusters that get one more tile together.
const ROWS_TOGETHER: u64 = 8;
/// The most pieces of work that a page can draw.
const MOST_PIECES: u64 = 20_000;

/// Each cluster's pieces of work, in order: a tile, and a range of its steps. The rules are those of `Work` in
/// rungs/16_stream_k/kernel.cu, and, with `narrow`, in rungs/17_narrow_tiles/kernel.cu.
pub fn waves(of: &WavesOf) -> Result<Value, String> {
    let [bm, bn, bk] = of.tile;
    let sides = [of.m, of.n, of.k, bm, bn, bk, of.sms, of.cluster];
    if sides.contains(&0) {
        return Err("sizes, tiles, SMs and clusters are at least 1".into());
    }
    if of.cluster > of.sms {
        return Err(format!(
            "a cluster of {} CTAs does not fit on {} SMs: choose a smaller cluster or more SMs",
            of.cluster, of.sms
        ));
    }
    let [m, n, k, bm, bn, bk, sms, ranks] = sides.map(u64::from);
    let (rows, columns) = (m.div_ceil(bm).div_ceil(ranks), n.div_ceil(bn));
    let steps = k.div_ceil(bk);
    let tiles = rows * columns;
    if tiles > MOST_PIECES {
        return Err(format!(
            "{tiles} tiles are too many to draw: at most {MOST_PIECES}"
        ));
    }
    let clusters = (sms / ranks).min(tiles);
    let rest = tiles % clusters;
    let equal = (rest * steps).div_ceil(clusters).max(LEAST_SHARE);
    let part = if of.narrow { 3 } else { 4 };
    let saves = steps.saturating_sub(equal) >= LEAST_SAVED.max(steps / part);
    let splits = of.stream_k && rest > 0 && clusters * ranks <= MOST_SHARING && saves;
    let share = if splits { equal } else { 0 };
    let narrows = of.narrow && bn == 256 && rest > 0 && !splits;
    let idle = if narrows { clusters - rest } else { 0 };
    let more = idle.min(rows) / ROWS_TOGETHER * ROWS_TOGETHER;
    let narrow = more * (columns + 1).min(NARROW_TILES);
    let whole = if splits { tiles - rest } else { tiles + more };
    let columns_of = |tile: u64| {
        if tile + narrow >= tiles + more {
            NARROW
        } else {
            bn
        }
    };
    let work = (0..clusters).map(|cluster| {
        let mut pieces: Vec<Value> = (cluster..whole)
            .step_by(clusters as usize)
            .map(
                |tile| json!({ "tile": tile, "columns": columns_of(tile), "from": 0, "to": steps }),
            )
            .collect();
        let end = ((cluster + 1) * share).min(rest * steps);
        let mut at = cluster * share;
        while at < end {
            let (tile, from) = (whole + at / steps, at % steps);
            let to = steps.min(from + end - at);
            pieces.push(json!({ "tile": tile, "columns": bn, "from": from, "to": to }));
            at += to - from;
        }
        pieces
    });
    let work: Vec<Vec<Value>> = work.collect();
    // In steps of a whole tile: one of a narrow tile takes less.
    let taken = |pieces: &Vec<Value>| -> f64 {
        let steps = pieces.iter().filter_map(|one| {
            let [from, to, columns] = ["from", "to", "columns"].map(|name| one[name].as_u64());
            Some(((to? - from?) * columns?) as f64 / bn as f64)
        });
        steps.sum()
    };
    let longest = work.iter().map(taken).fold(0.0, f64::max);
    let used: f64 = work.iter().map(taken).sum();
    Ok(json!({
        "tiles": tiles, "rows": rows, "columns": columns, "steps": steps, "clusters": clusters,
        "waves": tiles.div_ceil(clusters), "lastWave": if rest == 0 { clusters } else { rest },
        "idleSms": sms - clusters * ranks, "split": splits, "share": share, "more": more, "narrow": narrow,
        "longest": longest, "used": used, "busy": used / (longest * clusters as f64).max(1.0),
        "work": work,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `is_last` is rung 17, which splits tiles or makes them narrower; otherwise the tiles are whole and wide.
    fn of(size: [u32; 3], tile: [u32; 3], cluster: u32, is_last: bool) -> Value {
        let [m, n, k] = size;
        waves(&WavesOf {
            m,
            n,
            k,
            tile,
            sms: 132,
            cluster,
            stream_k: is_last,
            narrow: is_last,
        })
        .expect("waves")
    }

    /// Every step of every tile is done once.
    #[test]
    fn all_is_done_once() {
        for (size, tile, cluster) in [
            ([2304, 2816, 2048], [128, 256, 64], 2),
            ([4096, 4096, 4096], [128, 256, 64], 2),
            ([300, 500, 7000], [128, 128, 64], 1),
            ([5120, 5120, 5120], [192, 128, 64], 1),
        ] {
            for is_last in [false, true] {
                let found = of(size, tile, cluster, is_last);
                let steps = found["steps"].as_u64().expect("steps") as usize;
                let [tiles, more] =
                    ["tiles", "more"].map(|name| found[name].as_u64().expect(name) as usize);
                let mut done = vec![vec![0; steps]; tiles + more];
                for piece in found["work"]
                    .as_array()
                    .expect("work")
                    .iter()
                    .flat_map(|one| one.as_array().expect("pieces"))
                {
                    let [tile, from, to] = ["tile", "from", "to"]
                        .map(|name| piece[name].as_u64().expect(name) as usize);
                    done[tile][from..to].iter_mut().for_each(|step| *step += 1);
                }
                assert!(done.iter().flatten().all(|&times| times == 1), "{size:?}");
            }
        }
    }

    /// The book's example of rung 16: 99 tiles of pairs on 66 clusters, of which the last wave has 33.
    #[test]
    fn a_partial_last_wave_is_split() {
        let found = of([2304, 2816, 2048], [128, 256, 64], 2, true);
        assert_eq!(
            (&found["tiles"], &found["clusters"]),
            (&json!(99), &json!(66))
        );
        assert_eq!(
            (&found["split"], &found["share"]),
            (&json!(true), &json!(16))
        );
        let plain = of([2304, 2816, 2048], [128, 256, 64], 2, false);
        assert_eq!(
            (&plain["waves"], &plain["lastWave"]),
            (&json!(2), &json!(33))
        );
        assert_eq!(plain["longest"], json!(64.0));
        assert_eq!(found["longest"], json!(48.0));
    }

    /// 58 of 66 clusters have a tile in the last wave of 4096: eight rows get a tile more, and the last 16 of their 17
    /// columns are narrow. Four clusters have one narrow tile, the others two.
    #[test]
    fn a_nearly_full_last_wave_is_filled() {
        let found = of([4096; 3], [128, 256, 64], 2, true);
        assert_eq!((&found["more"], &found["narrow"]), (&json!(8), &json!(128)));
        assert_eq!(found["longest"], json!(252.0));
        let columns = |cluster: usize| -> Vec<u64> {
            let pieces = found["work"][cluster].as_array().expect("pieces");
            let columns = pieces.iter().map(|piece| piece["columns"].as_u64());
            columns.map(|one| one.expect("columns")).collect()
        };
        assert_eq!(columns(0), [256, 256, 256, 240]);
        assert_eq!(columns(65), [256, 256, 240, 240]);
        let all: u64 = (0..66).flat_map(columns).sum();
        assert_eq!(
            all,
            16 * 4096,
            "sixteen rows of clusters, each as wide as C"
        );
        for tile in [[128, 128, 64], [192, 128, 64]] {
            assert_eq!(of([4096; 3], tile, 1, true)["narrow"], json!(0));
        }
    }

    /// At 6144 splitting saves 26 of 96 steps: enough for rung 16, too little for rung 17.
    #[test]
    fn rung_16_splits_where_rung_17_has_narrower_tiles() {
        let ask = |narrow: bool| {
            let side = 6144;
            let of = json!({ "m": side, "n": side, "k": side, "tile": [128, 256, 64], "sms": 132,
                "cluster": 2, "stream_k": true, "narrow": narrow });
            waves(&serde_json::from_value(of).expect("a grid")).expect("waves")
        };
        let found = [false, true].map(|narrow| {
            let found = ask(narrow);
            (found["split"] == true, found["narrow"] != json!(0))
        });
        assert_eq!(found, [(true, false), (false, true)]);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let tile = [128, 128, 64];
        let large = WavesOf {
            m: u32::MAX,
            n: u32::MAX,
            k: 64,
            tile,
            sms: 132,
            cluster: 1,
            stream_k: true,
            narrow: true,
        };
        assert!(waves(&large).is_err_and(|why| why.contains("too many")));
        let none = WavesOf {
            m: 0,
            n: 1,
            k: 1,
            tile,
            sms: 132,
            cluster: 1,
            stream_k: false,
            narrow: false,
        };
        assert!(waves(&none).is_err());
    }
}
