//! Composites: several ops as one node, from a graph that was recorded once for all nodes of a kind.
//!
//! In: what a function makes of stand-ins for its arguments. Out: the ops as data, and nodes that do all of them; the planner and the gradient put
//! the ops in the node's place.
//! Always: a composite does what its ops do one by one, bit for bit. Equal content is equal, wherever it was recorded. Arguments are in the order in
//! which the ops meet them, so that a graph is walked as it would be without the composite.
//! Never: holds data, run-time numbers, variables or a user's gradient: a function that has any beside its arguments is not recorded.

use crate::{DType, Dim, Error, Expr, Inputs, Names, NodeType, Op, Shape, TensorType, autograd::Vjp, gradients, no_grad_guard};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

/// Ops in an order in which they can be done.
#[derive(Debug)]
pub struct Composite {
    name: &'static str,
    arguments: Vec<Arc<TensorType>>,
    steps: Vec<RecordedOp>,
    /// Which values are the results: arguments first, then steps.
    results: Vec<u32>,
    hash: u64,
}

/// One op, and which values it takes.
#[derive(Clone, Debug)]
struct RecordedOp {
    node_type: Arc<NodeType>,
    inputs: SmallVec<[u32; 3]>,
}

/// A function as a composite.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What it does.
    pub composite: Arc<Composite>,
    /// Which of the function's arguments it takes, in order.
    pub arguments: Vec<usize>,
}

impl PartialEq for RecordedOp {
    fn eq(&self, other: &RecordedOp) -> bool {
        self.node_type.number() == other.node_type.number() && self.inputs == other.inputs
    }
}

impl PartialEq for Composite {
    fn eq(&self, other: &Composite) -> bool {
        std::ptr::eq(self, other)
            || (self.hash == other.hash
                && self.name == other.name
                && self.arguments == other.arguments
                && self.steps == other.steps
                && self.results == other.results)
    }
}

impl Eq for Composite {}

impl Hash for Composite {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// A value while a function is recorded.
#[derive(Clone, Copy)]
enum Value {
    Argument(u32),
    RecordedOp(u32),
}

/// What a node that a function meets is to it.
pub(crate) enum Met {
    /// One of its ops.
    Op,
    /// A value from outside.
    Outside,
    /// What cannot be recorded.
    Foreign,
}

/// What a walk through a function's results found.
pub(crate) struct Walked {
    /// Which of the stand-ins each argument is; the values from outside come after them.
    pub(crate) arguments: Vec<usize>,
    /// Values from outside.
    pub(crate) outside: Vec<Expr>,
    types: Vec<Arc<TensorType>>,
    steps: Vec<RecordedOp>,
    results: Vec<u32>,
}

impl Walked {
    /// From results down to stand-ins and to what `met` calls outside. The node that cannot be recorded, or an error, if there is one.
    pub(crate) fn new(stand_ins: &[Expr], roots: &[Expr], met: &dyn Fn(&Expr) -> Met) -> Result<Result<Walked, Expr>, Arc<Error>> {
        let place_of: FxHashMap<u64, usize> = stand_ins.iter().enumerate().map(|(i, stand_in)| (stand_in.id(), i)).collect();
        let mut known: FxHashMap<u64, Value> = FxHashMap::default();
        let (mut arguments, mut outside, mut types, mut steps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for root in roots {
            let mut stack = vec![(root.clone(), false)];
            while let Some((expr, expanded)) = stack.pop() {
                if known.contains_key(&expr.id()) {
                    continue;
                }
                if let Some(error) = expr.error() {
                    return Err(error.clone());
                }
                let argument = match (place_of.get(&expr.id()), met(&expr)) {
                    (Some(place), _) => Some(*place),
                    (None, Met::Outside) => {
                        outside.push(expr.clone());
                        Some(stand_ins.len() + outside.len() - 1)
                    }
                    (None, Met::Op) => None,
                    (None, Met::Foreign) => return Ok(Err(expr)),
                };
                if let Some(argument) = argument {
                    known.insert(expr.id(), Value::Argument(arguments.len() as u32));
                    arguments.push(argument);
                    types.push(expr.tensor_type().clone());
                    continue;
                }
                let inputs = expr.inputs().clone();
                if !expanded {
                    stack.push((expr, true));
                    stack.extend(inputs.into_iter().rev().map(|input| (input, false)));
                    continue;
                }
                let inputs: Option<SmallVec<[Value; 3]>> = inputs.iter().map(|input| known.get(&input.id()).copied()).collect();
                let Some(inputs) = inputs else { return Err(Error::internal(&expr, "an input that was not walked")) };
                known.insert(expr.id(), Value::RecordedOp(steps.len() as u32));
                steps.push((expr.node_type().clone(), inputs));
            }
        }
        let place = |value: Value| match value {
            Value::Argument(i) => i,
            Value::RecordedOp(i) => arguments.len() as u32 + i,
        };
        let mut results = Vec::with_capacity(roots.len());
        for root in roots {
            let Some(value) = known.get(&root.id()) else { return Err(Error::internal(root, "a result that was not walked")) };
            results.push(place(*value));
        }
        let steps = steps
            .into_iter()
            .map(|(node_type, inputs)| RecordedOp { node_type, inputs: inputs.into_iter().map(place).collect() })
            .collect();
        Ok(Ok(Walked { arguments, outside, types, steps, results }))
    }

    /// A dimension that only the function itself has given a name to an axis with, if there is one.
    pub(crate) fn own_dim(&self) -> Option<&Dim> {
        let outside = |dim: &Dim, size: usize| {
            self.types.iter().flat_map(|of| of.names()).flat_map(Names::sizes).any(|(other, at)| at == size && other == dim)
        };
        let all = self.steps.iter().flat_map(|step| step.node_type.tensor_type().names()).flat_map(Names::sizes);
        all.into_iter().find(|(dim, size)| !outside(dim, *size)).map(|(dim, _)| dim)
    }

    pub(crate) fn composite(self, name: &'static str) -> Composite {
        Composite::new(name, self.types, self.steps, self.results)
    }
}

impl Composite {
    fn new(name: &'static str, arguments: Vec<Arc<TensorType>>, steps: Vec<RecordedOp>, results: Vec<u32>) -> Composite {
        let mut hasher = FxHasher::default();
        arguments.iter().for_each(|of| hasher.write_u64(of.number()));
        steps.iter().for_each(|step| (step.node_type.number(), &step.inputs).hash(&mut hasher));
        results.hash(&mut hasher);
        Composite { name, arguments, steps, results, hash: hasher.finish() }
    }

    /// What `f` makes of tensors like these. `None` if it takes more than its arguments (data, run-time numbers, variables) or states a gradient of
    /// its own; an error if one of its results is invalid.
    pub fn record(name: &'static str, like: &[Expr], f: impl FnOnce(&[Expr]) -> Vec<Expr>) -> Result<Option<Recorded>, Arc<Error>> {
        let _guard = no_grad_guard();
        let stand_ins: Vec<Expr> = like.iter().map(Expr::stand_in).collect();
        let roots = f(&stand_ins);
        Composite::recorded(name, &stand_ins, &roots)
    }

    /// What was made of stand-ins. Not generic: each function that a program records would compile the walk anew.
    fn recorded(name: &'static str, stand_ins: &[Expr], roots: &[Expr]) -> Result<Option<Recorded>, Arc<Error>> {
        let met = |expr: &Expr| {
            let is_foreign = matches!(expr.op(), Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Custom(_) | Op::Copy | Op::Commit(_));
            // What differs by the size of a named axis alone would be equal.
            if expr.data().is_some() || is_foreign || expr.is_named() { Met::Foreign } else { Met::Op }
        };
        let Ok(walked) = Walked::new(stand_ins, roots, &met)? else { return Ok(None) };
        if walked.steps.is_empty() {
            return Ok(None);
        }
        let arguments = walked.arguments.clone();
        Ok(Some(Recorded { composite: Arc::new(walked.composite(name)), arguments }))
    }

    /// The same ops, with some of the arguments as further results.
    pub(crate) fn with_arguments(&self, further: &[u32]) -> Composite {
        let results = self.results.iter().chain(further).copied().collect();
        Composite::new(self.name, self.arguments.clone(), self.steps.clone(), results)
    }

    /// What is the same for plans: without users' gradients, and with named axes as long as their buckets. `None` if it is that already.
    pub(crate) fn general(&self) -> Option<Composite> {
        let is_general = |of: &Arc<TensorType>| Arc::ptr_eq(&of.kept(), of);
        if !self.steps.iter().any(|step| step.node_type.is_own()) && self.arguments.iter().all(is_general) {
            return None;
        }
        let steps = self.steps.iter().map(|step| RecordedOp { node_type: step.node_type.kept(), inputs: step.inputs.clone() }).collect();
        let arguments = self.arguments.iter().map(TensorType::kept).collect();
        Some(Composite { name: self.name, arguments, steps, results: self.results.clone(), hash: self.hash })
    }

    /// Leaves of the types of the arguments, without data.
    #[track_caller]
    pub fn stand_ins(&self) -> Vec<Expr> {
        let mut stand_ins = Vec::with_capacity(self.arguments.len());
        for of in &self.arguments {
            stand_ins.push(Expr::stand_in_of(of));
        }
        stand_ins
    }

    /// Equal for composites of equal content.
    pub(crate) fn content(&self) -> u64 {
        self.hash
    }

    /// What it was recorded as.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The type of a result.
    pub(crate) fn result_type(&self, i: usize) -> Option<&Arc<TensorType>> {
        let value = *self.results.get(i)? as usize;
        match value.checked_sub(self.arguments.len()) {
            None => self.arguments.get(value),
            Some(step) => self.steps.get(step).map(|step| step.node_type.tensor_type()),
        }
    }

    /// The shape and dtype of a result.
    pub fn result(&self, i: usize) -> Option<(&Shape, DType)> {
        self.result_type(i).map(|of| (&of.shape, of.dtype))
    }

    /// The ops as nodes, each after those that it takes.
    #[track_caller]
    pub fn nodes(&self, arguments: &[Expr]) -> Vec<Expr> {
        let mut values: Vec<Expr> = arguments.to_vec();
        for step in &self.steps {
            let inputs: Inputs = step.inputs.iter().map(|input| values[*input as usize].clone()).collect();
            values.push(Expr::of_node_type(step.node_type.clone(), inputs));
        }
        values
    }

    /// The results, by the ops one by one.
    #[track_caller]
    pub fn inline(&self, arguments: &[Expr]) -> Vec<Expr> {
        let values = self.nodes(arguments);
        self.results.iter().map(|result| values[*result as usize].clone()).collect()
    }

    /// Which of [`Composite::nodes`] are the results; those after the arguments are the ops.
    pub fn results(&self) -> &[u32] {
        &self.results
    }
}

impl Recorded {
    /// How many results it has.
    pub fn n_results(&self) -> usize {
        self.composite.results.len()
    }

    /// The results for these arguments of the function, as parts of one node. `None` where a type is not that of the recorded function.
    #[track_caller]
    pub fn call(&self, arguments: impl IntoIterator<Item = Expr>) -> Option<Vec<Expr>> {
        let whole = self.whole(arguments)?;
        let mut results = Vec::with_capacity(self.n_results());
        // Not in a closure, where the origin would be this line.
        for i in 0..self.n_results() {
            results.push(whole.part(i));
        }
        Some(results)
    }

    /// The node that the results are parts of.
    #[track_caller]
    pub fn whole(&self, arguments: impl IntoIterator<Item = Expr>) -> Option<Expr> {
        let mut arguments: SmallVec<[Option<Expr>; 16]> = arguments.into_iter().map(Some).collect();
        let mut taken = Inputs::with_capacity(self.arguments.len());
        for (i, of) in self.arguments.iter().zip(&self.composite.arguments) {
            // Each is taken once.
            let argument = arguments.get_mut(*i)?.take()?;
            if argument.is_named() || argument.tensor_type().number() != of.number() {
                return None;
            }
            taken.push(argument);
        }
        Expr::composite(&self.composite, taken)
    }
}

/// The gradient of result `i`: that of the ops.
pub(crate) fn part_vjp(v: &mut Vjp<'_>, composite: &Composite, i: usize) -> Result<(), Error> {
    // One argument may be computed from another: differentiate by stand-ins.
    let own: Vec<Expr> = v.inputs.iter().map(Expr::identity).collect();
    let results = composite.inline(&own);
    let Some(result) = results.get(i) else { return Err((*Error::internal(v.node, "a part that is not there")).clone()) };
    for (k, share) in gradients(result, v.dy, &own)?.into_iter().enumerate() {
        if let Some(share) = share {
            v.send_made(k, share);
        }
    }
    Ok(())
}
