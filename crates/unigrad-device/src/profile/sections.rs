//! Sections of a program that its author times, with figures of the author's own: by name, from start to end.
//!
//! In: names, devices, bytes. Out: a table: calls, time, memory.
//! Always: an end waits for its device, so that a section has the time of the work that was begun in it; sections of different names may overlap, those of
//! one name nest. Never: records single launches; that is what [`super::Profiler`] does, and both can be on at once.

use crate::{Device, Error};
use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, Instant},
};

/// What all calls of one section took.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// The device that it was ended with; empty if with none.
    pub device: String,
    /// How often it was ended.
    pub calls: u64,
    /// In all.
    pub total: Duration,
    /// The shortest call, and the longest.
    pub shortest: Duration,
    /// See `shortest`.
    pub longest: Duration,
    /// The most bytes that a call said.
    pub most_bytes: u64,
}

impl Section {
    /// A call on the average.
    pub fn mean(&self) -> Duration {
        self.total.div_f64(self.calls.max(1) as f64)
    }
}

/// Times sections of a program.
///
/// ```
/// use unigrad_device::profile::Sections;
/// let mut sections = Sections::default();
/// sections.start("load");
/// let data = vec![0u8; 1 << 20];
/// sections.end("load", data.len() as u64, None)?;
/// println!("{sections}");
/// assert_eq!(sections.of("load").map(|section| (section.calls, section.most_bytes)), Some((1, 1 << 20)));
/// assert!(sections.end("load", 0, None).is_err(), "it has ended");
/// # Ok::<(), unigrad_device::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Sections {
    open: BTreeMap<String, Vec<Instant>>,
    /// In the order in which they were first ended.
    done: Vec<Section>,
}

impl Sections {
    /// Begins a section. One of the same name that has not ended goes on.
    pub fn start(&mut self, name: &str) {
        self.open.entry(name.to_owned()).or_default().push(Instant::now());
    }

    /// Ends the section of this name that was begun last: waits for the device, where one is given, and adds the time since. `bytes` is a figure of the
    /// caller's, memory in use for instance: [`Sections::end_on`] asks the device for it. An error if no such section was begun, or if the device's work failed:
    /// then the section has not ended.
    pub fn end(&mut self, name: &str, bytes: u64, device: Option<Device>) -> Result<Duration, Error> {
        let Some(begin) = self.open.get(name).and_then(|open| open.last().copied()) else {
            return Err(Error::NotAvailable {
                asked: format!("the end of section `{name}`"),
                cause: "it was not begun".to_owned(),
                help: "call `start` with the same name before".to_owned(),
            });
        };
        if let Some(device) = device {
            device.synchronize()?;
        }
        let time = begin.elapsed();
        if let Some(open) = self.open.get_mut(name) {
            open.pop();
        }
        let device = device.map_or("", Device::name);
        match self.done.iter_mut().find(|section| section.name == name && section.device == device) {
            Some(section) => {
                section.calls += 1;
                section.total += time;
                section.shortest = section.shortest.min(time);
                section.longest = section.longest.max(time);
                section.most_bytes = section.most_bytes.max(bytes);
            }
            None => self.done.push(Section {
                name: name.to_owned(),
                device: device.to_owned(),
                calls: 1,
                total: time,
                shortest: time,
                longest: time,
                most_bytes: bytes,
            }),
        }
        Ok(time)
    }

    /// As [`Sections::end`], with the memory that tensors of the device have now.
    pub fn end_on(&mut self, name: &str, device: Device) -> Result<Duration, Error> {
        self.end(name, device.memory_stats().allocated, Some(device))
    }

    /// What has ended, in the order in which it first did.
    pub fn all(&self) -> &[Section] {
        &self.done
    }

    /// The section of a name, on whichever device it was ended with first.
    pub fn of(&self, name: &str) -> Option<&Section> {
        self.done.iter().find(|section| section.name == name)
    }

    /// The table that is printed: the longest in all first. Sections may overlap, so shares are of the longest.
    pub fn summary(&self) -> String {
        let mut rows: Vec<&Section> = self.done.iter().collect();
        rows.sort_by_key(|section| std::cmp::Reverse(section.total));
        let most = rows.first().map_or(0.0, |section| section.total.as_secs_f64());
        let ms = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1e3);
        let mut text = format!(
            "{:<24} {:<14} {:>7} {:>14} {:>13} {:>13} {:>13} {:>7} {:>12}\n",
            "section", "device", "calls", "total", "mean", "shortest", "longest", "share", "memory"
        );
        for section in rows {
            let share = if most > 0.0 { 100.0 * section.total.as_secs_f64() / most } else { 0.0 };
            text += &format!(
                "{:<24} {:<14} {:>7} {:>14} {:>13} {:>13} {:>13} {share:>5.1} % {:>9.1} MB\n",
                section.name,
                section.device,
                section.calls,
                ms(section.total),
                ms(section.mean()),
                ms(section.shortest),
                ms(section.longest),
                section.most_bytes as f64 / 1e6
            );
        }
        text
    }
}

impl fmt::Display for Sections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.summary().trim_end())
    }
}
