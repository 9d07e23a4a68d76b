//! What an SM sees of the memory behind it: an L1 of its own, its port to the L2, and its share of the L2 and of DRAM.
use emulator::TraceLine;

use crate::card::Card;
use crate::sharing::Sharing;

/// Lines of the L1 in a set.
const WAYS: usize = 8;

/// The memory that one SM sees.
pub(crate) struct Memory {
    sharing: Sharing,
    /// Lines by set, the one used last at the front: number and sectors.
    l1: Vec<Vec<(u64, u8)>>,
    port_free: f64,
    l2_free: f64,
    dram_free: f64,
    store_free: f64,
    /// Clocks for which each of its parts was busy.
    pub busy: MemoryBusy,
}

/// Bytes of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    /// Those that arrive at the SM.
    pub arrive: f64,
    /// Those that it asks for itself.
    pub asked: f64,
}

impl Bytes {
    /// An SM asks for all that arrives.
    pub fn own(bytes: f64) -> Self {
        Self {
            arrive: bytes,
            asked: bytes,
        }
    }
}

/// Clocks for which the memory behind an SM was busy with what the SM asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryBusy {
    /// The port to the L2.
    pub port: f64,
    /// The SM's share of the L2.
    pub l2: f64,
    /// Its share of DRAM.
    pub dram: f64,
    /// What the L2 takes of its stores.
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
            port_free: 0.0,
            l2_free: 0.0,
            dram_free: 0.0,
            store_free: 0.0,
            busy: MemoryBusy::default(),
        }
    }

    /// Sectors of these lines that the L1 does not have; it has them from now on.
    pub fn missing(&mut self, lines: &[TraceLine]) -> u32 {
        let sets = self.l1.len() as u64;
        let mut missing = 0;
        for line in lines {
            let set = &mut self.l1[(line.number % sets) as usize];
            let at = set.iter().position(|&(number, _)| number == line.number);
            let had = at.map_or(0, |at| set.remove(at).1);
            missing += (line.sectors & !had).count_ones();
            set.insert(0, (line.number, had | line.sectors));
            set.truncate(WAYS);
        }
        missing
    }

    /// When bytes that are asked for at a time have arrived from the L2 or from DRAM; `rate` is that of the port. Of what a
    /// multicast brings, other SMs ask for a part.
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
        let farther = (card.latency.dram - card.latency.l2) * sharing.cold;
        port.max(l2).max(dram) + latency + farther
    }

    /// When the L2 has taken bytes that are stored.
    pub fn store(&mut self, card: &Card, time: f64, bytes: f64) -> f64 {
        let clocks = bytes / card.bytes.store;
        self.busy.stores += clocks;
        self.store_free = self.store_free.max(time) + clocks;
        self.store_free
    }
}
