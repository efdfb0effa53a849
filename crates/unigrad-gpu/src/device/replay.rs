//! When a sequence is replayed: after some runs the backend keeps its launches; later runs change those whose arguments are others, and queue all by
//! one call.
//!
//! In: what a run would queue one by one, and which of it is different from the last run. Out: the same, queued by [`Replays`].
//! Always: launches are kept with the orders that their memory asks for (`hazards`), in the order of their parts as they are queued one by one; where a
//! run's memory overlaps in another way than that of the run that was kept, it is kept anew. What cannot be replayed is queued one by one, with the same result; so is, from then on, a sequence most of which changes from run to run,
//! and one that the backend has failed to keep, which is told once.
//! Never: keeps what runs once or twice.

use super::{
    GpuDevice, GpuExecutable,
    hazards::{Access, Hazards, Overlaps},
    sequence::{State, Steps},
};
use crate::{Backend, Bound, Kept, Range, Recording, Replays};
use unigrad_device::{Config, Error, Ran, Replay, Run, tell};

/// Runs that are queued one by one first.
const RUNS_BEFORE: usize = 2;
/// Launches below which a replay saves nothing.
const LEAST: usize = 4;
/// More launches of so many changed is much, for a change costs less than a launch; and so many runs in a row with much changed are too many.
const MUCH: (usize, usize) = (3, 4);
const MOST_RESTLESS: usize = 3;

/// Bytes that a library's kernel writes, its workspace among them, from which it is taken to fill the device.
const FULL_BYTES: usize = 8 << 20;

/// What a run queues: one of the programs' steps, or the library's part of a launch.
#[derive(Clone, Copy)]
pub(super) enum Node {
    ProgramLaunch(usize),
    Library(usize),
}

/// How far a sequence is.
enum Stage {
    /// After so many runs.
    Runs(usize),
    /// After so many runs in a row with much changed; where the memory overlapped as it was kept.
    Kept(Recording, usize, Overlaps),
    Never,
}

/// What is known of a sequence for its replays.
pub(super) struct Replaying {
    stage: Stage,
    /// Nodes whose arguments are others than those that are kept, each once.
    changed: Vec<usize>,
    is_changed: Vec<bool>,
}

impl Default for Replaying {
    fn default() -> Replaying {
        Replaying { stage: Stage::Runs(0), changed: Vec::new(), is_changed: Vec::new() }
    }
}

impl Replaying {
    /// Of a sequence that queues so many.
    pub(super) fn of(nodes: usize) -> Replaying {
        let stage = if nodes < LEAST { Stage::Never } else { Stage::Runs(0) };
        Replaying { stage, changed: Vec::new(), is_changed: vec![false; nodes] }
    }

    /// A node's arguments are others from now on.
    pub(super) fn changes(&mut self, node: usize) {
        if matches!(self.stage, Stage::Kept(..)) && !std::mem::replace(&mut self.is_changed[node], true) {
            self.changed.push(node);
        }
    }

    fn settle(&mut self) -> usize {
        self.changed.iter().for_each(|node| self.is_changed[*node] = false);
        let n = self.changed.len();
        self.changed.clear();
        n
    }

    /// Whether too much has changed, run after run.
    fn is_restless(&mut self) -> bool {
        let much = self.changed.len() * MUCH.1 > self.is_changed.len() * MUCH.0;
        let Stage::Kept(_, restless, _) = &mut self.stage else { return false };
        *restless = if much { *restless + 1 } else { 0 };
        *restless > MOST_RESTLESS
    }
}

impl<B: Backend> GpuDevice<B> {
    /// Queues a run, whose arguments are in `state`, as a replay; `None` if it is to be queued one by one. An error says that some of it may be queued.
    pub(super) fn replay(&self, run: &Run<'_>, steps: &Steps<B>, scratch: u64, state: &mut State) -> Result<Option<Ran>, Error> {
        let Some(replays) = self.backend.replays() else { return Ok(None) };
        if matches!(state.replaying.stage, Stage::Never) || Config::current_or_default().replay == Replay::Off {
            return Ok(None);
        }
        if let Stage::Runs(runs) = &mut state.replaying.stage {
            *runs += 1;
            if *runs <= RUNS_BEFORE {
                return Ok(None);
            }
        }
        // Put back below, once it has worked.
        let restless = state.replaying.is_restless();
        let recording = match std::mem::replace(&mut state.replaying.stage, Stage::Never) {
            Stage::Kept(..) if restless => Ok(None),
            Stage::Kept(recording, restless, before) => {
                let overlaps = if state.replaying.changed.is_empty() { before.clone() } else { Overlaps::new(&state.table) };
                if overlaps == before {
                    self.change(replays, recording, run, steps, scratch, state)
                        .map(|changed| changed.map(|(r, n)| (r, n, restless, before)))
                } else {
                    // As much as can change.
                    let kept = self.keep(replays, run, steps, scratch, state);
                    kept.map(|kept| kept.map(|recording| (recording, steps.nodes.len(), restless + 1, overlaps)))
                }
            }
            Stage::Runs(_) => {
                let overlaps = Overlaps::new(&state.table);
                self.keep(replays, run, steps, scratch, state).map(|kept| kept.map(|recording| (recording, 0, 0, overlaps)))
            }
            Stage::Never => Ok(None),
        };
        let replayed = recording.and_then(|recording| {
            let Some((mut recording, changed, restless, overlaps)) = recording else { return Ok(None) };
            replays.replay(&mut recording)?;
            state.replaying.stage = Stage::Kept(recording, restless, overlaps);
            Ok(Some(Ran { replayed: true, changed }))
        });
        match replayed {
            Err(error @ (Error::Interrupted { .. } | Error::DeviceLost { .. })) => Err(error),
            Err(error) => {
                let n = steps.nodes.len();
                tell(format_args!("unigrad: {}: {n} launches are queued one by one, for they cannot be replayed: {error}", self.name));
                Ok(None)
            }
            replayed => replayed,
        }
    }

    /// Has the backend keep all launches; `None` where it does not.
    fn keep(
        &self,
        replays: &dyn Replays<B::Module>,
        run: &Run<'_>,
        steps: &Steps<B>,
        scratch: u64,
        state: &mut State,
    ) -> Result<Option<Recording>, Error> {
        let mut recording = replays.record()?;
        let (mut hazards, mut accesses) = (Hazards::default(), Vec::new());
        let branches = Config::current_or_default().replay == Replay::On;
        for node in &steps.nodes {
            let fills = self.accesses(run, steps, *node, scratch, state, &mut accesses)?;
            let after = hazards.next(&accesses, fills || !branches);
            if !self.with_node(run, steps, *node, scratch, state, |launch| replays.keep(&mut recording, launch, &after))? {
                return Ok(None);
            }
        }
        state.replaying.settle();
        Ok(Some(recording))
    }

    /// The memory of a run that a node touches; and whether it fills the device.
    fn accesses(
        &self,
        run: &Run<'_>,
        steps: &Steps<B>,
        node: Node,
        scratch: u64,
        state: &mut State,
        accesses: &mut Vec<Access>,
    ) -> Result<bool, Error> {
        accesses.clear();
        match node {
            Node::ProgramLaunch(step) => {
                let (touches, fills) = &steps.touches[step];
                for (parameter, writes) in touches {
                    match &state.bound[step][*parameter] {
                        Bound::Buffer(range) => accesses.push((*range, *writes)),
                        Bound::Table(ranges) => accesses.extend(ranges.iter().map(|range| (*range, *writes))),
                        Bound::Scalar(..) | Bound::ScalarTable(..) => return Err(self.refuse("replay", "memory is a number")),
                    }
                }
                Ok(*fills)
            }
            Node::Library(launch) => {
                let (Some(part), Some(launch)) = (steps.launches[launch].library.as_ref(), run.launches.get(launch)) else {
                    return Err(self.refuse("replay", "a library has no part in the launch"));
                };
                let program = launch.program.as_any().downcast_ref::<GpuExecutable<B>>();
                self.bring(run, program.ok_or_else(|| self.refuse("replay", "the launch is of another driver"))?, part, state)?;
                let args = state.args.iter().enumerate().map(|(arg, range)| (*range, launch.program.writes(arg)));
                accesses.extend(args);
                // What it may have between its kernels: one at a time.
                accesses.push((Range { handle: scratch, offset: 0, len: steps.scratch_bytes.max(1) }, true));
                let written: usize = accesses.iter().filter(|(_, writes)| *writes).map(|(range, _)| range.len).sum();
                Ok(written >= FULL_BYTES)
            }
        }
    }

    /// Has what is kept changed where it is different, and tells how much that was; `None` where that cannot be.
    fn change(
        &self,
        replays: &dyn Replays<B::Module>,
        mut recording: Recording,
        run: &Run<'_>,
        steps: &Steps<B>,
        scratch: u64,
        state: &mut State,
    ) -> Result<Option<(Recording, usize)>, Error> {
        for at in 0..state.replaying.changed.len() {
            let node = state.replaying.changed[at];
            if !self.with_node(run, steps, steps.nodes[node], scratch, state, |launch| replays.change(&mut recording, node, launch))? {
                return Ok(None);
            }
        }
        let changed = state.replaying.settle();
        Ok(Some((recording, changed)))
    }

    /// Does something with a node as the backend is given it.
    fn with_node(
        &self,
        run: &Run<'_>,
        steps: &Steps<B>,
        node: Node,
        scratch: u64,
        state: &mut State,
        work: impl FnOnce(Kept<'_, B::Module>) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        match node {
            Node::ProgramLaunch(step) => {
                let (module, grid) = &steps.modules[step];
                work(Kept::Program(module, *grid, &state.bound[step]))
            }
            Node::Library(launch) => {
                let part = steps.launches[launch].library.as_ref();
                let own = run.launches.get(launch).and_then(|launch| launch.program.as_any().downcast_ref::<GpuExecutable<B>>());
                let own = own.and_then(|own| Some((own, own.library.as_ref()?)));
                let (Some(part), Some((program, library))) = (part, own) else { return Ok(false) };
                if library.own.get().is_some() {
                    return Ok(false);
                }
                self.bring(run, program, part, state)?;
                let brought = (&state.args[..], &state.scalars[..], scratch);
                self.with_work(program, library, brought, |taken, of, workspace| work(Kept::Library(taken, of, workspace)))
            }
        }
    }
}
