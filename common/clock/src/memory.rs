//! The memory system as one SM sees it: its L1, its port to the L2, and its share of the L2's and DRAM's bandwidth.
use emulator::TraceLine;

use crate::card::Card;
use crate::sharing::Sharing;

/// Associativity of the L1.
const WAYS: usize = 8;

/// The memory system as one SM sees it.
pub(crate) struct Memory {
    sharing: Sharing,
    /// The sets of the L1, most recently used line first: line number and valid sectors.
    l1: Vec<Vec<(u64, u8)>>,
    lines_free: f64,
    port_free: f64,
    l2_free: f64,
    dram_free: f64,
    store_free: f64,
    /// Clocks for which each part was busy.
    pub busy: MemoryBusy,
}

/// The bytes of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    /// Bytes that arrive at the SM.
    pub arrive: f64,
    /// Bytes that this SM requests itself.
    pub asked: f64,
}

impl Bytes {
    /// A load that the SM requests as a whole.
    pub fn own(bytes: f64) -> Self {
        Self {
            arrive: bytes,
            asked: bytes,
        }
    }
}

/// Clocks for which each part of the memory system was busy with the SM's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryBusy {
    /// The port to the L2.
    pub port: f64,
    /// The SM's share of the L2.
    pub l2: f64,
    /// Its share of DRAM.
    pub dram: f64,
    /// The L2, with the SM's stores.
    pub stores: f64,
}

impl std::ops::AddAssign for MemoryBusy {
    fn add_assign(&mut self, other: Self) {
        self.port += other.port;
        self.l2 += other.l2;
        self.dram += other.dram;
        self.stores += other.stores;
    }
}

impl Memory {
    pub fn new(card: &Card, shared_bytes: u32, sharing: Sharing) -> Self {
        let bytes = (card.queue.l1_bytes as u32).saturating_sub(shared_bytes);
        let sets = (bytes as usize / 128 / WAYS).max(1);
        Self {
            sharing,
            l1: vec![Vec::new(); sets],
            lines_free: 0.0,
            port_free: 0.0,
            l2_free: 0.0,
            dram_free: 0.0,
            store_free: 0.0,
            busy: MemoryBusy::default(),
        }
    }

    /// How many sectors of these lines miss in the L1; they are allocated.
    pub fn missing(&mut self, lines: &[TraceLine]) -> u32 {
        let sets = self.l1.len() as u64;
        let hash = |line: u64| line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let mut missing = 0;
        for line in lines {
            let set = &mut self.l1[(hash(line.number) % sets) as usize];
            let at = set.iter().position(|&(number, _)| number == line.number);
            let had = at.map_or(0, |at| set.remove(at).1);
            missing += (line.sectors & !had).count_ones();
            set.insert(0, (line.number, had | line.sectors));
            set.truncate(WAYS);
        }
        missing
    }

    /// When bytes requested at `time` have arrived from the L2 or from DRAM. `rate` is the rate of the port; part of a
    /// multicast's bytes are requested by other SMs.
    pub fn fetch(&mut self, card: &Card, time: f64, bytes: Bytes, rate: f64, latency: f64) -> f64 {
        let Bytes { arrive, asked } = bytes;
        let queue = |free: &mut f64, busy: &mut f64, clocks: f64| {
            *busy += clocks;
            *free = free.max(time) + clocks;
            *free
        };
        let sharing = self.sharing;
        // See bytes.l2_own in the card's file.
        let read = asked * sharing.read;
        let own = (card.bytes.l2_own / sharing.at_work).min(card.bytes.l2_port);
        let l2 = (arrive - read) / rate + read / own;
        let dram = asked * sharing.distinct * sharing.cold / card.bytes.dram;
        let busy = &mut self.busy;
        let port = queue(&mut self.port_free, &mut busy.port, arrive / rate);
        let l2 = queue(&mut self.l2_free, &mut busy.l2, l2);
        let dram = queue(&mut self.dram_free, &mut busy.dram, dram);
        let latencies = &card.latency;
        let in_l2 = if sharing.far {
            latencies.l2_far
        } else {
            latencies.l2
        };
        let farther = in_l2 - latencies.l2 + (latencies.dram - in_l2) * sharing.cold;
        port.max(l2).max(dram) + latency + farther
    }

    /// When the L1 has looked up this number of lines of a `cp.async`, one after the other.
    pub fn look_up(&mut self, card: &Card, time: f64, lines: usize) -> f64 {
        self.lines_free = self.lines_free.max(time) + lines as f64 * card.interval.copy_line;
        self.lines_free
    }

    /// When the L2 has accepted all stores so far.
    pub fn stored(&self) -> f64 {
        self.store_free
    }

    /// When the L2 has accepted the bytes of a store, in so many lines.
    pub fn store(&mut self, card: &Card, time: f64, bytes: f64, lines: f64) -> f64 {
        let all = bytes / card.bytes.store + lines * card.interval.store_line;
        let clocks = (bytes / card.bytes.store_port).max(all * self.sharing.at_work);
        self.busy.stores += clocks;
        self.store_free = self.store_free.max(time) + clocks;
        self.store_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharing::Read;

    #[test]
    fn stores_are_slower_if_all_sms_store() {
        let card = Card::H200;
        let clocks = |sms| {
            let sharing = Sharing::new(Read::default(), 0.0, 0.0, 0.0, 1e6, true);
            let mut memory = Memory::new(&card, 0, sharing.of_sms(sms, card.sms));
            memory.store(&card, 100.0, 8192.0, 64.0) - 100.0
        };
        // 8 KiB take 259 clocks for up to 66 SMs (microbenchmark `stores`), and 466 for 132 (`row_stores_16`).
        assert_eq!(
            [1, 66, 132].map(clocks).map(f64::round),
            [259.0, 259.0, 464.0]
        );
    }
}
