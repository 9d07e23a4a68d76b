//! Clusters that communicate with each other: interleaved on one core, as many at a time as the card can hold.
use super::output::ClusterOutput;
use super::{enough, report_progress, resident, shadow};
use crate::Error;
use crate::exec::cluster::{Cluster, Turn};
use crate::exec::machine::Machine;
use crate::memory::Writes;

/// Instructions that an interleaved cluster runs before the next one's turn.
const TURN: u64 = 1 << 14;

/// A launch of which some clusters have run.
pub(super) struct Begun<'m> {
    pub outcome: ClusterOutput,
    /// Clusters that have not ended.
    pub clusters: Vec<Cluster<'m>>,
    /// The first cluster that has not begun.
    pub next: u64,
    pub instructions: u64,
}

impl Begun<'_> {
    pub fn new(machine: &Machine<'_>) -> Self {
        Self {
            outcome: ClusterOutput::new(machine),
            clusters: Vec::new(),
            next: 0,
            instructions: 0,
        }
    }
}

/// Runs clusters that may communicate with each other interleaved, as many at a time as the card can hold.
pub(super) fn interleaved<'m>(
    machine: &'m Machine<'m>,
    begun: Begun<'m>,
) -> Result<ClusterOutput, Error> {
    let (all, resident) = (machine.clusters, resident(machine));
    let limits = machine.options.limits;
    let at_once = (resident as u64).min(all);
    let held = at_once.saturating_mul(Cluster::bytes(machine));
    if held > limits.memory {
        return Err(limits.out_of_memory());
    }
    let Begun {
        mut outcome,
        mut clusters,
        mut next,
        mut instructions,
    } = begun;
    let mut writes = Writes::default();
    if machine.options.sanitize {
        writes.accesses = Some(Box::new(shadow(machine)));
    }
    // Apply the results so far.
    outcome.writes.drain(..).for_each(|one| writes.merge(one));
    clusters.iter_mut().for_each(Cluster::resume);
    let (mut done, mut spare) = (next - clusters.len() as u64, Vec::new());
    // The last block to arrive at a grid barrier must not reach the next one before the others have left this one: its
    // accesses in between would be ordered before theirs.
    let budget = if machine.hesitates { 1 } else { TURN };
    'launch: loop {
        while clusters.len() < resident && next < all {
            let mut cluster = spare.pop().unwrap_or_else(|| Cluster::new(machine));
            cluster.reset(next);
            clusters.push(cluster);
            next += 1;
        }
        if clusters.is_empty() {
            break;
        }
        let (mut stuck, activity) = (true, writes.activity);
        let mut i = 0;
        while i < clusters.len() {
            let before = clusters[i].instructions();
            let turn = clusters[i].run(&mut writes, &mut outcome.profiler, budget);
            instructions += clusters[i].instructions() - before;
            match turn {
                Turn::Stuck => i += 1,
                Turn::Unfinished | Turn::Parked => {
                    stuck = false;
                    i += 1;
                }
                Turn::Done => {
                    stuck = false;
                    let mut cluster = clusters.remove(i);
                    outcome.findings.extend(cluster.findings());
                    outcome.print(cluster.number, cluster.printed());
                    spare.push(cluster);
                    done += 1;
                    report_progress(machine, done, all);
                }
                Turn::Fatal => break 'launch,
            }
            if instructions > limits.instructions {
                return Err(limits.out_of_instructions());
            }
            if writes.bytes().saturating_add(held) > limits.memory {
                return Err(limits.out_of_memory());
            }
        }
        if instructions >= enough(machine).saturating_mul(at_once) {
            break;
        }
        let hopeless = |cluster: &mut Cluster<'_>| !cluster.has_patience();
        if stuck && writes.activity == activity && clusters.iter_mut().all(hopeless) {
            clusters[0].report_deadlock(&mut writes, &mut outcome.profiler);
            break;
        }
    }
    // Collect the findings of clusters stopped by a fault or a deadlock.
    for cluster in &mut clusters {
        outcome.findings.extend(cluster.findings());
        outcome.print(cluster.number, cluster.printed());
    }
    outcome.writes.push(writes);
    Ok(outcome)
}
