//! CUDA's headers as texts in memory, for a compiler that may open no file.
use crate::GpuError;
use std::ffi::CString;
use std::fs;
use std::path::Path;

/// What a folder of headers may hold: CUDA's own hold 5 MB, with all libraries of a toolkit 50 MB.
const MOST_BYTES: u64 = 256 << 20;

/// Texts, and under which name an `#include` finds each.
#[derive(Default)]
pub(crate) struct Headers {
    pub names: Vec<CString>,
    pub texts: Vec<CString>,
}

impl Headers {
    /// All files below this folder, named from there with `/`, in the order of their names.
    pub(crate) fn read(folder: &Path) -> Result<Self, GpuError> {
        let mut files = Vec::new();
        let mut bytes = 0;
        list(folder, "", &mut files, &mut bytes)?;
        files.sort();
        let mut headers = Self::default();
        for (name, text) in files {
            headers.names.push(name);
            headers.texts.push(text);
        }
        Ok(headers)
    }
}

/// Links to folders are not followed: they might lead round in a circle.
fn list(
    folder: &Path,
    prefix: &str,
    files: &mut Vec<(CString, CString)>,
    bytes: &mut u64,
) -> Result<(), GpuError> {
    let wrong = |place: &Path, reason: &dyn std::fmt::Display| GpuError::Headers {
        place: place.display().to_string(),
        reason: reason.to_string(),
    };
    for entry in fs::read_dir(folder).map_err(|error| wrong(folder, &error))? {
        let entry = entry.map_err(|error| wrong(folder, &error))?;
        let path = entry.path();
        // A name that is no Unicode stands in no `#include` of a header.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let name = format!("{prefix}{name}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(&path, &format!("{name}/"), files, bytes)?;
        } else if path.is_file() {
            *bytes += path.metadata().map_or(0, |about| about.len());
            if *bytes > MOST_BYTES {
                let reason = format!("it holds more than {} MiB", MOST_BYTES >> 20);
                return Err(wrong(folder, &reason));
            }
            let text = fs::read(&path).map_err(|error| wrong(&path, &error))?;
            // A NUL ends a text for NVRTC; what has one is no header.
            if let (Ok(name), Ok(text)) = (CString::new(name), CString::new(text)) {
                files.push((name, text));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_named_as_they_are_included() -> Result<(), Box<dyn std::error::Error>> {
        let root = std::env::temp_dir().join(format!("gpu-headers-{}", std::process::id()));
        fs::create_dir_all(root.join("crt/deep"))?;
        fs::write(root.join("cuda.h"), "int cuda;")?;
        fs::write(root.join("crt/deep/mma.hpp"), "int mma;")?;
        fs::write(root.join("table.bin"), "a\0b")?;
        let headers = Headers::read(&root);
        fs::remove_dir_all(&root)?;
        let headers = headers?;
        assert_eq!(
            headers.names,
            [c"crt/deep/mma.hpp".into(), CString::from(c"cuda.h")]
        );
        assert_eq!(
            headers.texts,
            [c"int mma;".into(), CString::from(c"int cuda;")]
        );
        assert!(matches!(
            Headers::read(&root),
            Err(GpuError::Headers { .. })
        ));
        Ok(())
    }
}
