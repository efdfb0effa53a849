//! The profiler: what every device did, for how long, and what held it back.
//!
//! In: launches and copies while a [`Profiler`] is on, the scopes around them. Out: a [`Profile`]: times by the device's own clock, memory over
//! time, rates against the device's measured ceilings; as a table, a trace for Chrome or Perfetto, an HTML page.
//! Always: one profiler at a time. Off, a launch costs one relaxed load more.
//! Never: waits while work is recorded; marks are read when the profiler stops.

mod ceilings;
mod html;
mod sections;
mod summary;
mod trace;

pub use ceilings::Ceilings;
pub use sections::{Section, Sections};

use crate::{Device, Error, Mark, Origin};
use std::{
    cell::RefCell,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

static ON: AtomicBool = AtomicBool::new(false);
static SESSION: Mutex<Option<Session>> = Mutex::new(None);

thread_local! {
    static SCOPES: RefCell<Vec<Arc<str>>> = const { RefCell::new(Vec::new()) };
}

fn session() -> MutexGuard<'static, Option<Session>> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a profiler is on.
#[inline]
pub fn is_on() -> bool {
    ON.load(Relaxed)
}

/// What is known of a piece of work before it runs.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// What it computes.
    pub name: String,
    /// Its kind: `map`, `row`, `contract`, `upload`, …
    pub kind: &'static str,
    /// The line of the user's program.
    pub origin: Option<Origin>,
    /// Bytes that it reads and writes, each buffer once.
    pub bytes: f64,
    /// Floating-point operations, where the notion is of use.
    pub flops: f64,
    /// Extents, for people.
    pub extents: String,
}

struct Recorded {
    device: Device,
    work: Work,
    scope: Arc<str>,
    host_start: Instant,
    host_end: Instant,
    marks: Option<(Mark, Mark)>,
    allocated: u64,
}

struct Session {
    begin: Instant,
    /// Per device, a mark at the beginning (or when it was first used) and the host's time then.
    bases: Vec<(Device, Option<Mark>, Instant)>,
    recorded: Vec<Recorded>,
}

/// Names what happens until the guard is dropped, for the profile; scopes nest.
///
/// A lazy op runs where its value is read, so a scope around a read (or `step`, `backward` with a read) tells more than one around ops.
///
/// ```
/// let _scope = unigrad_device::profile::scope("epoch 1");
/// ```
pub fn scope(name: &str) -> ScopeGuard {
    if is_on() {
        SCOPES.with(|scopes| scopes.borrow_mut().push(name.into()));
        ScopeGuard { pushed: true }
    } else {
        ScopeGuard { pushed: false }
    }
}

/// Ends a [`scope`] when it is dropped.
#[must_use = "the scope ends when this is dropped"]
#[derive(Debug)]
pub struct ScopeGuard {
    pushed: bool,
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        if self.pushed {
            SCOPES.with(|scopes| scopes.borrow_mut().pop());
        }
    }
}

/// Records no more.
fn end() -> Option<Session> {
    let mut session = session();
    ON.store(false, Relaxed);
    session.take()
}

fn current_scope() -> Arc<str> {
    SCOPES.with(|scopes| scopes.borrow().join("/").into())
}

/// Runs `work` and records it, if a profiler is on.
pub fn record<T>(device: Device, what: impl FnOnce() -> Work, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    if !is_on() {
        return work();
    }
    let mark = || device.driver().mark().ok().flatten();
    {
        let mut session = session();
        let Some(session) = &mut *session else { return work() };
        if session.bases.iter().all(|(known, _, _)| *known != device) {
            let base = mark();
            // Its time is now, not when work behind it is handed over.
            device.flush()?;
            session.bases.push((device, base, Instant::now()));
        }
    }
    let (host_start, before) = (Instant::now(), mark());
    let result = work()?;
    let (after, host_end) = (mark(), Instant::now());
    let allocated = device.allocated();
    if let Some(session) = &mut *session() {
        let marks = before.zip(after);
        session.recorded.push(Recorded { device, work: what(), scope: current_scope(), host_start, host_end, marks, allocated });
    }
    Ok(result)
}

/// Records what all devices do, from [`Profiler::start`] to [`Profiler::stop`].
///
/// ```
/// use unigrad_device::profile::{Profiler, scope};
/// let profiler = Profiler::start()?;
/// {
///     let _scope = scope("step");
///     // compute
/// }
/// let profile = profiler.stop()?;
/// println!("{}", profile.summary());
/// assert!(profile.chrome_trace().starts_with('{'));
/// # Ok::<(), unigrad_device::Error>(())
/// ```
#[derive(Debug)]
pub struct Profiler(());

impl Profiler {
    /// Begins. An error if another profiler is on.
    pub fn start() -> Result<Profiler, Error> {
        let mut session = session();
        if session.is_some() {
            return Err(Error::NotAvailable {
                asked: "profiler".to_owned(),
                cause: "another one is on".to_owned(),
                help: "stop it first".to_owned(),
            });
        }
        let bases = Vec::new();
        *session = Some(Session { begin: Instant::now(), bases, recorded: Vec::new() });
        ON.store(true, Relaxed);
        Ok(Profiler(()))
    }

    /// Ends: waits for the devices and reads their clocks; measures the ceilings of each device that worked, once per process.
    pub fn stop(self) -> Result<Profile, Error> {
        let taken = end();
        // It has ended: dropped later, it would end the profiler that another thread may have begun since.
        std::mem::forget(self);
        taken.map_or_else(|| Ok(Profile::default()), Session::resolve)
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        end();
    }
}

impl Session {
    fn resolve(self) -> Result<Profile, Error> {
        let wall_ns = self.begin.elapsed().as_nanos() as f64;
        let mut profile = Profile { wall_ns, ..Profile::default() };
        for (device, _, _) in &self.bases {
            device.synchronize()?;
            let stats = device.memory_stats();
            profile.devices.push(ProfiledDevice {
                name: device.name().to_owned(),
                hardware: device.info().name,
                ceilings: ceilings::of(*device)?,
                peak_bytes: stats.peak,
                total_bytes: stats.total,
            });
        }
        for recorded in self.recorded {
            let Some(at) = self.bases.iter().position(|(device, _, _)| *device == recorded.device) else { continue };
            let (device, base, base_time) = &self.bases[at];
            let since = |at: Instant| at.saturating_duration_since(self.begin).as_nanos() as f64;
            let host_ns = recorded.host_end.saturating_duration_since(recorded.host_start).as_nanos() as f64;
            let driver = device.driver();
            let (start_ns, duration_ns) = match (&recorded.marks, base) {
                // Never negative, though on several queues work can begin before the first mark.
                (Some((before, after)), Some(base)) => {
                    ((since(*base_time) + driver.elapsed(base, before)?).max(0.0), driver.elapsed(before, after)?.max(0.0))
                }
                // Done when the call returned: the host's clock is the device's.
                _ => (since(recorded.host_start), host_ns),
            };
            profile.events.push(Event {
                device: at,
                name: recorded.work.name,
                kind: recorded.work.kind,
                origin: recorded.work.origin,
                extents: recorded.work.extents,
                scope: recorded.scope.to_string(),
                start_ns,
                duration_ns,
                host_start_ns: since(recorded.host_start),
                host_ns,
                bytes: recorded.work.bytes,
                flops: recorded.work.flops,
                allocated: recorded.allocated,
            });
        }
        Ok(profile)
    }
}

/// A device that worked while a profiler was on.
#[derive(Clone, Debug, Default)]
pub struct ProfiledDevice {
    /// `cpu:0`.
    pub name: String,
    /// The hardware's name.
    pub hardware: String,
    /// What it can do at most, measured.
    pub ceilings: Ceilings,
    /// The most bytes in use.
    pub peak_bytes: u64,
    /// Bytes it has.
    pub total_bytes: u64,
}

/// A launch or a copy.
#[derive(Clone, Debug)]
pub struct Event {
    /// Position in [`Profile::devices`].
    pub device: usize,
    /// What it computes.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// The line of the user's program.
    pub origin: Option<Origin>,
    /// Extents, for people.
    pub extents: String,
    /// Names of the scopes around it, outermost first, with `/` between.
    pub scope: String,
    /// When it began on the device, in nanoseconds from the profiler's start.
    pub start_ns: f64,
    /// How long it took there.
    pub duration_ns: f64,
    /// When and for how long the host was busy with giving it to the device.
    pub host_start_ns: f64,
    /// See `host_start_ns`.
    pub host_ns: f64,
    /// Bytes read and written.
    pub bytes: f64,
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes of the device in use after it was given.
    pub allocated: u64,
}

/// What held a kernel back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Memory: it moves bytes at a good part of what the device can, or at a better part than it computes.
    Bandwidth,
    /// Arithmetic.
    Compute,
    /// It is so short that starting it is what takes time.
    Launch,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Verdict::Bandwidth => "bandwidth",
            Verdict::Compute => "compute",
            Verdict::Launch => "launch",
        })
    }
}

/// What the devices did.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Which devices worked.
    pub devices: Vec<ProfiledDevice>,
    /// What was done, in the order in which it was given.
    pub events: Vec<Event>,
    /// From start to stop.
    pub wall_ns: f64,
}

impl Profile {
    /// What held a kernel of these rates back.
    fn verdict(&self, device: usize, bytes: f64, flops: f64, ns: f64) -> Verdict {
        let ceilings = self.devices.get(device).map(|d| d.ceilings).unwrap_or_default();
        let part = |done: f64, most: f64| if most > 0.0 && ns > 0.0 { done / ns / most } else { 0.0 };
        let (memory, compute) = (part(bytes, ceilings.gb_per_s), part(flops, ceilings.gflop_per_s));
        match () {
            () if ns < 3.0 * ceilings.launch_ns && memory < 0.5 && compute < 0.5 => Verdict::Launch,
            () if compute > memory => Verdict::Compute,
            () => Verdict::Bandwidth,
        }
    }
}
