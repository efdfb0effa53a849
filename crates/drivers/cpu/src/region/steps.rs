//! The steps of a chain: what each word does to the accumulator, eight registers, compiled once per tier.
//!
//! In: a tile in registers, and places. Out: the tile, in registers, to the next step: a step ends by calling the one after it with the
//! tile as arguments, a jump where the compiler makes it one. So the tile stays in registers over the whole chain, and the call costs a
//! load and a jump that the processor foresees.
//! Always: one step per word, so calls are as deep as a chain is long at most.

use super::chain::{MAX_PLACES, Word};
use super::kernels::{self, OpFn, Unary};
use super::vector::Vector;
use crate::simd::Tier;
use smallvec::SmallVec;
use std::marker::PhantomData;

/// What a word does with the accumulator `acc` and its place `x`. `U` says that the place is one number for all lanes; `R` that the operands
/// are the other way round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Code {
    Load,
    LoadU,
    /// The mask of truth values, a byte each.
    LoadBool,
    Store,
    /// A mask as truth values.
    StoreBool,
    Add,
    AddU,
    Sub,
    SubU,
    SubR,
    SubRU,
    Mul,
    MulU,
    Div,
    DivU,
    DivR,
    DivRU,
    Max,
    MaxU,
    MaxR,
    MaxRU,
    Min,
    MinU,
    MinR,
    MinRU,
    Eq,
    EqU,
    Ne,
    NeU,
    Lt,
    LtU,
    Le,
    LeU,
    Gt,
    GtU,
    Ge,
    GeU,
    /// `acc + x * y`, rounded twice.
    MulAdd,
    /// The same with one number for `y`.
    MulAddU,
    /// By the mask `x`: `acc` or `y`.
    Choose,
    ChooseU,
    /// By the mask `x`: `y` or `acc`.
    ChooseR,
    ChooseRU,
    /// By the truth value `x` of all lanes: `acc` or `y`.
    Pick,
    PickU,
    /// By the truth value `x` of all lanes: `y` or `acc`.
    PickR,
    PickRU,
    Neg,
    Abs,
    Sign,
    Relu,
    Sqrt,
    Rsqrt,
    Recip,
    Exp,
    /// A kernel of the list, on a tile.
    Call,
    /// Adds the lanes to the sums.
    Sum,
}

/// Registers of a tile.
pub(super) const N: usize = 8;

/// A word as a step reads it: the function, and two operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threaded {
    f: unsafe fn(),
    a: usize,
    b: usize,
    c: usize,
}

/// What steps share: where places are, what is called, where sums go, the number of sums less one, and the lanes of the run.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct State {
    pub(super) at: [*mut u8; MAX_PLACES],
    pub(super) sums: *mut f32,
    pub(super) calls: *const OpFn,
    pub(super) ring: usize,
    pub(super) n: usize,
}

impl State {
    /// The lanes of a place, from lane `i` on.
    #[inline(always)]
    unsafe fn lanes(&self, place: usize, i: usize) -> *mut f32 {
        // SAFETY: words name places that there are.
        unsafe { self.at.get_unchecked(place).cast::<f32>().wrapping_add(i) }
    }

    /// A place that is one number, or lanes of a byte.
    #[inline(always)]
    unsafe fn place(&self, place: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { *self.at.get_unchecked(place) }
    }
}

/// One code: `run` changes the tile that begins at lane `i`.
trait Act {
    /// # Safety
    /// Places have a tile's lanes, and the machine the instructions of `V`.
    unsafe fn run<V: Vector, const FMA: bool>(acc: [V; N], operands: [usize; 3], state: &State, i: usize) -> [V; N];
}

/// Registers, each from its number. Written out, not a closure for each: the compiler leaves a long closure a function of its own, and that is
/// none of the tier's instructions, so that every intrinsic in it would be a call.
macro_rules! each {
    ($k:ident => $e:expr) => {
        each!(@ $k $e, 0 1 2 3 4 5 6 7)
    };
    (@ $k:ident $e:expr, $($number:literal)*) => {
        [$({
            let $k: usize = $number;
            $e
        }),*]
    };
}

/// Codes by what their operands are.
macro_rules! acts {
    ($($name:ident $kind:ident |$($v:ident),*| $e:expr;)*) => {
        $(acts!(@ $name $kind $($v)* => $e);)*
    };
    (@ $name:ident plain $a:ident => $e:expr) => {
        acts!(@ $name raw acc _operands _state _i => each!(k => { let $a = acc[k]; $e }));
    };
    (@ $name:ident lanes $a:ident $x:ident => $e:expr) => {
        acts!(@ $name raw acc operands state i => {
            let x = state.lanes(operands[0], i);
            each!(k => { let ($a, $x) = (acc[k], V::load(x.wrapping_add(k * V::LANES))); $e })
        });
    };
    (@ $name:ident number $a:ident $x:ident => $e:expr) => {
        acts!(@ $name raw acc operands state _i => {
            let $x = V::splat(*state.place(operands[0]).cast::<f32>());
            each!(k => { let $a = acc[k]; $e })
        });
    };
    (@ $name:ident lanes $a:ident $x:ident $y:ident => $e:expr) => {
        acts!(@ $name raw acc operands state i => {
            let (x, y) = (state.lanes(operands[0], i), state.lanes(operands[1], i));
            each!(k => { let ($a, $x, $y) = (acc[k], V::load(x.wrapping_add(k * V::LANES)), V::load(y.wrapping_add(k * V::LANES))); $e })
        });
    };
    (@ $name:ident number $a:ident $x:ident $y:ident => $e:expr) => {
        acts!(@ $name raw acc operands state i => {
            let (x, $y) = (state.lanes(operands[0], i), V::splat(*state.place(operands[1]).cast::<f32>()));
            each!(k => { let ($a, $x) = (acc[k], V::load(x.wrapping_add(k * V::LANES))); $e })
        });
    };
    (@ $name:ident raw $acc:ident $operands:ident $state:ident $i:ident => $e:expr) => {
        struct $name;
        impl Act for $name {
            #[inline(always)]
            unsafe fn run<V: Vector, const FMA: bool>($acc: [V; N], $operands: [usize; 3], $state: &State, $i: usize) -> [V; N] {
                // SAFETY: the caller's.
                unsafe { $e }
            }
        }
    };
}

/// Two codes of one operand each, one after the other.
struct Then<A, B>(PhantomData<(A, B)>);

impl<A: Act, B: Act> Act for Then<A, B> {
    #[inline(always)]
    unsafe fn run<V: Vector, const FMA: bool>(acc: [V; N], [a, b, c]: [usize; 3], state: &State, i: usize) -> [V; N] {
        // SAFETY: the caller's.
        unsafe { B::run::<V, FMA>(A::run::<V, FMA>(acc, [a, 0, 0], state, i), [b, c, 0], state, i) }
    }
}

/// All bits of all lanes.
#[inline(always)]
unsafe fn set<V: Vector>() -> V {
    // SAFETY: the caller's.
    unsafe { V::splat(f32::from_bits(u32::MAX)) }
}

/// `a` where it is above `b` or NaN, otherwise `b`: NaN if either is.
#[inline(always)]
unsafe fn max<V: Vector>(a: V, b: V) -> V {
    // SAFETY: the caller's.
    unsafe { b.lt(a).or(a.eq(a).xor(set())).choose(a, b) }
}

/// As [`max`].
#[inline(always)]
unsafe fn min<V: Vector>(a: V, b: V) -> V {
    // SAFETY: the caller's.
    unsafe { a.lt(b).or(a.eq(a).xor(set())).choose(a, b) }
}

/// A tile in memory.
#[repr(align(64))]
struct Lanes([f32; 128]);

#[inline(always)]
unsafe fn store<V: Vector>(acc: [V; N], to: *mut f32) {
    for i in 0..N {
        // SAFETY: the caller's.
        unsafe { acc[i].store(to.add(i * V::LANES)) };
    }
}

#[inline(always)]
unsafe fn load<V: Vector>(from: *const f32) -> [V; N] {
    // SAFETY: the caller's.
    unsafe { each!(i => V::load(from.add(i * V::LANES))) }
}

/// Whether a choice by one truth value is the accumulator.
#[inline(always)]
unsafe fn is_true(operands: [usize; 3], state: &State) -> bool {
    // SAFETY: the caller's.
    unsafe { *state.place(operands[0]) != 0 }
}

acts! {
    Load raw |_acc, operands, state, i| load(state.lanes(operands[0], i));
    LoadU number |_a, x| x;
    LoadBool raw |_acc, operands, state, i| {
        let from = state.place(operands[0]).wrapping_add(i);
        let mut lanes = Lanes([0.0; 128]);
        for k in 0..N * V::LANES {
            lanes.0[k] = f32::from_bits(0u32.wrapping_sub(u32::from(*from.add(k) != 0)));
        }
        load(lanes.0.as_ptr())
    };
    Store raw |acc, operands, state, i| { store(acc, state.lanes(operands[0], i)); acc };
    StoreBool raw |acc, operands, state, i| {
        let to = state.place(operands[0]).wrapping_add(i);
        let mut lanes = Lanes([0.0; 128]);
        store(acc, lanes.0.as_mut_ptr());
        for k in 0..N * V::LANES {
            *to.add(k) = (lanes.0[k].to_bits() & 1) as u8;
        }
        acc
    };
    Add lanes |a, x| a.add(x);
    AddU number |a, x| a.add(x);
    Sub lanes |a, x| a.sub(x);
    SubU number |a, x| a.sub(x);
    SubR lanes |a, x| x.sub(a);
    SubRU number |a, x| x.sub(a);
    Mul lanes |a, x| a.mul(x);
    MulU number |a, x| a.mul(x);
    Div lanes |a, x| a.div(x);
    DivU number |a, x| a.div(x);
    DivR lanes |a, x| x.div(a);
    DivRU number |a, x| x.div(a);
    Max lanes |a, x| max(a, x);
    MaxU number |a, x| max(a, x);
    MaxR lanes |a, x| max(x, a);
    MaxRU number |a, x| max(x, a);
    Min lanes |a, x| min(a, x);
    MinU number |a, x| min(a, x);
    MinR lanes |a, x| min(x, a);
    MinRU number |a, x| min(x, a);
    Eq lanes |a, x| a.eq(x);
    EqU number |a, x| a.eq(x);
    Ne lanes |a, x| a.eq(x).xor(set());
    NeU number |a, x| a.eq(x).xor(set());
    Lt lanes |a, x| a.lt(x);
    LtU number |a, x| a.lt(x);
    Le lanes |a, x| a.le(x);
    LeU number |a, x| a.le(x);
    Gt lanes |a, x| x.lt(a);
    GtU number |a, x| x.lt(a);
    Ge lanes |a, x| x.le(a);
    GeU number |a, x| x.le(a);
    MulAdd lanes |a, x, y| a.add(x.mul(y));
    MulAddU number |a, x, y| a.add(x.mul(y));
    Choose lanes |a, x, y| x.choose(a, y);
    ChooseU number |a, x, y| x.choose(a, y);
    ChooseR lanes |a, x, y| x.choose(y, a);
    ChooseRU number |a, x, y| x.choose(y, a);
    Pick raw |acc, operands, state, i| if is_true(operands, state) { acc } else { load(state.lanes(operands[1], i)) };
    PickU raw |acc, operands, state, _i| if is_true(operands, state) { acc } else { [V::splat(*state.place(operands[1]).cast()); N] };
    PickR raw |acc, operands, state, i| if is_true(operands, state) { load(state.lanes(operands[1], i)) } else { acc };
    PickRU raw |acc, operands, state, _i| if is_true(operands, state) { [V::splat(*state.place(operands[1]).cast()); N] } else { acc };
    Neg plain |a| a.xor(V::splat(-0.0));
    Abs plain |a| a.and(V::splat(f32::from_bits(0x7fff_ffff)));
    Sign plain |a| {
        let zero = V::splat(0.0);
        zero.lt(a).choose(V::splat(1.0), a.lt(zero).choose(V::splat(-1.0), zero))
    };
    Relu plain |a| max(a, V::splat(0.0));
    Sqrt plain |a| a.sqrt();
    Rsqrt plain |a| V::splat(1.0).div(a.sqrt());
    Recip plain |a| V::splat(1.0).div(a);
    Exp raw |acc, _operands, _state, _i| {
        let mut lanes = Lanes([0.0; 128]);
        store(acc, lanes.0.as_mut_ptr());
        for x in &mut lanes.0[..N * V::LANES] {
            *x = <kernels::Exp<f32> as Unary>::f::<FMA>(*x);
        }
        load(lanes.0.as_ptr())
    };
    Call raw |acc, operands, state, _i| {
        let (mut from, mut to) = (Lanes([0.0; 128]), Lanes([0.0; 128]));
        store(acc, from.0.as_mut_ptr());
        let from = from.0.as_ptr().cast::<u8>();
        (*state.calls.add(operands[0]))(to.0.as_mut_ptr().cast(), from, from, from, N * V::LANES);
        load(to.0.as_ptr())
    };
    Sum raw |acc, _operands, state, i| {
        let sums = state.sums.add(i & state.ring);
        for k in 0..N {
            let at = sums.add(k * V::LANES);
            V::load(at).add(acc[k]).store(at);
        }
        acc
    };
}

/// Runs steps over the tiles of `state.n` lanes.
type RunFn = unsafe fn(&[Threaded], &State);

/// The function of a code, by the type of its name.
macro_rules! function {
    ($code:expr, $step:ident) => {
        function!(@ $code, $step: Load LoadU LoadBool Store StoreBool Add AddU Sub SubU SubR SubRU Mul MulU Div DivU DivR DivRU Max MaxU MaxR
            MaxRU Min MinU MinR MinRU Eq EqU Ne NeU Lt LtU Le LeU Gt GtU Ge GeU MulAdd MulAddU Choose ChooseU ChooseR ChooseRU Pick PickU
            PickR PickRU Neg Abs Sign Relu Sqrt Rsqrt Recip Exp Call Sum)
    };
    (@ $code:expr, $step:ident: $($one:ident)*) => { match $code { $(Code::$one => $step::<super::$one> as F),* } };
}

/// The function of two codes, one after the other, or of three that begin with a load: of what is little work, and so most of whose time
/// would go on the way from step to step.
macro_rules! functions {
    ($codes:expr, $step:ident) => {
        functions!(@ $codes, $step: [Add AddU Sub SubU SubR SubRU Mul MulU DivR])
    };
    (@ $codes:expr, $step:ident: [$($a:ident)*]) => {
        match *$codes {
            [Code::Load, second] => match second { $(Code::$a => Some($step::<Then<super::Load, super::$a>> as F),)* _ => None },
            $([Code::$a, second] => functions!(2 second, $step: $a [Add AddU Sub SubU SubR SubRU Mul MulU Store]),)*
            $([Code::Load, Code::$a, third] => functions!(3 third, $step: $a [Add AddU Sub SubU SubR Mul MulU Store]),)*
            _ => None,
        }
    };
    (2 $second:ident, $step:ident: $a:ident [$($b:ident)*]) => {
        match $second { $(Code::$b => Some($step::<Then<super::$a, super::$b>> as F),)* _ => None }
    };
    (3 $third:ident, $step:ident: $a:ident [$($b:ident)*]) => {
        match $third { $(Code::$b => Some($step::<Then<super::Load, Then<super::$a, super::$b>>> as F),)* _ => None }
    };
}

/// A tier's steps and the function that runs them.
macro_rules! tier {
    ($module:ident, $v:ty, $fma:expr, $abi:literal $(, $feature:meta)?) => {
        // The types of vectors have no layout of C, but functions of this module are called by its own alone.
        #[allow(improper_ctypes_definitions)]
        mod $module {
            use super::*;

            /// A step as a function of the lane that its tile begins at, and of the tile.
            type F = unsafe extern $abi fn(*const Threaded, *const State, usize, $v, $v, $v, $v, $v, $v, $v, $v);

            /// # Safety
            /// As for [`Act::run`]; the steps end with [`end`].
            $(#[$feature])?
            unsafe extern $abi fn step<A: Act>(
                step: *const Threaded, state: *const State, i: usize,
                a: $v, b: $v, c: $v, d: $v, e: $v, f: $v, g: $v, h: $v,
            ) {
                // SAFETY: the caller's; after a step that is not the end there is another, of this tier.
                unsafe {
                    let operands = [(*step).a, (*step).b, (*step).c];
                    let [a, b, c, d, e, f, g, h] = A::run::<$v, { $fma }>([a, b, c, d, e, f, g, h], operands, &*state, i);
                    let next = step.add(1);
                    std::mem::transmute::<unsafe fn(), F>((*next).f)(next, state, i, a, b, c, d, e, f, g, h)
                }
            }

            /// The end of a tile.
            ///
            /// # Safety
            /// None.
            $(#[$feature])?
            unsafe extern $abi fn end(
                _: *const Threaded, _: *const State, _: usize, _: $v, _: $v, _: $v, _: $v, _: $v, _: $v, _: $v, _: $v,
            ) {
            }

            /// The steps of words: as many words in one step as there is a step for.
            pub(in super::super) fn steps(words: &[Word]) -> Vec<Threaded> {
                // SAFETY: only pointers to functions, which are given their type again before they are called.
                let erased = |f: F| unsafe { std::mem::transmute::<F, unsafe fn()>(f) };
                let mut steps = Vec::new();
                let mut rest = words;
                while let [word, after @ ..] = rest {
                    let codes: SmallVec<[Code; 3]> = rest.iter().take(3).map(|word| word.code).collect();
                    let several = (2..=codes.len()).rev().find_map(|n| Some((n, functions!(&codes[..n], step)?)));
                    let (f, [a, b, c]) = match several {
                        Some((n, f)) => (f, [word.a, rest[1].a, if n == 3 { rest[2].a } else { 0 }]),
                        None => (function!(word.code, step), [word.a, word.b, 0]),
                    };
                    steps.push(Threaded { f: erased(f), a: a.into(), b: b.into(), c: c.into() });
                    rest = several.map_or(after, |(n, _)| &rest[n..]);
                }
                steps.push(Threaded { f: erased(end), a: 0, b: 0, c: 0 });
                steps
            }

            /// # Safety
            /// Places have the lanes, and the machine the tier's instructions.
            $(#[$feature])?
            pub(in super::super) unsafe fn run(steps: &[Threaded], state: &State) {
                const TILE: usize = N * <$v as Vector>::LANES;
                // SAFETY: the caller's.
                unsafe {
                    let zero = <$v as Vector>::splat(0.0);
                    let first = std::mem::transmute::<unsafe fn(), F>(steps[0].f);
                    let at = steps.as_ptr();
                    for i in (0..state.n).step_by(TILE) {
                        first(at, state, i, zero, zero, zero, zero, zero, zero, zero, zero);
                    }
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
tier!(baseline, std::arch::x86_64::__m128, false, "sysv64");
#[cfg(not(target_arch = "x86_64"))]
tier!(baseline, super::vector::Four, cfg!(target_arch = "aarch64"), "C");
#[cfg(target_arch = "x86_64")]
tier!(avx2, std::arch::x86_64::__m256, true, "sysv64", target_feature(enable = "avx2,fma,f16c,bmi1,bmi2"));
#[cfg(target_arch = "x86_64")]
tier!(
    avx512,
    std::arch::x86_64::__m512,
    true,
    "sysv64",
    target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2")
);

/// Words, as steps of a tier that goes on by this many lanes.
#[derive(Debug)]
pub(super) struct Steps {
    steps: Vec<Threaded>,
    run: RunFn,
    pub(super) tile: usize,
}

impl Steps {
    /// The steps of a tier.
    pub(super) fn new(words: &[Word], tier: Tier) -> Steps {
        match tier {
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 => Steps { steps: avx512::steps(words), run: avx512::run, tile: 16 * N },
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => Steps { steps: avx2::steps(words), run: avx2::run, tile: 8 * N },
            _ => Steps { steps: baseline::steps(words), run: baseline::run, tile: 4 * N },
        }
    }

    /// Runs over the tiles of `state.n` lanes.
    ///
    /// # Safety
    /// Places have the lanes, and the machine the tier's instructions.
    pub(super) unsafe fn run(&self, state: &State) {
        // SAFETY: passed on.
        unsafe { (self.run)(&self.steps, state) }
    }
}
