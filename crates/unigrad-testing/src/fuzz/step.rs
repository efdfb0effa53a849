//! What a random program is made of: steps as data, so that a program can be built again, printed and made smaller.

use super::Rng;
use crate::Values;
use std::fmt;
use unigrad_graph::{DType, ErrorKind, Expr, numel};
use unigrad_tensor::{
    ConvOptions, IndexItem, PadMode, PoolOptions, ScanOptions, ScatterMode, Tensor,
    registry::{self, Attributes},
    scan,
};

/// Data that a program starts from.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Leaf {
    pub shape: Vec<usize>,
    pub dtype: DType,
    pub seed: u64,
    /// Integers are below this.
    pub below: usize,
}

impl Leaf {
    /// Its elements: floats on a grid of 1/16 within ±2, so that they are exact in every dtype and sometimes equal.
    pub fn values(&self) -> Values {
        let mut rng = Rng(self.seed);
        let mut element = || {
            if self.dtype.is_float() { rng.below(65) as f64 / 16.0 - 2.0 } else { rng.below(self.below) as f64 }
        };
        let elements: Vec<f64> = (0..numel(&self.shape)).map(|_| element()).collect();
        Values::from_f64(self.dtype, &self.shape, &elements)
    }
}

/// Elementwise functions, made safe for any argument.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Function {
    Neg,
    Abs,
    Sin,
    Cos,
    Tanh,
    Sigmoid,
    Silu,
    Gelu,
    GeluTanh,
    Relu,
    Softplus,
    Erf,
    Square,
    Exp,
    /// `log(|x| + ½)`.
    Log,
    /// `sqrt(|x| + ½)`.
    Sqrt,
    /// `rsqrt(x² + ½)`.
    Rsqrt,
    /// `1 / (|x| + ½)`.
    Recip,
    LeakyRelu,
    Elu,
    Floor,
    Round,
    Sign,
}

/// One op with its options. Axes and sizes fit the inputs that the step was made for.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum StepOp {
    Leaf(Leaf),
    /// Data of a case of the op table.
    Given(Values),
    /// One of the results of an op of the registry.
    Registered {
        op: String,
        attributes: Attributes,
        result: usize,
    },
    Map(Function),
    Add,
    Sub,
    Mul,
    /// `a / (|b| + ½)`.
    Div,
    Max,
    Min,
    /// `if 0 < 1 { 2 } else { 3 }`.
    Select,
    /// `x * a + b`, with run-time numbers.
    Affine(f64, f64),
    Cast(DType),
    /// To a dtype that only stores, and back.
    Through(DType),
    Reshape(Vec<usize>),
    Permute(Vec<usize>),
    Expand(Vec<usize>),
    Unsqueeze(usize),
    /// Start, end, step per axis, as in Python.
    Slice(Vec<(i64, i64, i64)>),
    Flip(usize),
    Roll(i64, usize),
    Pad(Vec<(usize, usize)>, f64),
    PadReplicate(Vec<(usize, usize)>),
    Concat(usize),
    Stack(usize),
    Unfold(usize, usize, usize),
    Tril(i64),
    Sum(Vec<usize>, bool),
    Mean(Vec<usize>, bool),
    ReduceMax(Vec<usize>, bool),
    ReduceMin(Vec<usize>, bool),
    Prod(usize),
    LogSumExp(usize),
    Var(usize),
    ArgMax(usize),
    CumSum(usize),
    CumMax(usize),
    Softmax(usize),
    LogSoftmax(usize),
    LayerNorm,
    RmsNorm,
    MatMul,
    /// `x @ xᵀ`.
    Gram,
    Gather(usize),
    IndexSelect(usize),
    ScatterAdd(usize),
    ScatterMax(usize),
    Embedding,
    Sort(usize, bool),
    TopK(usize, usize),
    ArgSort(usize),
    OneHot(usize),
    Conv1d(usize, usize),
    Conv2d(usize, usize),
    MaxPool1d(usize, usize),
    AvgPool2d(usize),
    Detach,
    /// `x * sin(x)`, computed again for its gradient.
    Checkpoint,
    /// A recurrence along axis 0, or from its end: `h = tanh(h / 2 + x)`.
    Scan(bool),
}

/// An op, and the earlier steps it takes.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct GraphStep {
    pub op: StepOp,
    pub inputs: Vec<usize>,
    pub shape: Vec<usize>,
    pub dtype: DType,
}

/// A random program.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomGraph {
    /// In order; each takes earlier ones only.
    pub steps: Vec<GraphStep>,
    /// Which steps are asked for.
    pub outputs: Vec<usize>,
    /// How often it is differentiated.
    pub derivative: usize,
}

impl GraphStep {
    /// The op on tensors. A leaf is made elsewhere, since it depends on where data live.
    pub fn apply(&self, x: &[Tensor]) -> Tensor {
        let axes = |axes: &[usize]| axes.iter().map(|axis| *axis as i64).collect::<Vec<i64>>();
        let first = &x[0];
        match &self.op {
            StepOp::Leaf(_) | StepOp::Given(_) => first.clone(),
            StepOp::Registered { op, attributes, result } => registered(op, attributes, *result, x),
            StepOp::Map(function) => function.apply(first),
            StepOp::Add => first.add(&x[1]),
            StepOp::Sub => first.sub(&x[1]),
            StepOp::Mul => first.mul(&x[1]),
            StepOp::Div => first.div(&(x[1].abs() + 0.5)),
            StepOp::Max => first.maximum(&x[1]),
            StepOp::Min => first.minimum(&x[1]),
            StepOp::Select => first.lt(&x[1]).where_(&x[2], &x[3]),
            StepOp::Affine(a, b) => first * *a + *b,
            StepOp::Cast(dtype) => first.cast(*dtype),
            StepOp::Through(dtype) => first.cast(*dtype).cast(first.dtype()),
            StepOp::Reshape(shape) => first.reshape(shape),
            StepOp::Permute(order) => first.permute(order),
            StepOp::Expand(shape) => first.expand(shape),
            StepOp::Unsqueeze(axis) => first.unsqueeze(*axis as isize),
            StepOp::Slice(axes) => {
                let item = |(start, end, step): &(i64, i64, i64)| IndexItem::Range {
                    start: (*start != i64::MIN).then_some(*start),
                    end: (*end != i64::MIN).then_some(*end),
                    step: *step,
                };
                first.i(axes.iter().map(item).collect::<Vec<_>>())
            }
            StepOp::Flip(axis) => first.flip(*axis),
            StepOp::Roll(shift, axis) => first.roll(*shift, *axis as isize),
            StepOp::Pad(pads, value) => first.pad_with(pads, PadMode::Constant(*value)),
            StepOp::PadReplicate(pads) => first.pad_with(pads, PadMode::Replicate),
            StepOp::Concat(axis) => Tensor::concat(&x.iter().collect::<Vec<_>>(), *axis as isize),
            StepOp::Stack(axis) => Tensor::stack(&x.iter().collect::<Vec<_>>(), *axis as isize),
            StepOp::Unfold(axis, size, step) => first.unfold(*axis as isize, *size, *step),
            StepOp::Tril(diagonal) => first.tril(*diagonal),
            StepOp::Sum(over, false) => first.sum(axes(over)),
            StepOp::Sum(over, true) => first.sum_keepdim(axes(over)),
            StepOp::Mean(over, false) => first.mean(axes(over)),
            StepOp::Mean(over, true) => first.mean_keepdim(axes(over)),
            StepOp::ReduceMax(over, false) => first.max(axes(over)),
            StepOp::ReduceMax(over, true) => first.max_keepdim(axes(over)),
            StepOp::ReduceMin(over, false) => first.min(axes(over)),
            StepOp::ReduceMin(over, true) => first.min_keepdim(axes(over)),
            StepOp::Prod(axis) => first.prod(*axis),
            StepOp::LogSumExp(axis) => first.logsumexp(*axis),
            StepOp::Var(axis) => first.var(*axis, 0),
            StepOp::ArgMax(axis) => first.argmax(*axis as isize),
            StepOp::CumSum(axis) => first.cumsum(*axis as isize),
            StepOp::CumMax(axis) => first.cummax(*axis as isize),
            StepOp::Softmax(axis) => first.softmax(*axis as isize),
            StepOp::LogSoftmax(axis) => first.log_softmax(*axis as isize),
            StepOp::LayerNorm => first.layer_norm(None, None, 0.1),
            StepOp::RmsNorm => first.rms_norm(None, 0.1),
            StepOp::MatMul => first.matmul(&x[1]),
            StepOp::Gram => first.matmul(&first.transpose(-1, -2)),
            StepOp::Gather(axis) => first.gather(*axis as isize, &x[1]),
            StepOp::IndexSelect(axis) => first.index_select(*axis as isize, &x[1]),
            StepOp::ScatterAdd(axis) => first.scatter_add(*axis as isize, &x[1], &x[2]),
            StepOp::ScatterMax(axis) => first.scatter_with(*axis as isize, &x[1], &x[2], ScatterMode::Max),
            StepOp::Embedding => first.embedding(&x[1]),
            StepOp::Sort(axis, descending) => first.sort(*axis as isize, *descending).0,
            StepOp::TopK(k, axis) => first.topk(*k, *axis as isize, true).0,
            StepOp::ArgSort(axis) => first.argsort(*axis as isize, false),
            StepOp::OneHot(classes) => first.one_hot(*classes),
            StepOp::Conv1d(stride, padding) => first.conv1d(&x[1], None, &ConvOptions::new(*stride, *padding)),
            StepOp::Conv2d(stride, padding) => first.conv2d(&x[1], None, &ConvOptions::new(*stride, *padding)),
            StepOp::MaxPool1d(kernel, stride) => first.max_pool1d(&PoolOptions::new(*kernel).stride(*stride)),
            StepOp::AvgPool2d(kernel) => first.avg_pool2d(&PoolOptions::new(*kernel)),
            StepOp::Detach => first.detach(),
            StepOp::Checkpoint => unigrad_tensor::checkpoint(|x| x[0].sin() * &x[0], &[first]),
            StepOp::Scan(reverse) => {
                let body = |h: &[Tensor], x: &[Tensor]| {
                    let h = (&h[0] * 0.5 + &x[0]).tanh();
                    (vec![h.clone()], vec![h])
                };
                let options = if *reverse { ScanOptions::new().reverse() } else { ScanOptions::new() };
                let start = first.narrow(0, 0, 1).squeeze(0) * 0.25;
                match scan(body, &[&start], &[first], options) {
                    Ok((_, all)) => all[0].clone(),
                    Err(error) => Tensor::from_error(&error),
                }
            }
        }
    }
}

/// A result of an op of the registry; an invalid tensor where the call lacks something.
fn registered(name: &str, attributes: &Attributes, result: usize, x: &[Tensor]) -> Tensor {
    let called = match (registry::find(name), x[0].device()) {
        (Some(op), Ok(device)) => op.call(x, attributes, &device).map_err(|error| error.to_string()),
        _ => Err(format!("{name} is no op, or its input on no device")),
    };
    let cause = match called {
        Ok(results) => match results.into_iter().nth(result) {
            Some(result) => return result,
            None => format!("{name} has no result {result}"),
        },
        Err(cause) => cause,
    };
    Tensor::from_expr(Expr::fail(ErrorKind::Argument, "registered", cause, "correct the case", &[]))
}

impl Function {
    /// All, the discontinuous ones last.
    pub const ALL: &[Function] = &[
        Function::Neg,
        Function::Abs,
        Function::Sin,
        Function::Cos,
        Function::Tanh,
        Function::Sigmoid,
        Function::Silu,
        Function::Gelu,
        Function::GeluTanh,
        Function::Relu,
        Function::Softplus,
        Function::Erf,
        Function::Square,
        Function::Exp,
        Function::Log,
        Function::Sqrt,
        Function::Rsqrt,
        Function::Recip,
        Function::LeakyRelu,
        Function::Elu,
        Function::Floor,
        Function::Round,
        Function::Sign,
    ];

    /// Whether small errors of the argument may become large ones.
    pub fn jumps(self) -> bool {
        matches!(self, Function::Floor | Function::Round | Function::Sign)
    }

    fn apply(self, x: &Tensor) -> Tensor {
        match self {
            Function::Neg => x.neg(),
            Function::Abs => x.abs(),
            Function::Sin => x.sin(),
            Function::Cos => x.cos(),
            Function::Tanh => x.tanh(),
            Function::Sigmoid => x.sigmoid(),
            Function::Silu => x.silu(),
            Function::Gelu => x.gelu(),
            Function::GeluTanh => x.gelu_tanh(),
            Function::Relu => x.relu(),
            Function::Softplus => x.softplus(),
            Function::Erf => x.erf(),
            Function::Square => x.square(),
            Function::Exp => x.exp(),
            Function::Log => (x.abs() + 0.5).log(),
            Function::Sqrt => (x.abs() + 0.5).sqrt(),
            Function::Rsqrt => (x.square() + 0.5).rsqrt(),
            Function::Recip => (x.abs() + 0.5).recip(),
            Function::LeakyRelu => x.leaky_relu(0.25),
            Function::Elu => x.elu(1.0),
            Function::Floor => x.floor(),
            Function::Round => x.round(),
            Function::Sign => x.sign(),
        }
    }
}

impl RandomGraph {
    /// Without the steps that nothing needs.
    pub fn pruned(&self) -> RandomGraph {
        let mut needed = vec![false; self.steps.len()];
        self.outputs.iter().for_each(|output| needed[*output] = true);
        for i in (0..self.steps.len()).rev() {
            if needed[i] {
                self.steps[i].inputs.iter().for_each(|input| needed[*input] = true);
            }
        }
        let mut place = vec![0; self.steps.len()];
        let mut steps = Vec::new();
        for (i, step) in self.steps.iter().enumerate().filter(|(i, _)| needed[*i]) {
            place[i] = steps.len();
            steps.push(GraphStep { inputs: step.inputs.iter().map(|input| place[*input]).collect(), ..step.clone() });
        }
        RandomGraph { steps, outputs: self.outputs.iter().map(|output| place[*output]).collect(), derivative: self.derivative }
    }

    /// Programs with less in them, the smallest first.
    pub fn simpler(&self) -> Vec<RandomGraph> {
        let mut simpler = Vec::new();
        for i in 0..self.outputs.len() {
            if self.outputs.len() > 1 {
                let mut candidate = self.clone();
                candidate.outputs = vec![self.outputs[i]];
                simpler.push(candidate.pruned());
                let mut candidate = self.clone();
                candidate.outputs.remove(i);
                simpler.push(candidate.pruned());
            }
        }
        if self.derivative > 0 {
            simpler.push(RandomGraph { derivative: self.derivative - 1, ..self.clone() });
        }
        for (i, step) in self.steps.iter().enumerate().rev() {
            if matches!(step.op, StepOp::Leaf(_) | StepOp::Given(_)) {
                continue;
            }
            // An input of the same kind in place of the step.
            for input in &step.inputs {
                if self.steps[*input].shape == step.shape && self.steps[*input].dtype == step.dtype {
                    let mut candidate = self.clone();
                    let reroute = |at: &mut usize| *at = if *at == i { *input } else { *at };
                    candidate.steps.iter_mut().for_each(|step| step.inputs.iter_mut().for_each(reroute));
                    candidate.outputs.iter_mut().for_each(reroute);
                    simpler.push(candidate.pruned());
                }
            }
            // Its inputs asked for instead, if it is an output.
            if let Some(at) = self.outputs.iter().position(|output| *output == i) {
                for input in &step.inputs {
                    let mut candidate = self.clone();
                    candidate.outputs[at] = *input;
                    simpler.push(candidate.pruned());
                }
            }
            if step.dtype.is_float() {
                let mut candidate = self.clone();
                let leaf = Leaf { shape: step.shape.clone(), dtype: step.dtype, seed: 77 + i as u64, below: 1 };
                candidate.steps[i] = GraphStep { op: StepOp::Leaf(leaf), inputs: Vec::new(), ..step.clone() };
                simpler.push(candidate.pruned());
            }
        }
        simpler.sort_by_key(|program| (program.steps.len(), program.derivative));
        simpler
    }
}

impl fmt::Display for RandomGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.steps.iter().enumerate() {
            write!(f, "  %{i} {} {:?} = {:?}", step.dtype, step.shape, step.op)?;
            step.inputs.iter().try_for_each(|input| write!(f, " %{input}"))?;
            writeln!(f)?;
        }
        write!(f, "  outputs {:?}, differentiated {} times", self.outputs, self.derivative)
    }
}
