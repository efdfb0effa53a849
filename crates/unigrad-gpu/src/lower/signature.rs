//! A program under construction together with what a launch passes for its parameters, so that the two cannot disagree.

use super::{Part, Step, StepArg};
use crate::faults::{CHECKS_WORD, SLOT_WORDS};
use unigrad_ir::{AtomicOp, Builder, Place, Value};
use unigrad_kernel::Arg;
use unigrad_scalar::{BinaryOp, DType};

/// A [`Builder`] whose parameters know their arguments. Reach the builder's methods through [`Signature::b`].
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) b: Builder,
    args: Vec<StepArg>,
    index_error: Option<IndexError>,
}

/// Where a program reports an index out of range: 8 words of its own in the status buffer, namely 1, then the index and the axis's size as
/// two words each. The first thread to come writes; the host reads them at its next wait, and sets them to 0 again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexError {
    status: Place,
    /// Which 8 words (`U32`).
    slot: Value,
}

impl Signature {
    pub(crate) fn new(name: &str, block: [u32; 3]) -> Signature {
        Signature { b: Builder::new(name, block), args: Vec::new(), index_error: None }
    }

    /// The kernel's buffer argument `at`.
    pub(crate) fn arg(&mut self, name: &str, at: usize, arg: &Arg) -> Place {
        self.args.push(StepArg::Arg(at));
        if arg.write { self.b.buffer_mut(name, arg.dtype) } else { self.b.buffer(name, arg.dtype) }
    }

    /// Scratch buffer `at` of the kernel.
    pub(crate) fn scratch(&mut self, name: &str, at: usize, dtype: DType, write: bool) -> Place {
        self.args.push(StepArg::Scratch(at));
        if write { self.b.buffer_mut(name, dtype) } else { self.b.buffer(name, dtype) }
    }

    /// A number known now, passed at the launch so that one program serves many.
    pub(crate) fn word(&mut self, name: &str, dtype: DType, raw: u64) -> Value {
        self.args.push(StepArg::Word(raw));
        self.b.scalar(name, dtype)
    }

    /// The kernel's run-time scalar `at`. 64-bit integers come as they are only where the target has them: see [`Signature::scalar_halves`].
    pub(crate) fn scalar(&mut self, name: &str, at: usize, dtype: DType) -> Value {
        self.args.push(StepArg::Scalar(at, Part::Whole));
        self.b.scalar(name, dtype)
    }

    /// The lower and upper 32 bits of the kernel's run-time scalar `at`, as `U32`.
    pub(crate) fn scalar_halves(&mut self, name: &str, at: usize) -> [Value; 2] {
        self.args.push(StepArg::Scalar(at, Part::Low));
        let low = self.b.scalar(&format!("{name}_lo"), DType::U32);
        self.args.push(StepArg::Scalar(at, Part::High));
        [low, self.b.scalar(&format!("{name}_hi"), DType::U32)]
    }

    /// A run-time scalar that holds an `I64` or `U64` known to fit 32 bits, as `I32` (its lower half).
    pub(crate) fn scalar_low(&mut self, name: &str, at: usize) -> Value {
        self.args.push(StepArg::Scalar(at, Part::Low));
        self.b.scalar(name, DType::I32)
    }

    /// A table of the kernel's buffer arguments.
    pub(crate) fn table(&mut self, name: &str, dtype: DType, write: bool, args: Vec<usize>) -> u32 {
        let count = args.len() as u32;
        self.args.push(StepArg::Table(args));
        self.b.table(name, dtype, count, write)
    }

    /// A table of the kernel's run-time scalars.
    pub(crate) fn scalar_table(&mut self, name: &str, dtype: DType, scalars: Vec<usize>) -> u32 {
        let count = scalars.len() as u32;
        self.args.push(StepArg::ScalarTable(scalars));
        self.b.scalar_table(name, dtype, count)
    }

    /// A table of numbers known now.
    pub(crate) fn word_table(&mut self, name: &str, dtype: DType, words: Vec<u64>) -> u32 {
        let count = words.len() as u32;
        self.args.push(StepArg::WordTable(words));
        self.b.scalar_table(name, dtype, count)
    }

    /// The place for index errors; its parameters come with the first call, so call it before any block is open.
    pub(crate) fn index_error(&mut self) -> IndexError {
        if let Some(error) = self.index_error {
            return error;
        }
        self.args.push(StepArg::Status);
        let status = self.b.buffer_atomic("status", DType::U32);
        self.args.push(StepArg::StatusSlot);
        let slot = self.b.scalar("status_slot", DType::U32);
        *self.index_error.insert(IndexError { status, slot })
    }

    /// The launch.
    pub(crate) fn finish(self, grid: [u32; 3]) -> Step {
        Step { program: self.b.finish(), grid, args: self.args }
    }
}

impl IndexError {
    /// Checks that `index` (`I32` or `I64`) is in `-size..size`, or without `from_end` in `0..size`, and gives it counted from the start; if
    /// it is not, reports it as a failure of the check whose bit is `check`, and gives 0.
    pub(crate) fn bounded(self, b: &mut Builder, index: Value, size: i64, from_end: bool, check: u32) -> Value {
        let dtype = b.dtype(index);
        let zero = b.int(dtype, 0);
        let size_value = b.int(dtype, size);
        let lowest = b.int(dtype, if from_end { -size } else { 0 });
        let negative = b.lt(index, zero);
        let counted = b.add(index, size_value);
        let wrapped = b.select(negative, counted, index);
        let too_low = b.lt(index, lowest);
        let too_high = b.binary(BinaryOp::Ge, index, size_value);
        let outside = b.binary(BinaryOp::Or, too_low, too_high);
        b.when(outside, |b| {
            let first_word = b.mul_const(self.slot, i64::from(SLOT_WORDS));
            let (checks, bit) = (b.add_const(first_word, i64::from(CHECKS_WORD)), b.u32(check));
            b.atomic(AtomicOp::Or, self.status, checks, bit);
            let (free, taken) = (b.u32(0), b.u32(1));
            let old = b.compare_exchange(self.status, first_word, free, taken);
            let first = b.binary(BinaryOp::Eq, old, free);
            b.when(first, |b| {
                let low = b.cast(index, DType::U32);
                let high = if dtype.size() == 8 {
                    let shift = b.int(dtype, 32);
                    let high = b.binary(BinaryOp::Shr, index, shift);
                    b.cast(high, DType::U32)
                } else {
                    let sign = b.lt(index, zero);
                    let (ones, none) = (b.u32(u32::MAX), b.u32(0));
                    b.select(sign, ones, none)
                };
                let size_words = [b.u32(size as u32), b.u32((size >> 32) as u32)];
                for (at, word) in [low, high, size_words[0], size_words[1]].into_iter().enumerate() {
                    let at = b.add_const(first_word, at as i64 + 1);
                    b.atomic(AtomicOp::Exchange, self.status, at, word);
                }
            });
        });
        b.select(outside, zero, wrapped)
    }
}
