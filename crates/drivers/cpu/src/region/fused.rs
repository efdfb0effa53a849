//! Fused kernels: small expressions of `f32` in one loop over the lanes, so that intermediate values stay in registers.
//!
//! In: the lanes and numbers of an expression. Out: the lanes of its result, or their sum. A pattern is a type that is both the
//! expression that `match_patterns` looks for and the loop's body, so what is matched and what is computed cannot differ. Patterns say what
//! is a lane and what is one number for all lanes. They are shapes of two to four operations that are common and too short for a chain
//! (`chain`) to cost as little; formulas are chains.
//! Always: the same operations in the same order as the steps they replace (nothing is contracted), so a map's results do not
//! change by a bit; sums of expressions keep the lanes and the tree of a plain fold.

use super::fold;
use super::kernels::{self, Binary, Unary};
use super::program::Slot;
use crate::simd::Tier;
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::sync::LazyLock;
use unigrad_scalar::{BinaryOp, UnaryOp};

/// Operands with lanes, at most.
pub(super) const MAX_LANES: usize = 4;
/// Operands that are one number, at most.
pub(super) const MAX_SCALARS: usize = 4;

/// Result, operands with lanes (empty where the expression has fewer), numbers. All have as many lanes as the result.
pub(super) type MapFn = unsafe fn(&mut [f32], [&[f32]; MAX_LANES], &[f32; MAX_SCALARS]);

/// Sums an expression of `n` lanes into the accumulator; the values go to the first operand too, if it is not empty.
pub(super) type SumFn = unsafe fn(&mut [f32], [&[f32]; MAX_LANES], &[f32; MAX_SCALARS], usize, &mut f64);

/// A map's step: `out = expression(lanes, scalars)`.
#[derive(Debug)]
pub(super) struct Fused {
    pub(super) f: MapFn,
    pub(super) out: Slot,
    pub(super) operands: Operands,
}

/// A sum's expression, in place of its argument.
#[derive(Debug)]
pub(super) struct FusedSum {
    pub(super) f: SumFn,
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
    /// `ptr` gives `n` lanes, or one number, for every slot, and nothing writes them while the result lives.
    #[inline]
    unsafe fn get<'a>(&self, n: usize, ptr: impl Fn(Slot) -> *mut u8) -> ([&'a [f32]; MAX_LANES], [f32; MAX_SCALARS]) {
        let mut lanes: [&[f32]; MAX_LANES] = [&[]; MAX_LANES];
        for (lane, slot) in lanes.iter_mut().zip(&self.lanes) {
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
    /// Runs on `n` lanes.
    ///
    /// # Safety
    /// `ptr` gives `n` lanes (or one number) for every slot; the result overlaps no operand.
    #[inline]
    pub(super) unsafe fn run(&self, n: usize, ptr: impl Fn(Slot) -> *mut u8) {
        // SAFETY: as promised.
        unsafe {
            let out = std::slice::from_raw_parts_mut(ptr(self.out).cast::<f32>(), n);
            let (lanes, scalars) = self.operands.get(n, ptr);
            (self.f)(out, lanes, &scalars);
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
            let (lanes, scalars) = self.operands.get(n, ptr);
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
}

type Leaves<'a> = (&'a [f32; MAX_LANES], &'a [f32; MAX_SCALARS]);

/// An expression as a type.
trait Expr {
    /// One more than the highest lane operand.
    const LANES: usize;
    fn tree() -> Tree;
    fn eval<const FMA: bool>(leaves: Leaves<'_>) -> f32;
}

const fn max(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// A lane operand.
struct L<const I: usize>;

impl<const I: usize> Expr for L<I> {
    const LANES: usize = I + 1;
    fn tree() -> Tree {
        Tree::Lane(I)
    }
    #[inline(always)]
    fn eval<const FMA: bool>(leaves: Leaves<'_>) -> f32 {
        leaves.0[I]
    }
}

/// One number for all lanes.
struct S<const I: usize>;

impl<const I: usize> Expr for S<I> {
    const LANES: usize = 0;
    fn tree() -> Tree {
        Tree::Scalar(I)
    }
    #[inline(always)]
    fn eval<const FMA: bool>(leaves: Leaves<'_>) -> f32 {
        leaves.1[I]
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
    fn tree() -> Tree {
        Tree::Unary(O::OP, Box::new(A::tree()))
    }
    #[inline(always)]
    fn eval<const FMA: bool>(leaves: Leaves<'_>) -> f32 {
        O::f::<FMA>(A::eval::<FMA>(leaves))
    }
}

struct Bin<O, A, B>(PhantomData<(O, A, B)>);

impl<O: NamedBinary, A: Expr, B: Expr> Expr for Bin<O, A, B> {
    const LANES: usize = max(A::LANES, B::LANES);
    fn tree() -> Tree {
        Tree::Binary(O::OP, Box::new(A::tree()), Box::new(B::tree()))
    }
    #[inline(always)]
    fn eval<const FMA: bool>(leaves: Leaves<'_>) -> f32 {
        let a = A::eval::<FMA>(leaves);
        O::f::<FMA>(a, B::eval::<FMA>(leaves))
    }
}

type Add<A, B> = Bin<kernels::Add<f32>, A, B>;
type Sub<A, B> = Bin<kernels::Sub<f32>, A, B>;
type Mul<A, B> = Bin<kernels::Mul<f32>, A, B>;
type Div<A, B> = Bin<kernels::Div<f32>, A, B>;
type Exp<A> = Un<kernels::Exp<f32>, A>;
type Sqrt<A> = Un<kernels::Sqrt<f32>, A>;

// Loops.

/// The operands of lane `i`; those that the expression does not have are zero.
#[inline(always)]
fn lanes_at<E: Expr>(lanes: &[&[f32]; MAX_LANES], i: usize) -> [f32; MAX_LANES] {
    // Written out: the loop over lanes is the only one the compiler should see.
    let at = |k: usize| if k < E::LANES { lanes[k][i] } else { 0.0 };
    [at(0), at(1), at(2), at(3)]
}

/// The operands' lanes `start .. start + n`, so that the loops need no bounds checks.
#[inline(always)]
fn trimmed<'a, E: Expr>(lanes: &[&'a [f32]; MAX_LANES], start: usize, n: usize) -> [&'a [f32]; MAX_LANES] {
    let lane = |k: usize| -> &'a [f32] { if k < E::LANES { &lanes[k][start..][..n] } else { &[] } };
    [lane(0), lane(1), lane(2), lane(3)]
}

#[inline(always)]
fn map<E: Expr, const FMA: bool>(out: &mut [f32], lanes: [&[f32]; MAX_LANES], scalars: &[f32; MAX_SCALARS]) {
    let scalars = *scalars;
    let lanes = trimmed::<E>(&lanes, 0, out.len());
    for i in 0..out.len() {
        out[i] = E::eval::<FMA>((&lanes_at::<E>(&lanes, i), &scalars));
    }
}

/// Lanes that a sum keeps apart before it adds them in a fixed tree.
const SUM: usize = 64;

/// The same for long rows.
const WIDE: usize = 4 * SUM;

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
    let lanes = trimmed::<E>(&lanes, 0, n);
    let mut sums = [0.0f32; SUM];
    let mut start = 0;
    if n >= 2 * WIDE {
        // Enough of them that no addition waits for the one before.
        let mut wide = [0.0f32; WIDE];
        while n - start >= WIDE {
            let here = trimmed::<E>(&lanes, start, WIDE);
            let to = &mut to[if STORE { start } else { 0 }..][..if STORE { WIDE } else { 0 }];
            for i in 0..WIDE {
                let value = E::eval::<FMA>((&lanes_at::<E>(&here, i), &scalars));
                if STORE {
                    to[i] = value;
                }
                wide[i] += value;
            }
            start += WIDE;
        }
        for i in 0..SUM {
            sums[i] = (wide[i] + wide[i + 128]) + (wide[i + 64] + wide[i + 192]);
        }
    }
    while n - start >= SUM {
        let here = trimmed::<E>(&lanes, start, SUM);
        let to = &mut to[if STORE { start } else { 0 }..][..if STORE { SUM } else { 0 }];
        for i in 0..SUM {
            let value = E::eval::<FMA>((&lanes_at::<E>(&here, i), &scalars));
            if STORE {
                to[i] = value;
            }
            sums[i] += value;
        }
        start += SUM;
    }
    if n < SUM {
        // As a plain fold has them.
        let mut values = [0.0f32; SUM];
        for i in 0..n {
            values[i] = E::eval::<FMA>((&lanes_at::<E>(&lanes, i), &scalars));
        }
        if STORE {
            to.copy_from_slice(&values[..n]);
        }
        *acc += f64::from(fold::part::<kernels::Add<f32>, FMA>(&values[..n]).unwrap_or(0.0));
        return;
    }
    for i in start..n {
        let value = E::eval::<FMA>((&lanes_at::<E>(&lanes, i), &scalars));
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

/// One instance of the loops per tier. The result is a parameter of a compiled function, so the compiler knows that it
/// overlaps nothing.
macro_rules! instances {
    ($map:ident, $sum:ident, $fma:expr $(, $condition:meta, $feature:meta)?) => {
        /// # Safety
        /// The machine has the tier's features.
        $(#[$condition] #[$feature])?
        unsafe fn $map<E: Expr>(out: &mut [f32], lanes: [&[f32]; MAX_LANES], scalars: &[f32; MAX_SCALARS]) {
            map::<E, { $fma }>(out, lanes, scalars)
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

fn map_fn<E: Expr>(tier: Tier) -> MapFn {
    match tier {
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => map_avx512::<E>,
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 => map_avx2::<E>,
        _ => map_baseline::<E>,
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

pub(super) struct MapPattern {
    pub(super) tree: Tree,
    pub(super) f: fn(Tier) -> MapFn,
}

pub(super) struct SumPattern {
    pub(super) tree: Tree,
    pub(super) f: fn(Tier) -> SumFn,
    pub(super) stored: fn(Tier) -> SumFn,
}

fn pattern<E: Expr>() -> MapPattern {
    MapPattern { tree: E::tree(), f: map_fn::<E> }
}

fn sum_pattern<E: Expr>() -> SumPattern {
    SumPattern { tree: E::tree(), f: sum_fn::<E, false>, stored: sum_fn::<E, true> }
}

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

pub(super) static MAP_PATTERNS: LazyLock<Vec<MapPattern>> = LazyLock::new(map_patterns);
pub(super) static SUM_PATTERNS: LazyLock<Vec<SumPattern>> = LazyLock::new(sum_patterns);

/// Larger ones first.
fn map_patterns() -> Vec<MapPattern> {
    let mut list = vec![
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
