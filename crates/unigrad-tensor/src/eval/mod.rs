//! Evaluation: from graph to numbers.
//!
//! In: nodes that are wanted. Out: the same nodes with data.
//! The way: capture the graph and claim what will change (`claims`), find its plan (`lanes`) or make one and compile its kernels (`prepare`),
//! bind buffers and launch (`run`). What a function's call evaluates may be noted (`tape`), and run on other data (`again`).
//! Always: a node is computed by one evaluation at a time; those that share nothing that has yet to be computed go side by side, in as many
//! threads as there are. What was computed before an error stays valid; a node gets its data at once or not at all.
//! Never: computes what has data already, or reads a tensor on the host.

mod again;
mod claims;
mod demand;
mod lanes;
mod layout;
mod prepare;
mod run;
mod stats;
mod steps;
mod tape;
mod torn;

pub(crate) use again::Pending;
pub use demand::{Demand, with_demands_checked};
pub use layout::{set_padding, with_dim};
pub use stats::{Stats, stats};
pub use tape::depends_on;
pub(crate) use tape::{Again, Evaluated, Setting, Tape, Word, record};
pub(crate) use torn::spoiled;

use crate::{Error, random, tensor::Handle};
use claims::{Alone, Claimed, For};
use lanes::Site;
use rustc_hash::{FxBuildHasher, FxHashSet};
use smallvec::SmallVec;
use std::{
    cell::{Cell, RefCell},
    sync::{Arc, OnceLock, atomic::Ordering},
};
use unigrad_device::{Background, Buffer, Config, Debug, Device, Timestamp, in_background, tag_or};
use unigrad_graph::{Below, DType, Expr, Format, NodeId, Op, Shape, Storage};
use unigrad_plan::{Options, Plan, plan, resolve, resolved};

thread_local! {
    static FUSION: Cell<bool> = const { Cell::new(true) };
    static ACTIVATION_LIMIT: Cell<Option<Option<u64>>> = const { Cell::new(None) };
    static DEFERRED: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// Assignments of a small model's step.
const DEFERRED_ROOM: usize = 32;

/// Switches fusion for evaluations on this thread: off, every op is a launch of its own. For tests; returns the setting before.
pub fn set_fusion(enabled: bool) -> bool {
    FUSION.with(|fusion| fusion.replace(enabled))
}

/// Runs `work` with a limit for what evaluations on this thread keep between their launches, in place of [`Config::activation_limit`]: where a plan needs
/// more, wide rows (a head's logits and their gradient) are made by chunks, as few as suffice, and values are dropped and made again, the cheapest first.
/// What is made again has the same bits. By chunks, sums over rows (the gradients of a head's weight and bias) are added up in another order, in `F32`, and
/// rows of halves are rounded where a chunk ends; all within what such sums differ by. `None`: without a limit.
///
/// ```
/// # extern crate unigrad_tensor as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::{DType, Device, Tensor, eval, grad};
///
/// let w = Tensor::rand([64, 64], DType::F32, &Device::open("cpu")?).requires_grad();
/// let gradient = || -> unigrad::Result<Vec<f32>> {
///     let y = (0..8).fold(w.clone(), |y, _| y.matmul(&w).tanh());
///     grad(&y.sum(()), &[&w])?[0].to_vec()
/// };
/// assert_eq!(eval::with_activation_limit(Some(1 << 16), gradient)?, gradient()?);
/// # Ok::<(), unigrad::Error>(())
/// ```
pub fn with_activation_limit<T>(bytes: Option<u64>, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<Option<u64>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            ACTIVATION_LIMIT.set(self.0);
        }
    }
    let _restore = Restore(ACTIVATION_LIMIT.replace(Some(bytes)));
    work()
}

/// Forgets every plan. The next evaluation of each graph plans again.
pub fn clear_plans() {
    lanes::clear_plans();
}

fn options(device: Device) -> Options {
    let config = Config::current_or_default();
    // DEFAULT: a limit beyond the address space is none.
    let limit = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    Options {
        fusion: FUSION.with(Cell::get),
        limits: device.limits(),
        recompute: device.recompute(),
        joins: device.joins(),
        crossed: device.crosses(),
        summed: device.sums_operands(),
        errors_at_once: device.completes_at_once(),
        tf32: config.allow_tf32,
        library: device.library(),
        channels: device.channels(),
        arena: ACTIVATION_LIMIT.get().unwrap_or(config.activation_limit).map(limit),
    }
}

/// Computes the nodes (and what else is alive in their graphs, and what was assigned on this thread since the last evaluation), so that
/// each has data. Nodes that have data already cost nothing.
///
/// Assignments are a transaction: where the evaluation fails, all handles that it was to give new values have their old ones again.
pub fn realize(nodes: &[Expr]) -> Result<(), Error> {
    realize_owned(nodes.to_vec())
}

/// As [`realize`], of handles that nothing else needs.
pub(crate) fn realize_owned(nodes: Vec<Expr>) -> Result<(), Error> {
    if let Some(error) = nodes.iter().find_map(Expr::error) {
        return Err(Error::Graph(error.clone()));
    }
    let mut targets: Vec<Expr> = nodes.into_iter().map(resolved).filter(|node| node.data().is_none()).collect();
    let deferred = DEFERRED.take();
    if targets.is_empty() && deferred.is_empty() {
        return Ok(());
    }
    tape::note_assigned(&deferred);
    let deferred = Undo { deferred, kept: false };
    // An assignment that cannot be evaluated must not fail an unrelated read: its own reader will see the error.
    let is_wanted = |expr: &Expr| expr.error().is_none() && expr.data().is_none();
    let mut known: FxHashSet<NodeId> = FxHashSet::with_capacity_and_hasher(targets.len() + deferred.deferred.len(), FxBuildHasher);
    known.extend(targets.iter().map(Expr::id));
    // What a program assigns and computes itself, as an optimizer does, is there already; if it was assigned anew, that was noted too.
    let others: SmallVec<[&Handle; 8]> = deferred.deferred.iter().filter(|handle| !known.contains(&handle.assigned())).collect();
    let assigned = others.into_iter().filter_map(Handle::expr).map(resolved).filter(is_wanted);
    targets.extend(assigned.filter(|expr| known.insert(expr.id())));
    if targets.iter().any(|target| target.device() != targets[0].device() && is_assignment(target)) {
        assign_on_several(&targets)?;
    }
    while !targets.is_empty() {
        let device = targets[0].device();
        let others: Vec<Expr> = targets.extract_if(.., |target| target.device() != device).collect();
        realize_on(targets, device)?;
        targets = others;
    }
    deferred.keep();
    Ok(())
}

/// Assignments that are undone when this drops, unless they are kept: after an error, and after a panic. What the thread has drawn for its step may be
/// drawn again then.
#[derive(Default)]
struct Undo {
    deferred: Vec<Handle>,
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
        self.deferred.iter().rev().for_each(Handle::undo);
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
            self.0.deferred = DEFERRED.take();
        }
    }
}

fn is_assignment(node: &Expr) -> bool {
    matches!(node.op(), Op::Commit(_))
}

/// Assignments on several devices take effect together, after everything that can fail: their values are computed and known to be right on
/// all of them first, in memory of their own, and then only change hands.
fn assign_on_several(targets: &[Expr]) -> Result<(), Error> {
    let assignments: Vec<&Expr> = targets.iter().filter(|target| is_assignment(target)).collect();
    let mut values: Vec<Expr> = Vec::with_capacity(assignments.len());
    for commit in &assignments {
        let (Some(value), Some(old)) = (commit.committed(), commit.input(1)) else {
            return Err(Error::Internal("an assignment has lost its inputs".into()));
        };
        let value = match commit.input(2) {
            Some(condition) => condition.expand_like(commit).select(&value, &old),
            None => value,
        };
        // A node of its own, for its memory goes to the assigned tensor.
        values.push(value.barrier(&[]));
    }
    let mut left: Vec<Expr> = values.clone();
    while !left.is_empty() {
        let device = left[0].device();
        let (here, others): (Vec<Expr>, Vec<Expr>) = left.into_iter().partition(|value| value.device() == device);
        realize_on(here, device)?;
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
        let _claim = Alone::new(Site::of(commit.device()), commit);
        // Another thread may have read the tensor meanwhile, and so made the assignment.
        if commit.data().is_none() {
            commit.set_data(data);
            // No gradient goes through an assignment.
            commit.release_inputs(None);
        }
    }
    Ok(())
}

fn open(id: u32) -> Result<Device, Error> {
    Device::from_id(id).ok_or_else(|| Error::Internal(format!("there is no device {id}")))
}

fn realize_on(targets: Vec<Expr>, device: u32) -> Result<(), Error> {
    // A chain of copies between devices may be of any length: what waits for the copies is on a stack.
    let mut waiting: Vec<(Vec<Expr>, u32)> = vec![(targets, device)];
    while let Some((targets, device)) = waiting.last() {
        let copies = evaluate(targets, *device)?;
        if copies.is_empty() {
            if waiting.len() > 1 && targets.iter().any(|source| source.data().is_none()) {
                return Err(no_data());
            }
            waiting.pop();
        }
        for copy in copies {
            let claim = Alone::new(Site::of(copy.device()), &copy);
            if copy.data().is_some() {
                // Another thread has made it.
                continue;
            }
            let Some(source) = copy.input(0).map(|source| resolve(&source)) else {
                return Err(Error::Internal("a copy without a source".into()));
            };
            if source.data().is_some() {
                transfer(&copy, &source)?;
            } else {
                drop(claim);
                waiting.push((vec![source.clone()], source.device()));
            }
        }
    }
    Ok(())
}

/// Computes the nodes on their device; or gives the copies from other devices that have to be made first.
fn evaluate(targets: &[Expr], device: u32) -> Result<Vec<Expr>, Error> {
    let site = Site::of(device);
    let mut purpose = For::Run;
    loop {
        let begin = Timestamp::now();
        let mut claimed = Claimed::new(site, targets, purpose)?;
        if !claimed.capture.copies.is_empty() {
            return Ok(std::mem::take(&mut claimed.capture.copies));
        }
        if claimed.capture.is_empty() {
            return Ok(Vec::new());
        }
        let device = open(device)?;
        let (ready, was_there) = match purpose {
            For::Run => match site.known(&claimed, options(device)) {
                Some(ready) => (ready, true),
                None => {
                    purpose = For::Plan;
                    continue;
                }
            },
            For::Plan => site.plan(&claimed, options(device), || prepare::prepare(&claimed.capture, device))?,
        };
        if was_there {
            stats::PLAN_HITS.fetch_add(1, Ordering::Relaxed);
            stats::LOOKUP_NANOS.fetch_add(begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        stats::NODES.fetch_add(claimed.capture.len() as u64, Ordering::Relaxed);
        claimed.planned();
        let lane = site.lane(device.current_stream());
        demand::check(&claimed.capture, &ready, device, &lane)?;
        let result = run::run(&claimed.capture, &ready, device, &lane);
        if device.is_lost() {
            site.clear();
        }
        result?;
        tape::note(&claimed.capture, &ready, device, site);
        return Ok(Vec::new());
    }
}

/// Makes a copy node's data from what was computed on the one device: puts it on the other.
fn transfer(copy: &Expr, source: &Expr) -> Result<(), Error> {
    tape::refuse("a function that is replayed copies from one device to another", "copy before it, or after it");
    let from = storage_buffer(source.data().ok_or_else(no_data)?)?;
    let buffer = open(copy.device())?.allocate_tagged(copy.bytes()?, tag_or("tensor"))?;
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

fn storage_buffer(storage: &Storage) -> Result<&Buffer, Error> {
    storage.downcast_ref::<Buffer>().ok_or_else(|| Error::Internal("a node holds data of another kind".into()))
}

/// The plan of some nodes as text, without running it.
pub fn plan_text(nodes: &[Expr]) -> Result<String, Error> {
    Ok(plan_of(nodes)?.to_string())
}

/// The plan of some nodes, without running it.
pub fn plan_of(nodes: &[Expr]) -> Result<Plan, Error> {
    let targets: Vec<Expr> = nodes.iter().map(resolve).collect();
    let device = targets.first().map_or(0, Expr::device);
    let claimed = Claimed::new(Site::of(device), &targets, For::Plan)?;
    plan(&claimed.capture, options(open(device)?)).map_err(Error::Internal)
}

/// Puts bytes (row-major elements of `dtype`) on a device. Every byte of a `Bool` that is not 0 becomes 1: kernels rely on it.
#[track_caller]
pub fn upload(bytes: &[u8], shape: &[usize], dtype: DType, device: u32) -> Result<Expr, Error> {
    let wanted = Format::Plain(dtype).bytes_for(shape).map_err(|error| Error::argument(error.cause, error.help))?;
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
    tape::may_read()?;
    data(&realized(&computed(node).unwrap_or_else(|| node.clone()))?)
}

/// The node with the data of a handle that was cut off from a gradient, or that has one of its own, if they are there: to read them is no launch.
#[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
fn computed(node: &Expr) -> Option<Expr> {
    let mut node = resolve(node);
    while node.data().is_none() {
        match node.op() {
            Op::Custom(_) => node = resolve(&node.input(0)?),
            _ => return None,
        }
    }
    Some(node)
}

/// The bytes of a node that has been computed; evaluates nothing.
pub fn data(node: &Expr) -> Result<Vec<u8>, Error> {
    let node = resolve(node);
    spoiled::check(&node)?;
    let buffer = storage_buffer(node.data().ok_or_else(no_data)?)?;
    Ok(layout::counting(&node, buffer.to_vec().inspect_err(|_| steps::failed(buffer))?))
}

/// The buffer of a node's elements, row-major; realizes it first. It is not written while the handle is there.
pub(crate) fn buffer(node: &Expr) -> Result<Buffer, Error> {
    tape::may_read()?;
    let node = realized(&computed(node).unwrap_or_else(|| node.clone()))?;
    spoiled::check(&node)?;
    let buffer = storage_buffer(node.data().ok_or_else(no_data)?)?.clone();
    buffer.device().verify(buffer.as_slice()).inspect_err(|_| steps::failed(&buffer))?;
    if !node.is_named() && buffer.len() == node.bytes()? {
        return Ok(buffer);
    }
    // What counts is only part of it.
    let whole = upload(&data(&node)?, node.shape(), node.dtype(), node.device())?;
    Ok(storage_buffer(whole.data().ok_or_else(no_data)?)?.clone())
}

/// As [`download`] of what `node` gives, without blocking. Where there are threads, all of it is done on another one; elsewhere, as in a
/// browser, the launches are queued before this returns, and only the bytes are waited for.
pub fn download_async<T: Send + 'static>(
    node: impl FnOnce() -> Result<Expr, Error> + Send + 'static,
    then: impl FnOnce(&Expr, Vec<u8>) -> Result<T, Error> + Send + 'static,
) -> Background<Result<T, Error>> {
    if let Err(error) = tape::may_read() {
        return Background::of(async { Err(error) });
    }
    if !cfg!(target_family = "wasm") {
        return in_background(move || {
            let node = node()?;
            let bytes = download(&node)?;
            then(&node, bytes)
        });
    }
    let begun = node().and_then(|node| {
        let data = realized(&node)?;
        Ok((storage_buffer(data.data().ok_or_else(no_data)?)?.to_vec_async(), node))
    });
    Background::of(async move {
        let (reading, node) = begun?;
        let bytes = layout::counting(&node, reading.await?);
        then(&node, bytes)
    })
}

/// The tensor is computed with the next evaluation on this thread.
pub(crate) fn defer(handle: Handle) {
    DEFERRED.with(|all| {
        let mut all = all.borrow_mut();
        if all.capacity() == 0 {
            all.reserve(DEFERRED_ROOM);
        }
        all.push(handle);
    });
}

/// Whether this thread records a call that is run again.
pub(crate) fn is_recorded() -> bool {
    tape::is_on()
}

/// Assignments that are looked at, from the last one on, for one that is made again.
const LOOKED_AT: usize = 64;

/// Where an assignment under no condition is among the last ones of this thread since its last evaluation.
fn place_of(commit: &Expr, deferred: &[Handle]) -> Option<usize> {
    let first = deferred.len().saturating_sub(LOOKED_AT);
    deferred[first..].iter().rposition(|handle| handle.has_just(commit)).map(|at| first + at)
}

/// Whether this thread has made an assignment, as one of its last ones since its last evaluation.
pub(crate) fn is_of_this_thread(commit: &Expr) -> bool {
    DEFERRED.with(|all| place_of(commit, &all.borrow()).is_some())
}

/// Forgets such an assignment, which another one has taken the place of.
pub(crate) fn forget_assignment(commit: &Expr) {
    DEFERRED.with(|all| {
        let mut all = all.borrow_mut();
        if let Some(at) = place_of(commit, &all) {
            all.remove(at);
        }
    });
}

/// Undoes what this thread has assigned since its last evaluation if its value `is_lost`, and forgets others that are to be computed with the next one and
/// are lost. Whether there was an assignment.
pub(crate) fn undo_assignments(is_lost: impl Fn(&Expr) -> bool) -> bool {
    let all = DEFERRED.take();
    let (lost, kept): (Vec<Handle>, Vec<Handle>) =
        all.into_iter().partition(|deferred| deferred.expr().is_some_and(|current| is_lost(&current)));
    DEFERRED.with(|deferred| {
        let mut deferred = deferred.borrow_mut();
        let since = std::mem::replace(&mut *deferred, kept);
        deferred.extend(since);
    });
    lost.iter().rev().for_each(Handle::undo);
    lost.iter().any(Handle::is_assigned)
}

/// What this thread has assigned since its last evaluation counts only where the condition (`Bool`, rank 0) is true.
pub fn guard_assignments(condition: &Expr) {
    DEFERRED.with(|all| all.borrow().iter().for_each(|deferred| deferred.guard(condition)));
}

/// What is printed; decided at the first evaluation.
fn debug() -> Debug {
    static DEBUG: OnceLock<Debug> = OnceLock::new();
    *DEBUG.get_or_init(|| Config::current_or_default().debug)
}
