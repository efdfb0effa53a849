//! Reverse-mode differentiation: more graph from a graph.
//!
//! In: a node and the gradient that arrives at it. Out: gradients as nodes, ready to be differentiated again.
//! Always: nodes are visited once each, from the greatest id down (inputs have smaller ids than their users), so nothing recurses;
//! shares of a gradient are summed in a fixed order.
//! Never: visits what no gradient can reach. What each op does to a gradient stands beside the op, in [`crate::ops`].

use crate::{Error, ErrorKind, Expr, Inputs, NodeId, Op, VariableId, node::PlaceGuard};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The gradients that `dy`, arriving at `node`, sends to nodes it depends on: pairs of a node and its share.
///
/// Inputs that no gradient goes to (indices, comparisons) are missing. For a [`Op::Part`], the pairs speak about the inputs of the node
/// with several outputs.
#[track_caller]
pub fn vjp(node: &Expr, dy: &Expr) -> Result<Vec<(Expr, Expr)>, Error> {
    check_seed(node, dy)?;
    shares(node, dy, &|input| input.dtype().is_float()).map_err(begun_at(std::panic::Location::caller()))
}

/// As [`vjp`], for the inputs that are wanted.
fn shares(node: &Expr, dy: &Expr, wants: &dyn Fn(&Expr) -> bool) -> Result<Vec<(Expr, Expr)>, Error> {
    // A gradient's nodes belong to the line whose op they differentiate.
    let _place = PlaceGuard::new(node.place());
    let mut vjp = Vjp { node, dy, inputs: node.inputs().clone(), wants, shares: Vec::new() };
    if let Op::Part(_) = node.op()
        && let Some(parent) = vjp.inputs.first().cloned()
    {
        vjp.inputs = parent.inputs().clone();
    }
    if vjp.inputs.is_empty() && !is_leaf(node.op()) {
        let message = "the graph below was freed when its value was computed".to_string();
        return Err(autograd_error(node, message, "compute it outside of `no_grad`, and before a backward pass that frees the graph"));
    }
    crate::ops::vjp(&mut vjp)?;
    for (_, share) in &vjp.shares {
        if let Some(error) = share.error() {
            return Err((**error).clone());
        }
    }
    Ok(vjp.shares)
}

fn is_leaf(op: &Op) -> bool {
    matches!(op, Op::Buffer | Op::Const(_) | Op::Scalar | Op::Iota { .. } | Op::Variable(_) | Op::Invalid(_))
}

/// One node's share of the backward pass: what each op's rule fills in.
pub(crate) struct Vjp<'a> {
    /// The node; its value, too.
    pub(crate) node: &'a Expr,
    /// The gradient that arrived.
    pub(crate) dy: &'a Expr,
    /// The node's inputs; for a part those of the node with several outputs.
    pub(crate) inputs: Inputs,
    wants: &'a dyn Fn(&Expr) -> bool,
    shares: Vec<(Expr, Expr)>,
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
    let place = std::panic::Location::caller();
    let inputs = vec![(format!("{} {:?} {}", node.op().name(), node.shape(), node.dtype()), node.place())];
    Error { kind: ErrorKind::Autograd, op: "backward".into(), message, help: help.into(), place, inputs }
}

/// An error of a pass, at the line that began the pass instead of the library's.
fn begun_at(place: &'static std::panic::Location<'static>) -> impl Fn(Error) -> Error {
    move |error| if error.op == "backward" { Error { place, ..error } } else { error }
}

/// Gradients that have arrived so far, by node; the greatest id first.
#[derive(Default)]
struct Pending(BTreeMap<NodeId, (Expr, Expr)>);

impl Pending {
    #[track_caller]
    fn add(&mut self, node: Expr, share: Expr) {
        match self.0.entry(node.id()) {
            std::collections::btree_map::Entry::Vacant(slot) => {
                slot.insert((node, share));
            }
            std::collections::btree_map::Entry::Occupied(mut slot) => {
                let sum = slot.get().1.add(&share);
                slot.get_mut().1 = sum;
            }
        }
    }
}

#[track_caller]
fn check(node: &Expr) -> Result<(), Error> {
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

/// The gradients of `output` (seeded with `dy`) with respect to `wrt`, as graph; `None` where it does not depend on it.
#[track_caller]
pub fn gradients(output: &Expr, dy: &Expr, wrt: &[Expr]) -> Result<Vec<Option<Expr>>, Error> {
    check_seed(output, dy)?;
    let begun_here = begun_at(std::panic::Location::caller());
    let reaching = reaching(output, wrt)?;
    let wanted: HashSet<NodeId> = wrt.iter().map(Expr::id).collect();
    let mut found: HashMap<NodeId, Expr> = HashMap::new();
    let mut pending = Pending::default();
    if reaching.contains(&output.id()) {
        pending.add(output.clone(), dy.clone());
    }
    while let Some((id, (node, dy))) = pending.0.pop_last() {
        if wanted.contains(&id) {
            found.insert(id, dy.clone());
        }
        // Below the smallest wanted node nothing reaches one, but a wanted node may stand above another.
        if sources(&node).any(|input| reaching.contains(&input.id())) {
            check(&node)?;
            for (input, share) in shares(&node, &dy, &|input| flows(&node, input) && reaching.contains(&input.id())).map_err(&begun_here)? {
                pending.add(input, share);
            }
        }
    }
    Ok(wrt.iter().map(|node| found.get(&node.id()).cloned()).collect())
}

/// The gradients of `output` (seeded with `dy`) with respect to all variables it depends on, in order of their ids. With `consume`, the
/// nodes on the way are marked: no other pass can go through them.
#[track_caller]
pub fn variable_gradients(output: &Expr, dy: &Expr, consume: bool) -> Result<Vec<(VariableId, Expr)>, Error> {
    check_seed(output, dy)?;
    let begun_here = begun_at(std::panic::Location::caller());
    let mut found: BTreeMap<VariableId, Expr> = BTreeMap::new();
    let mut pending = Pending::default();
    let mut visited = Vec::new();
    if output.needs_grad() {
        pending.add(output.clone(), dy.clone());
    }
    while let Some((_, (node, dy))) = pending.0.pop_last() {
        if let Op::Variable(id) = node.op() {
            let sum = match found.remove(id) {
                Some(old) => old.add(&dy),
                None => dy,
            };
            found.insert(*id, sum);
            continue;
        }
        check(&node)?;
        for (input, share) in shares(&node, &dy, &|input| input.needs_grad() && input.dtype().is_float()).map_err(&begun_here)? {
            pending.add(input, share);
        }
        visited.push(node);
    }
    if consume {
        for node in &visited {
            node.set_consumed();
            if node.data().is_some() {
                node.release_inputs();
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// The nodes at or below `node` that need gradients, and through which none was recorded above: where a computation made without
/// gradients begins.
pub fn boundary(node: &Expr) -> Vec<Expr> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut stack = vec![node.clone()];
    while let Some(node) = stack.pop() {
        if !seen.insert(node.id()) {
            continue;
        }
        if node.needs_grad() {
            found.push(node);
        } else {
            stack.extend(node.inputs().iter().cloned());
        }
    }
    found.sort_by_key(Expr::id);
    found
}

/// Whether a gradient may flow from a node to its input: not where it was recorded without gradients.
fn flows(node: &Expr, input: &Expr) -> bool {
    input.dtype().is_float() && (node.needs_grad() || !input.needs_grad())
}

/// The inputs that a gradient may flow to.
fn sources(node: &Expr) -> impl Iterator<Item = Expr> {
    let first = match node.op() {
        Op::Variable(_) => usize::MAX,
        // The value of a function with its own gradient.
        Op::Custom(_) => 1,
        _ => 0,
    };
    let inputs: Inputs = node.inputs().iter().skip(first).filter(|input| flows(node, input)).cloned().collect();
    inputs.into_iter()
}

/// The nodes at or below `output` from which a node of `wrt` can be reached through floats.
#[track_caller]
fn reaching(output: &Expr, wrt: &[Expr]) -> Result<HashSet<NodeId>, Error> {
    let Some(least) = wrt.iter().map(Expr::id).min() else { return Ok(HashSet::new()) };
    // All ancestors that can matter, then from the smallest id up: whether an input reaches.
    let mut all: BTreeMap<NodeId, Expr> = BTreeMap::new();
    let mut stack = vec![output.clone()];
    while let Some(node) = stack.pop() {
        if node.id() < least || all.contains_key(&node.id()) {
            continue;
        }
        if node.is_consumed() {
            check(&node)?;
        }
        stack.extend(sources(&node));
        all.insert(node.id(), node);
    }
    let mut reaching: HashSet<NodeId> = wrt.iter().map(Expr::id).collect();
    for (id, node) in all {
        if sources(&node).any(|input| reaching.contains(&input.id())) {
            reaching.insert(id);
        }
    }
    Ok(reaching)
}
