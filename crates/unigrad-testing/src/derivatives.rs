//! First and second derivatives as PyTorch has them: its own operator samples, and special points.
//!
//! In: cases of the files that `scripts/golden_points.py` writes. Out: for each derivative that differs, one line.
//! Always: every float input is differentiated, as a variable and as a plain tensor in turn; what PyTorch gives no gradient is 0 here or has none.
//! Never: compares in f32 what PyTorch answers differently there.

use crate::{
    Values,
    cases::{Array, Case},
    compare::close_by,
    run::values_of,
};
use unigrad_graph::DType;
use unigrad_tensor::{Device, Tensor, grad_allow_unused, registry};

/// The weight of element `i` in the sums that are differentiated; never 0, which would hide an infinite factor.
fn weight(i: usize) -> f64 {
    ((7 * i + 3) % 13) as f64 / 4.0 - 1.375
}

/// What is wrong with a case on a device, with its floats in `dtype`. Nothing for a case that is not for `dtype`.
pub fn check(case: &Case, dtype: DType, device: &Device) -> Vec<String> {
    let mut wrong = Vec::new();
    if dtype != DType::F64 && case.flag("f64") {
        return wrong;
    }
    for variables in [true, false] {
        match levels(case, dtype, device, variables) {
            Ok(levels) => compare(case, dtype, &levels, &mut wrong),
            Err(error) => wrong.push(error.replace('\n', " | ")),
        }
        if !wrong.is_empty() {
            let inputs = if variables { "variables" } else { "plain tensors" };
            wrong.iter_mut().for_each(|line| *line = format!("FAIL {case} in {dtype} with {inputs} on {}: {line}", device.name()));
            break;
        }
    }
    wrong
}

/// The outputs, the gradients and their gradients; of those one per input, `None` where nothing depends on it.
struct Levels {
    outputs: Vec<Values>,
    derivatives: [Vec<Option<Values>>; 2],
}

fn in_dtype(input: &Array, dtype: DType) -> Values {
    let values = &input.values;
    if values.dtype.is_float() { Values::from_f64(dtype, &values.shape, &values.to_f64()) } else { values.clone() }
}

fn levels(case: &Case, dtype: DType, device: &Device, variables: bool) -> Result<Levels, String> {
    let entry = registry::find(&case.op).ok_or("the table has no such op")?;
    let mut inputs = Vec::new();
    for input in &case.inputs {
        let values = in_dtype(input, dtype);
        let tensor = Tensor::from_bytes(&values.to_bytes(), values.shape.as_slice(), values.dtype, device);
        inputs.push(if variables && values.dtype.is_float() { tensor.requires_grad() } else { tensor });
    }
    let outputs = entry.call(&inputs, &case.args, device).map_err(|error| error.to_string())?;
    if let Some(error) = outputs.iter().find_map(Tensor::error) {
        return Err(error.to_string());
    }
    let wrt: Vec<&Tensor> = inputs.iter().filter(|input| input.dtype().is_float()).collect();
    let mut roots: Vec<Tensor> = outputs.iter().filter(|output| output.dtype().is_float()).cloned().collect();
    let mut derivatives = [Vec::new(), Vec::new()];
    let wanted = if case.flag("once") { 1 } else { 2 };
    for level in derivatives.iter_mut().take(wanted) {
        let mut loss: Option<Tensor> = None;
        for root in &roots {
            let weights: Vec<f64> = (0..root.numel()).map(weight).collect();
            let weights = Values::from_f64(root.dtype(), &root.shape(), &weights);
            let weights = Tensor::from_bytes(&weights.to_bytes(), weights.shape.as_slice(), weights.dtype, device);
            let part = (root * &weights).sum(());
            loss = Some(loss.map_or(part.clone(), |loss| loss + part));
        }
        let found = match &loss {
            Some(loss) => grad_allow_unused(loss, None, &wrt).map_err(|error| error.to_string())?,
            None => vec![None; wrt.len()],
        };
        roots = found.iter().flatten().cloned().collect();
        let mut found = found.into_iter();
        *level = inputs.iter().map(|input| if input.dtype().is_float() { found.next().flatten() } else { None }).collect();
    }
    let all: Vec<&Tensor> = outputs.iter().chain(derivatives.iter().flatten().flatten()).collect();
    Tensor::realize_all(&all).map_err(|error| error.to_string())?;
    let read =
        |level: &Vec<Option<Tensor>>| level.iter().map(|tensor| tensor.as_ref().map(values_of).transpose()).collect::<Result<_, _>>();
    Ok(Levels {
        outputs: outputs.iter().map(values_of).collect::<Result<_, _>>()?,
        derivatives: [read(&derivatives[0])?, read(&derivatives[1])?],
    })
}

fn compare(case: &Case, dtype: DType, levels: &Levels, wrong: &mut Vec<String>) {
    // PyTorch's answers have ten digits; in f32 both sides round along the way.
    let relative = if dtype == DType::F64 { 2e-9 } else { 1e-4 };
    let allowed = |_: usize, expected: f64| relative * expected.abs().max(1.0);
    if levels.outputs.len() != case.outputs.len() {
        wrong.push(format!("{} outputs, expected {}", levels.outputs.len(), case.outputs.len()));
    }
    for (got, expected) in levels.outputs.iter().zip(&case.outputs) {
        if let Err(difference) = close_by(got, &expected.values, allowed) {
            wrong.push(format!("output: {difference}"));
        }
    }
    for ((name, expected), got) in [("gradient", &case.grads), ("second derivative", &case.second)].into_iter().zip(&levels.derivatives) {
        if name != "gradient" && case.flag("once") {
            break;
        }
        for (i, input) in case.inputs.iter().enumerate().filter(|(_, input)| input.values.dtype.is_float()) {
            let shape = &input.values.shape;
            let zeros = || vec![0.0; input.values.len()];
            let expected = expected.iter().find(|(at, _)| *at == i).map_or_else(zeros, |(_, values)| values.clone());
            let expected = Values::float(dtype, shape, expected);
            let zeros = Values::float(dtype, shape, zeros());
            // Where PyTorch's own second derivative is NaN there is nothing to compare with.
            let known = |at: usize| name == "gradient" || !expected.as_f64(at).is_nan();
            let allowed = |at: usize, expected: f64| if known(at) { allowed(at, expected) } else { f64::INFINITY };
            if let Err(difference) = close_by(got[i].as_ref().unwrap_or(&zeros), &expected, allowed) {
                wrong.push(format!("{name} by input {i}: {difference}"));
            }
        }
    }
}
