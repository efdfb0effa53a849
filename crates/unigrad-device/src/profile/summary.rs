//! A profile as a table: where the time went, and what held each kernel back.

use super::{Event, Profile, Verdict};
use std::{collections::HashMap, fmt::Write};

/// All events of one kernel at one line.
#[derive(Clone, Debug, Default)]
struct Row<'a> {
    calls: usize,
    ns: f64,
    bytes: f64,
    flops: f64,
    first: Option<&'a Event>,
}

fn duration(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{:.3} s", ns / 1e9),
        ns if ns >= 1e6 => format!("{:.3} ms", ns / 1e6),
        ns => format!("{:.1} us", ns / 1e3),
    }
}

fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1}%", 100.0 * part / whole) } else { "-".to_owned() }
}

/// Rows that add up to the same key, largest first.
fn grouped<'a, K: std::hash::Hash + Eq + 'a>(events: &'a [Event], key: impl Fn(&'a Event) -> K) -> Vec<(K, Row<'a>)> {
    let mut rows: HashMap<K, Row<'a>> = HashMap::new();
    for event in events {
        let row = rows.entry(key(event)).or_default();
        row.calls += 1;
        row.ns += event.duration_ns;
        row.bytes += event.bytes;
        row.flops += event.flops;
        row.first.get_or_insert(event);
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    // Equal times in the order of first use, so that the table does not depend on hashing.
    let first = |row: &Row<'_>| row.first.map_or(0.0, |event| event.host_start_ns);
    rows.sort_by(|(_, a), (_, b)| b.ns.total_cmp(&a.ns).then(first(a).total_cmp(&first(b))));
    rows
}

impl Profile {
    /// Time per kernel and line, with rates, parts of the measured ceilings, and a verdict; then time per scope and memory per device.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        // The sum of no floats is -0.
        let total = self.events.iter().map(|e| e.duration_ns).sum::<f64>() + 0.0;
        for device in &self.devices {
            let c = &device.ceilings;
            let _ = writeln!(
                text,
                "{} ({}): ceilings {:.0} GB/s, {:.0} GFLOP/s, {} a launch; peak memory {:.1} MB of {:.1} GB",
                device.name,
                device.hardware,
                c.gb_per_s,
                c.gflop_per_s,
                duration(c.launch_ns),
                device.peak_bytes as f64 / 1e6,
                device.total_bytes as f64 / 1e9,
            );
        }
        let _ = writeln!(text, "{} of device time in {} of wall time", duration(total), duration(self.wall_ns));
        let _ = writeln!(
            text,
            "{:>7} {:>11} {:>11} {:>6}  {:<10} {:<32} {:>8} {:>6} {:>9} {:>6}  {:<9} line",
            "share", "total", "mean", "calls", "kind", "name", "GB/s", "of", "GFLOP/s", "of", "bound by"
        );
        let key = |e: &Event| (e.device, e.kind, e.name.clone(), e.origin.map(|p| (p.file(), p.line())));
        for ((device, kind, name, place), row) in grouped(&self.events, key) {
            let ceilings = self.devices.get(device).map(|d| d.ceilings).unwrap_or_default();
            let (gb, gflop) = (row.bytes / row.ns.max(1.0), row.flops / row.ns.max(1.0));
            let calls = row.calls as f64;
            let verdict = self.verdict(device, row.bytes / calls, row.flops / calls, row.ns / calls);
            let _ = writeln!(
                text,
                "{:>7} {:>11} {:>11} {:>6}  {kind:<10} {:<32} {gb:>8.1} {:>6} {gflop:>9.1} {:>6}  {:<9} {}",
                percent(row.ns, total),
                duration(row.ns),
                duration(row.ns / calls),
                row.calls,
                name.chars().take(32).collect::<String>(),
                percent(gb, ceilings.gb_per_s),
                percent(gflop, ceilings.gflop_per_s),
                verdict.to_string(),
                place.map(|(file, line)| format!("{}:{line}", file.rsplit(['/', '\\']).next().unwrap_or(file))).unwrap_or_default(),
            );
        }
        let scopes = grouped(&self.events, |e| e.scope.as_str());
        if scopes.iter().any(|(scope, _)| !scope.is_empty()) {
            let _ = writeln!(text, "{:>7} {:>11} {:>6}  scope", "share", "total", "calls");
            for (scope, row) in scopes {
                let name = if scope.is_empty() { "(none)" } else { scope };
                let _ = writeln!(text, "{:>7} {:>11} {:>6}  {name}", percent(row.ns, total), duration(row.ns), row.calls);
            }
        }
        text
    }

    /// What held an event back.
    pub fn verdict_of(&self, event: &Event) -> Verdict {
        self.verdict(event.device, event.bytes, event.flops, event.duration_ns)
    }
}
