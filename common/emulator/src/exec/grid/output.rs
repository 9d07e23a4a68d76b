//! What clusters have done, in the order of their numbers.
use std::collections::BTreeMap;

use crate::Printed;
use crate::exec::machine::Machine;
use crate::exec::profiler::Profiler;
use crate::finding::Finding;
use crate::memory::Writes;

pub(in crate::exec) struct ClusterOutput {
    pub profiler: Profiler,
    pub findings: Vec<Finding>,
    /// In the order of the clusters.
    pub writes: Vec<Writes>,
    /// By the number of the cluster.
    pub printed: BTreeMap<u64, Vec<Printed>>,
}

impl ClusterOutput {
    pub fn new(machine: &Machine<'_>) -> Self {
        Self {
            profiler: profiler(machine),
            findings: Vec::new(),
            writes: Vec::new(),
            printed: BTreeMap::new(),
        }
    }

    /// Adds the results of later clusters.
    pub fn add(&mut self, other: Self) {
        self.profiler.add(other.profiler);
        self.findings.extend(other.findings);
        self.writes.extend(other.writes);
        self.printed.extend(other.printed);
    }

    /// Stores the output of a cluster; most print nothing.
    pub fn print(&mut self, cluster: u64, printed: Vec<Printed>) {
        if !printed.is_empty() {
            self.printed.insert(cluster, printed);
        }
    }
}

pub(super) fn profiler(machine: &Machine<'_>) -> Profiler {
    let program = machine.program;
    Profiler::new(program.ops.len(), program.slots, machine.options)
}
