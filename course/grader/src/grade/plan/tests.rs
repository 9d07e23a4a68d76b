//! What every student's launches have in common, and in what they differ.
use super::draw::first_bits;
use super::*;
use harness::{Size, Values};

const RUBRICS: [(&str, &str); 4] = [
    (
        "01",
        include_str!("../../../../assignments/01_coalesce/rubric.toml"),
    ),
    (
        "02",
        include_str!("../../../../assignments/02_transpose/rubric.toml"),
    ),
    (
        "05",
        include_str!("../../../../assignments/05_swizzle/rubric.toml"),
    ),
    (
        "11",
        include_str!("../../../../assignments/11_specialized/rubric.toml"),
    ),
];

fn rubric() -> Rubric {
    Rubric::parse(RUBRICS[2].1).expect("a rubric")
}

#[test]
fn secret_and_student_decide() {
    let of = |secret: &[u8], student| others(&rubric(), Some(secret), student);
    let mine = of(b"s", "ada");
    assert_eq!(mine, of(b"s", "ada"));
    assert_ne!(mine, of(b"t", "ada"));
    assert_ne!(mine, of(b"s", "bob"));
    assert_ne!(of(b"sa", "da"), of(b"s", "ada"), "lengths are hashed too");
    assert!(mine.iter().all(|launch| launch.closed));
}

#[test]
fn everybody_has_every_tile_a_large_odd_size_many_tiles_and_a_large_k() {
    let rubric = rubric();
    for student in ["ada", "bob", "cyd", "dan"] {
        let all = others(&rubric, Some(b"s"), student);
        let of = |is_it: fn(&Class) -> bool| -> Vec<_> {
            let found = all.iter().filter(|launch| is_it(&launch.class));
            found.collect()
        };
        let tiles = of(|class| *class == Class::EveryTile);
        let numbers: Vec<usize> = tiles.iter().map(|launch| launch.tile).collect();
        assert_eq!(numbers, (0..rubric.tile.len()).collect::<Vec<_>>());
        for PlannedLaunch { on, tile, .. } in tiles {
            let (Size { m, n, k }, tile) = (on.size, rubric.tile[*tile]);
            assert!(m % tile.m == 0 && n % tile.n == 0 && k % tile.k == 0 && k >= 2 * tile.k);
            assert_eq!(on.values, Values::Distinct);
        }
        for launch in of(|class| *class == Class::Large) {
            let (Size { m, n, k }, tile) = (launch.on.size, rubric.tile[launch.tile]);
            assert!(m % 2 == 1 && n % 2 == 1 && k % 2 == 1, "{}", launch.on.size);
            assert!(m > 2 * tile.m && n > 2 * tile.n && k > 4 * tile.k);
        }
        let largest = rubric.public_sizes().expect("sizes");
        let largest = largest.iter().map(|size| size.k).max().expect("a size");
        let deep = of(|class| matches!(class, Class::Deep { .. }));
        for PlannedLaunch { on, tile, .. } in &deep {
            let (Size { m, n, k }, tile) = (on.size, rubric.tile[*tile]);
            assert!(m <= tile.m && n <= tile.n && k > 2 * largest && k % 2 == 1);
        }
        let steps: Vec<_> = deep.iter().map(|deep| deep.tiles(&rubric)[2] % 2).collect();
        assert_eq!(steps, [1, 0]);
    }
}

/// Whatever a kernel can see of a grid, without a list of sizes, both kinds are launched for every student.
#[test]
fn no_kind_of_grid_is_left_out() {
    type Kind = fn([u64; 3], Size) -> bool;
    let kinds: [(&str, Kind); 11] = [
        ("more than 2^7 tiles", |[r, c, _], _| r * c > 128),
        ("odd rows", |[r, ..], _| r % 2 == 1),
        ("odd columns", |[_, c, _], _| c % 2 == 1),
        ("odd tiles", |[r, c, _], _| r * c % 2 == 1),
        ("more rows than columns", |[r, c, _], _| r > c),
        ("fewer rows than columns", |[r, c, _], _| r < c),
        ("as many rows as columns", |[r, c, _], _| r == c),
        ("a square number of tiles", |[r, c, _], _| {
            (r * c).isqrt().pow(2) == r * c
        }),
        ("M = N", |_, Size { m, n, .. }| m == n),
        ("several steps", |[.., s], _| s > 1),
        ("odd steps", |[.., s], _| s % 2 == 1),
    ];
    for (folder, text) in RUBRICS {
        let rubric = Rubric::parse(text).expect("a rubric");
        for student in ["ada", "bob", "cyd", "dan", "eve"] {
            let all = others(&rubric, Some(b"s"), student);
            for (name, is_it) in kinds {
                let kind = |launch: &&PlannedLaunch| {
                    let tiles = launch.tiles(&rubric);
                    is_it(tiles, launch.on.size)
                };
                let count = all.iter().filter(kind).count();
                assert!(
                    (1..all.len()).contains(&count),
                    "{folder}, {student}: {name}"
                );
            }
            // A kernel may be right for small grids and, of the large ones, only for some.
            let many = all
                .iter()
                .filter(|launch| matches!(launch.class, Class::Many(_)));
            let many: Vec<_> = many
                .inspect(|launch| assert!(launch.on.size.k > 8 || folder == "02", "{student}"))
                .map(|launch| launch.tiles(&rubric))
                .collect();
            let both =
                |is_it: fn(&[u64; 3]) -> bool| many.iter().any(is_it) && !many.iter().all(is_it);
            assert!(many.iter().all(|[r, c, _]| r * c > SMS.into()), "{many:?}");
            let steps = many.iter().map(|[.., steps]| *steps).max();
            assert!(steps >= Some(5) || folder == "02", "{many:?}");
            assert!(
                both(|[r, ..]| r % 2 == 1) && both(|[_, c, _]| c % 2 == 1),
                "{many:?}"
            );
            assert!(
                both(|[r, c, _]| r > c) && both(|[r, c, _]| r * c % 2 == 1),
                "{many:?}"
            );
            assert!(many.iter().any(|[r, c, _]| (r * c).isqrt().pow(2) != r * c));
        }
    }
}

/// A kernel that is right only for some tiles, grids, or numbers of steps is wrong in one of these.
#[test]
fn a_bug_is_looked_for_in_launches_of_every_kind() {
    type Kind = fn(&PlannedLaunch) -> bool;
    let kinds: [(&str, Kind); 7] = [
        ("tile 1", |one| one.tile == 0),
        ("tile 2", |one| one.tile == 1),
        ("tile 3", |one| one.tile == 2),
        ("more rows than columns", |one| {
            one.on.size.m > one.on.size.n
        }),
        ("fewer rows than columns", |one| {
            one.on.size.m < one.on.size.n
        }),
        ("a large M", |one| one.on.size.m > 1024),
        ("a large K", |one| one.on.size.k > 1024),
    ];
    for text in [
        include_str!("../../../../assignments/08_ring_bug/rubric.toml"),
        include_str!("../../../../assignments/09_pipeline_bug/rubric.toml"),
    ] {
        let rubric = Rubric::parse(text).expect("a rubric");
        let all = others(&rubric, Some(b"s"), "ada");
        for (name, is_it) in kinds {
            let shows = |one: &&PlannedLaunch| {
                let [rows, columns, steps] = one.tiles(&rubric);
                let several = rows * columns > SMS.into() || !rubric.is_persistent();
                is_it(one) && several && steps % 6 == 5
            };
            assert!(all.iter().any(|one| shows(&one)), "{}: {name}", rubric.name);
        }
    }
}

/// Signs and last bits of the first elements, too.
#[test]
fn first_elements_of_every_kind_occur() {
    for student in 0..64 {
        let all = others(&rubric(), Some(b"s"), &format!("student {student}"));
        let random = all
            .iter()
            .filter(|launch| launch.on.values != Values::Distinct);
        let bits = random.map(|launch| first_bits(launch.on.seed, launch.on.values));
        let bits: Vec<_> = bits.map(|bits| bits.expect("numbers")).collect();
        let both = |is_it: &dyn Fn(&[u32; 4]) -> bool| {
            let count = bits.iter().filter(|bits| is_it(bits)).count();
            (1..bits.len()).contains(&count)
        };
        for bit in 0..4 {
            assert!(both(&|bits| bits[bit] == 1), "{student}: {bits:?}");
        }
        for bit in 0..2 {
            assert!(
                both(&|bits| bits[bit] == bits[bit + 2]),
                "{student}: {bits:?}"
            );
        }
    }
}

/// Except for the grids of many tiles, tiles and steps are the same for everybody, so that counters are, too. Bounds on counters
/// are relative to the number of tiles.
#[test]
fn students_differ_in_numbers_and_not_in_what_is_measured() {
    for (folder, text) in RUBRICS {
        let rubric = Rubric::parse(text).expect("a rubric");
        let measured = |student| -> Vec<_> {
            let all = others(&rubric, Some(b"s"), student).into_iter();
            let all = all.filter(|launch| !matches!(launch.class, Class::Many(_)));
            all.map(|launch| (launch.tile, launch.tiles(&rubric), launch.on.schedule))
                .collect()
        };
        assert_eq!(measured("ada"), measured("bob"), "{folder}");
        let of = |student| others(&rubric, Some(b"s"), student);
        let differ = |is_it: fn(&PlannedLaunch, &PlannedLaunch) -> bool| {
            of("ada").iter().zip(&of("bob")).any(|(a, b)| is_it(a, b))
        };
        assert!(differ(|a, b| a.on.seed != b.on.seed), "{folder}");
        assert!(differ(|a, b| a.on.size != b.on.size), "{folder}");
    }
}

/// Pinned: a grade must be reproducible on another machine.
#[test]
fn the_same_everywhere() {
    let words: Vec<String> = others(&rubric(), None, "")
        .iter()
        .map(|launch| format!("{} {:x}", launch.label(&rubric()), launch.on.seed))
        .collect();
    insta::assert_snapshot!(words.join("\n"));
}
