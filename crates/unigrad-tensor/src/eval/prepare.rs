//! From a capture to a plan that can be launched: planned and compiled.

use super::{debug, options, stats};
use crate::Error;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use unigrad_device::{At, Device, Executable, Launch, Sequence, Timestamp, tell};
use unigrad_kernel::Kernel;
use unigrad_plan::{BufferPlace, Capture, Plan, PlannedLaunch, plan};

/// A plan whose kernels are compiled and whose launches are prepared.
pub(super) struct Ready {
    pub(super) plan: Plan,
    /// Its table: the inputs, the outputs, the arena.
    pub(super) sequence: Sequence,
    /// Whether it may take long, so that the program may want it to end.
    pub(super) is_long: bool,
}

/// Operations of a plan, or bytes, beyond which it may take long.
const LONG: f64 = 1e9;

pub(super) fn prepare(capture: &Capture, device: Device) -> Result<Ready, Error> {
    let begin = Timestamp::now();
    let plan = plan(capture, options(device)).map_err(Error::Internal)?;
    stats::PLANS_BUILT.fetch_add(1, Ordering::Relaxed);
    stats::UNFUSED.fetch_add(u64::from(plan.unfused_because.is_some()), Ordering::Relaxed);
    if let Some(limit) = options(device).arena.filter(|limit| plan.arena > *limit) {
        tell(format_args!(
            "unigrad: {device}: an evaluation keeps {} bytes between its launches, more than the limit of {limit}: no more of it can be made again\n{}",
            plan.arena, plan.peak
        ));
    }
    let planned = begin.elapsed();
    stats::PLAN_NANOS.fetch_add(planned.as_nanos() as u64, Ordering::Relaxed);
    let sequence = sequence(&plan, capture.externals.len(), compile_all(&plan, device)?, device)?;
    if debug().plan {
        let (nodes, compiled) = (capture.len(), begin.elapsed() - planned);
        tell(format_args!("plan of {nodes} nodes in {planned:.1?}, compiled in {compiled:.1?}\n{plan}\n      {}", plan.peak));
    }
    let cost = |launch: &PlannedLaunch| launch.kernel.flops() + launch.traffic().0 + launch.traffic().1;
    let is_long = plan.launches.iter().map(cost).sum::<f64>() > LONG || plan.launches.len() > 1000;
    Ok(Ready { plan, sequence, is_long })
}

/// The programs of a plan. What the device has not compiled yet is compiled on several threads, for a GPU's compiler takes its time.
fn compile_all(plan: &Plan, device: Device) -> Result<Vec<Arc<dyn Executable>>, Error> {
    let kernels: Vec<&Kernel> = plan.launches.iter().map(|launch| &launch.kernel).collect();
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from).min(kernels.len());
    if device.compiles_slowly() && n_threads > 1 {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..n_threads {
                scope.spawn(|| {
                    while let Some(kernel) = kernels.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // An error comes again below, where there is a caller to tell.
                        let _ = device.compile(kernel);
                    }
                });
            }
        });
    }
    let compile = |launch: &PlannedLaunch| device.compile(&launch.kernel).map_err(|error| Error::Launch { origin: launch.origin, error });
    plan.launches.iter().map(compile).collect()
}

/// The launches of a plan, with places in the table of a run.
fn sequence(plan: &Plan, n_externals: usize, programs: Vec<Arc<dyn Executable>>, device: Device) -> Result<Sequence, Error> {
    let arena = n_externals + plan.outputs.len();
    let at = |place: &BufferPlace, bytes: usize| match place {
        BufferPlace::External(i) => At::whole(*i as usize),
        BufferPlace::Output(i) => At::whole(n_externals + *i as usize),
        BufferPlace::Arena(offset) => At { entry: arena, offset: *offset, len: bytes },
    };
    let launch = |(launch, program): (&PlannedLaunch, Arc<dyn Executable>)| Launch {
        program,
        args: launch.args.iter().zip(launch.kernel.args()).map(|(place, arg)| at(place, arg.bytes())).collect(),
        scalars: launch.scalars.iter().map(|slot| *slot as usize).collect(),
        begins: launch.begins.iter().map(|(place, bytes)| at(place, *bytes)).collect(),
        origin: Some(launch.origin),
    };
    Ok(device.prepare(plan.launches.iter().zip(programs).map(launch).collect(), Some(arena))?)
}
