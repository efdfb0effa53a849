//! Functions that have no lanes of their own: every lane by its exact meaning, in `f64`, one after the other.
//!
//! In: a function of the table of `unigrad-scalar`. Out: its kernel, the same for every tier.
//! Always: a new row of that table works here at once; [`kernels`](super::kernels) is where it becomes fast.

use super::{
    float::Float,
    kernels::{OpFn, Unary, un},
};
use crate::simd::Tier;
use std::marker::PhantomData;
use unigrad_scalar::UnaryOp;

/// The function of this place in the table.
struct Defined<T, const OP: usize>(PhantomData<T>);

impl<T: Float, const OP: usize> Unary for Defined<T, OP> {
    type A = T;
    type R = T;
    #[inline(always)]
    fn f<const FMA: bool>(a: T) -> T {
        T::by_definition(UnaryOp::ALL[OP], a)
    }
}

macro_rules! kernel {
    // What is no function of floats has kernels of its own.
    (Test $op:ident $tier:ident) => {
        None
    };
    (Truth $op:ident $tier:ident) => {
        None
    };
    (Bits $op:ident $tier:ident) => {
        None
    };
    ($class:ident $op:ident $tier:ident) => {
        un::<Defined<T, { UnaryOp::$op as usize }>>($tier)
    };
}

macro_rules! kernels {
    ($($(#[doc = $doc:literal])* $op:ident $name:literal $method:ident $class:ident $cost:literal $row:tt)*) => {
        /// The kernel of a function of floats.
        pub(super) fn kernel<T: Float>(op: UnaryOp, tier: Tier) -> Option<OpFn> {
            match op { $(UnaryOp::$op => kernel!($class $op tier)),* }
        }
    };
}
unigrad_scalar::each_unary!(kernels);
