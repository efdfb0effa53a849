//! Fused kernels: whole expressions of `f32` in one loop over the lanes, so that intermediate values stay in registers.
//!
//! In: a segment's steps. Out: fewer steps. A pattern is a type that is both the expression to look for and the loop's body, so
//! what is matched and what is computed cannot differ. Patterns say what is a lane and what is one number for all lanes.
//! Always: the same operations in the same order as the steps they replace (nothing is contracted), so a map's results do not
//! change by a bit; sums of expressions keep the lanes and the tree of a plain fold.
//! Never: moves a read over a write of the same argument, or drops a value that something else still uses.

use super::kernels::{self, Binary, Unary};
use super::program::{Compiler, Lanes, Slot, Step};
use crate::simd::Tier;
use smallvec::{SmallVec, smallvec};
use std::marker::PhantomData;
use std::sync::LazyLock;
use unigrad_scalar::{BinaryOp, UnaryOp};

/// Operands with lanes, at most.
pub(super) const MAX_LANES: usize = 5;
/// Operands that are one number, at most.
pub(super) const MAX_SCALARS: usize = 9;
/// Results, at most.
pub(super) const MAX_OUTS: usize = 3;

/// Results, operands with lanes (empty where the expression has fewer), numbers. All have as many lanes as the first result.
/// In place: result `k` holds operand `k` before.
pub(super) type MapFn = unsafe fn(&mut [f32], &mut [f32], &mut [f32], [&[f32]; MAX_LANES], &[f32; MAX_SCALARS]);

/// Sums an expression of `n` lanes into the accumulator; the values go to the first operand too, if it is not empty.
pub(super) type SumFn = unsafe fn(&mut [f32], [&[f32]; MAX_LANES], &[f32; MAX_SCALARS], usize, &mut f64);

/// What defines a slot: an operation of `f32` on other slots.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    Unary(UnaryOp, Slot),
    Binary(BinaryOp, Slot, Slot),
}

impl Node {
    fn operands(self) -> SmallVec<[Slot; 2]> {
        match self {
            Node::Unary(_, a) => SmallVec::from_slice(&[a]),
            Node::Binary(_, a, b) => SmallVec::from_slice(&[a, b]),
        }
    }
}

/// A map's step: `outs = expression(lanes, scalars)`.
#[derive(Debug)]
pub(super) struct Fused {
    f: MapFn,
    in_place: MapFn,
    pub(super) outs: SmallVec<[Slot; MAX_OUTS]>,
    pub(super) operands: Operands,
    /// Result `k` may take the place of operand `k` where that lies in the launch's memory.
    pub(super) update: bool,
    /// Whether `in_place` is a kernel of its own.
    updates: bool,
}

/// A sum's expression, in place of its argument.
#[derive(Debug)]
pub(super) struct FusedSum {
    f: SumFn,
    pub(super) operands: Operands,
    /// The values are used later on.
    pub(super) store: bool,
}

/// The leaves of an expression.
#[derive(Clone, Debug, Default)]
pub(super) struct Operands {
    pub(super) lanes: SmallVec<[Slot; MAX_LANES]>,
    pub(super) scalars: SmallVec<[Slot; MAX_SCALARS]>,
}

impl Operands {
    /// # Safety
    /// `ptr` gives `n` lanes, or one number, for every slot, and nobody writes them while the result lives.
    #[inline]
    unsafe fn get<'a>(&self, n: usize, skip: usize, ptr: impl Fn(Slot) -> *mut u8) -> ([&'a [f32]; MAX_LANES], [f32; MAX_SCALARS]) {
        let mut lanes: [&[f32]; MAX_LANES] = [&[]; MAX_LANES];
        for (lane, slot) in lanes.iter_mut().zip(&self.lanes).skip(skip) {
            // SAFETY: as promised.
            *lane = unsafe { std::slice::from_raw_parts(ptr(*slot).cast::<f32>(), n) };
        }
        let mut scalars = [0.0; MAX_SCALARS];
        for (scalar, slot) in scalars.iter_mut().zip(&self.scalars) {
            // SAFETY: as promised.
            *scalar = unsafe { ptr(*slot).cast::<f32>().read() };
        }
        (lanes, scalars)
    }
}

impl Fused {
    /// Runs on `n` lanes; `in_place` says that result `k` is at operand `k`.
    ///
    /// # Safety
    /// `ptr` gives `n` lanes (or one number) for every slot; results overlap neither each other nor operands, but as `in_place` says.
    #[inline]
    pub(super) unsafe fn run(&self, n: usize, in_place: bool, ptr: impl Fn(Slot) -> *mut u8) {
        let mut outs: [&mut [f32]; MAX_OUTS] = [&mut [], &mut [], &mut []];
        for (out, slot) in outs.iter_mut().zip(&self.outs) {
            // SAFETY: as promised.
            *out = unsafe { std::slice::from_raw_parts_mut(ptr(*slot).cast::<f32>(), n) };
        }
        // SAFETY: as promised.
        unsafe {
            let (lanes, scalars) = self.operands.get(n, if in_place { self.outs.len() } else { 0 }, ptr);
            let [a, b, c] = outs;
            (if in_place { self.in_place } else { self.f })(a, b, c, lanes, &scalars);
        }
    }
}

impl FusedSum {
    /// Takes `n` lanes into an accumulator; `to` is where the values go, if they are stored.
    ///
    /// # Safety
    /// As for [`Fused::run`].
    #[inline]
    pub(super) unsafe fn run(&self, n: usize, acc: *mut u8, to: *mut u8, ptr: impl Fn(Slot) -> *mut u8) {
        // SAFETY: as promised; a sum's accumulator is an aligned `f64`.
        unsafe {
            let (lanes, scalars) = self.operands.get(n, 0, ptr);
            let to = if self.store { std::slice::from_raw_parts_mut(to.cast::<f32>(), n) } else { &mut [] };
            (self.f)(to, lanes, &scalars, n, &mut *acc.cast::<f64>());
        }
    }
}

// Expressions.

/// An expression as data, for the matcher.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Lane(usize),
    Scalar(usize),
    Unary(UnaryOp, Box<Tree>),
    Binary(BinaryOp, Box<Tree>, Box<Tree>),
    Out(usize, Box<Tree>),
}

type Leaves<'a> = (&'a [f32; MAX_LANES], &'a [f32; MAX_SCALARS]);

/// An expression as a type.
trait Expr {
    /// One more than the highest lane operand, and than the highest result.
    const LANES: usize;
    const OUTS: usize;
    fn tree() -> Tree;
    fn eval<const FMA: bool>(leaves: Leaves<'_>, outs: &mut [f32; MAX_OUTS]) -> f32;
}

const fn max(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// A lane operand.
struct L<const I: usize>;

impl<const I: usize> Expr for L<I> {
    const LANES: usize = I + 1;
    const OUTS: usize = 0;
    fn tree() -> Tree {
        Tree::Lane(I)
    }
    #[inline(always)]
    fn eval<const FMA: bool>(leaves: Leaves<'_>, _: &mut [f32; MAX_OUTS]) -> f32 {
        leaves.0[I]
    }
}

/// One number for all lanes.
struct S<const I: usize>;

impl<const I: usize> Expr for S<I> {
    const LANES: usize = 0;
    const OUTS: usize = 0;
    fn tree() -> Tree {
        Tree::Scalar(I)
    }
    #[inline(always)]
    fn eval<const FMA: bool>(leaves: Leaves<'_>, _: &mut [f32; MAX_OUTS]) -> f32 {
        leaves.1[I]
    }
}

/// A value that is a result of its own.
struct Out<const I: usize, E>(PhantomData<E>);

impl<const I: usize, E: Expr> Expr for Out<I, E> {
    const LANES: usize = E::LANES;
    const OUTS: usize = max(I + 1, E::OUTS);
    fn tree() -> Tree {
        Tree::Out(I, Box::new(E::tree()))
    }
    #[inline(always)]
    fn eval<const FMA: bool>(leaves: Leaves<'_>, outs: &mut [f32; MAX_OUTS]) -> f32 {
        outs[I] = E::eval::<FMA>(leaves, outs);
        outs[I]
    }
}

macro_rules! operations {
    ($trait:ident $op:ident: $($name:ident)*) => {$(
        impl $trait for kernels::$name<f32> {
            const OP: $op = $op::$name;
        }
    )*};
}

trait NamedUnary: Unary<A = f32, R = f32> {
    const OP: UnaryOp;
}

trait NamedBinary: Binary<A = f32, R = f32> {
    const OP: BinaryOp;
}

operations!(NamedUnary UnaryOp: Exp Sqrt);
operations!(NamedBinary BinaryOp: Add Sub Mul Div);

struct Un<O, A>(PhantomData<(O, A)>);

impl<O: NamedUnary, A: Expr> Expr for Un<O, A> {
    const LANES: usize = A::LANES;
    const OUTS: usize = A::OUTS;
    fn tree() -> Tree {
        Tree::Unary(O::OP, Box::new(A::tree()))
    }
    #[inline(always)]
    fn eval<const FMA: bool>(leaves: Leaves<'_>, outs: &mut [f32; MAX_OUTS]) -> f32 {
        O::f::<FMA>(A::eval::<FMA>(leaves, outs))
    }
}

struct Bin<O, A, B>(PhantomData<(O, A, B)>);

impl<O: NamedBinary, A: Expr, B: Expr> Expr for Bin<O, A, B> {
    const LANES: usize = max(A::LANES, B::LANES);
    const OUTS: usize = max(A::OUTS, B::OUTS);
    fn tree() -> Tree {
        Tree::Binary(O::OP, Box::new(A::tree()), Box::new(B::tree()))
    }
    #[inline(always)]
    fn eval<const FMA: bool>(leaves: Leaves<'_>, outs: &mut [f32; MAX_OUTS]) -> f32 {
        let a = A::eval::<FMA>(leaves, outs);
        O::f::<FMA>(a, B::eval::<FMA>(leaves, outs))
    }
}

type Add<A, B> = Bin<kernels::Add<f32>, A, B>;
type Sub<A, B> = Bin<kernels::Sub<f32>, A, B>;
type Mul<A, B> = Bin<kernels::Mul<f32>, A, B>;
type Div<A, B> = Bin<kernels::Div<f32>, A, B>;
type Exp<A> = Un<kernels::Exp<f32>, A>;
type Sqrt<A> = Un<kernels::Sqrt<f32>, A>;

// Loops.

/// The operands of lane `i`, from `skip` on; those that the expression does not have are zero.
#[inline(always)]
fn lanes_at<E: Expr>(lanes: &[&[f32]; MAX_LANES], skip: usize, i: usize) -> [f32; MAX_LANES] {
    // Written out: the loop over lanes is the only one the compiler should see.
    let at = |k: usize| if k >= skip && k < E::LANES { lanes[k][i] } else { 0.0 };
    [at(0), at(1), at(2), at(3), at(4)]
}

/// The operands' lanes `start .. start + n`, so that the loops need no bounds checks.
#[inline(always)]
fn trimmed<'a, E: Expr>(lanes: &[&'a [f32]; MAX_LANES], skip: usize, start: usize, n: usize) -> [&'a [f32]; MAX_LANES] {
    let lane = |k: usize| -> &'a [f32] { if k >= skip && k < E::LANES { &lanes[k][start..][..n] } else { &[] } };
    [lane(0), lane(1), lane(2), lane(3), lane(4)]
}

#[inline(always)]
fn map<E: Expr, const FMA: bool, const IN_PLACE: bool>(
    d0: &mut [f32],
    d1: &mut [f32],
    d2: &mut [f32],
    lanes: [&[f32]; MAX_LANES],
    scalars: &[f32; MAX_SCALARS],
) {
    let n = d0.len();
    let n_outs = max(E::OUTS, 1);
    let scalars = *scalars;
    let d1 = &mut d1[..if n_outs > 1 { n } else { 0 }];
    let d2 = &mut d2[..if n_outs > 2 { n } else { 0 }];
    let skip = if IN_PLACE { n_outs } else { 0 };
    let lanes = trimmed::<E>(&lanes, skip, 0, n);
    for i in 0..n {
        let mut at = lanes_at::<E>(&lanes, skip, i);
        if IN_PLACE {
            at[0] = d0[i];
            if n_outs > 1 {
                at[1] = d1[i];
            }
            if n_outs > 2 {
                at[2] = d2[i];
            }
        }
        let mut outs = [0.0; MAX_OUTS];
        let value = E::eval::<FMA>((&at, &scalars), &mut outs);
        if E::OUTS == 0 {
            d0[i] = value;
        } else {
            d0[i] = outs[0];
            if n_outs > 1 {
                d1[i] = outs[1];
            }
            if n_outs > 2 {
                d2[i] = outs[2];
            }
        }
    }
}

/// Lanes that a sum keeps apart before it adds them in a fixed tree.
const SUM: usize = 64;

#[inline(always)]
fn sum<E: Expr, const FMA: bool, const STORE: bool>(
    to: &mut [f32],
    lanes: [&[f32]; MAX_LANES],
    scalars: &[f32; MAX_SCALARS],
    n: usize,
    acc: &mut f64,
) {
    let scalars = *scalars;
    let to = &mut to[..if STORE { n } else { 0 }];
    let lanes = trimmed::<E>(&lanes, 0, 0, n);
    let mut sums = [0.0f32; SUM];
    let mut start = 0;
    while n - start >= SUM {
        let here = trimmed::<E>(&lanes, 0, start, SUM);
        let to = &mut to[if STORE { start } else { 0 }..][..if STORE { SUM } else { 0 }];
        for i in 0..SUM {
            let value = E::eval::<FMA>((&lanes_at::<E>(&here, 0, i), &scalars), &mut [0.0; MAX_OUTS]);
            if STORE {
                to[i] = value;
            }
            sums[i] += value;
        }
        start += SUM;
    }
    for i in start..n {
        let value = E::eval::<FMA>((&lanes_at::<E>(&lanes, 0, i), &scalars), &mut [0.0; MAX_OUTS]);
        if STORE {
            to[i] = value;
        }
        sums[i - start] += value;
    }
    for i in 0..32 {
        sums[i] += sums[i + 32];
    }
    for i in 0..16 {
        sums[i] += sums[i + 16];
    }
    for i in 0..8 {
        sums[i] += sums[i + 8];
    }
    for i in 0..4 {
        sums[i] += sums[i + 4];
    }
    *acc += f64::from((sums[0] + sums[2]) + (sums[1] + sums[3]));
}

/// One instance of the loops per tier. The results are parameters of a compiled function, so the compiler knows that they
/// overlap nothing.
macro_rules! instances {
    ($map:ident, $sum:ident, $fma:expr $(, $condition:meta, $feature:meta)?) => {
        /// # Safety
        /// The machine has the tier's features.
        $(#[$condition] #[$feature])?
        unsafe fn $map<E: Expr, const IN_PLACE: bool>(
            d0: &mut [f32],
            d1: &mut [f32],
            d2: &mut [f32],
            lanes: [&[f32]; MAX_LANES],
            scalars: &[f32; MAX_SCALARS],
        ) {
            map::<E, { $fma }, IN_PLACE>(d0, d1, d2, lanes, scalars)
        }

        /// # Safety
        /// The machine has the tier's features.
        $(#[$condition] #[$feature])?
        unsafe fn $sum<E: Expr, const STORE: bool>(
            to: &mut [f32],
            lanes: [&[f32]; MAX_LANES],
            scalars: &[f32; MAX_SCALARS],
            n: usize,
            acc: &mut f64,
        ) {
            sum::<E, { $fma }, STORE>(to, lanes, scalars, n, acc)
        }
    };
}
instances!(map_baseline, sum_baseline, cfg!(target_arch = "aarch64"));
instances!(map_avx2, sum_avx2, true, cfg(target_arch = "x86_64"), target_feature(enable = "avx2,fma,f16c,bmi1,bmi2"));
instances!(
    map_avx512,
    sum_avx512,
    true,
    cfg(target_arch = "x86_64"),
    target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2")
);

fn map_fn<E: Expr, const IN_PLACE: bool>(tier: Tier) -> MapFn {
    match tier {
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => map_avx512::<E, IN_PLACE>,
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 => map_avx2::<E, IN_PLACE>,
        _ => map_baseline::<E, IN_PLACE>,
    }
}

fn sum_fn<E: Expr, const STORE: bool>(tier: Tier) -> SumFn {
    match tier {
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => sum_avx512::<E, STORE>,
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 => sum_avx2::<E, STORE>,
        _ => sum_baseline::<E, STORE>,
    }
}

// Patterns.

struct MapPattern {
    tree: Tree,
    outs: usize,
    f: fn(Tier) -> MapFn,
    in_place: fn(Tier) -> MapFn,
    updates: bool,
}

struct SumPattern {
    tree: Tree,
    f: fn(Tier) -> SumFn,
    stored: fn(Tier) -> SumFn,
}

/// In place where the expression has results of its own; others are stored where they belong anyway.
fn pattern<E: Expr>() -> MapPattern {
    MapPattern { tree: E::tree(), outs: max(E::OUTS, 1), f: map_fn::<E, false>, in_place: map_fn::<E, false>, updates: false }
}

fn updating<E: Expr>() -> MapPattern {
    MapPattern { tree: E::tree(), outs: max(E::OUTS, 1), f: map_fn::<E, false>, in_place: map_fn::<E, true>, updates: true }
}

fn sum_pattern<E: Expr>() -> SumPattern {
    SumPattern { tree: E::tree(), f: sum_fn::<E, false>, stored: sum_fn::<E, true> }
}

/// An exponential moving average, as `m = m b + g c`.
type Average = Add<Mul<L<1>, S<1>>, Mul<L<3>, S<2>>>;
/// The same of the square.
type SquareAverage = Add<Mul<L<2>, S<3>>, Mul<Mul<L<3>, L<3>>, S<4>>>;
/// `(x - mean) * scale`.
type Normal = Mul<Sub<L<0>, S<0>>, S<1>>;

/// `first` of two operands, then `second` with a third, on either side of a difference, for what may be lanes.
macro_rules! pairs {
    ($list:ident; $($first:ident($a:ty, $b:ty), $c:ty;)*) => {$(
        $list.push(pattern::<Add<$first<$a, $b>, $c>>());
        $list.push(pattern::<Sub<$first<$a, $b>, $c>>());
        $list.push(pattern::<Sub<$c, $first<$a, $b>>>());
        $list.push(pattern::<Mul<$first<$a, $b>, $c>>());
    )*};
}

static MAP_PATTERNS: LazyLock<Vec<MapPattern>> = LazyLock::new(map_patterns);
static SUM_PATTERNS: LazyLock<Vec<SumPattern>> = LazyLock::new(sum_patterns);

/// Larger ones first.
fn map_patterns() -> Vec<MapPattern> {
    let mut list = vec![
        // Adam: three results from one pass over value, first and second moment and gradient.
        updating::<Out<0, Add<Mul<L<0>, S<0>>, Mul<Div<Out<1, Average>, Add<Mul<Sqrt<Out<2, SquareAverage>>, S<5>>, S<6>>>, S<7>>>>>(),
        updating::<Out<0, Add<L<0>, Mul<Div<Out<1, Average>, Add<Mul<Sqrt<Out<2, SquareAverage>>, S<5>>, S<6>>>, S<7>>>>>(),
        updating::<Out<0, Sub<Mul<L<0>, S<0>>, Mul<Div<Out<1, Average>, Add<Sqrt<Out<2, SquareAverage>>, S<6>>>, S<7>>>>>(),
        updating::<
            Out<0, Sub<Mul<L<0>, S<0>>, Mul<Div<Mul<Out<1, Average>, S<5>>, Add<Sqrt<Mul<Out<2, SquareAverage>, S<6>>>, S<7>>>, S<8>>>>,
        >(),
        pattern::<Add<Mul<Normal, L<1>>, L<2>>>(),
        pattern::<Mul<Normal, L<1>>>(),
        pattern::<Add<Mul<Mul<L<0>, S<0>>, L<1>>, L<2>>>(),
        pattern::<Mul<Mul<Sub<Sub<L<0>, S<0>>, Mul<L<1>, S<1>>>, S<2>>, S<3>>>(),
        pattern::<Mul<Sub<Sub<L<0>, S<0>>, Mul<L<1>, S<1>>>, S<2>>>(),
        pattern::<Add<Mul<L<0>, S<0>>, Mul<Mul<L<1>, L<1>>, S<1>>>>(),
        pattern::<Add<Mul<L<0>, S<0>>, Mul<L<1>, S<1>>>>(),
        pattern::<Sub<Mul<L<0>, S<0>>, Mul<L<1>, S<1>>>>(),
        pattern::<Add<Mul<L<0>, L<1>>, Mul<L<2>, L<3>>>>(),
        pattern::<Sub<Mul<L<0>, L<1>>, Mul<L<2>, L<3>>>>(),
        pattern::<Add<Mul<L<0>, L<1>>, Mul<L<2>, S<0>>>>(),
        pattern::<Add<Mul<Sqrt<L<0>>, S<0>>, S<1>>>(),
        pattern::<Add<Sqrt<L<0>>, S<0>>>(),
        pattern::<Mul<Div<L<0>, L<1>>, S<0>>>(),
        pattern::<Exp<Sub<L<0>, S<0>>>>(),
        pattern::<Mul<Exp<Sub<L<0>, S<0>>>, S<1>>>(),
    ];
    pairs! { list;
        Add(L<0>, L<1>), L<2>; Add(L<0>, L<1>), S<0>; Add(L<0>, S<0>), L<1>; Add(L<0>, S<0>), S<1>;
        Mul(L<0>, L<1>), L<2>; Mul(L<0>, L<1>), S<0>; Mul(L<0>, S<0>), L<1>; Mul(L<0>, S<0>), S<1>;
        Sub(L<0>, L<1>), L<2>; Sub(L<0>, L<1>), S<0>; Sub(L<0>, S<0>), L<1>; Sub(L<0>, S<0>), S<1>;
        Sub(S<0>, L<0>), L<1>; Sub(S<0>, L<0>), S<1>;
    }
    list
}

fn sum_patterns() -> Vec<SumPattern> {
    vec![
        sum_pattern::<Mul<Mul<Normal, L<1>>, L<2>>>(),
        sum_pattern::<Mul<Normal, L<1>>>(),
        sum_pattern::<Mul<Sub<L<0>, S<0>>, Sub<L<0>, S<0>>>>(),
        sum_pattern::<Exp<Sub<L<0>, S<0>>>>(),
        sum_pattern::<Mul<Mul<L<0>, L<1>>, L<2>>>(),
        sum_pattern::<Mul<Mul<L<0>, L<1>>, S<0>>>(),
        sum_pattern::<Mul<Sub<L<0>, S<0>>, L<1>>>(),
        sum_pattern::<Mul<L<0>, L<1>>>(),
        sum_pattern::<Mul<L<0>, S<0>>>(),
        sum_pattern::<Sub<L<0>, S<0>>>(),
        sum_pattern::<Add<L<0>, L<1>>>(),
        sum_pattern::<Sub<L<0>, L<1>>>(),
    ]
}

/// The trees of all patterns of maps, and of sums.
#[cfg(test)]
pub(super) fn trees() -> (Vec<Tree>, Vec<Tree>) {
    (map_patterns().into_iter().map(|p| p.tree).collect(), sum_patterns().into_iter().map(|p| p.tree).collect())
}

// The matcher.

/// What a pattern's parts are bound to.
#[derive(Clone, Default)]
struct Bindings {
    lanes: [Option<Slot>; MAX_LANES],
    scalars: [Option<Slot>; MAX_SCALARS],
    outs: [Option<Slot>; MAX_OUTS],
    inner: SmallVec<[Slot; 16]>,
}

fn bind(place: &mut Option<Slot>, slot: Slot) -> bool {
    *place.get_or_insert(slot) == slot
}

/// What is left to match.
type Goals<'t> = SmallVec<[(&'t Tree, Slot); 16]>;

/// A segment's definitions.
struct Finder<'a> {
    nodes: &'a [Option<Node>],
    /// Where in the segment a slot is defined, by an operation on lanes.
    at: Vec<Option<usize>>,
    lanes: Vec<bool>,
    kept: Vec<bool>,
    uses: Vec<usize>,
}

impl Finder<'_> {
    /// Binds the patterns' parts to slots. Sums and products are tried both ways round.
    fn matches(&self, mut goals: Goals<'_>, mut bound: Bindings) -> Option<Bindings> {
        while let Some((tree, slot)) = goals.pop() {
            let node = || self.at[slot as usize].and(self.nodes[slot as usize]);
            let bound_now = match tree {
                Tree::Lane(k) => self.lanes[slot as usize] && bind(&mut bound.lanes[*k], slot),
                Tree::Scalar(k) => !self.lanes[slot as usize] && bind(&mut bound.scalars[*k], slot),
                Tree::Out(k, inner) => {
                    goals.push((inner, slot));
                    bind(&mut bound.outs[*k], slot)
                }
                Tree::Unary(op, a) => match node() {
                    Some(Node::Unary(found, x)) if found == *op => {
                        bound.inner.push(slot);
                        goals.push((a, x));
                        true
                    }
                    _ => false,
                },
                Tree::Binary(op, a, b) => match node() {
                    Some(Node::Binary(found, x, y)) if found == *op => {
                        bound.inner.push(slot);
                        if matches!(op, BinaryOp::Add | BinaryOp::Mul) {
                            let mut other = goals.clone();
                            other.extend([(&**b, y), (&**a, x)]);
                            if let Some(found) = self.matches(other, bound.clone()) {
                                return Some(found);
                            }
                            goals.extend([(&**b, x), (&**a, y)]);
                        } else {
                            goals.extend([(&**b, y), (&**a, x)]);
                        }
                        true
                    }
                    _ => false,
                },
            };
            if !bound_now {
                return None;
            }
        }
        Some(bound)
    }

    /// Whether nothing but the expression sees its inner values, and no operand is one of them.
    fn closed(&self, bound: &mut Bindings, roots: &[Slot]) -> bool {
        bound.inner.sort_unstable();
        bound.inner.dedup();
        let inner = &bound.inner;
        let leaves = bound.lanes.iter().chain(&bound.scalars).flatten();
        if leaves.into_iter().any(|leaf| inner.contains(leaf)) {
            return false;
        }
        inner.iter().filter(|slot| !roots.contains(slot)).all(|slot| {
            let reads = |by: &Slot| {
                let operands = self.nodes[*by as usize].map(Node::operands).unwrap_or_default();
                usize::from(operands.contains(slot))
            };
            !self.kept[*slot as usize] && self.uses[*slot as usize] == inner.iter().map(reads).sum::<usize>()
        })
    }

    fn operands(bound: &Bindings) -> Operands {
        // Operands that a pattern skips stand for the first one: nobody reads them.
        let fill = |slots: &[Option<Slot>]| -> Vec<Slot> {
            let n = slots.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            slots[..n].iter().map(|slot| slot.or(slots.iter().flatten().next().copied()).unwrap_or(0)).collect()
        };
        Operands { lanes: fill(&bound.lanes).into(), scalars: fill(&bound.scalars).into() }
    }
}

impl Compiler<'_> {
    /// Replaces steps by fused ones, segment by segment.
    pub(super) fn fuse(&mut self) {
        let n = self.out.slots.len();
        let mut uses = vec![0usize; n];
        for steps in super::emit::segments_of(&self.out) {
            for step in steps {
                // A step uses a slot once, however many of its operands that is.
                let mut seen: SmallVec<[Slot; 8]> = SmallVec::new();
                super::emit::visit_slots(step, |slot| {
                    if !seen.contains(&slot) {
                        seen.push(slot);
                        uses[slot as usize] += 1;
                    }
                });
            }
        }
        // The definition counted as one.
        uses.iter_mut().for_each(|uses| *uses = uses.saturating_sub(1));
        for pass in &self.out.passes {
            pass.reductions.iter().for_each(|r| uses[r.arg as usize] += 1);
        }
        let lanes = self.out.slots.iter().map(|slot| slot.lanes).collect();
        let kept = self.out.slots.iter().map(|slot| slot.kept).collect();
        let nodes = std::mem::take(&mut self.nodes);
        let mut finder = Finder { nodes: &nodes, at: vec![None; n], lanes, kept, uses };
        for p in 0..self.out.passes.len() {
            let pass = &mut self.out.passes[p];
            if self.lanes == Lanes::Elements {
                fuse_sums(pass, &mut finder, &SUM_PATTERNS, self.tier);
            }
            fuse_maps(&mut pass.steps, &mut finder, &MAP_PATTERNS, self.tier);
        }
        if self.lanes == Lanes::Rows {
            for steps in &mut self.out.row {
                fuse_maps(steps, &mut finder, &MAP_PATTERNS, self.tier);
            }
        }
    }
}

fn locate(steps: &[Step], finder: &mut Finder<'_>) {
    finder.at.fill(None);
    for (i, step) in steps.iter().enumerate() {
        if let Step::Op { d, .. } = step
            && finder.lanes[*d as usize]
        {
            finder.at[*d as usize] = Some(i);
        }
    }
}

fn reads(step: &Step, slot: Slot) -> bool {
    let mut found = false;
    super::emit::visit_slots(step, |s| found |= s == slot);
    found
}

/// Sums of expressions, in passes that store nothing.
fn fuse_sums(pass: &mut super::program::Pass, finder: &mut Finder<'_>, patterns: &[SumPattern], tier: Tier) {
    if pass.steps.iter().any(|step| matches!(step, Step::Store(_))) {
        return;
    }
    for r in 0..pass.reductions.len() {
        locate(&pass.steps, finder);
        let root = pass.reductions[r].arg;
        let (Some(at), true) = (finder.at[root as usize], pass.reductions[r].sums_f32) else { continue };
        // Beside its definition and this reduction, only later passes may see the value.
        let seen = pass.steps.iter().enumerate().any(|(i, step)| i != at && reads(step, root));
        if seen || pass.reductions.iter().enumerate().any(|(other, reduction)| other != r && reduction.reads(root)) {
            continue;
        }
        let found = patterns.iter().find_map(|pattern| {
            let mut bound = finder.matches(smallvec![(&pattern.tree, root)], Bindings::default())?;
            finder.closed(&mut bound, &[root]).then_some((pattern, bound))
        });
        let Some((pattern, bound)) = found else { continue };
        let store = finder.kept[root as usize] || finder.uses[root as usize] > 1;
        let f = if store { pattern.stored } else { pattern.f };
        pass.reductions[r].sum = Some(FusedSum { f: f(tier), operands: Finder::operands(&bound), store });
        let gone: SmallVec<[usize; 16]> = bound.inner.iter().filter_map(|slot| finder.at[*slot as usize]).collect();
        let mut i = 0;
        pass.steps.retain(|_| {
            i += 1;
            !gone.contains(&(i - 1))
        });
    }
}

/// Expressions of lanes.
fn fuse_maps(steps: &mut Vec<Step>, finder: &mut Finder<'_>, patterns: &[MapPattern], tier: Tier) {
    if !stores_last(steps) {
        return;
    }
    locate(steps, finder);
    let mut gone = vec![false; steps.len()];
    for last in (0..steps.len()).rev() {
        let Step::Op { d: root, .. } = steps[last] else { continue };
        if gone[last] || finder.at[root as usize] != Some(last) {
            continue;
        }
        for pattern in patterns {
            let Some(mut bound) = finder.matches(smallvec![(&pattern.tree, root)], Bindings::default()) else { continue };
            bound.outs[0] = Some(root);
            let outs: SmallVec<[Slot; MAX_OUTS]> = bound.outs.iter().flatten().copied().collect();
            if outs.len() != pattern.outs || !finder.closed(&mut bound, &outs) {
                continue;
            }
            let places: SmallVec<[usize; 16]> = bound.inner.iter().filter_map(|slot| finder.at[*slot as usize]).collect();
            if places.iter().any(|place| gone[*place]) {
                continue;
            }
            // Other results are made later than before: nothing may want them earlier.
            let wanted = |slot: Slot| {
                let from = finder.at[slot as usize].unwrap_or(last);
                (from + 1..last).any(|i| !gone[i] && !places.contains(&i) && reads(&steps[i], slot))
            };
            if outs.iter().any(|slot| wanted(*slot)) {
                continue;
            }
            places.iter().for_each(|place| gone[*place] = *place != last);
            outs.iter().for_each(|slot| finder.at[*slot as usize] = None);
            let (f, in_place) = ((pattern.f)(tier), (pattern.in_place)(tier));
            let fused = Fused { f, in_place, outs, operands: Finder::operands(&bound), update: false, updates: pattern.updates };
            steps[last] = Step::Fused(Box::new(fused));
            break;
        }
    }
    let mut i = 0;
    steps.retain(|_| {
        i += 1;
        !gone[i - 1]
    });
}

/// Moves stores to the end, unless something is loaded from an argument after it was stored.
fn stores_last(steps: &mut [Step]) -> bool {
    let mut stored: SmallVec<[u32; 8]> = SmallVec::new();
    for step in steps.iter() {
        match step {
            Step::Store(store) => stored.push(store.at.arg),
            Step::Load(load) if stored.contains(&load.at.arg) => return false,
            _ => {}
        }
    }
    // Stable: a `false` comes before a `true`.
    steps.sort_by_key(|step| matches!(step, Step::Store(_)));
    true
}

/// Lets results take the place of operands in the launch's memory: where a step's every result is stored over the very load that
/// is its operand of the same number, and that step is the load's only use.
pub(super) fn find_updates(steps: &mut [Step], loaded_once: impl Fn(u32) -> bool, used_by_reductions: impl Fn(Slot) -> bool) {
    for at in 0..steps.len() {
        let Step::Fused(fused) = &steps[at] else { continue };
        let mut stores: SmallVec<[usize; MAX_OUTS]> = SmallVec::new();
        for (out, lane) in fused.outs.iter().zip(&fused.operands.lanes) {
            let load = steps.iter().find_map(|step| match step {
                Step::Load(load) if load.d == *lane && load.in_place && load.mask.is_none() && loaded_once(load.at.arg) => Some(load),
                _ => None,
            });
            let store = steps.iter().position(|step| match (step, load) {
                (Step::Store(store), Some(load)) => store.s == *out && store.same_bytes && store.at.same_place(&load.at),
                _ => false,
            });
            let readers = steps.iter().filter(|step| reads(step, *lane)).count();
            if let (Some(store), 2, false) = (store, readers, used_by_reductions(*lane)) {
                stores.push(store);
            }
        }
        if stores.len() != fused.outs.len() || !fused.updates {
            continue;
        }
        for store in stores {
            if let Step::Store(store) = &mut steps[store] {
                store.update = true;
            }
        }
        if let Step::Fused(fused) = &mut steps[at] {
            fused.update = true;
        }
    }
}
