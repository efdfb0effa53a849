//! Evaluation: from graph to numbers.
//!
//! In: nodes that are wanted. Out: the same nodes with data.
//! The way: capture the graph, find its plan in the cache (or make one and compile its kernels), bind buffers, launch.
//! Always: one evaluation at a time in a process, from the walk on; what was computed before an error stays valid; a node gets its data at once or not at all.
//! Never: computes what has data already, or reads a tensor on the host.

use crate::{Error, random};
use rustc_hash::FxHashSet;
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};
use unigrad_device::{
    Buffer, Config, Debug, Device, Later, Moment, Program, Slice, later,
    profile::{self, Work},
    tag_or, tell,
};
use unigrad_graph::{Below, DType, Expr, NodeId, Op, Origin, Shape, Storage};
use unigrad_kernel::Kernel;
use unigrad_plan::{Capture, Options, Place, Plan, PlanCache, PlannedLaunch, plan, resolve};

/// How many plans are remembered.
const PLANS: usize = 512;

struct Ready {
    plan: Plan,
    programs: Vec<Arc<dyn Program>>,
}

struct State {
    cache: PlanCache<Ready>,
    /// One arena per stream of a device: evaluations follow each other there, so plans can share it. It grows to the largest.
    arenas: Arenas,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
static PLANS_BUILT: AtomicU64 = AtomicU64::new(0);
static PLAN_HITS: AtomicU64 = AtomicU64::new(0);
static LAUNCHES: AtomicU64 = AtomicU64::new(0);
static UNFUSED: AtomicU64 = AtomicU64::new(0);
static NODES: AtomicU64 = AtomicU64::new(0);
static LOOKUP_NANOS: AtomicU64 = AtomicU64::new(0);
static PLAN_NANOS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static FUSION: Cell<bool> = const { Cell::new(true) };
    static DEFERRED: RefCell<Vec<Deferred>> = const { RefCell::new(Vec::new()) };
}

/// By device and stream.
type Arenas = HashMap<(u32, u32), Buffer>;

/// A node for this thread's next evaluation.
struct Deferred {
    /// The node, if a handle to it is alive.
    current: Box<dyn Fn() -> Option<Expr>>,
    assigned: Option<Box<dyn Assigned>>,
}

/// A handle that has been assigned a value which is not computed yet.
pub(crate) trait Assigned {
    /// Gives the handle its old value back, unless the new one has been computed.
    fn undo(&self);

    /// From now on the new value counts only where the condition (`Bool`, rank 0) is true as well.
    fn guard(&self, condition: &Expr);
}

/// What evaluation has done in this process so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Graphs that had to be compiled.
    pub plans_built: u64,
    /// Graphs whose plan was there already.
    pub plan_hits: u64,
    /// Kernel launches.
    pub launches: u64,
    /// Kernels compiled, on all devices.
    pub compiles: u64,
    /// Allocations that reached a driver, on all devices.
    pub allocations: u64,
    /// Plans that could not be fused although that was wanted; their text says why.
    pub plans_unfused: u64,
    /// Graph nodes walked.
    pub nodes: u64,
    /// Nanoseconds spent on walking graphs and finding their plans.
    pub lookup_nanos: u64,
    /// Nanoseconds spent on making plans, without compiling their kernels.
    pub plan_nanos: u64,
}

/// Counts since the process began; subtract two to know what a step did.
pub fn stats() -> Stats {
    let mut stats = Stats {
        plans_built: PLANS_BUILT.load(Ordering::Relaxed),
        plan_hits: PLAN_HITS.load(Ordering::Relaxed),
        launches: LAUNCHES.load(Ordering::Relaxed),
        plans_unfused: UNFUSED.load(Ordering::Relaxed),
        nodes: NODES.load(Ordering::Relaxed),
        lookup_nanos: LOOKUP_NANOS.load(Ordering::Relaxed),
        plan_nanos: PLAN_NANOS.load(Ordering::Relaxed),
        ..Stats::default()
    };
    for device in Device::opened() {
        let counters = device.counters();
        stats.compiles += counters.compiles;
        stats.allocations += counters.allocations;
    }
    stats
}

/// Switches fusion for evaluations on this thread: off, every op is a launch of its own. For tests; returns the setting before.
pub fn set_fusion(enabled: bool) -> bool {
    FUSION.with(|fusion| fusion.replace(enabled))
}

/// Forgets every plan. The next evaluation of each graph plans again.
pub fn clear_plans() {
    if let Some(state) = lock().as_mut() {
        state.cache.clear();
    }
}

fn options(device: Device) -> Options {
    Options { fusion: FUSION.with(Cell::get), limits: device.limits(), errors_at_once: device.completes_at_once() }
}

fn lock() -> MutexGuard<'static, Option<State>> {
    // A panic while the state was held leaves nothing half-written that a later evaluation would read.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Computes the nodes (and what else is alive in their graphs, and what was assigned on this thread since the last evaluation), so that
/// each has data. Nodes that have data already cost nothing.
///
/// Assignments are a transaction: where the evaluation fails, all handles that it was to give new values have their old ones again.
pub fn realize(nodes: &[Expr]) -> Result<(), Error> {
    let mut targets: Vec<Expr> = Vec::with_capacity(nodes.len() + 4);
    for node in nodes {
        if let Some(error) = node.error() {
            return Err(Error::Graph(error.clone()));
        }
        let node = resolve(node);
        if node.data().is_none() {
            targets.push(node);
        }
    }
    let deferred = DEFERRED.with(|deferred| std::mem::take(&mut *deferred.borrow_mut()));
    if targets.is_empty() && deferred.is_empty() {
        return Ok(());
    }
    let deferred = Undo { deferred, kept: false };
    // An assignment that cannot be evaluated must not fail an unrelated read: its own reader will see the error.
    let mut known: FxHashSet<NodeId> = targets.iter().map(Expr::id).collect();
    for expr in deferred.deferred.iter().filter_map(|deferred| (deferred.current)()) {
        let expr = resolve(&expr);
        if expr.error().is_none() && expr.data().is_none() && known.insert(expr.id()) {
            targets.push(expr);
        }
    }
    if targets.iter().any(|target| target.device() != targets[0].device() && is_assignment(target)) {
        assign_on_several(&targets)?;
    }
    while !targets.is_empty() {
        let device = targets[0].device();
        let (here, others): (Vec<Expr>, Vec<Expr>) = targets.into_iter().partition(|target| target.device() == device);
        realize_on(&here, device)?;
        targets = others;
    }
    deferred.keep();
    Ok(())
}

/// Assignments that are undone when this drops, unless they are kept: after an error, and after a panic. What the thread has drawn for its step may be
/// drawn again then.
#[derive(Default)]
struct Undo {
    deferred: Vec<Deferred>,
    kept: bool,
}

impl Undo {
    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        random::step_failed();
        // The last one first: a tensor may have been assigned twice.
        self.deferred.iter().rev().filter_map(|deferred| deferred.assigned.as_ref()).for_each(|assigned| assigned.undo());
    }
}

/// The part of a step before its evaluation. Unless it [succeeds](Attempt::succeeded), by an error or a panic, what this thread has assigned since
/// its last evaluation is undone (layers assign running statistics), and what it has drawn may be drawn again.
#[derive(Default)]
#[must_use = "the attempt ends when it is dropped"]
pub struct Attempt(Undo);

impl Attempt {
    /// An attempt that begins here.
    pub fn begin() -> Attempt {
        Attempt::default()
    }

    /// The step goes on.
    pub fn succeeded(mut self) {
        self.0.kept = true;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.0.kept {
            self.0.deferred = DEFERRED.with(|deferred| std::mem::take(&mut *deferred.borrow_mut()));
        }
    }
}

fn is_assignment(node: &Expr) -> bool {
    matches!(node.op(), Op::Commit)
}

/// Assignments on several devices take effect together, after everything that can fail: their values are computed and known to be right on
/// all of them first, in memory of their own, and then only change hands.
fn assign_on_several(targets: &[Expr]) -> Result<(), Error> {
    let assignments: Vec<&Expr> = targets.iter().filter(|target| is_assignment(target)).collect();
    let mut values: Vec<Expr> = Vec::with_capacity(assignments.len());
    for commit in &assignments {
        let (Some(value), Some(old)) = (commit.input(0), commit.input(1)) else {
            return Err(Error::Internal("an assignment has lost its inputs".into()));
        };
        let value = match commit.input(2) {
            Some(condition) => condition.expand(commit.shape()).select(&value, &old),
            None => value,
        };
        // A node of its own, for its memory goes to the assigned tensor.
        values.push(value.barrier(&[]));
    }
    let mut left: Vec<Expr> = values.clone();
    while !left.is_empty() {
        let device = left[0].device();
        let (here, others): (Vec<Expr>, Vec<Expr>) = left.into_iter().partition(|value| value.device() == device);
        realize_on(&here, device)?;
        left = others;
    }
    let mut data = Vec::with_capacity(values.len());
    for value in &values {
        let storage = value.data().ok_or_else(no_data)?;
        let buffer = storage_buffer(storage)?;
        buffer.device().verify(buffer.as_slice())?;
        data.push(storage.clone());
    }
    for (commit, data) in assignments.into_iter().zip(data) {
        commit.set_data(data);
        // No gradient goes through an assignment.
        commit.release_inputs(None);
    }
    Ok(())
}

fn open(id: u32) -> Result<Device, Error> {
    Device::from_id(id).ok_or_else(|| Error::Internal(format!("there is no device {id}")))
}

fn realize_on(targets: &[Expr], device: u32) -> Result<(), Error> {
    // A chain of copies between devices may be of any length: who waits for what is copied is on a stack.
    let mut waiting: Vec<(Vec<Expr>, u32)> = vec![(targets.to_vec(), device)];
    while let Some((targets, device)) = waiting.last() {
        let copies = evaluate(targets, *device)?;
        if copies.is_empty() {
            if waiting.len() > 1 && targets.iter().any(|source| source.data().is_none()) {
                return Err(no_data());
            }
            waiting.pop();
        }
        for copy in copies {
            let Some(source) = copy.input(0).map(|source| resolve(&source)) else {
                return Err(Error::Internal("a copy without a source".into()));
            };
            match source.data() {
                Some(_) => transfer(&copy, &source)?,
                None => waiting.push((vec![source.clone()], source.device())),
            }
        }
    }
    Ok(())
}

/// Computes the nodes on their device; or gives the copies from other devices that have to be made first.
fn evaluate(targets: &[Expr], device: u32) -> Result<Vec<Expr>, Error> {
    // Held from the walk to the end of the launches: what may be overwritten is decided by who refers to it, and another evaluation
    // that has walked the same nodes would find inputs overwritten, or let go.
    let mut guard = lock();
    let begin = Moment::now();
    let capture = Capture::new(targets).map_err(Error::Graph)?;
    if !capture.copies.is_empty() {
        return Ok(capture.copies);
    }
    if capture.is_empty() {
        return Ok(Vec::new());
    }
    let device = open(device)?;
    let state = guard.get_or_insert_with(|| State { cache: PlanCache::new(PLANS), arenas: HashMap::new() });
    let known = state.cache.get(&capture, options(device));
    NODES.fetch_add(capture.len() as u64, Ordering::Relaxed);
    LOOKUP_NANOS.fetch_add(begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
    let ready = match known {
        Some(ready) => {
            PLAN_HITS.fetch_add(1, Ordering::Relaxed);
            ready
        }
        None => {
            let ready = Arc::new(prepare(&capture, device)?);
            state.cache.insert(&capture, options(device), ready.clone());
            ready
        }
    };
    run(&capture, &ready, device, &mut state.arenas)?;
    Ok(Vec::new())
}

/// Makes a copy node's data from what was computed on the one device: puts it on the other.
fn transfer(copy: &Expr, source: &Expr) -> Result<(), Error> {
    let from = storage_buffer(source.data().ok_or_else(no_data)?)?;
    let buffer = open(copy.device())?.allocate_tagged(copy.numel() * copy.dtype().size(), tag_or("tensor"))?;
    buffer.copy_from(0, from, 0, buffer.len())?;
    copy.set_data(Arc::new(buffer));
    if !copy.needs_grad() {
        let below = Below::of(copy.inputs().iter().chain([source]).filter(|node| node.dtype().is_float() && !node.needs_grad()));
        copy.release_inputs(below);
    }
    Ok(())
}

/// The node that a node stands for, with data.
fn realized(node: &Expr) -> Result<Expr, Error> {
    realize(std::slice::from_ref(node))?;
    Ok(resolve(node))
}

fn no_data() -> Error {
    Error::Internal("evaluation gave no data".into())
}

fn prepare(capture: &Capture, device: Device) -> Result<Ready, Error> {
    let begin = Moment::now();
    let plan = plan(capture, options(device)).map_err(Error::Internal)?;
    PLANS_BUILT.fetch_add(1, Ordering::Relaxed);
    UNFUSED.fetch_add(u64::from(plan.unfused_because.is_some()), Ordering::Relaxed);
    let planned = begin.elapsed();
    PLAN_NANOS.fetch_add(planned.as_nanos() as u64, Ordering::Relaxed);
    let programs = compile_all(&plan, device)?;
    if debug().plan {
        let (nodes, compiled) = (capture.len(), begin.elapsed() - planned);
        tell(format_args!("plan of {nodes} nodes in {planned:.1?}, compiled in {compiled:.1?}\n{plan}"));
    }
    Ok(Ready { plan, programs })
}

/// The programs of a plan. What the device has not compiled yet is compiled on several threads, for a GPU's compiler takes its time.
fn compile_all(plan: &Plan, device: Device) -> Result<Vec<Arc<dyn Program>>, Error> {
    let kernels: Vec<&Kernel> = plan.launches.iter().map(|launch| &launch.kernel).collect();
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from).min(kernels.len());
    if device.compiles_slowly() && n_threads > 1 {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..n_threads {
                scope.spawn(|| {
                    while let Some(kernel) = kernels.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // An error comes again below, where there is somebody to tell.
                        let _ = device.compile(kernel);
                    }
                });
            }
        });
    }
    let compile = |launch: &PlannedLaunch| device.compile(&launch.kernel).map_err(|error| Error::Launch { origin: launch.origin, error });
    plan.launches.iter().map(compile).collect()
}

fn storage_buffer(storage: &Storage) -> Result<&Buffer, Error> {
    storage.downcast_ref::<Buffer>().ok_or_else(|| Error::Internal("a node holds data of another kind".into()))
}

/// How often a launch is tried again once the evaluation cannot be undone any more.
const RETRIES: usize = 3;

/// Whether the same launch may succeed when it is tried again.
fn may_pass(error: &unigrad_device::Error) -> bool {
    matches!(error, unigrad_device::Error::Launch { .. } | unigrad_device::Error::OutOfMemory { .. })
}

/// Outputs whose memory held something else before.
#[derive(Default)]
struct Torn(Vec<u32>);

impl Torn {
    /// The evaluation cannot come to its end: what it has overwritten is neither the old value nor anything that a graph still names.
    fn tell(&self, capture: &Capture, plan: &Plan, error: &Error) {
        let is_index = matches!(error, Error::Launch { error: unigrad_device::Error::IndexOutOfRange { .. }, .. });
        for (i, expr) in capture.outputs().enumerate().filter(|(i, _)| self.0.contains(&(*i as u32))) {
            // Where an index was out of range, what is assigned was written as it was before.
            if !(is_index && is_assignment(expr))
                && let Some(donor) = plan.donated[i].and_then(|input| capture.externals.get(input as usize))
            {
                spoiled::add(donor.id(), error.to_string());
            }
        }
    }
}

/// Nodes whose data an evaluation overwrote before it failed: nobody reads them for what they were.
pub(crate) mod spoiled {
    use super::{Error, Expr, NodeId};
    use crate::error::graph_error;
    use std::{
        collections::BTreeMap,
        sync::{
            Mutex, PoisonError,
            atomic::{AtomicBool, Ordering},
        },
    };
    use unigrad_graph::ErrorKind;

    static ANY: AtomicBool = AtomicBool::new(false);
    static NODES: Mutex<BTreeMap<NodeId, String>> = Mutex::new(BTreeMap::new());

    pub(super) fn add(node: NodeId, cause: String) {
        NODES.lock().unwrap_or_else(PoisonError::into_inner).insert(node, cause);
        ANY.store(true, Ordering::Release);
    }

    /// Why a node's data is not what it was, if that is so.
    pub(crate) fn check(node: &Expr) -> Result<(), Error> {
        if !ANY.load(Ordering::Acquire) {
            return Ok(());
        }
        let nodes = NODES.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(cause) = nodes.get(&node.id()) else { return Ok(()) };
        let message = format!("this was overwritten by an evaluation that then could not come to its end: {cause}");
        Err(graph_error(&Expr::fail(ErrorKind::Argument, "realize", message, "compute it again, or load a checkpoint", &[])))
    }
}

/// A device's error with the line of the op that it belongs to.
fn at(origin: Option<Origin>, error: unigrad_device::Error) -> Error {
    match origin {
        Some(origin) => Error::Launch { origin, error },
        None => Error::Device(error),
    }
}

fn run(capture: &Capture, ready: &Ready, device: Device, arenas: &mut Arenas) -> Result<(), Error> {
    let Ready { plan, programs } = ready;
    let externals = capture
        .externals
        .iter()
        .map(|expr| {
            spoiled::check(expr)?;
            storage_buffer(expr.data().ok_or_else(|| Error::Internal("an input has lost its data".into()))?)
        })
        .collect::<Result<Vec<&Buffer>, Error>>()?;
    for check in &plan.checks {
        let (index, size) = (capture.scalars[check.slot as usize] as i64, i64::try_from(check.size).unwrap_or(i64::MAX));
        let lowest = if check.from_end { -size } else { 0 };
        if !(lowest..size).contains(&index) {
            let error = unigrad_device::Error::IndexOutOfRange { index, size, kernel: "assign".to_owned() };
            return Err(at(Some(check.origin), error));
        }
    }
    let assigned: Vec<usize> = capture.assigned().collect();
    if !assigned.is_empty() {
        // What is assigned keeps its old value if an index of this evaluation is out of range; data that an earlier one got wrong is an error
        // before anything changes.
        for buffer in &externals {
            device.verify(buffer.as_slice())?;
        }
    }
    let place = (device.id(), device.current_stream());
    let begin = capture.outputs().next().map(Expr::origin);
    if arenas.get(&place).is_none_or(|arena| arena.len() < plan.arena) {
        // The old one goes first: the two need not fit at once.
        arenas.remove(&place);
        arenas.insert(place, device.allocate_tagged(plan.arena, "arena").map_err(|error| at(begin, error))?);
    }
    let arena = arenas.get(&place).ok_or_else(|| Error::Internal("the arena is missing".into()))?;
    // Nothing below here may ask for memory: once an input is overwritten, the evaluation has to come to its end.
    let mut overwrites = vec![false; plan.outputs.len()];
    let mut outputs: Vec<Buffer> = Vec::with_capacity(plan.outputs.len());
    for (i, expr) in capture.outputs().enumerate() {
        let owner = plan.outputs[i] as usize;
        let buffer = if owner < i {
            outputs[owner].clone()
        } else {
            let donor = plan.donated[i].map(|input| input as usize);
            // Two nodes may share one buffer; then it is not ours to overwrite.
            let free = donor.filter(|input| {
                externals[*input].is_unique() && capture.externals[*input].data().is_some_and(|data| Arc::strong_count(data) == 1)
            });
            match free {
                Some(input) => {
                    overwrites[i] = true;
                    externals[input].clone()
                }
                None => {
                    let bytes = expr.numel() * expr.dtype().size();
                    let fresh = device.allocate_tagged(bytes, tag_or("tensor")).map_err(|error| at(Some(expr.origin()), error))?;
                    if let Some(input) = donor {
                        fresh.copy_from(0, externals[input], 0, fresh.len())?;
                    }
                    fresh
                }
            }
        };
        outputs.push(buffer);
    }
    if overwrites.contains(&true) {
        for (launch, program) in plan.launches.iter().zip(programs) {
            device.reserve(program.as_ref()).map_err(|error| at(Some(launch.origin), error))?;
        }
    }
    let mut args: Vec<Slice<'_>> = Vec::new();
    let mut words: Vec<u64> = Vec::new();
    let mut torn = Torn::default();
    let timed = debug().steps;
    for (launch, program) in plan.launches.iter().zip(programs) {
        args.clear();
        words.clear();
        for (place, arg) in launch.args.iter().zip(launch.kernel.args()) {
            args.push(match place {
                Place::External(i) => externals[*i as usize].as_slice(),
                Place::Output(i) => outputs[*i as usize].as_slice(),
                Place::Arena(offset) => arena.slice(*offset, arg.len * arg.dtype.size())?,
            });
        }
        for (place, bytes) in &launch.begins {
            device.settle(match place {
                Place::External(i) => externals[*i as usize].as_slice(),
                Place::Output(i) => outputs[*i as usize].as_slice(),
                Place::Arena(offset) => arena.slice(*offset, *bytes)?,
            });
        }
        words.extend(launch.scalars.iter().map(|slot| capture.scalars[*slot as usize]));
        let begin = Moment::now();
        let work = || {
            let (read, write) = launch.traffic();
            Work {
                name: launch.name.clone(),
                kind: launch.kernel.kind(),
                origin: Some(launch.origin),
                bytes: read + write,
                flops: launch.kernel.flops(),
                extents: launch.extents(),
            }
        };
        let submit = || device.launch_from(program.as_ref(), &args, &words, Some(launch.origin));
        let mut launched = profile::record(device, work, submit);
        // Others have overwritten what they read: to undo is not possible, to go on is.
        for _ in 0..if torn.0.is_empty() { 0 } else { RETRIES } {
            if !matches!(&launched, Err(error) if may_pass(error)) {
                break;
            }
            launched = profile::record(device, work, submit);
        }
        if let Err(error) = launched {
            if matches!(error, unigrad_device::Error::Interrupted { .. }) {
                torn.0.extend(launch.overwrites.iter().copied().filter(|i| overwrites[*i as usize]));
            }
            let error = Error::Launch { origin: launch.origin, error };
            torn.tell(capture, plan, &error);
            return Err(error);
        }
        torn.0.extend(launch.overwrites.iter().copied().filter(|i| overwrites[*i as usize]));
        LAUNCHES.fetch_add(1, Ordering::Relaxed);
        if timed {
            device.synchronize()?;
            let seconds = begin.elapsed().as_secs_f64();
            let (read, write) = launch.traffic();
            let rate = launch.kernel.flops() / seconds / 1e9;
            let (us, speed) = (seconds * 1e6, (read + write) / seconds / 1e9);
            tell(format_args!("{}  {us:>9.1} us  {speed:>7.1} GB/s  {rate:>7.1} GFLOP/s", launch.line()));
        }
    }
    device.checkpoint()?;
    let drawn: Vec<NodeId> = capture.scalar_nodes().filter(|node| node.dtype() == DType::U64).map(Expr::id).collect();
    let drawn = random::used(&drawn);
    if !assigned.is_empty() && !device.completes_at_once() {
        steps::note(&outputs, drawn);
    }
    for i in assigned {
        device.settle(outputs[i].as_slice());
    }
    for ((expr, buffer), below) in capture.outputs().zip(outputs).zip(capture.below()) {
        expr.set_data(Arc::new(buffer));
        if !expr.needs_grad() || expr.is_consumed() {
            expr.release_inputs(below);
        }
    }
    Ok(())
}

/// The plan of some nodes as text, without running it.
pub fn plan_text(nodes: &[Expr]) -> Result<String, Error> {
    Ok(plan_of(nodes)?.to_string())
}

/// The plan of some nodes, without running it.
pub fn plan_of(nodes: &[Expr]) -> Result<Plan, Error> {
    let targets: Vec<Expr> = nodes.iter().map(resolve).collect();
    let _guard = lock();
    let capture = Capture::new(&targets).map_err(Error::Graph)?;
    let device = open(targets.first().map_or(0, Expr::device))?;
    plan(&capture, options(device)).map_err(Error::Internal)
}

/// Puts bytes (row-major elements of `dtype`) on a device. Every byte of a `Bool` that is not 0 becomes 1: kernels rely on it.
#[track_caller]
pub fn upload(bytes: &[u8], shape: &[usize], dtype: DType, device: u32) -> Result<Expr, Error> {
    let wanted = unigrad_graph::numel(shape) * dtype.size();
    if bytes.len() != wanted {
        return Err(Error::Internal(format!("{} bytes for {shape:?} {dtype}, which has {wanted}", bytes.len())));
    }
    let buffer = open(device)?.allocate_tagged(bytes.len(), tag_or("tensor"))?;
    if dtype == DType::Bool && bytes.iter().any(|byte| *byte > 1) {
        buffer.upload(0, &bytes.iter().map(|byte| u8::from(*byte != 0)).collect::<Vec<u8>>())?;
    } else {
        buffer.upload(0, bytes)?;
    }
    Ok(Expr::buffer(Shape::from_slice(shape), dtype, device, Arc::new(buffer)))
}

/// The bytes of a node; realizes it first.
pub fn download(node: &Expr) -> Result<Vec<u8>, Error> {
    data(&realized(node)?)
}

/// The latest steps that a device may still find to have failed.
mod steps {
    use super::{Buffer, NodeId, random};
    use std::{
        collections::VecDeque,
        sync::{Mutex, PoisonError},
    };

    /// Where a step's results are, and what it drew.
    struct Step {
        outputs: Vec<u64>,
        drawn: Vec<NodeId>,
    }

    /// Older ones cannot be given back anyway, for something was drawn after them.
    const STEPS: usize = 8;

    static LATEST: Mutex<VecDeque<Step>> = Mutex::new(VecDeque::new());

    /// A step that was handed to a device.
    pub(super) fn note(outputs: &[Buffer], drawn: Vec<NodeId>) {
        if drawn.is_empty() {
            return;
        }
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.len() == STEPS {
            latest.pop_front();
        }
        latest.push_back(Step { outputs: outputs.iter().map(Buffer::address).collect(), drawn });
    }

    /// A result could not be read: what its step drew may be drawn again.
    pub(super) fn failed(result: &Buffer) {
        let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(step) = latest.iter().rev().find(|step| step.outputs.contains(&result.address())) {
            random::failed(&step.drawn);
        }
    }
}

/// The bytes of a node that has been computed; evaluates nothing.
pub fn data(node: &Expr) -> Result<Vec<u8>, Error> {
    let node = resolve(node);
    spoiled::check(&node)?;
    let buffer = storage_buffer(node.data().ok_or_else(no_data)?)?;
    let mut bytes = buffer.to_vec().inspect_err(|_| steps::failed(buffer))?;
    bytes.truncate(node.numel() * node.dtype().size());
    Ok(bytes)
}

/// As [`download`] of what `node` gives, without blocking. Where there are threads, all of it is done on another one; elsewhere, as in a
/// browser, the launches are queued before this returns, and only the bytes are waited for.
pub fn download_async<T: Send + 'static>(
    node: impl FnOnce() -> Result<Expr, Error> + Send + 'static,
    then: impl FnOnce(&Expr, Vec<u8>) -> Result<T, Error> + Send + 'static,
) -> Later<Result<T, Error>> {
    if !cfg!(target_family = "wasm") {
        return later(move || {
            let node = node()?;
            let bytes = download(&node)?;
            then(&node, bytes)
        });
    }
    let begun = node().and_then(|node| {
        let data = realized(&node)?;
        Ok((storage_buffer(data.data().ok_or_else(no_data)?)?.to_vec_async(), node))
    });
    Later::of(async move {
        let (reading, node) = begun?;
        let mut bytes = reading.await?;
        bytes.truncate(node.numel() * node.dtype().size());
        then(&node, bytes)
    })
}

/// The node that `current` gives is realized with the next evaluation on this thread.
pub fn defer(current: impl Fn() -> Option<Expr> + 'static) {
    let deferred = Deferred { current: Box::new(current), assigned: None };
    DEFERRED.with(|all| all.borrow_mut().push(deferred));
}

/// As [`defer`], for an assignment, which is undone if that evaluation fails.
pub(crate) fn defer_assignment(current: impl Fn() -> Option<Expr> + 'static, assigned: impl Assigned + 'static) {
    let deferred = Deferred { current: Box::new(current), assigned: Some(Box::new(assigned)) };
    DEFERRED.with(|all| all.borrow_mut().push(deferred));
}

/// What this thread has assigned since its last evaluation counts only where the condition (`Bool`, rank 0) is true.
pub fn guard_assignments(condition: &Expr) {
    DEFERRED
        .with(|all| all.borrow().iter().filter_map(|deferred| deferred.assigned.as_ref()).for_each(|assigned| assigned.guard(condition)));
}

/// What is printed; decided at the first evaluation.
fn debug() -> Debug {
    static DEBUG: std::sync::OnceLock<Debug> = std::sync::OnceLock::new();
    *DEBUG.get_or_init(|| Config::current_or_default().debug)
}
