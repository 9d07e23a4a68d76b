//! Tiles of tensors: where each element lands, what a tile may be, what it costs.
use emulator::{Element, Fill, Swizzle, TensorMap};

use super::common::Setup;
use super::common::tma::{Tensor, run, run_map};
use super::{elements, kinds, load, setup, show, tensor};

#[test]
fn every_swizzle_puts_every_element_where_it_belongs() {
    // The last number is the pitch: a swizzled row takes the full width of the swizzle.
    let tiles: [(&'static [u32; 2], Swizzle, u32, u32); 5] = [
        (&[64, 16], Swizzle::None, 0, 128),
        (&[64, 16], Swizzle::B128, 7, 128),
        (&[32, 16], Swizzle::B64, 3, 64),
        (&[16, 16], Swizzle::B32, 1, 32),
        (&[8, 16], Swizzle::B128, 7, 128),
    ];
    for (tile, swizzle, mask, pitch) in tiles {
        for (x, y) in [(0, 0), (16, 20), (-8, -3), (72, 30), (104, 0)] {
            let bytes = tile[0] * tile[1] * 2;
            let text = load(2, &format!("{x}, {y}"), bytes) + &show(pitch * tile[1]);
            // The gaps between short rows are never written.
            let setup = Setup {
                sanitize: false,
                ..setup(32)
            };
            let outcome = run(&setup, &tensor(tile, swizzle), &text).expect("a map");
            let found = elements(&outcome.clean());
            for row in 0..tile[1] as i32 {
                for column in 0..tile[0] as i32 {
                    let (c, r) = (x + column, y + row);
                    let inside = (0..100).contains(&c) && (0..40).contains(&r);
                    let expected = if inside { (r * 112 + c) as u16 } else { 0 };
                    let at = row as u32 * pitch + column as u32 * 2;
                    // The tile starts at a multiple of 1024.
                    let at = at ^ (at >> 7 & mask) << 4;
                    assert_eq!(
                        found[at as usize / 2],
                        expected,
                        "{swizzle:?} tile {tile:?} at ({x}, {y}): row {row} column {column}"
                    );
                }
            }
        }
    }
}

#[test]
fn one_to_five_dimensions_and_steps_between_elements() {
    let dimensions: [u64; 5] = [16, 3, 5, 2, 3];
    let strides: [u64; 4] = [48, 160, 800, 1616];
    let tile: [u32; 5] = [8, 2, 3, 2, 2];
    let steps: [u32; 5] = [1, 1, 2, 1, 1];
    let start: [i64; 5] = [8, 2, 1, 1, -1];
    for rank in 1..=5 {
        let tensor = Tensor {
            map: TensorMap {
                element: Element::U16,
                dimensions: &dimensions[..rank],
                strides: &strides[..rank - 1],
                tile: &tile[..rank],
                element_strides: &steps[..rank],
                swizzle: Swizzle::None,
                fill: Fill::Zeros,
            },
            elements: 4096,
        };
        let counts: Vec<u32> = (0..rank).map(|d| tile[d].div_ceil(steps[d])).collect();
        let bytes = counts.iter().product::<u32>() * 2;
        let coordinates: Vec<String> = start[..rank].iter().map(|c| c.to_string()).collect();
        let text = load(rank, &coordinates.join(", "), bytes) + &show(bytes.max(128));
        let plain = Setup {
            sanitize: false,
            ..setup(32)
        };
        let found = elements(&run(&plain, &tensor, &text).expect("a map").clean());
        for at in 0..bytes / 2 {
            let (mut left, mut address, mut inside) = (at, 0, true);
            for d in 0..rank {
                let c = start[d] + i64::from(left % counts[d] * steps[d]);
                left /= counts[d];
                inside &= (0..dimensions[d] as i64).contains(&c);
                address += c * if d == 0 { 2 } else { strides[d - 1] as i64 };
            }
            let expected = if inside { (address / 2) as u16 } else { 0 };
            assert_eq!(
                found[at as usize], expected,
                "{rank} dimensions, element {at}"
            );
        }
    }
}

/// An H100 refuses other starts.
#[test]
fn a_tile_starts_at_whole_16_bytes() {
    let text = load(2, "5, 0", 512) + &show(512);
    let outcome = run(&setup(32), &tensor(&[16, 16], Swizzle::None), &text).expect("a map");
    assert_eq!(kinds(&outcome)[0].0, "InvalidBulkCopy");
    assert!(
        outcome.report().contains("10 bytes into a row"),
        "{}",
        outcome.report()
    );
}

#[test]
fn outside_may_be_nan() {
    let mut tensor = tensor(&[16, 16], Swizzle::None);
    (tensor.map.element, tensor.map.fill) = (Element::F16, Fill::Nan);
    let text = load(2, "96, 0", 512) + &show(512);
    let found = elements(&run(&setup(32), &tensor, &text).expect("a map").clean());
    assert_eq!(found[..5], [96, 97, 98, 99, 0x7fff]);
}

#[test]
fn what_no_hardware_executes() {
    let tile = tensor(&[32, 16], Swizzle::None);
    let good = load(2, "0, 0", 1024);
    let says = |text: &str, what: &str| {
        let outcome = run(&setup(32), &tile, text).expect("a map");
        assert!(outcome.report().contains(what), "{}", outcome.report());
        assert!(outcome.findings.iter().any(|f| f.is_fatal()));
    };
    says(
        &good.replace("[%s], [%map", "[%s+64], [%map"),
        "the shared address 0x440 is not a multiple of 128 bytes",
    );
    says(
        &good.replace("[%s], [%map", "[%s+32128], [%map"),
        "Invalid __shared__ write of size 16 bytes",
    );
    says(&good.replace("[%map, {", "[%map+64, {"), "out of bounds");
    says(
        &good.replace("2d.", "1d.").replace("{0, 0}", "{0}"),
        "1 coordinates for a tensor of 2 dimensions",
    );
    says(
        &good.replace("{0, 0}], [%bar]", "{0, 0}], [%bar+4]"),
        "is misaligned",
    );
    let outcome = run_map(&setup(32), &tile, &good, |map| map[40] ^= 1).expect("a map");
    assert!(
        outcome
            .report()
            .contains("there is no tensor map at 0x730000000000"),
        "{}",
        outcome.report()
    );
    // A map of more memory than is allocated.
    let mut large = tile.clone();
    large.map.dimensions = &[100, 80];
    let outcome = run(&setup(32), &large, &load(2, "0, 40", 1024)).expect("a map");
    assert!(
        outcome
            .report()
            .starts_with("Invalid __global__ asynchronous read of size 64 bytes"),
        "{}",
        outcome.report()
    );
}

#[test]
fn a_tile_s_traffic() {
    // Rows of 64 bytes at multiples of 224: at 0 and at 224, 448 … each within two or three sectors.
    let text = load(2, "0, 0", 1024) + &show(1024);
    let outcome = run(&setup(32), &tensor(&[32, 16], Swizzle::None), &text).expect("a map");
    let copy = outcome.of("cp.async.bulk.tensor")[0];
    assert_eq!((copy.executions, copy.threads, copy.bytes), (1, 1, 1024));
    assert_eq!((copy.global_sectors, copy.global_sectors_ideal), (32, 32));
    assert_eq!((copy.global_requests, copy.shared.wavefronts), (0, 0));
}

#[test]
fn copies_that_are_issued_earlier_are_further_ahead() {
    let [early, late] = ["add.u32 %r9, %r9, 1;".repeat(50), String::new()].map(|between| {
        let text = load(2, "0, 0", 2048).replace("W:", &format!("{between} W:"));
        let outcome = run(&setup(32), &tensor(&[64, 16], Swizzle::None), &text).expect("a map");
        let [wait] = outcome.waits[..] else {
            panic!("{:?}", outcome.waits)
        };
        assert_eq!((wait.times, wait.waited, wait.copied), (1, 1, 1));
        assert_eq!(wait.steps, wait.longest);
        wait
    });
    // A copy lands late even if it is issued early.
    assert_eq!(early.steps, late.steps);
    assert_eq!(early.ahead, late.ahead + 50);
}
