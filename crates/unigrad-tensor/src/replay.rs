//! Functions that are recorded and then run again with no graph built: for steps that are smaller than their recording.
//!
//! In: a function of tensors, later other tensors. Out: what it gives of them, and what it assigns.
//! Always: a call that runs again gives what the function itself would have given, or the function is called; what changed since it was recorded and
//! cannot be followed is found out or refused before anything runs. A run that fails leaves what it was to assign as it was.
//! Never: holds fixed what was seen to change between two calls.

mod program;

use crate::{Error, Result, Tensor, eval, random};
use program::{Digest, Recorded};
use unigrad_graph::{Expr, Op, Origin};
use unigrad_plan::resolved;

/// Calls of the function after which two in a row are alike, or it is refused: the first one may make what later ones find.
const TRIES: usize = 4;
/// Types of arguments that are remembered.
const REMEMBERED: usize = 16;

/// A function that is run again as it was recorded; see [`replay`].
pub struct Replay<F> {
    function: F,
    /// By the types of the arguments, the latest last.
    known: Vec<Known>,
    n_replayed: u64,
}

/// What is known of the function for arguments of certain types.
struct Known {
    types: Vec<Expr>,
    state: State,
}

enum State {
    /// The last call's record, and how many calls there were.
    Recording(Option<Digest>, usize),
    Ready(Recorded),
    Refused(Error),
}

/// A function that is called until two calls have done the same with the device, and from then on is not called any more: the launches of the last
/// call run with the new arguments, with what the tensors that it assigns hold now (parameters, state of optimizers, running statistics) and with new
/// random numbers. For steps whose recording takes longer than their work, such as a small network's on a GPU.
///
/// What is fixed when it is recorded stays so: the host's own decisions, and numbers such as a Rust `f64` that the function makes an operand of. Where a
/// setting of an optimizer changes (its learning rate), where a tensor that the function only reads is given another value, and for arguments of
/// other shapes, dtypes or devices it is recorded again. Gradients do not flow through the result, nor into the arguments.
///
/// Refused, with an error that says what to do: a function that reads a value, that makes a tensor of the host's data, that uses a number that differs from
/// call to call, that copies between devices, works on named axes, or leaves gradients behind.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{DType, Device, Tensor, no_grad, replay, take_gradients};
///
/// let device = Device::open("cpu")?;
/// let w = Tensor::new([0.0f32, 0.0], &device).requires_grad();
/// let parameter = w.clone();
/// let mut step = replay(move |inputs| {
///     let loss = (inputs[0].matmul(&parameter) - &inputs[1]).square().mean(());
///     let gradient = take_gradients(&loss, &[parameter.clone()])?.remove(0);
///     no_grad(|| parameter.assign(&(&parameter - gradient * 0.1)))?;
///     Ok(vec![loss])
/// });
/// for _ in 0..200 {
///     let x = Tensor::randn([16, 2], DType::F32, &device);
///     let y = x.matmul(&Tensor::new([2.0f32, -1.0], &device));
///     step.call(&[&x, &y])?;
/// }
/// assert!(step.n_replayed() > 190);
/// let w = w.to_vec::<f32>()?;
/// assert!((w[0] - 2.0).abs() < 1e-3 && (w[1] + 1.0).abs() < 1e-3);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
pub fn replay<F: FnMut(&[Tensor]) -> Result<Vec<Tensor>>>(function: F) -> Replay<F> {
    Replay { function, known: Vec::new(), n_replayed: 0 }
}

impl<F: FnMut(&[Tensor]) -> Result<Vec<Tensor>>> Replay<F> {
    /// What the function gives for these arguments. After an error, tensors that it assigns have their old values, unless the error says otherwise.
    #[track_caller]
    pub fn call(&mut self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let _origin = Origin::enter_caller();
        let inputs = inputs.iter().map(|input| leaf(input)).collect::<Result<Vec<Expr>>>()?;
        let is_of = |known: &Known| {
            let same = |(of, input): (&Expr, &Expr)| of.is_same_type(input) && is_number(of) == is_number(input);
            known.types.len() == inputs.len() && known.types.iter().zip(&inputs).all(same)
        };
        let at = match self.known.iter().position(is_of) {
            Some(at) => at,
            None => {
                if self.known.len() == REMEMBERED {
                    self.known.remove(0);
                }
                self.known.push(Known { types: inputs.iter().map(kept_type).collect(), state: State::Recording(None, 0) });
                self.known.len() - 1
            }
        };
        let state = &mut self.known[at].state;
        if let State::Ready(program) = state {
            // What this thread has assigned: its old values are seen to be gone then.
            eval::realize(&[])?;
            if program.is_current() {
                let results = program.run(&inputs)?;
                self.n_replayed += 1;
                return Ok(results);
            }
            *state = State::Recording(None, 0);
        }
        if let State::Refused(error) = state {
            return Err(error.clone());
        }
        let (results, digest) = record(&mut self.function, &inputs)?;
        let State::Recording(before, calls) = state else {
            return Err(Error::Internal("a function is neither recorded, ready nor refused".into()));
        };
        *calls += 1;
        let is_last = *calls >= TRIES;
        let next = match (before.take(), digest) {
            (Some(before), Ok(digest)) if before.is_like(&digest) => match Recorded::new(&before, digest) {
                Ok(program) => State::Ready(program),
                Err(error) => State::Refused(error),
            },
            // Not the function's doing, and the next call may find it otherwise.
            (Some(before), Ok(digest)) if before.was_shared(&digest) => State::Recording(Some(digest), *calls - 1),
            (Some(before), Ok(digest)) if is_last => State::Refused(before.difference(&digest)),
            (_, Ok(digest)) => State::Recording(Some(digest), *calls),
            (_, Err(error)) if is_last => State::Refused(error),
            (_, Err(_)) => State::Recording(None, *calls),
        };
        *state = next;
        Ok(results)
    }

    /// Calls that ran without the function.
    pub fn n_replayed(&self) -> u64 {
        self.n_replayed
    }

    /// Forgets what was recorded: the function is called again.
    pub fn record_again(&mut self) {
        self.known.clear();
    }

    /// The function.
    pub fn into_inner(self) -> F {
        self.function
    }
}

impl<F> std::fmt::Debug for Replay<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("recorded", &self.known.len()).field("n_replayed", &self.n_replayed).finish_non_exhaustive()
    }
}

fn is_number(node: &Expr) -> bool {
    matches!(node.op(), Op::Scalar)
}

/// A node of the same type that keeps no data.
fn kept_type(node: &Expr) -> Expr {
    if is_number(node) { node.clone() } else { node.stand_in() }
}

/// A leaf with a tensor's value, that nothing else refers to.
fn leaf(input: &Tensor) -> Result<Expr> {
    let mut node = resolved(input.valid()?);
    if let (true, Some(value)) = (is_number(&node) && node.data().is_none(), node.scalar_value()) {
        return Ok(Expr::scalar(value, node.shape(), node.device()));
    }
    if node.data().is_none() {
        eval::realize(std::slice::from_ref(&node))?;
        node = resolved(node);
    }
    if node.is_named() {
        return Err(Error::argument("an argument of a function that is replayed has named axes", "give it plain sizes"));
    }
    match node.data() {
        Some(data) => Ok(Expr::buffer_like(&node, data.clone())),
        None => Err(Error::Internal("evaluation gave no data".into())),
    }
}

/// Calls the function, and notes what it does.
fn record(function: &mut impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>, inputs: &[Expr]) -> Result<(Vec<Tensor>, Result<Digest>)> {
    let arguments: Vec<Tensor> = inputs.iter().map(|input| Tensor::from_expr(input.clone())).collect();
    let ((results, ranges), tape) = eval::record(|| {
        let (results, ranges) = random::record(|| function(&arguments));
        let results = results?;
        Tensor::realize_all(&results.iter().collect::<Vec<_>>())?;
        Ok((results, ranges))
    })?;
    let results: Vec<Expr> = results.iter().map(|result| resolved(result.expr())).collect();
    let digest = Digest::new(inputs, &results, ranges, tape);
    let values = results.iter().map(|node| match node.data() {
        Some(data) => Ok(Tensor::from_expr(Expr::buffer_like(node, data.clone()))),
        None => Err(Error::Internal("evaluation gave no data".into())),
    });
    Ok((values.collect::<Result<Vec<Tensor>>>()?, digest))
}
