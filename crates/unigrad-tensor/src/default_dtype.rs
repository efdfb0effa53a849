//! The float that numbers become where nothing says which: `F32`, unless a program sets another one.
//!
//! In: a dtype. Out: the dtype of floats beside integers, of functions of real numbers of integers, and of what a binding makes without a dtype.
//! Always: one for the whole process, as PyTorch's `set_default_dtype` is; a graph that is recorded keeps the dtypes that it has.
//! Never: what Rust's functions are given a dtype for, or what has one.

use crate::error::Error;
use std::sync::atomic::{AtomicU8, Ordering};
use unigrad_graph::DType;

/// Those that arithmetic is defined for; the first is the one of a process that sets none.
const CHOICES: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

/// A place in `CHOICES`.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

/// The float that numbers become where nothing says which.
///
/// ```
/// assert_eq!(unigrad_tensor::default_dtype(), unigrad_tensor::DType::F32);
/// ```
#[inline]
pub fn default_dtype() -> DType {
    // Nothing is read that another thread wrote before it set this: a number is all there is.
    CHOICES.get(usize::from(CHOSEN.load(Ordering::Relaxed))).copied().unwrap_or(DType::F32)
}

/// From now on numbers become this float where nothing says which, in every thread. An error of what is no float, or of an 8-bit one, which has no
/// arithmetic.
///
/// ```standalone_crate
/// use unigrad_tensor::{DType, default_dtype, set_default_dtype};
///
/// set_default_dtype(DType::F64)?;
/// assert_eq!(default_dtype(), DType::F64);
/// set_default_dtype(DType::F32)?;
/// assert!(set_default_dtype(DType::I64).is_err());
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
pub fn set_default_dtype(dtype: DType) -> Result<(), Error> {
    let place = CHOICES.iter().position(|known| *known == dtype).and_then(|place| u8::try_from(place).ok());
    let refused = || Error::argument(format!("{dtype} is no default: only floats with arithmetic are"), "choose F32, F64, F16 or BF16");
    CHOSEN.store(place.ok_or_else(refused)?, Ordering::Relaxed);
    Ok(())
}
