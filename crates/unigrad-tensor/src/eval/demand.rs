//! What evaluations ask of a device's memory, told before they run.
//!
//! In: a function that looks at what an evaluation is about to take. Out: evaluations that it refuses fail before their first launch.
//! Always: of this thread, while the guarded work runs. Never: takes memory, or makes a plan of its own.

use super::{lanes::Lane, prepare::Ready};
use crate::Error;
use std::{cell::RefCell, rc::Rc};
use unigrad_device::Device;
use unigrad_plan::Capture;

/// What an evaluation takes of its device's memory beside what is allocated when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Where it runs.
    pub device: Device,
    /// Bytes of results in memory of their own; those that take over an input's need none.
    pub results: u64,
    /// Bytes that it keeps between its launches.
    pub intermediates: u64,
}

type Check = Rc<dyn Fn(&Demand) -> Result<(), Error>>;

thread_local! {
    static CHECK: RefCell<Option<Check>> = const { RefCell::new(None) };
}

/// Puts the check back that was there before.
struct Restored(Option<Check>);

impl Drop for Restored {
    fn drop(&mut self) {
        CHECK.set(self.0.take());
    }
}

/// Runs `work`; before each evaluation that it makes on this thread is launched, `check` is told what the evaluation takes. Where `check` gives an error,
/// the evaluation fails with it, and nothing has changed.
///
/// ```
/// # extern crate unigrad_tensor as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::{Device, Error, Tensor, eval};
///
/// let x = Tensor::new([1.0f32, 2.0], &Device::open("cpu")?);
/// let little = |demand: &eval::Demand| match demand.results {
///     0..=8 => Ok(()),
///     more => Err(Error::argument(format!("{more} bytes"), "ask for less")),
/// };
/// assert!(eval::with_demands_checked(little, || (&x + 1.0).realize()).is_ok());
/// assert!(eval::with_demands_checked(little, || x.expand([9, 2]).exp().realize()).is_err());
/// # Ok::<(), Error>(())
/// ```
pub fn with_demands_checked<T>(check: impl Fn(&Demand) -> Result<(), Error> + 'static, work: impl FnOnce() -> T) -> T {
    let _restored = Restored(CHECK.replace(Some(Rc::new(check))));
    work()
}

/// Asks the check of this thread, if there is one.
pub(super) fn check(capture: &Capture, ready: &Ready, device: Device, lane: &Lane) -> Result<(), Error> {
    // Taken out first: a check may evaluate something itself.
    let Some(check) = CHECK.with_borrow(Clone::clone) else { return Ok(()) };
    let plan = &ready.plan;
    let mut results = 0u64;
    for (i, output) in capture.outputs().enumerate() {
        if plan.outputs[i] as usize == i && plan.donated[i].is_none() {
            results = results.saturating_add(output.bytes()? as u64);
        }
    }
    // An arena that waits for reuse is among what is allocated.
    let intermediates = plan.arena.saturating_sub(lane.idle_bytes()) as u64;
    check(&Demand { device, results, intermediates })
}
