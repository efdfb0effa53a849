//! A function of tensors as one node: recorded once, then called for many tensors of the same types.
//!
//! In: a function, and tensors like those that it will be called with. Out: its results, as parts of one node a call.
//! Always: the values are those of the function's ops one by one, and plans are those of these ops: what is saved is the host's work for each.
//! Never: refuses a function: one that takes more than its arguments (other tensors, numbers that may change) is called as it is.

use crate::{Result, Tensor, no_grad_guard};
use smallvec::SmallVec;
use unigrad_graph::{Expr, Recorded};

/// A function of tensors of certain types, computed without gradients for what requires them.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Arguments, Composite, DType, Device, Tensor, no_grad};
///
/// let device = Device::open("cpu")?;
/// let [x, rate] = [2.0, 0.5].map(|value| Tensor::full([3], value, DType::F32, &device));
/// let step = |x: &[Tensor]| vec![&x[0] - &x[0] * &x[1], x[0].neg()];
/// let composite = Composite::record("step", &[&x, &rate], step)?;
/// let results = no_grad(|| composite.call(Arguments::of(&[&x, &rate]))).unwrap();
/// assert_eq!(results[0].to_vec::<f32>()?, [1.0; 3]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct Composite {
    /// Of the types of the arguments.
    like: Vec<Expr>,
    recorded: Option<Recorded>,
}

// Not generic, as the walk that follows is not: each function that a program records would compile them anew.

#[track_caller]
fn stand_ins(like: &[&Tensor]) -> Result<Vec<Expr>> {
    let mut stand_ins = Vec::with_capacity(like.len());
    for tensor in like {
        stand_ins.push(tensor.valid()?.stand_in());
    }
    Ok(stand_ins)
}

fn tensors(exprs: &[Expr]) -> Vec<Tensor> {
    exprs.iter().cloned().map(Tensor::from_expr).collect()
}

fn exprs(tensors: &[Tensor]) -> Vec<Expr> {
    tensors.iter().map(Tensor::expr).collect()
}

impl Composite {
    /// What `f` does to tensors of the types of `like`. An error if one of its results is invalid.
    #[track_caller]
    pub fn record(name: &'static str, like: &[&Tensor], f: impl FnOnce(&[Tensor]) -> Vec<Tensor>) -> Result<Composite> {
        let like = stand_ins(like)?;
        let recorded = unigrad_graph::Composite::record(name, &like, |arguments| exprs(&f(&tensors(arguments))))?;
        Ok(Composite { like, recorded })
    }

    /// Whether the tensors have the types that it was recorded for.
    pub fn fits(&self, arguments: &Arguments) -> bool {
        self.like.len() == arguments.0.len() && self.like.iter().zip(&arguments.0).all(|(like, argument)| like.is_same_type(argument))
    }

    /// The function's results, as computed inside of [`crate::no_grad`]. `None` where the function cannot be one node, or not with these tensors: then it is
    /// to be called as it is.
    #[track_caller]
    pub fn call(&self, arguments: Arguments) -> Option<Vec<Tensor>> {
        let recorded = self.recorded.as_ref()?;
        let _guard = no_grad_guard();
        let results = recorded.call(arguments.0)?;
        Some(results.into_iter().map(Tensor::from_expr).collect())
    }

    /// How many results the function has; `None` where it cannot be one node.
    pub fn n_results(&self) -> Option<usize> {
        self.recorded.as_ref().map(Recorded::n_results)
    }

    /// Assigns to each of these tensors the function's result of its place, as [`Tensor::assign`] does, or [`Tensor::assign_if`] with a condition. Whether the
    /// function can be one node with these arguments: else nothing is assigned.
    ///
    /// # Errors
    /// As of [`Tensor::assign`]; or there are more tensors than results.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Arguments, Composite, DType, Device, Tensor, no_grad};
    ///
    /// let x = Tensor::full([2], 3.0, DType::F32, &Device::open("cpu")?);
    /// let double = Composite::record("double", &[&x], |x| vec![&x[0] + &x[0]])?;
    /// assert!(double.assign(Arguments::of(&[&x]), &[&x], None)?);
    /// assert_eq!(x.to_vec::<f32>()?, [6.0; 2]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn assign(&self, arguments: Arguments, targets: &[&Tensor], condition: Option<&Tensor>) -> Result<bool> {
        let Some(recorded) = &self.recorded else { return Ok(false) };
        if targets.len() > recorded.n_results() {
            let cause = format!("{} tensors for {} results", targets.len(), recorded.n_results());
            return Err(crate::Error::argument(cause, "give no more than the function has results"));
        }
        let whole = {
            let _guard = no_grad_guard();
            recorded.whole(arguments.0)
        };
        let Some(whole) = whole else { return Ok(false) };
        for (i, target) in targets.iter().enumerate() {
            target.assign_result(&whole, i, condition)?;
        }
        Ok(true)
    }
}

/// What a [`Composite`] is called with: the values that some tensors have now.
#[derive(Clone, Debug)]
pub struct Arguments(SmallVec<[Expr; 16]>);

impl Arguments {
    /// Of these tensors, in order.
    pub fn of(tensors: &[&Tensor]) -> Arguments {
        Arguments(tensors.iter().map(|tensor| tensor.expr()).collect())
    }

    /// These, and then others: what many calls have in common is asked for once.
    pub fn followed_by(mut self, others: &Arguments) -> Arguments {
        self.0.extend(others.0.iter().cloned());
        self
    }
}
