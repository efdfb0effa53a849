//! The profile of some steps of a run: what devices did, where the time went, and a verdict.
//!
//! In: steps, after the first few, which compile kernels and plans. Out: `profile.html` (timeline, memory over time, kernels), `trace.json` for Perfetto,
//! `kernels.txt`, and a verdict in words.

use std::{
    path::Path,
    time::{Duration, Instant},
};
use unigrad_device::profile::{Profile, Profiler, ScopeGuard, Verdict, scope};
use unigrad_nn::{Result, files};
use unigrad_tensor::Device;

/// Steps before the profile, which compile what later ones find.
pub(crate) const WARM_UP: u64 = 3;

/// The profile of some steps.
#[derive(Clone, Debug)]
pub struct StepProfile {
    /// What devices did.
    pub profile: Profile,
    /// How many steps it covers.
    pub n_steps: u64,
    /// How long the loop waited for batches.
    pub data_wait: Duration,
}

impl StepProfile {
    /// The part of the wall time in which a device worked, at most 1.
    pub fn busy(&self) -> f64 {
        part(self.profile.events.iter().map(|event| event.duration_ns).sum(), self.profile.wall_ns)
    }

    /// What held the run back, and what would help, in a sentence or two.
    pub fn verdict(&self) -> String {
        let waiting = part(self.data_wait.as_nanos() as f64, self.profile.wall_ns);
        let busy = self.busy();
        let share = |verdict: Verdict| {
            let events = self.profile.events.iter();
            let of: f64 = events.filter(|event| self.profile.verdict_of(event) == verdict).map(|event| event.duration_ns).sum();
            part(of, self.profile.events.iter().map(|event| event.duration_ns).sum())
        };
        let shares = [Verdict::Bandwidth, Verdict::Compute, Verdict::Launch].map(|verdict| (share(verdict), verdict));
        let (greatest, by) = shares.into_iter().fold((0.0, Verdict::Bandwidth), |best, next| if next.0 > best.0 { next } else { best });
        let percent = |share: f64| format!("{:.0}%", 100.0 * share);
        let figures = format!("waiting for batches {}, devices busy {} of the time", percent(waiting), percent(busy));
        let (held, help) = match by {
            _ if self.profile.events.is_empty() => ("nothing ran on a device", "profile more steps"),
            _ if waiting > 0.3 => ("the steps wait for data", "use more loader threads, simpler transforms, or data in memory"),
            _ if busy < 0.5 => {
                ("devices wait for the host", "use larger batches, read losses more rarely (`read_every`), or fewer callbacks")
            }
            Verdict::Launch => ("kernels are so short that starting them takes the time", "use larger batches"),
            Verdict::Bandwidth => ("memory bandwidth is the limit", "use half precision, or larger matrix products"),
            Verdict::Compute => ("arithmetic is the limit", "use half precision, or a faster device"),
        };
        format!("{held} ({figures}; {} of the device's time is bound by {by}): {help}", percent(greatest))
    }

    /// Verdict and table of kernels.
    pub fn summary(&self) -> String {
        format!("{} steps. {}\n\n{}", self.n_steps, self.verdict(), self.profile.summary())
    }

    fn save(&self, folder: &Path) -> Result<()> {
        let write = |name: &str, text: String| files::replace(&folder.join(name), |file| file.write_all(text.as_bytes()));
        write("profile.html", self.profile.html())?;
        write("trace.json", self.profile.chrome_trace())?;
        write("kernels.txt", self.summary())
    }
}

fn part(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 }
}

/// The profiling of a run.
#[derive(Default)]
pub(crate) struct Profiling {
    /// Steps to cover.
    wanted: u64,
    warm: u64,
    running: Option<(Profiler, ScopeGuard)>,
    n_steps: u64,
    data_wait: Duration,
    pub(crate) done: Option<StepProfile>,
}

impl Profiling {
    pub(crate) fn new(wanted: u64) -> Profiling {
        Profiling { wanted, ..Profiling::default() }
    }

    /// Before a step's batches are asked for.
    pub(crate) fn before_step(&mut self, device: &Device) -> Result<()> {
        if self.wanted > 0 && self.running.is_none() && self.done.is_none() && self.warm >= WARM_UP {
            device.synchronize()?;
            let profiler = Profiler::start()?;
            self.running = Some((profiler, scope("training")));
        }
        Ok(())
    }

    /// How long the loop waited for a step's batches.
    pub(crate) fn waited(&mut self, since: Instant) {
        if self.running.is_some() {
            self.data_wait += since.elapsed();
        }
    }

    pub(crate) fn after_step(&mut self, folder: Option<&Path>) -> Result<()> {
        match &self.running {
            Some(_) => self.n_steps += 1,
            None => self.warm += 1,
        }
        if self.n_steps >= self.wanted { self.end(folder) } else { Ok(()) }
    }

    /// Ends it, if it has begun.
    pub(crate) fn end(&mut self, folder: Option<&Path>) -> Result<()> {
        let Some((profiler, scope)) = self.running.take() else { return Ok(()) };
        drop(scope);
        let profile = StepProfile { profile: profiler.stop()?, n_steps: self.n_steps, data_wait: self.data_wait };
        if let Some(folder) = folder {
            profile.save(folder)?;
        }
        self.done = Some(profile);
        Ok(())
    }
}
