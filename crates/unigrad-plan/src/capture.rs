//! From live expressions to a key: the walk that every evaluation makes, hit or miss.
//!
//! In: the expressions that are wanted. Out: their graph in canonical order with a 128-bit key, the data and scalars it runs on, and
//! which nodes must have data afterwards.
//! Always: the key covers ops, attributes, dtypes, shapes, devices, wiring, live outputs and which inputs may be overwritten;
//! run-time scalars are not in it. Structure is compared exactly on a hit ([`Capture::same_structure`]).
//! A node that another evaluation has claimed alone ([`unigrad_graph::Claim`]) ends the walk ([`Capture::busy`]): nothing below it is looked at.
//! Never: recurses, or holds a lock while it walks.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unigrad_graph::{Error, Expr, NodeId, Op};

/// A node of the capture.
#[derive(Clone, Debug)]
pub(crate) struct Captured {
    pub(crate) expr: Expr,
    pub(crate) inputs: SmallVec<[u32; 3]>,
    pub(crate) role: Role,
    /// What the key says about it: of data only shape, dtype and device, for it does not matter what computed them.
    fingerprint: u128,
}

/// What a captured node is to the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// Data: which of the inputs.
    External(u32),
    /// A run-time scalar: which one.
    Scalar(u32),
    /// To be computed.
    Compute,
}

/// A graph to evaluate.
#[derive(Debug)]
pub struct Capture {
    pub(crate) nodes: Vec<Captured>,
    /// Nodes with data, in order of discovery.
    pub externals: Vec<Expr>,
    /// Whether each may be overwritten: nobody but this graph can ever read it again.
    pub donatable: Vec<bool>,
    /// Raw words of the run-time scalars.
    pub scalars: Vec<u64>,
    /// Positions of the nodes that get data.
    pub(crate) outputs: Vec<u32>,
    /// Whether somebody outside of the graph holds each node.
    pub(crate) held: Vec<bool>,
    /// Copies from other devices that are still to be made, and made first: the graph beyond them is another capture.
    pub copies: Vec<Expr>,
    /// A node that another evaluation computes at this moment: the walk ended there, and is to be begun again when that one is done.
    pub busy: Option<Expr>,
    /// The key.
    pub key: u128,
}

/// The node that holds the value: variables, and views that change nothing, are the identity.
pub fn resolve(expr: &Expr) -> Expr {
    let mut expr = expr.clone();
    while expr.data().is_none() && expr.is_alias() {
        match expr.input(0) {
            Some(input) => expr = input,
            None => break,
        }
    }
    expr
}

/// Operations per element up to which a value is rather computed again from data than stored for a handle that nobody asked about.
const CHEAP: u32 = 8;
const NOT_CHEAP: u32 = u32::MAX;

fn mix(key: u128, word: u128) -> u128 {
    // One round of a multiply-fold over 128 bits; both halves depend on all of the input.
    const A: u64 = 0x9e37_79b9_7f4a_7c15;
    const B: u64 = 0xd1b5_4a32_d192_ed03;
    let x = key ^ word;
    let (low, high) = (x as u64, (x >> 64) as u64);
    let first = u128::from(low ^ A) * u128::from(high.rotate_left(23) ^ B);
    let second = u128::from(high ^ A) * u128::from(low.rotate_left(41) | 1);
    first ^ second.rotate_left(64) ^ (x << 1)
}

impl Capture {
    /// Walks the graph of `targets`. Errors of invalid nodes surface here.
    pub fn new(targets: &[Expr]) -> Result<Capture, std::sync::Arc<Error>> {
        let mut capture = Capture {
            nodes: Vec::new(),
            externals: Vec::new(),
            donatable: Vec::new(),
            scalars: Vec::new(),
            outputs: Vec::new(),
            held: Vec::new(),
            copies: Vec::new(),
            busy: None,
            key: 0,
        };
        let mut position: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut stack: Vec<(Expr, bool)> = Vec::with_capacity(64);
        let mut in_graph: Vec<u32> = Vec::new();
        for target in targets {
            stack.push((resolve(target), false));
            while let Some((expr, expanded)) = stack.pop() {
                if position.contains_key(&expr.id()) {
                    continue;
                }
                if let Some(error) = expr.error() {
                    return Err(error.clone());
                }
                // Asked before the data: an evaluation that ends meanwhile has given the data when the node is free.
                let is_claimed = expr.claim().is_taken();
                let role = match expr.op() {
                    _ if expr.data().is_some() => Role::External(capture.externals.len() as u32),
                    Op::Scalar => Role::Scalar(capture.scalars.len() as u32),
                    _ => Role::Compute,
                };
                if role == Role::Compute && is_claimed {
                    capture.busy = Some(expr);
                    return Ok(capture);
                }
                if role == Role::Compute && matches!(expr.op(), Op::Copy) {
                    position.insert(expr.id(), 0);
                    capture.copies.push(expr);
                    continue;
                }
                if role == Role::Compute && !expanded {
                    let inputs = expr.inputs();
                    let fresh = inputs.iter().rev().filter(|input| !position.contains_key(&input.id()));
                    let fresh: SmallVec<[Expr; 4]> = fresh.cloned().collect();
                    drop(inputs);
                    if !fresh.is_empty() {
                        stack.push((expr, true));
                        stack.extend(fresh.into_iter().map(|input| (input, false)));
                        continue;
                    }
                }
                // After a copy the walk only looks for others: all is walked again when they are made.
                match capture.copies.is_empty() {
                    true => capture.push(expr, role, &mut position, &mut in_graph)?,
                    false => _ = position.insert(expr.id(), 0),
                }
            }
        }
        if !capture.copies.is_empty() {
            return Ok(capture);
        }
        capture.find_outputs(targets, &position, &in_graph)?;
        for node in &capture.outputs {
            capture.key = mix(capture.key, u128::from(*node) | 1 << 100);
        }
        for (i, donatable) in capture.donatable.iter().enumerate() {
            if *donatable {
                capture.key = mix(capture.key, i as u128 | 1 << 101);
            }
        }
        Ok(capture)
    }

    fn push(
        &mut self,
        expr: Expr,
        role: Role,
        position: &mut FxHashMap<NodeId, u32>,
        in_graph: &mut Vec<u32>,
    ) -> Result<(), std::sync::Arc<Error>> {
        let mut inputs: SmallVec<[u32; 3]> = SmallVec::new();
        let fingerprint = if let Role::External(_) = role { expr.data_fingerprint() } else { expr.fingerprint() };
        self.key = mix(self.key, fingerprint);
        match role {
            Role::External(_) => {
                self.externals.push(expr.clone());
                self.key = mix(self.key, 1 << 102);
            }
            Role::Scalar(_) => {
                let value = expr.scalar_value().ok_or_else(|| Error::internal(&expr, "a run-time scalar without a value"))?;
                self.scalars.push(value.to_raw());
            }
            Role::Compute => {
                for input in expr.inputs().iter() {
                    let index = position.get(&input.id()).ok_or_else(|| Error::internal(&expr, "an input that was not walked"))?;
                    inputs.push(*index);
                    in_graph[*index as usize] += 1;
                    self.key = mix(self.key, u128::from(*index) | 1 << 99);
                }
            }
        }
        position.insert(expr.id(), self.nodes.len() as u32);
        in_graph.push(0);
        self.nodes.push(Captured { expr, inputs, role, fingerprint });
        Ok(())
    }

    /// Besides the targets: what somebody outside of the graph can still see, unless it is as cheap to compute again.
    fn find_outputs(&mut self, targets: &[Expr], position: &FxHashMap<NodeId, u32>, in_graph: &[u32]) -> Result<(), std::sync::Arc<Error>> {
        let mut wanted = vec![false; self.nodes.len()];
        let mut held = vec![false; self.nodes.len()];
        for target in targets {
            let index = *position.get(&resolve(target).id()).ok_or_else(|| Error::internal(target, "a target that was not walked"))?;
            wanted[index as usize] = self.nodes[index as usize].role == Role::Compute || self.is_leaf_scalar(index);
            held[index as usize] = true;
        }
        // A node that only rearranges what is in memory, or that few operations per element make from it, is not worth storing for a reader
        // that may never come: handles are often temporaries of an expression, `(&x * &w + &b).relu()`.
        let mut operations = vec![NOT_CHEAP; self.nodes.len()];
        for i in 0..self.nodes.len() {
            let node = &self.nodes[i];
            let is_view = matches!(
                node.expr.op(),
                Op::Reshape
                    | Op::Permute(_)
                    | Op::Expand
                    | Op::Slice(_)
                    | Op::Const(_)
                    | Op::Iota { .. }
                    | Op::Scalar
                    | Op::Cast
                    | Op::Window { .. }
                    | Op::Variable(_)
            );
            let parts = matches!(node.expr.op(), Op::Attention(_) | Op::AttentionGrad(_) | Op::MaxPool(_));
            operations[i] = match node.expr.op() {
                _ if node.role != Role::Compute => 0,
                Op::Unary(_) | Op::Binary(_) | Op::Where => self.operations_below(i, &operations).saturating_add(1),
                _ if is_view => self.operations_below(i, &operations),
                // Its value is its first input; what its gradient needs is not computed for it.
                Op::Custom(_) => self.nodes[i].inputs.first().map_or(NOT_CHEAP, |value| operations[*value as usize]),
                _ => NOT_CHEAP,
            };
            let external = matches!(node.role, Role::External(_));
            // One reference is the capture's own; an external is also in its list of externals.
            let own = 1 + usize::from(external);
            let seen_outside = node.expr.reference_count() > in_graph[i] as usize + own;
            held[i] |= seen_outside;
            if seen_outside && operations[i] > CHEAP && !parts {
                // A variable is seen through to its value.
                let mut at = i;
                while let (true, Some(input)) = (self.nodes[at].expr.is_alias(), self.nodes[at].inputs.first()) {
                    at = *input as usize;
                }
                wanted[at] = self.nodes[at].role == Role::Compute;
            }
        }
        self.outputs = (0..self.nodes.len() as u32).filter(|i| wanted[*i as usize]).collect();
        // An input may be overwritten if nobody holds it and nothing that stays behind can ask for it again.
        let mut pinned = held.clone();
        self.held = held;
        for i in (0..self.nodes.len()).rev() {
            let node = &self.nodes[i];
            let stays = match node.role {
                Role::Compute if wanted[i] => node.expr.needs_grad() && !node.expr.is_consumed(),
                Role::Compute => pinned[i],
                _ => false,
            };
            if stays {
                for input in node.inputs.clone() {
                    pinned[input as usize] = true;
                }
            }
        }
        self.donatable =
            self.nodes.iter().enumerate().filter(|(_, n)| matches!(n.role, Role::External(_))).map(|(i, _)| !pinned[i]).collect();
        Ok(())
    }

    /// Of all inputs of a node together.
    fn operations_below(&self, node: usize, operations: &[u32]) -> u32 {
        self.nodes[node].inputs.iter().fold(0, |sum, input| sum.saturating_add(operations[*input as usize]))
    }

    fn is_leaf_scalar(&self, index: u32) -> bool {
        matches!(self.nodes[index as usize].role, Role::Scalar(_))
    }

    /// The nodes that get data, in the order of the plan's outputs.
    pub fn outputs(&self) -> impl Iterator<Item = &Expr> {
        self.outputs.iter().map(|index| &self.nodes[*index as usize].expr)
    }

    /// The nodes in between, which are computed and not kept: a plan is made from their inputs.
    pub fn passed(&self) -> impl Iterator<Item = &Expr> {
        let is_passed = |i: usize, node: &Captured| {
            node.role == Role::Compute && !node.inputs.is_empty() && self.outputs.binary_search(&(i as u32)).is_err()
        };
        self.nodes.iter().enumerate().filter(move |(i, node)| is_passed(*i, node)).map(|(_, node)| &node.expr)
    }

    /// The nodes of the run-time scalars.
    pub fn scalar_nodes(&self) -> impl Iterator<Item = &Expr> {
        self.nodes.iter().filter(|node| matches!(node.role, Role::Scalar(_))).map(|node| &node.expr)
    }

    /// Positions, among [`Capture::outputs`], of what is assigned.
    pub fn assigned(&self) -> impl Iterator<Item = usize> {
        self.outputs().enumerate().filter(|(_, expr)| matches!(expr.op(), Op::Commit)).map(|(i, _)| i)
    }

    /// How many nodes were walked.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// What a cached plan keeps to be sure that it fits.
    pub(crate) fn structure(&self) -> Vec<(u128, SmallVec<[u32; 3]>, Role)> {
        self.nodes.iter().map(|node| (node.fingerprint, node.inputs.clone(), node.role)).collect()
    }

    /// Whether a plan made for that structure is right for this graph.
    pub(crate) fn same_structure(&self, structure: &[(u128, SmallVec<[u32; 3]>, Role)]) -> bool {
        self.nodes.len() == structure.len()
            && self
                .nodes
                .iter()
                .zip(structure)
                .all(|(node, (fingerprint, inputs, role))| node.fingerprint == *fingerprint && node.role == *role && node.inputs == *inputs)
    }
}
