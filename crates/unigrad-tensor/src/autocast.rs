//! Automatic mixed precision: a scope in which each op computes in the dtype of its class.
//!
//! In: a half type or a recipe for 8-bit floats ([`crate::float8`]), and a function. Out: what the function gives; the ops that it called had their float inputs cast by their
//! [`Precision`] in the registry: products, convolutions and attention to the half type, losses, softmax, norms and sums to `f32`; the others
//! compute in the dtype, or the widest dtype, of what they are given.
//! Always: a scope belongs to its thread and nests; the gradient of a cast is a cast back, so that parameters keep their dtype and so do their
//! gradients; `f64` stays as it is, as in PyTorch. Within an op, and in backward passes, there is no scope: an op's class decides for all that it does.
//! Never: changes a tensor. A parameter in `f32` is cast where it is read, unless its last update has left a copy ([`crate::half_copy`]).

use crate::float8::{Fp8Recipe, Fp8Scope};
use crate::{
    Tensor,
    arithmetic::Operand,
    registry::{self, Precision},
};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    marker::PhantomData,
    sync::LazyLock,
};
use unigrad_graph::{DType, ErrorKind};

thread_local! {
    /// The scope's dtype.
    static CURRENT: Cell<Option<DType>> = const { Cell::new(None) };
    /// Its recipe for products in 8-bit floats. Within a method that is a product, there is no dtype any more, but still the recipe.
    static FP8: RefCell<Option<Fp8Scope>> = const { RefCell::new(None) };
}

/// What scope a moment is in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    dtype: Option<DType>,
    fp8: Option<Fp8Scope>,
}

impl Scope {
    /// The scope of now, for what is recorded again later.
    pub(crate) fn now() -> Scope {
        Scope { dtype: CURRENT.get(), fp8: FP8.with_borrow(|fp8| fp8.as_ref().map(Fp8Scope::resumed)) }
    }

    /// The same scope, as it was then.
    pub(crate) fn again(&self) -> Scope {
        Scope { dtype: self.dtype, fp8: self.fp8.as_ref().map(Fp8Scope::resumed) }
    }
}

/// Ends a scope when it drops.
#[must_use = "the scope ends when the guard is dropped"]
#[derive(Debug)]
pub struct AutocastGuard {
    before: Scope,
    /// It stays on its thread.
    on_thread: PhantomData<*const ()>,
}

impl Drop for AutocastGuard {
    fn drop(&mut self) {
        CURRENT.set(self.before.dtype);
        // The old one goes after the borrow: what it drops may be the user's.
        let ended = FP8.replace(self.before.fp8.take());
        drop(ended);
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
    enter(Scope { dtype: Some(dtype).filter(|dtype| *dtype != DType::F32), fp8: None })
}

/// The half type of the scope that this thread is in.
pub fn autocast_dtype() -> Option<DType> {
    CURRENT.get()
}

/// Runs `f` with automatic mixed precision as [`autocast`] does in the recipe's half type, but with matrix products in 8-bit floats, as
/// `fp8_autocast` of NVIDIA's Transformer Engine: [`Tensor::linear`], [`Tensor::matmul`] and what else multiplies matrices (`dot`, `addmm`, `addmv`,
/// `baddbmm`, `bilinear`, `einsum`, `inner`, `multi_dot`, `tensordot`). Convolutions and attention stay in the half type.
///
/// What is rounded when is on [`Fp8Recipe`] and in `docs/training.md`. Factors in `f32` are rounded from there, but those of `bilinear`, `einsum`, `inner`
/// and `multi_dot` from the half type. With another half type than `BF16` or `F16`, or a margin that is too great, the products are errors that say so.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{DType, Device, Fp8Recipe, Tensor, autocast_fp8};
///
/// let device = Device::open("cpu")?;
/// let w = Tensor::new([[0.55f32, -1.0]], &device).requires_grad();
/// let x = Tensor::new([[1.0f32, 2.0]], &device);
/// let y = autocast_fp8(&Fp8Recipe::default(), || x.linear(&w, None));
/// // 0.55 is 0.5625 in e4m3.
/// assert_eq!((y.dtype(), y.to_f64_vec()?), (DType::BF16, vec![-1.4375]));
/// y.sum(()).backward()?;
/// assert_eq!(w.grad().unwrap().to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
pub fn autocast_fp8<T>(recipe: &Fp8Recipe, f: impl FnOnce() -> T) -> T {
    let _guard = autocast_fp8_guard(recipe);
    f()
}

/// As [`autocast_fp8`], until the guard drops. Guards drop in the reverse order of their making.
pub fn autocast_fp8_guard(recipe: &Fp8Recipe) -> AutocastGuard {
    enter(Scope { dtype: Some(recipe.half), fp8: Some(Fp8Scope::new(recipe)) })
}

/// Until the guard drops, the scope is this one.
pub(crate) fn enter(scope: Scope) -> AutocastGuard {
    let Scope { dtype, fp8 } = scope;
    AutocastGuard { before: Scope { dtype: CURRENT.replace(dtype), fp8: FP8.replace(fp8) }, on_thread: PhantomData }
}

/// No scope until the guard drops: for what an op is composed of.
pub(crate) fn within() -> Option<AutocastGuard> {
    CURRENT.get().map(|_| enter(Scope::default()))
}

/// The recipe that a product is computed by, if any: in a scope, methods pass through [`product`] first.
pub(crate) fn fp8() -> Option<Fp8Scope> {
    FP8.with_borrow(Clone::clone)
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
    /// Whether products are computed by a recipe.
    is_fp8: bool,
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
    Some(Cast { target, is_fp8: false, _within: enter(Scope::default()) })
}

/// As [`entered`], of a method that multiplies matrices by [`Tensor::matmul`]: that knows the scope's recipe.
#[inline]
pub(crate) fn product(method: &str) -> Option<Cast> {
    let fp8 = if CURRENT.get().is_some() { fp8() } else { None };
    let mut cast = entered(method)?;
    cast.is_fp8 = fp8.is_some();
    FP8.set(fp8);
    Some(cast)
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
            // Not by `unwrap_or_else`: the place would be this line.
            Target::Half(to) if dtype == DType::F32 => match x.half_copy(to) {
                Some(copy) => copy,
                None => x.cast(to),
            },
            Target::Half(to) if half => x.cast(to),
            Target::Full if half => x.cast(DType::F32),
            Target::Half(_) | Target::Full => x.apart(),
        }
    }

    /// What is multiplied: as [`Cast::of`], but an `f32` that is rounded to fewer bits than those of the half type is not rounded twice.
    #[track_caller]
    pub(crate) fn factor(&self, x: &Tensor) -> Tensor {
        match self.target {
            Target::Half(DType::F16 | DType::BF16) if self.is_fp8 && x.dtype() == DType::F32 => x.apart(),
            Target::Half(_) | Target::Full => self.of(x),
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
