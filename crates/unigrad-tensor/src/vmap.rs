//! A function of one slice, mapped over all slices of its inputs at once.
//!
//! In: a function of tensors, tensors with one axis more, which axes these are. Out: what the function gives for each slice, side by side.
//! Always: the function is called once, with stand-ins for a slice; its ops become ops on all slices, so a map costs as few kernels as one call.
//! Values, gradients and errors are those of a call for each slice; what does not depend on a slice is computed once.
//! Never: computes before a value is read. The function reads nothing, for a stand-in has no value.

use crate::{Error, Result, Tensor, axes::resolve_in, error::graph_error, eval};
use std::sync::Arc;
use unigrad_graph::{Batched, ErrorKind, Expr, Mapping, Randomness};

/// Settings of [`vmap_with`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VmapOptions {
    /// For each input the axis along which the slices lie, negative from the end; `None` for one that is the same for all. Axis 0 of all if empty.
    pub in_axes: Vec<Option<isize>>,
    /// For each result the axis along which the slices are to lie; `None` for one that is the same for all. Axis 0 of all if empty.
    pub out_axes: Vec<Option<isize>>,
    /// What random ops of the function draw; they are an error by default.
    pub randomness: Randomness,
}

/// What `function` gives for each slice along axis 0 of the inputs, along axis 0 of the results; as `torch.vmap`.
///
/// See [`vmap_with`] for other axes, inputs that are the same for all slices, and random numbers.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, Tensor, grad, vmap};
///
/// let device = Device::open("cpu")?;
/// let w = Tensor::new([1.0f32, -1.0], &device);
/// let x = Tensor::new([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]], &device);
/// // A gradient for each sample.
/// let per_sample = vmap(
///     |x| {
///         let w = &w + 0.0;
///         let loss = (&w * &x[0]).sum(()).square();
///         vec![grad(&loss, &[&w]).unwrap().remove(0)]
///     },
///     &[&x],
/// )?;
/// assert_eq!(per_sample[0].to_vec2::<f32>()?, [[-2.0, -4.0], [-6.0, -8.0], [-10.0, -12.0]]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[track_caller]
pub fn vmap(function: impl FnOnce(&[Tensor]) -> Vec<Tensor>, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
    vmap_with(function, inputs, &VmapOptions::default())
}

/// As [`vmap`], with settings.
///
/// An error if no input is mapped or their numbers of slices differ, if the function draws random numbers and `randomness` does not say how, if a
/// result that is to be the same for all slices is not, and if the function assigns to a tensor what differs between slices. A custom kernel
/// runs once for each slice. Ops that read values (`nonzero`, `unique`, ..) are an error inside.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, Tensor, VmapOptions, vmap_with};
///
/// let device = Device::open("cpu")?;
/// let x = Tensor::new([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]], &device);
/// let y = Tensor::new([10.0f32, 20.0], &device);
/// let options = VmapOptions { in_axes: vec![Some(-1), None], out_axes: vec![Some(1)], ..VmapOptions::default() };
/// let z = vmap_with(|x| vec![&x[0] + &x[1]], &[&x, &y], &options)?;
/// assert_eq!(z[0].to_vec2::<f32>()?, [[11.0, 12.0, 13.0], [24.0, 25.0, 26.0]]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[track_caller]
pub fn vmap_with(function: impl FnOnce(&[Tensor]) -> Vec<Tensor>, inputs: &[&Tensor], options: &VmapOptions) -> Result<Vec<Tensor>> {
    let in_axes = per_tensor(&options.in_axes, inputs.len(), "inputs")?;
    // The mapped inputs with their slices along axis 0.
    let mut all = Vec::new();
    for (input, axis) in inputs.iter().zip(&in_axes) {
        let input = input.valid()?;
        if let Some(axis) = axis {
            let axis = resolve_in(&input, "vmap", *axis as i64, input.rank()).map_err(|invalid| graph_error(&invalid))?;
            all.push(moved(&input, axis, 0));
        }
    }
    let Some(size) = all.first().map(|first| first.shape()[0]) else {
        return Err(argument("no input is mapped".into(), "give an axis of at least one input", &[]));
    };
    if let Some(other) = all.iter().find(|other| other.shape()[0] != size) {
        let message = format!("{size} slices of one input, {} of another", other.shape()[0]);
        return Err(argument(message, "the mapped axes of all inputs have one size", &[&all[0], other]));
    }

    let mapping = Arc::new(Mapping::new(size, options.randomness, &all));
    let mut stand_ins = mapping.stand_ins();
    let mut arguments = Vec::with_capacity(inputs.len());
    for (input, axis) in inputs.iter().zip(&in_axes) {
        match axis {
            None => arguments.push((*input).clone()),
            Some(_) => arguments.extend(stand_ins.next().cloned().map(Tensor::from_expr)),
        }
    }
    let results: Vec<Expr> = mapping.run(|| function(&arguments)).iter().map(Tensor::expr).collect();
    if eval::undo_assignments(|value| mapping.reaches(value)) {
        let help = "return the value from the function, and assign it (or its mean) outside";
        return Err(argument("the function assigns to a tensor what differs between slices".into(), help, &[]));
    }

    let out_axes = per_tensor(&options.out_axes, results.len(), "results")?;
    let batched = mapping.batch(&results)?;
    let mut outputs = Vec::with_capacity(results.len());
    for (i, (Batched { expr, mapped }, axis)) in batched.into_iter().zip(out_axes).enumerate() {
        let Some(axis) = axis else {
            if mapped {
                let help = "give an axis for it in `out_axes`";
                return Err(argument(format!("result {i} is to be the same for all slices, but depends on them"), help, &[&results[i]]));
            }
            outputs.push(Tensor::from_expr(expr));
            continue;
        };
        let rank = results[i].rank() + 1;
        let to = resolve_in(&results[i], "vmap", axis as i64, rank).map_err(|invalid| graph_error(&invalid))?;
        let expr = if mapped { expr } else { repeated(&expr, size) };
        outputs.push(Tensor::from_expr(moved(&expr, 0, to)).check()?);
    }
    Ok(outputs)
}

/// One axis for each tensor.
#[track_caller]
fn per_tensor(axes: &[Option<isize>], count: usize, of: &str) -> Result<Vec<Option<isize>>> {
    match axes.len() {
        0 => Ok(vec![Some(0); count]),
        n if n == count => Ok(axes.to_vec()),
        n => Err(argument(format!("{n} axes for {count} {of}"), "give one for each, `None` where it is the same for all slices", &[])),
    }
}

#[track_caller]
fn argument(message: String, help: &str, inputs: &[&Expr]) -> Error {
    graph_error(&Expr::fail(ErrorKind::Argument, "vmap", message, help, inputs))
}

#[track_caller]
fn moved(x: &Expr, from: usize, to: usize) -> Expr {
    let mut order: Vec<usize> = (0..x.rank()).filter(|axis| *axis != from).collect();
    order.insert(to, from);
    x.permute(&order)
}

#[track_caller]
fn repeated(x: &Expr, size: usize) -> Expr {
    let [one, all] = [1, size].map(|size| std::iter::once(size).chain(x.shape().iter().copied()).collect::<Vec<_>>());
    x.reshape(&one).expand(&all)
}
