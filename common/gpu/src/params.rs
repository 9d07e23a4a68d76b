//! Reads a kernel's parameters from its PTX.
//!
//! A launch passes the driver one pointer for each parameter, and the driver reads as many bytes as the kernel
//! declares. So the declaration has to be known for a launch to be safe.

/// Size of each parameter of kernel `entry` in bytes; `None` if the PTX has no such kernel, or declares it in a way
/// that is not understood.
pub(crate) fn sizes(ptx: &str, entry: &str) -> Option<Vec<usize>> {
    let code: String = ptx
        .lines()
        .flat_map(|line| [line.split("//").next().unwrap_or(line), "\n"])
        .collect();
    let declaration = code.split(".entry").skip(1).find_map(|rest| {
        let rest = rest.trim_start().strip_prefix(entry)?;
        let ends_here = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_$%".contains(c));
        ends_here.then_some(rest)
    })?;
    let Some(list) = declaration.trim_start().strip_prefix('(') else {
        return Some(Vec::new()); // PTX may leave out an empty list.
    };
    let list = list.split_once(')')?.0;
    list.split(',')
        .map(str::trim)
        .filter(|param| !param.is_empty())
        .map(size)
        .collect()
}

/// Size of a declaration such as `.param .u64 .ptr .align 1 a` or `.param .align 64 .b8 map[128]`.
fn size(param: &str) -> Option<usize> {
    let scalar = param.split_whitespace().find_map(|word| {
        let bits = word
            .strip_prefix(['.'])?
            .strip_prefix(['b', 'u', 's', 'f'])?;
        bits.parse::<usize>().ok().map(|bits| bits / 8)
    })?;
    match param.split_once('[') {
        Some((_, count)) => Some(scalar * count.split(']').next()?.trim().parse::<usize>().ok()?),
        None => Some(scalar),
    }
}

#[cfg(test)]
mod tests {
    use super::sizes;

    const PTX: &str = "
        // .entry ghost(.param .u64 a)
        .visible .entry gemm_tail(
            .param .u32 n)
        { ret; }
        .visible .entry gemm(
            .param .u64 .ptr .global .align 16 gemm_param_0, // A
            .param .align 64 .b8 gemm_param_1[128],
            .param .f32 gemm_param_2
        )
        .maxntid 256, 1, 1
        { ret; }
        .entry bare { ret; }
        .entry odd(.param .texref t) { ret; }";

    #[test]
    fn reads_scalars_pointers_and_arrays() {
        assert_eq!(sizes(PTX, "gemm"), Some(vec![8, 128, 4]));
        assert_eq!(sizes(PTX, "gemm_tail"), Some(vec![4]));
        assert_eq!(sizes(PTX, "bare"), Some(vec![]));
    }

    #[test]
    fn says_no_rather_than_guess() {
        assert_eq!(sizes(PTX, "gem"), None);
        assert_eq!(sizes(PTX, "ghost"), None);
        assert_eq!(sizes(PTX, "odd"), None);
    }
}
