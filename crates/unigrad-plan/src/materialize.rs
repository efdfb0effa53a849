//! What is worth storing: the first half of [`crate::fuse`].
//!
//! In: the compiler's graph. Out: the nodes that may be stored; every other one is computed wherever it is read.
//! Always: outputs, heavy kernels and what they read (but for the prologues of products), reductions, updates of what is in memory, and expensive
//! values with several readers (where such a value is one of a half type made wider, the half one); no tree between them is deeper, larger, or reads
//! more buffers and scalars than a kernel can take. Never: decides what shares a kernel.

use crate::emit::map_cost;
use crate::fuse::{Fusion, reads_through_views, view_base};
use crate::ir::{Id, IrOp, Kind};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use unigrad_graph::Op;

/// Longest chain that is computed in one go, and most nodes.
const MAX_DEPTH: usize = 96;
const MAX_SIZE: usize = 256;
/// Elements below which a value costs next to nothing to store, and launches that read the same memory are rather one.
const FEW: usize = 1 << 16;
/// A concatenation of more parts is written part by part.
const MAX_SELECTED_PARTS: usize = 4;

/// What it takes to compute a node from what is stored.
#[derive(Clone, Default)]
struct Tree {
    /// In additions per element.
    cost: usize,
    /// Of that what computes: all but views.
    maps: usize,
    loads: usize,
    depth: usize,
    size: usize,
    /// The stored nodes and the run-time scalars that it reads, ascending.
    buffers: Members,
    scalars: Members,
}

type Members = SmallVec<[u32; 4]>;

impl Tree {
    /// A node that is read from memory.
    fn stored(id: Id) -> Tree {
        Tree { loads: 1, buffers: SmallVec::from_slice(&[id]), ..Tree::default() }
    }
}

fn unite(into: &mut Members, from: &[u32]) {
    for member in from {
        if let Err(at) = into.binary_search(member) {
            into.insert(at, *member);
        }
    }
}

impl Fusion<'_> {
    /// Decides what may be stored.
    pub(crate) fn mark(&mut self, enabled: bool) -> Result<(), String> {
        let n = self.ir.nodes.len();
        for id in 0..n as Id {
            self.mark_inputs(id, enabled)?;
        }
        // How many kernels might compute a node: its readers, looked up through views.
        let mut readers = vec![0usize; n];
        for id in (0..n).rev() {
            let through = |user: &Id| if self.ir.kind(*user) == Kind::View { readers[*user as usize].max(1) } else { 1 };
            readers[id] = self.users[id].iter().map(through).fold(0, usize::saturating_add);
        }
        let mut trees: Vec<Tree> = Vec::with_capacity(n);
        for id in 0..n as Id {
            self.keep_apart(id, &mut trees)?;
            let mut tree = self.tree(id, &mut trees);
            if let Some(narrow) = self.widened(id, &tree, &readers) {
                // The narrow value takes half the memory, and to widen it costs nothing.
                self.marked.insert(narrow);
                trees[narrow as usize] = Tree::stored(narrow);
                tree = self.tree(id, &mut trees);
            }
            if self.ir.kind(id) != Kind::External && (self.marked.contains(&id) || self.is_stored(id, enabled, &tree, &trees, &readers)) {
                self.marked.insert(id);
                trees.push(Tree::stored(id));
            } else {
                trees.push(tree);
            }
        }
        Ok(())
    }

    /// What a kernel of its own reads.
    fn mark_inputs(&mut self, id: Id, enabled: bool) -> Result<(), String> {
        let IrOp::Op(op) = &self.ir.node(id).op else { return Ok(()) };
        if self.ir.kind(id) == Kind::Heavy && !matches!(op, Op::Part(_)) {
            for (i, input) in self.ir.node(id).inputs.iter().enumerate() {
                let is_scalar = matches!(self.ir.node(*input).op, IrOp::Scalar(_));
                let is_number = if let Op::Kernel(spec) = op {
                    i >= spec.n_tensors
                } else if let Op::Attention(spec) | Op::AttentionGrad(spec) = op {
                    // Of a tensor that is one run-time number everywhere the kernel wants the elements.
                    is_scalar && spec.numbers().contains(&i)
                } else {
                    false
                };
                if is_number {
                    continue;
                }
                if matches!(op, Op::Scatter { .. }) && i == 0 && self.ir.constant_of(*input).is_some() {
                    continue;
                }
                let through = enabled && reads_through_views(op, i);
                let mut base = *input;
                if i == 0
                    && let Some(over) = crate::lower::over(self.ir, id)
                {
                    base = over;
                }
                if through && !self.is_worth_a_copy(id, i) {
                    let may_split = matches!(op, Op::MatMul);
                    base = view_base(self.ir, *input, may_split)?;
                    if may_split && let Some(made) = self.is_prologue(*input, base) {
                        self.prologues.insert(base);
                        for id in made {
                            self.marked.insert(id);
                            self.decoded.insert(base);
                        }
                        continue;
                    }
                    if may_split && self.is_padding(base) {
                        self.prologues.insert(base);
                        // What the zeros are around is in memory.
                        base = view_base(self.ir, self.ir.node(base).inputs[0], false)?;
                    }
                }
                if self.ir.kind(base) != Kind::External {
                    self.marked.insert(base);
                }
            }
        }
        if let Op::Gather { .. } = op {
            self.mark_data_of_gather(self.ir.node(id).inputs[0]);
        }
        Ok(())
    }

    /// A node's tree from those of its inputs. Inputs are stored where it would read more than a launch can pass.
    fn tree(&mut self, id: Id, trees: &mut [Tree]) -> Tree {
        let node = self.ir.node(id);
        if self.ir.kind(id) == Kind::External {
            return Tree::stored(id);
        }
        loop {
            let cost = map_cost(&node.op);
            let maps = match (self.ir.kind(id), &node.op) {
                // It reads an index, and then wherever that is.
                (_, IrOp::Op(Op::Gather { .. })) => usize::MAX,
                (Kind::Map, _) => cost,
                _ => 0,
            };
            let mut tree = Tree { cost, maps, depth: 1, size: 1, ..Tree::default() };
            if let IrOp::Scalar(slot) = node.op {
                tree.scalars.push(slot);
            }
            for input in &node.inputs {
                let below = &trees[*input as usize];
                // What several inputs share counts for each, which grows fast.
                tree.cost = tree.cost.saturating_add(below.cost);
                tree.maps = tree.maps.saturating_add(below.maps);
                tree.loads = tree.loads.saturating_add(below.loads);
                tree.depth = tree.depth.max(below.depth + 1);
                tree.size = tree.size.saturating_add(below.size);
                unite(&mut tree.buffers, &below.buffers);
                unite(&mut tree.scalars, &below.scalars);
            }
            // One buffer more is written.
            let (buffers, scalars) = (tree.buffers.len() >= self.max_buffers, tree.scalars.len() > self.max_scalars);
            if !(buffers || scalars) || self.ir.kind(id) == Kind::Heavy || self.writes_inputs_apart(id) {
                return tree;
            }
            // The input that brings most of them, unless it is but one buffer or scalar itself.
            let brings = |input: &Id| {
                let below = &trees[*input as usize];
                if scalars { below.scalars.len() } else { below.buffers.len() }
            };
            match node.inputs.iter().max_by_key(|input| (brings(input), **input)).copied().filter(|input| brings(input) > 1) {
                Some(most) => {
                    self.marked.insert(most);
                    trees[most as usize] = Tree::stored(most);
                }
                None => return tree,
            }
        }
    }

    /// Whether each input goes into memory by a kernel of its own.
    fn writes_inputs_apart(&self, id: Id) -> bool {
        let node = self.ir.node(id);
        matches!(node.op, IrOp::Op(Op::Concat { .. })) && node.inputs.len() > MAX_SELECTED_PARTS
    }

    /// Whether a node is a concatenation that is a part of one that is written part by part.
    fn is_part(&self, id: Id) -> bool {
        let parts = |user: &Id| self.writes_inputs_apart(*user);
        let is_concatenation = matches!(self.ir.node(id).op, IrOp::Op(Op::Concat { .. }));
        is_concatenation
            && self.users[id as usize].iter().any(|user| {
                let reshaped = self.ir.node(*user).op == IrOp::Op(Op::Reshape);
                parts(user) || (reshaped && self.users[*user as usize].iter().any(parts))
            })
    }

    /// Whether to compute a value again takes no more than to read it. What has fewer elements than the value, as a number per row, is read from a cache.
    fn is_recomputed(&self, id: Id, tree: &Tree) -> bool {
        let n = self.ir.numel(id);
        let is_large = |buffer: &&u32| self.ir.numel(**buffer) > n / 2;
        let is_cheaper = || tree.maps <= self.recompute && tree.buffers.iter().filter(is_large).count() <= 1;
        tree.cost <= 3 && tree.loads <= 1 || n >= FEW && is_cheaper()
    }

    /// Whether a node that is computed from this tree is worth a place in memory.
    fn is_stored(&mut self, id: Id, enabled: bool, tree: &Tree, trees: &[Tree], readers: &[usize]) -> bool {
        let node = self.ir.node(id);
        let kind = self.ir.kind(id);
        let is_leaf = node.inputs.is_empty();
        let is_value = kind == Kind::Map && !is_leaf;
        let spread = || {
            self.users[id as usize].iter().any(|user| {
                matches!(self.ir.node(*user).op, IrOp::Op(Op::Expand | Op::Window { .. })) && self.ir.numel(*user) > self.ir.numel(id)
            })
        };
        self.outputs.contains(&id)
            || matches!(kind, Kind::Heavy | Kind::Reduce)
            || tree.depth > MAX_DEPTH
            || tree.size > MAX_SIZE
            || self.writes_inputs_apart(id)
            || (is_value && readers[id as usize] >= 2 && !self.is_recomputed(id, tree) && !self.decoded.contains(&id))
            || (is_value && tree.cost >= 12 && spread())
            || (readers[id as usize] >= 2 && self.is_part(id))
            || (!enabled && (kind == Kind::Map || !matches!(node.op, IrOp::Op(Op::Const(_)))) && !matches!(node.op, IrOp::Scalar(_)))
            || self.is_update_in_memory(id, trees)
    }

    /// The value of a half type that the node is made wider from, if the node would be stored for its readers alone.
    fn widened(&self, id: Id, tree: &Tree, readers: &[usize]) -> Option<Id> {
        let node = self.ir.node(id);
        let is_cast = node.op == IrOp::Op(Op::Cast) && node.dtype.is_float();
        if !is_cast || readers[id as usize] < 2 || self.is_recomputed(id, tree) || self.outputs.contains(&id) {
            return None;
        }
        let n = self.ir.numel(id);
        let mut narrow = node.inputs[0];
        while self.ir.kind(narrow) == Kind::View && self.ir.node(narrow).inputs.len() == 1 && self.ir.numel(narrow) == n {
            narrow = self.ir.node(narrow).inputs[0];
        }
        let below = self.ir.node(narrow);
        let is_value = self.ir.kind(narrow) == Kind::Map && !below.inputs.is_empty() && self.ir.numel(narrow) == n;
        (is_value && below.dtype.is_float() && below.dtype.size() < node.dtype.size()).then_some(narrow)
    }

    /// An update is written where it belongs, so that only its own elements are touched. What puts something that is there already into a
    /// constant is read as a view, like a pad.
    fn is_update_in_memory(&self, id: Id, trees: &[Tree]) -> bool {
        let node = self.ir.node(id);
        if !matches!(node.op, IrOp::Op(Op::DynUpdate { .. })) || self.ir.numel(node.inputs[1]) == 0 {
            return false;
        }
        let [base, update] = [node.inputs[0], node.inputs[1]];
        self.ir.constant_of(base).is_none() || trees[update as usize].cost > 0
    }

    /// An update that is made from other elements than those it overwrites exists before anything is overwritten.
    fn keep_apart(&mut self, id: Id, trees: &mut [Tree]) -> Result<(), String> {
        let node = self.ir.node(id);
        let IrOp::Op(Op::DynUpdate { axis }) = node.op else { return Ok(()) };
        let (base, update) = (self.ir.in_memory_as(node.inputs[0]), node.inputs[1]);
        let computed = self.ir.kind(update) != Kind::External && !self.marked.contains(&update);
        if computed && trees[update as usize].buffers.contains(&base) && !self.replaces_in_step(id, axis, trees)? {
            self.marked.insert(update);
            trees[update as usize] = Tree::stored(update);
        }
        Ok(())
    }

    /// Whether each element of an update is made from no element of what is updated but the one that it replaces.
    fn replaces_in_step(&self, id: Id, axis: usize, trees: &[Tree]) -> Result<bool, String> {
        let [base, update, start] = self.ir.node(id).inputs[..] else {
            return Err(self.ir.impossible(id, "an update has three inputs"));
        };
        let below = self.ir.in_memory_as(base);
        let mut stack = vec![update];
        let mut seen = FxHashSet::default();
        while let Some(id) = stack.pop() {
            if !seen.insert(id) || !trees[id as usize].buffers.contains(&below) {
                continue;
            }
            let node = self.ir.node(id);
            let is_value = self.ir.kind(id) == Kind::Map && !self.marked.contains(&id);
            let replaced = node.op == IrOp::Op(Op::DynSlice { axis }) && node.inputs[..] == [base, start];
            match (replaced, is_value) {
                (true, _) => {}
                (false, true) => stack.extend(&node.inputs),
                (false, false) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// A weight that many short products read across the grain, as a recurrent layer does, is turned once instead of by each.
    fn is_worth_a_copy(&self, product: Id, input: usize) -> bool {
        const PRODUCTS: usize = 8;
        const ROWS: usize = 64;
        let node = self.ir.node(product);
        let view = node.inputs[input];
        let rank = node.shape.len();
        node.op == IrOp::Op(Op::MatMul)
            && input == 1
            && matches!(self.ir.node(view).op, IrOp::Op(Op::Permute(_)))
            && node.shape[rank - 2] <= ROWS
            && self.users[view as usize].iter().filter(|user| self.ir.node(**user).op == IrOp::Op(Op::MatMul)).count() >= PRODUCTS
    }

    /// What a gather reads at computed places should be cheap there: stored, or a view of something stored.
    fn mark_data_of_gather(&mut self, data: Id) {
        let mut id = data;
        while self.ir.kind(id) == Kind::View && self.ir.node(id).inputs.len() == 1 {
            id = self.ir.node(id).inputs[0];
        }
        if self.ir.kind(id) == Kind::Map && !self.ir.node(id).inputs.is_empty() {
            self.marked.insert(id);
        }
    }
}
