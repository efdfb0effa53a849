//! Gradient checkpointing: activations that are computed again in the backward pass instead of being kept.
//!
//! In: a layer and its input. Out: what the layer makes of it, with a graph that keeps the input alone.
//! Always: gradients are those of the plain layer, bit for bit: random numbers are drawn again equally, and what a layer assigns (running statistics) is assigned once.
//! Never: changes what a layer computes; [`first_not_finite`](crate::first_not_finite) sees the layers one by one.

use super::Layer;
use crate::{Module, Visitor, VisitorMut, trace};
use std::{
    cell::Cell,
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
};
use unigrad_tensor::{Origin, Tensor, checkpoint};

thread_local! {
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
}

/// Ends the scope also when what runs in it panics.
struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        ACTIVE.set(self.0);
    }
}

fn scope<T>(active: bool, run: impl FnOnce() -> T) -> T {
    let _restore = Restore(ACTIVE.replace(active));
    run()
}

/// Runs a forward pass whose blocks keep no activations: stacks of layers ([`super::Sequential`], transformers, networks by description, the
/// character model) recompute them in the backward pass, block by block. A block is a transformer's layer, or one of about `√n` runs of a list of `n` layers.
/// A struct of one's own calls [`checkpointed`] for what it takes as a block.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Layer, Linear, Module, Relu, Sequential, gradient_checkpointing};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let net = (0..4).fold(Sequential::new(), |net, _| net.add(Linear::new(8, 8, &device)).add(Relu));
/// let x = Tensor::ones([3, 8], DType::F32, &device);
/// let gradients = |loss: Tensor| -> unigrad::Result<Vec<f32>> {
///     net.zero_grad();
///     loss.backward()?;
///     net.parameters()[0].grad().unwrap().to_vec()
/// };
/// let plain = gradients(net.forward(&x).sum(()))?;
/// assert_eq!(gradients(gradient_checkpointing(|| net.forward(&x)).sum(()))?, plain);
/// # Ok::<(), unigrad::Error>(())
/// ```
pub fn gradient_checkpointing<T>(forward: impl FnOnce() -> T) -> T {
    scope(true, forward)
}

/// Whether blocks are to be recomputed here.
pub fn is_checkpointing() -> bool {
    ACTIVE.get() && !trace::is_observed()
}

/// The values of a module's buffers, in order.
#[derive(Default)]
struct Buffers(Vec<Tensor>);

impl<'m> Visitor<'m> for Buffers {
    fn parameter(&mut self, _: &str, _: &'m Tensor) {}

    fn buffer(&mut self, _: &str, tensor: &'m Tensor) {
        self.0.push(tensor.detach());
    }
}

/// Puts values in the place of a copy's buffers.
struct Exchange<'a> {
    values: std::slice::Iter<'a, Tensor>,
}

impl VisitorMut for Exchange<'_> {
    fn buffer(&mut self, _: &str, tensor: &mut Tensor) {
        if let Some(value) = self.values.next() {
            *tensor = value.detach();
        }
    }
}

/// What a layer makes of `x`, without keeping what it computes on the way: see [`unigrad_tensor::checkpoint`]. Parameters get their gradients, and what the layer assigns
/// (running statistics) is assigned once.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Linear, Module, checkpointed};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let layer = Linear::new(3, 2, &device);
/// checkpointed(&layer, &Tensor::ones([4, 3], DType::F32, &device)).sum(()).backward()?;
/// assert_eq!(layer.bias.unwrap().grad().unwrap().to_vec::<f32>()?, [4.0, 4.0]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[track_caller]
pub fn checkpointed<L: Layer + Clone>(layer: &L, x: &Tensor) -> Tensor {
    checkpointed_by(layer, x, L::forward)
}

/// As [`checkpointed`], of a layer that is called in another way.
#[track_caller]
pub fn checkpointed_by<M: Module + Clone>(
    module: &M,
    x: &Tensor,
    forward: impl Fn(&M, &Tensor) -> Tensor + Send + Sync + 'static,
) -> Tensor {
    let _origin = Origin::enter_caller();
    let mut buffers = Buffers::default();
    module.visit(&mut buffers);
    let (first, again) = (module.clone(), AtomicBool::new(false));
    checkpoint(
        move |inputs| {
            let Some(x) = inputs.first() else { return Tensor::from_error(&crate::Error::Internal("a block without an input".into())) };
            scope(false, || {
                if !again.swap(true, Ordering::Relaxed) {
                    return forward(&first, x);
                }
                // Buffers as they were, and of its own: the model's have moved on, and move once.
                let mut copy = first.clone();
                copy.visit_mut(&mut Exchange { values: buffers.0.iter() });
                forward(&copy, x)
            })
        },
        &[x],
    )
}

/// How a list of `n` layers is split: ranges in order, and whether each is a block to be recomputed. Layers that have blocks of their own stand alone, and are none;
/// each run of others is about as many blocks as the root of its length.
pub fn blocks_of(n: usize, has_blocks: impl Fn(usize) -> bool) -> Vec<(Range<usize>, bool)> {
    let (mut all, mut begin) = (Vec::new(), 0);
    for at in 0..=n {
        if at < n && !has_blocks(at) {
            continue;
        }
        let length = at - begin;
        let parts = (length as f64).sqrt().round() as usize;
        all.extend((0..parts).map(|part| (begin + length * part / parts..begin + length * (part + 1) / parts, true)));
        if at < n {
            all.push((at..at + 1, false));
        }
        begin = at + 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::blocks_of;

    #[test]
    fn blocks_are_the_whole_list() {
        for n in [0, 1, 2, 3, 4, 5, 8, 9, 10, 100, 1001] {
            for own in [usize::MAX, 0, 1, n / 2, n.saturating_sub(1)] {
                let blocks = blocks_of(n, |at| at == own);
                let all: Vec<usize> = blocks.iter().flat_map(|(range, _)| range.clone()).collect();
                assert_eq!(all, (0..n).collect::<Vec<_>>(), "{n} {own}");
                assert!(blocks.iter().all(|(range, block)| !range.is_empty() && *block != range.contains(&own)), "{n} {own}: {blocks:?}");
            }
        }
        assert_eq!(blocks_of(9, |_| false).len(), 3);
        assert_eq!(blocks_of(5, |at| at == 2), [(0..2, true), (2..3, false), (3..5, true)]);
    }
}
