//! CUDA's headers as texts in memory, for a compiler that must not open files.
use crate::{GpuError, stand_ins};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs;
use std::path::{Path, PathBuf};

/// The limit for a folder of headers: CUDA's own are 12 MB, 50 MB with all libraries of a toolkit.
const MOST_BYTES: u64 = 256 << 20;

/// Texts, and the name by which an `#include` finds each.
#[derive(Default)]
pub(crate) struct Headers {
    pub names: Vec<CString>,
    pub texts: Vec<CString>,
}

impl Headers {
    /// These names with their texts.
    pub(crate) fn new(headers: &[(String, String)]) -> Result<Self, GpuError> {
        let mut all = Self::default();
        for (name, text) in headers {
            let nul = |_| GpuError::Nul { what: "a header" };
            all.names.push(CString::new(name.as_str()).map_err(nul)?);
            all.texts.push(CString::new(text.as_str()).map_err(nul)?);
        }
        Ok(all)
    }

    /// The stand-ins for a host's headers, except for headers that are given.
    pub(crate) fn stand_ins(given: &Self) -> Self {
        let mut all = Self::default();
        for name in stand_ins::names().filter(|name| !given.has(name)) {
            let text = stand_ins::text(name).map(CString::new);
            // Neither contains a NUL.
            if let (Ok(name), Some(Ok(text))) = (CString::new(name), text) {
                all.names.push(name);
                all.texts.push(text);
            }
        }
        all
    }

    /// All files below these folders, named by their path from there with `/`, sorted by name. If two have the same
    /// name, the first folder's is used.
    pub(crate) fn read(folders: &[PathBuf]) -> Result<Self, GpuError> {
        let mut files = BTreeMap::new();
        let mut bytes = 0;
        for folder in folders {
            let mut found = Vec::new();
            list(folder, "", &mut found, &mut bytes)?;
            for (name, text) in found {
                files.entry(name).or_insert(text);
            }
        }
        let mut headers = Self::default();
        for (name, text) in &files {
            headers.names.push(name.clone());
            headers.texts.push(with_whole_names(name, text, &files));
        }
        Ok(headers)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names
            .iter()
            .any(|known| known.as_bytes() == name.as_bytes())
    }
}

/// Replaces `"info.h"` in an `#include` by `"cooperative_groups/details/info.h"`, if that file is in the text's folder:
/// a header in memory has no folder.
fn with_whole_names(name: &CStr, text: &CStr, files: &BTreeMap<CString, CString>) -> CString {
    let Some(folder) = name
        .to_str()
        .ok()
        .and_then(|name| Some(name.rsplit_once('/')?.0))
    else {
        return text.into();
    };
    let mut whole = Vec::with_capacity(text.count_bytes());
    for line in text.to_bytes().split_inclusive(|&byte| byte == b'\n') {
        match included(line).map(|name| (name, beside(folder, name))) {
            Some((short, long))
                if CString::new(&*long).is_ok_and(|long| files.contains_key(&long)) =>
            {
                let line = String::from_utf8_lossy(line);
                whole.extend(line.replacen(short, &long, 1).into_bytes());
            }
            _ => whole.extend(line),
        }
    }
    // No NUL, since the text had none.
    CString::new(whole).unwrap_or_else(|_| text.into())
}

/// The name of a relative path, seen from a folder: `..` leads out of it.
fn beside(folder: &str, place: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in place.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The name in `#include "name"`.
fn included(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line).ok()?;
    let rest = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = rest
        .strip_prefix("include")?
        .trim_start()
        .strip_prefix('"')?;
    Some(rest.split_once('"')?.0)
}

/// Libraries of algorithms that the host calls: as many files as all the others together.
const LEFT_OUT: [&str; 2] = ["thrust/", "cub/"];

/// Links to folders are not followed, since they might form a cycle.
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
        // No header includes a file whose name is not Unicode.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let name = format!("{prefix}{name}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let name = format!("{name}/");
            // One of the folders may be inside another, as `cccl` is.
            if name != "cccl/" && !LEFT_OUT.contains(&name.as_str()) {
                list(&path, &name, files, bytes)?;
            }
        } else if path.is_file() {
            *bytes += path.metadata().map_or(0, |about| about.len());
            if *bytes > MOST_BYTES {
                let reason = format!("it holds more than {} MiB", MOST_BYTES >> 20);
                return Err(wrong(folder, &reason));
            }
            let text = fs::read(&path).map_err(|error| wrong(&path, &error))?;
            // NVRTC's texts end at a NUL, so a file that contains one is not a header.
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
        fs::write(
            root.join("crt/mma.h"),
            "# include \"deep/mma.hpp\" // x\n#include \"../cuda.h\"\n#include \"no.h\"\n#include <cuda.h>",
        )?;
        fs::write(root.join("table.bin"), "a\0b")?;
        let headers = Headers::read(std::slice::from_ref(&root));
        fs::remove_dir_all(&root)?;
        let headers = headers?;
        assert_eq!(
            headers.names,
            [c"crt/deep/mma.hpp", c"crt/mma.h", c"cuda.h"].map(CString::from)
        );
        let of_mma_h = c"# include \"crt/deep/mma.hpp\" // x\n#include \"cuda.h\"\n#include \"no.h\"\n#include <cuda.h>";
        assert_eq!(
            headers.texts,
            [c"int mma;", of_mma_h, c"int cuda;"].map(CString::from)
        );
        assert!(headers.has("cuda.h") && !headers.has("table.bin"));
        assert!(matches!(
            Headers::read(&[root]),
            Err(GpuError::Headers { .. })
        ));
        Ok(())
    }
}
