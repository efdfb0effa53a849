//! Sequences: launches whose modules, grids and parameters are worked out once; a run writes into the parameters what is different from the last one.
//!
//! In: launches of programs of this device, and per run a table of memory and scalars. Out: the steps on the backend's queue, in order.
//! Always: a run takes the locks of its queue, of its parameters and of what is known of errors once, not per launch, and allocates nothing per
//! launch; what its results depend on is known from the launches before they run (`faults::Outcome`). What runs often is replayed (`replay`). A part of a
//! sequence is launched one by one, and so is one with a launch that the backend's library has refused, or with launches that are one where the device
//! has refused that one (a part of a device may have no room for its workgroups).
//! Never: waits, but for slots of status words.

use super::{
    GpuDevice, GpuExecutable, NOTHING, block,
    block::Filling,
    lock, param_dtype,
    recurrence::Found,
    replay::{Node, Replaying},
};
use crate::{
    Backend, BlockWord, Bound, Part, ProgramArg, Range,
    faults::Faults,
    lower::{ProgramLaunch, Recurrence},
    taints::{LaunchId, Outcome, Traced},
};
use std::{
    any::Any,
    ops,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use unigrad_device::{At, Config, Error, Launch, Prepared, Ran, Replay, Run, Stopped};
use unigrad_ir::Param;
use unigrad_scalar::DType;

/// Launches that are prepared.
pub(super) struct Steps<B: Backend> {
    pub(super) launches: Vec<PreparedStep>,
    /// All steps of all launches.
    pub(super) modules: Vec<(Arc<B::Module>, [u32; 3])>,
    /// Of each step, the parameters that are memory of the run, and whether it writes there; and whether it fills the device.
    pub(super) touches: Vec<(Vec<(usize, bool)>, bool)>,
    /// What a run queues, in order.
    pub(super) nodes: Vec<Node>,
    /// Bytes of the memory between steps.
    pub(super) scratch_bytes: usize,
    /// Words of the parameter block.
    n_block: usize,
    n_reporting: usize,
    outcome: Outcome,
    patches: Patches,
    n_entries: usize,
    n_words: usize,
    /// Launches that are one: of their step, the program for all of them.
    recurrences: Vec<Recurrence>,
    /// Whether the backend's library has refused a launch, or the device one that does several.
    refused: AtomicBool,
    /// Parameters as the last run left them.
    state: Mutex<State>,
}

pub(super) struct PreparedStep {
    name: String,
    /// What errors call it, if it can report.
    reports: Option<Arc<str>>,
    /// If the backend's library has a part in it.
    pub(super) library: Option<LibraryPart>,
    /// Its steps among all.
    steps: ops::Range<usize>,
    /// Whether its step does this launch and others.
    recurs: bool,
}

/// Memory of the driver's own for a run: between a launch's steps, the parameter block, words for reports.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pub(super) scratch: u64,
    block: u64,
    status: Range,
}

/// What of a launch the backend's library does.
pub(super) struct LibraryPart {
    /// Where the launch's arguments are, and which words its scalars.
    args: Vec<At>,
    scalars: Vec<usize>,
    /// The step, among all, that comes after it.
    next: usize,
}

/// A parameter of a step, or an element of one that is a table.
#[derive(Clone, Copy)]
struct Parameter {
    step: usize,
    parameter: usize,
    element: usize,
}

/// Where a number goes: into a parameter, or into the block.
#[derive(Clone, Copy)]
enum Target {
    Parameter(Parameter),
    Block(usize),
}

/// What depends on what a run brings.
#[derive(Default)]
struct Patches {
    /// Per entry of the table.
    entries: Vec<Vec<(Parameter, At)>>,
    /// Per word.
    words: Vec<Vec<(Target, Part)>>,
    /// Scratch memory: offset and length.
    scratch: Vec<(Parameter, usize, usize)>,
    /// Nodes that are a library's part: by entry and by word that they take, and all of them.
    library_entries: Vec<(usize, usize)>,
    library_words: Vec<(usize, usize)>,
    libraries: Vec<usize>,
    /// Parts of the parameter block, by their ranges in it.
    blocks: Vec<(Parameter, usize, usize)>,
    status: Vec<Parameter>,
    /// Per launch that can report.
    slots: Vec<Vec<Target>>,
}

#[derive(Default)]
pub(super) struct State {
    /// Per step.
    pub(super) bound: Vec<Vec<Bound>>,
    /// Per step, its node.
    node_of: Vec<usize>,
    pub(super) replaying: Replaying,
    entries: Vec<Option<Range>>,
    words: Vec<Option<u64>>,
    scratch: Option<u64>,
    block: Option<u64>,
    /// What the parameter block is to hold.
    block_words: Vec<u32>,
    status: Option<Range>,
    /// The ranges of the table, and the numbers of the launches that can report, of this run.
    pub(super) table: Vec<Range>,
    begun: Vec<LaunchId>,
    /// The memory and scalars of a launch that the library does.
    pub(super) args: Vec<Range>,
    pub(super) scalars: Vec<u64>,
}

impl State {
    fn set_range(&mut self, at: Parameter, range: Range) {
        self.replaying.changes(self.node_of[at.step]);
        match &mut self.bound[at.step][at.parameter] {
            Bound::Buffer(place) => *place = range,
            Bound::Table(places) => places[at.element] = range,
            Bound::Scalar(..) | Bound::ScalarTable(..) => {}
        }
    }

    fn set_word(&mut self, at: Target, word: u64) {
        let at = match at {
            Target::Parameter(at) => at,
            Target::Block(at) => return self.block_words[at] = word as u32,
        };
        self.replaying.changes(self.node_of[at.step]);
        match &mut self.bound[at.step][at.parameter] {
            Bound::Scalar(_, raw) => *raw = word,
            Bound::ScalarTable(_, raws) => raws[at.element] = word,
            Bound::Buffer(_) | Bound::Table(_) => {}
        }
    }

    /// What a library's part takes is different.
    fn library_changes(&mut self, takes: &[(usize, usize)], what: usize) {
        takes.iter().filter(|(taken, _)| *taken == what).for_each(|(_, node)| self.replaying.changes(*node));
    }

    /// Writes what differs from the last run.
    fn patch(&mut self, patches: &Patches, run: &Run<'_>, Memory { scratch, block, status }: Memory) -> Option<()> {
        self.table.clear();
        self.table.extend(run.table.iter().map(|slice| Range { handle: slice.buffer.handle, offset: slice.offset, len: slice.len }));
        for (entry, places) in patches.entries.iter().enumerate() {
            let range = *self.table.get(entry)?;
            if self.entries[entry].replace(range) == Some(range) {
                continue;
            }
            self.library_changes(&patches.library_entries, entry);
            for (parameter, at) in places {
                let rest = range.len.checked_sub(at.offset)?;
                let len = if at.len == usize::MAX { rest } else { at.len };
                if len > rest {
                    return None;
                }
                self.set_range(*parameter, Range { handle: range.handle, offset: range.offset + at.offset, len });
            }
        }
        for (word, places) in patches.words.iter().enumerate() {
            let raw = *run.scalars.get(word)?;
            if self.words[word].replace(raw) == Some(raw) {
                continue;
            }
            self.library_changes(&patches.library_words, word);
            for (target, part) in places {
                self.set_word(*target, part.of(raw));
            }
        }
        if self.scratch.replace(scratch) != Some(scratch) {
            patches.libraries.iter().for_each(|node| self.replaying.changes(*node));
            patches.scratch.iter().for_each(|(at, offset, len)| {
                self.set_range(*at, Range { handle: scratch, offset: *offset, len: *len });
            });
        }
        if self.block.replace(block) != Some(block) {
            patches.blocks.iter().for_each(|(at, offset, len)| {
                self.set_range(*at, Range { handle: block, offset: *offset, len: *len });
            });
        }
        if self.status.replace(status) != Some(status) {
            patches.status.iter().for_each(|at| self.set_range(*at, status));
        }
        Some(())
    }
}

impl Patches {
    /// The slot of the last launch that can report goes there; `None` if there is no such launch.
    fn slot(&mut self, target: Target) -> Option<()> {
        self.slots.last_mut().map(|slots| slots.push(target))
    }

    /// A node is a library's part of a launch.
    fn library(&mut self, node: usize, launch: &Launch) {
        self.libraries.push(node);
        self.library_entries.extend(launch.args.iter().map(|at| (at.entry, node)));
        self.library_words.extend(launch.scalars.iter().map(|word| (*word, node)));
        let words = launch.scalars.iter().map(|word| word + 1).max().unwrap_or(0);
        if self.words.len() < words {
            self.words.resize_with(words, Vec::new);
        }
    }

    fn entry(&mut self, parameter: Parameter, at: At) {
        if self.entries.len() <= at.entry {
            self.entries.resize_with(at.entry + 1, Vec::new);
        }
        self.entries[at.entry].push((parameter, at));
    }

    fn word(&mut self, target: Target, word: usize, part: Part) {
        if self.words.len() <= word {
            self.words.resize_with(word + 1, Vec::new);
        }
        self.words[word].push((target, part));
    }
}

/// What a launch does to the flow of errors.
fn traced_of<'a, B: Backend>(program: &'a GpuExecutable<B>, launch: &Launch) -> Traced<'a> {
    let range = |at: &At| Range { handle: at.entry as u64, offset: at.offset, len: at.len };
    Traced {
        begins: launch.begins.iter().map(range).collect(),
        args: launch.args.iter().map(range).collect(),
        flows: &program.flows,
        reports: program.reports,
    }
}

impl<B: Backend> Steps<B> {
    /// Whether launches that are one may be so in a run.
    fn recurs(&self, run: &Run<'_>) -> bool {
        if self.recurrences.is_empty() {
            return true;
        }
        let entry = |at: usize| run.table.get(at).copied().map(GpuDevice::<B>::range);
        Config::current_or_default().replay != Replay::Off && self.recurrences.iter().all(|recurrence| recurrence.fits(entry))
    }
}

/// The parameters of a step that are memory which others may touch, and whether it writes there. Words for reports belong to a launch each, and the
/// parameter block is written before a run.
fn touched(step: &ProgramLaunch) -> Vec<(usize, bool)> {
    let memory = step.args.iter().zip(&step.program.params).enumerate().filter_map(|(at, (arg, param))| {
        let is_memory = matches!(arg, ProgramArg::Arg(_) | ProgramArg::Scratch(_) | ProgramArg::Table(_));
        match param {
            Param::Buffer { write, .. } | Param::Table { write, .. } => is_memory.then_some((at, *write)),
            Param::Scalar { .. } | Param::ScalarTable { .. } => None,
        }
    });
    memory.collect()
}

/// Workgroups of a compute unit from which a launch leaves no room for another one.
const FULL: u64 = 2;

fn fills(compute_units: u32, grid: [u32; 3]) -> bool {
    let groups = grid.iter().fold(1u64, |groups, extent| groups.saturating_mul(u64::from(*extent)));
    groups >= FULL * u64::from(compute_units.max(1))
}

impl<B: Backend> GpuDevice<B> {
    /// Works out what is the same in every run; nothing where a launch is not this driver's.
    pub(super) fn prepare_steps(&self, launches: &[Launch], temporary: Option<usize>) -> Result<Prepared, Error> {
        let mut prepared = Steps::<B> {
            launches: Vec::with_capacity(launches.len()),
            modules: Vec::new(),
            touches: Vec::new(),
            nodes: Vec::new(),
            scratch_bytes: 0,
            n_block: 0,
            n_reporting: 0,
            outcome: Outcome::default(),
            patches: Patches::default(),
            n_entries: 0,
            n_words: 0,
            recurrences: Vec::new(),
            refused: AtomicBool::new(false),
            state: Mutex::default(),
        };
        let mut state = State::default();
        let mut traced = Vec::with_capacity(launches.len());
        let mut taken = Vec::new();
        let mut found = self.recurrences(launches).into_iter().peekable();
        let mut rest = 0;
        for (number, launch) in launches.iter().enumerate() {
            let Some(program) = launch.program.as_any().downcast_ref::<GpuExecutable<B>>() else { return Ok(Box::new(())) };
            let first = prepared.modules.len();
            if let Some(found) = found.next_if(|found| found.launches.start == number) {
                rest = found.launches.end;
                self.prepare_recurrence(found, program, launch, &mut prepared, &mut state)?;
            }
            if number < rest {
                let steps = first..prepared.modules.len();
                let recurs = !steps.is_empty();
                prepared.launches.push(PreparedStep { name: program.name.clone(), reports: None, library: None, steps, recurs });
                traced.push(traced_of(program, launch));
                continue;
            }
            if program.reports {
                prepared.patches.slots.push(Vec::new());
            }
            for (at, step) in program.lowered.steps.iter().enumerate().filter(|(_, step)| !step.grid.contains(&0)) {
                let number = prepared.modules.len();
                prepared.modules.push((Arc::clone(&program.modules[at]), step.grid));
                prepared.touches.push((touched(step), fills(self.target.compute_units, step.grid)));
                let mut bound = Vec::with_capacity(step.args.len());
                for (parameter, (arg, dtype)) in step.args.iter().zip(&program.dtypes[at]).enumerate() {
                    let place = Parameter { step: number, parameter, element: 0 };
                    let block_at = block::behind(prepared.n_block + program.block_at[at], &step.args[..parameter]);
                    bound.push(self.parameter(program, launch, (arg, *dtype), (place, block_at), &mut prepared.patches)?);
                }
                state.bound.push(bound);
            }
            let mut library = None;
            if let Some(by) = &program.library {
                taken.push(by.taken);
                let before = program.lowered.steps.iter().take(by.before).filter(|step| !step.grid.contains(&0)).count();
                library = Some(LibraryPart { args: launch.args.clone(), scalars: launch.scalars.clone(), next: first + before });
            }
            let next = library.as_ref().map_or(first, |part| part.next);
            let steps = first..prepared.modules.len();
            prepared.nodes.extend((first..next).map(Node::ProgramLaunch));
            if library.is_some() {
                let node = prepared.nodes.len();
                prepared.nodes.push(Node::Library(prepared.launches.len()));
                prepared.patches.library(node, launch);
            }
            prepared.nodes.extend((next..steps.end).map(Node::ProgramLaunch));
            prepared.n_block += program.block.len();
            prepared.scratch_bytes = prepared.scratch_bytes.max(program.scratch_bytes);
            prepared.n_reporting += usize::from(program.reports);
            prepared.launches.push(PreparedStep {
                name: program.name.clone(),
                reports: program.reports.then(|| Faults::name(&program.name, launch.origin)),
                library,
                steps,
                recurs: false,
            });
            traced.push(traced_of(program, launch));
        }
        let places = launches.iter().flat_map(|launch| launch.args.iter().chain(&launch.begins));
        prepared.n_entries = places.map(|at| at.entry + 1).max().unwrap_or(0);
        prepared.patches.entries.resize_with(prepared.n_entries, Vec::new);
        prepared.n_words = prepared.patches.words.len();
        let outcome = Outcome::new(traced.into_iter(), prepared.n_entries, temporary);
        prepared.outcome = outcome.ok_or_else(|| self.misses_arguments("sequence"))?;
        state.node_of = vec![0; prepared.modules.len()];
        for (at, node) in prepared.nodes.iter().enumerate() {
            if let Node::ProgramLaunch(step) = node {
                state.node_of[*step] = at;
            }
        }
        if !taken.is_empty() {
            self.backend.plan(&taken);
        }
        state.replaying = Replaying::of(prepared.nodes.len());
        state.entries = vec![None; prepared.n_entries];
        state.words = vec![None; prepared.n_words];
        state.block_words = vec![0; prepared.n_block];
        prepared.state = Mutex::new(state);
        Ok(Box::new(prepared))
    }

    /// The program for all launches of a recurrence, as the step of its first one.
    fn prepare_recurrence(
        &self,
        Found { recurrence, module, .. }: Found<B>,
        program: &GpuExecutable<B>,
        launch: &Launch,
        prepared: &mut Steps<B>,
        state: &mut State,
    ) -> Result<(), Error> {
        let step = prepared.modules.len();
        let args = recurrence.args.iter().map(|moving| At { entry: moving.entry, offset: moving.first, len: moving.len }).collect();
        let launch = Launch { args, scalars: Vec::new(), begins: Vec::new(), ..launch.clone() };
        let ProgramLaunch { program: all, grid, args } = &recurrence.launch;
        let mut bound = Vec::with_capacity(args.len());
        for (parameter, (arg, param)) in args.iter().zip(&all.params).enumerate() {
            let place = Parameter { step, parameter, element: 0 };
            bound.push(self.parameter(program, &launch, (arg, param_dtype(param)), (place, 0), &mut prepared.patches)?);
        }
        state.bound.push(bound);
        prepared.modules.push((module, *grid));
        prepared.touches.push((touched(&recurrence.launch), fills(self.target.compute_units, *grid)));
        prepared.nodes.push(Node::ProgramLaunch(step));
        prepared.recurrences.push(recurrence);
        Ok(())
    }

    /// A parameter as far as it is known, and what is to be written there when a run brings it.
    fn parameter(
        &self,
        program: &GpuExecutable<B>,
        launch: &Launch,
        (arg, dtype): (&ProgramArg, DType),
        (place, block_at): (Parameter, usize),
        patches: &mut Patches,
    ) -> Result<Bound, Error> {
        let missing = || self.refuse(&program.name, "a launch passes fewer arguments than the kernel has");
        let no_slots = || self.refuse(&program.name, "a launch without reports has a slot for them");
        let find = |at: &usize| launch.args.get(*at).copied().ok_or_else(missing);
        let word = |at: &usize| launch.scalars.get(*at).copied().ok_or_else(missing);
        Ok(match arg {
            ProgramArg::Arg(at) => {
                patches.entry(place, find(at)?);
                Bound::Buffer(NOTHING)
            }
            ProgramArg::Scratch(at) => {
                patches.scratch.push((place, program.scratch_at[*at], program.lowered.scratch[*at]));
                Bound::Buffer(NOTHING)
            }
            ProgramArg::Status => {
                patches.status.push(place);
                Bound::Buffer(NOTHING)
            }
            ProgramArg::StatusSlot => {
                patches.slot(Target::Parameter(place)).ok_or_else(no_slots)?;
                Bound::Scalar(dtype, 0)
            }
            ProgramArg::Scalar(at, part) => {
                patches.word(Target::Parameter(place), word(at)?, *part);
                Bound::Scalar(dtype, 0)
            }
            ProgramArg::Word(word) => Bound::Scalar(dtype, *word),
            ProgramArg::Block(words) => {
                for (at, what) in words.iter().enumerate() {
                    let target = Target::Block(block_at + at);
                    match what {
                        BlockWord::Scalar(at, part) => patches.word(target, word(at)?, *part),
                        BlockWord::StatusSlot => patches.slot(target).ok_or_else(no_slots)?,
                    }
                }
                let Range { offset, len, .. } = block::part(0, block_at, words);
                patches.blocks.push((place, offset, len));
                Bound::Buffer(NOTHING)
            }
            ProgramArg::Table(all) => {
                for (element, at) in all.iter().enumerate() {
                    patches.entry(Parameter { element, ..place }, find(at)?);
                }
                Bound::Table(vec![NOTHING; all.len()])
            }
            ProgramArg::ScalarTable(all) => {
                for (element, at) in all.iter().enumerate() {
                    patches.word(Target::Parameter(Parameter { element, ..place }), word(at)?, Part::Whole);
                }
                Bound::ScalarTable(dtype, vec![0; all.len()])
            }
            ProgramArg::WordTable(words) => Bound::ScalarTable(dtype, words.clone()),
        })
    }

    /// Runs a sequence, or a part of one.
    pub(super) fn run_steps(&self, run: &Run<'_>) -> Result<Ran, Stopped> {
        let steps = (run.prepared as &dyn Any).downcast_ref::<Steps<B>>();
        let whole = |steps: &&Steps<B>| {
            let is_refused = || steps.refused.load(Relaxed);
            let has_room = || steps.n_reporting < lock(&self.shared.faults).n_slots();
            run.is_whole() && !is_refused() && has_room() && steps.recurs(run)
        };
        match steps.filter(whole) {
            Some(steps) => self.run_whole(run, steps),
            None => run.one_by_one(self),
        }
    }

    /// The memory of the driver's own for a run, and for its reports.
    fn memory_for(&self, steps: &Steps<B>, scratch: &mut super::Scratch) -> Result<(Memory, Filling<'_, B>), Error> {
        let scratch = if steps.scratch_bytes > 0 { self.scratch(scratch, steps.scratch_bytes)? } else { 0 };
        let block = self.block(4 * steps.n_block)?;
        let status = if steps.n_reporting > 0 { self.status()? } else { NOTHING };
        Ok((Memory { scratch, block: block.handle(), status }, block))
    }

    /// See [`unigrad_device::OpenDevice::reserve_for`]; false where the sequence is launched one by one.
    pub(super) fn reserve_steps(&self, prepared: &(dyn Any + Send + Sync)) -> Result<bool, Error> {
        let Some(steps) = (prepared as &dyn Any).downcast_ref::<Steps<B>>() else { return Ok(false) };
        self.memory_for(steps, &mut lock(&self.scratch)).map(|_| true)
    }

    fn run_whole(&self, run: &Run<'_>, steps: &Steps<B>) -> Result<Ran, Stopped> {
        let before = |error| Stopped { at: 0, error };
        if steps.n_reporting > 0 && !lock(&self.shared.faults).has_room(self.queue, steps.n_reporting) {
            self.wait(None).map_err(before)?;
        }
        // Held to the end, as in `launch`.
        let mut scratch = lock(&self.scratch);
        let (memory, mut block) = self.memory_for(steps, &mut scratch).map_err(before)?;
        let mut state = lock(&steps.state);
        let state = &mut *state;
        let patched = state.patch(&steps.patches, run, memory);
        patched.ok_or_else(|| before(self.does_not_fit()))?;
        state.begun.clear();
        if steps.n_reporting > 0 {
            let mut faults = lock(&self.shared.faults);
            for (name, slots) in steps.launches.iter().filter_map(|launch| launch.reports.as_ref()).zip(&steps.patches.slots) {
                let (id, slot) = faults.begin_named(self.queue, Arc::clone(name));
                state.begun.push(id);
                slots.iter().for_each(|target| state.set_word(*target, slot.into()));
            }
        }
        self.fill(&mut block, &state.block_words).map_err(before)?;
        drop(block);
        match self.replay(run, steps, memory.scratch, state) {
            Ok(Some(ran)) => return self.note_whole(steps, state).map(|()| ran),
            Ok(None) => {}
            // How far it has come is not known: as if the last one had failed, after all others were done.
            Err(error) => {
                let Stopped { error, .. } = self.stopped(run, steps, steps.launches.len(), state, self.not_again("replay", error));
                return Err(Stopped { at: steps.launches.len().saturating_sub(1), error });
            }
        }
        for (at, launch) in steps.launches.iter().enumerate() {
            let next = launch.library.as_ref().map_or(launch.steps.start, |library| library.next);
            // What comes before the library's part writes scratch memory only: it may be done again.
            self.queue_steps(run, (steps, at), launch.steps.start..next, state, false)?;
            if let Some(library) = &launch.library {
                match self.perform_in(run, at, library, memory.scratch, state) {
                    Ok(true) => {}
                    Ok(false) => {
                        // Nothing is queued for it: it and what follows go one by one, with programs of the driver in its place.
                        steps.refused.store(true, Relaxed);
                        self.note_part(run, steps, at, &state.begun).map_err(|error| Stopped { at, error })?;
                        drop(scratch);
                        return run.of(at..run.launches.len()).one_by_one(self);
                    }
                    Err(error) => return Err(self.stopped(run, steps, at, state, error)),
                }
            }
            match self.queue_steps(run, (steps, at), next..launch.steps.end, state, launch.library.is_some()) {
                Err(stopped) if launch.recurs && !matches!(stopped.error, Error::Interrupted { .. } | Error::DeviceLost { .. }) => {
                    unigrad_device::tell(format_args!(
                        "unigrad: {}: steps of a recurrence are launched one by one because of: {}",
                        self.name, stopped.error
                    ));
                    steps.refused.store(true, Relaxed);
                    drop(scratch);
                    return run.of(at..run.launches.len()).one_by_one(self);
                }
                queued => queued?,
            }
        }
        self.note_whole(steps, state).map(|()| Ran::default())
    }

    /// Queues steps of one launch; `begun` if what comes before them must not be done twice.
    fn queue_steps(
        &self,
        run: &Run<'_>,
        (steps, at): (&Steps<B>, usize),
        range: ops::Range<usize>,
        state: &State,
        mut begun: bool,
    ) -> Result<(), Stopped> {
        let launch = &steps.launches[at];
        let scratch_only = launch.library.as_ref().map_or(0, |library| library.next);
        for step in range {
            let (module, grid) = &steps.modules[step];
            if let Err(error) = self.backend.launch(module, *grid, &state.bound[step]) {
                let error = if begun { self.not_again(&launch.name, error) } else { error };
                return Err(self.stopped(run, steps, at, state, error));
            }
            begun |= step >= scratch_only;
        }
        Ok(())
    }

    /// Queues the library's part of a launch; false if the library refuses it.
    fn perform_in(&self, run: &Run<'_>, at: usize, part: &LibraryPart, scratch: u64, state: &mut State) -> Result<bool, Error> {
        let own = run.launches.get(at).and_then(|launch| launch.program.as_any().downcast_ref::<GpuExecutable<B>>());
        let Some((program, library)) = own.and_then(|own| Some((own, own.library.as_ref()?))) else {
            return Err(self.does_not_fit());
        };
        if library.own.get().is_some() {
            return Ok(false);
        }
        self.bring(run, program, part, state)?;
        self.perform(program, library, &state.args, &state.scalars, scratch)
    }

    /// Finds the memory and scalars of a launch that the library does.
    pub(super) fn bring(&self, run: &Run<'_>, program: &GpuExecutable<B>, part: &LibraryPart, state: &mut State) -> Result<(), Error> {
        state.args.clear();
        state.scalars.clear();
        let missing = || self.misses_arguments(&program.name);
        for at in &part.args {
            state.args.push(at.find(run.table).map(Self::range).ok_or_else(missing)?);
        }
        for word in &part.scalars {
            state.scalars.push(*run.scalars.get(*word).ok_or_else(missing)?);
        }
        Ok(())
    }

    /// All launches were queued.
    fn note_whole(&self, steps: &Steps<B>, state: &State) -> Result<(), Stopped> {
        let noted = lock(&self.shared.faults).sequence(&steps.outcome, &state.table, &state.begun);
        noted.ok_or_else(|| Stopped { at: steps.launches.len().saturating_sub(1), error: self.not_again("sequence", self.does_not_fit()) })
    }

    /// The launches before `at` were queued, and that one failed.
    fn stopped(&self, run: &Run<'_>, steps: &Steps<B>, at: usize, state: &State, error: Error) -> Stopped {
        let error = self.note_part(run, steps, at, &state.begun).err().unwrap_or(error);
        Stopped { at, error }
    }

    /// The launches before `end` were queued, and no others.
    fn note_part(&self, run: &Run<'_>, steps: &Steps<B>, end: usize, begun: &[LaunchId]) -> Result<(), Error> {
        let mut faults = lock(&self.shared.faults);
        let mut begun = begun.iter();
        let misfit = || self.not_again("sequence", self.does_not_fit());
        let find = |at: &At| at.find(run.table).map(Self::range).ok_or_else(misfit);
        for (launch, step) in run.launches.iter().zip(&steps.launches).take(end) {
            let program = launch.program.as_any().downcast_ref::<GpuExecutable<B>>().ok_or_else(misfit)?;
            for at in &launch.begins {
                faults.upload(find(at)?);
            }
            let args = launch.args.iter().map(find).collect::<Result<Vec<Range>, Error>>()?;
            let id = if step.reports.is_some() { begun.next().copied() } else { None };
            faults.launch(&args, &program.flows, id).ok_or_else(misfit)?;
        }
        Ok(())
    }

    fn does_not_fit(&self) -> Error {
        self.refuse("sequence", "the run does not fit the sequence that was prepared")
    }
}
