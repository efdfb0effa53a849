//! What memory depends on: which launches' results are in which bytes, as far as these launches may have failed.
//!
//! In: launches with the ranges they read and write. Out: per range the launches, with their checks, that it was computed from; and for a sequence
//! the same before it runs.
//! Always: after a sequence the same is known as after its launches one by one. Bytes that depend on the same launches share one list of them: all
//! parameters of a training step do, step after step, so a step costs one list, however many results it has.

use crate::Range;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::{collections::hash_map::Entry, sync::Arc};
use unigrad_kernel::Flow;

/// A launch that can fail, by number.
pub(crate) type LaunchId = u64;

/// Checks of a launch ([`unigrad_kernel::check_bit`]) that some bytes depend on.
pub(crate) type Source = (LaunchId, u32);

/// Launches, each once, ascending, with all its checks.
pub(crate) type Sources = Arc<[Source]>;

/// All launches of these lists, and of one's own. A list that has all of them already is the result.
fn united(lists: &[Sources], own: &[Source]) -> Sources {
    let mut distinct: SmallVec<[&Sources; 8]> = SmallVec::new();
    for list in lists {
        if !list.is_empty() && !distinct.iter().any(|known| Arc::ptr_eq(known, list)) {
            distinct.push(list);
        }
    }
    match (distinct.as_slice(), own) {
        ([], []) => return Arc::default(),
        ([one], []) => return Arc::clone(one),
        _ => {}
    }
    let mut sources: Vec<Source> = Vec::with_capacity(distinct.iter().map(|list| list.len()).sum::<usize>() + own.len());
    distinct.iter().for_each(|list| sources.extend_from_slice(list));
    sources.extend_from_slice(own);
    sources.sort_unstable();
    sources.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        kept.1 |= if same { later.1 } else { 0 };
        same
    });
    sources.into()
}

/// Bytes of a buffer that hold results of launches.
#[derive(Clone, Debug)]
struct Taint {
    start: usize,
    end: usize,
    sources: Sources,
}

/// What several parts of memory depend on.
type Lists = SmallVec<[Sources; 16]>;

/// Of a buffer: mostly all of it depends on the same.
type Parts = SmallVec<[Taint; 1]>;

/// By buffer, what its bytes depend on.
#[derive(Debug, Default)]
pub(crate) struct Taints(FxHashMap<u64, Parts>);

impl Taints {
    pub(crate) fn sources(&self, range: Range) -> Sources {
        let mut lists = Lists::new();
        self.lists(range, &mut lists);
        united(&lists, &[])
    }

    /// Appends what parts of a range depend on.
    fn lists(&self, range: Range, lists: &mut Lists) {
        let Some(taints) = self.0.get(&range.handle) else { return };
        let (start, end) = (range.offset, range.offset + range.len);
        lists.extend(taints.iter().filter(|t| t.start < end && start < t.end).map(|t| Arc::clone(&t.sources)));
    }

    /// What is in a range is written anew, from the results of `sources`.
    pub(crate) fn overwrite(&mut self, range: Range, sources: &Sources) {
        let (start, end) = (range.offset, range.offset + range.len);
        if start == end {
            return;
        }
        let taints = match self.0.entry(range.handle) {
            Entry::Vacant(none) => {
                if !sources.is_empty() {
                    none.insert(smallvec![Taint { start, end, sources: Arc::clone(sources) }]);
                }
                return;
            }
            Entry::Occupied(some) => {
                // Mostly the whole of what is there is written anew.
                if some.get().iter().all(|one| one.start >= start && one.end <= end) {
                    if sources.is_empty() {
                        some.remove();
                    } else {
                        *some.into_mut() = smallvec![Taint { start, end, sources: Arc::clone(sources) }];
                    }
                    return;
                }
                some.into_mut()
            }
        };
        let old = std::mem::take(taints);
        for taint in old {
            if taint.start < start {
                taints.push(Taint { end: taint.end.min(start), ..taint.clone() });
            }
            if taint.end > end {
                taints.push(Taint { start: taint.start.max(end), ..taint });
            }
        }
        if !sources.is_empty() {
            taints.push(Taint { start, end, sources: Arc::clone(sources) });
        }
        if taints.is_empty() {
            self.0.remove(&range.handle);
        }
    }

    /// A launch on `ranges`, whose results depend on them as `flows` say; see [`crate::faults::Faults::launch`]. `None`, and nothing noted, if they
    /// speak of other ranges.
    #[must_use]
    pub(crate) fn launch(&mut self, ranges: &[Range], flows: &[Flow], reporting: Option<LaunchId>) -> Option<()> {
        let of = |flow: &Flow| {
            let mut lists = Lists::new();
            for arg in flow.reads.iter().chain([&flow.write]) {
                self.lists(*ranges.get(*arg)?, &mut lists);
            }
            let own = reporting.filter(|_| flow.checks != 0).map(|id| (id, flow.checks));
            Some((*ranges.get(flow.write)?, united(&lists, own.as_slice())))
        };
        // All of them first: a result may lie in the memory of what another one is made of.
        let found: Vec<(Range, Sources)> = flows.iter().map(of).collect::<Option<_>>()?;
        found.iter().for_each(|(range, sources)| self.overwrite(*range, sources));
        Some(())
    }

    /// After all launches of a sequence, on a table of these ranges; `begun` are those that can report, in order. `None` if the sequence speaks of
    /// others.
    #[must_use]
    pub(crate) fn sequence(&mut self, outcome: &Outcome, table: &[Range], begun: &[LaunchId]) -> Option<()> {
        // Those that are made of the same launches, and of nothing else that may have failed, share one list: mostly all of a training step.
        let mut alike: SmallVec<[(&[ReportingLaunch], Sources); 4]> = SmallVec::new();
        // What was there before first: entries may share memory.
        let mut found: SmallVec<[Sources; 8]> = SmallVec::with_capacity(outcome.made_of.len());
        for MadeOf { launches, before } in &outcome.made_of {
            let mut lists = Lists::new();
            for entry in before {
                self.lists(*table.get(*entry)?, &mut lists);
            }
            if let (true, Some((_, known))) = (lists.is_empty(), alike.iter().find(|(of, _)| *of == launches.as_slice())) {
                found.push(Arc::clone(known));
                continue;
            }
            let own = launches.iter().map(|(number, checks)| begun.get(*number).map(|id| (*id, *checks)));
            let own: SmallVec<[Source; 8]> = own.collect::<Option<_>>()?;
            let sources = united(&lists, &own);
            if lists.is_empty() && alike.len() < alike.inline_size() {
                alike.push((launches, Arc::clone(&sources)));
            }
            found.push(sources);
        }
        for written in &outcome.written {
            let entry = table.get(written.entry)?;
            if !matches!(written.parts.as_slice(), [part] if part.start == 0 && part.end >= entry.len) {
                self.overwrite(*entry, &Arc::default());
            }
            for part in &written.parts {
                let (start, end) = (part.start.min(entry.len), part.end.min(entry.len));
                let range = Range { handle: entry.handle, offset: entry.offset + start, len: end - start };
                self.overwrite(range, found.get(part.made_of)?);
            }
        }
        Some(())
    }

    /// A buffer is gone.
    pub(crate) fn free(&mut self, handle: u64) {
        self.0.remove(&handle);
    }

    /// Keeps the sources that may still matter.
    pub(crate) fn retain(&mut self, may_fail: impl Fn(&Source) -> bool) {
        // Lists stay shared. They are told apart by where they lie, so they live until all are done.
        let mut kept: FxHashMap<*const Source, (Sources, Sources)> = FxHashMap::default();
        for taint in self.0.values_mut().flatten() {
            let old = &taint.sources;
            let (_, new) = kept.entry(old.as_ptr()).or_insert_with(|| {
                let all = old.iter().all(&may_fail);
                let new = if all { Arc::clone(old) } else { old.iter().copied().filter(&may_fail).collect() };
                (Arc::clone(old), new)
            });
            taint.sources = Arc::clone(new);
        }
        self.0.retain(|_, taints| {
            taints.retain(|taint| !taint.sources.is_empty());
            !taints.is_empty()
        });
    }

    /// All launches that some bytes depend on.
    pub(crate) fn launches(&self) -> impl Iterator<Item = LaunchId> {
        self.0.values().flatten().flat_map(|taint| taint.sources.iter().map(|source| source.0))
    }
}

/// What a sequence of launches does to what its table's entries depend on, known before it runs.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    written: Vec<Written>,
    /// What parts are made of: mostly many of the same.
    made_of: Vec<MadeOf>,
}

/// An entry that launches write.
#[derive(Debug)]
struct Written {
    entry: usize,
    parts: Vec<Part>,
}

/// Part of an entry, and what is in it after a run.
#[derive(Debug)]
struct Part {
    start: usize,
    end: usize,
    /// Which of [`Outcome::made_of`].
    made_of: usize,
}

/// A launch of a run, by its number among those that can report, and its checks.
type ReportingLaunch = (usize, u32);

/// What a part is made of.
#[derive(Debug, PartialEq)]
struct MadeOf {
    /// Launches of the run that can report.
    launches: Vec<ReportingLaunch>,
    /// Entries whose contents before the run it depends on.
    before: Vec<usize>,
}

/// Longer than all memory, and short enough to be added to an offset.
const ENDLESS: usize = 1 << 60;
/// Marks an entry's contents before the run among sources.
const BEFORE: LaunchId = 1 << 63;

/// A launch of a sequence, as far as errors go: what it is the first to write, its arguments (ranges whose handles are entries of the table), what
/// depends on what, and whether it can report.
pub(crate) struct Traced<'a> {
    pub(crate) begins: Vec<Range>,
    pub(crate) args: Vec<Range>,
    pub(crate) flows: &'a [Flow],
    pub(crate) reports: bool,
}

impl Outcome {
    /// Of these launches, in order. Contents of the entry `temporary` do not matter afterwards. `None` if a launch's results depend on what it has not.
    pub(crate) fn new<'a>(launches: impl Iterator<Item = Traced<'a>>, n_entries: usize, temporary: Option<usize>) -> Option<Outcome> {
        let whole = |entry: usize| Range { handle: entry as u64, offset: 0, len: ENDLESS };
        let mut taints = Taints::default();
        (0..n_entries).filter(|entry| Some(*entry) != temporary).for_each(|entry| {
            taints.overwrite(whole(entry), &[(BEFORE | entry as LaunchId, u32::MAX)].into());
        });
        let bounded = |range: Range| Range { len: range.len.min(ENDLESS - range.offset.min(ENDLESS)), ..range };
        let mut n_reporting = 0;
        let mut written = vec![false; n_entries];
        for launch in launches {
            launch.begins.iter().for_each(|range| taints.overwrite(bounded(*range), &Arc::default()));
            let reporting = launch.reports.then_some(n_reporting);
            n_reporting += LaunchId::from(launch.reports);
            let args: Vec<Range> = launch.args.into_iter().map(bounded).collect();
            taints.launch(&args, launch.flows, reporting)?;
            let touched = launch.flows.iter().filter_map(|flow| args.get(flow.write)).chain(&launch.begins);
            for range in touched {
                if let Some(written) = written.get_mut(range.handle as usize) {
                    *written = true;
                }
            }
        }
        let mut made_of: Vec<MadeOf> = Vec::new();
        let mut part = |taint: &Taint| {
            let made = MadeOf {
                launches: taint.sources.iter().filter(|s| s.0 & BEFORE == 0).map(|(id, checks)| (*id as usize, *checks)).collect(),
                before: taint.sources.iter().filter(|s| s.0 & BEFORE != 0).map(|(id, _)| (id & !BEFORE) as usize).collect(),
            };
            let known = made_of.iter().position(|known| *known == made);
            let at = known.unwrap_or(made_of.len());
            if known.is_none() {
                made_of.push(made);
            }
            Part { start: taint.start, end: taint.end, made_of: at }
        };
        let entries = (0..n_entries).filter(|entry| written[*entry] && Some(*entry) != temporary);
        let written = entries.map(|entry| {
            let taints = taints.0.get(&(entry as u64)).map(SmallVec::as_slice).unwrap_or_default();
            Written { entry, parts: taints.iter().map(&mut part).collect() }
        });
        let written = written.collect();
        Some(Outcome { written, made_of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Faults;

    fn range(handle: u64, offset: usize, len: usize) -> Range {
        Range { handle, offset, len }
    }

    /// A launch with one result.
    #[derive(Debug)]
    struct Case {
        begins: Vec<Range>,
        args: Vec<Range>,
        flow: Flow,
        reports: bool,
    }

    /// Whatever launches there are: what is known after a sequence is what is known after its launches one by one.
    #[test]
    fn a_sequence_does_what_its_launches_do() {
        // A generator of small numbers (Knuth's MMIX).
        let mut state = 7u64;
        let mut below = move |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        const ENTRIES: usize = 5;
        for _ in 0..400 {
            // Entries are buffers of 4 parts; the last one is the arena, of which a launch reads only what was written before.
            let part = |entry: usize, at: usize| Range { handle: entry as u64, offset: 64 * at, len: 64 };
            let mut fresh = [true; 4];
            let mut launches: Vec<Case> = Vec::new();
            for _ in 0..1 + below(6) {
                let mut args: Vec<Range> = Vec::new();
                for _ in 0..1 + below(3) {
                    let (entry, at) = (below(ENTRIES), below(4));
                    if entry + 1 < ENTRIES {
                        args.push(if below(2) == 0 { part(entry, at) } else { Range { handle: entry as u64, offset: 0, len: usize::MAX } });
                    } else if !fresh[at] {
                        args.push(part(entry, at));
                    }
                }
                let (entry, at) = (below(ENTRIES), below(4));
                let begins = if entry + 1 == ENTRIES && std::mem::take(&mut fresh[at]) { vec![part(entry, at)] } else { Vec::new() };
                let reads: Vec<usize> = (0..args.len()).collect();
                args.push(part(entry, at));
                let reports = below(3) == 0;
                let flow = Flow { write: reads.len(), reads, checks: if reports { 1 << below(2) } else { 0 } };
                launches.push(Case { begins, args, flow, reports });
            }
            let traced = launches.iter().map(|case| Traced {
                begins: case.begins.clone(),
                args: case.args.clone(),
                flows: std::slice::from_ref(&case.flow),
                reports: case.reports,
            });
            let outcome = Outcome::new(traced, ENTRIES, Some(ENTRIES - 1)).unwrap();
            // Some memory depends on an earlier launch that is not known to be right.
            let table: Vec<Range> = (0..ENTRIES).map(|entry| range(10 + entry as u64, 128 * entry, 256)).collect();
            let real = |at: &Range| {
                let entry = table[at.handle as usize];
                Range { handle: entry.handle, offset: entry.offset + at.offset, len: at.len.min(entry.len - at.offset) }
            };
            let tainted: Vec<Range> = (0..below(3)).map(|_| table[below(ENTRIES - 1)]).collect();
            let begun = |faults: &mut Faults| {
                let queue = faults.add_queue();
                let (id, _) = faults.begin(queue, "before", None);
                tainted.iter().for_each(|range| faults.taint(*range, id));
                queue
            };
            let (mut each, mut whole) = (Faults::default(), Faults::default());
            let queue = begun(&mut each);
            for case in &launches {
                case.begins.iter().for_each(|range| each.upload(real(range)));
                let id = case.reports.then(|| each.begin(queue, "launch", None).0);
                each.launch(&case.args.iter().map(real).collect::<Vec<_>>(), std::slice::from_ref(&case.flow), id).unwrap();
            }
            let queue = begun(&mut whole);
            let ids: Vec<LaunchId> = launches.iter().filter(|case| case.reports).map(|_| whole.begin(queue, "launch", None).0).collect();
            whole.sequence(&outcome, &table, &ids).unwrap();
            for entry in 0..ENTRIES - 1 {
                for at in 0..4 {
                    let at = real(&part(entry, at));
                    assert_eq!(whole.sources(at), each.sources(at), "{launches:?}\n{outcome:?}\n{at:?}");
                }
            }
        }
    }
}
