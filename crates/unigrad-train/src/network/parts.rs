//! Layers that only a network by description needs, and the list of layers that it is.

use super::sequences::Give;
use unigrad_nn::{
    AttentionMasks, Gru, Layer, Lstm, Module, MultiHeadAttention, Part, Rnn, TransformerEncoder, Visitor, VisitorMut, blocks_of,
    checkpointed, is_checkpointing,
};
use unigrad_tensor::{AttentionOptions, Origin, PadMode, Tensor};

/// A layer that can be copied: its parameters are handles, so the copy has the same.
pub(super) trait Copied: Layer {
    fn copy(&self) -> Box<dyn Copied>;
}

impl<L: Layer + Clone> Copied for L {
    fn copy(&self) -> Box<dyn Copied> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Copied> {
    fn clone(&self) -> Box<dyn Copied> {
        (**self).copy()
    }
}

/// Layers one after another, by name.
#[derive(Clone, Default)]
pub(super) struct Stack {
    pub(super) layers: Vec<(String, Box<dyn Copied>)>,
    /// Positions of layers that recompute blocks of their own.
    pub(super) have_blocks: Vec<usize>,
}

impl Module for Stack {
    fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
        self.layers.iter().for_each(|(name, layer)| layer.visit_part(name, visitor));
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
        self.layers.iter_mut().for_each(|(name, layer)| layer.visit_part_mut(name, visitor));
    }
}

impl Layer for Stack {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _origin = Origin::enter_caller();
        let plain = |layers: &[(String, Box<dyn Copied>)], x: &Tensor| layers.iter().fold(x.clone(), |x, (_, layer)| layer.forward(&x));
        if !is_checkpointing() {
            return plain(&self.layers, x);
        }
        blocks_of(self.layers.len(), |at| self.have_blocks.contains(&at)).into_iter().fold(x.clone(), |x, (range, is_block)| {
            let layers = &self.layers[range];
            match is_block {
                true => checkpointed(&Stack { layers: layers.to_vec(), have_blocks: Vec::new() }, &x),
                false => plain(layers, &x),
            }
        })
    }
}

/// What layers make of an input, added to what other layers (none: nothing) make of it.
#[derive(Clone)]
pub(super) struct Residual {
    pub(super) body: Stack,
    pub(super) shortcut: Stack,
}

impl Module for Residual {
    fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
        self.body.visit(visitor);
        self.shortcut.visit_part("shortcut", visitor);
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
        self.body.visit_mut(visitor);
        self.shortcut.visit_part_mut("shortcut", visitor);
    }
}

impl Layer for Residual {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _origin = Origin::enter_caller();
        self.shortcut.forward(x) + self.body.forward(x)
    }
}

/// Two axes change places.
#[derive(Clone)]
pub(super) struct Transpose {
    pub(super) a: isize,
    pub(super) b: isize,
}

impl Layer for Transpose {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.transpose(self.a, self.b)
    }
}

/// The mean along an axis.
#[derive(Clone)]
pub(super) struct Mean {
    pub(super) axis: isize,
}

impl Layer for Mean {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.mean(self.axis)
    }
}

/// The last element of axis 1.
#[derive(Clone)]
pub(super) struct Last;

impl Layer for Last {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.select(1, -1)
    }
}

/// The spatial axes padded.
#[derive(Clone)]
pub(super) struct Pad {
    pub(super) pads: Vec<(i64, i64)>,
    pub(super) mode: PadMode,
}

impl Layer for Pad {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.pad_or_cut(&self.pads, self.mode)
    }
}

/// Attention of a sequence over itself; `causal`: only over what came before.
#[derive(Clone)]
pub(super) struct SelfAttention {
    pub(super) attention: MultiHeadAttention,
    pub(super) causal: bool,
}

impl Layer for SelfAttention {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.attention.attend(x, x, x, &AttentionOptions { causal: self.causal, ..AttentionOptions::default() })
    }
}

/// Encoder layers; `causal`: a position sees only what came before.
#[derive(Clone)]
pub(super) struct Encoder {
    pub(super) encoder: TransformerEncoder,
    pub(super) causal: bool,
}

impl Layer for Encoder {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.encoder.masked(x, &AttentionMasks { causal: self.causal, ..AttentionMasks::none() })
    }
}

/// What both recurrent layers give.
#[derive(Clone)]
pub(super) struct LastOf<L> {
    pub(super) layer: L,
    pub(super) give: Give,
    pub(super) bidirectional: bool,
}

/// The last states of the topmost layer, side by side, of `[layers * directions, batch, hidden]`.
#[track_caller]
fn topmost(last: &Tensor, bidirectional: bool) -> Tensor {
    let forward = last.select(0, if bidirectional { -2 } else { -1 });
    if bidirectional { Tensor::concat(&[&forward, &last.select(0, -1)], -1) } else { forward }
}

impl Layer for LastOf<Rnn> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let (all, last) = self.layer.run(x, None);
        if self.give == Give::Sequence { all } else { topmost(&last, self.bidirectional) }
    }
}

impl Layer for LastOf<Lstm> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let (all, (last, _)) = self.layer.run(x, None);
        if self.give == Give::Sequence { all } else { topmost(&last, self.bidirectional) }
    }
}

impl Layer for LastOf<Gru> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let (all, last) = self.layer.run(x, None);
        if self.give == Give::Sequence { all } else { topmost(&last, self.bidirectional) }
    }
}

/// Modules whose paths are those of the one module within.
macro_rules! paths_of {
    ($([$($generic:tt)*] $name:ty, $field:ident;)*) => { $(
        impl<$($generic)*> Module for $name {
            fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
                self.$field.visit(visitor);
            }

            fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
                self.$field.visit_mut(visitor);
            }

            fn on_mode(&mut self, training: bool) {
                self.$field.on_mode(training);
            }
        }
    )* };
}
paths_of! {
    [] SelfAttention, attention;
    [] Encoder, encoder;
    [L: Module] LastOf<L>, layer;
}

/// Modules without parameters.
macro_rules! no_parameters {
    ($($name:ty),*) => { $(
        impl Module for $name {
            fn visit<'m>(&'m self, _: &mut dyn Visitor<'m>) {}

            fn visit_mut(&mut self, _: &mut dyn VisitorMut) {}
        }
    )* };
}
no_parameters!(Transpose, Mean, Last, Pad);
