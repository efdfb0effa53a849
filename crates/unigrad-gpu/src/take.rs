//! The hook for vendors' libraries: a kernel is offered, a library takes it on or leaves it.
//!
//! In: a kernel of any kind, and what of it can be said in a library's words: as [`Product`]s, or as [`Convolution`]s, or as a [`Norm`]. Attention and
//! its gradient are words already: [`unigrad_kernel::Attention`], [`unigrad_kernel::AttentionGrad`]. Out: a [`Taken`], which
//! [`crate::Backend::perform`] queues in place of the driver's own programs.
//! Always: the words are read off what the kernel computes, not off what it was made for, and say all of it; a kernel that there are no words for is
//! offered as it is. The own programs remain: a library that refuses at a launch has queued nothing, and they do it from then on.
//! Never: is needed for a result. Without a library everything is computed, only slower.

use crate::{Convolution, ConvolutionOperands, Norm, NormOperands, Operands, Product, Range};
use unigrad_kernel::Kernel;

/// A kernel that a library may take on.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// As the planner made it.
    pub kernel: &'a Kernel,
    /// The kernel as a product, in several ways: the first has all of the epilogue inside, where there are words for it; the last has none. What a way
    /// leaves out is done by a program of the driver afterwards ([`Product::after`]).
    pub products: &'a [Product],
    /// The same as a convolution, where it is no product.
    pub convolutions: &'a [Convolution],
    /// The kernel as a norm or a softmax.
    pub norm: Option<&'a Norm>,
    /// Take all that can be done (`UNIGRAD_PRODUCTS=library`), not only what wins, by a rule that the backend states.
    pub always: bool,
}

/// What of an offer a library takes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum As {
    /// The whole kernel, as the planner made it.
    Kernel,
    /// One of [`Offer::products`].
    Product(usize),
    /// One of [`Offer::convolutions`].
    Convolution(usize),
    /// [`Offer::norm`].
    Norm,
}

/// What a library does in place of a kernel's programs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Taken {
    /// What it takes the kernel on as.
    pub what: As,
    /// Bytes of memory that it needs while it runs; other launches use them as well.
    pub workspace: usize,
    /// What it is expected to cost, in nanoseconds, without a program that comes afterwards.
    pub nanoseconds: f64,
    /// The backend's own number for it.
    pub id: u64,
}

/// What is to be queued.
#[derive(Clone, Copy, Debug)]
pub enum Work<'a> {
    /// The product that was taken on; its ranges hold its matrices.
    Product(&'a Product, &'a Operands),
    /// The convolution that was taken on, likewise.
    Convolution(&'a Convolution, &'a ConvolutionOperands),
    /// The norm that was taken on, likewise.
    Norm(&'a Norm, &'a NormOperands),
    /// The kernel, with its arguments in order, and the raw words of its scalars.
    Kernel(&'a Kernel, &'a [Range], &'a [u64]),
}
