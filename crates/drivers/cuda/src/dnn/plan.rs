//! How a graph of operations is done: the engine, decided once, and its calls.
//!
//! In: finished operations, what an engine may not do. Out: an [`ExecutionPlan`]; later calls of it, with the memory of its tensors.
//! Always: the first engine of the library's heuristics that gives the same bits each time, adds in f32, multiplies as it is written down (no transforms
//! of Winograd's or Fourier's) and needs no more workspace than [`Context::most`].
//! Never: measures.

use super::api::{
    Descriptor, FALLBACK, Functions, Handle, MOST_NOTES, Mode, Note, Pointer, STRICT_NAN, Status, TABLE, TENSOR_CORE, attribute, functions,
    kind,
};
use crate::loaded::Answer;
use std::sync::{Mutex, PoisonError};

/// Memory that an engine may ask for: two images that it turns channels last, of a large first layer; on large devices [`PART`] of their memory, which
/// is what the gradients of attention need for the changes of scores.
const MOST_WORKSPACE: u64 = 256 << 20;
/// See [`MOST_WORKSPACE`].
const PART: u64 = 64;
/// How many of the heuristics' answers are tried.
const MOST_TRIED: usize = 24;

/// The library in one context.
pub(super) struct Context {
    pub(super) functions: &'static Functions,
    /// Bytes of workspace that an engine may ask for.
    pub(super) most: u64,
    /// 91900 is 9.19.
    pub(super) version: usize,
    /// It lives as long as the process, as the context does. A handle has one stream, so one call after the other sets its stream and queues.
    handle: Mutex<Handle>,
}

// SAFETY: a handle may be used by any thread, one at a time.
unsafe impl Send for Context {}
// SAFETY: the handle is behind a lock.
unsafe impl Sync for Context {}

impl Context {
    /// In the context that is current, of a device with so many bytes of memory; `None` if the library is not there or cannot work.
    pub(super) fn new(memory: u64) -> Option<Context> {
        let functions = functions()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: pointer to a local.
        let made = unsafe { (functions.cudnnCreate)(&mut handle) } == 0 && !handle.is_null();
        // SAFETY: takes nothing, gives a number.
        let version = unsafe { (functions.cudnnGetVersion)() };
        made.then(|| Context { functions, most: MOST_WORKSPACE.max(memory / PART), version, handle: Mutex::new(Handle(handle)) })
    }

    fn handle(&self) -> std::sync::MutexGuard<'_, Handle> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty descriptor.
    pub(super) fn descriptor(&self, kind: i32) -> Result<Descriptor, Status> {
        Descriptor::new(self.functions, kind)
    }

    /// Decides how a graph of operations is done. `tensor_cores` says whether an engine may use units that round `f32`.
    pub(super) fn plan(&self, operations: &[Descriptor], tensor_cores: bool) -> Result<ExecutionPlan, Status> {
        let handle = self.handle();
        let all: Vec<&Descriptor> = operations.iter().collect();
        let graph = self.descriptor(kind::GRAPH)?.with(attribute::GRAPH_HANDLE, &[*handle])?;
        let graph = graph.point(attribute::GRAPH_OPERATIONS, &all)?.finish()?;
        let mut status = Status::UNEXPECTED;
        for mode in [TABLE, FALLBACK] {
            match self.by(&graph, mode, *handle, tensor_cores) {
                Ok(plan) => return Ok(plan),
                Err(other) => status = other,
            }
        }
        Err(status)
    }

    /// The first of a heuristic's answers that will do.
    fn by(&self, graph: &Descriptor, mode: Mode, handle: Handle, tensor_cores: bool) -> Result<ExecutionPlan, Status> {
        let heuristics = self.descriptor(kind::HEURISTICS)?.point(attribute::HEURISTICS_GRAPH, &[graph])?;
        let heuristics = heuristics.with(attribute::HEURISTICS_MODE, &[mode])?.finish()?;
        let count = heuristics.count(attribute::HEURISTICS_RESULTS)?;
        let mut configs = (0..count).map(|_| self.descriptor(kind::ENGINE_CONFIG)).collect::<Result<Vec<_>, _>>()?;
        configs.truncate(heuristics.fill(attribute::HEURISTICS_RESULTS, &configs)?);
        let mut status = Status::UNEXPECTED;
        let allowed = |config: &Descriptor| self.notes(config).is_ok_and(|notes| allows(&notes, tensor_cores));
        for config in configs.iter().filter(|config| allowed(config)).take(MOST_TRIED) {
            match self.finish(config, handle) {
                Ok(plan) if plan.workspace as u64 <= self.most => return Ok(plan),
                Ok(_) => {}
                Err(other) => status = other,
            }
        }
        Err(status)
    }

    /// What the engine of a configuration says of its results.
    fn notes(&self, config: &Descriptor) -> Result<Vec<Note>, Status> {
        let engine = [self.descriptor(kind::ENGINE)?];
        if config.fill(attribute::CONFIG_ENGINE, &engine)? != 1 {
            return Err(Status::UNEXPECTED);
        }
        let mut notes = vec![TENSOR_CORE; MOST_NOTES];
        let count = engine[0].get(attribute::ENGINE_NOTES, &mut notes)?;
        notes.truncate(count);
        Ok(notes)
    }

    fn finish(&self, config: &Descriptor, handle: Handle) -> Result<ExecutionPlan, Status> {
        let plan = self.descriptor(kind::PLAN)?.with(attribute::PLAN_HANDLE, &[handle])?;
        let plan = plan.point(attribute::PLAN_CONFIG, &[config])?.finish()?;
        let mut workspace = [0i64];
        plan.get(attribute::PLAN_WORKSPACE, &mut workspace)?;
        Ok(ExecutionPlan { plan, workspace: usize::try_from(workspace[0]).map_err(|_| Status::UNEXPECTED)? })
    }

    /// Queues a plan on a stream. Tensors are told by their numbers.
    pub(super) fn execute(&self, plan: &ExecutionPlan, ids: &[i64], pointers: &[Pointer], workspace: Pointer, stream: Pointer) -> Answer {
        let queue = || {
            let pack = self.descriptor(kind::VARIANT_PACK)?.with(attribute::PACK_IDS, ids)?;
            let pack = pack.with(attribute::PACK_POINTERS, pointers)?.with(attribute::PACK_WORKSPACE, &[workspace])?.finish()?;
            let handle = self.handle();
            // SAFETY: the library's handle, which nothing else uses now, and a live stream of its context.
            Status::check(unsafe { (self.functions.cudnnSetStream)(handle.0, stream) })?;
            // SAFETY: finished descriptors; the tensors lie at their pointers, the workspace is as large as the plan asked for.
            Status::check(unsafe { (self.functions.cudnnBackendExecute)(handle.0, plan.plan.pointer(), pack.pointer()) })
        };
        match queue() {
            Ok(()) => Answer::Queued,
            Err(status) if status.is_refusal() => Answer::Refused,
            Err(status) => Answer::Failed(status.to_string()),
        }
    }
}

/// How a graph is done.
pub(super) struct ExecutionPlan {
    plan: Descriptor,
    /// Bytes.
    pub(super) workspace: usize,
}

/// Whether results are what they have to be: nothing is rounded on the way, nothing depends on the order in which work ends, and nothing is said that
/// is not known here.
fn allows(notes: &[Note], tensor_cores: bool) -> bool {
    notes.iter().all(|note| *note == STRICT_NAN || *note == TENSOR_CORE && tensor_cores)
}

#[cfg(test)]
mod tests {
    use super::super::api::Choice;
    use super::*;

    #[test]
    fn engines_that_round_or_race_are_not_taken() {
        assert!(allows(&[], false) && allows(&[STRICT_NAN], false) && allows(&[TENSOR_CORE, STRICT_NAN], true));
        assert!(!allows(&[TENSOR_CORE], false));
        for note in (1..9).chain(10..MOST_NOTES as i32) {
            assert!(!allows(&[TENSOR_CORE, Choice(note)], true), "{note}");
        }
    }
}
