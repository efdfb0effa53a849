//! Reverse-mode differentiation: more graph from a graph.
//!
//! In: a node and the gradient that arrives at it. Out: gradients as nodes, ready to be differentiated again.
//! Always: nodes are visited once each, from the greatest id down (inputs have smaller ids than their users), so nothing recurses;
//! shares of a gradient are summed in a fixed order.
//! Never: visits what no gradient can reach. What each op does to a gradient stands beside the op, in [`crate::ops`].

use crate::{Error, ErrorKind, Expr, Inputs, NodeId, NodeIndex, Op, VariableId, hooks};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BinaryHeap};
use unigrad_scalar::Origin;

/// The gradients that `dy`, arriving at `node`, sends to nodes it depends on: pairs of a node and its share.
///
/// Inputs that no gradient goes to (indices, comparisons) are missing. For a [`Op::Part`], the pairs speak about the inputs of the node
/// with several outputs.
#[track_caller]
pub fn vjp(node: &Expr, dy: &Expr) -> Result<Vec<(Expr, Expr)>, Error> {
    check_seed(node, dy)?;
    shares(node, dy, &|input| input.dtype().is_float()).map(Shares::into_vec).map_err(begun_at(Origin::current()))
}

/// As [`vjp`], for the inputs that are wanted.
fn shares(node: &Expr, dy: &Expr, wants: &dyn Fn(&Expr) -> bool) -> Result<Shares, Error> {
    // A gradient's nodes belong to the line whose op they differentiate.
    let _origin = node.origin().enter();
    let mut vjp = Vjp { node, dy, inputs: node.inputs().clone(), wants, shares: Shares::new() };
    if let Op::Part(_) = node.op()
        && let Some(parent) = vjp.inputs.first().cloned()
    {
        vjp.inputs = parent.inputs().clone();
    }
    if vjp.inputs.is_empty() && !is_leaf(node.op()) {
        check(node)?;
        let message = "the graph below was freed when its value was computed".to_string();
        return Err(autograd_error(node, message, "compute it outside of `no_grad`, and before a backward pass that frees the graph"));
    }
    crate::ops::vjp(&mut vjp)?;
    vjp.made()
}

fn is_leaf(op: &Op) -> bool {
    matches!(op, Op::Buffer | Op::Const(_) | Op::Scalar | Op::Iota { .. } | Op::Variable(_) | Op::Invalid(_))
}

/// Inputs, and the gradients that are sent to them. Few ops have more than two.
type Shares = SmallVec<[(Expr, Expr); 2]>;

/// One node's share of the backward pass: what each op's rule fills in.
pub(crate) struct Vjp<'a> {
    /// The node; its value, too.
    pub(crate) node: &'a Expr,
    /// The gradient that arrived.
    pub(crate) dy: &'a Expr,
    /// The node's inputs; for a part those of the node with several outputs.
    pub(crate) inputs: Inputs,
    wants: &'a dyn Fn(&Expr) -> bool,
    shares: Shares,
}

impl Vjp<'_> {
    /// Input `i`.
    pub(crate) fn x(&self, i: usize) -> Expr {
        self.inputs[i].clone()
    }

    /// Whether a gradient is wanted for input `i`.
    pub(crate) fn wants(&self, i: usize) -> bool {
        self.inputs.get(i).is_some_and(|input| (self.wants)(input))
    }

    /// The shares, or the error of one of them.
    fn made(self) -> Result<Shares, Error> {
        for (_, share) in &self.shares {
            if let Some(error) = share.error() {
                return Err((**error).clone());
            }
        }
        Ok(self.shares)
    }

    /// Sends a gradient to input `i`, if it is wanted.
    pub(crate) fn send(&mut self, i: usize, share: impl FnOnce(&Self) -> Expr) {
        if self.wants(i) {
            let share = share(self);
            self.shares.push((self.inputs[i].clone(), share));
        }
    }

    /// Sends what the user's own rule gave.
    pub(crate) fn send_made(&mut self, i: usize, share: Expr) {
        if self.wants(i) {
            self.shares.push((self.inputs[i].clone(), share));
        }
    }
}

/// An autograd error at a node.
#[track_caller]
pub(crate) fn autograd_error(node: &Expr, message: String, help: &str) -> Error {
    let origin = Origin::current();
    let inputs = vec![(format!("{} {:?} {}", node.op().name(), node.shape(), node.dtype()), node.origin())];
    Error { kind: ErrorKind::Autograd, op: "backward".into(), message, help: help.into(), origin, inputs }
}

/// An error of a pass, at the line that began the pass instead of the library's.
fn begun_at(origin: Origin) -> impl Fn(Error) -> Error {
    move |error| if error.op == "backward" { Error { origin, ..error } } else { error }
}

/// What has arrived at a node.
#[derive(Default)]
struct Arrived {
    own: Option<Expr>,
    /// At the parts of a loop, each once: they are differentiated together.
    parts: Vec<(usize, Expr)>,
}

impl Arrived {
    /// Through the hooks of the node, where all of its gradient has arrived.
    #[track_caller]
    fn pass(&mut self, node: &Expr) -> Result<(), Error> {
        if let Some(dy) = self.own.take() {
            self.own = Some(hooks::hooked(node, dy)?);
        }
        Ok(())
    }
}

/// The error of a share that comes when the node's gradient was sent on already, without it.
#[cold]
fn late(node: &Expr) -> Error {
    (*Error::internal(node, "a gradient that arrives after the others were sent on")).clone()
}

/// The error of a node that is to be visited, and whose gradient is not there.
#[cold]
fn lost() -> Error {
    let (message, help) =
        ("a gradient is lost (a mistake of the library)".to_owned(), "report it with the lines that made the tensor".to_owned());
    Error { kind: ErrorKind::Internal, op: "backward".into(), message, help, origin: Origin::current(), inputs: Vec::new() }
}

/// Gradients that have arrived so far, by node; the greatest id first.
struct Pending {
    ids: BinaryHeap<NodeId>,
    place: NodeIndex,
    arrived: Vec<Option<(Expr, Arrived)>>,
}

/// As many as gradients arrive at in a small model.
const PENDING: usize = 64;

impl Pending {
    /// Of nodes with ids up to `newest`.
    fn below(newest: NodeId) -> Pending {
        Pending { ids: BinaryHeap::with_capacity(PENDING), place: NodeIndex::new(newest), arrived: Vec::with_capacity(PENDING) }
    }

    /// What has arrived at a node so far. Users have greater ids, so a node that has been taken gets no more: what would come too late is an error.
    fn at(&mut self, node: Expr) -> Result<&mut Arrived, Error> {
        if let Some(place) = self.place.get(node.id()) {
            return match self.arrived.get_mut(place as usize) {
                Some(Some((_, arrived))) => Ok(arrived),
                Some(None) | None => Err(late(&node)),
            };
        }
        self.ids.push(node.id());
        self.place.insert(node.id(), self.arrived.len() as u32);
        Ok(&mut self.arrived.push_mut(None).insert((node, Arrived::default())).1)
    }

    #[track_caller]
    fn add(&mut self, node: Expr, share: Expr) -> Result<(), Error> {
        let arrived = self.at(node)?;
        arrived.own = Some(match &arrived.own {
            Some(sum) => sum.add(&share),
            None => share,
        });
        Ok(())
    }

    /// A gradient for part `i` of a loop.
    #[track_caller]
    fn add_part(&mut self, whole: Expr, i: usize, share: Expr) -> Result<(), Error> {
        let parts = &mut self.at(whole)?.parts;
        match parts.iter_mut().find(|(part, _)| *part == i) {
            Some((_, sum)) => *sum = sum.add(&share),
            None => parts.push((i, share)),
        }
        Ok(())
    }

    /// Sends what arrived at a node on to the inputs that are wanted.
    #[track_caller]
    fn send(&mut self, node: &Expr, arrived: &Arrived, wants: &dyn Fn(&Expr) -> bool) -> Result<(), Error> {
        if let Some(dy) = &arrived.own {
            if let Op::Part(i) = node.op()
                && let Some(whole) = node.input(0).filter(|whole| matches!(whole.op(), Op::Loop(_)))
            {
                self.add_part(whole, *i, dy.clone())?;
            } else {
                // Not in a closure, where the origin of a sum would be this line.
                for (input, share) in shares(node, dy, wants)? {
                    self.add(input, share)?;
                }
            }
        }
        if let (Op::Loop(spec), Some((_, first))) = (node.op(), arrived.parts.first()) {
            let _origin = node.origin().enter();
            let mut vjp = Vjp { node, dy: first, inputs: node.inputs().clone(), wants, shares: Shares::new() };
            if vjp.inputs.is_empty() {
                check(node)?;
            }
            spec.vjp(&mut vjp, &arrived.parts)?;
            for (input, share) in vjp.made()? {
                self.add(input, share)?;
            }
        }
        Ok(())
    }

    /// The node with the greatest id, and its gradient.
    fn pop(&mut self) -> Result<Option<(Expr, Arrived)>, Error> {
        let Some(id) = self.ids.pop() else { return Ok(None) };
        match self.place.get(id).and_then(|place| self.arrived.get_mut(place as usize)?.take()) {
            Some(taken) => Ok(Some(taken)),
            None => Err(lost()),
        }
    }
}

#[track_caller]
pub(crate) fn check(node: &Expr) -> Result<(), Error> {
    if node.is_consumed() {
        let message = "the graph was freed by an earlier backward pass".to_string();
        return Err(autograd_error(node, message, "use `backward_retain` for all passes but the last, or compute the loss again"));
    }
    Ok(())
}

#[track_caller]
fn check_seed(output: &Expr, dy: &Expr) -> Result<(), Error> {
    for node in [output, dy] {
        if let Some(error) = node.error() {
            return Err((**error).clone());
        }
    }
    if output.shape() != dy.shape() || output.dtype() != dy.dtype() {
        let message = format!("gradient {:?} {} for {:?} {}", dy.shape(), dy.dtype(), output.shape(), output.dtype());
        return Err(autograd_error(output, message, "shape and dtype of a tensor and its gradient are the same"));
    }
    if !output.dtype().is_float() {
        let message = format!("{} {:?} has no gradient: only floats have", output.dtype(), output.shape());
        return Err(autograd_error(output, message, "differentiate a float"));
    }
    Ok(())
}

/// What a gradient is asked for, or passes hooks at: a node, or a variable with any value it had.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    Node(NodeId),
    Variable(VariableId),
}

impl Target {
    #[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
    pub(crate) fn of(node: &Expr) -> Target {
        match node.op() {
            Op::Variable(id) => Target::Variable(*id),
            _ => Target::Node(node.id()),
        }
    }
}

/// The gradients of `output` (seeded with `dy`) with respect to `wrt`, as graph; `None` where it does not depend on it.
///
/// An error if it cannot be told, since evaluation has let go what was computed from a node of `wrt`.
#[track_caller]
pub fn gradients(output: &Expr, dy: &Expr, wrt: &[Expr]) -> Result<Vec<Option<Expr>>, Error> {
    collect(&[(output.clone(), dy.clone())], wrt, false)
}

/// As [`gradients`], of several outputs together.
#[track_caller]
pub(crate) fn gradients_of_all(outputs: &[(Expr, Expr)], wrt: &[Expr]) -> Result<Vec<Option<Expr>>, Error> {
    collect(outputs, wrt, false)
}

/// As [`gradients`], with each node of `wrt` as if it were a leaf: what it was computed from counts for nothing.
#[track_caller]
pub fn partial_gradients(output: &Expr, dy: &Expr, wrt: &[Expr]) -> Result<Vec<Option<Expr>>, Error> {
    collect(&[(output.clone(), dy.clone())], wrt, true)
}

#[track_caller]
fn collect(outputs: &[(Expr, Expr)], wrt: &[Expr], as_leaves: bool) -> Result<Vec<Option<Expr>>, Error> {
    for (output, dy) in outputs {
        check_seed(output, dy)?;
    }
    let begun_here = begun_at(Origin::current());
    let roots: Vec<Expr> = outputs.iter().map(|(output, _)| output.clone()).collect();
    let reaching = Reaching::of(&roots, wrt, as_leaves)?;
    let wanted: FxHashSet<Target> = wrt.iter().map(Target::of).collect();
    let mut found: FxHashMap<Target, Expr> = FxHashMap::default();
    let mut pending = Pending::below(newest(&roots));
    for (output, dy) in outputs.iter().filter(|(output, _)| reaching.nodes.contains(&output.id())) {
        pending.add(output.clone(), dy.clone())?;
    }
    let has_hooks = hooks::are_there();
    while let Some((node, mut arrived)) = pending.pop()? {
        let target = Target::of(&node);
        // As a leaf a node has no hooks: those that it has are called by the pass around.
        if has_hooks && !(as_leaves && wanted.contains(&target)) {
            arrived.pass(&node)?;
        }
        if let (true, Some(dy)) = (wanted.contains(&target), &arrived.own) {
            let sum = found.get(&target).map_or_else(|| dy.clone(), |old| old.add(dy));
            found.insert(target, sum);
            if as_leaves {
                continue;
            }
        }
        // Below the smallest wanted node nothing reaches one, but a wanted node may stand above another.
        if reaching.through.contains(&node.id()) {
            check(&node)?;
            let reached = |input: &Expr| reaching.nodes.contains(&input.id());
            let wants = |input: &Expr| input.dtype().is_float() && (node.needs_grad() || !input.needs_grad()) && reached(input);
            pending.send(&node, &arrived, &wants).map_err(&begun_here)?;
        }
    }
    if wrt.iter().any(|node| !found.contains_key(&Target::of(node))) {
        // Some functions have no gradient of their own: what depends on the node through one of them has gradient 0.
        let met = met(&roots, &reaching)?;
        for node in wrt {
            if met.contains(&Target::of(node)) {
                found.entry(Target::of(node)).or_insert_with(|| node.zeros_like());
            }
        }
    }
    Ok(wrt.iter().map(|node| found.get(&Target::of(node)).cloned()).collect())
}

/// The id of the newest one.
fn newest(nodes: &[Expr]) -> NodeId {
    nodes.iter().map(Expr::id).max().unwrap_or(0) // DEFAULT: without nodes there is nothing to walk
}

/// What is met on the ways from `outputs` through the nodes of `reaching`.
#[track_caller]
fn met(outputs: &[Expr], reaching: &Reaching) -> Result<FxHashSet<Target>, Error> {
    let (mut seen, mut met) = (FxHashSet::default(), FxHashSet::default());
    let mut stack = outputs.to_vec();
    while let Some(node) = stack.pop() {
        if reaching.nodes.contains(&node.id()) && seen.insert(node.id()) {
            met.insert(Target::of(&node));
            stack.extend(sources(&node));
            // Only after its inputs were read: another thread marks it before it lets them go.
            if reaching.through.contains(&node.id()) {
                check(&node)?;
            }
        }
    }
    Ok(met)
}

/// The gradients of `output` (seeded with `dy`) with respect to all variables it depends on, in order of their ids. With `consume`, the
/// nodes on the way are marked: no other pass can go through them.
#[track_caller]
pub fn variable_gradients(output: &Expr, dy: &Expr, consume: bool) -> Result<Vec<(VariableId, Expr)>, Error> {
    check_seed(output, dy)?;
    let begun_here = begun_at(Origin::current());
    let mut found: BTreeMap<VariableId, Expr> = BTreeMap::new();
    let mut pending = Pending::below(output.id());
    let mut visited = Vec::with_capacity(PENDING);
    if output.needs_grad() {
        pending.add(output.clone(), dy.clone())?;
    }
    let has_hooks = hooks::are_there();
    let mut kept = Vec::new();
    while let Some((node, mut arrived)) = pending.pop()? {
        if has_hooks {
            arrived.pass(&node)?;
            if let (Some(dy), Some(old)) = (&arrived.own, hooks::kept_gradient(&node)) {
                kept.push((node.clone(), old.map_or_else(|| dy.clone(), |old| old.add(dy))));
            }
        }
        if let (Op::Variable(id), Some(dy)) = (node.op(), &arrived.own) {
            let sum = match found.remove(id) {
                Some(old) => old.add(dy),
                None => dy.clone(),
            };
            found.insert(*id, sum);
            continue;
        }
        check(&node)?;
        pending.send(&node, &arrived, &|input| input.needs_grad() && input.dtype().is_float()).map_err(&begun_here)?;
        visited.push(node);
    }
    // All or none: only a pass that has come to its end leaves gradients.
    for (node, gradient) in kept {
        hooks::set_kept_gradient(&node, Some(gradient));
    }
    if consume {
        // A parameter in another dtype is there for the next pass as the parameter is: of its values the gradient needs none.
        for node in visited.iter().filter(|node| !node.is_cast_variable()) {
            node.set_consumed();
            if node.data().is_some() {
                node.release_inputs(None);
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// The nodes at or below `node` that it is computed from in a part of the program without gradients: those that need one, and those that
/// were there before the node with the id `since`.
pub fn boundary(node: &Expr, since: NodeId) -> Vec<Expr> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    let mut stack = vec![node.clone()];
    while let Some(node) = stack.pop() {
        if !seen.insert(node.id()) {
            continue;
        }
        if node.needs_grad() || node.id() < since {
            if node.dtype().is_float() {
                found.push(node);
            }
        } else {
            stack.extend(node.inputs().iter().cloned());
        }
    }
    found.sort_by_key(Expr::id);
    found
}

/// Whether a gradient may flow from a node to its input `i`: not to what is no float or only decides an order, and not where the node was
/// recorded without gradients.
pub fn flows(node: &Expr, i: usize, input: &Expr) -> bool {
    let differentiable = match node.op() {
        Op::Variable(_) => false,
        // The value of a function with its own gradient.
        Op::Custom(_) => i > 0,
        Op::Barrier => i == 0,
        Op::Buffer
        | Op::Const(_)
        | Op::Scalar
        | Op::Iota { .. }
        | Op::Random { .. }
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
        | Op::MaxPool(_)
        | Op::Softmax { .. }
        | Op::LogSoftmax { .. }
        | Op::Normalize { .. }
        | Op::Loop(_)
        | Op::Attention(_)
        | Op::AttentionGrad(_)
        | Op::Composite(_)
        | Op::Part(_)
        | Op::Kernel(_)
        | Op::Copy
        | Op::Commit(_)
        | Op::Invalid(_) => true,
    };
    differentiable && input.dtype().is_float() && node.dtype().is_float() && (node.needs_grad() || !input.needs_grad())
}

/// The inputs that a gradient may flow to.
fn sources(node: &Expr) -> Inputs {
    node.inputs().iter().enumerate().filter(|(i, input)| flows(node, *i, input)).map(|(_, input)| input.clone()).collect()
}

/// Where a gradient goes. It is known once: another thread may let go the inputs of any node meanwhile, and what is missing then is an error, not
/// nothing.
struct Reaching {
    /// The nodes at or below the outputs from which a wanted one can be reached through floats, the wanted ones among them.
    nodes: FxHashSet<NodeId>,
    /// Those of which an input is among `nodes`.
    through: FxHashSet<NodeId>,
}

impl Reaching {
    #[track_caller]
    fn of(outputs: &[Expr], wrt: &[Expr], as_leaves: bool) -> Result<Reaching, Error> {
        // A variable is wanted with any value that it had, and all that leads to one needs a gradient; other nodes are older than what leads to them.
        let variables: FxHashSet<Target> = wrt.iter().map(Target::of).filter(|target| matches!(target, Target::Variable(_))).collect();
        let asked: Vec<&Expr> = wrt.iter().filter(|node| matches!(Target::of(node), Target::Node(_))).collect();
        let least = asked.iter().map(|node| node.id()).min().unwrap_or(NodeId::MAX);
        let leaves: FxHashSet<Target> = if as_leaves { wrt.iter().map(Target::of).collect() } else { FxHashSet::default() };
        let matters = |node: &Expr| node.id() >= least || (!variables.is_empty() && node.needs_grad());
        // All ancestors that can matter, then from the smallest id up: whether an input reaches.
        let mut all: Vec<(NodeId, bool, SmallVec<[NodeId; 2]>)> = Vec::new();
        let mut walked = NodeIndex::new(newest(outputs));
        let mut stack = outputs.to_vec();
        while let Some(node) = stack.pop() {
            if !matters(&node) || leaves.contains(&Target::of(&node)) || walked.get(node.id()).is_some() {
                continue;
            }
            // First of all, for a backward pass that lets them go says so before.
            let from = sources(&node);
            if node.is_consumed() {
                check(&node)?;
            }
            if !as_leaves
                && let Some(below) = node.below()
                && let Some(lost) = asked.iter().find(|lost| lost.id() < node.id() && !lost.needs_grad() && below.may_hold(lost))
            {
                let message = format!(
                    "{} {:?} {} was computed from the {} {:?} {} of {}, but how was forgotten when it was evaluated",
                    node.op().name(),
                    node.shape(),
                    node.dtype(),
                    lost.op().name(),
                    lost.shape(),
                    lost.dtype(),
                    lost.origin()
                );
                return Err(autograd_error(
                    &node,
                    message,
                    "make the tensor with `requires_grad()` before computing with it, or evaluate later",
                ));
            }
            walked.insert(node.id(), 0);
            all.push((node.id(), variables.contains(&Target::of(&node)), from.iter().map(Expr::id).collect()));
            stack.extend(from);
        }
        all.sort_unstable_by_key(|(id, ..)| *id);
        let mut nodes: FxHashSet<NodeId> = wrt.iter().map(Expr::id).collect();
        let mut through = FxHashSet::default();
        for (id, is_wanted, from) in all {
            let passes = from.iter().any(|input| nodes.contains(input));
            if passes {
                through.insert(id);
            }
            if is_wanted || passes {
                nodes.insert(id);
            }
        }
        Ok(Reaching { nodes, through })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn leaf() -> Expr {
        Expr::buffer([2].into_iter().collect(), crate::DType::F32, 0, Arc::new(()))
    }

    #[test]
    fn a_share_that_comes_too_late_is_an_error() {
        let (x, dy) = (leaf(), leaf());
        let mut pending = Pending::below(dy.id());
        for _ in 0..2 {
            pending.add(x.clone(), dy.clone()).unwrap();
        }
        pending.add_part(dy.clone(), 1, x.clone()).unwrap();
        // The greatest id comes first.
        assert_eq!(pending.pop().unwrap().map(|(node, arrived)| (node.id(), arrived.parts.len())), Some((dy.id(), 1)));
        assert_eq!(pending.pop().unwrap().map(|(node, arrived)| (node.id(), arrived.own.is_some())), Some((x.id(), true)));
        for error in [pending.add(x.clone(), dy.clone()), pending.add_part(dy, 0, x)].map(Result::unwrap_err) {
            assert_eq!(error.kind, ErrorKind::Internal, "{error}");
        }
        assert!(pending.pop().unwrap().is_none());
    }

    #[test]
    fn a_part_without_its_node_is_an_error() {
        let (x, dy) = (leaf(), leaf());
        let node = x.part(0);
        let inputs = node.inputs().clone();
        node.release_inputs(None);
        let gradient =
            || crate::ops::vjp(&mut Vjp { node: &node, dy: &dy, inputs: inputs.clone(), wants: &|_| true, shares: Shares::new() });
        assert_eq!(gradient().unwrap_err().kind, ErrorKind::Internal);
        // What another pass has let go is no mistake of the library.
        node.set_consumed();
        assert_eq!(gradient().unwrap_err().kind, ErrorKind::Autograd);
    }
}
