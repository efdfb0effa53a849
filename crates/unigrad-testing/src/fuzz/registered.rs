//! Random programs that call the ops of the registry: a new op is in them by its row and its cases.
//!
//! In: a seed. Out: the seed's program, followed by calls of ops with inputs and attributes of their cases in the op table; inputs come to them
//! through views, and results go on into the rest.
//! Always: every op that takes tensors and reads no values is in one of so many programs in a row as there are ops.
//! Never: a case whose results are not finite, or too large for half types, or that has no gradient where one is asked for.

use super::{Executor, Function, GraphStep, RandomGraph, Rng, StepOp, build, generate};
use crate::{
    Values,
    cases::{self, Case},
};
use std::{collections::BTreeMap, sync::LazyLock};
use unigrad_graph::{DType, broadcast_shapes};
use unigrad_tensor::{Tensor, registry};

/// Values and results are at most this large.
const LARGE: f64 = 1000.0;
/// A tensor has at most so many elements.
const MOST: usize = 2000;

/// By op, the cases that can be called in a program.
static CALLS: LazyLock<Vec<(&'static str, Vec<Case>)>> = LazyLock::new(|| {
    let mut by_op: BTreeMap<&'static str, Vec<Case>> = BTreeMap::new();
    for case in cases::all().into_iter().chain(crate::functions::cases()) {
        let Some(op) = registry::find(&case.op).filter(|op| !op.reads) else { continue };
        let fits = |values: &Values| values.len() <= MOST && values.to_f64().into_iter().all(|x| x.abs() <= LARGE);
        let all = case.inputs.iter().chain(&case.outputs);
        if !case.inputs.is_empty() && all.into_iter().all(|array| fits(&array.values)) {
            by_op.entry(op.name).or_default().push(case);
        }
    }
    by_op.into_iter().collect()
});

/// Names of the ops that programs call.
pub fn names() -> Vec<&'static str> {
    CALLS.iter().map(|(name, _)| *name).collect()
}

struct Growing {
    rng: Rng,
    steps: Vec<GraphStep>,
    tensors: Vec<Tensor>,
    outputs: Vec<usize>,
    derivative: usize,
}

/// The program of a seed, with calls of the registry's ops.
pub fn generate_registered(seed: u64) -> RandomGraph {
    let begin = generate(seed);
    let tensors = replay(&begin);
    let mut g = Growing {
        rng: Rng(seed ^ 0x5eed_0f0f),
        steps: begin.steps,
        tensors,
        outputs: begin.outputs,
        // Second derivatives are those of `tests/derivatives.rs`.
        derivative: begin.derivative.min(1),
    };
    let all = &*CALLS;
    if g.tensors.len() == g.steps.len() && !all.is_empty() {
        // Each op in turn.
        let (_, cases) = &all[seed as usize % all.len()];
        let case = g.rng.pick(cases).clone();
        g.call(&case);
        for _ in 0..g.rng.below(2) {
            let (_, cases) = g.rng.pick(all);
            let case = g.rng.pick(cases).clone();
            g.call(&case);
        }
    }
    RandomGraph { steps: g.steps, outputs: g.outputs, derivative: g.derivative }.pruned()
}

/// A program's tensors, one for each step.
fn replay(program: &RandomGraph) -> Vec<Tensor> {
    let all = RandomGraph { outputs: (0..program.steps.len()).collect(), derivative: 0, ..program.clone() };
    build(&all, Executor::Oracle(0)).unwrap_or_default()
}

impl Growing {
    fn add(&mut self, op: StepOp, inputs: &[usize]) -> Option<usize> {
        let mut step = GraphStep { op, inputs: inputs.to_vec(), shape: Vec::new(), dtype: DType::F32 };
        let tensor = match &step.op {
            StepOp::Given(values) => Executor::Oracle(0).leaf(values),
            _ => step.apply(&inputs.iter().map(|input| self.tensors[*input].clone()).collect::<Vec<_>>()),
        };
        if tensor.is_invalid() || tensor.numel() > MOST {
            return None;
        }
        (step.shape, step.dtype) = (tensor.shape(), tensor.dtype());
        self.steps.push(step);
        self.tensors.push(tensor);
        Some(self.steps.len() - 1)
    }

    /// The same values through views that change nothing in the end.
    fn through_views(&mut self, x: usize) -> Option<usize> {
        let shape = self.steps[x].shape.clone();
        let rank = shape.len();
        match self.rng.below(6) {
            0 if rank > 0 => {
                let axis = self.rng.below(rank);
                let there = self.add(StepOp::Flip(axis), &[x])?;
                self.add(StepOp::Flip(axis), &[there])
            }
            1 if rank > 1 => {
                let order: Vec<usize> = (0..rank).rev().collect();
                let there = self.add(StepOp::Permute(order.clone()), &[x])?;
                self.add(StepOp::Permute(order), &[there])
            }
            2 if rank > 0 => {
                let axis = self.rng.below(rank);
                let there = self.add(StepOp::Roll(3, axis), &[x])?;
                self.add(StepOp::Roll(-3, axis), &[there])
            }
            3 => {
                let there = self.add(StepOp::Reshape(vec![shape.iter().product()]), &[x])?;
                self.add(StepOp::Reshape(shape), &[there])
            }
            4 if rank > 0 && self.steps[x].dtype.is_float() => {
                let axis = self.rng.below(rank);
                let pads: Vec<(usize, usize)> = (0..rank).map(|i| if i == axis { (2, 1) } else { (0, 0) }).collect();
                let there = self.add(StepOp::Pad(pads, 0.5), &[x])?;
                let whole = |(i, size): (usize, &usize)| if i == axis { (2, 2 + *size as i64, 1) } else { (i64::MIN, i64::MIN, 1) };
                self.add(StepOp::Slice(shape.iter().enumerate().map(whole).collect()), &[there])
            }
            _ => Some(x),
        }
    }

    fn call(&mut self, case: &Case) -> Option<()> {
        let dtype = *self.rng.pick(&[DType::F32, DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16]);
        let mut inputs = Vec::with_capacity(case.inputs.len());
        for input in &case.inputs {
            let values = match input.any_float {
                true => Values::from_f64(dtype, &input.values.shape, &input.values.to_f64()),
                false => input.values.clone(),
            };
            let leaf = self.add(StepOp::Given(values), &[])?;
            inputs.push(self.through_views(leaf)?);
        }
        let floats = || inputs.iter().map(|input| self.steps[*input].dtype).filter(|dtype| dtype.is_float());
        if floats().next().is_some() && (case.grads.is_empty() || floats().any(|dtype| dtype.size() == 2)) {
            // At a kink, or a step, what its gradient is depends on rounding; and half types do not hold every number on the way to one.
            self.derivative = 0;
        }
        let result = self.rng.below(case.outputs.len());
        let call = StepOp::Registered { op: case.op.clone(), attributes: case.args.clone(), result };
        let mut last = self.add(call, &inputs)?;
        if !self.steps[last].dtype.is_float() {
            last = self.add(StepOp::Cast(dtype), &[last])?;
        }
        // Onward: by a map, a row or a reduction, and with another tensor.
        last = self.add(StepOp::Affine(0.5, 0.75), &[last])?;
        last = self.add(StepOp::Map(*self.rng.clone().pick(&[Function::Tanh, Function::Sin, Function::Sigmoid])), &[last])?;
        let rank = self.steps[last].shape.len();
        let next = match self.rng.below(4) {
            0 if rank > 0 => self.add(StepOp::Mean(vec![rank - 1], true), &[last]),
            1 if rank > 0 => self.add(StepOp::Permute((0..rank).rev().collect()), &[last]),
            2 => {
                let fits = |other: &usize| {
                    let step = &self.steps[*other];
                    step.dtype == self.steps[last].dtype && broadcast_shapes(&step.shape, &self.steps[last].shape).is_some()
                };
                let others: Vec<usize> = (0..self.steps.len()).filter(fits).collect();
                let other = *self.rng.pick(&others);
                self.add(StepOp::Add, &[last, other])
            }
            _ => None,
        };
        self.outputs.push(next.unwrap_or(last));
        Some(())
    }
}
