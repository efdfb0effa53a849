//! A function applied to each element of sequences, with a state that it hands on: one node, whatever the length.
//!
//! In: a function of states and of one element of each sequence, called once. Out: the last states, and what each step gave.
//! Always: the values and gradients are those of the function called step by step. Never: computes before a value is read.

use crate::{Error, Result, Tensor, eval};
use unigrad_graph::{ErrorKind, Expr, Loop};

/// How [`scan`] goes through sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanOptions {
    reverse: bool,
    length: Option<usize>,
}

impl ScanOptions {
    /// From the first element to the last.
    pub fn new() -> ScanOptions {
        ScanOptions::default()
    }

    /// From the last element to the first. What a step gives stands at the place of its element all the same.
    pub fn reverse(self) -> ScanOptions {
        ScanOptions { reverse: true, ..self }
    }

    /// How many steps there are, where no sequence tells.
    pub fn length(self, length: usize) -> ScanOptions {
        ScanOptions { length: Some(length), ..self }
    }
}

/// Applies `body` to each element of the sequences `xs` (along axis 0) and hands its states on, as `jax.lax.scan`: the last states, and for each
/// further result of `body` the sequence of what the steps gave, along a new axis 0.
///
/// `body` takes the states and one element of each sequence, and gives new states of the same shapes and dtypes, and whatever goes into sequences.
/// It is called once, with stand-ins, and must not read values. Other tensors that it uses are the same in every step, and so are random numbers that
/// it draws. Gradients go to states, sequences and other tensors, any number of times.
///
/// An error if sequences differ in length (or none tells it), a state changes its shape or dtype, or `body` assigns, calls `requires_grad`, or moves
/// tensors between devices. A function with a gradient of its own ([`crate::custom`], [`crate::checkpoint`]) takes what it uses of states and
/// elements as inputs.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, ScanOptions, Tensor, scan};
///
/// let device = Device::open("cpu")?;
/// let xs = Tensor::new([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]], &device).requires_grad();
/// let start = Tensor::new([0.0f32, 0.0], &device);
/// let body = |states: &[Tensor], x: &[Tensor]| {
///     let sum = &states[0] * 0.5 + &x[0];
///     (vec![sum.clone()], vec![sum])
/// };
/// let (last, all) = scan(body, &[&start], &[&xs], ScanOptions::new())?;
/// assert_eq!(last[0].to_vec::<f32>()?, [6.75, 8.5]);
/// assert_eq!(all[0].to_vec::<f32>()?, [1.0, 2.0, 3.5, 5.0, 6.75, 8.5]);
/// last[0].sum(()).backward()?;
/// assert_eq!(xs.grad().unwrap().to_vec::<f32>()?, [0.25, 0.25, 0.5, 0.5, 1.0, 1.0]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[track_caller]
pub fn scan(
    body: impl FnOnce(&[Tensor], &[Tensor]) -> (Vec<Tensor>, Vec<Tensor>),
    states: &[&Tensor],
    xs: &[&Tensor],
    options: ScanOptions,
) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    let mut all: Vec<Expr> = Vec::with_capacity(states.len() + xs.len());
    for tensor in states.iter().chain(xs) {
        all.push(tensor.valid()?);
    }
    let (states, xs) = all.split_at(states.len());
    let Some(length) = options.length.or_else(|| xs.first().and_then(|x| x.shape().first().copied())) else {
        let message = "no sequence tells how many steps there are";
        let invalid = Tensor::fail(ErrorKind::Argument, "scan", message, "give `ScanOptions::length`, or a sequence with an axis 0", &[]);
        return Err(invalid.error().unwrap_or_else(|| Error::Internal("an invalid tensor without an error".into())));
    };
    let tensors = |exprs: &[Expr]| -> Vec<Tensor> { exprs.iter().cloned().map(Tensor::from_expr).collect() };
    let exprs = |tensors: Vec<Tensor>| -> Vec<Expr> { tensors.iter().map(Tensor::expr).collect() };
    let mut stand_ins = Vec::new();
    let recorded = Loop::record(states, xs, length, options.reverse, |states, elements| {
        stand_ins = [states, elements].concat();
        let (states, given) = body(&tensors(states), &tensors(elements));
        (exprs(states), exprs(given))
    });
    // Whether it was refused or not: what is assigned of a step has no value, and whatever is computed next would compute it.
    let is_assigned = eval::undo_assignments(|value| value.depends_on(&stand_ins));
    let (last, given) = recorded?;
    if is_assigned {
        let message = "the body assigns to a tensor what differs between steps";
        let help = "make it a state, or return it from the body, and assign it outside";
        let invalid = Tensor::fail(ErrorKind::Argument, "scan", message, help, &[]);
        return Err(invalid.error().unwrap_or_else(|| Error::Internal("an invalid tensor without an error".into())));
    }
    Ok((tensors(&last), tensors(&given)))
}
