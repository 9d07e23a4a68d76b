//! `rungs/hopper.cuh` from memory, so that a kernel compiles without a file, in a sandbox and in an exported course.
use std::borrow::Cow;

const HEADER: &str = include_str!("../../../../rungs/hopper.cuh");

/// The line with which a kernel includes it.
const INCLUDE: &str = "#include \"hopper.cuh\"";

/// Whether the kernel includes it.
pub fn is_included(source: &str) -> bool {
    line(source).is_some()
}

/// The index of the line that includes it.
fn line(source: &str) -> Option<usize> {
    let is_it = |line: &str| {
        let rest = line.trim().strip_prefix(INCLUDE);
        rest.is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with("//"))
    };
    source.lines().position(is_it)
}

/// The kernel with the header in place of its `#include`, as the preprocessor would have it. `#line` keeps the line
/// numbers of both, of the kernel as `name` and of the header as `/rungs/hopper.cuh`.
pub fn included<'a>(source: &'a str, name: &str) -> Cow<'a, str> {
    let Some(at) = line(source) else {
        return source.into();
    };
    let mut text = String::new();
    for (index, line) in source.lines().enumerate() {
        if index == at {
            // The directive is for included files; here it would be in the main file.
            let header = HEADER.replace("#pragma once", "");
            text += &format!(
                "#line 1 \"/rungs/hopper.cuh\"\n{header}#line {} \"{name}\"\n",
                at + 2
            );
        } else {
            text += line;
            text.push('\n');
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_takes_the_place_of_its_line() {
        let text = included("int a;\n#include \"hopper.cuh\"\nint b;\n", "/k.cu");
        assert!(
            text.starts_with("int a;\n#line 1 \"/rungs/hopper.cuh\"\n//"),
            "{text}"
        );
        assert!(text.ends_with("}\n#line 3 \"/k.cu\"\nint b;\n"), "{text}");
        assert!(!text.contains("#pragma once"));
        assert_eq!(
            included("#include \"hopper.cuh\"  // wrappers\n", "/k.cu"),
            included("#include \"hopper.cuh\"\n", "/k.cu")
        );
        assert_eq!(
            included("int a; // #include \"hopper.cuh\"", "/k.cu"),
            "int a; // #include \"hopper.cuh\""
        );
    }
}
