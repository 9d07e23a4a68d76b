//! Whether two libraries computed the same product.
use half::bf16;

/// The number of elements that differ in two Cs, by more than two roundings to bf16 and the f32 roundings of a sum of K
/// random products can explain. NaN differs from everything.
pub fn differing(ours: &[u8], theirs: &[u8], k: u32) -> usize {
    let ((ours, _), (theirs, _)) = (ours.as_chunks::<2>(), theirs.as_chunks::<2>());
    let of_the_sum = f32::sqrt(k as f32) / 1024.0;
    let agree = |(ours, theirs): (&[u8; 2], &[u8; 2])| {
        let [ours, theirs] = [ours, theirs].map(|x| bf16::from_le_bytes(*x).to_f32());
        (ours - theirs).abs() <= theirs.abs() / 128.0 + of_the_sum
    };
    let pairs = ours.iter().zip(theirs);
    ours.len().abs_diff(theirs.len()) + pairs.filter(|pair| !agree(*pair)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::bf16_tn::Operands;
    use harness::Size;

    #[test]
    fn one_rounding_apart_is_the_same_and_a_nan_is_not() {
        let bytes = |values: [f32; 3]| values.map(|x| bf16::from_f32(x).to_le_bytes()).concat();
        let ours = bytes([100.0, 0.0, -3.0]);
        assert_eq!(differing(&ours, &bytes([100.5, 0.0, -3.0]), 64), 0);
        assert_eq!(differing(&ours, &bytes([102.0, 0.1, -3.0]), 64), 2);
        assert_eq!(differing(&bytes([f32::NAN, 0.0, -3.0]), &ours, 64), 1);
        assert_eq!(differing(&ours[..4], &ours, 64), 1);
        // Cs of different products differ nearly everywhere.
        let [operands, swapped] =
            [(16, 24), (24, 16)].map(|(m, n)| Operands::new(Size { m, n, k: 512 }));
        let c = |operands: &Operands| match operands.expected() {
            crate::expected::Expected::NearBf16(values) => {
                let values = values.iter().map(|near| bf16::from_f64(near.value));
                values.flat_map(bf16::to_le_bytes).collect::<Vec<u8>>()
            }
            _ => Vec::new(),
        };
        assert_eq!(differing(&c(&operands), &c(&operands), 512), 0);
        assert!(differing(&c(&operands), &c(&swapped), 512) > 300);
    }
}
