//! When a sequence is replayed: after some runs the backend keeps its launches; later runs change those whose arguments are others, and queue all by
//! one call.
//!
//! In: what a run would queue one by one, and which of it is different from the last run. Out: the same, queued by [`Replays`].
//! Always: what cannot be replayed is queued one by one, with the same result; so is, from then on, a sequence most of which changes from run to run,
//! and one that the backend has failed to keep, which is told once.
//! Never: keeps what runs once or twice.

use super::{
    GpuDevice, GpuExecutable,
    sequence::{State, Steps},
};
use crate::{Backend, Kept, Recording, Replays};
use unigrad_device::{Config, Error, Ran, Replay, Run, tell};

/// Runs that are queued one by one first.
const RUNS_BEFORE: usize = 2;
/// Launches below which a replay saves nothing.
const LEAST: usize = 4;
/// More launches of so many changed is much, for a change costs less than a launch; and so many runs in a row with much changed are too many.
const MUCH: (usize, usize) = (3, 4);
const MOST_RESTLESS: usize = 3;

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
    /// After so many runs in a row with much changed.
    Kept(Recording, usize),
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
        let Stage::Kept(_, restless) = &mut self.stage else { return false };
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
            Stage::Kept(recording, restless) => {
                self.change(replays, recording, run, steps, scratch, state).map(|changed| changed.map(|(r, n)| (r, n, restless)))
            }
            Stage::Runs(_) => self.keep(replays, run, steps, scratch, state).map(|kept| kept.map(|recording| (recording, 0, 0))),
            Stage::Never => Ok(None),
        };
        let replayed = recording.and_then(|recording| {
            let Some((mut recording, changed, restless)) = recording else { return Ok(None) };
            replays.replay(&mut recording)?;
            state.replaying.stage = Stage::Kept(recording, restless);
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
        for node in &steps.nodes {
            if !self.with_node(run, steps, *node, scratch, state, |launch| replays.keep(&mut recording, launch))? {
                return Ok(None);
            }
        }
        state.replaying.settle();
        Ok(Some(recording))
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
