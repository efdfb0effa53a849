//! A profile in the Trace Event Format, which `chrome://tracing` and Perfetto open.

use super::Profile;
use serde_json::{Value, json};

impl Profile {
    /// The trace: per device a row of what it did, one of what the host gave it, and its memory over time.
    pub fn chrome_trace(&self) -> String {
        json!({ "displayTimeUnit": "ns", "traceEvents": self.trace_events() }).to_string()
    }

    pub(super) fn trace_events(&self) -> Vec<Value> {
        let mut events = Vec::with_capacity(3 * self.events.len() + 3 * self.devices.len());
        for (pid, device) in self.devices.iter().enumerate() {
            let name = format!("{} ({})", device.name, device.hardware);
            events.push(json!({ "ph": "M", "pid": pid, "name": "process_name", "args": { "name": name } }));
            for (tid, name) in ["device", "host"].into_iter().enumerate() {
                events.push(json!({ "ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": { "name": name } }));
            }
        }
        for event in &self.events {
            let us = |ns: f64| ns / 1e3;
            let line = event.origin.map(|p| format!("{}:{}:{}", p.file(), p.line(), p.column()));
            let args = json!({
                "line": line, "scope": event.scope, "extents": event.extents, "bytes": event.bytes, "flops": event.flops,
                "GB/s": event.bytes / event.duration_ns.max(1.0), "GFLOP/s": event.flops / event.duration_ns.max(1.0),
                "bound by": self.verdict_of(event).to_string(),
            });
            events.push(json!({
                "ph": "X", "pid": event.device, "tid": 0, "cat": event.kind, "name": event.name,
                "ts": us(event.start_ns), "dur": us(event.duration_ns), "args": args,
            }));
            events.push(json!({
                "ph": "X", "pid": event.device, "tid": 1, "cat": event.kind, "name": event.name,
                "ts": us(event.host_start_ns), "dur": us(event.host_ns),
            }));
            events.push(json!({
                "ph": "C", "pid": event.device, "name": "memory", "ts": us(event.host_start_ns + event.host_ns),
                "args": { "bytes": event.allocated },
            }));
        }
        events
    }
}
