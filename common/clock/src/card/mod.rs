//! The constants of a card; each card has a file.
mod h200;

use serde::Serialize;

/// How fast each part of an SM is, in clocks. The comments of a card's file name the source of each number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// The name that the driver reports.
    pub name: &'static str,
    /// Number of SMs.
    pub sms: u32,
    /// SM clock in MHz when nothing throttles it.
    pub mhz: f64,
    /// Clocks between two warp instructions of the same pipe.
    pub interval: Interval,
    /// Clocks from an instruction's issue to its result.
    pub latency: Latency,
    /// Bytes per clock and SM.
    pub bytes: Bytes,
    /// Sizes of queues and caches.
    pub queue: Queue,
    /// What does not follow the SM clock.
    pub memory: OwnClock,
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
    /// Clocks between two warp instructions of a sub-partition's pipe; for tensor cores, FLOP per clock.
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
        mbarrier_poll,
        tma_copy,
        tma_box,
        tma_lane,
        store_line,
        copy_line,
    }
    /// Clocks from issue to result.
    Latency {
        fixed,
        double,
        special,
        shuffle,
        constant,
        shared,
        shared_wavefront,
        l1,
        l2,
        l2_far,
        dram,
        tma,
        tensor_map,
        mma,
        wgmma_drain,
        barrier,
        barrier_warp,
        mbarrier_arrive,
        mbarrier_test,
        mbarrier_remote,
        cluster_barrier,
        membar_cta,
        membar_gpu,
        proxy_fence,
        launch,
        cold,
        cta,
        start,
    }
    /// Bytes per clock and SM.
    Bytes {
        l2_port,
        l2_port_copy,
        l2_own,
        tma,
        dram,
        store,
        store_port,
    }
    /// Sizes of queues and caches.
    Queue {
        memory_instructions,
        data_accesses,
        copy_passes,
        l1_bytes,
        l2_bytes,
        gpcs,
    }
    /// The L2 and DRAM have clocks of their own.
    OwnClock {
        l2_ns,
        dram_ns,
    }
}

impl Card {
    /// An H200: the SMs of an H100 with faster memory.
    pub const H200: Self = h200::H200;

    /// The GPC of the SM that receives the launch's CTA of this number: GPCs are filled one after the other, each with
    /// neighbors (microbenchmarks `tma/neighbors` and `tma/strided`).
    pub fn gpc(&self, sm: u32) -> u32 {
        (f64::from(sm) * self.queue.gpcs / f64::from(self.sms)) as u32
    }

    /// The same card with its SMs at another clock, as a card at its power limit chooses it: the latencies of the L2 and of DRAM,
    /// in nanoseconds, are then fewer SM clocks, and they deliver more bytes in each.
    #[must_use]
    pub fn at(mut self, mhz: f64) -> Self {
        let faster = self.mhz / mhz;
        let fewer = (self.mhz - mhz) / 1e3;
        let Self {
            interval,
            latency,
            bytes,
            memory,
            ..
        } = &mut self;
        for to_the_l2 in [
            &mut latency.l2,
            &mut latency.l2_far,
            &mut latency.tma,
            &mut latency.membar_gpu,
        ] {
            *to_the_l2 = (*to_the_l2 - memory.l2_ns * fewer).max(0.0);
        }
        latency.dram = (latency.dram - memory.dram_ns * fewer).max(0.0);
        for rate in [&mut bytes.l2_own, &mut bytes.dram, &mut bytes.store] {
            *rate *= faster;
        }
        interval.store_line /= faster;
        self.mhz = mhz;
        self
    }

    /// The card with other constants, such as `latency.dram` of 900 clocks. With another `mhz` it is the card [`at`](Self::at)
    /// that clock.
    ///
    /// # Errors
    /// If there is no such constant, a rate is 0, or the clock is out of range.
    pub fn with(mut self, constants: &[(String, f64)]) -> Result<Self, BadConstant> {
        let mut mhz = self.mhz;
        for (name, value) in constants {
            if name == "mhz" {
                mhz = *value;
                continue;
            }
            let found = self.constant(name);
            *found.ok_or_else(|| BadConstant::Name(name.clone()))? = *value;
            if name.starts_with("bytes.") && *value == 0.0 {
                return Err(BadConstant::Rate(name.clone()));
            }
        }
        match MHZ.contains(&mhz) {
            true => Ok(self.at(mhz)),
            false => Err(BadConstant::Clock(mhz)),
        }
    }

    fn constant(&mut self, name: &str) -> Option<&mut f64> {
        match name.split_once('.') {
            Some(("interval", name)) => self.interval.constant(name),
            Some(("latency", name)) => self.latency.constant(name),
            Some(("bytes", name)) => self.bytes.constant(name),
            Some(("queue", name)) => self.queue.constant(name),
            Some(("memory", name)) => self.memory.constant(name),
            _ => None,
        }
    }
}

/// SM clocks that a card may choose, in MHz.
const MHZ: std::ops::RangeInclusive<f64> = 200.0..=3000.0;

/// A constant that a card cannot have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadConstant {
    /// There is none of this name.
    #[error(
        "there is no constant {0}: name a table of the card and one of its numbers, such as latency.dram"
    )]
    Name(String),
    /// A rate of 0 would take forever.
    #[error("{0} is a rate: use a number above 0")]
    Rate(String),
    /// The clock is out of range.
    #[error("mhz={0} is not a valid SM clock: use {from} to {to} MHz", from = MHZ.start(), to = MHZ.end())]
    Clock(f64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_keeps_its_own_clock() {
        let card = Card::H200;
        assert_eq!(card.clone().at(card.mhz), card);
        let slow = Card::H200.with(&[("mhz".into(), 990.0)]).expect("a clock");
        // Half the clock: twice the bytes in each, and 72 of an L2 load's nanoseconds are 71 clocks fewer.
        assert_eq!(slow.bytes.l2_own, 2.0 * card.bytes.l2_own);
        assert!((card.latency.l2 - slow.latency.l2 - 71.28).abs() < 1e-9);
        assert_eq!(slow.latency.l1, card.latency.l1);
        for mhz in [0.0, 199.0, 3001.0, f64::NAN] {
            let error = Card::H200
                .with(&[("mhz".into(), mhz)])
                .expect_err("no clock");
            assert!(
                error.to_string().contains("not a valid SM clock"),
                "{error}"
            );
        }
    }

    #[test]
    fn gpcs_are_filled_one_after_the_other() {
        let of = |sms: [u32; 5]| sms.map(|sm| Card::H200.gpc(sm));
        assert_eq!(of([0, 16, 17, 66, 131]), [0, 0, 1, 4, 7]);
    }

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
        let stopped = Card::H200.with(&[("bytes.l2_own".into(), 0.0)]);
        assert_eq!(stopped, Err(BadConstant::Rate("bytes.l2_own".into())));
        for name in ["dram", "latency", "latency.none", "none.dram", "name", ""] {
            assert!(
                with(name).is_err_and(|why| why.to_string().contains("no constant")),
                "{name}"
            );
        }
    }
}
