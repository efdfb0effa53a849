//! AdamW whose moments take 8 bits a value, in blocks with a scale each (Dettmers et al., arXiv:2110.02861).
//!
//! In: the moments of a block of at most 256 values. Out: codes, and the block's greatest magnitude as `f32`.
//! Always: arithmetic is in the state's dtype; only what is kept is quantized. Small values keep their relative precision better than in a linear code: the
//! first moment is a signed square of its code, the second a fourth power, whose least code is not 0, so that no step is divided by nothing. Codes are
//! rounded up or down by a share that moves evenly from step to step, so that small changes are not lost but come in turns. Small tensors, whose state is
//! nothing beside the rest, keep theirs whole.

use super::{Group, Optimizer, Rule, StepNumbers, betas, decayed, misfit, setters};
use crate::error::Result;
use unigrad_tensor::{DType, Origin, Tensor};

/// AdamW with moments of 8 bits: about a quarter of [`crate::AdamW`]'s state.
pub type AdamW8bit = Optimizer<AdamW8bitRule>;

/// The rule of [`AdamW8bit`].
#[derive(Clone, Copy, Debug)]
pub struct AdamW8bitRule {
    beta1: f64,
    beta2: f64,
    eps: f64,
    weight_decay: f64,
    least: usize,
}

/// Most values that share a scale.
const BLOCK: usize = 256;
/// Shorter blocks than these are not worth their scales: the last one of a tensor is filled up instead.
const LEAST_BLOCK: usize = 64;
/// The greatest codes.
const FIRST: f64 = 127.0;
const SECOND: f64 = 255.0;

impl AdamW8bit {
    /// AdamW with learning rate `lr`, betas 0.9 and 0.999, epsilon 1e-8, weight decay 0.01. Tensors of fewer than 4096 values keep whole moments.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<AdamW8bit> {
        let _origin = Origin::enter_caller();
        let rule = AdamW8bitRule { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01, least: 4096 };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    betas!("How slowly the two moments forget.");

    setters! {
        eps, "What is added to the root of the second moment.";
        weight_decay, "How strongly values are pulled to zero.";
    }

    /// How many values a tensor must have for its moments to be quantized.
    pub fn least_size(mut self, values: usize) -> Result<Self> {
        self.rule.least = values;
        self.reset_state()?;
        Ok(self)
    }
}

/// The length of the blocks of so many values: all in one block, or the greatest length into which they can be divided, for what is filled up is read by a
/// launch of its own.
fn block_of(n: usize) -> usize {
    if (1..=BLOCK).contains(&n) {
        return n;
    }
    (LEAST_BLOCK..=BLOCK).rev().find(|len| n.is_multiple_of(*len)).unwrap_or(BLOCK)
}

/// `[blocks, length]`, with zeros behind the last value.
fn blocks(x: &Tensor) -> Tensor {
    let n = x.numel();
    let block = block_of(n);
    let padded = n.next_multiple_of(block);
    let flat = x.reshape([n]);
    let flat = if padded == n { flat } else { flat.pad(&[(0, padded - n)]) };
    flat.reshape([padded / block, block])
}

/// Blocks as a tensor like `like`.
fn whole(blocks: &Tensor, like: &Tensor) -> Tensor {
    let n = like.numel();
    let flat = blocks.reshape([blocks.numel()]);
    let flat = if flat.numel() == n { flat } else { flat.narrow(0, 0, n) };
    flat.reshape(like.shape())
}

/// Each value as a share of its block's greatest magnitude, and that.
fn scaled(x: &Tensor) -> (Tensor, Tensor) {
    let scale = x.abs().max_keepdim(1);
    let share = x / scale.eq(0.0).where_(1.0, &scale);
    (share, scale.cast(DType::F32))
}

/// A number in `0..1` for each value of a block, which moves through all of it evenly from step to step: what is added before codes are cut.
fn dither(step: &Tensor, like: &Tensor) -> Tensor {
    let cut = |x: Tensor| &x - x.floor();
    let block = like.shape().last().copied().unwrap_or(BLOCK);
    let columns = match like.device() {
        Ok(device) => Tensor::arange(1.0, block as f64 + 1.0, 1.0, like.dtype(), &device),
        Err(error) => Tensor::from_error(&error),
    };
    // In the moments' shape from the beginning: so it is computed where it is used, not by a launch before.
    cut(cut(columns.expand(like.shape()) * 0.754_877_666_246_692_8) + step)
}

/// The first moment from its codes.
fn first(codes: &Tensor, scales: &Tensor, dtype: DType) -> Tensor {
    let share = codes.cast(dtype) * FIRST.recip();
    &share * share.abs() * scales.cast(dtype)
}

/// The second moment from its codes.
fn second(codes: &Tensor, scales: &Tensor, dtype: DType) -> Tensor {
    (codes.cast(dtype) * SECOND.recip()).square().square() * scales.cast(dtype)
}

impl Rule for AdamW8bitRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["exp_avg", "exp_avg_scale", "exp_avg_sq", "exp_avg_sq_scale"]
    }

    fn state_names_of(&self, parameter: &Tensor) -> Vec<&'static str> {
        if parameter.numel() < self.least.max(1) { vec!["exp_avg", "exp_avg_sq"] } else { self.state_names() }
    }

    fn initial_state(&self, name: &str, zeros: &Tensor, parameter: &Tensor, _: f64) -> Tensor {
        if parameter.numel() < self.least.max(1) {
            return zeros.clone();
        }
        let blocks = blocks(zeros);
        match name {
            "exp_avg" => blocks.cast(DType::I8),
            "exp_avg_sq" => blocks.cast(DType::U8),
            _ => blocks.sum_keepdim(1).cast(DType::F32),
        }
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let minus_rate = step.number(-step.lr) / step.bias_correction(self.beta1);
        let root2 = step.bias_correction(self.beta2).sqrt().recip();
        let decay = 1.0 - step.lr * step.weight_decay;
        // Steps of the golden ratio; a small multiple of it keeps its digits in `f32`.
        let period = step.number(1024.0);
        let place = (&step.step - (&step.step / &period).floor() * &period) * step.number(0.618_033_988_749_894_8);
        let mut scalars = vec![minus_rate, root2, place];
        scalars.extend([decay, self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2, self.eps].map(|number| step.number(number)));
        scalars
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let [minus_rate, root2, place, decay, beta1, share1, beta2, share2, eps] = scalars else { return misfit(self, state, scalars) };
        let moments = |m: &Tensor, v: &Tensor, g: &Tensor| (m * beta1 + g * share1, v * beta2 + g * g * share2);
        let dtype = value.dtype();
        match state {
            [m, v] => {
                let (value, _) = decayed(value, gradient, decay, true);
                let (m, v) = moments(m, v, gradient);
                (value + &m / (v.sqrt() * root2 + eps) * minus_rate, vec![m, v])
            }
            [codes1, scales1, codes2, scales2] => {
                let (m, v) = moments(&first(codes1, scales1, dtype), &second(codes2, scales2, dtype), &blocks(gradient));
                let step = &m / (v.sqrt() * root2 + eps) * minus_rate;
                let ((share1, scales1), (share2, scales2)) = (scaled(&m), scaled(&v));
                let up = dither(place, &m);
                let codes1 = (share1.abs().sqrt() * FIRST + &up).floor().clamp_max(FIRST) * share1.sign();
                let codes2 = (share2.sqrt().sqrt() * SECOND + up).floor().clamp(1.0, SECOND);
                let codes2 = share2.gt(0.0).where_(codes2, 0.0);
                let new_state = vec![codes1.cast(DType::I8), scales1, codes2.cast(DType::U8), scales2];
                // In blocks too: so tensors of all shapes are rows of one length, and one launch.
                let (decayed, _) = decayed(&blocks(value), gradient, decay, true);
                (whole(&(decayed + step), value), new_state)
            }
            _ => misfit(self, state, scalars),
        }
    }
}
