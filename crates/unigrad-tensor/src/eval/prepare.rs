//! From a capture to a plan that can be launched: planned and compiled.

use super::{debug, options, stats};
use crate::Error;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use unigrad_device::{Device, Moment, Program, tell};
use unigrad_kernel::Kernel;
use unigrad_plan::{Capture, Plan, PlannedLaunch, plan};

/// A plan whose kernels are compiled.
pub(super) struct Ready {
    pub(super) plan: Plan,
    pub(super) programs: Vec<Arc<dyn Program>>,
}

pub(super) fn prepare(capture: &Capture, device: Device) -> Result<Ready, Error> {
    let begin = Moment::now();
    let plan = plan(capture, options(device)).map_err(Error::Internal)?;
    stats::PLANS_BUILT.fetch_add(1, Ordering::Relaxed);
    stats::UNFUSED.fetch_add(u64::from(plan.unfused_because.is_some()), Ordering::Relaxed);
    let planned = begin.elapsed();
    stats::PLAN_NANOS.fetch_add(planned.as_nanos() as u64, Ordering::Relaxed);
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
