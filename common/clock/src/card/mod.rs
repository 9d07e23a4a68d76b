//! A card's constants, a file for each card.
mod h200;

use serde::Serialize;

/// What an SM of a card does in a clock. The comments of a card's file name the source of each number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// As the driver names it.
    pub name: &'static str,
    /// Its SMs.
    pub sms: u32,
    /// Their clock in MHz where nothing throttles it.
    pub mhz: f64,
    /// Clocks between two warp instructions of a pipe.
    pub interval: Interval,
    /// Clocks from an instruction's issue to its result.
    pub latency: Latency,
    /// Bytes a clock and SM.
    pub bytes: Bytes,
    /// Sizes of queues and caches.
    pub queue: Queue,
}

/// Declares tables of constants that can be looked up by name.
macro_rules! tables {
    ($(#[doc = $about:literal] $table:ident { $($constant:ident,)* })*) => {$(
        #[doc = $about]
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[expect(missing_docs, reason = "each is explained in the file of a card")]
        pub struct $table {
            $(pub $constant: f64,)*
        }

        impl $table {
            fn constant(&mut self, name: &str) -> Option<&mut f64> {
                match name {
                    $(stringify!($constant) => Some(&mut self.$constant),)*
                    _ => None,
                }
            }
        }
    )*};
}

tables! {
    /// Clocks between two warp instructions of a pipe of a sub-partition; of tensor cores, FLOP a clock.
    Interval {
        fma,
        alu,
        imad,
        imad_wide,
        half,
        double,
        uniform,
        special,
        convert,
        mma_flop,
        wgmma_flop,
        shuffle,
        mbarrier_arrive,
    }
    /// Clocks from issue to result.
    Latency {
        fixed,
        special,
        constant,
        shared,
        shared_wavefront,
        l1,
        l2,
        dram,
        tma,
        mma,
        wgmma_drain,
        barrier,
        barrier_warp,
        mbarrier,
        mbarrier_arrive,
        mbarrier_test,
        mbarrier_remote,
        cluster_barrier,
        membar_cta,
        membar_gpu,
        proxy_fence,
        launch,
        cta,
        start,
    }
    /// Bytes a clock and SM.
    Bytes {
        l2_port,
        l2_port_copy,
        l2_own,
        tma,
        dram,
        store,
    }
    /// Queues and caches.
    Queue {
        memory_instructions,
        copy_passes,
        l1_bytes,
        l2_bytes,
        gpcs,
    }
}

impl Card {
    /// An H200: the SMs of an H100 with faster memory.
    pub const H200: Self = h200::H200;

    /// With other constants, such as `latency.dram` of 900 clocks: what would be, if.
    ///
    /// # Errors
    /// If there is no such constant.
    pub fn with(mut self, constants: &[(String, f64)]) -> Result<Self, NoConstant> {
        for (name, value) in constants {
            let found = self.constant(name);
            *found.ok_or_else(|| NoConstant(name.clone()))? = *value;
        }
        Ok(self)
    }

    fn constant(&mut self, name: &str) -> Option<&mut f64> {
        match name.split_once('.') {
            None => (name == "mhz").then_some(&mut self.mhz),
            Some(("interval", name)) => self.interval.constant(name),
            Some(("latency", name)) => self.latency.constant(name),
            Some(("bytes", name)) => self.bytes.constant(name),
            Some(("queue", name)) => self.queue.constant(name),
            Some(_) => None,
        }
    }
}

/// The card has no constant of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no constant {0}: it takes a table of the card and one of its numbers, such as latency.dram"
)]
pub struct NoConstant(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_replaced() {
        let with = |name: &str| Card::H200.with(&[(name.into(), 900.0)]);
        let card = Card::H200;
        let slower = with("latency.dram").expect("a constant");
        assert_eq!(slower.latency.dram, 900.0);
        let back = Latency {
            dram: card.latency.dram,
            ..slower.latency
        };
        assert_eq!(back, card.latency);
        for name in ["dram", "latency", "latency.none", "none.dram", "name", ""] {
            assert!(
                with(name).is_err_and(|why| why.to_string().contains("no constant")),
                "{name}"
            );
        }
    }
}
