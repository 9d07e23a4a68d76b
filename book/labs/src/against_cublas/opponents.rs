//! The libraries that the kernel is compared with.
use std::path::Path;

use gpu::{Context, Cublas, ExternalGemm};

use crate::run::{Error, Result};

/// What the kernel is compared with, besides cuBLASLt's algorithms, which differ from size to size.
pub struct Opponents {
    pub cublas: Cublas,
    /// By the name of its file.
    pub other: Option<(String, ExternalGemm)>,
}

impl Opponents {
    pub fn new(gpu: &Context, beside: Option<&Path>) -> Result<Self> {
        let open =
            |file: &Path| Ok::<_, Error>((library_name(file), ExternalGemm::open(gpu, file)?));
        Ok(Self {
            cublas: Cublas::new(gpu)?,
            other: beside.map(open).transpose()?,
        })
    }
}

/// `fast_cu` for `some/libfast_cu.so`.
fn library_name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let name = stem.strip_prefix("lib").filter(|name| !name.is_empty());
    name.unwrap_or(&stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_called_as_its_file() {
        let names =
            ["some/libfast_cu.so", "mine.so", "lib"].map(|file| library_name(file.as_ref()));
        assert_eq!(names, ["fast_cu", "mine", "lib"]);
    }
}
