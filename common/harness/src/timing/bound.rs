//! What limits a kernel: for each resource of an SM, the clocks that a block needs if that resource is never idle. The
//! largest number is the prediction; overlap cannot make a kernel faster than that.
use emulator::Demand;
use serde::Serialize;

use crate::ceilings::{Ceilings, RECORD};
use crate::occupancy::{self, AtMost, Resources};
use crate::table::{plural, table, thousands};
use crate::{Error, Host, Result, Rung, Settings, Size, Target, Tile, choose};
use problem::pad;

/// The bound of a kernel on a full card.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// The problem that it applies to.
    pub size: String,
    /// The tile of C that a block computes at a time, such as `128x256`.
    pub tile: String,
    /// The GPU whose ceilings these are.
    pub gpu: String,
    /// The SM clock in MHz.
    pub sm_mhz: f64,
    /// The work of a block for each resource.
    pub resources: Vec<Use>,
    /// The resource that needs the most clocks.
    pub limited_by: &'static str,
    /// The TFLOP/s that the kernel cannot exceed.
    pub tflops: f64,
    /// The same as a fraction of cuBLAS's f16 GEMM, as recorded with the ceilings.
    pub of_cublas: f64,
    /// Resident blocks per SM: while one waits, another works.
    pub occupancy: AtMost,
    /// The measurement of a GPU, if there is one.
    pub measured: Option<Measured>,
}

/// One resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Use {
    /// The resource's name.
    pub resource: &'static str,
    /// The work of a block, on average.
    pub amount: f64,
    /// The unit of the work.
    pub unit: &'static str,
    /// Its rate for one SM, per clock.
    pub per_clock: f64,
    /// The clocks that a block needs at least.
    pub clocks: f64,
    /// TFLOP/s of the whole card if only this resource were limiting.
    pub tflops: f64,
    /// Whether it takes part in the prediction; the upper end of an interval does not.
    pub limits: bool,
}

/// The kernel's measurement on a GPU, at the same size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The GPU.
    pub gpu: String,
    /// At the median.
    pub tflops: f64,
    /// As a fraction of cuBLAS's f16 GEMM, timed interleaved with it.
    pub of_cublas: Option<f64>,
    /// The resources that a block takes of an SM.
    pub resources: Resources,
}

/// For each resource: name, ceiling, unit, work of a block, whether it limits.
type Asked = (&'static str, &'static str, &'static str, f64, bool);

/// Larger problems are not emulated for a bound, because it would take minutes.
const MOST_FLOP: f64 = 1e11;

impl Bound {
    /// The bound of the rung's kernel at the size of these settings. It emulates two by two tiles of C with the full K,
    /// because the work of a block depends only on K.
    ///
    /// # Errors
    /// If the tiles are too large for that, or the kernel fails on them; if the ceilings cannot be read.
    pub fn new(rung: &Rung, settings: &Settings, target: &Target) -> Result<Self> {
        let size = settings.size;
        let source = choose::source(rung, target, &settings.kernel, size)?;
        // The tile is known once the kernel is loaded, and the problem to emulate once the tile is known.
        let tile = Host::new(rung, settings, target, Some(source.clone()))?
            .compile("gemm")?
            .spec
            .tile;
        let part = pad(part(size, tile), tile)?;
        if part.flop() > MOST_FLOP {
            return Err(Error::NoBound(
                size,
                "its tile is too large to be emulated".into(),
            ));
        }
        let settings = Settings {
            size: part,
            ..settings.clone()
        };
        let finished = Host::new(rung, &settings, target, Some(source))?.run()?;
        let report = finished.report.unwrap_or_default();
        if report.counters.is_empty() || !report.findings.is_empty() {
            let first = report.findings.first().map(ToString::to_string);
            let why = first.unwrap_or("nothing was counted".into());
            return Err(Error::NoBound(part, why));
        }
        let function = &finished.kernel.function;
        let demand = Demand::new(function.instructions(), &report.counters);
        // A persistent block computes several tiles; each counts as a block.
        let blocks = f64::from(part.m / tile.bm) * f64::from(part.n / tile.bn);
        let spec = &finished.kernel.spec;
        let shared = function.static_shared().saturating_add(spec.dynamic_shared);
        let occupancy = occupancy::at_most(spec.threads, shared);
        Self::of(
            demand,
            blocks,
            tile,
            size,
            occupancy,
            &Ceilings::recorded()?,
        )
    }

    /// From the work of `blocks` blocks that compute C's tiles of a problem of this size.
    fn of(
        demand: Demand,
        blocks: f64,
        tile: Tile,
        size: Size,
        occupancy: AtMost,
        ceilings: &Ceilings,
    ) -> Result<Self> {
        let padded = pad(size, tile)?;
        let all_blocks = f64::from(padded.m / tile.bm) * f64::from(padded.n / tile.bn);
        let flop = size.flop() / all_blocks;
        let per_block = |amount: u64| amount as f64 / blocks;

        // Each block needs its rows of A and columns of B once, and writes its tile of C: f16, two bytes per element.
        let [bm, bn, k] = [tile.bm, tile.bn, padded.k].map(f64::from);
        let needed = 2.0 * ((bm + bn) * k + bm * bn);
        let most = per_block(demand.l2_bytes);
        let least = needed.min(most).max(per_block(demand.l2_bytes_past_l1));
        let compulsory = 2.0 * size.elements().iter().sum::<u64>() as f64 / all_blocks;
        let wavefronts = demand.shared_wavefronts + demand.global_wavefronts;
        let asked: [Asked; 8] = [
            (
                "issue slots",
                "issue",
                "warp instructions (of PTX)",
                per_block(demand.issue),
                true,
            ),
            (
                "FMA lanes",
                "fma",
                "f32 operations",
                per_block(demand.fma),
                true,
            ),
            (
                "mma.sync",
                "mma_sync",
                "FLOP",
                per_block(demand.mma_sync),
                true,
            ),
            ("wgmma", "wgmma", "FLOP", per_block(demand.wgmma), true),
            (
                "L1 data pipe",
                "shared",
                "wavefronts",
                per_block(wavefronts),
                true,
            ),
            ("L2, all reuse in L1", "l2", "bytes", least, true),
            ("L2, no reuse in L1", "l2", "bytes", most, false),
            ("DRAM", "dram", "bytes", compulsory, true),
        ];
        let resource = |(resource, ceiling, unit, amount, limits): Asked| -> Result<Use> {
            let per_clock = ceilings.per_clock(ceiling)?;
            let clocks = amount / per_clock;
            let tflops = ceilings.per_second(flop / clocks) / 1e12;
            Ok(Use {
                resource,
                amount,
                unit,
                per_clock,
                clocks,
                tflops,
                limits,
            })
        };
        let mut resources = asked
            .into_iter()
            .filter(|(.., amount, _)| *amount > 0.0)
            .map(resource)
            .collect::<Result<Vec<_>>>()?;
        if most <= least {
            // Nothing can be reused, so the interval is a point.
            resources.retain(|one| one.limits);
            for one in &mut resources {
                if one.resource.starts_with("L2") {
                    one.resource = "L2";
                }
            }
        }
        let limiting = resources.iter().filter(|one| one.limits);
        let (limited_by, tflops) = limiting
            .max_by(|a, b| a.clocks.total_cmp(&b.clocks))
            .map_or(("nothing", f64::INFINITY), |one| (one.resource, one.tflops));
        Ok(Self {
            size: size.to_string(),
            tile: format!("{}x{}", tile.bm, tile.bn),
            gpu: ceilings.gpu.clone(),
            sm_mhz: ceilings.sm_mhz,
            resources,
            limited_by,
            tflops,
            of_cublas: tflops / ceilings.cublas_tflops,
            occupancy,
            measured: None,
        })
    }

    /// For a terminal.
    pub fn lines(&self) -> Vec<String> {
        let row = |one: &Use| {
            let per_clock = if one.per_clock.fract() == 0.0 {
                format!("{:.0}", one.per_clock)
            } else {
                format!("{:.2}", one.per_clock)
            };
            vec![
                one.resource.into(),
                thousands(one.amount.round() as u64),
                one.unit.into(),
                per_clock,
                thousands(one.clocks.round() as u64),
                format!("{:.1}", one.tflops),
            ]
        };
        let head = [
            "",
            "a block asks for",
            "",
            "a clock gives",
            "clocks",
            "TFLOP/s",
        ];
        let rows: Vec<_> = self.resources.iter().map(row).collect();
        let mut lines = table(&head, &rows);
        lines.push(format!(
            "the ceilings are those of {RECORD}; ptxas makes other instructions of PTX's, so issue slots are an estimate"
        ));
        let limited_by = self.limited_by;
        lines.push(format!(
            "{} in tiles of {} on a full {} at {:.0} MHz: limited by {limited_by}, at most {:.1} TFLOP/s, {:.1}% of cuBLAS",
            self.size,
            self.tile,
            self.gpu,
            self.sm_mhz,
            self.tflops,
            100.0 * self.of_cublas
        ));
        let Some(measured) = &self.measured else {
            let AtMost { blocks, limited_by } = &self.occupancy;
            lines.push(format!(
                "an SM holds at most {}, by {}; fewer if their registers, which a GPU tells, are many",
                plural((*blocks).into(), "block"),
                limited_by.join(" and ")
            ));
            return lines;
        };
        let of_cublas = measured.of_cublas.map_or(String::new(), |ratio| {
            format!(", {:.1}% of cuBLAS", 100.0 * ratio)
        });
        lines.push(format!(
            "measured on {}: {:.1} TFLOP/s{of_cublas}, {:.0}% of the bound",
            measured.gpu,
            measured.tflops,
            100.0 * measured.tflops / self.tflops
        ));
        lines.push(occupancy::sentence(&measured.resources));
        lines
    }
}

/// Two by two tiles of C, or as many as there are, with the full K.
fn part(size: Size, tile: Tile) -> Size {
    Size {
        m: size.m.min(tile.bm.saturating_mul(2)),
        n: size.n.min(tile.bn.saturating_mul(2)),
        k: size.k,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceilings::Rate;

    const TILE: Tile = Tile {
        bm: 16,
        bn: 8,
        bk: 4,
    };

    /// Round numbers: an SM alone, at 1 GHz.
    fn ceilings() -> Ceilings {
        let rates = [
            ("issue", 4.0),
            ("fma", 128.0),
            ("mma_sync", 2048.0),
            ("wgmma", 4096.0),
            ("shared", 1.0),
            ("l2", 32.0),
            ("dram", 10.0),
        ];
        Ceilings {
            gpu: "a GPU".into(),
            multiprocessors: 1,
            sm_mhz: 1000.0,
            cublas_tflops: 2.0,
            rates: rates
                .map(|(name, per_clock)| Rate {
                    name: name.into(),
                    unit: String::new(),
                    per_clock,
                    source: "by hand".into(),
                })
                .into(),
        }
    }

    fn clocks(bound: &Bound, resource: &str) -> Option<f64> {
        let mut all = bound.resources.iter();
        all.find(|one| one.resource == resource)
            .map(|one| one.clocks)
    }

    /// 64 x 64 x 64 has 4 x 8 tiles of 16 x 8; a block does 2 * 16 * 8 * 64 = 16,384 FLOP.
    #[test]
    fn by_hand() {
        let demand = Demand {
            issue: 2 * 400,
            mma_sync: 2 * 16_384,
            shared_wavefronts: 2 * 300,
            global_wavefronts: 2 * 100,
            l2_bytes: 2 * 16_000,
            l2_bytes_past_l1: 2 * 256,
            ..Demand::default()
        };
        let bound = Bound::of(
            demand,
            2.0,
            TILE,
            Size::cube(64),
            occupancy::at_most(128, 0),
            &ceilings(),
        )
        .expect("a bound");
        assert_eq!(clocks(&bound, "issue slots"), Some(100.0));
        assert_eq!(clocks(&bound, "FMA lanes"), None);
        assert_eq!(clocks(&bound, "mma.sync"), Some(8.0));
        assert_eq!(clocks(&bound, "L1 data pipe"), Some(400.0));
        // 2 * (24 * 64 + 128) bytes are needed; 16,000 are requested.
        assert_eq!(clocks(&bound, "L2, all reuse in L1"), Some(3328.0 / 32.0));
        assert_eq!(clocks(&bound, "L2, no reuse in L1"), Some(500.0));
        // 3 * 64 * 64 elements of two bytes over 32 blocks, 10 bytes a clock.
        assert_eq!(clocks(&bound, "DRAM"), Some(76.8));
        // The upper end of the L2's interval is the largest number, but it limits nothing.
        assert_eq!(bound.limited_by, "L1 data pipe");
        // 16,384 FLOP in 400 clocks of a nanosecond.
        assert!((bound.tflops - 0.04096).abs() < 1e-9, "{}", bound.tflops);
        assert!((bound.of_cublas - 0.02048).abs() < 1e-9);
    }

    #[test]
    fn the_table_names_the_bound() {
        let demand = Demand {
            issue: 4000,
            fma: 64_000,
            l2_bytes: 640,
            l2_bytes_past_l1: 640,
            ..Demand::default()
        };
        let mut bound = Bound::of(
            demand,
            1.0,
            TILE,
            Size::cube(64),
            occupancy::at_most(128, 0),
            &ceilings(),
        )
        .expect("a bound");
        bound.measured = Some(Measured {
            gpu: "a GPU".into(),
            tflops: bound.tflops / 2.0,
            of_cublas: Some(0.25),
            resources: Resources {
                threads: 32,
                registers: 16,
                shared_bytes: 0,
                local_bytes: 0,
                blocks_per_multiprocessor: 1,
                limited_by: vec!["registers"],
            },
        });
        assert_eq!(
            bound.lines(),
            [
                "              a block asks for                                a clock gives   clocks   TFLOP/s",
                "issue slots              4,000   warp instructions (of PTX)               4    1,000       0.0",
                "FMA lanes               64,000               f32 operations             128      500       0.0",
                "L2                         640                        bytes              32       20       0.8",
                "DRAM                       768                        bytes              10       77       0.2",
                "the ceilings are those of results/h200/ceilings.json; ptxas makes other instructions of PTX's, so issue slots are an estimate",
                "64x64x64 in tiles of 16x8 on a full a GPU at 1000 MHz: limited by issue slots, at most 0.0 TFLOP/s, 0.8% of cuBLAS",
                "measured on a GPU: 0.0 TFLOP/s, 25.0% of cuBLAS, 50% of the bound",
                "16 registers a thread, 0 bytes of shared memory a block: 1 block an SM, limited by registers",
            ]
        );
        bound.measured = None;
        assert_eq!(
            bound.lines().last().map(String::as_str),
            Some(
                "an SM holds at most 16 blocks, by threads; fewer if their registers, which a GPU tells, are many"
            )
        );
    }

    #[test]
    fn a_part_is_no_larger_than_the_whole() {
        let size = Size { m: 20, n: 5, k: 7 };
        assert_eq!(part(size, TILE), Size { m: 20, n: 5, k: 7 });
        assert_eq!(
            part(Size::cube(100), TILE),
            Size {
                m: 32,
                n: 16,
                k: 100
            }
        );
    }
}
