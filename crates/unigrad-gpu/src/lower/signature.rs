//! A program under construction together with what a launch passes for its parameters, so that the two cannot disagree.
//!
//! What differs from run to run (scalars, positions, seeds, the slot for reports) is passed by value, or where the target wants it so
//! loaded from one block of words at constant offsets; what lowering decided is always passed by value.

use super::{BlockWord, Part, ProgramArg, ProgramLaunch};
use crate::faults::{CHECKS_WORD, SLOT_WORDS};
use unigrad_ir::{AtomicOp, Builder, Place, Target, Value};
use unigrad_kernel::Arg;
use unigrad_scalar::{BinaryOp, DType};

/// A [`Builder`] whose parameters know their arguments. Reach the builder's methods through [`Signature::b`].
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) b: Builder,
    args: Vec<ProgramArg>,
    index_error: Option<IndexError>,
    in_block: bool,
    /// Whether arguments may be of memory that the program writes by another one.
    is_shared: bool,
    block: Option<Block>,
}

/// The parameter block: which parameter it is, and its words.
#[derive(Debug)]
struct Block {
    parameter: usize,
    place: Place,
    words: Vec<BlockWord>,
}

/// A table of run-time scalars.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScalarTable {
    /// A parameter.
    Passed(u32),
    /// `count` words of a block from `first` on; of types of 8 bytes the lower halves, and behind them the upper ones.
    InBlock { place: Place, first: i64, count: i64, dtype: DType },
}

impl ScalarTable {
    /// The scalar at an index (`U32`).
    pub(crate) fn at(self, b: &mut Builder, which: Value) -> Value {
        match self {
            ScalarTable::Passed(table) => b.table_scalar(table, which),
            ScalarTable::InBlock { place, first, count, dtype } => {
                let at = b.add_const(which, first);
                let low = b.load(place, at);
                if dtype.size() < 8 {
                    return b.bitcast(low, dtype);
                }
                let at = b.add_const(which, first + count);
                let high = b.load(place, at);
                joined(b, low, high, dtype)
            }
        }
    }
}

/// The number of 8 bytes with these halves.
fn joined(b: &mut Builder, low: Value, high: Value, dtype: DType) -> Value {
    let (low, high) = (b.cast(low, DType::U64), b.cast(high, DType::U64));
    let shift = b.int(DType::U64, 32);
    let high = b.binary(BinaryOp::Shl, high, shift);
    let whole = b.binary(BinaryOp::Or, low, high);
    b.bitcast(whole, dtype)
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
        Signature { b: Builder::new(name, block), args: Vec::new(), index_error: None, in_block: false, is_shared: false, block: None }
    }

    /// Has what follows as the target wants it: to be called before scalars are declared, which are passed by value otherwise.
    pub(crate) fn made_for(&mut self, target: &Target) {
        self.in_block = target.scalars_in_block;
    }

    /// Has arguments that are written from now on be memory which other workgroups write, and other arguments may be: what is read there is what is there by then.
    pub(crate) fn memory_is_shared(&mut self) {
        self.is_shared = true;
    }

    /// The block, which is a parameter from its first word on.
    fn block(&mut self) -> &mut Block {
        match &mut self.block {
            Some(block) => block,
            none => {
                let (parameter, place) = (self.args.len(), self.b.buffer("block", DType::U32));
                self.args.push(ProgramArg::Block(Vec::new()));
                none.insert(Block { parameter, place, words: Vec::new() })
            }
        }
    }

    /// Where a word is in the block, with its parameter.
    fn block_word(&mut self, word: BlockWord) -> (Place, usize) {
        let block = self.block();
        let at = block.words.iter().position(|have| *have == word).unwrap_or_else(|| {
            block.words.push(word);
            block.words.len() - 1
        });
        (block.place, at)
    }

    fn load_word(&mut self, word: BlockWord) -> Value {
        let (place, at) = self.block_word(word);
        let at = self.b.u32(at as u32);
        self.b.load(place, at)
    }

    /// The kernel's buffer argument `at`.
    pub(crate) fn arg(&mut self, name: &str, at: usize, arg: &Arg) -> Place {
        self.args.push(ProgramArg::Arg(at));
        match (arg.write, self.is_shared) {
            (true, true) => self.b.buffer_atomic(name, arg.dtype),
            (true, false) => self.b.buffer_mut(name, arg.dtype),
            (false, _) => self.b.buffer(name, arg.dtype),
        }
    }

    /// Scratch buffer `at` of the kernel.
    pub(crate) fn scratch(&mut self, name: &str, at: usize, dtype: DType, write: bool) -> Place {
        self.args.push(ProgramArg::Scratch(at));
        if write { self.b.buffer_mut(name, dtype) } else { self.b.buffer(name, dtype) }
    }

    /// A number known now, passed at the launch so that one program serves many.
    pub(crate) fn word(&mut self, name: &str, dtype: DType, raw: u64) -> Value {
        self.args.push(ProgramArg::Word(raw));
        self.b.scalar(name, dtype)
    }

    /// The kernel's run-time scalar `at`. 64-bit integers come as they are only where the target has them: see [`Signature::scalar_halves`].
    pub(crate) fn scalar(&mut self, name: &str, at: usize, dtype: DType) -> Value {
        if self.in_block && matches!(dtype.size(), 4 | 8) {
            let low = self.load_word(BlockWord::Scalar(at, Part::Low));
            if dtype.size() == 4 {
                return self.b.bitcast(low, dtype);
            }
            let high = self.load_word(BlockWord::Scalar(at, Part::High));
            return joined(&mut self.b, low, high, dtype);
        }
        self.args.push(ProgramArg::Scalar(at, Part::Whole));
        self.b.scalar(name, dtype)
    }

    /// The lower and upper 32 bits of the kernel's run-time scalar `at`, as `U32`.
    pub(crate) fn scalar_halves(&mut self, name: &str, at: usize) -> [Value; 2] {
        if self.in_block {
            return [Part::Low, Part::High].map(|part| self.load_word(BlockWord::Scalar(at, part)));
        }
        self.args.push(ProgramArg::Scalar(at, Part::Low));
        let low = self.b.scalar(&format!("{name}_lo"), DType::U32);
        self.args.push(ProgramArg::Scalar(at, Part::High));
        [low, self.b.scalar(&format!("{name}_hi"), DType::U32)]
    }

    /// A run-time scalar that holds an `I64` or `U64` known to fit 32 bits, as `I32` (its lower half).
    pub(crate) fn scalar_low(&mut self, name: &str, at: usize) -> Value {
        if self.in_block {
            let low = self.load_word(BlockWord::Scalar(at, Part::Low));
            return self.b.bitcast(low, DType::I32);
        }
        self.args.push(ProgramArg::Scalar(at, Part::Low));
        self.b.scalar(name, DType::I32)
    }

    /// A table of the kernel's buffer arguments.
    pub(crate) fn table(&mut self, name: &str, dtype: DType, write: bool, args: Vec<usize>) -> u32 {
        let count = args.len() as u32;
        self.args.push(ProgramArg::Table(args));
        self.b.table(name, dtype, count, write)
    }

    /// A table of the kernel's run-time scalars; of a type of 4 or 8 bytes.
    pub(crate) fn scalar_table(&mut self, name: &str, dtype: DType, scalars: Vec<usize>) -> ScalarTable {
        let count = scalars.len();
        if !self.in_block {
            self.args.push(ProgramArg::ScalarTable(scalars));
            return ScalarTable::Passed(self.b.scalar_table(name, dtype, count as u32));
        }
        let halves = if dtype.size() == 8 { &[Part::Low, Part::High][..] } else { &[Part::Low] };
        let Block { place, words, .. } = self.block();
        let (place, first) = (*place, words.len());
        // One after the other, whether or not some are there already.
        words.extend(halves.iter().flat_map(|half| scalars.iter().map(|at| BlockWord::Scalar(*at, *half))));
        ScalarTable::InBlock { place, first: first as i64, count: count as i64, dtype }
    }

    /// A table of numbers known now.
    pub(crate) fn word_table(&mut self, name: &str, dtype: DType, words: Vec<u64>) -> u32 {
        let count = words.len() as u32;
        self.args.push(ProgramArg::WordTable(words));
        self.b.scalar_table(name, dtype, count)
    }

    /// The place for index errors; its parameters come with the first call, so call it before any block is open.
    pub(crate) fn index_error(&mut self) -> IndexError {
        if let Some(error) = self.index_error {
            return error;
        }
        self.args.push(ProgramArg::Status);
        let status = self.b.buffer_atomic("status", DType::U32);
        let slot = if self.in_block {
            self.load_word(BlockWord::StatusSlot)
        } else {
            self.args.push(ProgramArg::StatusSlot);
            self.b.scalar("status_slot", DType::U32)
        };
        *self.index_error.insert(IndexError { status, slot })
    }

    /// The launch.
    pub(crate) fn finish(mut self, grid: [u32; 3]) -> ProgramLaunch {
        if let Some(Block { parameter, words, .. }) = self.block {
            self.args[parameter] = ProgramArg::Block(words);
        }
        ProgramLaunch { program: self.b.finish(), grid, args: self.args }
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
