//! Operands that many launches of a sequence multiply by, packed once: the weights of a recurrent layer, at every step.
//!
//! In: prepared launches; per run, where memory begins. Out: for a launch, where the panels of its operand are, and whether it is the one to pack them.
//! Always: panels serve launches of one run only, between which no launch writes to what they were packed from: by the launches' own ranges within an entry of the
//! table, and between entries by the addresses that a run gives them. Never: looks at contents, or keeps panels from one run to the next.

use super::{Argument, PreparedLaunch, own};
use crate::contract::{Panels, scratch::Block};
use smallvec::SmallVec;
use std::{cell::RefCell, collections::HashMap, ops::Range};

/// Fewer uses do not pay for packing: it takes about as long as one of the products that it speeds up.
const MIN_USES: usize = 4;
/// Smaller operands stay in the nearest caches however they lie.
const MIN_BYTES: usize = 1 << 15;
/// Most bytes of panels that a thread keeps.
const MOST_BYTES: usize = 32 << 20;

/// Launches that share an operand.
#[derive(Debug, PartialEq)]
struct SharedOperand {
    /// The operand's entry and bytes in it.
    entry: usize,
    bytes: Range<usize>,
    /// From the first of the launches to the last, and how many there are.
    launches: Range<usize>,
    uses: usize,
    /// What is written meanwhile to other entries: from the first byte to the last.
    written: Vec<(usize, Range<usize>)>,
    /// Where its panels lie in the memory for all panels.
    at: Range<usize>,
}

/// What a sequence keeps during a run.
#[derive(Debug, Default)]
pub(super) struct Kept {
    shared: Vec<SharedOperand>,
    /// By launch, if there is any: one more than which of `shared` it uses, or 0.
    of: Vec<u32>,
    bytes: usize,
}

/// What launches share: entry and offset of their operand, and how its panels are made.
type Key = (usize, usize, Panels);

fn meet<T: Ord>(a: &Range<T>, b: &Range<T>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The operand of each launch, where it may be kept.
fn operands(steps: &[PreparedLaunch]) -> Vec<Option<(Key, &Argument)>> {
    let operand = |step: &PreparedLaunch| {
        let panels = own(&*step.program).ok()?.panels().filter(|panels| (MIN_BYTES..=MOST_BYTES).contains(&panels.bytes))?;
        Some(((step.args[panels.arg].entry, step.args[panels.arg].offset, panels.clone()), panels.arg))
    };
    steps.iter().map(|step| operand(step).map(|(key, arg)| (key, &step.args[arg]))).collect()
}

impl Kept {
    pub(super) fn find(steps: &[PreparedLaunch]) -> Kept {
        let mut operands = operands(steps);
        let mut uses: HashMap<&Key, usize> = HashMap::new();
        operands.iter().flatten().for_each(|(key, _)| *uses.entry(key).or_default() += 1);
        let often: Vec<bool> = operands.iter().map(|operand| operand.as_ref().is_some_and(|(key, _)| uses[key] >= MIN_USES)).collect();
        drop(uses);
        for (operand, often) in operands.iter_mut().zip(often) {
            *operand = operand.take().filter(|_| often);
        }
        let mut found: Vec<(SharedOperand, usize, Vec<usize>)> = Vec::new();
        // Groups that go on, by what they share.
        let mut open: HashMap<&Key, usize> = HashMap::new();
        for (at, (step, operand)) in steps.iter().zip(&operands).enumerate() {
            if let Some((key, arg)) = operand {
                let group = *open.entry(key).or_insert_with(|| {
                    let shared =
                        SharedOperand { entry: arg.entry, bytes: arg.bytes(), launches: at..at, uses: 0, written: Vec::new(), at: 0..0 };
                    found.push((shared, key.2.bytes, Vec::new()));
                    found.len() - 1
                });
                found[group].0.launches.end = at + 1;
                found[group].2.push(at);
            }
            let writes = || step.args.iter().filter(|arg| arg.write && arg.len > 0);
            // What is written ends all groups that were packed from there, the launch's own too.
            open.retain(|_, group| {
                let shared = &found[*group].0;
                !writes().any(|arg| arg.entry == shared.entry && meet(&arg.bytes(), &shared.bytes))
            });
        }
        found.retain(|(shared, _, users)| users.len() >= MIN_USES && !shared.bytes.is_empty());
        let mut kept = Kept::default();
        for (mut shared, bytes, users) in found {
            let Some(at) = kept.place(&shared.launches, bytes) else { continue };
            (shared.at, shared.uses) = (at, users.len());
            let mut written: HashMap<usize, Range<usize>> = HashMap::new();
            for arg in steps[shared.launches.clone()].iter().flat_map(|step| &step.args) {
                if arg.write && arg.len > 0 && arg.entry != shared.entry {
                    let all = written.entry(arg.entry).or_insert_with(|| arg.bytes());
                    *all = all.start.min(arg.bytes().start)..all.end.max(arg.bytes().end);
                }
            }
            shared.written = written.into_iter().collect();
            kept.of.resize(steps.len(), 0);
            kept.bytes = kept.bytes.max(shared.at.end);
            kept.shared.push(shared);
            users.iter().for_each(|user| kept.of[*user] = kept.shared.len() as u32);
        }
        kept
    }

    /// The first place that no other group has meanwhile.
    fn place(&self, launches: &Range<usize>, bytes: usize) -> Option<Range<usize>> {
        let mut taken: Vec<&Range<usize>> = self.shared.iter().filter(|s| meet(&s.launches, launches)).map(|s| &s.at).collect();
        taken.sort_by_key(|at| at.start);
        let mut start = 0;
        for at in taken {
            if start + bytes <= at.start {
                break;
            }
            start = start.max(at.end.next_multiple_of(64));
        }
        (start + bytes <= MOST_BYTES).then_some(start..start + bytes)
    }

    /// What is kept in a run whose entries begin at `bases`.
    pub(super) fn begin(&self, bases: &[*mut u8]) -> Keeping<'_> {
        let addresses = |entry: usize, bytes: &Range<usize>| {
            let base = bases[entry].addr();
            base + bytes.start..base + bytes.end
        };
        let is_safe = |shared: &SharedOperand| {
            let own = addresses(shared.entry, &shared.bytes);
            !shared.written.iter().any(|(entry, bytes)| meet(&addresses(*entry, bytes), &own))
        };
        if self.shared.is_empty() {
            return Keeping { kept: self, block: Block::empty(), states: SmallVec::new() };
        }
        let states = self.shared.iter().map(|shared| if is_safe(shared) { State::Empty } else { State::Unsafe }).collect();
        Keeping { kept: self, block: BLOCK.with_borrow_mut(|block| std::mem::replace(block, Block::empty())), states }
    }
}

thread_local! {
    /// Kept between runs, so that a repeated run allocates nothing. A run inside of a run has a block of its own.
    static BLOCK: RefCell<Block> = const { RefCell::new(Block::empty()) };
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Memory that the run writes meanwhile overlaps the operand.
    Unsafe,
    Empty,
    Packed,
}

/// The panels of one run.
pub(super) struct Keeping<'a> {
    kept: &'a Kept,
    block: Block,
    states: SmallVec<[State; 16]>,
}

impl Keeping<'_> {
    /// Where the panels of this launch are, and whether it packs them; the caller launches it next.
    pub(super) fn of(&mut self, launch: usize) -> Option<(*mut u8, bool)> {
        let group = (*self.kept.of.get(launch)? as usize).checked_sub(1)?;
        let state = &mut self.states[group];
        if *state == State::Unsafe {
            return None;
        }
        let packs = std::mem::replace(state, State::Packed) == State::Empty;
        let base = self.block.reserve::<u8>(self.kept.bytes);
        // SAFETY: the block has the bytes of all panels.
        Some((unsafe { base.add(self.kept.shared[group].at.start) }, packs))
    }
}

impl Drop for Keeping<'_> {
    fn drop(&mut self) {
        if !self.states.is_empty() {
            let block = std::mem::replace(&mut self.block, Block::empty());
            // A thread that ends has no place for it any more.
            let _ = BLOCK.try_with(|place| place.replace(block));
        }
    }
}

#[cfg(test)]
mod tests;
