//! What a machine has, backend by backend, and which device is best for what.
//!
//! In: discovery and the settings. Out: a [`Summary`] to read or to print.
//! Always: a backend without devices says why; a recommendation says why. Opens nothing, unless a device was chosen that is not there.

use crate::{Config, Device, Info, Problem, registry};
use std::fmt;

/// What a device may be wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Training and inference as fast as possible.
    Speed,
    /// Models that need much memory.
    Memory,
    /// Little power.
    Efficiency,
    /// Scalars and small models, where starting a kernel takes longer than it runs.
    SmallModels,
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purpose::Speed => "speed",
            Purpose::Memory => "large models",
            Purpose::Efficiency => "little power",
            Purpose::SmallModels => "small models",
        })
    }
}

/// A device for a purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recommendation {
    /// What for.
    pub purpose: Purpose,
    /// The name that opens it.
    pub device: String,
    /// Why this one.
    pub why: String,
}

/// What one backend has.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendSummary {
    /// Its name, the part of a device's name before the colon.
    pub backend: &'static str,
    /// What people call it.
    pub title: String,
    /// Its devices.
    pub devices: Vec<Info>,
    /// Why it has none, or fewer than expected.
    pub problems: Vec<Problem>,
}

/// What the machine has; its text is what `unigrad devices` prints.
///
/// ```
/// let summary = unigrad_device::Device::summary();
/// println!("{summary}");
/// if let Some(best) = summary.best() {
///     println!("{} because {}", best.device, best.why);
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The best first; backends that have nothing at the end.
    pub backends: Vec<BackendSummary>,
    /// Which device for what. Empty where only software devices are here.
    pub recommended: Vec<Recommendation>,
    /// The device that the settings name.
    pub chosen: Option<String>,
    /// What opening the chosen device would say, if it is refused; or what is wrong with the settings.
    pub error: Option<String>,
}

impl Device {
    /// What the machine has, and what is best for what.
    pub fn summary() -> Summary {
        let available = Device::all();
        let config = Config::current();
        let chosen = config.as_ref().ok().and_then(|config| config.device.clone());
        let error = match (&config, &chosen) {
            (Err(error), _) => Some(error.to_string()),
            (_, Some(name)) if !registry::is_found(name, &available) => Device::best().err().map(|error| error.to_string()),
            _ => None,
        };
        let mut backends: Vec<BackendSummary> = Vec::new();
        let hardware = available.devices.iter().filter(|info| !info.software);
        let software = available.devices.iter().filter(|info| info.software);
        let names = hardware.chain(software).map(|info| info.backend).chain(available.problems.iter().map(|problem| problem.backend));
        for backend in names {
            if backends.iter().any(|known| known.backend == backend) {
                continue;
            }
            backends.push(BackendSummary {
                backend,
                title: registry::title_of(backend),
                devices: available.devices.iter().filter(|info| info.backend == backend).cloned().collect(),
                problems: available.problems.iter().filter(|problem| problem.backend == backend).cloned().collect(),
            });
        }
        let hardware = available.devices.iter().filter(|info| !info.software).collect();
        Summary { recommended: recommend(hardware), backends, chosen, error }
    }
}

fn recommend(devices: Vec<&Info>) -> Vec<Recommendation> {
    let devices = registry::by_preference(devices);
    let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
    let mut found = Vec::new();
    let mut take = |purpose, info: &Info, why: String| found.push(Recommendation { purpose, device: info.device(), why });
    let Some(best) = devices.first().copied() else { return found };
    let processor = devices.iter().find(|info| info.rank >= Info::PROCESSOR);
    let why = match (best.is_gpu(), best.is_low_power() && devices.iter().any(|info| info.is_gpu() && !info.is_low_power())) {
        (true, true) => "the settings prefer little power",
        (true, false) => "it is the first in the order of backends: a GPU's own before general ones, any GPU before the processor",
        (false, _) => "this machine has no GPU that a driver here finds",
    };
    take(Purpose::Speed, best, why.to_owned());
    // The processor's memory is the machine's: a device's own counts first.
    if let Some(largest) =
        devices.iter().filter(|info| info.memory_total > 0).max_by_key(|info| (info.memory_total, std::cmp::Reverse(info.rank)))
    {
        take(Purpose::Memory, largest, format!("it has the most memory, {}", gigabytes(largest.memory_total)));
    }
    if let Some(low) = devices.iter().find(|info| info.is_low_power()) {
        take(Purpose::Efficiency, low, "it is an integrated or low-power GPU".to_owned());
    }
    if let Some(processor) = processor {
        take(Purpose::SmallModels, processor, "work on it starts without a launch and its results need no copy".to_owned());
    }
    found
}

impl Summary {
    /// The device that is recommended for speed.
    pub fn best(&self) -> Option<&Recommendation> {
        self.recommended.iter().find(|recommendation| recommendation.purpose == Purpose::Speed)
    }

    /// What people call the backend of a device.
    pub fn title(&self, device: &str) -> &str {
        let backend = device.split(':').next().unwrap_or_default();
        self.backends.iter().find(|known| known.backend == backend).map_or("", |known| &known.title)
    }

    /// The last lines: the chosen device, or the recommended ones.
    pub fn conclusion(&self) -> String {
        match (&self.error, &self.chosen, self.best()) {
            (Some(error), ..) => format!("Error: {error}\n"),
            (None, Some(chosen), _) => format!("Chosen device: {chosen} (UNIGRAD_DEVICE)\n"),
            (None, None, None) => "Only software devices are here: choose one with `--device NAME`.\n".to_owned(),
            (None, None, Some(best)) => {
                let mut text = format!("Recommended backend: {} ({})\n", self.title(&best.device), best.device);
                for other in &self.recommended {
                    text += &format!("    for {:<13} {}: {}\n", other.purpose.to_string(), other.device, other.why);
                }
                text
            }
        }
    }
}

impl Info {
    /// Its line in a summary: `[0] NVIDIA H200: 150.75 GB (149.92 GB free)`.
    pub fn line(&self) -> String {
        let gigabytes = |n: u64| format!("{:.2} GB", n as f64 / 1e9);
        let memory = match (self.memory_total, self.memory_free) {
            (0, _) => String::new(),
            (total, 0) if self.features.iter().any(|feature| feature == "unified memory") => {
                format!(": {} (unified memory)", gigabytes(total))
            }
            (total, 0) => format!(": {}", gigabytes(total)),
            (total, free) => format!(": {} ({} free)", gigabytes(total), gigabytes(free)),
        };
        format!("[{}] {}{memory}{}", self.ordinal, self.name, if self.software { ", in software: taken only when asked for" } else { "" })
    }
}

impl fmt::Display for BackendSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", if self.devices.is_empty() { "✗" } else { "✓" }, self.title)?;
        self.devices.iter().try_for_each(|info| writeln!(f, "    {}", info.line()))?;
        self.problems.iter().try_for_each(|problem| writeln!(f, "    Error: {}\n     help: {}", problem.cause, problem.help))
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "=== Available Backends ===")?;
        self.backends.iter().try_for_each(|backend| write!(f, "{backend}"))?;
        write!(f, "\n{}", self.conclusion())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(backend: &'static str, rank: u32, memory: u64, features: &[&str]) -> Info {
        let features = features.iter().map(|feature| (*feature).to_owned()).collect();
        Info { backend, rank, memory_total: memory, features, ..Info::default() }
    }

    #[test]
    fn each_purpose_has_its_device_and_a_reason() {
        let (fast, small) = (info("fast", 0, 80 << 30, &["f16"]), info("small", 400, 4 << 30, &["unified memory"]));
        let host = info("host", Info::PROCESSOR, 256 << 30, &[]);
        let all = recommend(vec![&fast, &small, &host]);
        let told: Vec<(Purpose, &str)> = all.iter().map(|r| (r.purpose, r.device.as_str())).collect();
        let wanted =
            [(Purpose::Speed, "fast:0"), (Purpose::Memory, "host:0"), (Purpose::Efficiency, "small:0"), (Purpose::SmallModels, "host:0")];
        assert_eq!(told, wanted);
        assert!(all.iter().all(|recommendation| !recommendation.why.is_empty()));
        let alone = recommend(vec![&host]);
        assert!(alone[0].why.contains("no GPU") && alone.iter().all(|r| r.device == "host:0"));
        assert!(recommend(Vec::new()).is_empty());
    }

    #[test]
    fn the_text_has_backends_problems_and_a_conclusion() {
        let problem = Problem { backend: "far", cause: "not compiled into this program".to_owned(), help: "build it in".to_owned() };
        let host = info("host", Info::PROCESSOR, 2_000_000_000, &[]);
        let backends = vec![
            BackendSummary { backend: "host", title: "Host".to_owned(), devices: vec![host.clone()], problems: Vec::new() },
            BackendSummary { backend: "far", title: "Far".to_owned(), devices: Vec::new(), problems: vec![problem] },
        ];
        let mut summary = Summary { recommended: recommend(vec![&host]), backends, chosen: None, error: None };
        let text = summary.to_string();
        let wanted = "=== Available Backends ===\n✓ Host\n    [0] : 2.00 GB\n✗ Far\n    Error: not compiled into this program\n     help: build it in\n\n\
            Recommended backend: Host (host:0)\n";
        assert!(text.starts_with(wanted), "{text}");
        summary.chosen = Some("far:0".to_owned());
        assert!(summary.to_string().ends_with("\nChosen device: far:0 (UNIGRAD_DEVICE)\n"));
        summary.error = Some("gone".to_owned());
        assert!(summary.to_string().ends_with("\nError: gone\n"));
    }
}
