//! Random tensors: counter-based (Philox4x32-10), so the same seed gives the same numbers on every device and in every order of evaluation.
//!
//! A generator is a seed and an offset. Every random tensor takes the next offset range when it is *made*, in program order: element `i`
//! has the counter `offset + i`. Uniform numbers are `(word >> 8) * 2^-24`; normal ones are Box-Muller's from words 0 and 1.
//!
//! Always: a range of counters belongs to one random tensor of the process; none is drawn twice. A range of a step that failed is given back if
//! its tensors are gone and nothing was drawn after it, so that training goes on as if the step had not been tried; else it is skipped.
//! A block that is run again ([`crate::checkpoint`]) draws the ranges of the first time, on its thread alone.

use crate::{Device, Dims, Tensor, arithmetic::K};
use std::{
    cell::RefCell,
    collections::VecDeque,
    f64::consts::TAU,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::ThreadId,
};
use unigrad_graph::{BinaryOp, DType, ErrorKind, Expr, Literal, NodeId, WeakExpr, numel, random_drawn};

/// Where random numbers come from: a seed, and how many were drawn.
#[derive(Debug)]
pub struct Generator(Mutex<State>);

#[derive(Debug)]
struct State {
    seed: u64,
    offset: u64,
    /// The latest ranges of tensors, the last one last.
    drawn: VecDeque<Drawn>,
}

/// A range that a tensor has.
#[derive(Debug)]
struct Drawn {
    start: u64,
    end: u64,
    /// The node of the range's first counter, and whether it is alive.
    id: NodeId,
    node: WeakExpr,
    state: Use,
}

/// What became of a range.
#[derive(Debug, PartialEq, Eq)]
enum Use {
    /// Nothing yet; this thread has drawn it.
    Open(ThreadId),
    /// A device was asked for its numbers.
    Used,
    /// The step that it was drawn for failed.
    Failed,
}

/// Ranges that are remembered; older ones are not given back.
const REMEMBERED: usize = 1024;

impl State {
    const fn new(seed: u64) -> State {
        State { seed, offset: 0, drawn: VecDeque::new() }
    }

    fn take(&mut self, count: u64) -> (u64, u64) {
        while let Some(last) =
            self.drawn.back().filter(|last| last.state == Use::Failed && last.end == self.offset && last.node.upgrade().is_none())
        {
            self.offset = last.start;
            self.drawn.pop_back();
        }
        let start = self.offset;
        self.offset = start.wrapping_add(count);
        (self.seed, start)
    }
}

static GLOBAL: Generator = Generator(Mutex::new(State::new(0)));

/// Seed, first counter and count of a range.
pub(crate) type Range = (u64, u64, u64);

/// What is to happen with the ranges that this thread takes from the process's generator.
enum Frame {
    /// They are noted.
    Record(Vec<Range>),
    /// They are these, in this order.
    Replay { ranges: VecDeque<Range>, other: bool },
}

thread_local! {
    /// Innermost last.
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// Takes the innermost frame away when it drops, after a panic too.
struct FrameGuard;

impl FrameGuard {
    fn new(frame: Frame) -> FrameGuard {
        FRAMES.with(|frames| frames.borrow_mut().push(frame));
        FrameGuard
    }

    fn end(self) -> Option<Frame> {
        std::mem::forget(self);
        FRAMES.with(|frames| frames.borrow_mut().pop())
    }
}

impl Drop for FrameGuard {
    fn drop(&mut self) {
        FRAMES.with(|frames| frames.borrow_mut().pop());
    }
}

/// Runs `block`, and gives the ranges that it took from the process's generator.
pub(crate) fn record<T>(block: impl FnOnce() -> T) -> (T, Vec<Range>) {
    let guard = FrameGuard::new(Frame::Record(Vec::new()));
    let result = block();
    match guard.end() {
        Some(Frame::Record(ranges)) => (result, ranges),
        _ => (result, Vec::new()),
    }
}

/// Runs `block`; it draws these ranges again. `None` if it draws others.
pub(crate) fn replay<T>(ranges: &[Range], block: impl FnOnce() -> T) -> Option<T> {
    let guard = FrameGuard::new(Frame::Replay { ranges: ranges.iter().copied().collect(), other: false });
    let result = block();
    matches!(guard.end(), Some(Frame::Replay { ranges, other: false }) if ranges.is_empty()).then_some(result)
}

/// The range that a block drew here the first time, if one runs again.
fn replayed(count: u64) -> Option<Range> {
    FRAMES.with(|frames| {
        let mut frames = frames.borrow_mut();
        let Frame::Replay { ranges, other } = frames.iter_mut().rev().find(|frame| matches!(frame, Frame::Replay { .. }))? else {
            return None;
        };
        match ranges.pop_front() {
            Some(range) if range.2 == count => Some(range),
            _ => {
                *other = true;
                None
            }
        }
    })
}

/// Notes a range for the blocks that run on this thread, from the innermost that runs again on.
fn note(range: Range) {
    FRAMES.with(|frames| {
        for frame in frames.borrow_mut().iter_mut().rev() {
            match frame {
                Frame::Record(ranges) => ranges.push(range),
                Frame::Replay { .. } => break,
            }
        }
    });
}

/// A step of this thread has failed: what it drew may be given back.
pub(crate) fn step_failed() {
    let this = Use::Open(std::thread::current().id());
    GLOBAL.lock().drawn.iter_mut().filter(|drawn| drawn.state == this).for_each(|drawn| drawn.state = Use::Failed);
}

/// A device is asked for the numbers of ranges that begin with these nodes; which of the nodes are such.
pub(crate) fn used(nodes: &[NodeId]) -> Vec<NodeId> {
    set_all(nodes, || Use::Used)
}

/// The step that was to use them has failed after all.
pub(crate) fn failed(nodes: &[NodeId]) {
    set_all(nodes, || Use::Failed);
}

fn set_all(nodes: &[NodeId], state: impl Fn() -> Use) -> Vec<NodeId> {
    if nodes.is_empty() {
        return Vec::new();
    }
    let mut global = GLOBAL.lock();
    let found = global.drawn.iter_mut().filter(|drawn| nodes.contains(&drawn.id));
    found.map(|drawn| (drawn.state = state(), drawn.id).1).collect()
}

/// Seeds the process's generator: what follows draws the same numbers again.
pub fn manual_seed(seed: u64) {
    GLOBAL.set(seed, 0);
}

impl Generator {
    /// A generator of its own.
    pub fn new(seed: u64) -> Generator {
        Generator(Mutex::new(State::new(seed)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process's generator, which ops without an explicit one use.
    pub fn global() -> &'static Generator {
        &GLOBAL
    }

    /// Seed and offset: what a checkpoint stores.
    pub fn state(&self) -> (u64, u64) {
        let state = self.lock();
        (state.seed, state.offset)
    }

    /// Continues from a stored state.
    pub fn set(&self, seed: u64, offset: u64) {
        *self.lock() = State { offset, ..State::new(seed) };
    }

    /// Seed and first offset of a range of `count`, which no other caller gets.
    pub fn take(&self, count: u64) -> (u64, u64) {
        let is_global = std::ptr::eq(self, &raw const GLOBAL);
        let again = if is_global { replayed(count) } else { None };
        let (seed, start) = match again {
            Some((seed, start, _)) => (seed, start),
            None => {
                let (seed, start) = self.lock().take(count);
                random_drawn(seed, start);
                (seed, start)
            }
        };
        if is_global {
            note((seed, start, count));
        }
        (seed, start)
    }

    /// Seed and offset of the next range as run-time scalars: another step is not another plan.
    #[track_caller]
    pub(crate) fn take_scalars(&self, count: usize, device: u32) -> (Expr, Expr) {
        let (seed, offset) = self.take(count as u64);
        // Not in closures, here and below: the place would be this line.
        let seed = Expr::scalar(Literal::int(DType::U64, seed as i64), &[], device);
        let first = Expr::scalar(Literal::int(DType::U64, offset as i64), &[], device);
        let mut state = self.lock();
        let end = offset.wrapping_add(count as u64);
        if end == state.offset {
            if state.drawn.len() >= REMEMBERED {
                state.drawn.pop_front();
            }
            let open = Use::Open(std::thread::current().id());
            state.drawn.push_back(Drawn { start: offset, end, id: first.id(), node: first.downgrade(), state: open });
        }
        (seed, first)
    }

    #[track_caller]
    fn words<const N: usize>(&self, shape: &[usize], device: u32, words: [u8; N]) -> [Expr; N] {
        let (seed, offset) = self.take_scalars(numel(shape), device);
        let mut all = words.map(|_| seed.clone());
        for (slot, word) in all.iter_mut().zip(words) {
            *slot = Expr::random(shape, word, &seed, &offset);
        }
        all
    }

    /// As [`Generator::unit`], in the shape and with the names of another node.
    #[track_caller]
    fn unit_like(&self, like: &Expr) -> Expr {
        let (seed, offset) = self.take_scalars(like.numel(), like.device());
        unit(&like.random_like(0, &seed, &offset), 0.0)
    }

    #[track_caller]
    fn unit(&self, shape: &[usize], device: u32) -> Expr {
        let [word] = self.words(shape, device, [0]);
        unit(&word, 0.0)
    }

    /// Uniform in `[0, 1)`.
    #[track_caller]
    pub fn rand(&self, shape: impl Dims, dtype: DType, device: &Device) -> Tensor {
        let shape = shape.dims();
        match float_only("rand", dtype) {
            Some(invalid) => invalid,
            None => Tensor::from_expr(self.uniform(&shape, dtype, device.id())),
        }
    }

    #[track_caller]
    fn uniform(&self, shape: &[usize], dtype: DType, device: u32) -> Expr {
        Generator::rounded(&self.unit(shape, device), dtype)
    }

    /// Uniform numbers of 24 bits as another dtype, below 1.
    #[track_caller]
    fn rounded(x: &Expr, dtype: DType) -> Expr {
        // Rounding to a narrow float may give 1: draw as many bits as it has.
        let bits = match dtype {
            DType::F16 => 11,
            DType::BF16 => 8,
            DType::F8E4M3 => 4,
            DType::F8E5M2 => 3,
            DType::F32 | DType::F64 => return x.cast(dtype),
            // `float_only` refuses them before.
            DType::Bool | DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64 => {
                return x.cast(dtype);
            }
        };
        let steps = f64::from(1 << bits);
        let whole = x.binary_const(BinaryOp::Mul, steps).unary(unigrad_graph::UnaryOp::Floor);
        whole.binary_const(BinaryOp::Mul, 1.0 / steps).cast(dtype)
    }

    /// Uniform in `[low, high)`.
    #[track_caller]
    pub fn uniform_between(&self, shape: impl Dims, low: f64, high: f64, dtype: DType, device: &Device) -> Tensor {
        self.rand(shape, dtype, device) * (high - low) + low
    }

    /// Normal with mean 0 and variance 1.
    #[track_caller]
    pub fn randn(&self, shape: impl Dims, dtype: DType, device: &Device) -> Tensor {
        let shape = shape.dims();
        match float_only("randn", dtype) {
            Some(invalid) => invalid,
            None => Tensor::from_expr(self.normal(&shape, dtype, device.id())),
        }
    }

    #[track_caller]
    fn normal(&self, shape: &[usize], dtype: DType, device: u32) -> Expr {
        let [w0, w1] = self.words(shape, device, [0, 1]);
        // `1 - u`'s range for the logarithm, so that it is finite.
        let (u1, u2) = (unit(&w0, 1.0), unit(&w1, 0.0));
        let radius = u1.log().binary_const(BinaryOp::Mul, -2.0).sqrt();
        let angle = u2.binary_const(BinaryOp::Mul, TAU);
        radius.mul(&angle.cos()).cast(dtype)
    }

    /// Integers, uniform in `low..high` (a bias of at most `(high - low) / 2^64` for any one).
    #[track_caller]
    pub fn randint(&self, low: i64, high: i64, shape: impl Dims, dtype: DType, device: &Device) -> Tensor {
        let shape = shape.dims();
        if high <= low {
            return Tensor::fail(ErrorKind::Argument, "randint", format!("no integers in {low}..{high}"), "give a `high` above `low`", &[]);
        }
        let [w0, w1] = self.words(&shape, device.id(), [0, 1]);
        // Not in a closure, where the origin would be this line.
        let (high_word, low_word) = (w0.cast(DType::U64), w1.cast(DType::U64));
        let shift = Expr::constant(Literal::int(DType::U64, 32), &shape, device.id());
        let wide = high_word.binary(BinaryOp::Shl, &shift).binary(BinaryOp::Or, &low_word);
        let span = Expr::constant(Literal::int(DType::U64, high.wrapping_sub(low)), &shape, device.id());
        let offset = Expr::constant(Literal::int(DType::I64, low), &shape, device.id());
        Tensor::from_expr(wide.binary(BinaryOp::Rem, &span).cast(DType::I64).add(&offset).cast(dtype))
    }

    /// 1 with probability `p` of each element, else 0; in `p`'s shape and dtype.
    #[track_caller]
    pub fn bernoulli(&self, p: &Tensor) -> Tensor {
        let p = p.float().expr();
        if p.error().is_some() {
            return Tensor::from_expr(p);
        }
        let u = self.unit(p.shape(), p.device());
        Tensor::from_expr(u.lt(&p.cast(DType::F32)).cast(p.dtype()))
    }

    /// `count` indices per row of weights (rank 1 or 2), drawn in proportion to them; without replacement, all different.
    #[track_caller]
    pub fn multinomial(&self, weights: &Tensor, count: usize, replacement: bool) -> Tensor {
        let w = weights.float().expr();
        if w.error().is_some() {
            return Tensor::from_expr(w);
        }
        let rank = w.rank();
        let classes = w.shape().last().copied().unwrap_or(0);
        if rank == 0 || rank > 2 || classes == 0 || (!replacement && count > classes) {
            let message = format!("{count} draws from {:?}", w.shape());
            let help = "weights are a vector or rows of a matrix; without replacement there are at most as many draws as classes";
            return Tensor::fail(ErrorKind::Argument, "multinomial", message, help, &[weights]);
        }
        let w = Tensor::from_expr(w.cast(w.dtype().compute()).detach());
        if w.is_invalid() {
            return w;
        }
        if !replacement {
            // The greatest of `log w - log(-log u)` are a draw without replacement (Gumbel's trick).
            let shape = w.shape();
            let [word] = self.words(&shape, w.device_id(), [0]);
            let u = Tensor::from_expr(unit_open(&word));
            let keys = w.log() - u.log().neg().log();
            return Tensor::from_expr(keys.expr().topk(rank - 1, count, true));
        }
        let sums = w.cumsum(-1);
        let totals = sums.narrow(-1, classes - 1, 1);
        let mut shape = w.shape();
        shape[rank - 1] = count;
        let [word] = self.words(&shape, w.device_id(), [0]);
        let u = Tensor::from_expr(unit(&word, 0.0)).cast(w.dtype()) * totals;
        // How many running sums the draw has passed; a weight of 0 is never drawn.
        let passed = sums.unsqueeze(-2).le(u.unsqueeze(-1)).cast(DType::I64).sum(-1);
        passed.minimum((classes - 1) as i64)
    }

    /// The numbers `0..n` in random order, `I64`.
    #[track_caller]
    pub fn randperm(&self, n: usize, device: &Device) -> Tensor {
        let [w0, w1] = self.words(&[n], device.id(), [0, 1]);
        // 62 bits as keys: equal ones do not happen in practice, and would only keep their order.
        let shift = Expr::constant(Literal::int(DType::I64, 31), &[n], device.id());
        let one = Expr::constant(Literal::int(DType::U32, 1), &[n], device.id());
        let high = w0.binary(BinaryOp::Shr, &one).cast(DType::I64).binary(BinaryOp::Shl, &shift);
        let low = w1.binary(BinaryOp::Shr, &one).cast(DType::I64);
        Tensor::from_expr(high.binary(BinaryOp::Or, &low).argsort(0, false))
    }

    /// Each element of `x` is 0 with probability `p`, else divided by `1 - p`.
    #[track_caller]
    pub fn dropout(&self, x: &Tensor, p: f64) -> Tensor {
        let e = x.expr();
        if e.error().is_some() {
            return x.clone();
        }
        if p == 0.0 {
            return Tensor::from_expr(e.identity());
        }
        if !(0.0..=1.0).contains(&p) {
            return Tensor::fail(ErrorKind::Argument, "dropout", format!("a probability of {p}"), "it is in 0..=1", &[x]);
        }
        if p == 1.0 {
            return x * K(0.0);
        }
        let u = self.unit_like(&e);
        let keep = Tensor::from_expr(u.binary_const(BinaryOp::Lt, 1.0 - p));
        keep.where_(x * K(1.0 / (1.0 - p)), K(0.0))
    }
}

/// `(word >> 8) * 2^-24`, after adding `plus` to the integer.
#[track_caller]
fn unit(word: &Expr, plus: f64) -> Expr {
    let eight = word.literal_like(Literal::int(DType::U32, 8));
    let mut bits = word.binary(BinaryOp::Shr, &eight);
    if plus != 0.0 {
        bits = bits.binary_const(BinaryOp::Add, plus);
    }
    bits.cast(DType::F32).binary_const(BinaryOp::Mul, 1.0 / 16_777_216.0)
}

/// Uniform strictly between 0 and 1: 23 bits and a half.
#[track_caller]
fn unit_open(word: &Expr) -> Expr {
    let nine = word.literal_like(Literal::int(DType::U32, 9));
    let bits = word.binary(BinaryOp::Shr, &nine).cast(DType::F32);
    bits.binary_const(BinaryOp::Add, 0.5).binary_const(BinaryOp::Mul, 1.0 / 8_388_608.0)
}

#[track_caller]
fn float_only(op: &str, dtype: DType) -> Option<Tensor> {
    if dtype.is_float() {
        return None;
    }
    Some(Tensor::fail(ErrorKind::DType, op, format!("wants a float, got {dtype}"), "for integers, use `randint`", &[]))
}

impl Tensor {
    /// Uniform in `[0, 1)`, from the process's generator.
    #[track_caller]
    pub fn rand(shape: impl Dims, dtype: DType, device: &Device) -> Tensor {
        GLOBAL.rand(shape, dtype, device)
    }

    /// Uniform in `[low, high)`, from the process's generator.
    #[track_caller]
    pub fn uniform(shape: impl Dims, low: f64, high: f64, dtype: DType, device: &Device) -> Tensor {
        GLOBAL.uniform_between(shape, low, high, dtype, device)
    }

    /// Normal with mean 0 and variance 1, from the process's generator.
    #[track_caller]
    pub fn randn(shape: impl Dims, dtype: DType, device: &Device) -> Tensor {
        GLOBAL.randn(shape, dtype, device)
    }

    /// Integers, uniform in `low..high`, from the process's generator.
    #[track_caller]
    pub fn randint(low: i64, high: i64, shape: impl Dims, dtype: DType, device: &Device) -> Tensor {
        GLOBAL.randint(low, high, shape, dtype, device)
    }

    /// The numbers `0..n` in random order, `I64`, from the process's generator.
    #[track_caller]
    pub fn randperm(n: usize, device: &Device) -> Tensor {
        GLOBAL.randperm(n, device)
    }

    /// 1 with this tensor's probabilities, else 0, from the process's generator.
    #[track_caller]
    pub fn bernoulli(&self) -> Tensor {
        GLOBAL.bernoulli(self)
    }

    /// See [`Generator::multinomial`]; from the process's generator.
    #[track_caller]
    pub fn multinomial(&self, count: usize, replacement: bool) -> Tensor {
        GLOBAL.multinomial(self, count, replacement)
    }

    /// Each element is 0 with probability `p`, else divided by `1 - p`; from the process's generator.
    #[track_caller]
    pub fn dropout(&self, p: f64) -> Tensor {
        GLOBAL.dropout(self, p)
    }

    /// Uniform in `[0, 1)`, in this tensor's shape, dtype and device.
    #[track_caller]
    pub fn rand_like(&self) -> Tensor {
        self.rand_like_as(self.dtype())
    }

    /// Uniform in `[0, 1)`, in this tensor's shape and device, in another dtype.
    #[track_caller]
    pub fn rand_like_as(&self, dtype: DType) -> Tensor {
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        match float_only("rand_like", dtype) {
            Some(invalid) => invalid,
            None => Tensor::from_expr(Generator::rounded(&GLOBAL.unit_like(&x), dtype)),
        }
    }

    /// Normal with mean 0 and variance 1, in this tensor's shape, dtype and device.
    #[track_caller]
    pub fn randn_like(&self) -> Tensor {
        self.randn_like_as(self.dtype())
    }

    /// Normal with mean 0 and variance 1, in this tensor's shape and device, in another dtype.
    #[track_caller]
    pub fn randn_like_as(&self, dtype: DType) -> Tensor {
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        match float_only("randn_like", dtype) {
            Some(invalid) => invalid,
            None => Tensor::from_expr(GLOBAL.normal(x.shape(), dtype, x.device())),
        }
    }
}
