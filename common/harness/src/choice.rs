//! Which of a kernel's tiles the host takes at a size, and what it expects of the others.
use serde::Serialize;

use crate::arguments::Arguments;
use crate::device::Device;
use crate::table::table;
use crate::{Error, KernelFile, Result, Rung, Size};

/// The choices of a rung for one architecture and card.
#[derive(Debug, Serialize)]
pub struct Choices<'a> {
    rung: &'a str,
    arch: &'a str,
    multiprocessors: u32,
    choices: Vec<Choice>,
}

#[derive(Debug, Serialize)]
struct Choice {
    size: String,
    /// What is taken; nothing if there is only one.
    tile: Option<String>,
    /// Every tile, with its time beside that of the one taken, as the host estimates it.
    estimates: Vec<(String, f64)>,
}

impl<'a> Choices<'a> {
    /// At each of these sizes, on a card of so many multiprocessors.
    pub fn new(
        rung: &'a Rung,
        arguments: &Arguments,
        device: &Device,
        sizes: &[Size],
        multiprocessors: u32,
    ) -> Result<Self> {
        if arguments.kernel.is_some() {
            return Err(Error::OwnKernelsOnly("tiles"));
        }
        let mut arch = "";
        let mut choices = Vec::new();
        for &size in sizes {
            let taken = device.kernel(rung, arguments, size, multiprocessors)?;
            arch = taken.arch;
            let cost = |kernel: &KernelFile| kernel.cost(size, multiprocessors);
            let tiles = rung.configurations(taken.file);
            choices.push(Choice {
                size: size.to_string(),
                tile: (tiles.clone().count() > 1).then(|| taken.tile()),
                estimates: tiles
                    .map(|kernel| (kernel.tile(), cost(kernel) / cost(taken)))
                    .collect(),
            });
        }
        Ok(Self {
            rung: rung.name,
            arch,
            multiprocessors,
            choices,
        })
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let Some(first) = self.choices.first().filter(|first| first.tile.is_some()) else {
            return format!("{} has one tile only for {}\n", self.rung, self.arch);
        };
        let mut head = vec!["size", "takes"];
        head.extend(first.estimates.iter().map(|(tile, _)| tile.as_str()));
        let row = |choice: &Choice| {
            let mut row = vec![choice.size.clone(), choice.tile.clone().unwrap_or_default()];
            row.extend(
                choice
                    .estimates
                    .iter()
                    .map(|(_, times)| format!("{times:.2}x")),
            );
            row
        };
        let rows: Vec<_> = self.choices.iter().map(row).collect();
        format!(
            "{} for {} on {} multiprocessors: the tile it takes, and the time of each beside it, as estimated\n\n{}\n",
            self.rung,
            self.arch,
            self.multiprocessors,
            table(&head, &rows).join("\n")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use emulator::Card;

    const LARGE: KernelFile = KernelFile {
        file: "kernel_hopper.cu",
        source: "",
        configuration: "128x256",
        speed: 1.0,
        ptx: ".version 8.0\n.target sm_90a\n.address_size 64\n.const .align 4 .b8 gemm_launch[28] = \
              {128,0,0,0, 0,1,0,0, 64,0,0,0, 128,1,0,0, 0,0,0,0, 1,0,0,0, 1,0,0,0};\n",
        arch: "sm_90a",
    };
    const RUNG: Rung = Rung {
        name: "06_pipeline",
        kernels: &[
            KernelFile {
                file: "kernel.cu",
                configuration: "",
                arch: "sm_80",
                ..LARGE
            },
            LARGE,
            KernelFile {
                configuration: "64x128",
                speed: 0.5,
                ptx: ".version 8.0\n.target sm_90a\n.address_size 64\n.const .align 4 .b8 gemm_launch[28] = \
                      {64,0,0,0, 128,0,0,0, 64,0,0,0, 0,1,0,0, 0,0,0,0, 1,0,0,0, 1,0,0,0};\n",
                ..LARGE
            },
        ],
        switches: &[],
    };

    fn asked(words: &[&str], multiprocessors: u32) -> Result<Choices<'static>> {
        let words = [&["rung06_pipeline"], words].concat();
        let arguments = Arguments::from_words(&RUNG, &words).expect("good usage");
        let sizes = [Size::cube(256), Size::cube(4096)];
        Choices::new(
            &RUNG,
            &arguments,
            &Device::Emulator(Card::H100),
            &sizes,
            multiprocessors,
        )
    }

    fn choices(words: &[&str], multiprocessors: u32) -> Choices<'static> {
        asked(words, multiprocessors).expect("a kernel for the emulator")
    }

    #[test]
    fn what_the_rung_has_not_is_refused() {
        for (words, remedy) in [
            (["--kernel", "mine.cu"], "leave `--kernel` away"),
            (["--tile", "8x8"], "it has 128x256 and 64x128"),
        ] {
            let error = asked(&words, 132).expect_err("an error").to_string();
            assert!(error.contains(remedy), "{error}");
        }
    }

    #[test]
    fn the_table_names_the_tile_and_what_is_expected_of_the_others() {
        let text = choices(&[], 132).text();
        assert!(
            text.starts_with("06_pipeline for sm_90a on 132 multiprocessors"),
            "{text}"
        );
        let lines: Vec<Vec<&str>> = text
            .lines()
            .skip(2)
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0], ["size", "takes", "128x256", "64x128"]);
        let [large, small] = [1, 2].map(|at| RUNG.kernels[at].cost(Size::cube(4096), 132));
        let slower = format!("{:.2}x", small / large);
        assert_eq!(lines[2], ["4096x4096x4096", "128x256", "1.00x", &slower]);
        assert_eq!(lines[1][1], "64x128");
    }

    #[test]
    fn a_card_of_few_multiprocessors_is_full_sooner() {
        let tiles = |multiprocessors| {
            let choices = choices(&[], multiprocessors).choices;
            let tiles = choices.into_iter().map(|choice| choice.tile);
            tiles.map(Option::unwrap_or_default).collect::<Vec<_>>()
        };
        assert_eq!(tiles(132), ["64x128", "128x256"]);
        assert_eq!(tiles(1), ["128x256", "128x256"]);
    }

    #[test]
    fn one_tile_is_no_choice() {
        let choices = choices(&["--arch", "sm_80"], 132);
        assert_eq!(choices.text(), "06_pipeline has one tile only for sm_80\n");
        let json = serde_json::to_value(&choices).expect("plain");
        assert!(json["choices"][0]["tile"].is_null(), "{json}");
    }
}
