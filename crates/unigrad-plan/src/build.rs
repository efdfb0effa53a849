//! From a capture to the compiler's graph: identities resolved, composites and convolutions taken apart.

use crate::capture::{Capture, Role};
use crate::commit::{self, Assignment, ScalarCheck};
use crate::ir::{Id, Ir, IrNode, IrOp};
use crate::plan::Options;
use crate::{channels_last, conv, float8, max_pool};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unigrad_graph::{Composite, Expr, NodeId, Op};

pub(crate) struct Builder {
    pub(crate) ir: Ir,
    pub(crate) id_of: FxHashMap<NodeId, Id>,
    /// The results of composites and loops.
    results: FxHashMap<NodeId, Vec<Id>>,
    /// Max pools that are maps.
    pools: FxHashMap<NodeId, max_pool::Pooled>,
    /// By what a loop gave as a sequence, its elements.
    pub(crate) elements: FxHashMap<Id, Vec<Id>>,
    barriers: u32,
    options: Options,
    /// Whether the convolutions of this capture have their channels last, and whether one is being taken apart.
    channels_last: bool,
    in_convolution: bool,
    /// See [`Built::turns`].
    turns: FxHashSet<Id>,
    /// The node of the capture that is being taken apart.
    pub(crate) recorded: NodeId,
}

/// What is to be computed.
pub(crate) struct Built {
    pub(crate) ir: Ir,
    /// The node of every output.
    pub(crate) outputs: Vec<Id>,
    /// For every output, the input whose contents it replaces, if it is an assignment over one.
    pub(crate) replaced: Vec<Option<u32>>,
    /// What has to hold for the plan to run.
    pub(crate) checks: Vec<ScalarCheck>,
    /// The permutes that end convolutions with their channels last, for [`crate::permutes`].
    pub(crate) turns: FxHashSet<Id>,
}

/// [`Built`] without the graph.
type Outputs = (Vec<Id>, Vec<Option<u32>>, Vec<ScalarCheck>);

/// The compiler's graph and its outputs.
pub(crate) fn build(capture: &Capture, options: Options) -> Result<Built, String> {
    let _guard = unigrad_graph::keep_scalars_guard();
    let convolutions = capture.nodes.iter().filter(|node| matches!(node.role, Role::Compute)).map(|node| &node.expr);
    let mut builder = Builder::new(options, options.fusion && channels_last::are_last(convolutions, options.channels));
    for (i, node) in capture.nodes.iter().enumerate() {
        let expr = &node.expr;
        builder.recorded = expr.id();
        let id = match node.role {
            Role::External(input) => builder.leaf(expr, IrOp::External(input)),
            Role::Scalar(slot) => builder.leaf(expr, IrOp::Scalar(slot)),
            Role::Compute => {
                let inputs: SmallVec<[Id; 3]> = capture
                    .inputs(i)
                    .iter()
                    .map(|input| builder.id_of.get(&capture.nodes[*input as usize].expr.id()).copied())
                    .collect::<Option<_>>()
                    .ok_or_else(|| format!("{} from {}: an input is missing", expr.op().name(), expr.origin()))?;
                builder.node(expr, inputs)?
            }
        };
        builder.id_of.insert(expr.id(), id);
    }
    let (outputs, replaced, checks) = builder.outputs(capture)?;
    // An output that is itself data or a scalar gets memory of its own.
    let outputs = outputs.into_iter().map(|id| builder.owned(id)).collect();
    Ok(Built { ir: builder.ir, outputs, replaced, checks, turns: builder.turns })
}

impl Builder {
    fn new(options: Options, channels_last: bool) -> Builder {
        let (id_of, results, elements, pools) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        let (ir, turns) = (Ir::default(), FxHashSet::default());
        Builder { ir, id_of, results, pools, elements, barriers: 0, options, channels_last, in_convolution: false, turns, recorded: 0 }
    }

    fn leaf(&mut self, expr: &Expr, op: IrOp) -> Id {
        self.add(expr, op, SmallVec::new())
    }

    fn add(&mut self, expr: &Expr, op: IrOp, inputs: SmallVec<[Id; 3]>) -> Id {
        let dtype = float8::held(expr.dtype());
        let (shape, origin, recorded) = (expr.shape().clone(), expr.origin(), self.recorded);
        self.ir.add(IrNode { op, inputs, shape, dtype, origin, recorded })
    }

    /// The op as it is recorded.
    fn same(&mut self, expr: &Expr, inputs: SmallVec<[Id; 3]>) -> Id {
        let op = if expr.dtype().only_stores() { float8::of_codes(expr.op()) } else { expr.op().clone() };
        self.add(expr, IrOp::Op(op), inputs)
    }

    /// The same bits in another dtype, which may be the one that they have here.
    fn bitcast(&mut self, expr: &Expr, inputs: SmallVec<[Id; 3]>) -> Id {
        match inputs.first() {
            Some(input) if self.ir.node(*input).dtype == float8::held(expr.dtype()) => *input,
            _ => self.same(expr, inputs),
        }
    }

    fn barrier(&mut self, expr: &Expr, input: Id) -> Id {
        self.barriers += 1;
        self.add(expr, IrOp::Barrier(self.barriers), SmallVec::from_slice(&[input]))
    }

    fn owned(&mut self, id: Id) -> Id {
        let node = self.ir.node(id).clone();
        // What elements are put over may lie where the result is to be, in another shape too.
        let below = self.ir.in_memory_as(id);
        if crate::lower::over(&self.ir, below).is_some() {
            return below;
        }
        if !matches!(node.op, IrOp::External(_) | IrOp::Scalar(_)) {
            return id;
        }
        self.barriers += 1;
        self.ir.add(IrNode { op: IrOp::Barrier(self.barriers), inputs: SmallVec::from_slice(&[id]), ..node })
    }

    /// The node of every output; what is assigned keeps its old value where the evaluation fails.
    fn outputs(&mut self, capture: &Capture) -> Result<Outputs, String> {
        let mut outputs = Vec::with_capacity(capture.outputs.len());
        let mut replaced = vec![None; capture.outputs.len()];
        let mut assignments = Vec::new();
        let mut at = Vec::new();
        for node in capture.outputs.iter().map(|index| &capture.nodes[*index as usize]) {
            outputs.push(self.known(&node.expr)?);
            if matches!((node.expr.op(), node.role), (Op::Commit(_), Role::Compute)) {
                at.push(outputs.len() - 1);
                let assignment = self.assignment(&node.expr)?;
                if let IrOp::External(input) = self.ir.node(assignment.before).op {
                    replaced[outputs.len() - 1] = Some(input);
                }
                assignments.push(assignment);
            }
        }
        let checks = commit::outputs(&mut self.ir, &assignments, &at, &mut outputs);
        Ok((outputs, replaced, checks))
    }

    fn known(&self, expr: &Expr) -> Result<Id, String> {
        self.id_of.get(&expr.id()).copied().ok_or_else(|| format!("{} is missing", expr.op().name()))
    }

    fn assignment(&self, expr: &Expr) -> Result<Assignment, String> {
        let (value, otherwise) = (self.committed(expr)?, operand(expr, 1)?);
        // Assigned twice before it was evaluated: what counts is what was there first.
        let mut before = otherwise.clone();
        while matches!(before.op(), Op::Commit(_) | Op::Variable(_)) && before.data().is_none() {
            before = operand(&before, usize::from(matches!(before.op(), Op::Commit(_))))?;
        }
        let condition = expr.input(2).map(|condition| self.known(&condition)).transpose()?;
        Ok(Assignment { value, otherwise: self.known(&otherwise)?, condition, before: self.known(&before)? })
    }

    /// The new value of an assignment.
    fn committed(&self, expr: &Expr) -> Result<Id, String> {
        let value = operand(expr, 0)?;
        if let Op::Commit(Some(i)) = expr.op() { self.result(&value, *i as usize) } else { self.known(&value) }
    }

    /// A result of a composite or scan.
    fn result(&self, whole: &Expr, i: usize) -> Result<Id, String> {
        let result = self.results.get(&whole.id()).and_then(|results| results.get(i));
        result.copied().ok_or_else(|| format!("there is no part {i} of a composite or scan"))
    }

    fn node(&mut self, expr: &Expr, inputs: SmallVec<[Id; 3]>) -> Result<Id, String> {
        // What it is taken apart into comes from the same line of the user's.
        let _origin = expr.origin().enter();
        match expr.op() {
            Op::Commit(_) => {
                let value = self.committed(expr)?;
                Ok(commit::seen(&mut self.ir, value, inputs[1], inputs.get(2).copied()))
            }
            Op::Variable(_) | Op::Custom(_) => Ok(inputs[0]),
            Op::Barrier if self.in_convolution => Ok(self.add(expr, IrOp::Dense, SmallVec::from_slice(&inputs[..1]))),
            Op::Barrier => Ok(self.barrier(expr, inputs[0])),
            Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => {
                let Some(parts) = unigrad_graph::decompose(expr) else { return Err(format!("{} has no decomposition", expr.op().name())) };
                self.expand(&parts)
            }
            Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => self.convolution(expr),
            // The kernel takes its lengths as run-time scalars. Lengths that a device computed are for the decomposition.
            Op::Attention(_) | Op::AttentionGrad(_) if !self.has_kernel(expr.op(), &inputs) => Ok(inputs[0]),
            Op::Composite(composite) => self.composite(expr, composite),
            Op::Loop(spec) => {
                let results = self.steps(spec, &inputs)?;
                let first = *results.first().ok_or("a scan without results")?;
                self.results.insert(expr.id(), results);
                Ok(first)
            }
            Op::Part(i) if matches!(operand(expr, 0)?.op(), Op::Composite(_) | Op::Loop(_)) => self.result(&operand(expr, 0)?, *i),
            Op::Part(_) if self.is_computed_attention(expr) => {
                let Some(parts) = unigrad_graph::decompose(expr) else { return Err("attention has no decomposition".into()) };
                self.expand(&parts)
            }
            Op::MaxPool(_) if self.pool(expr) => Ok(inputs[0]),
            Op::Part(i) if let Some(pooled) = self.pools.get(&operand(expr, 0)?.id()) => {
                let part = if *i == 0 { pooled.maximum.clone() } else { pooled.place.clone() };
                self.expand(&part)
            }
            Op::Attention(_) | Op::AttentionGrad(_) | Op::MaxPool(_) => {
                let whole = self.add(expr, IrOp::Op(expr.op().clone()), inputs);
                // The kernel writes every part, asked for or not.
                let parts = if matches!(expr.op(), Op::AttentionGrad(_)) { 3 } else { 2 };
                for part in 0..parts {
                    let part = expr.part(part);
                    self.add(&part, IrOp::Op(part.op().clone()), SmallVec::from_slice(&[whole]));
                }
                Ok(whole)
            }
            Op::Const(_) | Op::Iota { .. } | Op::Random { .. } | Op::Reduce(..) | Op::ArgReduce(..) => Ok(self.same(expr, inputs)),
            Op::Cast => match float8::cast(&operand(expr, 0)?, expr.dtype()) {
                Some(parts) => self.expand(&parts),
                None => Ok(self.same(expr, inputs)),
            },
            Op::Bitcast => Ok(self.bitcast(expr, inputs)),
            Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Bounded { .. } => Ok(self.same(expr, inputs)),
            Op::Reshape | Op::Permute(_) | Op::Expand | Op::Slice(_) | Op::Pad(..) | Op::Concat { .. } | Op::Window { .. } => {
                Ok(self.same(expr, inputs))
            }
            Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Gather { .. } => Ok(self.same(expr, inputs)),
            Op::Scatter { .. } => match self.pool_gradient(expr, inputs[0]) {
                Some(parts) => self.expand(&parts),
                None => Ok(self.same(expr, inputs)),
            },
            Op::Scan { .. } | Op::ArgSort { .. } | Op::TopK { .. } | Op::MatMul | Op::Kernel(_) | Op::Part(_) => {
                Ok(self.same(expr, inputs))
            }
            Op::Buffer | Op::Scalar | Op::Copy | Op::Invalid(_) => {
                Err(format!("{} from {} is nothing to compute", expr.op().name(), expr.origin()))
            }
        }
    }

    /// Whether a max pool is maps from here on: where a device would rather compute its taps twice than store what its kernel stores.
    fn pool(&mut self, pool: &Expr) -> bool {
        let pooled = if self.options.fusion { max_pool::taps(pool, self.options.recompute / 2) } else { None };
        pooled.is_some_and(|pooled| {
            self.pools.insert(pool.id(), pooled);
            true
        })
    }

    /// A scatter onto `base` as a gather, where it is the gradient of a max pool whose windows cost less than what a scatter stores.
    fn pool_gradient(&self, scatter: &Expr, base: Id) -> Option<Expr> {
        let is_zero = self.ir.constant_of(base).is_some_and(|base| base.as_f64() == 0.0);
        let pooled = |pool: &Expr| self.pools.get(&pool.id()).cloned();
        if is_zero && self.options.fusion { max_pool::gathered(scatter, self.options.recompute, pooled) } else { None }
    }

    /// Adds a convolution, or a gradient of one, as views and a product.
    fn convolution(&mut self, expr: &Expr) -> Result<Id, String> {
        let (a, b, shape) = (operand(expr, 0)?, operand(expr, 1)?, expr.shape());
        let channels_last = self.channels_last && self.options.channels.are_last(expr.dtype());
        let parts = match (expr.op(), channels_last) {
            (Op::Conv(spec), false) => conv::forward(&a, &b, spec, shape),
            (Op::ConvDataGrad(spec), false) => conv::data_grad(&a, &b, spec, shape),
            (Op::ConvWeightGrad(spec), false) => conv::weight_grad(&a, &b, spec, shape),
            (Op::Conv(spec), true) => channels_last::forward(&a, &b, spec, shape),
            (Op::ConvDataGrad(spec), true) => channels_last::data_grad(&a, &b, spec, shape),
            (Op::ConvWeightGrad(spec), true) => channels_last::weight_grad(&a, &b, spec, shape),
            (op, _) => return Err(format!("{} is no convolution", op.name())),
        };
        self.in_convolution = true;
        let id = self.expand(&parts);
        self.in_convolution = false;
        let id = id?;
        let is_gradient_of_weight = matches!(expr.op(), Op::ConvWeightGrad(_));
        if channels_last && !is_gradient_of_weight && matches!(self.ir.node(id).op, IrOp::Op(Op::Permute(_))) {
            self.turns.insert(id);
        }
        Ok(id)
    }

    /// Adds the ops of a composite in the order in which they were recorded.
    fn composite(&mut self, expr: &Expr, composite: &Composite) -> Result<Id, String> {
        let _origin = expr.origin().enter();
        let nodes = composite.nodes(&expr.inputs());
        let ids = nodes.iter().map(|node| self.expand(node)).collect::<Result<Vec<Id>, String>>()?;
        let results: Vec<Id> = composite.results().iter().map(|result| ids[*result as usize]).collect();
        let first = *results.first().ok_or("a composite without results")?;
        self.results.insert(expr.id(), results);
        Ok(first)
    }

    /// Whether attention, or its gradient, is a kernel of its own.
    fn has_kernel(&self, op: &Op, inputs: &[Id]) -> bool {
        let (Op::Attention(spec) | Op::AttentionGrad(spec)) = op else { return false };
        // The gradient's longest passes read the inputs and three more, and write one.
        if matches!(op, Op::AttentionGrad(_)) && spec.n_tensors() + 4 > self.options.limits.buffers {
            return false;
        }
        inputs[spec.numbers()].iter().all(|id| matches!(self.ir.node(*id).op, IrOp::Scalar(_)))
    }

    fn is_computed_attention(&self, part: &Expr) -> bool {
        let Some(whole) = part.input(0) else { return false };
        if !matches!(whole.op(), Op::Attention(_) | Op::AttentionGrad(_)) {
            return false;
        }
        let inputs: Option<SmallVec<[Id; 8]>> = whole.inputs().iter().map(|input| self.id_of.get(&input.id()).copied()).collect();
        inputs.is_some_and(|inputs| !self.has_kernel(whole.op(), &inputs))
    }

    /// Adds a freshly made graph whose leaves are known already.
    pub(crate) fn expand(&mut self, root: &Expr) -> Result<Id, String> {
        if let Some(error) = root.error() {
            return Err(error.to_string());
        }
        let mut stack: Vec<(Expr, bool)> = vec![(root.clone(), false)];
        while let Some((expr, expanded)) = stack.pop() {
            if self.id_of.contains_key(&expr.id()) {
                continue;
            }
            let inputs = expr.inputs().clone();
            if !expanded {
                stack.push((expr.clone(), true));
                stack.extend(inputs.iter().filter(|input| !self.id_of.contains_key(&input.id())).map(|input| (input.clone(), false)));
                continue;
            }
            let ids = inputs.iter().map(|input| self.id_of.get(&input.id()).copied()).collect::<Option<SmallVec<[Id; 3]>>>();
            let id = self.node(&expr, ids.ok_or("an input is missing")?)?;
            self.id_of.insert(expr.id(), id);
        }
        self.id_of.get(&root.id()).copied().ok_or_else(|| "the root is missing".into())
    }
}

fn operand(expr: &Expr, i: usize) -> Result<Expr, String> {
    expr.input(i).ok_or_else(|| format!("{} has lost its inputs", expr.op().name()))
}
