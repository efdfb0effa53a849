//! Batching: a recorded function of one slice becomes one of all slices.
//!
//! In: stand-ins for slices, and what a function made of them. Out: the same for tensors with one more axis, the first, along which the slices lie.
//! Always: a node that no slice reaches stays as it is, once for all; every op has a rule in [`rules`], which gives what the op gives slice by slice;
//! nodes need gradients where those that they stand for did; nothing recurses.
//! Never: computes, or looks at how many slices there are but for shapes (a custom kernel alone runs once a slice).

mod custom;
mod products;
mod rules;

use crate::{Error, ErrorKind, Expr, Inputs, NodeId, Op, enable_grad_guard, next_id, no_grad_guard, ops};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::{
    cell::RefCell,
    sync::{Arc, Mutex, PoisonError},
};

/// What random ops of a mapped function draw for the slices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Randomness {
    /// Nothing: they are an error.
    #[default]
    Error,
    /// Other numbers for each slice.
    Different,
    /// The same numbers for all.
    Same,
}

/// A function that is mapped over the slices of tensors.
#[derive(Debug)]
pub struct Mapping {
    size: usize,
    randomness: Randomness,
    /// Nodes with smaller ids know no slice.
    since: NodeId,
    /// Stand-ins of slices, and the tensors with all of them along axis 0.
    arguments: Vec<(Expr, Expr)>,
    /// Seeds and offsets of what the function drew.
    draws: Mutex<FxHashSet<(u64, u64)>>,
}

/// A node for all slices.
#[derive(Clone, Debug)]
pub struct Batched {
    /// With axis 0 along the slices if it is mapped.
    pub expr: Expr,
    /// Whether it depends on the slice.
    pub mapped: bool,
}

thread_local! {
    /// The mapped functions that run on this thread, innermost last.
    static RUNNING: RefCell<Vec<Arc<Mapping>>> = const { RefCell::new(Vec::new()) };
}

/// Takes the innermost function away when it drops, after a panic too.
struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.with(|running| running.borrow_mut().pop());
    }
}

/// Tells the functions that run on this thread that random numbers with this seed and offset were drawn for them.
pub fn random_drawn(seed: u64, offset: u64) {
    RUNNING.with(|running| {
        for mapping in running.borrow().iter() {
            mapping.draws.lock().unwrap_or_else(PoisonError::into_inner).insert((seed, offset));
        }
    });
}

impl Mapping {
    /// For functions of tensors with all slices (`size` of them) along axis 0.
    pub fn new(size: usize, randomness: Randomness, all: &[Expr]) -> Mapping {
        let since = next_id();
        let arguments = all.iter().map(|all| (all.slice_stand_in(), all.clone())).collect();
        Mapping { size, randomness, since, arguments, draws: Mutex::default() }
    }

    /// Stand-ins for one slice of each tensor.
    pub fn stand_ins(&self) -> impl Iterator<Item = &Expr> {
        self.arguments.iter().map(|(stand_in, _)| stand_in)
    }

    /// Runs the function; what it draws is known as its own.
    pub fn run<T>(self: &Arc<Mapping>, f: impl FnOnce() -> T) -> T {
        RUNNING.with(|running| running.borrow_mut().push(self.clone()));
        let _running = Running;
        f()
    }

    /// Whether a node was computed from a slice.
    pub fn reaches(&self, node: &Expr) -> bool {
        node.depends_on(self.stand_ins())
    }

    /// What the function made of one slice, for all. An error where an op cannot be mapped.
    #[track_caller]
    pub fn batch(self: &Arc<Mapping>, results: &[Expr]) -> Result<Vec<Batched>, Error> {
        Walk::new(self).all(results)
    }

    /// Whether the numbers of this seed and offset differ between the slices. A number's place is apart from the offset in what it is made of, so those
    /// of more slices are new too.
    fn differs(&self, seed: &Expr, offset: &Expr) -> Result<bool, Error> {
        let (Some(first), Some(second)) = (seed.scalar_value(), offset.scalar_value()) else { return Ok(false) };
        let drawn = (first.to_raw(), second.to_raw());
        if !self.draws.lock().unwrap_or_else(PoisonError::into_inner).contains(&drawn) {
            return Ok(false);
        }
        match self.randomness {
            Randomness::Different => Ok(true),
            Randomness::Same => Ok(false),
            Randomness::Error => {
                let message = "random numbers are drawn in a mapped function".to_owned();
                let help = "say whether each slice has its own: `Randomness::Different`, or `Randomness::Same`";
                Err(error_at(offset, ErrorKind::Argument, message, help))
            }
        }
    }
}

/// An error of `vmap` at a node.
#[track_caller]
fn error_at(node: &Expr, kind: ErrorKind, message: String, help: &str) -> Error {
    let of = (format!("{} {:?} {}", node.op().name(), node.shape(), node.dtype()), node.origin());
    Error { kind, op: "vmap".into(), message, help: help.into(), origin: node.origin(), inputs: vec![of] }
}

/// What is known of a recorded node.
#[derive(Clone)]
enum Known {
    /// It is the same for all slices, and stays.
    Same,
    /// What takes its place.
    New(Batched),
    /// Several results for all slices: in the node, slices and the first axis are one axis.
    Folded(Expr),
    /// Several results, each of which is made of other recorded nodes.
    Apart,
}

/// What is to be done with a recorded node.
enum Work {
    Visit(Expr),
    /// Its inputs are known.
    Apply(Expr),
    /// It is what the other recorded node is.
    Take(Expr, Expr),
}

/// The rewriting of recorded nodes.
struct Walk<'a> {
    mapping: &'a Arc<Mapping>,
    known: FxHashMap<NodeId, Known>,
    /// The results of composites, op by op.
    inlined: FxHashMap<NodeId, Vec<Expr>>,
}

impl<'a> Walk<'a> {
    fn new(mapping: &'a Arc<Mapping>) -> Walk<'a> {
        let mut walk = Walk { mapping, known: FxHashMap::default(), inlined: FxHashMap::default() };
        for (stand_in, all) in &mapping.arguments {
            walk.replace(stand_in, all, true);
        }
        walk
    }

    /// From now on a recorded node is this one.
    fn replace(&mut self, node: &Expr, expr: &Expr, mapped: bool) {
        self.known.insert(node.id(), Known::New(Batched { expr: expr.clone(), mapped }));
    }

    #[track_caller]
    fn all(&mut self, results: &[Expr]) -> Result<Vec<Batched>, Error> {
        let mut stack: Vec<Work> = results.iter().rev().cloned().map(Work::Visit).collect();
        while let Some(work) = stack.pop() {
            match work {
                Work::Visit(node) => {
                    if self.known.contains_key(&node.id()) {
                        continue;
                    }
                    if let Some(error) = node.error() {
                        return Err((**error).clone());
                    }
                    if node.id() < self.mapping.since || node.data().is_some() {
                        self.known.insert(node.id(), Known::Same);
                        continue;
                    }
                    let inputs = node.inputs().clone();
                    stack.push(Work::Apply(node));
                    stack.extend(inputs.into_iter().rev().map(Work::Visit));
                }
                Work::Apply(node) => {
                    if self.known.contains_key(&node.id()) {
                        continue;
                    }
                    if let Some(from) = self.apply(&node)? {
                        stack.push(Work::Take(node, from.clone()));
                        stack.push(Work::Visit(from));
                    }
                }
                Work::Take(node, from) => {
                    let batched = self.value(&from)?;
                    self.known.insert(node.id(), Known::New(batched));
                }
            }
        }
        results.iter().map(|result| self.value(result)).collect()
    }

    /// What a recorded node is for all slices.
    #[track_caller]
    fn value(&self, node: &Expr) -> Result<Batched, Error> {
        match self.known.get(&node.id()) {
            Some(Known::Same) => Ok(Batched { expr: node.clone(), mapped: false }),
            Some(Known::New(batched)) => Ok(batched.clone()),
            // The value of a node with several results is the first.
            Some(Known::Folded(whole)) => Ok(Batched { expr: self.unfolded(&whole.part(0), node), mapped: true }),
            Some(Known::Apart) | None => Err((*Error::internal(node, "a node without a value for all slices")).clone()),
        }
    }

    /// A result whose first axis is that of the slices and that of `like` in one.
    #[track_caller]
    fn unfolded(&self, folded: &Expr, like: &Expr) -> Expr {
        folded.reshape(&rules::with_slices(self.mapping.size, like.shape()))
    }

    /// Finds what takes a node's place from what takes that of its inputs; or another recorded node that is the same.
    #[track_caller]
    fn apply(&mut self, node: &Expr) -> Result<Option<Expr>, Error> {
        let _origin = node.origin().enter();
        // As it was when the node was recorded.
        let _guards = match node.needs_grad() {
            true => (None, Some(enable_grad_guard())),
            false => (Some(no_grad_guard()), None),
        };
        let old = node.inputs().clone();
        if let (Op::Part(i), Some(parent)) = (node.op(), old.first()) {
            match self.known.get(&parent.id()) {
                Some(Known::Folded(whole)) => {
                    let expr = self.unfolded(&whole.part(*i), node);
                    self.settle(node, Batched { expr, mapped: true })?;
                    return Ok(None);
                }
                Some(Known::Apart) => return self.part(node, parent, *i).map(Some),
                _ => {}
            }
        }
        let mut inputs: SmallVec<[Batched; 3]> = SmallVec::new();
        for input in &old {
            inputs.push(self.value(input)?);
        }
        let differs = match (node.op(), old.as_slice()) {
            (Op::Random { .. }, [seed, offset]) => self.mapping.differs(seed, offset)?,
            _ => false,
        };
        let orders_only = matches!(node.op(), Op::Barrier) && inputs.first().is_some_and(|value| !value.mapped);
        if !differs && (orders_only || inputs.iter().all(|input| !input.mapped)) {
            let known = match inputs.iter().zip(&old).all(|(new, old)| new.expr.same(old)) {
                true => Known::Same,
                false => {
                    let inputs: Inputs = inputs.into_iter().map(|input| input.expr).collect();
                    Known::New(Batched { expr: Expr::of_node_type(node.node_type().clone(), inputs), mapped: false })
                }
            };
            self.known.insert(node.id(), known);
            return Ok(None);
        }
        let rule = rules::Rule { node, mapping: self.mapping, inputs: &inputs };
        match node.op() {
            Op::MaxPool(_) | Op::Attention(_) | Op::AttentionGrad(_) | Op::Composite(_) | Op::Loop(_) => {
                let known = rule.folded()?.map_or(Known::Apart, Known::Folded);
                if let Known::Folded(whole) = &known
                    && let Some(error) = whole.error()
                {
                    return Err((**error).clone());
                }
                self.known.insert(node.id(), known);
            }
            Op::Buffer
            | Op::Const(_)
            | Op::Scalar
            | Op::Iota { .. }
            | Op::Random { .. }
            | Op::Variable(_)
            | Op::Unary(_)
            | Op::Binary(_)
            | Op::Where
            | Op::Cast
            | Op::Bitcast
            | Op::Bounded { .. }
            | Op::Reshape
            | Op::Permute(_)
            | Op::Expand
            | Op::Slice(_)
            | Op::Pad(..)
            | Op::Concat { .. }
            | Op::Window { .. }
            | Op::DynSlice { .. }
            | Op::DynUpdate { .. }
            | Op::Reduce(..)
            | Op::ArgReduce(..)
            | Op::Scan { .. }
            | Op::Gather { .. }
            | Op::Scatter { .. }
            | Op::ArgSort { .. }
            | Op::TopK { .. }
            | Op::MatMul
            | Op::Conv(_)
            | Op::ConvDataGrad(_)
            | Op::ConvWeightGrad(_)
            | Op::Softmax { .. }
            | Op::LogSoftmax { .. }
            | Op::Normalize { .. }
            | Op::Part(_)
            | Op::Barrier
            | Op::Kernel(_)
            | Op::Custom(_)
            | Op::Copy
            | Op::Commit(_)
            | Op::Invalid(_) => {
                let expr = rule.apply()?;
                self.settle(node, Batched { expr, mapped: true })?;
            }
        }
        Ok(None)
    }

    fn settle(&mut self, node: &Expr, batched: Batched) -> Result<(), Error> {
        if let Some(error) = batched.expr.error() {
            return Err((**error).clone());
        }
        self.known.insert(node.id(), Known::New(batched));
        Ok(())
    }

    /// Part `i` of a node with several results, of recorded nodes.
    #[track_caller]
    #[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
    fn part(&mut self, node: &Expr, parent: &Expr, i: usize) -> Result<Expr, Error> {
        let found = match parent.op() {
            Op::Composite(composite) => {
                let inputs = parent.inputs().clone();
                self.inlined.entry(parent.id()).or_insert_with(|| composite.inline(&inputs)).get(i).cloned()
            }
            Op::Loop(spec) => {
                let inputs = parent.inputs().clone();
                self.inlined.entry(parent.id()).or_insert_with(|| spec.inline(&inputs)).get(i).cloned()
            }
            _ => ops::decompose(node),
        };
        found.ok_or_else(|| (*Error::internal(node, "a part that is not there")).clone())
    }
}
