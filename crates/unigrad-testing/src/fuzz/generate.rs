//! Random programs from a seed.
//!
//! Values stay small (each step's bound is tracked, and what grows is squashed), so that results mean something in every dtype.

use super::{Executor, Function, GraphStep, Leaf, RandomGraph, Rng, StepOp, build};
use unigrad_graph::{DType, broadcast_shapes, numel};
use unigrad_tensor::Tensor;

const SIZES: [usize; 16] = [1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 13, 16, 17, 33, 40];

/// For programs whose tensors fill whole blocks of a driver, and more than one thread.
const LARGE_SIZES: [usize; 16] = [1, 2, 3, 4, 8, 16, 17, 32, 64, 65, 100, 128, 256, 300, 512, 1000];

struct Generator {
    rng: Rng,
    steps: Vec<GraphStep>,
    tensors: Vec<Tensor>,
    facts: Vec<Facts>,
    sizes: [usize; 16],
    /// No tensor of the program is larger.
    most_elements: usize,
    /// The greatest of values is asked for that rounding may have made equal, or not: which it is, and so where the gradient goes, is then
    /// anyone's guess.
    close_calls: bool,
}

/// What is known about a step's values.
#[derive(Clone, Copy)]
struct Facts {
    /// No value is greater.
    bound: f64,
    /// No rounding has happened: comparisons may look at them.
    exact: bool,
}

/// The program of a seed.
pub fn generate(seed: u64) -> RandomGraph {
    let (sizes, most_elements) = if seed % 50 == 49 { (LARGE_SIZES, 40_000) } else { (SIZES, 1500) };
    let mut g =
        Generator { rng: Rng(seed), steps: Vec::new(), tensors: Vec::new(), facts: Vec::new(), sizes, most_elements, close_calls: false };
    let most = if g.rng.once_in(4) { 24 } else { 10 };
    let n_steps = 2 + g.rng.below(most);
    g.float_leaf();
    while g.steps.len() < n_steps {
        g.step();
    }
    let n_outputs = 1 + g.rng.below(3);
    let mut outputs = vec![g.steps.len() - 1];
    for _ in 1..n_outputs {
        outputs.push(g.rng.below(g.steps.len()));
    }
    outputs.sort_unstable();
    outputs.dedup();
    let derivative = match g.rng.below(20) {
        0 => 2,
        1..=8 => 1,
        _ => 0,
    };
    let derivative = if g.close_calls { 0 } else { derivative };
    RandomGraph { steps: g.steps, outputs, derivative }.pruned()
}

impl Generator {
    fn size(&mut self) -> usize {
        if self.rng.once_in(60) { 0 } else { self.sizes[self.rng.below(self.sizes.len())] }
    }

    fn shape(&mut self) -> Vec<usize> {
        loop {
            let rank = *self.rng.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 3, 4]);
            let shape: Vec<usize> = (0..rank).map(|_| self.size()).collect();
            if numel(&shape) <= self.most_elements / 3 {
                return shape;
            }
        }
    }

    fn float_dtype(&mut self) -> DType {
        *self.rng.pick(&[DType::F32, DType::F32, DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16])
    }

    fn leaf(&mut self, shape: Vec<usize>, dtype: DType, below: usize) -> usize {
        let leaf = Leaf { shape: shape.clone(), dtype, seed: self.rng.bits(), below };
        let bound = if dtype.is_float() { 2.0 } else { below as f64 };
        let step = GraphStep { op: StepOp::Leaf(leaf), inputs: Vec::new(), shape, dtype };
        let only = RandomGraph { steps: vec![step.clone()], outputs: vec![0], derivative: 0 };
        let tensor = build(&only, Executor::Oracle(0)).map(|mut tensors| tensors.remove(0));
        if let Ok(tensor) = tensor {
            self.steps.push(step);
            self.tensors.push(tensor);
            self.facts.push(Facts { bound, exact: true });
        }
        self.steps.len() - 1
    }

    fn float_leaf(&mut self) -> usize {
        let (shape, dtype) = (self.shape(), self.float_dtype());
        self.leaf(shape, dtype, 1)
    }

    /// A step made before, mostly a late one.
    fn any(&mut self) -> usize {
        let n = self.steps.len();
        if self.rng.once_in(3) { self.rng.below(n) } else { n - 1 - self.rng.below(n.min(3)) }
    }

    fn float(&mut self) -> usize {
        for _ in 0..8 {
            let i = self.any();
            if self.steps[i].dtype.is_float() {
                return i;
            }
        }
        0
    }

    /// Adds the step if its op is valid on these inputs and its result not too large.
    fn add(&mut self, op: StepOp, inputs: &[usize], bound: f64, exact: bool) -> Option<usize> {
        let mut step = GraphStep { op, inputs: inputs.to_vec(), shape: Vec::new(), dtype: DType::F32 };
        let tensor = step.apply(&inputs.iter().map(|input| self.tensors[*input].clone()).collect::<Vec<_>>());
        if tensor.is_invalid() || tensor.numel() > self.most_elements || tensor.rank() > 6 {
            return None;
        }
        (step.shape, step.dtype) = (tensor.shape(), tensor.dtype());
        let selects = matches!(
            step.op,
            StepOp::ReduceMax(..) | StepOp::ReduceMin(..) | StepOp::CumMax(_) | StepOp::ScatterMax(_) | StepOp::MaxPool1d(..)
        );
        let rounded = |i: &usize| self.steps[*i].dtype.is_float() && self.steps[*i].dtype.size() == 2 && !self.facts[*i].exact;
        self.close_calls |= selects && inputs.iter().any(rounded);
        let float = step.dtype.is_float();
        self.steps.push(step);
        self.tensors.push(tensor);
        self.facts.push(Facts { bound, exact: exact || !float });
        let last = self.steps.len() - 1;
        // Squashed, so that what follows stays in every dtype's good range.
        if float && bound > 30.0 { self.add(StepOp::Map(Function::Tanh), &[last], 1.0, false) } else { Some(last) }
    }

    fn axis(&mut self, of: usize) -> Option<usize> {
        let rank = self.steps[of].shape.len();
        (rank > 0).then(|| self.rng.below(rank))
    }

    fn axes(&mut self, of: usize) -> Vec<usize> {
        let rank = self.steps[of].shape.len();
        let mut axes: Vec<usize> = (0..rank).filter(|_| self.rng.once_in(2)).collect();
        if axes.is_empty() && rank > 0 {
            axes.push(self.rng.below(rank));
        }
        axes
    }

    fn step(&mut self) -> Option<usize> {
        match self.rng.below(20) {
            0 => Some(self.float_leaf()),
            1..=4 => self.map(),
            5..=7 => self.pair(),
            8..=12 => self.view(),
            13..=15 => self.reduction(),
            16 => self.row(),
            17 => self.product(),
            18 => self.indexed(),
            _ => self.other(),
        }
    }

    fn map(&mut self) -> Option<usize> {
        let x = self.float();
        let Facts { bound, exact } = self.facts[x];
        let function = *self.rng.pick(Function::ALL);
        if function.jumps() && !exact {
            return None;
        }
        let (bound, exact) = match function {
            Function::Neg | Function::Abs | Function::Relu => (bound, exact),
            Function::Floor | Function::Round => (bound + 1.0, exact),
            Function::Sign => (1.0, exact),
            Function::Exp if bound > 4.0 => return None,
            Function::Exp => (bound.exp(), false),
            Function::Square => (bound * bound, false),
            Function::Recip => (2.0, false),
            _ => (bound + 1.0, false),
        };
        self.add(StepOp::Map(function), &[x], bound, exact)
    }

    /// A partner of `x` to broadcast with: one there is already, or a new leaf.
    fn partner(&mut self, x: usize) -> usize {
        for _ in 0..4 {
            let y = self.float();
            let fits = broadcast_shapes(&self.steps[x].shape, &self.steps[y].shape);
            if fits.is_some_and(|shape| numel(&shape) <= self.most_elements) {
                return y;
            }
        }
        let shape = self.steps[x].shape.clone();
        let from = self.rng.below(shape.len() + 1);
        let shape: Vec<usize> = shape[from..].iter().map(|size| if self.rng.once_in(3) { 1 } else { *size }).collect();
        let dtype = if self.rng.once_in(8) { self.float_dtype() } else { self.steps[x].dtype };
        self.leaf(shape, dtype, 1)
    }

    fn pair(&mut self) -> Option<usize> {
        let x = self.float();
        let y = self.partner(x);
        let (a, b) = (self.facts[x], self.facts[y]);
        let both = a.exact && b.exact;
        // Promotion to a wider dtype keeps values; the narrower one may be rounded on the way.
        match self.rng.below(8) {
            0 | 1 => self.add(StepOp::Add, &[x, y], a.bound + b.bound, false),
            2 => self.add(StepOp::Sub, &[x, y], a.bound + b.bound, false),
            3 => self.add(StepOp::Mul, &[x, y], a.bound * b.bound, false),
            4 => self.add(StepOp::Div, &[x, y], 2.0 * a.bound, false),
            // Where two are equal the gradient jumps.
            5 if both => self.add(StepOp::Max, &[x, y], a.bound.max(b.bound), both),
            6 if both => self.add(StepOp::Min, &[x, y], a.bound.max(b.bound), both),
            5 | 6 => None,
            _ => {
                let tries: Vec<usize> = (0..6).map(|_| self.float()).collect();
                let u = tries.into_iter().find(|i| self.facts[*i].exact)?;
                let v = self.partner(u);
                if !self.facts[v].exact {
                    return None;
                }
                self.add(StepOp::Select, &[u, v, x, y], a.bound.max(b.bound), both)
            }
        }
    }

    fn view(&mut self) -> Option<usize> {
        let x = self.any();
        let Facts { bound, exact } = self.facts[x];
        let shape = self.steps[x].shape.clone();
        let rank = shape.len();
        let op = match self.rng.below(15) {
            0 | 1 => StepOp::Reshape(self.regrouped(&shape)),
            2 | 3 => {
                let mut order: Vec<usize> = (0..rank).collect();
                (1..rank).for_each(|i| order.swap(i, self.rng.below(i + 1)));
                StepOp::Permute(order)
            }
            4 => {
                let mut wide: Vec<usize> = shape.iter().map(|size| if *size == 1 { 1 + self.rng.below(4) } else { *size }).collect();
                if self.rng.once_in(2) {
                    wide.insert(0, 1 + self.rng.below(3));
                }
                StepOp::Expand(wide)
            }
            5 => StepOp::Unsqueeze(self.rng.below(rank + 1)),
            6 | 7 => StepOp::Slice(shape.iter().map(|size| self.slice(*size)).collect()),
            8 => StepOp::Flip(self.axis(x)?),
            9 => StepOp::Roll(self.rng.below(5) as i64 - 2, self.axis(x)?),
            10 => {
                let value = *self.rng.pick(&[0.0, 0.0, 1.0, -0.5]);
                let pads = (0..rank).map(|_| (self.rng.below(3), self.rng.below(3))).collect();
                StepOp::Pad(pads, value)
            }
            11 => StepOp::PadReplicate((0..rank).map(|_| (self.rng.below(3), self.rng.below(3))).collect()),
            12 => {
                let axis = self.axis(x)?;
                let same = |step: &GraphStep| {
                    step.dtype == self.steps[x].dtype
                        && step.shape.len() == rank
                        && (0..rank).all(|i| i == axis || step.shape[i] == shape[i])
                };
                let others: Vec<usize> = (0..self.steps.len()).filter(|i| same(&self.steps[*i])).collect();
                let mut inputs = vec![x];
                (0..1 + self.rng.below(2)).for_each(|_| inputs.push(*self.rng.pick(&others)));
                let bound = inputs.iter().fold(0.0, |bound: f64, i| bound.max(self.facts[*i].bound));
                let exact = inputs.iter().all(|i| self.facts[*i].exact);
                let op = if self.rng.once_in(3) && inputs.iter().all(|i| self.steps[*i].shape == shape) {
                    StepOp::Stack(self.rng.below(rank + 1))
                } else {
                    StepOp::Concat(axis)
                };
                return self.add(op, &inputs, bound, exact);
            }
            13 => {
                let axis = self.axis(x)?;
                let size = 1 + self.rng.below(shape[axis].clamp(1, 4));
                StepOp::Unfold(axis, size, 1 + self.rng.below(3))
            }
            _ if rank >= 2 => StepOp::Tril(self.rng.below(5) as i64 - 2),
            _ => return None,
        };
        self.add(op, &[x], bound.max(1.0), exact)
    }

    /// The same number of elements, in other sizes.
    fn regrouped(&mut self, shape: &[usize]) -> Vec<usize> {
        let mut factors: Vec<usize> = Vec::new();
        for size in shape {
            let mut rest = *size;
            for prime in [2, 3, 5, 7] {
                while rest > 1 && rest % prime == 0 {
                    factors.push(prime);
                    rest /= prime;
                }
            }
            if rest != 1 {
                factors.push(rest);
            }
        }
        let n = 1 + self.rng.below(3);
        let mut sizes = vec![1; n];
        // In order: neighbours merge and split, as they do in real programs.
        let count = factors.len().max(1);
        let turn = self.rng.once_in(4);
        factors.iter().enumerate().for_each(|(i, factor)| sizes[if turn { self.rng.below(n) } else { i * n / count }] *= factor);
        sizes
    }

    fn slice(&mut self, size: usize) -> (i64, i64, i64) {
        let all = (i64::MIN, i64::MIN);
        match self.rng.below(6) {
            0 | 1 => (all.0, all.1, 1),
            2 => (all.0, all.1, -1),
            3 => (self.rng.below(size.max(1)) as i64, all.1, 1 + self.rng.below(3) as i64),
            4 => (all.0, (1 + self.rng.below(size.max(1))) as i64, 1 + self.rng.below(2) as i64),
            _ => (self.rng.below(size.max(1)) as i64, all.1, -1 - self.rng.below(2) as i64),
        }
    }

    fn reduction(&mut self) -> Option<usize> {
        let x = self.float();
        let Facts { bound, exact } = self.facts[x];
        let (axes, keep) = (self.axes(x), self.rng.once_in(2));
        let len: usize = axes.iter().map(|axis| self.steps[x].shape[*axis]).product();
        let axis = self.axis(x)?;
        let axis_len = self.steps[x].shape[axis];
        let sum_bound = bound * (1.0 + 2.0 * (len as f64).sqrt());
        match self.rng.below(14) {
            0..=2 => self.add(StepOp::Sum(axes, keep), &[x], sum_bound, false),
            3 if len > 0 => self.add(StepOp::Mean(axes, keep), &[x], bound, false),
            4 if len > 0 => self.add(StepOp::ReduceMax(axes, keep), &[x], bound, exact),
            5 if len > 0 => self.add(StepOp::ReduceMin(axes, keep), &[x], bound, exact),
            6 if axis_len <= 5 => self.add(StepOp::Prod(axis), &[x], bound.powi(axis_len as i32).max(1.0), false),
            7 if axis_len > 0 => self.add(StepOp::LogSumExp(axis), &[x], bound + 4.0, false),
            8 if axis_len > 0 => self.add(StepOp::Var(axis), &[x], bound * bound, false),
            9 if axis_len > 0 && exact => self.add(StepOp::ArgMax(axis), &[x], axis_len as f64, true),
            10 | 11 => self.add(StepOp::CumSum(axis), &[x], bound * (1.0 + 2.0 * (axis_len as f64).sqrt()), false),
            12 => self.add(StepOp::CumMax(axis), &[x], bound, exact),
            13 if exact => self.add(StepOp::ArgSort(axis), &[x], axis_len as f64, true),
            _ => None,
        }
    }

    fn row(&mut self) -> Option<usize> {
        let x = self.float();
        let axis = self.axis(x)?;
        if self.steps[x].shape[axis] == 0 || self.steps[x].shape.last() == Some(&0) {
            return None;
        }
        let bound = self.facts[x].bound;
        match self.rng.below(4) {
            0 => self.add(StepOp::Softmax(axis), &[x], 1.0, false),
            1 => self.add(StepOp::LogSoftmax(axis), &[x], 2.0 * bound + 4.0, false),
            2 => self.add(StepOp::LayerNorm, &[x], 7.0, false),
            _ => self.add(StepOp::RmsNorm, &[x], 7.0, false),
        }
    }

    fn product(&mut self) -> Option<usize> {
        let x = self.float();
        let shape = self.steps[x].shape.clone();
        let (bound, dtype, rank) = (self.facts[x].bound, self.steps[x].dtype, shape.len());
        match self.rng.below(6) {
            0..=2 if rank >= 1 => {
                let k = shape[rank - 1];
                let n = self.size();
                let mut other = if self.rng.once_in(6) { vec![k] } else { vec![k, n] };
                if rank == 3 && other.len() == 2 && self.rng.once_in(2) {
                    other.insert(0, shape[0]);
                }
                let y = self.leaf(other, dtype, 1);
                let y = if self.rng.once_in(3) { self.add(StepOp::Map(Function::Tanh), &[y], 1.0, false)? } else { y };
                self.add(StepOp::MatMul, &[x, y], 2.0 * bound * (1.0 + 2.0 * (k as f64).sqrt()), false)
            }
            3 if rank >= 2 => self.add(StepOp::Gram, &[x], bound * bound * (shape[rank - 1] as f64).max(1.0), false),
            4 if rank == 3 => {
                let (o, k) = (1 + self.rng.below(4), 1 + self.rng.below(3));
                let w = self.leaf(vec![o, shape[1], k], dtype, 1);
                let (stride, padding) = (1 + self.rng.below(2), self.rng.below(3));
                self.add(StepOp::Conv1d(stride, padding), &[x, w], 2.0 * bound * (k * shape[1]) as f64, false)
            }
            5 if rank == 4 => {
                let (o, k) = (1 + self.rng.below(4), 1 + self.rng.below(3));
                let w = self.leaf(vec![o, shape[1], k, k], dtype, 1);
                let (stride, padding) = (1 + self.rng.below(2), self.rng.below(3));
                self.add(StepOp::Conv2d(stride, padding), &[x, w], 2.0 * bound * (k * k * shape[1]) as f64, false)
            }
            _ => None,
        }
    }

    fn indexed(&mut self) -> Option<usize> {
        let x = self.float();
        let axis = self.axis(x)?;
        let shape = self.steps[x].shape.clone();
        let Facts { bound, exact } = self.facts[x];
        if shape[axis] == 0 {
            return None;
        }
        match self.rng.below(8) {
            0 => {
                let mut of = shape.clone();
                of[axis] = self.size();
                let index = self.leaf(of, DType::I64, shape[axis]);
                self.add(StepOp::Gather(axis), &[x, index], bound, exact)
            }
            1 => {
                let n = self.size();
                let index = self.leaf(vec![n], DType::I64, shape[axis]);
                self.add(StepOp::IndexSelect(axis), &[x, index], bound, exact)
            }
            2 | 3 => {
                let mut of = shape.clone();
                of[axis] = self.size();
                let index = self.leaf(of.clone(), DType::I64, shape[axis]);
                let src = self.leaf(of, self.steps[x].dtype, 1);
                if self.rng.once_in(2) {
                    self.add(StepOp::ScatterAdd(axis), &[x, index, src], 2.0 * bound + 8.0, false)
                } else {
                    self.add(StepOp::ScatterMax(axis), &[x, index, src], bound.max(2.0), exact)
                }
            }
            4 if shape.len() == 2 && axis == 0 => {
                let of = self.shape();
                let index = self.leaf(of, DType::I64, shape[0]);
                self.add(StepOp::Embedding, &[x, index], bound, exact)
            }
            5 | 6 if exact => {
                let descending = self.rng.once_in(2);
                self.add(StepOp::Sort(axis, descending), &[x], bound, exact)
            }
            7 if exact => {
                let k = 1 + self.rng.below(shape[axis]);
                self.add(StepOp::TopK(k, axis), &[x], bound, exact)
            }
            _ => None,
        }
    }

    fn other(&mut self) -> Option<usize> {
        let x = self.any();
        let step = self.steps[x].clone();
        let Facts { bound, exact } = self.facts[x];
        if !step.dtype.is_float() {
            let dtype = self.float_dtype();
            return match self.rng.below(3) {
                // Indices below 2^8 are exact in every dtype.
                0 if bound <= 16.0 && step.dtype == DType::I64 => self.add(StepOp::OneHot(bound as usize + 1), &[x], 1.0, true),
                _ => self.add(StepOp::Cast(dtype), &[x], bound, bound <= 256.0),
            };
        }
        match self.rng.below(8) {
            // Rounding may move a number by its sixteenth or eighth; beyond 448 it would be another one.
            0 | 1 if bound <= 256.0 && self.rng.once_in(4) => {
                let dtype = *self.rng.pick(&DType::STORED);
                self.add(StepOp::Through(dtype), &[x], bound * 1.125, false)
            }
            0 | 1 => {
                let dtype = self.float_dtype();
                self.add(StepOp::Cast(dtype), &[x], bound, false)
            }
            2 | 3 => {
                let (a, b) = (*self.rng.pick(&[0.5, -1.25, 2.0]), *self.rng.pick(&[0.0, 0.75, -1.0]));
                self.add(StepOp::Affine(a, b), &[x], 2.0 * bound + 1.0, false)
            }
            4 if step.shape.len() == 3 && step.shape[2] >= 3 => {
                let (kernel, stride) = (2 + self.rng.below(2), 1 + self.rng.below(2));
                self.add(StepOp::MaxPool1d(kernel, stride), &[x], bound, exact)
            }
            5 if step.shape.len() == 4 => self.add(StepOp::AvgPool2d(2), &[x], bound, false),
            6 if self.rng.once_in(2) => self.add(StepOp::Checkpoint, &[x], bound, false),
            6 if (1..=8).contains(&step.shape.first().copied().unwrap_or(0)) => {
                let reverse = self.rng.once_in(2);
                self.add(StepOp::Scan(reverse), &[x], 1.0, false)
            }
            7 if self.rng.once_in(3) => self.add(StepOp::Detach, &[x], bound, exact),
            _ => None,
        }
    }
}
