//! Chains: a run of elementwise `f32` operations, whatever their formula, over tiles of lanes that stay in registers.
//!
//! In: words (one operation each) and places (lanes in memory, one number for all lanes, or tiles of the chain's own). Out: lanes, or
//! their sum. A tile, the accumulator, is in eight registers; a word combines it with a place, and every word runs over the whole tile
//! before the next one is looked at, so that finding out what to do costs little beside doing it.
//! Always: the operations of the steps that a chain replaces, in their order within each lane, so that no result changes by a bit; a sum
//! has the tree of a plain fold.
//! Never: knows a formula: `form_chains` makes the words from the region.

use super::fold::{FOLD, WIDE};
use super::kernels::OpFn;
use super::program::{PAD, Slot};
use super::steps::{Code, State, Steps};
use crate::simd::Tier;
use smallvec::SmallVec;
use std::mem::MaybeUninit;

/// Places of a chain, at most. A multiple of a vector's addresses.
pub(super) const MAX_PLACES: usize = 32;

/// Lanes that a block has at most without being padded.
const FEW: usize = 8;

/// One operation; `a` and `b` are places, or a kernel's number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) code: Code,
    pub(super) a: u8,
    pub(super) b: u8,
}

/// Where a place is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spot {
    /// Lanes of a slot, of this many bytes each.
    Lanes(Slot, u8),
    /// One number.
    Number(Slot),
}

/// Words over places.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) words: Vec<Word>,
    pub(super) places: SmallVec<[Spot; MAX_PLACES]>,
    pub(super) outs: SmallVec<[Out; 4]>,
    /// Of places, those of the chain's own: what a tile has there, no other one reads.
    own: SmallVec<[u8; 4]>,
    calls: Vec<OpFn>,
    steps: Steps,
    /// For 64 lanes, where a tile of `steps` is longer.
    short: Option<Steps>,
}

/// A result of a chain, and the operand that it may be written over, where that is in the launch's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Out {
    pub(super) slot: Slot,
    pub(super) place: u8,
    pub(super) over: Option<Slot>,
}

/// Where places are, and bytes to the next lane.
#[derive(Clone, Copy)]
struct Addresses {
    state: State,
    strides: [usize; MAX_PLACES],
}

impl Chain {
    pub(super) fn new(
        words: Vec<Word>,
        places: SmallVec<[Spot; MAX_PLACES]>,
        outs: SmallVec<[Out; 4]>,
        own: SmallVec<[u8; 4]>,
        calls: Vec<OpFn>,
        tier: Tier,
    ) -> Chain {
        let steps = Steps::new(&words, tier);
        let short = (steps.tile > PAD).then(|| Steps::new(&words, Tier::Avx2));
        Chain { words, places, outs, own, calls, steps, short }
    }

    /// The slots it reads or writes.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.places.iter().map(|place| match place {
            Spot::Lanes(slot, _) | Spot::Number(slot) => *slot,
        })
    }

    /// Whether the slot is of the chain's own.
    pub(super) fn owns(&self, slot: Slot) -> bool {
        self.own.iter().any(|place| matches!(self.places[usize::from(*place)], Spot::Lanes(s, _) if s == slot))
    }

    /// Whether it reads or writes lanes of the slot.
    pub(super) fn has_lanes(&self, slot: Slot) -> bool {
        self.places.iter().any(|place| matches!(place, Spot::Lanes(s, _) if *s == slot))
    }

    /// Whether the slot is an operand that is not read any more once the place is written: then that result may be written over it.
    pub(super) fn is_done_with(&self, slot: Slot, out: u8) -> bool {
        let Some(read) = self.places.iter().position(|place| matches!(place, Spot::Lanes(s, _) if *s == slot)) else { return false };
        let names = |word: &Word| word.reads().contains(&Some(read as u8));
        let written = self.words.iter().position(|word| word.code == Code::Store && word.a == out);
        written.is_some_and(|at| !self.words[at..].iter().any(names))
    }

    fn addresses(&self, ptr: impl Fn(Slot) -> *mut u8) -> Addresses {
        let nowhere = std::ptr::null_mut::<u8>();
        let state = State { at: [nowhere; MAX_PLACES], sums: nowhere.cast(), calls: self.calls.as_ptr(), ring: 0, n: 0 };
        let mut to = Addresses { state, strides: [0; MAX_PLACES] };
        for (k, place) in self.places.iter().enumerate() {
            (to.state.at[k], to.strides[k]) = match place {
                Spot::Lanes(slot, bytes) => (ptr(*slot), usize::from(*bytes)),
                Spot::Number(slot) => (ptr(*slot), 0),
            };
        }
        // They stay where they are when other places go on.
        self.own.iter().for_each(|place| to.strides[usize::from(*place)] = 0);
        to
    }

    /// Runs on `n` lanes, a multiple of 64, and goes on to those behind them; sums go around a ring of `ring` lanes, a power of two.
    ///
    /// # Safety
    /// Places have the lanes.
    unsafe fn lanes(&self, to: &mut Addresses, n: usize, ring: usize) {
        to.state.ring = ring - 1;
        // Tiles that are no longer than 64 lanes are whole.
        let head = if self.short.is_some() { n / self.steps.tile * self.steps.tile } else { n };
        let rest = self.short.as_ref().map(|short| (short, n - head));
        for (steps, n) in [(&self.steps, head)].into_iter().chain(rest).filter(|(_, n)| *n > 0) {
            to.state.n = n;
            // SAFETY: as promised; the machine has the tier's instructions.
            unsafe { steps.run(&to.state) };
            for (at, stride) in to.state.at.iter_mut().zip(&to.strides) {
                *at = at.wrapping_add(stride * n);
            }
        }
    }

    /// Runs on `n` lanes, at most 8 or a multiple of 64. Slots of its own have room for `room` lanes, a multiple of 64.
    ///
    /// # Safety
    /// `ptr` gives `n` lanes, or one number, for every slot that is not its own. Results overlap neither each other nor operands, but for one
    /// that lies exactly over the operand that it may.
    pub(super) unsafe fn run(&self, n: usize, room: usize, ptr: impl Fn(Slot) -> *mut u8) {
        let mut to = self.addresses(ptr);
        let room = if self.own.is_empty() { n } else { room };
        // SAFETY: as promised.
        unsafe {
            if n > FEW {
                return (0..n).step_by(room.max(PAD)).for_each(|at| self.lanes(&mut to, room.max(PAD).min(n - at), PAD));
            }
            self.few(n, &to, |to| self.lanes(to, PAD, PAD));
        }
    }

    /// Runs `f` where all places have 64 lanes, though the slots have `n` only.
    ///
    /// # Safety
    /// As for [`Chain::run`].
    unsafe fn few(&self, n: usize, to: &Addresses, f: impl FnOnce(&mut Addresses)) {
        let mut copies = [const { MaybeUninit::<[u8; PAD * 4]>::uninit() }; MAX_PLACES];
        let mut inside = *to;
        // SAFETY: as promised.
        unsafe {
            for (k, bytes) in to.strides.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
                inside.state.at[k] = copies[k].write([0; PAD * 4]).as_mut_ptr();
                if !self.outs.iter().any(|out| usize::from(out.place) == k) {
                    std::ptr::copy_nonoverlapping(to.state.at[k], inside.state.at[k], n * bytes);
                }
            }
            f(&mut inside);
            for out in &self.outs {
                let k = usize::from(out.place);
                std::ptr::copy_nonoverlapping(copies[k].as_ptr().cast::<u8>(), to.state.at[k], n * to.strides[k]);
            }
        }
    }

    /// Adds the value of each of `n` lanes to the accumulator `acc`, as `fold` would that sums `f32`.
    ///
    /// # Safety
    /// As for [`Chain::run`], with lanes for the next multiple of 64 where `n` is above 8; `acc` is an aligned `f64`.
    pub(super) unsafe fn run_sum(&self, n: usize, fold: OpFn, acc: *mut u8, ptr: impl Fn(Slot) -> *mut u8) {
        let mut to = self.addresses(ptr);
        let mut tail = Sums([0.0; WIDE]);
        // SAFETY: as promised; sums have as many lanes as their ring.
        unsafe {
            if n < FOLD {
                to.state.sums = tail.0.as_mut_ptr();
                if n > FEW {
                    self.lanes(&mut to, PAD, PAD)
                } else {
                    self.few(n, &to, |to| self.lanes(to, PAD, PAD))
                };
                let tail = tail.0.as_ptr().cast::<u8>();
                return fold(acc, tail, tail, tail, n);
            }
            let mut sums = Sums([0.0; WIDE]);
            to.state.sums = sums.0.as_mut_ptr();
            let mut rest = n;
            if n >= 2 * WIDE {
                self.lanes(&mut to, n / WIDE * WIDE, WIDE);
                let sums = &mut sums.0;
                for i in 0..FOLD {
                    sums[i] = (sums[i] + sums[i + 2 * FOLD]) + (sums[i + FOLD] + sums[i + 3 * FOLD]);
                }
                rest = n % WIDE;
            }
            while rest >= FOLD {
                // 64 at a time: each time to the same sums.
                self.lanes(&mut to, FOLD, FOLD);
                rest -= FOLD;
            }
            if rest > 0 {
                to.state.sums = tail.0.as_mut_ptr();
                self.lanes(&mut to, FOLD, FOLD);
                for (sum, value) in sums.0.iter_mut().zip(&tail.0[..rest]) {
                    *sum += value;
                }
            }
            let sums = &mut sums.0;
            for width in [32, 16, 8, 4] {
                for i in 0..width {
                    sums[i] += sums[i + width];
                }
            }
            *acc.cast::<f64>() += f64::from((sums[0] + sums[2]) + (sums[1] + sums[3]));
        }
    }
}

/// Sums of lanes that are kept apart.
#[repr(align(64))]
struct Sums([f32; WIDE]);

impl Word {
    /// The places it reads.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most operations read one place")]
    pub(super) fn reads(&self) -> [Option<u8>; 2] {
        match self.code {
            Code::Store | Code::StoreBool | Code::Call | Code::Sum => [None, None],
            Code::Neg | Code::Abs | Code::Sign | Code::Relu | Code::Sqrt | Code::Rsqrt | Code::Recip | Code::Exp => [None, None],
            Code::MulAdd
            | Code::MulAddU
            | Code::Choose
            | Code::ChooseU
            | Code::ChooseR
            | Code::ChooseRU
            | Code::Pick
            | Code::PickU
            | Code::PickR
            | Code::PickRU => [Some(self.a), Some(self.b)],
            _ => [Some(self.a), None],
        }
    }
}
