//! Which launches of a sequence come after which: what one writes, others read or write.
//!
//! In: the memory that each launch reads and writes, in the order in which they are queued one by one. Out: of each launch, the earlier ones that it
//! follows, without those that these follow already.
//! Always: two launches of which one writes what the other touches are ordered, by a chain of what follows what, as they were queued. A launch that
//! fills the device follows all before it, and all after it follow it: beside it nothing has room, and orders are found among few launches.
//! Never: looks at addresses of another run. Where memory of a run overlaps in other ways than when the orders were found ([`Overlaps`]), they do not
//! hold.

use crate::Range;
use std::collections::{BTreeMap, HashMap};

/// Memory that a launch touches, and whether it writes there.
pub(super) type Access = (Range, bool);

/// Bytes whose last users are the same.
#[derive(Clone, Debug, Default)]
struct Segment {
    end: usize,
    writer: Option<usize>,
    /// Since the writer.
    readers: Vec<usize>,
}

/// Bits of launches since a launch that all of them follow.
#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn has(&self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    fn set(&mut self, bit: usize) {
        if self.0.len() <= bit / 64 {
            self.0.resize(bit / 64 + 1, 0);
        }
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    fn join(&mut self, other: &Bits) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }
}

/// Most launches between two that all others are ordered by: what is known of them takes so many bits of each.
const MOST_LOOSE: usize = 1024;

/// Finds orders, launch by launch.
#[derive(Debug, Default)]
pub(super) struct Hazards {
    /// By handle and first byte; segments do not overlap.
    memory: HashMap<u64, BTreeMap<usize, Segment>>,
    /// Of each launch since `first`, those that it follows, directly or not; counted from `first`.
    before: Vec<Bits>,
    /// Whether another launch follows it.
    is_followed: Vec<bool>,
    /// The launch that `before` begins with.
    first: usize,
    /// The launch that all others since `first` follow, if there is one: the one before `first`.
    floor: Option<usize>,
}

impl Hazards {
    /// The launches that the next one follows, newest first. `fills`: the device has no room for others beside it.
    pub(super) fn next(&mut self, accesses: &[Access], fills: bool) -> Vec<usize> {
        let number = self.first + self.before.len();
        if fills || self.before.len() == MOST_LOOSE {
            let open = self.is_followed.iter().enumerate().rev().filter(|(_, followed)| !**followed);
            let mut follows: Vec<usize> = open.map(|(at, _)| self.first + at).collect();
            if follows.is_empty() {
                follows.extend(self.floor);
            }
            *self = Hazards { first: number + 1, floor: Some(number), ..Hazards::default() };
            return follows;
        }
        let mut found = Vec::new();
        for (range, writes) in accesses {
            if range.len > 0 {
                self.touch(range, *writes, number, &mut found);
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        let (mut follows, mut before) = (Vec::new(), Bits::default());
        for at in found {
            let place = at - self.first;
            if !before.has(place) {
                before.set(place);
                before.join(&self.before[place]);
                self.is_followed[place] = true;
                follows.push(at);
            }
        }
        if follows.is_empty() {
            follows.extend(self.floor);
        }
        self.before.push(before);
        self.is_followed.push(false);
        follows
    }

    /// Adds the launches since `first` that one follows for what it does there, and remembers it.
    fn touch(&mut self, range: &Range, writes: bool, by: usize, found: &mut Vec<usize>) {
        let segments = self.memory.entry(range.handle).or_default();
        let (begin, end) = (range.offset, range.offset.saturating_add(range.len));
        split(segments, begin);
        split(segments, end);
        let mut free = begin;
        let mut gaps = Vec::new();
        for (at, segment) in segments.range_mut(begin..end) {
            if free < *at {
                gaps.push(free..*at);
            }
            free = segment.end;
            // Its own accesses do not order it.
            found.extend(segment.writer.filter(|writer| *writer != by));
            if writes {
                found.extend(segment.readers.drain(..).filter(|reader| *reader != by));
                segment.writer = Some(by);
            } else if segment.writer != Some(by) && segment.readers.last() != Some(&by) {
                segment.readers.push(by);
            }
        }
        if free < end {
            gaps.push(free..end);
        }
        for gap in gaps {
            let (writer, readers) = if writes { (Some(by), Vec::new()) } else { (None, vec![by]) };
            segments.insert(gap.start, Segment { end: gap.end, writer, readers });
        }
    }
}

/// A segment that a byte lies in begins there afterwards.
fn split(segments: &mut BTreeMap<usize, Segment>, at: usize) {
    let Some((_, segment)) = segments.range_mut(..at).next_back() else { return };
    if segment.end > at {
        let rest = segment.clone();
        segment.end = at;
        segments.insert(at, rest);
    }
}

/// How the entries of a run's table overlap: which, and by how many bytes the later one begins after the earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Overlaps(Vec<(usize, usize, usize)>);

impl Overlaps {
    /// Of the memory of a run.
    pub(super) fn new(table: &[Range]) -> Overlaps {
        let mut order: Vec<usize> = (0..table.len()).filter(|entry| table[*entry].len > 0).collect();
        order.sort_unstable_by_key(|entry| (table[*entry].handle, table[*entry].offset, *entry));
        let mut pairs = Vec::new();
        // The entry that reaches farthest of those that begin before: what overlaps with any of them overlaps with a chain of such entries.
        let mut last: Option<usize> = None;
        for entry in order {
            let range = table[entry];
            let reaches = |at: usize| (table[at].handle, table[at].offset.saturating_add(table[at].len));
            if let Some(before) = last
                && reaches(before) > (range.handle, range.offset)
            {
                pairs.push((before, entry, range.offset - table[before].offset));
                if reaches(before) >= reaches(entry) {
                    continue;
                }
            }
            last = Some(entry);
        }
        Overlaps(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unigrad_kernel::testing::Rng;

    fn touches(a: &[Access], b: &[Access]) -> bool {
        let meet = |x: &Range, y: &Range| {
            x.handle == y.handle && x.len.min(y.len) > 0 && x.offset < y.offset + y.len && y.offset < x.offset + x.len
        };
        a.iter().any(|(x, writes)| b.iter().any(|(y, also)| (*writes || *also) && meet(x, y)))
    }

    /// Random memory of few handles, in all ways to overlap.
    fn accesses(random: &mut Rng) -> Vec<Access> {
        let range = |random: &mut Rng| {
            let (offset, len) = (random.below(12), random.below(6));
            Range { handle: random.below(3) as u64, offset, len }
        };
        (0..random.below(5)).map(|_| (range(random), random.below(3) == 0)).collect()
    }

    /// Whether each launch follows another one, directly or not.
    fn closure(follows: &[Vec<usize>]) -> Vec<Vec<bool>> {
        let mut before: Vec<Vec<bool>> = Vec::new();
        for of in follows {
            let mut all = vec![false; follows.len()];
            for at in of {
                all[*at] = true;
                before[*at].iter().enumerate().filter(|(_, is)| **is).for_each(|(below, _)| all[below] = true);
            }
            before.push(all);
        }
        before
    }

    #[test]
    fn what_touches_is_ordered_and_no_more() {
        for seed in 0..400 {
            let mut random = Rng(seed);
            let n = 1 + random.below(40);
            let fills_often = [0, 9, 3][random.below(3)];
            let launches: Vec<(Vec<Access>, bool)> =
                (0..n).map(|_| (accesses(&mut random), fills_often > 0 && random.below(fills_often) == 0)).collect();
            let mut hazards = Hazards::default();
            let follows: Vec<Vec<usize>> = launches.iter().map(|(accesses, fills)| hazards.next(accesses, *fills)).collect();
            let before = closure(&follows);
            // What the order has to be: the closure of all pairs that touch, and of what fills the device.
            let must: Vec<Vec<usize>> = (0..n)
                .map(|b| (0..b).filter(|a| launches[*a].1 || launches[b].1 || touches(&launches[*a].0, &launches[b].0)).collect())
                .collect();
            assert_eq!(before, closure(&must), "seed {seed}: {launches:?}");
            for (at, of) in follows.iter().enumerate() {
                let is_needless = |a: &usize| of.iter().any(|b| a != b && before[*b][*a]);
                assert!(!of.iter().any(is_needless), "seed {seed}: {at} follows {of:?}");
            }
        }
    }

    #[test]
    fn long_sequences_are_ordered_in_parts() {
        let alone = |at: usize| [(Range { handle: at as u64, offset: 0, len: 4 }, true)];
        let mut hazards = Hazards::default();
        let follows: Vec<Vec<usize>> = (0..2 * MOST_LOOSE + 2).map(|at| hazards.next(&alone(at), false)).collect();
        assert!(follows[..MOST_LOOSE].iter().all(Vec::is_empty));
        assert_eq!(follows[MOST_LOOSE].len(), MOST_LOOSE, "it follows all");
        assert!(follows[MOST_LOOSE + 1..=2 * MOST_LOOSE].iter().all(|of| *of == [MOST_LOOSE]));
    }

    #[test]
    fn overlaps_are_told_apart() {
        let range = |handle, offset, len| Range { handle, offset, len };
        let of = |table: &[Range]| Overlaps::new(table);
        let apart = of(&[range(1, 0, 64), range(2, 0, 64), range(1, 64, 64), range(1, 10, 0)]);
        assert_eq!(apart, of(&[range(7, 0, 8), range(8, 0, 8), range(9, 0, 8), range(7, 0, 0)]));
        let same = of(&[range(1, 0, 64), range(1, 0, 64), range(2, 0, 64)]);
        assert_ne!(same, of(&[range(1, 0, 64), range(2, 0, 64), range(1, 0, 64)]));
        assert_eq!(same, of(&[range(5, 64, 64), range(5, 64, 64), range(5, 0, 64)]));
        assert_ne!(same, of(&[range(1, 0, 64), range(1, 32, 64), range(2, 0, 64)]));
        // A long one that holds several.
        assert_eq!(of(&[range(1, 0, 64), range(1, 8, 8), range(1, 16, 8)]).0, [(0, 1, 8), (0, 2, 16)]);
    }
}
