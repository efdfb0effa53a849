//! Sorting by index, and the best `k`.
//!
//! In: elements `[outer, len, inner]`, or pairs of a key and an index. Out: indices along the middle axis, or sorted pairs.
//! Always: an element's place is decided by its key and then by its position, so every correct sort is stable and reruns agree.
//!
//! Rows that fit in shared memory are sorted there ([`tile`]); longer ones by their digits, from the least significant up ([`radix`]).
//! The best few of a long row are found by tournament: each tile sends its best to the next round.

pub(super) mod key;
mod radix;
mod tile;

use super::{
    Lowered, ProgramLaunch, Signature, Unsupported,
    distribute::{Operand, ScratchBuffers, check_dtype, div_rem, mul_add, too_large},
};
use key::{KeyOf, Keys, Pairs, Words};
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::{Arg, ArgSort, TopK};
use unigrad_scalar::DType;

pub(super) fn argsort(kernel: &ArgSort, target: &Target) -> Result<Lowered, Unsupported> {
    let rows = Rows { outer: kernel.outer, len: kernel.len, inner: kernel.inner };
    best(target, rows, kernel.dtype, kernel.descending, kernel.len)
}

pub(super) fn topk(kernel: &TopK, target: &Target) -> Result<Lowered, Unsupported> {
    let rows = Rows { outer: kernel.outer, len: kernel.len, inner: kernel.inner };
    if kernel.k > kernel.len {
        return Err(Unsupported {
            cause: format!("the best {} of {}", kernel.k, kernel.len),
            help: "ask for no more than there are".to_owned(),
        });
    }
    best(target, rows, kernel.dtype, kernel.largest, kernel.k)
}

/// The first `keep` positions of each row, in order.
fn best(target: &Target, rows: Rows, dtype: DType, descending: bool, keep: usize) -> Result<Lowered, Unsupported> {
    check_dtype(target, dtype)?;
    let elements = rows.count() * rows.len;
    let mut scratch = ScratchBuffers::default();
    let mut steps = Vec::new();
    if elements > 0 && keep > 0 {
        let x = Operand::Arg(0, Arg { dtype, len: elements, write: false });
        let out = Operand::Arg(1, Arg { dtype: DType::I64, len: rows.count() * keep, write: true });
        let output = Output::Indices { out, keep };
        steps = sort(target, rows, Input::Elements { x, descending }, output, keep, &mut scratch)?;
    }
    Ok(Lowered { steps, scratch: scratch.0 })
}

/// Sorts rows, of whose result `keep` are wanted.
pub(super) fn sort(
    target: &Target,
    mut rows: Rows,
    mut input: Input,
    output: Output,
    keep: usize,
    scratch: &mut ScratchBuffers,
) -> Result<Vec<ProgramLaunch>, Unsupported> {
    let elements = rows.count() * rows.len;
    // Twice the elements, so that the ends of tiles beyond the last are counted without wrapping.
    if elements >= 1 << 31 {
        return Err(too_large(elements));
    }
    let room = tile::capacity(target, input.keys().words);
    let mut steps = Vec::new();
    if rows.len > room && 4 * keep > room {
        return radix::steps(target, rows, input, output, scratch);
    }
    while rows.len > room {
        let len = rows.len / room * keep + (rows.len % room).min(keep);
        let pairs = Pairs::new(scratch, input.keys(), rows.count() * len);
        steps.push(tile::step(target, rows, &input, &Output::Pairs { pairs: pairs.clone(), len }, keep)?);
        // Pairs lie row by row, but outputs keep their `inner`.
        input = Input::Pairs(pairs, input.keys());
        rows.len = len;
    }
    steps.push(tile::step(target, rows, &input, &output, keep)?);
    Ok(steps)
}

/// Rows along the middle axis of `[outer, len, inner]`; row `o * inner + i`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) outer: usize,
    pub(super) len: usize,
    pub(super) inner: usize,
}

impl Rows {
    fn count(self) -> usize {
        self.outer * self.inner
    }
}

/// What is sorted.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// Elements `[outer, len, inner]`; their indices are their positions.
    Elements { x: Operand, descending: bool },
    /// Numbers below `2^bits`, `U32`, `[row, len]`.
    Targets { x: Operand, bits: u32 },
    /// `[row, len]`.
    Pairs(Pairs, Keys),
}

/// Where the result goes.
#[derive(Clone, Debug)]
pub(super) enum Output {
    /// Indices `[outer, keep, inner]`, of any integer dtype.
    Indices { out: Operand, keep: usize },
    /// `[row, len]`.
    Pairs { pairs: Pairs, len: usize },
}

impl Pairs {
    pub(super) fn new(scratch: &mut ScratchBuffers, keys: Keys, len: usize) -> Pairs {
        let words = (0..keys.words).map(|_| scratch.take(DType::U32, len)).collect();
        Pairs { words, index: scratch.take(DType::U32, len) }
    }
}

/// [`Input`] as parameters.
enum Source {
    Elements(KeyOf),
    Pairs(smallvec::SmallVec<[Place; 2]>, Place),
}

/// [`Output`] as parameters.
enum Sink {
    Indices { out: Place, dtype: DType, keep: Value },
    Pairs { words: smallvec::SmallVec<[Place; 2]>, index: Place, len: Value },
}

impl Input {
    fn keys(&self) -> Keys {
        match self {
            Input::Elements { x, .. } => Keys::of(x.dtype()),
            Input::Targets { bits, .. } => Keys { bits: *bits, words: 1 },
            Input::Pairs(_, keys) => *keys,
        }
    }

    fn open(&self, sig: &mut Signature) -> Source {
        match self {
            Input::Elements { x, descending } => {
                Source::Elements(KeyOf { x: x.open(sig, "x", false), dtype: x.dtype(), descending: *descending })
            }
            Input::Targets { x, .. } => Source::Elements(KeyOf { x: x.open(sig, "x", false), dtype: x.dtype(), descending: false }),
            Input::Pairs(pairs, _) => Source::Pairs(
                pairs.words.iter().map(|word| word.open(sig, "keys", false)).collect(),
                pairs.index.open(sig, "indices", false),
            ),
        }
    }
}

impl Source {
    /// The key's words at a position of a row.
    fn key(&self, b: &mut Builder, row: Value, position: Value, len: Value, inner: Value) -> Words {
        let at = self.at(b, row, position, len, inner);
        self.key_at(b, at)
    }

    fn load(&self, b: &mut Builder, row: Value, position: Value, len: Value, inner: Value) -> (Words, Value) {
        let at = self.at(b, row, position, len, inner);
        let index = match self {
            Source::Elements(_) => position,
            Source::Pairs(_, index) => b.load(*index, at),
        };
        (self.key_at(b, at), index)
    }

    fn key_at(&self, b: &mut Builder, at: Value) -> Words {
        match self {
            Source::Elements(key) => key.load(b, at),
            Source::Pairs(words, _) => words.iter().map(|word| b.load(*word, at)).collect(),
        }
    }

    fn at(&self, b: &mut Builder, row: Value, position: Value, len: Value, inner: Value) -> Value {
        match self {
            Source::Elements(_) => {
                let (o, i) = div_rem(b, row, inner);
                let line = mul_add(b, o, len, position);
                mul_add(b, line, inner, i)
            }
            Source::Pairs(..) => mul_add(b, row, len, position),
        }
    }
}

impl Output {
    fn open(&self, sig: &mut Signature) -> Sink {
        match self {
            Output::Indices { out, keep } => {
                let place = out.open(sig, "out", true);
                Sink::Indices { out: place, dtype: out.dtype(), keep: sig.word("out_len", DType::U32, *keep as u64) }
            }
            Output::Pairs { pairs, len } => {
                let words = pairs.words.iter().map(|word| word.open(sig, "to_keys", true)).collect();
                let index = pairs.index.open(sig, "to_indices", true);
                Sink::Pairs { words, index, len: sig.word("out_len", DType::U32, *len as u64) }
            }
        }
    }
}

impl Sink {
    /// Stores a pair at a place of a row's result; what is not wanted is dropped.
    fn store(&self, b: &mut Builder, row: Value, at: Value, key: &[Value], index: Value, inner: Value) {
        match self {
            Sink::Indices { out, dtype, keep } => {
                let wanted = b.lt(at, *keep);
                b.when(wanted, |b| {
                    let (o, i) = div_rem(b, row, inner);
                    let line = mul_add(b, o, *keep, at);
                    let at = mul_add(b, line, inner, i);
                    let index = b.cast(index, *dtype);
                    b.store(*out, at, index);
                });
            }
            Sink::Pairs { words, index: to, len } => {
                let at = mul_add(b, row, *len, at);
                words.iter().zip(key).for_each(|(place, word)| b.store(*place, at, *word));
                b.store(*to, at, index);
            }
        }
    }
}
