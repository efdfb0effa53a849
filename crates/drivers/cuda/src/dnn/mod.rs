//! Convolutions, attention and their gradients by cuDNN 9, found at run time.
//!
//! In: [`Convolution`]s and kernels of attention on offer, later their memory. Out: calls of the library's execution plans on the device's stream.
//! Always: sums in f32, the same bits each time, by a plan that is made once. Never: TF32 without leave; a convolution or
//! attention that [`convolution::wins`] or [`attention::wins`] turns down, unless `UNIGRAD_PRODUCTS=library` says so; a panic because of a library.
//!
//! `api` has the library's functions and numbers, `graph` writes operations down, `plan` decides how they are done, `shape` says how the tensors of
//! convolutions lie in the library's words.

mod api;
pub(crate) mod attention;
pub(crate) mod convolution;
mod graph;
mod plan;
mod shape;

use crate::loaded::Answer;
use plan::Context;
use std::sync::{Arc, PoisonError, RwLock};
use unigrad_gpu::{ByDtype, Convolution, ConvolutionOperands, Range};
use unigrad_kernel::{Attention, Kernel};

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
    convolutions: Calls<convolution::Call>,
    attentions: Calls<attention::Call>,
}

/// What was prepared, by its number.
struct Calls<T>(RwLock<Vec<Arc<T>>>);

impl<T> Default for Calls<T> {
    fn default() -> Calls<T> {
        Calls(RwLock::default())
    }
}

impl<T> Calls<T> {
    fn keep(&self, call: T) -> u64 {
        let mut calls = self.0.write().unwrap_or_else(PoisonError::into_inner);
        calls.push(Arc::new(call));
        calls.len() as u64 - 1
    }

    fn get(&self, id: u64) -> Option<Arc<T>> {
        let calls = self.0.read().unwrap_or_else(PoisonError::into_inner);
        usize::try_from(id).ok().and_then(|id| calls.get(id).cloned())
    }
}

/// The attention of a kernel, and whether its gradients are wanted.
pub(crate) fn attention_of(kernel: &Kernel) -> Option<(&Attention, bool)> {
    match kernel {
        Kernel::Attention(a) => Some((a, false)),
        Kernel::AttentionGrad(grad) => Some((&grad.forward, true)),
        Kernel::Region(_)
        | Kernel::Grouped(_)
        | Kernel::Joined(_)
        | Kernel::Crossed(_)
        | Kernel::Contract(_)
        | Kernel::Summed(_)
        | Kernel::Scan(_)
        | Kernel::Scatter(_)
        | Kernel::ArgSort(_)
        | Kernel::TopK(_)
        | Kernel::MaxPool(_)
        | Kernel::Custom(_) => None,
    }
}

impl Cudnn {
    /// In the context that is current, of a device with so many bytes of memory; `None` if the library is not there or cannot work.
    pub(crate) fn new(memory: u64) -> Option<Cudnn> {
        Some(Cudnn { context: Context::new(memory)?, convolutions: Calls::default(), attentions: Calls::default() })
    }

    /// Decides how a convolution is done: its number, and the bytes of workspace. `None` if the library cannot.
    pub(crate) fn prepare(&self, c: &Convolution) -> Option<(u64, usize)> {
        let call = convolution::Call::new(&self.context, c)?;
        let workspace = call.workspace();
        Some((self.convolutions.keep(call), workspace))
    }

    /// The same of a kernel of attention.
    pub(crate) fn prepare_kernel(&self, kernel: &Kernel) -> Option<(u64, usize)> {
        let call = match kernel {
            Kernel::Attention(a) => attention::Call::forward(&self.context, a)?,
            Kernel::AttentionGrad(grad) => attention::Call::backward(&self.context, grad)?,
            Kernel::Region(_)
            | Kernel::Grouped(_)
            | Kernel::Joined(_)
            | Kernel::Crossed(_)
            | Kernel::Contract(_)
            | Kernel::Summed(_)
            | Kernel::Scan(_)
            | Kernel::Scatter(_)
            | Kernel::ArgSort(_)
            | Kernel::TopK(_)
            | Kernel::MaxPool(_)
            | Kernel::Custom(_) => return None,
        };
        let workspace = call.workspace();
        Some((self.attentions.keep(call), workspace))
    }

    /// Queues a convolution that was prepared; its ranges hold its tensors (the caller's promise).
    pub(crate) fn convolve(&self, id: u64, c: &Convolution, at: &ConvolutionOperands, workspace: Range, stream: api::Pointer) -> Answer {
        match self.convolutions.get(id) {
            Some(call) => call.queue(&self.context, c, at, workspace, stream),
            None => Answer::Failed("cuDNN: the convolution was not prepared".to_owned()),
        }
    }

    /// The same of a kernel of attention, with its arguments and the raw words of its scalars.
    pub(crate) fn attend(&self, id: u64, kernel: &Kernel, given: (&[Range], &[u64]), workspace: Range, stream: api::Pointer) -> Answer {
        match (self.attentions.get(id), attention_of(kernel)) {
            (Some(call), Some((a, _))) => call.queue(&self.context, a, given, workspace, stream),
            _ => Answer::Failed("cuDNN: the attention was not prepared".to_owned()),
        }
    }
}
