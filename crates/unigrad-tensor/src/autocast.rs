//! Automatic mixed precision: a scope in which each op computes in the dtype of its class.
//!
//! In: a half type, and a function. Out: what the function gives; the ops that it called had their float inputs cast by their
//! [`Precision`] in the registry: products, convolutions and attention to the half type, losses, softmax, norms and sums to `f32`; the others
//! compute in the dtype, or the widest dtype, of what they are given.
//! Always: a scope belongs to its thread and nests; the gradient of a cast is a cast back, so that parameters keep their dtype and so do their
//! gradients; `f64` stays as it is, as in PyTorch. Within an op, and in backward passes, there is no scope: an op's class decides for all that it does.
//! Never: changes a tensor. A parameter in `f32` is cast where it is read.

use crate::{
    Tensor,
    arithmetic::Operand,
    registry::{self, Precision},
};
use std::{cell::Cell, collections::HashMap, marker::PhantomData, sync::LazyLock};
use unigrad_graph::{DType, ErrorKind};

thread_local! {
    /// The scope's dtype.
    static CURRENT: Cell<Option<DType>> = const { Cell::new(None) };
}

/// Ends a scope when it drops.
#[must_use = "the scope ends when the guard is dropped"]
#[derive(Debug)]
pub struct AutocastGuard {
    before: Option<DType>,
    /// It stays on its thread.
    on_thread: PhantomData<*const ()>,
}

impl Drop for AutocastGuard {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// Runs `f` with automatic mixed precision, as PyTorch's `torch.autocast`: in `BF16` or `F16`; `F32` turns it off within another scope.
///
/// Ops are classed as the registry says ([`registry::Op::precision`]). With `F16`, gradients underflow: scale the loss (`GradScaler` of `unigrad-nn`).
/// Call `backward` outside of the scope or in it: it computes each gradient in its op's dtype. With any other dtype, the products in the scope are
/// errors that say so.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{DType, Device, Tensor, autocast};
///
/// let device = Device::open("cpu")?;
/// let w = Tensor::new([[0.5f32, -1.0]], &device).requires_grad();
/// let x = Tensor::new([[1.0f32, 2.0]], &device);
/// let (y, loss) = autocast(DType::BF16, || {
///     let y = x.linear(&w, None);
///     let loss = y.mse_loss(&y.zeros_like());
///     (y, loss)
/// });
/// assert_eq!((y.dtype(), loss.dtype()), (DType::BF16, DType::F32));
/// loss.backward()?;
/// assert_eq!(w.grad().unwrap().dtype(), DType::F32);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
pub fn autocast<T>(dtype: DType, f: impl FnOnce() -> T) -> T {
    let _guard = autocast_guard(dtype);
    f()
}

/// As [`autocast`], until the guard drops. Guards drop in the reverse order of their making.
pub fn autocast_guard(dtype: DType) -> AutocastGuard {
    enter(Some(dtype).filter(|dtype| *dtype != DType::F32))
}

/// The half type of the scope that this thread is in.
pub fn autocast_dtype() -> Option<DType> {
    CURRENT.get()
}

/// Until the guard drops, the scope is that of a moment before ([`autocast_dtype`]).
pub(crate) fn enter(dtype: Option<DType>) -> AutocastGuard {
    AutocastGuard { before: CURRENT.replace(dtype), on_thread: PhantomData }
}

/// No scope until the guard drops: for what an op is composed of.
pub(crate) fn within() -> Option<AutocastGuard> {
    CURRENT.get().map(|_| enter(None))
}

/// What an op's inputs become.
#[derive(Clone, Copy)]
enum Target {
    Half(DType),
    Full,
}

/// The casts of an op's inputs; while it lives, there is no scope.
pub(crate) struct Cast {
    target: Target,
    _within: AutocastGuard,
}

/// The classes of methods that the scope casts for.
static CLASSES: LazyLock<HashMap<&'static str, Precision>> = LazyLock::new(|| {
    let mut classes = HashMap::new();
    for op in registry::ops().filter(|op| matches!(op.precision, Precision::Half | Precision::Full)) {
        // A row of the method's own name before rows that call it for something else.
        if op.name == op.method {
            classes.insert(op.method, op.precision);
        } else {
            classes.entry(op.method).or_insert(op.precision);
        }
    }
    classes
});

/// The casts of the method's inputs, if the thread is in a scope and the method's class has any.
#[inline]
pub(crate) fn entered(method: &str) -> Option<Cast> {
    let dtype = CURRENT.get()?;
    let target = match CLASSES.get(method)? {
        Precision::Half => Target::Half(dtype),
        Precision::Full => Target::Full,
        Precision::Widest | Precision::Same => return None,
    };
    Some(Cast { target, _within: enter(None) })
}

impl Cast {
    /// An input as the op takes it.
    #[track_caller]
    pub(crate) fn of(&self, x: &Tensor) -> Tensor {
        let dtype = x.dtype();
        let half = matches!(dtype, DType::F16 | DType::BF16);
        match self.target {
            Target::Half(to) if !matches!(to, DType::F16 | DType::BF16) => {
                let message = format!("the scope of automatic mixed precision is {to}");
                Tensor::fail(ErrorKind::DType, "autocast", message, "give `autocast` BF16 or F16; F32 turns it off", &[x])
            }
            Target::Half(to) if dtype == DType::F32 || half => x.cast(to),
            Target::Full if half => x.cast(DType::F32),
            Target::Half(_) | Target::Full => x.apart(),
        }
    }

    /// As [`Cast::of`].
    #[track_caller]
    pub(crate) fn maybe(&self, x: Option<&Tensor>) -> Option<Tensor> {
        // Not in a closure: the place would be this line.
        #[allow(clippy::manual_map)]
        match x {
            Some(x) => Some(self.of(x)),
            None => None,
        }
    }

    /// As [`Cast::of`]; numbers have no dtype.
    #[track_caller]
    pub(crate) fn operand(&self, x: Operand) -> Operand {
        match x {
            Operand::Tensor(x) => Operand::Tensor(self.of(&x)),
            number @ Operand::Value(_) => number,
        }
    }

    /// As [`Cast::of`].
    #[track_caller]
    pub(crate) fn all(&self, list: &[&Tensor]) -> Vec<Tensor> {
        let mut all = Vec::with_capacity(list.len());
        for x in list {
            all.push(self.of(x));
        }
        all
    }
}
