//! Convolutions and their gradients by cuDNN 9, found at run time.
//!
//! In: [`Convolution`]s on offer, later their memory. Out: calls of the library's execution plans on the device's stream.
//! Always: sums in f32, the same bits each time, by a plan that is made once. Never: TF32 without leave; a convolution that
//! [`convolution::wins`] turns down, unless `UNIGRAD_PRODUCTS=library` says so; a panic because of a library.
//!
//! `api` has the library's functions and numbers, `plan` decides how a graph of operations is done, `shape` says how tensors lie in the library's words.

mod api;
pub(crate) mod convolution;
mod plan;
mod shape;

use crate::loaded::Answer;
use plan::Context;
use std::sync::{Arc, PoisonError, RwLock};
use unigrad_gpu::{ByDtype, Convolution, ConvolutionOperands, Range};

/// Whether the library is there. To look opens it, and makes nothing.
pub(crate) fn is_there() -> bool {
    api::functions().is_some()
}

/// What the planner should know of the library's convolutions on so many compute units, if it is there.
pub(crate) fn convolutions(units: u32) -> Option<ByDtype> {
    is_there().then(|| convolution::rates(units))
}

/// The library in one context, with what it has taken on.
pub(crate) struct Cudnn {
    context: Context,
    convolutions: RwLock<Vec<Arc<convolution::Call>>>,
}

impl Cudnn {
    /// In the context that is current; `None` if the library is not there or cannot work.
    pub(crate) fn new() -> Option<Cudnn> {
        Some(Cudnn { context: Context::new()?, convolutions: RwLock::default() })
    }

    /// Decides how a convolution is done: its number, and the bytes of workspace. `None` if the library cannot.
    pub(crate) fn prepare(&self, c: &Convolution) -> Option<(u64, usize)> {
        let call = convolution::Call::new(&self.context, c)?;
        let workspace = call.workspace();
        let mut calls = self.convolutions.write().unwrap_or_else(PoisonError::into_inner);
        calls.push(Arc::new(call));
        Some((calls.len() as u64 - 1, workspace))
    }

    /// Queues a convolution that was prepared; its ranges hold its tensors (the caller's promise).
    pub(crate) fn convolve(&self, id: u64, c: &Convolution, at: &ConvolutionOperands, workspace: Range, stream: api::Pointer) -> Answer {
        let call = {
            let calls = self.convolutions.read().unwrap_or_else(PoisonError::into_inner);
            usize::try_from(id).ok().and_then(|id| calls.get(id).cloned())
        };
        match call {
            Some(call) => call.queue(&self.context, c, at, workspace, stream),
            None => Answer::Failed("cuDNN: the convolution was not prepared".to_owned()),
        }
    }
}
