//! Stand-ins for the headers of a host's C and C++ library, which NVRTC does not have: only the parts that device code
//! needs.
//!
//! | headers | stand-in |
//! | --- | --- |
//! | `<cstdint>`, `<cstddef>`, `<climits>`, `<cfloat>`, `<cmath>`, `<cassert>`, `<algorithm>` | the files beside this one |
//! | `<type_traits>`, `<limits>`, `<utility>` … | `std::` names from CUDA's own `cuda/std/`, where it is installed |
//! | `<cstdio>`, `<cstdlib>`, `<iostream>`, `<vector>` … | empty: NVRTC has `printf`, `malloc` and `memcpy` built in |

/// The text of this header, if it belongs to a host library.
pub(crate) fn text(name: &str) -> Option<String> {
    let of_file = FILES.iter().find(|(names, _)| names.contains(&name));
    if let Some((_, text)) = of_file {
        return Some((*text).to_owned());
    }
    if IN_CUDA_STD.contains(&name) {
        return Some(format!(
            "#pragma once\n#if __has_include(<cuda/std/{name}>)\n#include <cuda/std/{name}>\n\
             namespace std {{ using namespace cuda::std; }}\n#endif\n"
        ));
    }
    EMPTY.contains(&name).then(String::new)
}

/// Names of all of them.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let files = FILES.iter().flat_map(|(names, _)| names.iter());
    files.chain(IN_CUDA_STD).chain(EMPTY).copied()
}

const FILES: &[(&[&str], &str)] = &[
    (
        &["cstdint", "stdint.h", "inttypes.h", "cinttypes"],
        include_str!("stdint.h"),
    ),
    (&["cstddef", "stddef.h"], include_str!("stddef.h")),
    (&["climits", "limits.h"], include_str!("limits.h")),
    (&["cfloat", "float.h"], include_str!("float.h")),
    (&["cmath", "math.h"], include_str!("math.h")),
    (&["cassert", "assert.h"], include_str!("assert.h")),
    (&["algorithm"], include_str!("algorithm.h")),
];

const IN_CUDA_STD: &[&str] = &[
    "array",
    "atomic",
    "bit",
    "complex",
    "concepts",
    "functional",
    "limits",
    "numeric",
    "optional",
    "ratio",
    "span",
    "tuple",
    "type_traits",
    "utility",
    "variant",
];

/// Standard headers (C++17, 20.5.1.2), and those of POSIX that programs with kernels include.
const EMPTY: &[&str] = &[
    "any",
    "bitset",
    "cctype",
    "cerrno",
    "cfenv",
    "charconv",
    "chrono",
    "clocale",
    "codecvt",
    "condition_variable",
    "csetjmp",
    "csignal",
    "cstdarg",
    "cstdio",
    "cstdlib",
    "cstring",
    "ctime",
    "cwchar",
    "cwctype",
    "cuchar",
    "ccomplex",
    "ciso646",
    "cstdalign",
    "cstdbool",
    "ctgmath",
    "deque",
    "exception",
    "execution",
    "filesystem",
    "forward_list",
    "fstream",
    "future",
    "initializer_list",
    "iomanip",
    "ios",
    "iosfwd",
    "iostream",
    "istream",
    "iterator",
    "list",
    "locale",
    "map",
    "memory",
    "memory_resource",
    "mutex",
    "new",
    "ostream",
    "queue",
    "random",
    "ranges",
    "regex",
    "scoped_allocator",
    "set",
    "shared_mutex",
    "sstream",
    "stack",
    "stdexcept",
    "streambuf",
    "string",
    "string_view",
    "strstream",
    "system_error",
    "thread",
    "typeindex",
    "typeinfo",
    "unordered_map",
    "unordered_set",
    "valarray",
    "vector",
    "complex.h",
    "ctype.h",
    "errno.h",
    "fenv.h",
    "locale.h",
    "setjmp.h",
    "signal.h",
    "stdalign.h",
    "stdarg.h",
    "stdbool.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
    "strings.h",
    "tgmath.h",
    "time.h",
    "uchar.h",
    "wchar.h",
    "wctype.h",
    "fcntl.h",
    "getopt.h",
    "malloc.h",
    "memory.h",
    "omp.h",
    "pthread.h",
    "sys/stat.h",
    "sys/time.h",
    "sys/types.h",
    "sys/wait.h",
    "unistd.h",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_header_has_one_text() {
        let all: Vec<&str> = names().collect();
        let different: BTreeSet<&str> = names().collect();
        assert_eq!(all.len(), different.len());
        assert!(all.iter().all(|name| text(name).is_some()));
        assert_eq!(text("cstdio").as_deref(), Some(""));
        assert!(text("limits").is_some_and(|text| text.contains("<cuda/std/limits>")));
        assert_eq!(text("cuda_fp16.h"), None);
    }
}
