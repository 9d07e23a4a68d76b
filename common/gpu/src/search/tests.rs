use super::*;
use std::fs;

/// A folder with these empty files, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[&str]) -> std::io::Result<Self> {
        let root = env::temp_dir().join(format!("gpu-search-{name}-{}", std::process::id()));
        for file in files.iter().map(|file| root.join(file)) {
            fs::create_dir_all(file.parent().unwrap_or(&root))?;
            fs::write(file, "")?;
        }
        Ok(Self(root))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn wheels_are_found_in_both_layouts() -> std::io::Result<()> {
    let files = [
        "nvidia/cu13/lib/libnvrtc.so.13",
        "venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        "one/two/three/four/five/nvidia/cu13/lib/libnvrtc.so.13",
    ];
    let root = Folder::new("wheels", &files)?;
    let mut folders = Vec::new();
    wheel_folders(&root.0, 5, &mut folders);
    folders.retain(|folder| folder.is_dir());
    let wanted = [&files[0], &files[1]].map(|file| root.0.join(file).parent().map(Path::to_owned));
    assert_eq!(folders.into_iter().map(Some).collect::<Vec<_>>(), wanted);
    Ok(())
}

#[test]
fn a_library_is_told_from_its_neighbors() -> std::io::Result<()> {
    let files = [
        "libnvrtc.so",
        "libnvrtc.so.13",
        "libnvrtc.alt.so.13",
        "libnvrtc-builtins.so.13.0",
        "libcublasLt.so.13",
    ];
    let root = Folder::new("neighbors", &files)?;
    let found = |stem| {
        library_in(&root.0, stem)
            .and_then(|file| file.strip_prefix(&root.0).map(Path::to_owned).ok())
    };
    assert_eq!(found("nvrtc"), Some("libnvrtc.so.13".into()));
    assert_eq!(
        found("nvrtc-builtins"),
        Some("libnvrtc-builtins.so.13.0".into())
    );
    assert_eq!(found("cublas"), None);
    Ok(())
}

#[test]
fn headers_are_found_beside_the_library_or_in_a_wheel_of_their_own() -> std::io::Result<()> {
    let files = [
        "cu13/include/cuda_fp16.h",
        "cuda_runtime/include/cuda_fp16.h",
    ];
    let root = Folder::new("headers", &files)?;
    let beside = || headers_beside(&root.0.join("cu13/lib/libnvrtc.so.13"));
    assert_eq!(beside(), [root.0.join("cu13/include")]);
    fs::create_dir(root.0.join("cu13/include/cccl"))?;
    let both = ["cu13/include", "cu13/include/cccl"].map(|folder| root.0.join(folder));
    assert_eq!(beside(), both);
    fs::remove_file(root.0.join(files[0]))?;
    let elsewhere = headers_beside(&root.0.join("cuda_nvrtc/lib/libnvrtc.so.12"));
    assert_eq!(elsewhere, [root.0.join("cuda_runtime/include")]);
    Ok(())
}

/// The files cannot be loaded; that the error names one shows that it was found.
#[test]
fn the_folder_that_get_nvrtc_fills_will_do() -> std::io::Result<()> {
    let root = Folder::new("only", &["nvidia/cu13/lib/libnvrtc.so.13"])?;
    for inside in ["", "nvidia/cu13/lib", "nvidia/cu13/lib/libnvrtc.so.13"] {
        let place = match inside {
            "" => root.0.clone(),
            inside => root.0.join(inside),
        };
        let searched = load("nvrtc", &[], Some(&place)).err().unwrap_or_default();
        let found = searched
            .iter()
            .any(|place| place.contains("libnvrtc.so.13 ("));
        assert!(found, "{inside}: {searched:?}");
    }
    Ok(())
}

#[test]
fn what_will_not_load_is_named_with_the_reason() -> std::io::Result<()> {
    let root = Folder::new("broken", &["libnvrtc.so.13"])?;
    let searched = load("nvrtc", &[], Some(&root.0)).err().unwrap_or_default();
    assert!(
        matches!(&searched[..], [place] if place.contains("libnvrtc.so.13 (")),
        "{searched:?}"
    );
    Ok(())
}
