//! What lies in one piece in a concatenation has its memory there.
//!
//! In: launches in order. Out: of each such node, the concatenation and the byte at which it begins; the launches that would copy, which are needless.
//! Always: all of a concatenation, or none; other readers of a part read it there; a part begins where the memory of a node may begin. What is live
//! at once is at no time more than it would be at its most, counted without results that take over an operand's memory.
//! Never: what is wanted itself, an input, or a node that some launch copies to or from besides.

use crate::copies::{Concatenation, Copied, concatenations};
use crate::group::writes;
use crate::ir::{Id, Ir, IrOp};
use crate::lower::Launch;
use crate::memory::ALIGN;
use rustc_hash::{FxHashMap, FxHashSet};

/// Which nodes lie inside of others.
#[derive(Default)]
pub(crate) struct Inside {
    of: FxHashMap<Id, (Id, usize)>,
    /// Launches that only copy parts to where they are.
    pub(crate) needless: FxHashSet<usize>,
}

/// A concatenation whose parts may lie in it.
struct Whole {
    id: Id,
    parts: Vec<(Id, usize)>,
    copies: Vec<usize>,
    /// Bytes of parts times launches that they are there before they would be.
    early: usize,
}

impl Inside {
    /// The outermost node that holds this one, and the byte of it where it begins; itself if there is none.
    pub(crate) fn place(&self, id: Id) -> (Id, usize) {
        let (mut id, mut at) = (id, 0);
        while let Some((outer, offset)) = self.of.get(&id) {
            (id, at) = (*outer, at + offset);
        }
        (id, at)
    }

    /// The last launch that uses a node, or what lies in it.
    pub(crate) fn last_use(&self, launches: &[Launch]) -> FxHashMap<Id, usize> {
        let mut last_use: FxHashMap<Id, usize> = FxHashMap::default();
        for (at, launch) in launches.iter().enumerate() {
            for id in &launch.args {
                last_use.insert(*id, at);
                let outer = self.place(*id).0;
                if outer != *id {
                    last_use.insert(outer, at);
                }
            }
        }
        last_use
    }

    /// `outputs`: what is wanted.
    pub(crate) fn find(ir: &Ir, launches: &[Launch], outputs: &FxHashSet<Id>) -> Result<Inside, String> {
        let mut candidates = candidates(ir, launches, outputs)?;
        if candidates.is_empty() {
            return Ok(Inside::default());
        }
        let apart = live(ir, launches, &Inside::default())?;
        // Those whose memory is taken longest before it has to be go first.
        candidates.sort_by_key(|whole| whole.early);
        while !candidates.is_empty() {
            let inside = Inside {
                of: candidates.iter().flat_map(|whole| whole.parts.iter().map(|(part, at)| (*part, (whole.id, *at)))).collect(),
                needless: candidates.iter().flat_map(|whole| whole.copies.iter().copied()).collect(),
            };
            if live(ir, launches, &inside)? <= apart {
                return Ok(inside);
            }
            candidates.truncate(candidates.len() / 2);
        }
        Ok(Inside::default())
    }
}

fn candidates(ir: &Ir, launches: &[Launch], outputs: &FxHashSet<Id>) -> Result<Vec<Whole>, String> {
    let mut writers: FxHashMap<Id, Vec<usize>> = FxHashMap::default();
    // Nodes that lie where others do, by another rule.
    let mut elsewhere: FxHashSet<Id> = FxHashSet::default();
    for (at, launch) in launches.iter().enumerate() {
        writes(launch).for_each(|id| writers.entry(id).or_default().push(at));
        if launch.is_copy {
            elsewhere.extend(&launch.args);
        }
    }
    let is_own = |id: &Id| !outputs.contains(id) && !elsewhere.contains(id) && !matches!(ir.node(*id).op, IrOp::External(_));
    let mut taken: FxHashSet<Id> = FxHashSet::default();
    let mut wholes = Vec::new();
    for Concatenation { id, by, .. } in concatenations(launches) {
        if !is_own(&id) || writers.get(&id).map(Vec::len) != Some(by.len()) {
            continue;
        }
        let size = ir.node(id).dtype.size();
        let (mut parts, mut bytes, mut made) = (Vec::new(), 0, Vec::new());
        let mut seen: FxHashSet<Id> = FxHashSet::default();
        let all = by.iter().flat_map(|(at, copied)| copied.iter().map(move |copied| (*at, copied)));
        for (at, Copied { from, walk }) in all {
            let begin = walk.begin().map(|begin| begin * size).filter(|begin| begin % ALIGN == 0);
            let first = writers.get(from).and_then(|writers| writers.first()).filter(|first| **first < at);
            let (Some(begin), Some(first)) = (begin, first) else { break };
            if !is_own(from) || taken.contains(from) || !seen.insert(*from) {
                break;
            }
            parts.push((*from, begin));
            made.push((*first, ir.bytes(*from)?));
            bytes += ir.bytes(*from)?;
        }
        if bytes != ir.bytes(id)? || parts.len() != by.iter().map(|(_, copied)| copied.len()).sum::<usize>() {
            continue;
        }
        let begin = made.iter().map(|(at, _)| *at).min().unwrap_or(0); // DEFAULT: nothing has no parts
        let early = made.iter().map(|(at, bytes)| bytes.saturating_mul(at - begin)).fold(0, usize::saturating_add);
        taken.extend(parts.iter().map(|(part, _)| *part));
        wholes.push(Whole { id, parts, copies: by.into_iter().map(|(at, _)| at).collect(), early });
    }
    Ok(wholes)
}

/// The most bytes that are live at a launch, if parts lie inside.
fn live(ir: &Ir, launches: &[Launch], inside: &Inside) -> Result<usize, String> {
    let last_use = inside.last_use(launches);
    let mut ends: FxHashMap<usize, usize> = FxHashMap::default();
    let mut begun: FxHashSet<Id> = FxHashSet::default();
    let (mut now, mut most) = (0usize, 0usize);
    for (at, launch) in launches.iter().enumerate() {
        for id in writes(launch) {
            let outer = inside.place(id).0;
            if begun.insert(outer) {
                let bytes = ir.bytes(outer)?;
                now += bytes;
                *ends.entry(last_use.get(&outer).copied().unwrap_or(at)).or_insert(0) += bytes; // DEFAULT: what no launch reads ends where it is written
            }
        }
        most = most.max(now);
        now = now.saturating_sub(ends.remove(&at).unwrap_or(0)); // DEFAULT: nothing ends here
    }
    Ok(most)
}
