//! A plan, run: buffers bound to places, kernels launched.
//!
//! In: a capture whose outputs are claimed, its plan. Out: data in the outputs.
//! Always: nothing asks for memory once an input is overwritten: from there on the evaluation comes to its end, or says what it has spoiled.

use super::{
    debug,
    lanes::Lane,
    prepare::Ready,
    stats, steps, storage_buffer,
    torn::{RETRIES, Torn, may_pass, spoiled},
};
use crate::{Error, random};
use std::sync::{Arc, atomic::Ordering};
use unigrad_device::{
    Buffer, Device, Patience, Slice, Stopped, Timestamp,
    profile::{self, Work},
    tag_or, tell,
};
use unigrad_graph::{DType, Expr, NodeId, Origin};
use unigrad_plan::{Capture, PlannedLaunch};

/// A device's error with the line of the op that it belongs to.
fn at(origin: Option<Origin>, error: unigrad_device::Error) -> Error {
    match origin {
        Some(origin) => Error::Launch { origin, error },
        None => Error::Device(error),
    }
}

/// What a plan runs on.
pub(super) struct Bound<'a> {
    /// Nodes with data, in the order of the plan's inputs.
    pub(super) externals: &'a [Expr],
    /// Nodes that get data, in the order of the plan's outputs, and where the user wrote them.
    pub(super) outputs: Vec<(&'a Expr, Origin)>,
    /// Which of the outputs are assigned.
    pub(super) assigned: Vec<usize>,
    /// Raw words of the run-time scalars, then the sizes of named axes.
    pub(super) scalars: &'a [u64],
    /// The nodes of random counters among the scalars.
    pub(super) drawn: Vec<NodeId>,
}

/// Computes the capture's outputs.
pub(super) fn run(capture: &Capture, ready: &Ready, device: Device, lane: &Lane) -> Result<(), Error> {
    let bound = Bound {
        externals: &capture.externals,
        outputs: capture.outputs().map(|expr| (expr, expr.origin())).collect(),
        assigned: capture.assigned().collect(),
        scalars: &capture.scalars,
        drawn: capture.scalar_nodes().filter(|node| node.dtype() == DType::U64).map(Expr::id).collect(),
    };
    let outputs = compute(&bound, ready, device, lane)?;
    for ((expr, buffer), below) in capture.outputs().zip(outputs).zip(capture.below()) {
        expr.set_data(Arc::new(buffer));
        if !expr.needs_grad() || expr.is_consumed() {
            expr.release_inputs(below);
        }
    }
    Ok(())
}

/// Computes a plan's outputs.
pub(super) fn compute(bound: &Bound<'_>, ready: &Ready, device: Device, lane: &Lane) -> Result<Vec<Buffer>, Error> {
    let Ready { plan, sequence, .. } = ready;
    let externals = bound
        .externals
        .iter()
        .map(|expr| {
            spoiled::check(expr)?;
            storage_buffer(expr.data().ok_or_else(|| Error::Internal("an input has lost its data".into()))?)
        })
        .collect::<Result<Vec<&Buffer>, Error>>()?;
    for check in &plan.checks {
        let (index, size) = (bound.scalars[check.slot as usize] as i64, i64::try_from(check.size).unwrap_or(i64::MAX));
        let lowest = if check.from_end { -size } else { 0 };
        if !(lowest..size).contains(&index) {
            let error = unigrad_device::Error::IndexOutOfRange { index, size, kernel: "assign".to_owned() };
            return Err(at(Some(check.origin), error));
        }
    }
    if !bound.assigned.is_empty() {
        // What is assigned keeps its old value if an index of this evaluation is out of range; data that an earlier one got wrong is an error
        // before anything changes.
        for buffer in &externals {
            device.verify(buffer.as_slice())?;
        }
    }
    let begin = bound.outputs.first().map(|(_, origin)| *origin);
    let _turn = lane.turn(device);
    let lent = lane.arena(device, plan.arena).map_err(|error| at(begin, error))?;
    let arena = lent.buffer()?;
    // Nothing below here may ask for memory: once an input is overwritten, the evaluation has to come to its end.
    let mut overwrites = vec![false; plan.outputs.len()];
    let mut outputs: Vec<Buffer> = Vec::with_capacity(plan.outputs.len());
    for (i, (expr, origin)) in bound.outputs.iter().enumerate() {
        let owner = plan.outputs[i] as usize;
        let buffer = if owner < i {
            outputs[owner].clone()
        } else {
            let donor = plan.donated[i].map(|input| input as usize);
            // Two nodes may share one buffer; then it is not ours to overwrite.
            let free = donor.filter(|input| {
                externals[*input].is_unique() && bound.externals[*input].data().is_some_and(|data| Arc::strong_count(data) == 1)
            });
            match free {
                Some(input) => {
                    overwrites[i] = true;
                    externals[input].clone()
                }
                None => {
                    let fresh = device.allocate_tagged(expr.bytes()?, tag_or("tensor")).map_err(|error| at(Some(*origin), error))?;
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
        device.reserve_for(sequence).map_err(|error| at(begin, error))?;
    }
    let table: Vec<Slice<'_>> = externals.iter().copied().chain(&outputs).chain([arena]).map(Buffer::as_slice).collect();
    launch(bound, ready, device, &table, &overwrites)?;
    device.checkpoint()?;
    let drawn = random::used(&bound.drawn);
    if !bound.assigned.is_empty() && !device.completes_at_once() {
        steps::note(&outputs, drawn);
    }
    for i in &bound.assigned {
        device.settle(outputs[*i].as_slice());
    }
    Ok(outputs)
}

/// Launches that a device which works on its own is given between two looks at whether the work is to end: as many as a driver's queue takes before
/// it has the host wait.
const LAUNCHES_A_LOOK: usize = 1024;

/// Runs the plan's launches.
fn launch(bound: &Bound<'_>, ready: &Ready, device: Device, table: &[Slice<'_>], overwrites: &[bool]) -> Result<(), Error> {
    let Ready { plan, sequence, is_long } = ready;
    // One launch at a time only where each is looked at.
    let (is_profiled, is_timed) = (profile::is_on(), debug().steps);
    let n = sequence.len();
    let mut patience = if *is_long { Patience::new() } else { None };
    // A device that works on its own takes launches until its queue is full, and then as it gets through them.
    let at_a_time = match (is_profiled || is_timed, &patience) {
        (true, _) => 1,
        (false, None) => n,
        (false, Some(_)) => {
            if device.completes_at_once() {
                1
            } else {
                LAUNCHES_A_LOOK
            }
        }
    };
    let (mut next, mut tries) = (0, 0);
    let mut torn = Torn::default();
    while next < n {
        // Nothing that others hold is spoiled so far, and what was computed is computed again when it is asked for.
        if torn.0.is_empty() && patience.as_mut().is_some_and(Patience::is_over) {
            return Err(Error::Device(unigrad_device::Error::Cancelled { device: device.to_string() }));
        }
        let which = next..(next + at_a_time).min(n);
        let begin = Timestamp::now();
        let run = || device.run(sequence, which.clone(), table, bound.scalars);
        let result = if is_profiled {
            profile::record(device, || work(&plan.launches[next]), || run().map_err(|stopped| stopped.error))
                .map_err(|error| Stopped { at: next, error })
        } else {
            run()
        };
        let done = result.as_ref().map_or_else(|stopped| stopped.at, |()| which.end);
        stats::LAUNCHES.fetch_add((done - next) as u64, Ordering::Relaxed);
        if is_timed && result.is_ok() {
            device.synchronize()?;
            tell_time(&plan.launches[next], begin.elapsed().as_secs_f64());
        }
        let overwritten =
            |launch: &PlannedLaunch| launch.overwrites.iter().copied().filter(|i| overwrites[*i as usize]).collect::<Vec<u32>>();
        if done < n {
            plan.launches[next..done].iter().for_each(|launch| torn.0.extend(overwritten(launch)));
        }
        tries = if done > next { 0 } else { tries };
        next = done;
        let Err(Stopped { error, .. }) = result else { continue };
        // Others have overwritten what they read: to undo is not possible, to go on is.
        if !torn.0.is_empty() && tries < RETRIES && may_pass(&error) {
            tries += 1;
            continue;
        }
        let Some(failed) = plan.launches.get(next) else { return Err(Error::Device(error)) };
        if matches!(error, unigrad_device::Error::Interrupted { .. }) {
            torn.0.extend(overwritten(failed));
        }
        let error = Error::Launch { origin: failed.origin, error };
        torn.tell(bound, plan, &error);
        return Err(error);
    }
    Ok(())
}

/// What the profiler is told of a launch.
fn work(launch: &PlannedLaunch) -> Work {
    let (read, write) = launch.traffic();
    Work {
        name: launch.name.clone(),
        kind: launch.kernel.kind(),
        origin: Some(launch.origin),
        bytes: read + write,
        flops: launch.kernel.flops(),
        extents: launch.extents(),
    }
}

/// `UNIGRAD_DEBUG=steps`.
fn tell_time(launch: &PlannedLaunch, seconds: f64) {
    let rate = launch.kernel.flops() / seconds / 1e9;
    let (read, write) = launch.traffic();
    let (us, speed) = (seconds * 1e6, (read + write) / seconds / 1e9);
    tell(format_args!("{}  {us:>9.1} us  {speed:>7.1} GB/s  {rate:>7.1} GFLOP/s", launch.line()));
}
