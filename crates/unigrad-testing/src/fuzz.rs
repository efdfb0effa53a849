//! Random graphs: made from a seed, evaluated fused, unfused and by the oracle, and shrunk when they differ.
//!
//! Always: the same seed gives the same graph. What each element may be off by is measured, not guessed: the oracle runs several times
//! with every intermediate moved within its rounding error.
//! Never: asks a discontinuous op (a comparison, a floor, an index of a maximum) about values that carry rounding errors.

mod again;
pub mod api;
mod generate;
mod named;
mod node;
mod poison;
mod registered;
mod step;

pub use again::check_again;
pub use generate::generate;
pub use named::check_named;
pub use node::check_at_node;
pub use poison::check_poisoned;
pub use registered::{generate_registered, names};
pub use step::{Function, GraphStep, Leaf, RandomGraph, StepOp};

use crate::{
    Data, Values,
    cases::weight,
    compare::close_by,
    oracle::{self, Precision, evaluate_with, rounding_error},
    run::values_of,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use unigrad_graph::Expr;
use unigrad_tensor::{Device, Tensor, eval};

/// A small, seeded generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 11) as usize % n.max(1)
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Where a program's leaves live.
#[derive(Clone, Copy)]
pub(crate) enum Executor<'a> {
    Oracle(u32),
    Device(&'a Device),
}

impl Executor<'_> {
    fn leaf(self, values: &Values) -> Tensor {
        match self {
            Executor::Oracle(device) => Tensor::from_expr(oracle::leaf(values.clone(), device)),
            Executor::Device(device) => Tensor::from_bytes(&values.to_bytes(), values.shape.as_slice(), values.dtype, device),
        }
    }
}

/// The tensors that a program asks for, not evaluated: its outputs, then the gradients of its float leaves if it wants them.
pub(crate) fn build(program: &RandomGraph, place: Executor) -> Result<Vec<Tensor>, String> {
    build_with(program, place, &mut |_, values| place.leaf(values))
}

/// As [`build`]; `leaf` makes a step's leaf.
fn build_with(program: &RandomGraph, place: Executor, leaf_of: &mut dyn FnMut(usize, &Values) -> Tensor) -> Result<Vec<Tensor>, String> {
    let mut tensors: Vec<Tensor> = Vec::with_capacity(program.steps.len());
    let mut variables = Vec::new();
    for (i, step) in program.steps.iter().enumerate() {
        let tensor = match &step.op {
            StepOp::Leaf(_) | StepOp::Given(_) => {
                let tensor = match &step.op {
                    StepOp::Given(values) => leaf_of(i, values),
                    StepOp::Leaf(leaf) => leaf_of(i, &leaf.values()),
                    op => return Err(format!("step {i}: {op:?} is no leaf")),
                };
                if program.derivative > 0 && step.dtype.is_float() {
                    variables.push(tensor.requires_grad());
                    variables[variables.len() - 1].clone()
                } else {
                    tensor
                }
            }
            _ => step.apply(&step.inputs.iter().map(|input| tensors[*input].clone()).collect::<Vec<_>>()),
        };
        if let Some(error) = tensor.error() {
            return Err(format!("step {i}: {error}"));
        }
        tensors.push(tensor);
    }
    let mut results: Vec<Tensor> = program.outputs.iter().map(|output| tensors[*output].clone()).collect();
    let mut roots: Vec<Tensor> = results.iter().filter(|output| output.dtype().is_float()).cloned().collect();
    for _ in 0..program.derivative {
        let mut loss: Option<Tensor> = None;
        for root in &roots {
            let weights: Vec<f64> = (0..root.numel()).map(weight).collect();
            let weights = place.leaf(&Values::from_f64(root.dtype(), &root.shape(), &weights));
            let part = (root * &weights).sum(()).cast(unigrad_graph::DType::F64);
            loss = Some(loss.map_or(part.clone(), |loss| loss + part));
        }
        let Some(loss) = loss else { break };
        let wrt: Vec<&Tensor> = variables.iter().collect();
        let grads = unigrad_tensor::grad_allow_unused(&loss, None, &wrt).map_err(|error| error.to_string())?;
        let grads: Vec<Tensor> = grads.into_iter().zip(&wrt).map(|(grad, x)| grad.unwrap_or_else(|| x.zeros_like())).collect();
        results.extend(grads.iter().cloned());
        roots = grads;
    }
    Ok(results)
}

/// What the results should be, and what each element may be off by.
struct Expected {
    exact: Vec<Values>,
    allowed: Vec<Vec<f64>>,
}

fn expect(program: &RandomGraph, device: u32) -> Result<Expected, String> {
    let nodes: Vec<Expr> = build(program, Executor::Oracle(device))?.iter().map(Tensor::expr).collect();
    let exact = evaluate_with(&nodes, Precision::Exact)?;
    let mut spread: Vec<Vec<f64>> = exact.iter().map(|values| vec![0.0; values.len()]).collect();
    for seed in 1..=3 {
        // An index that is exact on every device may be moved out of range here.
        let Ok(moved) = evaluate_with(&nodes, Precision::Perturbed(seed)) else { continue };
        for ((spread, exact), moved) in spread.iter_mut().zip(&exact).zip(&moved) {
            if let (Data::Float(exact), Data::Float(moved)) = (&exact.data, &moved.data) {
                for (spread, (exact, moved)) in spread.iter_mut().zip(exact.iter().zip(moved)) {
                    let off = (exact - moved).abs();
                    *spread = spread.max(if off.is_nan() && !exact.is_nan() {
                        f64::INFINITY
                    } else if off.is_nan() {
                        0.0
                    } else {
                        off
                    });
                }
            }
        }
    }
    let allowed = exact.iter().zip(spread).map(|(values, spread)| {
        // One element's three samples may all be small by chance; its neighbours' are not.
        let finite = spread.iter().filter(|spread| spread.is_finite());
        let mean = finite.sum::<f64>() / spread.len().max(1) as f64;
        let eps = rounding_error(values.dtype);
        // What cancels to 0 leaves the rounding of its terms, which are of the size of the other elements, or of 1.
        let scale = (0..values.len()).map(|i| values.as_f64(i).abs()).filter(|x| x.is_finite()).fold(1.0, f64::max);
        // Sums of f64 have no wider type to be made in: each of their terms rounds.
        let sums = if values.dtype == unigrad_graph::DType::F64 { 128.0 } else { 32.0 };
        let floor = 8.0 * mean + sums * eps * scale;
        spread.iter().enumerate().map(|(i, spread)| 24.0 * spread + floor + 32.0 * eps * values.as_f64(i).abs()).collect()
    });
    Ok(Expected { allowed: allowed.collect(), exact })
}

fn on_device(program: &RandomGraph, device: &Device, fused: bool) -> Result<Vec<Values>, String> {
    let before = eval::set_fusion(fused);
    let result = (|| {
        let tensors = build(program, Executor::Device(device))?;
        Tensor::realize_all(&tensors.iter().collect::<Vec<_>>()).map_err(|error| error.to_string())?;
        tensors.iter().map(values_of).collect()
    })();
    eval::set_fusion(before);
    result
}

/// A panic as an error.
fn caught<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    })
}

/// The first result that is not what it should be.
fn difference(program: &RandomGraph, got: &[Values], expected: &Expected) -> Option<String> {
    for (i, (got, (exact, allowed))) in got.iter().zip(expected.exact.iter().zip(&expected.allowed)).enumerate() {
        let tiny = smallest(got.dtype);
        if let Err(difference) = close_by(got, exact, |at, _| allowed[at] + tiny) {
            let what = if i < program.outputs.len() { "output" } else { "gradient" };
            let i = if i < program.outputs.len() { i } else { i - program.outputs.len() };
            return Some(format!("{what} {i}: {difference}"));
        }
    }
    None
}

/// What is wrong with a program's results on a device, if something is.
pub fn check(program: &RandomGraph, device: &Device) -> Option<String> {
    let checked = caught(|| {
        let expected = expect(program, device.id()).map_err(|error| format!("the oracle fails: {error}"))?;
        for (fused, name) in [(true, "fused"), (false, "unfused")] {
            let got = on_device(program, device, fused).map_err(|error| format!("{name}: {error}"))?;
            if let Some(difference) = difference(program, &got, &expected) {
                return Err(format!("{name}: {difference}"));
            }
        }
        Ok(())
    });
    checked.err()
}

/// Below this a dtype has few digits left, or none.
fn smallest(dtype: unigrad_graph::DType) -> f64 {
    match dtype {
        unigrad_graph::DType::F16 => 1e-6,
        unigrad_graph::DType::F64 => 1e-300,
        _ => 1e-36,
    }
}

/// A smaller program that still fails: steps become leaves or vanish while that is so.
pub fn shrink(program: &RandomGraph, device: &Device) -> (RandomGraph, String) {
    let mut best = program.clone();
    let mut failure = check(&best, device).unwrap_or_default();
    let mut progress = true;
    while progress {
        progress = false;
        for candidate in best.simpler() {
            if let Some(text) = check(&candidate, device) {
                (best, failure) = (candidate, text);
                progress = true;
                break;
            }
        }
    }
    (best, failure)
}
