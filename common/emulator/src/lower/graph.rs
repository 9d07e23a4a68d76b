//! The control-flow graph: basic blocks, and where the two paths of a branch reconverge.
use crate::op::{Code, Op};

/// Basic blocks of a kernel, in the order of the text.
pub(super) struct Graph {
    /// First operation of each block; a block ends where the next one starts.
    pub starts: Vec<usize>,
    pub successors: Vec<Vec<usize>>,
}

impl Graph {
    pub fn new(ops: &[Op]) -> Self {
        let mut leader = vec![false; ops.len() + 1];
        leader[0] = true;
        for (i, op) in ops.iter().enumerate() {
            match op.code {
                Code::Branch { target, .. } => {
                    leader[target as usize] = true;
                    leader[i + 1] = true;
                }
                Code::Exit | Code::Return | Code::Trap => leader[i + 1] = true,
                Code::Lane(_) | Code::Matrix(_) | Code::Sync(_) | Code::Call(_) => {}
            }
        }
        let starts: Vec<usize> = (0..ops.len()).filter(|&i| leader[i]).collect();
        let block_of = |op: usize| starts.partition_point(|&start| start <= op) - 1;
        let successors = (0..starts.len())
            .map(|block| {
                let last = starts.get(block + 1).copied().unwrap_or(ops.len()) - 1;
                let mut next = Vec::new();
                let falls = match ops[last].code {
                    Code::Branch { target, .. } => {
                        next.push(block_of(target as usize));
                        ops[last].guard.is_some()
                    }
                    Code::Exit | Code::Return | Code::Trap => ops[last].guard.is_some(),
                    Code::Lane(_) | Code::Matrix(_) | Code::Sync(_) | Code::Call(_) => true,
                };
                if falls && last + 1 < ops.len() {
                    next.push(block_of(last + 1));
                }
                next
            })
            .collect();
        Self { starts, successors }
    }

    /// The block that an operation is in.
    pub fn block_of(&self, op: usize) -> usize {
        self.starts
            .partition_point(|&start| start <= op)
            .saturating_sub(1)
    }

    pub fn end(&self, block: usize, ops: usize) -> usize {
        self.starts.get(block + 1).copied().unwrap_or(ops)
    }

    /// Immediate post-dominator of each block; `None` if it is the end of the kernel.
    ///
    /// Cooper, Harvey and Kennedy's iteration, on the reversed graph with one virtual exit.
    fn post_dominators(&self) -> Vec<Option<usize>> {
        let count = self.starts.len();
        let exit = count;
        let mut predecessors = vec![Vec::new(); count + 1];
        for (block, next) in self.successors.iter().enumerate() {
            for &n in next {
                predecessors[n].push(block);
            }
            if next.is_empty() {
                predecessors[exit].push(block);
            }
        }
        // Post-order of the reversed graph from the exit, with an explicit stack.
        let mut number = vec![usize::MAX; count + 1];
        let mut order = Vec::with_capacity(count + 1);
        let mut seen = vec![false; count + 1];
        let mut stack = vec![(exit, 0)];
        seen[exit] = true;
        while let Some((block, child)) = stack.pop() {
            if let Some(&next) = predecessors[block].get(child) {
                stack.push((block, child + 1));
                if !seen[next] {
                    seen[next] = true;
                    stack.push((next, 0));
                }
            } else {
                number[block] = order.len();
                order.push(block);
            }
        }
        let mut dominator = vec![None; count + 1];
        dominator[exit] = Some(exit);
        let common_dominator = |dominator: &[Option<usize>], mut a: usize, mut b: usize| {
            while a != b {
                while number[a] < number[b] {
                    a = dominator[a].unwrap_or(exit);
                }
                while number[b] < number[a] {
                    b = dominator[b].unwrap_or(exit);
                }
            }
            a
        };
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().rev().filter(|&&block| block != exit) {
                let exits = [exit];
                let next = if self.successors[block].is_empty() {
                    &exits[..]
                } else {
                    &self.successors[block][..]
                };
                let mut new = None;
                for &n in next {
                    // A block that never reaches the exit has no number and is ignored.
                    if dominator[n].is_some() {
                        new = Some(new.map_or(n, |other| common_dominator(&dominator, n, other)));
                    }
                }
                if dominator[block] != new {
                    dominator[block] = new;
                    changed = true;
                }
            }
        }
        dominator.truncate(count);
        dominator
            .into_iter()
            .map(|d| d.filter(|&d| d != exit))
            .collect()
    }
}

/// Sets the reconvergence point of every branch. Threads do not reconverge just to exit together:
/// barriers count only the threads that have not exited.
pub(super) fn set_reconvergence(ops: &mut [Op]) {
    let graph = Graph::new(ops);
    let reconvergence = graph.post_dominators();
    for (block, point) in reconvergence.iter().enumerate() {
        let last = graph.end(block, ops.len()) - 1;
        if let Code::Branch { reconvergence, .. } = &mut ops[last].code {
            *reconvergence = point.map_or(u32::MAX, |b| graph.starts[b] as u32);
        }
    }
    for i in 0..ops.len() {
        if let Code::Branch { reconvergence, .. } = ops[i].code
            && let Some(Op {
                guard: None,
                code: Code::Exit,
                ..
            }) = ops.get(reconvergence as usize)
            && let Code::Branch { reconvergence, .. } = &mut ops[i].code
        {
            *reconvergence = u32::MAX;
        }
    }
}
