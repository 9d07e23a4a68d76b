//! Where `wgmma` expects the elements of an operand in shared memory: the canonical layouts.
//!
//! T is the number of elements in 16 bytes, and W the number of 16-byte units in the swizzle's width. In
//! CuTe's notation, before the swizzle `<log2 W, 4, 3>` is applied to byte addresses:
//!
//! | | none | 32, 64, 128 bytes |
//! | --- | --- | --- |
//! | K-major | ((8,m),(T,2k)) : ((T,SBO),(1,LBO)) | ((8,m),(T,2k)) : ((W T,SBO),(1,T)) |
//! | MN-major | ((T,1,m),(8,k)) : ((1,T,SBO),(T,LBO)) | ((T,W,m),(8,k)) : ((1,T,LBO),(W T,SBO)) |
//!
//! The leading and stride byte offsets exchange their roles between MN-major layouts with and without a
//! swizzle.
//! Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", "Canonical Layouts" and
//! "Major-ness supported by Strides"; CuTe, `include/cute/atom/mma_traits_sm90_gmma.hpp`.
use crate::descriptor::{Descriptor, Mode};

/// Which dimension is contiguous in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Major {
    /// K: A row-major, B column-major
    K,
    /// M or N: A column-major, B row-major
    Mn,
}

/// An operand of `mn` x `k` elements, packed as tightly as its layout allows, first along MN, then along K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canonical {
    /// Which dimension is contiguous.
    pub major: Major,
    /// The swizzle.
    pub mode: Mode,
    /// Bytes of an element: 1, 2 or 4.
    pub element_bytes: u32,
    /// Elements along M or N.
    pub mn: u32,
    /// Elements along K.
    pub k: u32,
}

/// Why a layout is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// An element size that `wgmma` does not have.
    #[error("elements have 1, 2 or 4 bytes, not {0}")]
    Element(u32),
    /// A size that is not a whole number of atoms.
    #[error(
        "this layout consists of atoms of {} x {} (MN x K): {} x {} is not a multiple of them",
        atom.0, atom.1, found.0, found.1
    )]
    Atom {
        /// Along M or N, and along K.
        atom: (u32, u32),
        /// The size of the operand.
        found: (u32, u32),
    },
    /// Only 2-byte elements can be MN-major.
    #[error(
        "only f16 and bf16 operands can be MN-major: wgmma has no transpose bits for other types"
    )]
    MajorOfOther,
    /// K-major and swizzled: one descriptor covers at most the swizzle's width.
    #[error(
        "a swizzled K-major descriptor covers {0} elements along K, the swizzle's width: take k \
         up to that, and one \
         descriptor for each further part"
    )]
    BeyondWidth(u32),
    /// The operand is too large.
    #[error("an operand in shared memory has at most 2^18 bytes")]
    Size,
}

impl Canonical {
    /// Checks that the layout exists, and returns it.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn checked(self) -> Result<Self, CanonicalError> {
        if ![1, 2, 4].contains(&self.element_bytes) {
            return Err(CanonicalError::Element(self.element_bytes));
        }
        if self.major == Major::Mn && self.element_bytes != 2 {
            return Err(CanonicalError::MajorOfOther);
        }
        let (mn, k) = self.atom();
        let is_whole = |size: u32, atom: u32| size > 0 && size.is_multiple_of(atom);
        if self.major == Major::K && self.mode != Mode::None && self.k > k {
            return Err(CanonicalError::BeyondWidth(k));
        }
        // A K-major atom may be read in part, K step by K step.
        let k_step = match self.major {
            Major::K => self.per_unit(),
            Major::Mn => k,
        };
        if !is_whole(self.mn, mn) || !is_whole(self.k, k_step) {
            return Err(CanonicalError::Atom {
                atom: (mn, k_step),
                found: (self.mn, self.k),
            });
        }
        let elements = u64::from(self.mn) * u64::from(self.k);
        let bytes = elements.saturating_mul(self.element_bytes.into());
        if bytes <= 1 << 18 {
            Ok(self)
        } else {
            Err(CanonicalError::Size)
        }
    }

    /// T: elements in 16 bytes.
    pub fn per_unit(&self) -> u32 {
        16 / self.element_bytes.clamp(1, 16)
    }

    /// The atom of the swizzle, MN x K: 8 rows, each as wide as the swizzle, along the contiguous dimension.
    pub fn atom(&self) -> (u32, u32) {
        let wide = self.per_unit() * self.mode.bytes() / 16;
        match self.major {
            Major::K => (8, wide),
            Major::Mn => (wide, 8),
        }
    }

    /// The descriptor of this operand at an address, which is a multiple of the swizzle pattern: 8 rows.
    pub fn descriptor(&self, start: u32) -> Descriptor {
        let (leading, stride) = self.offsets();
        Descriptor {
            start,
            leading,
            stride,
            base_offset: 0,
            mode: self.mode,
        }
    }

    /// Leading and stride dimension byte offsets of the packed operand.
    pub fn offsets(&self) -> (u32, u32) {
        let atom = 8 * self.mode.bytes();
        match (self.major, self.mode) {
            // Core matrices of 128 bytes, first along M or N.
            (Major::K, Mode::None) => (128 * (self.mn / 8), 128),
            (Major::Mn, Mode::None) => (128 * (self.mn / self.per_unit()), 128),
            // Not used; CuTe writes 1 into the field.
            (Major::K, _) => (16, atom),
            (Major::Mn, _) => (atom, atom * (self.mn / self.atom().0)),
        }
    }

    /// The byte offset of element (mn, k) from the start of the operand, which is aligned to the swizzle
    /// pattern.
    pub fn offset(&self, mn: u32, k: u32) -> u32 {
        let (leading, stride) = self.offsets();
        let (t, e, width) = (self.per_unit(), self.element_bytes, self.mode.bytes());
        let wide = self.atom().0;
        let plain = match (self.major, self.mode) {
            (Major::K, Mode::None) => mn % 8 * 16 + mn / 8 * stride + k / t * leading + k % t * e,
            (Major::K, _) => mn % 8 * width + mn / 8 * stride + k * e,
            (Major::Mn, Mode::None) => mn % t * e + mn / t * stride + k % 8 * 16 + k / 8 * leading,
            (Major::Mn, _) => mn % wide * e + mn / wide * leading + k % 8 * width + k / 8 * stride,
        };
        let swizzle = self.mode.swizzle();
        swizzle.map_or(plain, |swizzle| swizzle.apply(plain))
    }

    /// The layout in CuTe's notation, with strides in elements.
    pub fn cute(&self) -> String {
        let (leading, stride) = self.offsets();
        let (lbo, sbo) = (leading / self.element_bytes, stride / self.element_bytes);
        let (t, w) = (self.per_unit(), self.mode.bytes() / 16);
        let wide = w * t;
        // The atoms along MN, then those along K.
        let (m, k) = match self.major {
            Major::K => (self.mn / 8, self.k / t),
            Major::Mn => (self.mn / wide, self.k / 8),
        };
        let layout = match (self.major, self.mode) {
            (Major::K, Mode::None) => format!("((8,{m}),({t},{k})):(({t},{sbo}),(1,{lbo}))"),
            (Major::K, _) => format!("((8,{m}),({t},{k})):(({wide},{sbo}),(1,{t}))"),
            (Major::Mn, Mode::None) => format!("(({t},1,{m}),(8,{k})):((1,{t},{sbo}),({t},{lbo}))"),
            (Major::Mn, _) => format!("(({t},{w},{m}),(8,{k})):((1,{t},{lbo}),({wide},{sbo}))"),
        };
        match self.mode.swizzle() {
            Some(swizzle) => format!("{swizzle} o {layout}"),
            None => layout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Canonical> {
        let modes = Mode::ALL.into_iter();
        modes.flat_map(|mode| {
            let k_major = Canonical {
                major: Major::K,
                mode,
                element_bytes: 2,
                mn: 64,
                k: 16,
            };
            let (wide, _) = Canonical {
                major: Major::Mn,
                ..k_major
            }
            .atom();
            let k_max = Canonical {
                k: k_major.atom().1.max(16),
                ..k_major
            };
            [
                k_major,
                k_max,
                Canonical {
                    major: Major::Mn,
                    mn: 2 * wide,
                    k: 16,
                    ..k_major
                },
            ]
        })
    }

    #[test]
    fn every_element_has_its_own_bytes() {
        for layout in all() {
            layout.checked().expect("a layout");
            let mut seen = std::collections::HashSet::new();
            for (mn, k) in (0..layout.mn).flat_map(|mn| (0..layout.k).map(move |k| (mn, k))) {
                let offset = layout.offset(mn, k);
                assert!(
                    offset.is_multiple_of(2) && seen.insert(offset),
                    "{layout:?}"
                );
            }
            // A K-major atom that is read in part leaves gaps; others are dense.
            if layout.k * 2 >= layout.mode.bytes() || layout.major == Major::Mn {
                assert_eq!(
                    seen.iter().max(),
                    Some(&(layout.mn * layout.k * 2 - 2)),
                    "{layout:?}"
                );
            }
        }
    }

    /// A box of the swizzle's width, row by row, is what TMA writes with the same swizzle.
    #[test]
    fn k_major_is_what_tma_writes() {
        for mode in [Mode::B32, Mode::B64, Mode::B128] {
            let layout = Canonical {
                major: Major::K,
                mode,
                element_bytes: 2,
                mn: 64,
                k: mode.bytes() / 2,
            };
            let swizzle = mode.swizzle().expect("a swizzle");
            for (mn, k) in (0..64).flat_map(|mn| (0..layout.k).map(move |k| (mn, k))) {
                assert_eq!(
                    layout.offset(mn, k),
                    swizzle.apply(mn * mode.bytes() + 2 * k)
                );
            }
        }
    }

    /// The worked examples of the PTX ISA's section: offsets and exact layouts.
    #[test]
    fn examples_of_the_documents() {
        let tf32 = Canonical {
            major: Major::K,
            mode: Mode::None,
            element_bytes: 4,
            mn: 16,
            k: 16,
        };
        assert_eq!(
            tf32.cute(),
            "Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))"
        );
        assert_eq!(tf32.offsets(), (64 * 4, 32 * 4));
        let tf32_32 = Canonical {
            mode: Mode::B32,
            k: 8,
            ..tf32
        };
        assert_eq!(
            tf32_32.cute(),
            "Swizzle<1,4,3> o ((8,2),(4,2)):((8,64),(1,4))"
        );
        let bf16 = Canonical {
            major: Major::Mn,
            mode: Mode::None,
            element_bytes: 2,
            mn: 16,
            k: 16,
        };
        assert_eq!(
            bf16.cute(),
            "Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))"
        );
        let bf16_32 = Canonical {
            mode: Mode::B32,
            mn: 32,
            ..bf16
        };
        assert_eq!(
            bf16_32.cute(),
            "Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))"
        );
        let bf16_64 = Canonical {
            mode: Mode::B64,
            mn: 64,
            ..bf16
        };
        assert_eq!(
            bf16_64.cute(),
            "Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))"
        );
    }

    /// CuTe's notation, evaluated: coordinates run through a shape's first part fastest.
    fn by_cute(layout: &Canonical, mn: u32, k: u32) -> u32 {
        let text = layout.cute();
        let (_, text) = text.split_once(" o ").expect("a swizzle");
        let groups: Vec<Vec<u32>> = text
            .split(['(', ')'])
            .map(|group| {
                group
                    .split(',')
                    .filter_map(|number| number.parse().ok())
                    .collect()
            })
            .filter(|group: &Vec<u32>| !group.is_empty())
            .collect();
        let [mn_shape, k_shape, mn_stride, k_stride] = &groups[..] else {
            panic!("{text}")
        };
        let part = |mut index: u32, shape: &[u32], stride: &[u32]| {
            let step = |(extent, stride): (&u32, &u32)| {
                let digit = index % extent;
                index /= extent;
                digit * stride
            };
            shape.iter().zip(stride).map(step).sum::<u32>()
        };
        let bytes =
            (part(mn, mn_shape, mn_stride) + part(k, k_shape, k_stride)) * layout.element_bytes;
        layout.mode.swizzle().expect("a swizzle").apply(bytes)
    }

    #[test]
    fn offsets_are_what_cute_computes() {
        for layout in all() {
            for (mn, k) in (0..layout.mn).flat_map(|mn| (0..layout.k).map(move |k| (mn, k))) {
                assert_eq!(
                    layout.offset(mn, k),
                    by_cute(&layout, mn, k),
                    "{layout:?} at {mn}, {k}"
                );
            }
        }
    }

    #[test]
    fn a_step_along_k_adds_32_bytes() {
        let layout = Canonical {
            major: Major::K,
            mode: Mode::B128,
            element_bytes: 2,
            mn: 64,
            k: 64,
        };
        for step in 0..4 {
            assert_eq!(layout.offset(0, 16 * step), 32 * step);
        }
        assert_eq!(layout.descriptor(1024).encode(), Ok(0x4000_0040_0001_0040));
    }

    #[test]
    fn impossible_values_are_refused() {
        let good = Canonical {
            major: Major::K,
            mode: Mode::B128,
            element_bytes: 2,
            mn: 64,
            k: 64,
        };
        assert_eq!(
            Canonical { k: 128, ..good }.checked(),
            Err(CanonicalError::BeyondWidth(64))
        );
        assert_eq!(
            Canonical {
                element_bytes: 3,
                ..good
            }
            .checked(),
            Err(CanonicalError::Element(3))
        );
        assert_eq!(
            Canonical {
                major: Major::Mn,
                element_bytes: 1,
                ..good
            }
            .checked(),
            Err(CanonicalError::MajorOfOther)
        );
        let huge = Canonical {
            mn: u32::MAX - 7,
            k: u32::MAX - 7,
            mode: Mode::None,
            ..good
        };
        assert_eq!(huge.checked(), Err(CanonicalError::Size));
        assert!(matches!(
            Canonical { mn: 12, ..good }.checked(),
            Err(CanonicalError::Atom { atom: (8, _), .. })
        ));
        assert!(matches!(
            Canonical { mn: 0, ..good }.checked(),
            Err(CanonicalError::Atom { .. })
        ));
        assert_eq!(
            Canonical {
                mn: 1 << 30,
                ..good
            }
            .checked(),
            Err(CanonicalError::Size)
        );
    }
}
