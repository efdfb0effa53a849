//! A profile as one HTML page without any other file: the timeline, memory over time, and the table.

use super::Profile;
use serde_json::json;

/// The page around the data.
const PAGE: &str = include_str!("timeline.html");

impl Profile {
    /// The page. Wheel to zoom, drag to move, point at a bar to read it.
    pub fn html(&self) -> String {
        let devices: Vec<_> = self.devices.iter().map(|d| json!({ "name": d.name, "hardware": d.hardware })).collect();
        let events: Vec<_> = self
            .events
            .iter()
            .map(|e| {
                json!([
                    e.device,
                    e.name,
                    e.kind,
                    e.start_ns,
                    e.duration_ns,
                    e.host_start_ns,
                    e.host_ns,
                    e.bytes / e.duration_ns.max(1.0),
                    e.flops / e.duration_ns.max(1.0),
                    self.verdict_of(e).to_string(),
                    e.origin.map(|p| format!("{}:{}", p.file(), p.line())),
                    e.scope,
                    e.extents,
                    e.allocated
                ])
            })
            .collect();
        // `</script>` in a name would end the script.
        let data = json!({ "devices": devices, "events": events, "wall_ns": self.wall_ns }).to_string().replace("</", "<\\/");
        let summary = self.summary().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        PAGE.replace("{{SUMMARY}}", &summary).replace("{{DATA}}", &data)
    }
}
