//! Which dtype a result has.
//!
//! **Two tensors** meet in `DType::promote`: bool < integers < floats. Equal kinds go to the wider; mixed signs to the next wider signed
//! type (`u64` with a signed type: `f32`); `f16` with `bf16` gives `f32`; an integer with a float gives that float.
//!
//! **A tensor of rank 0** beside one of higher rank is weak, as in PyTorch: it decides only if its kind (bool, integer, float) is the
//! higher one. A `f32` loss scale of rank 0 leaves an `f16` tensor `f16`.
//!
//! **Rust numbers** are weaker still: a float leaves float tensors as they are, and makes integers and bools `f32`
//! (or what [`set_default_dtype`](crate::set_default_dtype) has set, here and below); an integer leaves
//! integers and floats as they are, and makes bools `i64`; a `bool` changes nothing. Arithmetic of `f16` or `bf16` with a number that it would
//! round, or with a wider float of rank 0, is done in `f32`, and its result is rounded. Beside integers that do not have the number, comparisons
//! compare with the number itself, `maximum`, `minimum` and `clamp` with the nearest that they have, and arithmetic wraps.
//!
//! | op | rule |
//! |---|---|
//! | `/`, `atan2`, `exp`, `sqrt` and the other functions of real numbers, `mean`, `var` | integers and bools become `f32` |
//! | `floor_div`, `%`, `pow`, bits, shifts | stay integers |
//! | `sum`, `prod`, `cumsum`, `cumprod` of integers and bools | `i64` (`u64` stays `u64`) |
//! | comparisons, `any`, `all`, `isnan`, logic | `bool` |
//! | bool `+` bool, bool `*` bool | `bool`: or, and; other arithmetic of two bools is `i64` |
//! | `argmax`, `argsort`, `nonzero` and other indices | `i64` |
//!
//! Half types compute in `f32` and round once when a value is stored. 8-bit floats promote with nothing but themselves, and compute with nothing:
//! a cast comes first.

use crate::{
    arithmetic::{Operand, Value},
    default_dtype::default_dtype,
};
use unigrad_graph::{DType, ErrorKind, Expr, Literal};

/// bool, integer, float.
fn kind(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64 => 1,
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 => 2,
    }
}

/// The dtype of a tensor beside another; see the module's page.
pub(crate) fn promote(a: &Expr, b: &Expr) -> DType {
    let (x, y) = (a.dtype(), b.dtype());
    if x == y {
        return x;
    }
    match (a.rank(), b.rank()) {
        (0, rank) if rank > 0 && kind(x) <= kind(y) => y,
        (rank, 0) if rank > 0 && kind(y) <= kind(x) => x,
        _ => x.promote(y),
    }
}

/// The error of dtypes that have none in common, or nothing.
#[track_caller]
pub(crate) fn refuse_mixed(op: &str, exprs: &[&Expr]) -> Result<(), Expr> {
    let mixed = exprs.iter().find(|expr| exprs.first().is_some_and(|first| !first.dtype().promotes_with(expr.dtype())));
    match (exprs.first(), mixed) {
        (Some(first), Some(other)) => {
            let message = format!("{} and {} have no common dtype", first.dtype(), other.dtype());
            Err(Expr::fail(ErrorKind::DType, op, message, "cast one to the other's dtype", exprs))
        }
        _ => Ok(()),
    }
}

/// The dtype of a tensor beside a Rust number.
pub(crate) fn promote_value(dtype: DType, value: Value) -> DType {
    match value {
        Value::Float(_) | Value::Constant(_) if !dtype.is_float() => default_dtype(),
        Value::Int(_) if dtype == DType::Bool => DType::I64,
        Value::Float(_) | Value::Constant(_) | Value::Int(_) | Value::Bool(_) => dtype,
    }
}

/// Floats stay, the rest becomes the default float.
pub(crate) fn to_float(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { default_dtype() }
}

/// The dtype sums of `dtype` have.
pub(crate) fn to_sum(dtype: DType) -> DType {
    if dtype.is_float() || dtype == DType::U64 { dtype } else { DType::I64 }
}

/// A Rust number as a node: run-time values as slots, so that they are not part of a plan; the library's own as constants.
#[track_caller]
pub(crate) fn value_expr(value: Value, dtype: DType, shape: &[usize], device: u32) -> Expr {
    match value {
        Value::Float(value) => Expr::scalar(Literal::float(dtype, value), shape, device),
        Value::Int(value) => Expr::scalar(Literal::int(dtype, value), shape, device),
        Value::Bool(value) => Expr::scalar(Literal::int(dtype, i64::from(value)), shape, device),
        Value::Constant(value) => Expr::constant(Literal::float(dtype, value), shape, device),
    }
}

/// Both of one dtype and shape.
#[track_caller]
pub(crate) fn align(op: &str, a: &Expr, b: &Operand, force: Option<DType>) -> Result<(Expr, Expr), Expr> {
    match b {
        Operand::Value(value) => align_value(a.clone(), *value, force),
        Operand::Tensor(b) => align_exprs(op, a.clone(), b.expr(), force),
    }
}

/// [`align`] of a node and a Rust number.
#[track_caller]
pub(crate) fn align_value(a: Expr, value: Value, force: Option<DType>) -> Result<(Expr, Expr), Expr> {
    if a.is_invalid() {
        return Err(a);
    }
    let dtype = force.unwrap_or_else(|| promote_value(a.dtype(), value));
    let dtype = if force.is_some() && !force.is_some_and(DType::is_float) { promote_value(dtype, value) } else { dtype };
    let a = if a.dtype() == dtype { a } else { a.cast(dtype) };
    let b = value_like(value, dtype, &a);
    Ok((a, b))
}

/// [`align`] of two nodes.
#[track_caller]
pub(crate) fn align_exprs(op: &str, a: Expr, b: Expr, force: Option<DType>) -> Result<(Expr, Expr), Expr> {
    if let Some(invalid) = [&a, &b].into_iter().find(|x| x.is_invalid()) {
        return Err(invalid.clone());
    }
    if force.is_none() {
        refuse_mixed(op, &[&a, &b])?;
    }
    let dtype = force.unwrap_or_else(|| promote(&a, &b));
    if a.is_same_type(&b) && a.dtype() == dtype {
        return Ok((a, b));
    }
    let (a, b) = match is_named(&a, &b) {
        true => broadcast(op, &a, &b)?,
        // One has the shape of both, as mostly.
        false if broadcasts_to(&b, &a) => {
            let b = b.expand_with(a.shape());
            (a, b)
        }
        false if broadcasts_to(&a, &b) => {
            let a = a.expand_with(b.shape());
            (a, b)
        }
        false => broadcast(op, &a, &b)?,
    };
    Ok((a.cast_with(dtype), b.cast_with(dtype)))
}

fn is_named(a: &Expr, b: &Expr) -> bool {
    a.is_named() || b.is_named()
}

/// Whether the one can be expanded to the other's shape.
fn broadcasts_to(from: &Expr, to: &Expr) -> bool {
    let (from, to) = (from.shape(), to.shape());
    from.len() <= to.len() && from.iter().rev().zip(to.iter().rev()).all(|(from, to)| from == to || *from == 1)
}

/// A Rust number as a node of the shape of another one, which has this dtype.
#[inline]
#[track_caller]
pub(crate) fn value_like(value: Value, dtype: DType, like: &Expr) -> Expr {
    match value {
        Value::Float(value) => like.scalar_like(Literal::float(dtype, value)),
        Value::Int(value) => like.scalar_like(Literal::int(dtype, value)),
        Value::Bool(value) => like.scalar_like(Literal::int(dtype, i64::from(value))),
        Value::Constant(value) => like.literal_like(Literal::float(dtype, value)),
    }
}

/// Both of one shape.
#[track_caller]
pub(crate) fn broadcast(op: &str, a: &Expr, b: &Expr) -> Result<(Expr, Expr), Expr> {
    let both = Expr::broadcast_together(&[a, b]);
    match both.as_deref() {
        Some([a, b]) => Ok((a.clone(), b.clone())),
        Some(_) => Err(Expr::fail(ErrorKind::Internal, op, "two tensors broadcast to another number".into(), "report it", &[a, b])),
        None => {
            let message = format!("shapes {:?} and {:?} do not broadcast", a.shape(), b.shape());
            let help = "sizes match from the last axis back, or are 1; see `reshape` and `unsqueeze`";
            Err(Expr::fail(ErrorKind::Shape, op, message, help, &[a, b]))
        }
    }
}
