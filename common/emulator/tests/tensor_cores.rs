//! Every recorded output of an H100's tensor cores is reproduced, to the bit.
//! A record: A 16x16 u16, B 16x8 u16 (k, n), C 16x8 f32, D 16x8 f32, little-endian; m16n8k8 uses k < 8.
use emulator::tensor::{Factor, mma};

const RECORD: usize = 1792;

fn check(name: &str, data: &[u8], factor: Factor, k: usize) {
    assert_eq!(data.len() % RECORD, 0);
    let mut checked = 0;
    for record in data.chunks_exact(RECORD) {
        let half = |i: usize| u16::from_le_bytes([record[2 * i], record[2 * i + 1]]);
        let word =
            |i: usize| u32::from_le_bytes(record[768 + 4 * i..][..4].try_into().expect("4 bytes"));
        let c: [u32; 128] = std::array::from_fn(word);
        let expected: [u32; 128] = std::array::from_fn(|i| word(128 + i));
        let d = if k == 16 {
            mma::<16, 256, 128>(
                factor,
                &std::array::from_fn(half),
                &std::array::from_fn(|i| half(256 + i)),
                &c,
            )
        } else {
            let a: [u16; 128] = std::array::from_fn(|i| half(i / 8 * 16 + i % 8));
            mma::<8, 128, 64>(factor, &a, &std::array::from_fn(|i| half(256 + i)), &c)
        };
        assert_eq!(d, expected, "{name}, record {checked}");
        checked += 1;
    }
    assert_eq!(checked, 128, "{name}");
}

#[test]
fn mma_and_wgmma_as_measured() {
    check(
        "mma_m16n8k16_f16",
        include_bytes!("h100/mma_m16n8k16_f16.bin"),
        Factor::F16,
        16,
    );
    check(
        "mma_m16n8k16_bf16",
        include_bytes!("h100/mma_m16n8k16_bf16.bin"),
        Factor::Bf16,
        16,
    );
    check(
        "mma_m16n8k8_f16",
        include_bytes!("h100/mma_m16n8k8_f16.bin"),
        Factor::F16,
        8,
    );
    check(
        "wgmma_m64n8k16_f16",
        include_bytes!("h100/wgmma_m64n8k16_f16.bin"),
        Factor::F16,
        16,
    );
    check(
        "wgmma_m64n8k16_bf16",
        include_bytes!("h100/wgmma_m64n8k16_bf16.bin"),
        Factor::Bf16,
        16,
    );
}
