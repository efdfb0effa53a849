//! From live expressions to a key: the walk that every evaluation makes, hit or miss.
//!
//! In: the expressions that are wanted. Out: their graph in canonical order with a key, the data and scalars it runs on, and
//! which nodes must have data afterwards.
//! Always: the key covers ops, attributes, dtypes, shapes, devices, wiring, live outputs and which inputs may be overwritten;
//! run-time scalars are not in it. On a hit all of this is compared ([`Structure::is_of`]), ops and attributes by the number of a node's type,
//! which one content has alone (`unigrad_graph::NodeType`).
//! Nodes with named axes ([`unigrad_graph::Dim`]) are keyed by their buckets' sizes, and by which of them share a size; the current sizes are the
//! last of the run-time scalars.
//! A node that another evaluation has claimed alone ([`unigrad_graph::Claim`]) ends the walk ([`Capture::busy`]): nothing below it is looked at.
//! Never: recurses, or holds a lock while it walks.

use rustc_hash::{FxHashMap, FxHasher};
use std::{
    cell::Cell,
    hash::{Hash, Hasher},
    sync::Arc,
};
use unigrad_graph::{Dim, Error, ErrorKind, Expr, Names, NodeId, NodeIndex, NodeType, Op, TensorType, VariableId};

/// A node of the capture.
#[derive(Clone, Debug)]
pub(crate) struct Captured {
    pub(crate) expr: Expr,
    pub(crate) role: Role,
    /// The number of its type; of data only that of its tensor's, for it does not matter what computed it. So the role is in it too.
    number: u64,
    /// Where its inputs begin and end among [`Capture::inputs`].
    begin: u32,
    end: u32,
    /// How often it is an input.
    uses: u32,
    /// Operations per element, see [`operations`].
    operations: u32,
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
    /// The positions of all nodes' inputs, one node's after another's.
    inputs: Vec<u32>,
    /// Nodes with data, in order of discovery.
    pub externals: Vec<Expr>,
    /// Whether each may be overwritten: nothing but this graph can ever read it again.
    pub donatable: Vec<bool>,
    /// Raw words of the run-time scalars, then the current sizes of named axes.
    pub scalars: Vec<u64>,
    /// Dimensions of named axes with their current sizes, in order of discovery.
    pub(crate) sizes: Vec<(Dim, usize)>,
    /// Of each node with named axes, in order: which of the sizes they have; and what else of them is in no type's number.
    named: Vec<u32>,
    /// Positions of the nodes that get data.
    pub(crate) outputs: Vec<u32>,
    /// Whether each node is held from outside of the graph.
    pub(crate) held: Vec<bool>,
    /// Copies from other devices that are still to be made, and made first: the graph beyond them is another capture.
    pub copies: Vec<Expr>,
    /// A node that another evaluation computes at this moment: the walk ended there, and is to be begun again when that one is done.
    pub busy: Option<Expr>,
    /// The key.
    pub key: u64,
}

/// What a cached plan keeps to be sure that it fits.
pub(crate) struct Structure {
    /// Of each node: the number of its type, and where its inputs end.
    nodes: Vec<(u64, u32)>,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    donatable: Vec<bool>,
    named: Vec<u32>,
    /// So that the numbers stay those of the same content while no graph is there.
    _kept: (Vec<Arc<NodeType>>, Vec<Arc<TensorType>>),
}

/// The node that holds the value: variables, and views that change nothing, are the identity.
pub fn resolve(expr: &Expr) -> Expr {
    resolved(expr.clone())
}

/// As [`resolve`], of a handle that nothing else needs.
#[inline]
pub fn resolved(mut expr: Expr) -> Expr {
    while expr.data().is_none() && expr.is_alias() {
        match expr.input(0) {
            Some(input) => expr = input,
            None => break,
        }
    }
    expr
}

/// The id of [`resolve`].
fn resolved_id(expr: &Expr) -> NodeId {
    if expr.data().is_some() || !expr.is_alias() { expr.id() } else { resolve(expr).id() }
}

/// Operations per element up to which a value is rather computed again from data than stored for a handle that was not asked about.
const CHEAP: u32 = 8;
const NOT_CHEAP: u32 = u32::MAX;

/// The error of reading what a function that is run for its graph alone makes of its arguments.
fn stand_in(expr: &Expr) -> Arc<Error> {
    let message =
        format!("a {:?} {} stands for an argument of a function that is mapped or recorded, and has no value", expr.shape(), expr.dtype());
    let help = "read nothing inside of the function, choose with `where_`, and return from it what is wanted outside".to_owned();
    let (kind, op) = (ErrorKind::Argument, "vmap".to_owned());
    Arc::new(Error { kind, op, message, help, origin: expr.origin(), inputs: Vec::new() })
}

/// How long a capture's lists became.
#[derive(Clone, Copy)]
struct Room {
    nodes: usize,
    inputs: usize,
    externals: usize,
    scalars: usize,
    /// Of the walk's own lists.
    visits: usize,
    found: usize,
}

thread_local! {
    /// Of the thread's last capture: the next one is mostly that of the same program's next step, and begins with room for as much.
    static ROOM: Cell<Room> = const { Cell::new(Room { nodes: 0, inputs: 0, externals: 0, scalars: 0, visits: DEPTH, found: DEPTH }) };
}

impl Room {
    /// More is asked for when it is needed.
    const MOST: usize = 1 << 14;

    fn of(walk: &Walk) -> Room {
        let (capture, room) = (&walk.capture, |len: usize| len.min(Room::MOST));
        Room {
            nodes: room(capture.nodes.len()),
            inputs: room(capture.inputs.len()),
            externals: room(capture.externals.len()),
            scalars: room(capture.scalars.len()),
            visits: room(walk.visits.capacity()),
            found: room(walk.found.capacity()),
        }
    }
}

/// As deep as a small model's graph is.
const DEPTH: usize = 64;

/// What is left to do of a walk.
enum Visit {
    /// Capture a node and all below it, unless it was met before.
    Enter(Expr),
    /// The node at this position is asked for.
    Met(u32),
    /// Capture a node whose inputs, so many, are the last ones that were found.
    Leave(Expr, u32),
}

/// A walk under way.
struct Walk {
    capture: Capture,
    position: NodeIndex,
    visits: Vec<Visit>,
    /// Positions of nodes whose users are still to be captured, in the order in which these ask for them.
    found: Vec<u32>,
    /// Whether a node has a named axis.
    has_names: bool,
}

impl Capture {
    /// Walks the graph of `targets`. Errors of invalid nodes surface here.
    pub fn new(targets: &[Expr]) -> Result<Capture, Arc<Error>> {
        let room = ROOM.get();
        let capture = Capture {
            nodes: Vec::with_capacity(room.nodes),
            inputs: Vec::with_capacity(room.inputs),
            externals: Vec::with_capacity(room.externals),
            donatable: Vec::new(),
            scalars: Vec::with_capacity(room.scalars),
            sizes: Vec::new(),
            named: Vec::new(),
            outputs: Vec::new(),
            held: Vec::new(),
            copies: Vec::new(),
            busy: None,
            key: 0,
        };
        let newest = targets.iter().map(Expr::id).max().unwrap_or(0); // DEFAULT: without targets there is nothing to walk
        let position = NodeIndex::new(newest);
        let (visits, found) = (Vec::with_capacity(room.visits), Vec::with_capacity(room.found));
        let mut walk = Walk { capture, position, visits, found, has_names: false };
        for target in targets {
            walk.all_below(resolve(target))?;
            if walk.capture.busy.is_some() {
                return Ok(walk.capture);
            }
            if !walk.capture.copies.is_empty() {
                let (copies, busy) = copies(targets, newest)?;
                // They were made meanwhile.
                if copies.is_empty() && busy.is_none() {
                    return Capture::new(targets);
                }
                (walk.capture.copies, walk.capture.busy) = (copies, busy);
                return Ok(walk.capture);
            }
        }
        ROOM.set(Room::of(&walk));
        let Walk { mut capture, position, has_names, .. } = walk;
        capture.find_outputs(targets, &position)?;
        if has_names {
            capture.find_sizes();
        }
        capture.key = capture.hash();
        Ok(capture)
    }

    fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.nodes.iter().for_each(|node| hasher.write_u64(node.number));
        // Slices of integers are hashed as bytes, many at a time.
        (&self.inputs, &self.outputs, &self.donatable).hash(&mut hasher);
        if !self.named.is_empty() {
            self.named.hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The sizes of named axes, and what of them the key has beside the types.
    fn find_sizes(&mut self) {
        let (mut sizes, mut named): (Vec<(Dim, usize)>, Vec<u32>) = (Vec::new(), Vec::new());
        for (i, node) in self.nodes.iter().enumerate() {
            let own = node.expr.names();
            for (dim, size) in own.iter().flat_map(|own| own.sizes()) {
                let known = sizes.iter().position(|(other, at)| *at == size && other == dim);
                let slot = match known {
                    Some(slot) => slot,
                    None => {
                        sizes.push((dim.clone(), size));
                        sizes.len() - 1
                    }
                };
                named.push(slot as u32);
            }
            // A reshape that takes names away, or gives some, depends on the sizes themselves.
            if let (Op::Reshape, Role::Compute, Some(input)) = (node.expr.op(), node.role, self.inputs(i).first()) {
                let before = self.nodes[*input as usize].expr.names();
                let all = |names: Option<&Names>| names.map_or_else(Vec::new, |names| names.sizes().map(|(_, size)| size as u32).collect());
                let (before, after): (Vec<u32>, Vec<u32>) = (all(before), all(own));
                if before != after {
                    named.push(u32::MAX);
                    named.extend(before.into_iter().chain(after));
                }
            }
        }
        self.scalars.extend(sizes.iter().map(|(_, size)| *size as u64));
        (self.sizes, self.named) = (sizes, named);
    }

    /// Whether any node has a named axis.
    pub fn is_named(&self) -> bool {
        !self.named.is_empty()
    }

    /// A capture of these nodes, inputs before those that use them, for the data and run-time scalars of another one.
    pub(crate) fn of_nodes(recorded: &Capture, all: Vec<(Expr, Role)>, outputs: &[Expr]) -> Result<Capture, String> {
        let position: FxHashMap<u64, u32> = all.iter().enumerate().map(|(i, (expr, _))| (expr.id(), i as u32)).collect();
        let at = |expr: &Expr| position.get(&expr.id()).copied().ok_or_else(|| format!("{} was not walked", expr.op().name()));
        let (mut nodes, mut inputs): (Vec<Captured>, Vec<u32>) = (Vec::with_capacity(all.len()), Vec::new());
        for (expr, role) in &all {
            let begin = inputs.len() as u32;
            for input in expr.inputs().iter() {
                let input = at(input)?;
                inputs.push(input);
                nodes.get_mut(input as usize).ok_or("an input that comes after its user")?.uses += 1;
            }
            let (number, end) = (expr.node_type().number(), inputs.len() as u32);
            nodes.push(Captured { expr: expr.clone(), role: *role, number, begin, end, uses: 0, operations: NOT_CHEAP });
        }
        let outputs = outputs.iter().map(at).collect::<Result<Vec<u32>, String>>()?;
        let mut held = vec![false; nodes.len()];
        outputs.iter().for_each(|output| held[*output as usize] = true);
        let mut capture = Capture {
            nodes,
            inputs,
            externals: recorded.externals.clone(),
            donatable: recorded.donatable.clone(),
            scalars: recorded.scalars.clone(),
            sizes: Vec::new(),
            named: Vec::new(),
            outputs,
            held,
            copies: Vec::new(),
            busy: None,
            key: 0,
        };
        capture.key = capture.hash();
        Ok(capture)
    }

    /// The positions of a node's inputs.
    pub(crate) fn inputs(&self, node: usize) -> &[u32] {
        let node = &self.nodes[node];
        &self.inputs[node.begin as usize..node.end as usize]
    }
}

impl Walk {
    /// Captures a node and all below it, inputs first. A node that is busy, or is to be copied first, ends the walk.
    fn all_below(&mut self, root: Expr) -> Result<(), Arc<Error>> {
        if self.position.get(root.id()).is_some() {
            return Ok(());
        }
        let mut next = root;
        // A node that was free when it was met stays so: claims are made after walks, one walk at a time.
        'walk: loop {
            match self.enter(next)? {
                Entered::Captured => {}
                Entered::Below(first) => {
                    next = first;
                    continue;
                }
                Entered::Ended => return Ok(()),
            }
            loop {
                match self.visits.pop() {
                    Some(Visit::Leave(expr, n_inputs)) => self.leave(expr, n_inputs as usize)?,
                    Some(Visit::Met(position)) => self.found.push(position),
                    Some(Visit::Enter(expr)) => match self.position.get(expr.id()) {
                        Some(position) => self.found.push(position),
                        None => {
                            next = expr;
                            continue 'walk;
                        }
                    },
                    None => break 'walk,
                }
            }
        }
        // Nothing asks for the root.
        self.found.clear();
        Ok(())
    }

    /// Captures a leaf that was not met before, or begins with another node.
    #[inline(always)]
    fn enter(&mut self, expr: Expr) -> Result<Entered, Arc<Error>> {
        // Asked before the data: an evaluation that ends meanwhile has given the data when the node is free.
        let is_claimed = expr.claim().is_taken();
        let kind = Kind::of(&expr);
        if is_claimed && matches!(kind, Kind::Inner | Kind::StandIn | Kind::Copy) {
            self.capture.busy = Some(expr);
            return Ok(Entered::Ended);
        }
        match kind {
            Kind::Inner => {}
            Kind::Data | Kind::Scalar => {
                self.leaf(expr)?;
                return Ok(Entered::Captured);
            }
            Kind::Copy => {
                self.capture.copies.push(expr);
                return Ok(Entered::Ended);
            }
            Kind::Invalid | Kind::StandIn => return Err(valueless(&expr)),
        }
        let inputs = expr.inputs();
        let Some((first, others)) = inputs.split_first() else {
            drop(inputs);
            self.made_of_nothing(expr)?;
            return Ok(Entered::Captured);
        };
        let n_inputs = inputs.len() as u32;
        let entered = match self.position.get(first.id()) {
            None => Entered::Below(first.clone()),
            Some(found) => {
                self.found.push(found);
                Entered::Captured
            }
        };
        // The node itself comes after its inputs.
        match others {
            [] => {
                drop(inputs);
                self.visits.push(Visit::Leave(expr, n_inputs));
            }
            [second] => {
                let second = second.clone();
                drop(inputs);
                self.visits.push(Visit::Leave(expr, n_inputs));
                self.visits.push(Visit::Enter(second));
            }
            others => {
                let at = self.visits.len();
                // What many nodes take, as an optimizer's numbers, is not held once more.
                self.visits.extend(others.iter().rev().map(|input| match self.position.get(input.id()) {
                    Some(position) => Visit::Met(position),
                    None => Visit::Enter(input.clone()),
                }));
                drop(inputs);
                self.visits.insert(at, Visit::Leave(expr, n_inputs));
            }
        }
        Ok(entered)
    }

    /// Captures data, or a run-time scalar.
    fn leaf(&mut self, expr: Expr) -> Result<(), Arc<Error>> {
        let begin = self.capture.inputs.len();
        if expr.data().is_some() {
            let role = Role::External(self.capture.externals.len() as u32);
            let number = expr.node_type().tensor_type().number();
            self.capture.externals.push(expr.clone());
            self.add(expr, role, number, begin, 0);
            return Ok(());
        }
        let value = expr.scalar_value().ok_or_else(|| Error::internal(&expr, "a run-time scalar without a value"))?;
        let role = Role::Scalar(self.capture.scalars.len() as u32);
        self.capture.scalars.push(value.to_raw());
        let number = expr.node_type().number();
        self.add(expr, role, number, begin, 0);
        Ok(())
    }

    /// Captures a node that has no inputs but is computed.
    fn made_of_nothing(&mut self, expr: Expr) -> Result<(), Arc<Error>> {
        self.leave(expr, 0)
    }

    /// Captures a node whose inputs were found last.
    #[inline(always)]
    fn leave(&mut self, expr: Expr, n_inputs: usize) -> Result<(), Arc<Error>> {
        let Some(from) = self.found.len().checked_sub(n_inputs) else {
            return Err(not_walked(&expr));
        };
        let begin = self.capture.inputs.len();
        let mut below = 0_u32;
        for position in &self.found[from..] {
            let Some(input) = self.capture.nodes.get_mut(*position as usize) else {
                return Err(not_walked(&expr));
            };
            input.uses += 1;
            below = below.saturating_add(input.operations);
            self.capture.inputs.push(*position);
        }
        let first = || self.found.get(from).map(|first| self.capture.nodes[*first as usize].operations);
        let (operations, number) = (operations(expr.op(), below, first), expr.node_type().number());
        self.found.truncate(from);
        self.add(expr, Role::Compute, number, begin, operations);
        Ok(())
    }

    /// Captures a node: from now on it is found.
    #[inline(always)]
    fn add(&mut self, expr: Expr, role: Role, number: u64, begin: usize, operations: u32) {
        self.has_names |= expr.is_named();
        let position = self.capture.nodes.len() as u32;
        self.position.insert(expr.id(), position);
        self.found.push(position);
        let (begin, end) = (begin as u32, self.capture.inputs.len() as u32);
        self.capture.nodes.push(Captured { expr, role, number, begin, end, uses: 0, operations });
    }
}

/// What a walk does with a node that it comes to.
enum Kind {
    Data,
    Scalar,
    /// Its inputs come first.
    Inner,
    /// It comes from another device.
    Copy,
    Invalid,
    /// It has no value.
    StandIn,
}

impl Kind {
    #[inline(always)]
    fn of(expr: &Expr) -> Kind {
        if expr.data().is_some() {
            return Kind::Data;
        }
        match expr.op() {
            Op::Scalar => Kind::Scalar,
            Op::Copy => Kind::Copy,
            Op::Invalid(_) => Kind::Invalid,
            Op::Buffer => Kind::StandIn,
            Op::Const(_)
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
            | Op::MaxPool(_)
            | Op::Softmax { .. }
            | Op::LogSoftmax { .. }
            | Op::Normalize { .. }
            | Op::Attention(_)
            | Op::AttentionGrad(_)
            | Op::Composite(_)
            | Op::Loop(_)
            | Op::Part(_)
            | Op::Barrier
            | Op::Kernel(_)
            | Op::Custom(_)
            | Op::Commit(_) => Kind::Inner,
        }
    }
}

/// What became of a node that a walk came to.
enum Entered {
    Captured,
    /// This one, which was not met before, comes first.
    Below(Expr),
    /// The walk ends.
    Ended,
}

#[cold]
fn not_walked(expr: &Expr) -> Arc<Error> {
    Error::internal(expr, "an input that was not walked")
}

/// Why a node without value cannot be evaluated.
#[cold]
fn valueless(expr: &Expr) -> Arc<Error> {
    expr.error().cloned().unwrap_or_else(|| stand_in(expr))
}

/// All copies from other devices that come first, or a node that is busy: only they are looked for, since all is walked again when they are made.
#[cold]
fn copies(targets: &[Expr], newest: NodeId) -> Result<(Vec<Expr>, Option<Expr>), Arc<Error>> {
    let (mut met, mut copies) = (NodeIndex::new(newest), Vec::new());
    let mut left: Vec<Expr> = targets.iter().rev().map(resolve).collect();
    while let Some(expr) = left.pop() {
        if met.get(expr.id()).is_some() {
            continue;
        }
        met.insert(expr.id(), 0);
        let is_claimed = expr.claim().is_taken();
        match Kind::of(&expr) {
            Kind::Data | Kind::Scalar => {}
            Kind::Invalid => return Err(valueless(&expr)),
            Kind::Inner | Kind::StandIn | Kind::Copy if is_claimed => return Ok((copies, Some(expr))),
            Kind::StandIn => return Err(valueless(&expr)),
            Kind::Copy => copies.push(expr),
            Kind::Inner => left.extend(expr.inputs().iter().rev().cloned()),
        }
    }
    Ok((copies, None))
}

/// What a computed node costs per element, from data. A node that only rearranges what is in memory, or that few operations per element make
/// from it, is not worth storing for a reader that may never come: handles are often temporaries of an expression, `(&x * &w + &b).relu()`.
#[inline]
fn operations(op: &Op, below: u32, first: impl FnOnce() -> Option<u32>) -> u32 {
    match op {
        Op::Unary(_) | Op::Binary(_) | Op::Where => below.saturating_add(1),
        Op::Reshape
        | Op::Permute(_)
        | Op::Expand
        | Op::Slice(_)
        | Op::Const(_)
        | Op::Iota { .. }
        | Op::Cast
        | Op::Window { .. }
        | Op::Variable(_) => below,
        // Its value is its first input; what its gradient needs is not computed for it.
        // DEFAULT: a function of nothing is stored, as is all that is not known to be cheap.
        Op::Custom(_) => first().unwrap_or(NOT_CHEAP),
        Op::Random { .. }
        | Op::Bitcast
        | Op::Bounded { .. }
        | Op::Pad(..)
        | Op::Concat { .. }
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
        | Op::Attention(_)
        | Op::AttentionGrad(_)
        | Op::Composite(_)
        | Op::Loop(_)
        | Op::Part(_)
        | Op::Barrier
        | Op::Kernel(_)
        | Op::Commit(_)
        | Op::Buffer
        | Op::Scalar
        | Op::Copy
        | Op::Invalid(_) => NOT_CHEAP,
    }
}

impl Capture {
    /// Besides the targets: what can still be seen from outside of the graph, unless it is as cheap to compute again.
    fn find_outputs(&mut self, targets: &[Expr], position: &NodeIndex) -> Result<(), Arc<Error>> {
        let mut wanted = vec![false; self.nodes.len()];
        let mut held = vec![false; self.nodes.len()];
        for target in targets {
            let index = position.get(resolved_id(target)).ok_or_else(|| Error::internal(target, "a target that was not walked"))?;
            wanted[index as usize] = matches!(self.nodes[index as usize].role, Role::Compute | Role::Scalar(_));
            held[index as usize] = true;
        }
        // One reference is the capture's own; an external is also in its list of externals.
        let own = |node: &Captured| node.uses as usize + 1 + usize::from(matches!(node.role, Role::External(_)));
        // A parameter's copy in another dtype refers to it: where the copy goes with the graph, so does this. By what it refers to, in order.
        let mut copied: Vec<u32> = Vec::new();
        let externals = self.nodes.iter().filter(|node| matches!(node.role, Role::External(_)));
        for copy in externals.filter(|node| node.expr.is_cast_variable() && node.expr.reference_count() <= own(node)) {
            copied.extend(copy.expr.input(0).and_then(|of| position.get(of.id())));
        }
        copied.sort_unstable();
        for (i, node) in self.nodes.iter().enumerate() {
            let copies = copied.partition_point(|of| *of as usize <= i) - copied.partition_point(|of| (*of as usize) < i);
            if node.expr.reference_count() <= own(node) + copies {
                continue;
            }
            held[i] = true;
            if node.operations > CHEAP
                && !matches!(node.expr.op(), Op::Attention(_) | Op::AttentionGrad(_) | Op::MaxPool(_) | Op::Composite(_) | Op::Loop(_))
            {
                // A variable is seen through to its value.
                let mut at = i;
                while let (true, Some(input)) = (self.nodes[at].expr.is_alias(), self.inputs(at).first()) {
                    at = *input as usize;
                }
                wanted[at] = self.nodes[at].role == Role::Compute;
            }
        }
        for (i, is_wanted) in wanted.iter().enumerate() {
            if *is_wanted {
                self.outputs.push(i as u32);
            }
        }
        // An input may be overwritten if it is not held and nothing that stays behind can ask for it again.
        let mut pinned = held.clone();
        self.held = held;
        self.donatable = vec![false; self.externals.len()];
        let (wanted, pinned) = (&wanted[..self.nodes.len()], &mut pinned[..self.nodes.len()]);
        for (i, node) in self.nodes.iter().enumerate().rev() {
            let stays = match node.role {
                Role::Compute if wanted[i] => node.expr.needs_grad() && !node.expr.is_consumed(),
                Role::Compute => pinned[i],
                Role::Scalar(_) => false,
                Role::External(external) => {
                    // All that use it have been asked.
                    self.donatable[external as usize] = !pinned[i];
                    false
                }
            };
            if stays {
                let inputs = &self.inputs[node.begin as usize..node.end as usize];
                inputs.iter().for_each(|input| pinned[*input as usize] = true);
            }
        }
        Ok(())
    }

    /// The nodes that get data, in the order of the plan's outputs.
    pub fn outputs(&self) -> impl Iterator<Item = &Expr> {
        self.outputs.iter().map(|index| &self.nodes[*index as usize].expr)
    }

    /// The nodes in between, which are computed and not kept: a plan is made from their inputs.
    pub fn passed(&self) -> impl Iterator<Item = &Expr> {
        let is_passed = |i: usize, node: &Captured| {
            node.role == Role::Compute && !self.inputs(i).is_empty() && self.outputs.binary_search(&(i as u32)).is_err()
        };
        self.nodes.iter().enumerate().filter(move |(i, node)| is_passed(*i, node)).map(|(_, node)| &node.expr)
    }

    /// The nodes of the run-time scalars.
    pub fn scalar_nodes(&self) -> impl Iterator<Item = &Expr> {
        self.nodes.iter().filter(|node| matches!(node.role, Role::Scalar(_))).map(|node| &node.expr)
    }

    /// Variables whose values are data: which, and which of the externals.
    pub fn variables(&self) -> impl Iterator<Item = (VariableId, usize)> {
        let of =
            |(i, node): (usize, &Captured)| match (node.expr.op(), self.inputs(i).first().map(|input| self.nodes[*input as usize].role)) {
                (Op::Variable(id), Some(Role::External(external))) => Some((*id, external as usize)),
                _ => None,
            };
        self.nodes.iter().enumerate().filter_map(of)
    }

    /// Nodes without data that are held from outside of the graph, if they are older than `first`.
    pub fn held_before(&self, first: NodeId) -> impl Iterator<Item = &Expr> {
        let is_held = move |(node, held): &(&Captured, &bool)| **held && node.expr.id() < first && !matches!(node.role, Role::External(_));
        self.nodes.iter().zip(&self.held).filter(is_held).map(|(node, _)| &node.expr)
    }

    /// Positions, among [`Capture::outputs`], of what is assigned.
    pub fn assigned(&self) -> impl Iterator<Item = usize> {
        self.outputs().enumerate().filter(|(_, expr)| matches!(expr.op(), Op::Commit(_))).map(|(i, _)| i)
    }

    /// How many nodes were walked.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }
}

impl Structure {
    pub(crate) fn of(capture: &Capture) -> Structure {
        let (mut nodes, mut tensors) = (Vec::new(), Vec::new());
        for node in &capture.nodes {
            let of = node.expr.node_type();
            match node.role {
                Role::External(_) => tensors.push(of.tensor_type().kept()),
                Role::Scalar(_) | Role::Compute => nodes.push(of.kept()),
            }
        }
        nodes.sort_by_key(|of| of.number());
        nodes.dedup_by_key(|of| of.number());
        tensors.sort_by_key(|of| of.number());
        tensors.dedup_by_key(|of| of.number());
        Structure {
            nodes: capture.nodes.iter().map(|node| (node.number, node.end)).collect(),
            inputs: capture.inputs.clone(),
            outputs: capture.outputs.clone(),
            donatable: capture.donatable.clone(),
            named: capture.named.clone(),
            _kept: (nodes, tensors),
        }
    }

    /// Whether a plan made for this structure is right for the graph.
    pub(crate) fn is_of(&self, capture: &Capture) -> bool {
        self.nodes.len() == capture.nodes.len()
            && self.nodes.iter().zip(&capture.nodes).all(|((number, end), node)| *number == node.number && *end == node.end)
            && self.inputs == capture.inputs
            && self.outputs == capture.outputs
            && self.donatable == capture.donatable
            && self.named == capture.named
    }
}
