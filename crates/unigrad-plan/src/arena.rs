//! The arena of a plan while its launches are walked: which bytes are taken at the moment.
//!
//! In: how many bytes a node wants and which launch uses it last; launches that are over. Out: offsets.
//! Always: a node gets the smallest gap that it fits in, of equal ones the first, else the end; a question takes time logarithmic in what is live.

use crate::ir::Id;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// A live block.
struct Block {
    bytes: usize,
    node: Id,
    /// The last launch that uses it.
    last: usize,
}

#[derive(Default)]
pub(crate) struct Arena {
    /// Live blocks by offset.
    live: BTreeMap<usize, Block>,
    offset_of: FxHashMap<Id, usize>,
    /// The free bytes before each live block: how many, and where they begin.
    gaps: BTreeSet<(usize, usize)>,
    /// Offsets of blocks by a launch that was once the last to use them.
    ends: FxHashMap<usize, Vec<usize>>,
    /// Most bytes at any time.
    pub(crate) bytes: usize,
}

impl Arena {
    /// Where a node begins that is used up to launch `last`.
    pub(crate) fn take(&mut self, node: Id, bytes: usize, last: usize) -> usize {
        let gap = self.gaps.range((bytes, 0)..).next().copied();
        let offset = match gap {
            Some((size, offset)) => {
                self.gaps.remove(&(size, offset));
                self.add_gap(offset + bytes, offset + size);
                offset
            }
            None => self.live.last_key_value().map_or(0, |(offset, block)| offset + block.bytes), // DEFAULT: an empty arena ends where it begins
        };
        self.live.insert(offset, Block { bytes, node, last });
        self.offset_of.insert(node, offset);
        self.ends.entry(last).or_default().push(offset);
        self.bytes = self.bytes.max(offset + bytes);
        offset
    }

    /// Gives a live node's bytes to another one, if it has so many.
    pub(crate) fn inherit(&mut self, from: Id, node: Id, bytes: usize, last: usize) -> Option<usize> {
        let offset = *self.offset_of.get(&from)?;
        let block = self.live.get_mut(&offset).filter(|block| block.bytes == bytes)?;
        (block.node, block.last) = (node, last);
        self.offset_of.remove(&from);
        self.offset_of.insert(node, offset);
        self.ends.entry(last).or_default().push(offset);
        Some(offset)
    }

    /// A launch is over: frees what it was the last to use.
    pub(crate) fn end(&mut self, launch: usize) {
        for offset in self.ends.remove(&launch).into_iter().flatten() {
            // What has inherited it may be used later.
            if self.live.get(&offset).is_none_or(|block| block.last != launch) {
                continue;
            }
            let Some(block) = self.live.remove(&offset) else { continue };
            self.offset_of.remove(&block.node);
            let begin = self.live.range(..offset).next_back().map_or(0, |(offset, block)| offset + block.bytes); // DEFAULT: the arena's begin
            let next = self.live.range(offset..).next().map(|(next, _)| *next);
            self.gaps.remove(&(offset - begin, begin));
            if let Some(next) = next {
                let end = offset + block.bytes;
                self.gaps.remove(&(next - end, end));
                self.add_gap(begin, next);
            }
        }
    }

    fn add_gap(&mut self, begin: usize, end: usize) {
        if end > begin {
            self.gaps.insert((end - begin, begin));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by looking at every block.
    #[derive(Default)]
    struct Plain(Vec<(usize, usize, Id, usize)>);

    impl Plain {
        fn take(&mut self, node: Id, bytes: usize, last: usize) -> usize {
            let (mut best, mut end): (Option<(usize, usize)>, usize) = (None, 0);
            for (offset, size, ..) in &self.0 {
                let gap = offset - end;
                if gap >= bytes && best.is_none_or(|(_, best)| gap < best) {
                    best = Some((end, gap));
                }
                end = offset + size;
            }
            let offset = best.map_or(end, |(offset, _)| offset);
            let at = self.0.partition_point(|block| block.0 < offset);
            self.0.insert(at, (offset, bytes, node, last));
            offset
        }
    }

    #[test]
    fn the_smallest_gap_is_found() {
        let mut state = 1u64;
        let mut number = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        for _ in 0..50 {
            let (mut arena, mut plain) = (Arena::default(), Plain::default());
            let mut node = 0;
            for launch in 0..200 {
                for _ in 0..number(4) {
                    let (bytes, last) = (1 + number(5), launch + number(12));
                    assert_eq!(arena.take(node, bytes, last), plain.take(node, bytes, last));
                    node += 1;
                }
                if let Some(at) = (!plain.0.is_empty()).then(|| number(plain.0.len())) {
                    let (offset, bytes, from, last) = plain.0[at];
                    let later = last.max(launch + number(9));
                    assert_eq!(arena.inherit(from, node, bytes + 1, later), None);
                    assert_eq!(arena.inherit(from, node, bytes, later), Some(offset));
                    plain.0[at] = (offset, bytes, node, later);
                    node += 1;
                }
                arena.end(launch);
                plain.0.retain(|block| block.3 > launch);
                let live: Vec<usize> = plain.0.iter().map(|block| block.0).collect();
                assert_eq!(arena.live.keys().copied().collect::<Vec<_>>(), live);
            }
        }
    }
}
