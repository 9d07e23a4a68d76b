//! `cargo ladder clock --experiments`: rungs with one change, predicted and measured.
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::predicted;
use crate::record::{self, Record};
use crate::timing::{self, Timing};
use harness::Size;
use harness::rungs::{self, Variant};
use harness::table::{head, markdown_table, thousands};

/// The record of the experiments, in a card's folder of `results/`.
const FILE: &str = "experiments.csv";
/// The size of all experiments: a cube.
const SIDE: u32 = 4096;

/// A question from the book, and the kernels that answer it.
struct Experiment {
    question: &'static str,
    kernels: &'static [Kernel],
}

/// A rung's kernel, with some text replaced.
struct Kernel {
    name: &'static str,
    rung: &'static str,
    /// For a rung that has several tiles.
    tile: Option<&'static str>,
    /// Text of the kernel or of `hopper.cuh`, and its replacement.
    edits: &'static [(&'static str, &'static str)],
}

const AS_IT_IS: Kernel = Kernel {
    name: "as it is",
    rung: "",
    tile: None,
    edits: &[],
};

const RUNG_06: Kernel = Kernel {
    rung: "06_pipeline",
    ..AS_IT_IS
};
const RUNG_11: Kernel = Kernel {
    rung: "11_specialized",
    ..AS_IT_IS
};
const RUNG_16: Kernel = Kernel {
    rung: "16_stream_k",
    ..AS_IT_IS
};

const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        question: "Does padding pay?",
        kernels: &[
            Kernel {
                name: "without: rung 02",
                rung: "02_smem",
                ..AS_IT_IS
            },
            Kernel {
                name: "with: rung 03",
                rung: "03_padded",
                ..AS_IT_IS
            },
        ],
    },
    Experiment {
        question: "Does the swizzle pay?",
        kernels: &[
            Kernel {
                name: "without: rung 04",
                rung: "04_mma",
                ..AS_IT_IS
            },
            Kernel {
                name: "with: rung 05",
                rung: "05_swizzle",
                ..AS_IT_IS
            },
        ],
    },
    Experiment {
        question: "How many stages does a ring need?",
        kernels: &[
            Kernel {
                name: "1 stage",
                edits: &[
                    ("STAGES = 3;", "STAGES = 1;"),
                    ("{BM, BN, BK * (STAGES - 1),", "{BM, BN, BK,"),
                    // The tile is copied once all threads have read the previous one, and then waited for at once.
                    (
                        "asm volatile(\"cp.async.wait_group %0;\" :: \"n\"(STAGES - 2) : \"memory\");\n",
                        "\n",
                    ),
                    (
                        "STAGES - 1) % STAGES);\n        commit();",
                        "STAGES - 1) % STAGES);\n        commit();\n        \
                         asm volatile(\"cp.async.wait_group 0;\" ::: \"memory\");\n        __syncthreads();",
                    ),
                ],
                ..RUNG_06
            },
            Kernel {
                name: "2 stages",
                edits: &[("STAGES = 3;", "STAGES = 2;")],
                ..RUNG_06
            },
            Kernel {
                name: "3 stages: rung 06",
                ..RUNG_06
            },
            Kernel {
                name: "4 stages, one block an SM",
                edits: &[("STAGES = 3;", "STAGES = 4;")],
                ..RUNG_06
            },
            Kernel {
                name: "5 stages, one block an SM",
                edits: &[("STAGES = 3;", "STAGES = 5;")],
                ..RUNG_06
            },
            Kernel {
                name: "6 stages, one block an SM",
                edits: &[("STAGES = 3;", "STAGES = 6;")],
                ..RUNG_06
            },
        ],
    },
    Experiment {
        question: "What does a barrier's scope cost?",
        kernels: &[
            Kernel {
                name: "of the block: rung 11",
                ..RUNG_11
            },
            Kernel {
                name: "of the cluster",
                edits: &[
                    (
                        "mbarrier.arrive.shared::cta.b64 _, [%0];",
                        "mbarrier.arrive.release.cluster.shared::cta.b64 _, [%0];",
                    ),
                    (
                        "mbarrier.try_wait.parity.shared::cta",
                        "mbarrier.try_wait.parity.acquire.cluster.shared::cta",
                    ),
                ],
                ..RUNG_11
            },
        ],
    },
    Experiment {
        question: "Do wgmmas have to stay in flight?",
        kernels: &[
            Kernel {
                name: "one group: rung 11",
                ..RUNG_11
            },
            Kernel {
                name: "none",
                edits: &[("wgmma_wait<1>();", "wgmma_wait<0>();")],
                ..RUNG_11
            },
        ],
    },
    Experiment {
        question: "Does a consumer need the producer's registers?",
        kernels: &[
            Kernel {
                name: "with setmaxnreg: rung 11",
                ..RUNG_11
            },
            Kernel {
                name: "without",
                edits: &[
                    ("setmaxnreg_dec<32>();", "{}"),
                    ("setmaxnreg_inc<CONSUMERS == 2 ? 232 : 160>();", "{}"),
                ],
                ..RUNG_11
            },
        ],
    },
    Experiment {
        question: "How large a tile?",
        kernels: &[
            Kernel {
                name: "128x128",
                tile: Some("128x128"),
                ..RUNG_16
            },
            Kernel {
                name: "128x256",
                tile: Some("128x256"),
                ..RUNG_16
            },
        ],
    },
];

impl Kernel {
    fn variant(&self) -> Result<Variant> {
        Ok(Variant {
            rung: rungs::find(self.rung)?,
            arch: None,
        })
    }

    /// The changed text; `None` if it is unchanged.
    fn text(&self) -> Result<Option<String>> {
        if self.edits.is_empty() {
            return Ok(None);
        }
        let all = rungs::root()
            .context("the rungs are not here")?
            .join("rungs");
        let read = |name: &Path| {
            let path = all.join(name);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let mut text = read(&Path::new(self.rung).join("kernel.cu"))?;
        for (from, to) in self.edits {
            if !text.contains(from) {
                let header = read(Path::new("hopper.cuh"))?.replace("#pragma once\n", "");
                text = text.replace("#include \"hopper.cuh\"\n", &header);
            }
            ensure!(
                text.contains(from),
                "rung {} does not have the text {from:?}, which the experiment \"{}\" replaces",
                self.rung,
                self.name
            );
            text = text.replace(from, to);
        }
        Ok(Some(text))
    }

    /// Writes the text to this folder; `None` if it is unchanged.
    fn write(&self, folder: &Path) -> Result<Option<PathBuf>> {
        let Some(text) = self.text()? else {
            return Ok(None);
        };
        let name: String = (self.rung.chars().chain(self.name.chars()))
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let path = folder.join(name + ".cu");
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Some(path))
    }
}

/// Kernels of experiments whose PTX and machine code are committed because the book's pages run them: rung 06 with
/// other numbers of stages. For each, the folder relative to the workspace's root, the file and the text.
///
/// # Errors
/// If rung 06 does not have the text that one of them replaces.
pub fn committed() -> Result<Vec<(String, String, String)>> {
    let kernels = EXPERIMENTS.iter().flat_map(|one| one.kernels);
    let mut found = Vec::new();
    for kernel in kernels.filter(|kernel| kernel.rung == RUNG_06.rung) {
        if let Some(text) = kernel.text()? {
            // "4 stages, one block an SM"
            let name = kernel.name.split(',').next().unwrap_or(kernel.name);
            let folder = format!("book/kernels/{}", kernel.rung);
            found.push((folder, name.replace(' ', "_") + ".cu", text));
        }
    }
    Ok(found)
}

/// A row of the record.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Row {
    question: String,
    kernel: String,
    rung: String,
    size: String,
    /// Median, in milliseconds.
    ms: f64,
    /// The SM clock, as counted by the SMs.
    sm_mhz: f64,
    gpu: String,
    commit: String,
    date: String,
    /// Predicted clocks per SM (`--record`).
    predicted: Option<u64>,
}

impl Row {
    fn clocks(&self) -> f64 {
        self.ms * self.sm_mhz * 1e3
    }
}

/// Each kernel with its question and, if it is changed, its file.
fn kernels(folder: &Path) -> Result<Vec<(&'static str, &'static Kernel, Option<PathBuf>)>> {
    let all = EXPERIMENTS
        .iter()
        .flat_map(|one| one.kernels.iter().map(|kernel| (one.question, kernel)));
    all.map(|(question, kernel)| Ok((question, kernel, kernel.write(folder)?)))
        .collect()
}

/// Times all experiments on this GPU and writes them to the card's folder in `out`.
///
/// # Errors
/// If there is no GPU, no compiler, or a kernel without the text that an experiment replaces.
pub fn measure(device: &str, out: &Path) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let kernels = kernels(folder.path())?;
    let size = Size::cube(SIDE);
    let mut timings = Vec::new();
    for (_, kernel, file) in &kernels {
        timings.push(Timing {
            variant: kernel.variant()?,
            tile: kernel.tile.map(str::to_owned),
            kernel: file.clone(),
            size,
            quick: true,
        });
    }
    rungs::build(&(timings.iter().map(|one| one.variant.rung.clone())).collect::<Vec<_>>())?;
    let timed = timing::all(&timings, device)?;
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut to = None;
    for (index, bench) in &timed.made {
        let (question, kernel, _) = &kernels[*index];
        let record = Record::new(vec![bench.clone()])?;
        let Some((_, run)) = record.runs().next() else {
            continue;
        };
        let contestant = (run.time.as_ref()).and_then(|time| time.contestants.first());
        let Some((ms, sm_mhz)) = contestant.and_then(|one| Some((one.median_ms, one.sm_mhz?)))
        else {
            continue;
        };
        table.serialize(Row {
            question: (*question).into(),
            kernel: kernel.name.into(),
            rung: kernel.rung.into(),
            size: size.to_string(),
            ms,
            sm_mhz,
            gpu: run.provenance.gpu.name.clone(),
            commit: run.provenance.commit.clone().unwrap_or_default(),
            date: run.provenance.date.clone(),
            predicted: None,
        })?;
        to.get_or_insert_with(|| out.join(record.name()));
    }
    let to = to.context("nothing was timed")?;
    record::make(&to)?;
    let text = record::csv_text(table)?;
    record::write(&to.join(FILE), &text)?;
    harness::println!("written to {}", to.join(FILE).display());
    timed.complete()?;
    Ok(true)
}

/// Prints predictions beside the measurements recorded in this folder. With `recorded`, the recorded predictions are
/// used; with `keep`, new ones are recorded.
///
/// # Errors
/// If the record cannot be read, or a kernel cannot be changed.
pub fn compare(record: &Path, recorded: bool, keep: bool) -> Result<bool> {
    let file_of_record = record.join(FILE);
    let shown = file_of_record.display();
    let mut rows: Vec<Row> = csv::Reader::from_path(&file_of_record)
        .with_context(|| format!("cannot read {shown}"))?
        .deserialize()
        .collect::<Result<_, _>>()
        .with_context(|| format!("{shown} is not a record of experiments"))?;
    let folder = tempfile::tempdir()?;
    let mut good = true;
    let mut asked = "";
    let mut table = vec![head(
        ["", "clocks predicted", "measured", "error"].into_iter(),
    )];
    for (question, kernel, file) in kernels(folder.path())? {
        if question != asked {
            table.push(vec![question.to_owned(), "".into(), "".into(), "".into()]);
            asked = question;
        }
        let row = rows.iter_mut().find(|row| {
            row.question == question && row.kernel == kernel.name && row.rung == kernel.rung
        });
        let guess = match (recorded, &row) {
            (true, Some(row)) => {
                let clocks = row.predicted.map(|clocks| clocks as f64);
                clocks.ok_or_else(|| "not recorded".to_owned())
            }
            _ => {
                let (variant, size) = (kernel.variant()?, Size::cube(SIDE));
                let mhz = row.as_ref().map(|row| row.sm_mhz);
                predicted(&variant, size, kernel.tile, file.as_deref(), false, mhz)
                    .map(|guess| guess.clocks)
            }
        };
        good &= guess.is_ok();
        let measured = row.as_ref().map(|row| row.clocks());
        if let (Some(row), Ok(clocks)) = (row, &guess) {
            row.predicted = Some(clocks.round() as u64);
        }
        let error = guess.as_ref().ok().zip(measured);
        table.push(vec![
            kernel.name.to_owned(),
            guess
                .as_ref()
                .map_or_else(Clone::clone, |clocks| thousands(*clocks as u64)),
            measured.map_or_else(String::new, |clocks| thousands(clocks as u64)),
            error.map_or_else(String::new, |(guess, measured)| {
                format!("{:+.1}%", 100.0 * (guess / measured - 1.0))
            }),
        ]);
    }
    harness::print!("{}", markdown_table(&table));
    if keep {
        let mut kept = csv::Writer::from_writer(Vec::new());
        rows.iter().try_for_each(|row| kept.serialize(row))?;
        record::write(&file_of_record, &record::csv_text(kept)?)?;
        harness::println!("written to {}", file_of_record.display());
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use harness::{KernelOnDisk, ptx_file};

    use super::*;

    #[test]
    fn the_committed_ones_are_made_from_the_rung_as_it_is() {
        let root = rungs::root().expect("the rungs");
        let committed = committed().expect("the edits apply");
        assert_eq!(committed.len(), 5);
        for (folder, file, text) in committed {
            let kernel = KernelOnDisk::of_text(&root.join(folder), file, text);
            let kernel = kernel.kernel();
            let mend = "`cargo ladder ptx` makes it again";
            assert_eq!(ptx_file::check(&kernel), Ok(()), "{}: {mend}", kernel.file);
            assert!(kernel.has_sass_of(kernel.ptx), "{}: {mend}", kernel.file);
        }
    }

    #[test]
    fn every_experiment_applies_to_its_rung() {
        let folder = tempfile::tempdir().expect("a folder");
        let kernels = kernels(folder.path()).expect("the edits apply");
        let changed = kernels.iter().filter(|(.., file)| file.is_some()).count();
        assert_eq!(
            changed,
            (EXPERIMENTS.iter().flat_map(|one| one.kernels))
                .filter(|kernel| !kernel.edits.is_empty())
                .count()
        );
    }
}
