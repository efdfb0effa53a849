//! Random arguments: tensors, sizes, axes, numbers. What a method takes gladly is as likely as what it must refuse.

use super::{Log, Rng};
use std::sync::PoisonError;
use unigrad_graph::{DType, numel};
use unigrad_tensor::{Device, Tensor};

/// Sizes that tensors with data have.
const SIZES: &[usize] = &[0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 11, 13, 17];
/// Sizes that none has.
const HUGE: &[usize] =
    &[usize::MAX, usize::MAX - 1, isize::MAX as usize, 1 << 63, 1 << 62, 1 << 53, 1 << 40, (1 << 32) + 1, 1 << 32, 1 << 31, 65_537];
/// Elements of a tensor with data, at most.
const MOST: usize = 600;

/// Where the arguments of a call come from.
pub(super) struct Draw {
    rng: Rng,
    pub(super) device: Device,
    /// The arguments so far, for a failure's line.
    log: Log,
    /// The most elements that an argument has, data or none.
    pub(super) touched: usize,
    /// Arguments that want gradients.
    pub(super) variables: Vec<Tensor>,
}

impl Draw {
    pub(super) fn new(rng: Rng, device: Device, log: Log) -> Draw {
        Draw { rng, device, log, touched: 0, variables: Vec::new() }
    }

    pub(super) fn once_in(&mut self, n: usize) -> bool {
        self.rng.once_in(n)
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        *self.rng.pick(of)
    }

    fn note<T: std::fmt::Debug>(&mut self, value: T) -> T {
        self.say(format!("{value:?}"));
        value
    }

    /// Tells what a failure's line is to have.
    pub(super) fn said(&self, what: impl Into<String>) {
        self.say(what.into());
    }

    fn say(&self, what: String) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    // --- numbers

    pub(super) fn flag(&mut self) -> bool {
        let value = self.once_in(2);
        self.note(value)
    }

    /// A count or size: mostly small.
    pub(super) fn size(&mut self) -> usize {
        let value = if self.once_in(6) { self.pick(HUGE) } else { self.pick(SIZES) };
        self.note(value)
    }

    pub(super) fn sizes(&mut self) -> Vec<usize> {
        let n = self.rng.below(4);
        (0..n).map(|_| self.size()).collect()
    }

    /// As many sizes, all small or one huge.
    pub(super) fn n_sizes(&mut self, n: usize) -> Vec<usize> {
        (0..n).map(|_| self.size()).collect()
    }

    /// An integer of either sign.
    pub(super) fn int(&mut self) -> i64 {
        let extremes = [i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1, i32::MIN.into(), i32::MAX.into(), 1 << 32, -(1 << 53), 1 << 62];
        let value = if self.once_in(6) { self.pick(&extremes) } else { self.rng.below(21) as i64 - 10 };
        self.note(value)
    }

    pub(super) fn ints(&mut self) -> Vec<i64> {
        let n = self.rng.below(4);
        (0..n).map(|_| self.int()).collect()
    }

    /// An axis of a tensor of this rank, or something else.
    pub(super) fn axis(&mut self, rank: usize) -> isize {
        let value = match self.rng.below(10) {
            0 => self.int() as isize,
            1 => self.rng.below(12) as isize - 6,
            _ => self.rng.below(2 * rank.max(1)) as isize - rank.max(1) as isize,
        };
        self.note(value)
    }

    pub(super) fn axes(&mut self, rank: usize) -> Vec<isize> {
        let n = self.rng.below(rank.max(1) + 1);
        (0..n).map(|_| self.axis(rank)).collect()
    }

    pub(super) fn float(&mut self) -> f64 {
        let special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            2.0,
            3.0,
            -2.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e-320,
            1e308,
            -1e308,
            1e38,
            1e-40,
            0.1,
        ];
        let value = if self.once_in(2) { self.pick(&special) } else { (self.rng.below(4001) as f64 - 2000.0) / 256.0 };
        self.note(value)
    }

    pub(super) fn dtype(&mut self) -> DType {
        let value = if self.once_in(16) { self.pick(&DType::STORED) } else { self.pick(&DType::ALL) };
        self.note(value)
    }

    pub(super) fn float_dtype(&mut self) -> DType {
        if self.once_in(8) { self.dtype() } else { self.pick(&[DType::F16, DType::BF16, DType::F32, DType::F32, DType::F64]) }
    }

    // --- tensors

    /// A shape of rank 0 to 8; now and then one that no memory holds.
    pub(super) fn shape(&mut self) -> Vec<usize> {
        let rank = self.rng.below(9);
        self.shape_of(rank)
    }

    /// A shape with data.
    pub(super) fn shape_of(&mut self, rank: usize) -> Vec<usize> {
        let mut shape: Vec<usize> = (0..rank).map(|_| self.pick(SIZES)).collect();
        while numel(&shape) > MOST {
            let at = self.rng.below(rank);
            shape[at] = 1 + self.rng.below(2);
        }
        shape
    }

    /// Any tensor.
    pub(super) fn x(&mut self) -> Tensor {
        let dtype = self.pick(&DType::ALL);
        let shape = self.shape();
        self.of(&shape, dtype)
    }

    /// A tensor of some rank up to `most`, mostly of floats.
    pub(super) fn floats(&mut self, rank: usize) -> Tensor {
        let shape = if self.once_in(12) { self.shape() } else { self.shape_of(rank) };
        let dtype = self.float_dtype();
        self.of(&shape, dtype)
    }

    /// Mostly a tensor of this shape.
    pub(super) fn shaped(&mut self, shape: &[usize], dtype: DType) -> Tensor {
        let shape = if self.once_in(12) { self.shape() } else { shape.to_vec() };
        let dtype = if self.once_in(12) { self.dtype() } else { dtype };
        self.of(&shape, dtype)
    }

    /// A tensor to go with another: of its shape, one that broadcasts to it, or any.
    pub(super) fn near(&mut self, x: &Tensor) -> Tensor {
        let mut shape = x.shape();
        let dtype = if self.once_in(2) { x.dtype() } else { self.pick(&DType::ALL) };
        match self.rng.below(6) {
            0 => return self.x(),
            1 => shape.iter_mut().for_each(|size| {
                if self.rng.once_in(2) {
                    *size = 1;
                }
            }),
            2 if !shape.is_empty() => {
                shape.remove(0);
            }
            _ => {}
        }
        self.of(&shape, dtype)
    }

    /// Positions along an axis of this size: a few of them out of it.
    pub(super) fn index(&mut self, shape: &[usize], size: usize) -> Tensor {
        if self.once_in(12) {
            return self.x();
        }
        let wild = self.once_in(6);
        let one = |rng: &mut Rng| match wild && rng.once_in(3) {
            true => *rng.pick(&[i64::MIN, i64::MAX, -1, size as i64, -(size as i64) - 1, 1 << 40]),
            false => rng.below(size.max(1)) as i64,
        };
        let values: Vec<i64> = (0..numel(shape).min(SMALLEST)).map(|_| one(&mut self.rng)).collect();
        if values.len() != numel(shape) {
            return self.of(shape, DType::I64);
        }
        let dtype = self.pick(&[DType::I64, DType::I64, DType::I32, DType::U8]);
        self.say(format!("index {shape:?} below {size}"));
        Tensor::from_vec(values, shape, &self.device).cast(dtype)
    }

    /// A mask, or something that is taken for one.
    pub(super) fn mask(&mut self, x: &Tensor) -> Tensor {
        let mask = self.near(x);
        if self.once_in(4) { mask } else { mask.cast(DType::Bool) }
    }

    /// A tensor of this shape and dtype: data, a constant, a view, or nothing that memory could hold.
    pub(super) fn of(&mut self, shape: &[usize], dtype: DType) -> Tensor {
        let mut shape = shape.to_vec();
        if self.once_in(40) && !shape.is_empty() {
            let at = self.rng.below(shape.len());
            shape[at] = self.pick(HUGE);
        }
        let n = numel(&shape);
        self.touched = self.touched.max(n);
        let kind = if n > SMALLEST { self.rng.below(3) } else { self.rng.below(9) };
        let tensor = match kind {
            0 => Tensor::zeros(&shape, dtype, &self.device),
            1 => Tensor::ones(&shape, dtype, &self.device),
            2 => Tensor::full(&shape, 2.5, dtype, &self.device),
            3 => Tensor::range(n, dtype, &self.device).reshape(&shape),
            // Transposed, so that its elements do not lie in order.
            4 => {
                let stored: Vec<usize> = shape.iter().rev().copied().collect();
                self.bytes(&stored, dtype).permute((0..shape.len()).rev().collect::<Vec<_>>())
            }
            5 => Tensor::from_bytes(&self.random_bytes(n * dtype.size()), &shape, dtype, &self.device),
            _ => self.bytes(&shape, dtype),
        };
        self.say(format!("{dtype} {shape:?} of kind {kind}"));
        if tensor.dtype().is_float() && !tensor.is_invalid() && self.once_in(4) {
            let variable = tensor.requires_grad();
            self.variables.push(variable.clone());
            return variable;
        }
        tensor
    }

    fn random_bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.rng.bits() as u8).collect()
    }

    /// Small numbers.
    fn bytes(&mut self, shape: &[usize], dtype: DType) -> Tensor {
        let values: Vec<f64> = (0..numel(shape)).map(|_| (self.rng.below(129) as f64 - 64.0) / 16.0).collect();
        let bytes = crate::Values::from_f64(dtype, shape, &values).to_bytes();
        Tensor::from_bytes(&bytes, shape, dtype, &self.device)
    }
}

/// Elements that are drawn one by one, at most.
const SMALLEST: usize = 4096;
