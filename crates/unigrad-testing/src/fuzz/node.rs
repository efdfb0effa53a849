//! Gradients with respect to any node of a random graph: the same whatever the node is, and whether it was evaluated before.
//!
//! In: a program, and one of its steps. Out: what differs between the ways to ask for the gradient at that step.
//! Always: the reference is the program with a leaf of the step's values in the step's place; first and second derivatives, in f64.
//! Never: takes an error for an answer, but where plain tensors were evaluated on the way: there it has to be one, or the answer.

use super::{GraphStep, Leaf, RandomGraph, Rng, StepOp};
use crate::{Values, cases::weight, compare::close_by, run::values_of};
use unigrad_graph::DType;
use unigrad_tensor::{Device, Tensor, grad_allow_unused};

/// How the gradient is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// A leaf in the step's place.
    Replaced,
    /// As recorded, nothing evaluated before.
    Recorded,
    /// The step is evaluated when it is made.
    StepRead,
    /// The loss is evaluated before the gradient is asked for.
    LossRead,
}

/// The same program with all of its floats in f64.
fn wide(program: &RandomGraph) -> RandomGraph {
    let f64_of = |dtype: DType| if dtype.is_float() { DType::F64 } else { dtype };
    let steps = program.steps.iter().map(|step| {
        let op = match &step.op {
            StepOp::Leaf(leaf) => StepOp::Leaf(Leaf { dtype: f64_of(leaf.dtype), ..leaf.clone() }),
            StepOp::Given(values) => StepOp::Given(Values::from_f64(f64_of(values.dtype), &values.shape, &values.to_f64())),
            StepOp::Cast(dtype) => StepOp::Cast(f64_of(*dtype)),
            op => op.clone(),
        };
        GraphStep { op, dtype: f64_of(step.dtype), ..step.clone() }
    });
    RandomGraph { steps: steps.collect(), ..program.clone() }
}

fn leaf(values: &Values, device: &Device) -> Tensor {
    Tensor::from_bytes(&values.to_bytes(), values.shape.as_slice(), values.dtype, device)
}

/// The weighted sum of the outputs, and the step's tensor.
fn record(
    program: &RandomGraph,
    at: usize,
    way: Way,
    variables: bool,
    values: Option<&Values>,
    device: &Device,
) -> Result<(Tensor, Tensor), String> {
    let mut tensors: Vec<Tensor> = Vec::with_capacity(program.steps.len());
    for (i, step) in program.steps.iter().enumerate() {
        let parameter = |tensor: Tensor| if variables && tensor.dtype().is_float() { tensor.requires_grad() } else { tensor };
        let tensor = match (&step.op, values) {
            (_, Some(values)) if i == at && way == Way::Replaced => parameter(leaf(values, device)),
            (StepOp::Leaf(made), _) => parameter(leaf(&made.values(), device)),
            (StepOp::Given(values), _) => parameter(leaf(values, device)),
            _ => step.apply(&step.inputs.iter().map(|input| tensors[*input].clone()).collect::<Vec<_>>()),
        };
        if i == at && way == Way::StepRead {
            tensor.realize().map_err(|error| error.to_string())?;
        }
        tensors.push(tensor);
    }
    let mut loss: Option<Tensor> = None;
    for output in program.outputs.iter().map(|output| &tensors[*output]).filter(|output| output.dtype().is_float()) {
        let part = weighted(output, device);
        loss = Some(loss.map_or(part.clone(), |loss| loss + part));
    }
    let loss = loss.ok_or("no output is a float")?;
    if way == Way::LossRead {
        loss.realize().map_err(|error| error.to_string())?;
    }
    Ok((loss, tensors[at].clone()))
}

fn weighted(x: &Tensor, device: &Device) -> Tensor {
    let weights: Vec<f64> = (0..x.numel()).map(weight).collect();
    (x * leaf(&Values::from_f64(x.dtype(), &x.shape(), &weights), device)).sum(())
}

/// First and second derivative at the node.
fn derivatives(loss: &Tensor, node: &Tensor, device: &Device) -> Result<Vec<Option<Values>>, String> {
    let gradient = |loss: &Tensor| -> Result<Option<Tensor>, String> {
        Ok(grad_allow_unused(loss, None, &[node]).map_err(|error| error.to_string())?.remove(0))
    };
    let first = gradient(loss)?;
    let second = match &first {
        Some(first) => gradient(&weighted(first, device))?,
        None => None,
    };
    let both: Vec<&Tensor> = first.iter().chain(&second).collect();
    Tensor::realize_all(&both).map_err(|error| error.to_string())?;
    [first, second].iter().map(|tensor| tensor.as_ref().map(values_of).transpose()).collect()
}

fn same(got: &Option<Values>, expected: &Option<Values>, what: &str) -> Result<(), String> {
    let zeros = |values: &Values| Values::from_f64(values.dtype, &values.shape, &vec![0.0; values.len()]);
    let (got, expected) = match (got, expected) {
        (None, None) => return Ok(()),
        (Some(got), Some(expected)) => (got.clone(), expected.clone()),
        (Some(got), None) => (got.clone(), zeros(got)),
        (None, Some(expected)) => (zeros(expected), expected.clone()),
    };
    let scale = expected.to_f64().into_iter().filter(|x| x.is_finite()).fold(1.0, |scale: f64, x| scale.max(x.abs()));
    close_by(&got, &expected, |_, _| 1e-8 * scale).map_err(|difference| format!("{what} derivative: {difference}"))
}

/// What is wrong with gradients at one step of the program, which `rng` chooses; and how many ways were compared.
pub fn check_at_node(program: &RandomGraph, rng: &mut Rng, device: &Device) -> Result<usize, String> {
    let program = wide(program);
    // A cast to f64 is the tensor itself here.
    let steps = program.steps.iter().enumerate();
    let able = |step: &GraphStep| step.dtype.is_float() && !step.shape.contains(&0) && !matches!(step.op, StepOp::Cast(_));
    let candidates: Vec<usize> = steps.filter(|(_, step)| able(step)).map(|(i, _)| i).collect();
    if candidates.is_empty() || !program.outputs.iter().any(|output| program.steps[*output].dtype.is_float()) {
        return Ok(0);
    }
    let at = *rng.pick(&candidates);
    let (_, node) = record(&program, at, Way::Recorded, false, None, device)?;
    let values = values_of(&node)?;
    let (loss, replaced) = record(&program, at, Way::Replaced, true, Some(&values), device)?;
    let expected = derivatives(&loss, &replaced, device)?;
    let mut compared = 0;
    for way in [Way::Replaced, Way::Recorded, Way::StepRead, Way::LossRead] {
        for variables in [true, false] {
            let (loss, node) = record(&program, at, way, variables, Some(&values), device)?;
            let got = match derivatives(&loss, &node, device) {
                // What needs no gradient keeps no graph.
                Err(error) if way == Way::LossRead && !node.needs_grad() && error.contains("forgotten") => continue,
                other => other,
            };
            let wrong = got.and_then(|got| {
                same(&got[0], &expected[0], "first")?;
                same(&got[1], &expected[1], "second")
            });
            let inputs = if variables { "variables" } else { "plain tensors" };
            wrong.map_err(|error| format!("at %{at}, {way:?}, with {inputs}: {error}\n{program}"))?;
            compared += 1;
        }
    }
    Ok(compared)
}
