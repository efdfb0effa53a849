//! What memory depends on: which launches' results are in which bytes, as far as these launches may have failed.
//!
//! In: launches with the ranges they read and write. Out: per range the launches, with their checks, that it was computed from; and for a sequence
//! the same before it runs.
//! Always: after a sequence the same is known as after its launches one by one.

use crate::Range;
use rustc_hash::FxHashMap;
use unigrad_kernel::Flow;

/// A launch that can fail, by number.
pub(crate) type LaunchId = u64;

/// Checks of a launch ([`unigrad_kernel::check_bit`]) that some bytes depend on.
pub(crate) type Source = (LaunchId, u32);

/// Each launch once, ascending, with all its checks.
fn united(mut sources: Vec<Source>) -> Vec<Source> {
    sources.sort_unstable();
    sources.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        kept.1 |= if same { later.1 } else { 0 };
        same
    });
    sources
}

/// Bytes of a buffer that hold results of launches.
#[derive(Clone, Debug)]
struct Taint {
    start: usize,
    end: usize,
    sources: Vec<Source>,
}

/// By buffer, what its bytes depend on.
#[derive(Debug, Default)]
pub(crate) struct Taints(FxHashMap<u64, Vec<Taint>>);

impl Taints {
    pub(crate) fn sources(&self, range: Range) -> Vec<Source> {
        let Some(taints) = self.0.get(&range.handle) else { return Vec::new() };
        let (start, end) = (range.offset, range.offset + range.len);
        united(taints.iter().filter(|t| t.start < end && start < t.end).flat_map(|t| t.sources.iter().copied()).collect())
    }

    /// What is in a range is written anew, from the results of `sources`.
    pub(crate) fn overwrite(&mut self, range: Range, sources: &[Source]) {
        let (start, end) = (range.offset, range.offset + range.len);
        if start == end {
            return;
        }
        let taints = self.0.entry(range.handle).or_default();
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
            taints.push(Taint { start, end, sources: sources.to_vec() });
        }
        if taints.is_empty() {
            self.0.remove(&range.handle);
        }
    }

    /// A launch on `ranges`, whose results depend on them as `flows` say; see [`crate::faults::Faults::launch`].
    pub(crate) fn launch(&mut self, ranges: &[Range], flows: &[Flow], reporting: Option<LaunchId>) {
        let of = |flow: &Flow| {
            let read = flow.reads.iter().chain([&flow.write]).filter_map(|arg| ranges.get(*arg));
            let own = reporting.filter(|_| flow.checks != 0).map(|id| (id, flow.checks));
            united(read.flat_map(|range| self.sources(*range)).chain(own).collect())
        };
        // All of them first: a result may lie in the memory of what another one is made of.
        let found: Vec<Vec<Source>> = flows.iter().map(of).collect();
        for (flow, sources) in flows.iter().zip(found) {
            if let Some(range) = ranges.get(flow.write) {
                self.overwrite(*range, &sources);
            }
        }
    }

    /// After all launches of a sequence, on a table of these ranges; `begun` are those that can report, in order.
    pub(crate) fn sequence(&mut self, outcome: &Outcome, table: &[Range], begun: &[LaunchId]) {
        // What was there before first: entries may share memory.
        let of = |part: &Part| {
            let before = part.before.iter().filter_map(|entry| table.get(*entry)).flat_map(|range| self.sources(*range));
            let own = part.launches.iter().filter_map(|(number, checks)| begun.get(*number).map(|id| (*id, *checks)));
            united(before.chain(own).collect())
        };
        let found: Vec<Vec<Vec<Source>>> = outcome.0.iter().map(|written| written.parts.iter().map(of).collect()).collect();
        for (written, found) in outcome.0.iter().zip(found) {
            let Some(entry) = table.get(written.entry) else { continue };
            self.overwrite(*entry, &[]);
            for (part, sources) in written.parts.iter().zip(found) {
                let (start, end) = (part.start.min(entry.len), part.end.min(entry.len));
                self.overwrite(Range { handle: entry.handle, offset: entry.offset + start, len: end - start }, &sources);
            }
        }
    }

    /// A buffer is gone.
    pub(crate) fn free(&mut self, handle: u64) {
        self.0.remove(&handle);
    }

    /// Keeps the sources that may still matter.
    pub(crate) fn retain(&mut self, may_fail: impl Fn(&Source) -> bool) {
        for taints in self.0.values_mut() {
            taints.iter_mut().for_each(|taint| taint.sources.retain(&may_fail));
            taints.retain(|taint| !taint.sources.is_empty());
        }
        self.0.retain(|_, taints| !taints.is_empty());
    }

    /// All launches that some bytes depend on.
    pub(crate) fn launches(&self) -> impl Iterator<Item = LaunchId> {
        self.0.values().flatten().flat_map(|taint| taint.sources.iter().map(|source| source.0))
    }
}

/// What a sequence of launches does to what its table's entries depend on, known before it runs.
#[derive(Debug, Default)]
pub(crate) struct Outcome(Vec<Written>);

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
    /// Launches of the run that can report, by their number among these, with checks.
    launches: Vec<(usize, u32)>,
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
    /// Of these launches, in order. Contents of the entry `temporary` matter to nobody afterwards.
    pub(crate) fn new<'a>(launches: impl Iterator<Item = Traced<'a>>, n_entries: usize, temporary: Option<usize>) -> Outcome {
        let whole = |entry: usize| Range { handle: entry as u64, offset: 0, len: ENDLESS };
        let mut taints = Taints::default();
        (0..n_entries).filter(|entry| Some(*entry) != temporary).for_each(|entry| {
            taints.overwrite(whole(entry), &[(BEFORE | entry as LaunchId, u32::MAX)]);
        });
        let bounded = |range: Range| Range { len: range.len.min(ENDLESS - range.offset.min(ENDLESS)), ..range };
        let mut n_reporting = 0;
        let mut written = vec![false; n_entries];
        for launch in launches {
            launch.begins.iter().for_each(|range| taints.overwrite(bounded(*range), &[]));
            let reporting = launch.reports.then_some(n_reporting);
            n_reporting += LaunchId::from(launch.reports);
            let args: Vec<Range> = launch.args.into_iter().map(bounded).collect();
            taints.launch(&args, launch.flows, reporting);
            let touched = launch.flows.iter().filter_map(|flow| args.get(flow.write)).chain(&launch.begins);
            for range in touched {
                if let Some(written) = written.get_mut(range.handle as usize) {
                    *written = true;
                }
            }
        }
        let parts = |entry: usize| {
            let taints = taints.0.get(&(entry as u64)).map(Vec::as_slice).unwrap_or_default();
            let part = |taint: &Taint| Part {
                start: taint.start,
                end: taint.end,
                launches: taint.sources.iter().filter(|s| s.0 & BEFORE == 0).map(|(id, checks)| (*id as usize, *checks)).collect(),
                before: taint.sources.iter().filter(|s| s.0 & BEFORE != 0).map(|(id, _)| (id & !BEFORE) as usize).collect(),
            };
            taints.iter().map(part).collect()
        };
        let entries = (0..n_entries).filter(|entry| written[*entry] && Some(*entry) != temporary);
        Outcome(entries.map(|entry| Written { entry, parts: parts(entry) }).collect())
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
            let outcome = Outcome::new(traced, ENTRIES, Some(ENTRIES - 1));
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
                each.launch(&case.args.iter().map(real).collect::<Vec<_>>(), std::slice::from_ref(&case.flow), id);
            }
            let queue = begun(&mut whole);
            let ids: Vec<LaunchId> = launches.iter().filter(|case| case.reports).map(|_| whole.begin(queue, "launch", None).0).collect();
            whole.sequence(&outcome, &table, &ids);
            for entry in 0..ENTRIES - 1 {
                for at in 0..4 {
                    let at = real(&part(entry, at));
                    assert_eq!(whole.sources(at), each.sources(at), "{launches:?}\n{outcome:?}\n{at:?}");
                }
            }
        }
    }
}
