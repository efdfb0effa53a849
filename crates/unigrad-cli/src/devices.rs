//! `unigrad devices`: what this machine has, backend by backend, and why it does not have more.

use crate::{Failure, args::Devices};
use serde_json::json;
use unigrad::{
    device::{Health, Info, Summary},
    prelude::Device,
};

pub(crate) fn run(options: &Devices) -> Result<(), Failure> {
    let summary = Device::summary();
    let best = summary.best().map(|best| best.device.clone());
    if options.json {
        let devices: Vec<_> = in_order(&summary).into_iter().map(|info| describe(info, best.as_deref(), options.verbose)).collect();
        let problems: Vec<_> = summary
            .backends
            .iter()
            .flat_map(|backend| &backend.problems)
            .map(|p| json!({ "backend": p.backend, "cause": p.cause, "help": p.help }))
            .collect();
        let topology: Vec<_> = Device::topology()
            .into_iter()
            .flat_map(|(backend, links)| {
                links.into_iter().map(move |link| {
                    json!({
                        "from": format!("{backend}:{}", link.from), "to": format!("{backend}:{}", link.to),
                        "peer_access": link.peer_access, "kind": link.kind,
                    })
                })
            })
            .collect();
        let uses: Vec<_> =
            summary.recommended.iter().map(|r| json!({ "purpose": r.purpose.to_string(), "device": r.device, "why": r.why })).collect();
        let fallbacks: Vec<_> = Device::fallbacks().iter().map(|f| json!({ "asked": f.asked, "got": f.got, "cause": f.cause })).collect();
        say!(
            "{}",
            json!({
                "devices": devices, "problems": problems, "topology": topology, "recommended": best, "uses": uses, "chosen": summary.chosen,
                "error": summary.error, "fallbacks": fallbacks,
            })
        );
        return Ok(());
    }
    if options.verbose {
        say!("=== Available Backends ===");
        for backend in &summary.backends {
            say!("{} {}", if backend.devices.is_empty() { "✗" } else { "✓" }, backend.title);
            backend.devices.iter().for_each(print);
            for problem in &backend.problems {
                say!("    Error: {}", problem.cause);
                say!("     help: {}", problem.help);
            }
        }
        for (backend, links) in Device::topology() {
            say!("Links between {backend} devices:");
            for link in links {
                let access = if link.peer_access { "peer access" } else { "through the host" };
                let kind = if link.kind.is_empty() { String::new() } else { format!(", {}", link.kind) };
                say!("    {backend}:{} -> {backend}:{}  {access}{kind}", link.from, link.to);
            }
        }
        say!("");
        say!("{}", summary.conclusion().trim_end());
    } else {
        say!("{}", summary.to_string().trim_end());
    }
    if summary.backends.iter().all(|backend| backend.devices.is_empty()) {
        return Err(Failure::new("no device was found", "see the causes above"));
    }
    if summary.error.is_none() && summary.chosen.is_none() {
        say!("`--device NAME` or UNIGRAD_DEVICE=NAME chooses another, `unigrad devices -v` tells more.");
    }
    Ok(())
}

/// As `Device::all` has them: software last.
fn in_order(summary: &Summary) -> Vec<&Info> {
    let mut all: Vec<&Info> = summary.backends.iter().flat_map(|backend| &backend.devices).collect();
    all.sort_by_key(|info| (info.software, info.rank, info.ordinal));
    all
}

/// Also what an open device tells.
fn print(info: &Info) {
    let opened = Device::open(&info.device());
    let now = opened.as_ref().map_or_else(|_| info.clone(), |device| device.info());
    say!("    {}", Info { features: info.features.clone(), ..now }.line());
    say!("        device    {}", info.device());
    say!("        version   {}", info.version);
    say!("        units     {}", info.compute_units);
    say!("        features  {}", info.features.join(", "));
    for (name, value) in &info.limits {
        say!("        limit     {name}: {value}");
    }
    match opened {
        Ok(device) => {
            if let Ok(Some(health)) = device.health() {
                say!("        health    {}", in_words(&health));
            }
        }
        Err(error) => say!("        cannot be opened: {error}"),
    }
}

fn in_words(health: &Health) -> String {
    let mut words = Vec::new();
    words.extend(health.temperature_c.map(|t| format!("{t} °C")));
    words.extend(health.power_w.map(|watts| match health.power_limit_w {
        Some(limit) => format!("{watts:.0} of {limit:.0} W"),
        None => format!("{watts:.0} W"),
    }));
    words.extend(health.clock_mhz.map(|mhz| format!("{mhz} MHz")));
    words.extend(health.memory_clock_mhz.map(|mhz| format!("memory {mhz} MHz")));
    words.extend(health.utilization.map(|percent| format!("{percent} % busy")));
    words.extend(health.uncorrected_errors.map(|n| format!("{n} uncorrected memory errors")));
    if !health.throttled_by.is_empty() {
        words.push(format!("slowed by {}", health.throttled_by.join(", ")));
    }
    words.join(", ")
}

fn describe(info: &Info, best: Option<&str>, verbose: bool) -> serde_json::Value {
    let opened = if verbose { Device::open(&info.device()).ok() } else { None };
    let now = opened.as_ref().map_or_else(|| info.clone(), |device| device.info());
    let limits: serde_json::Map<String, serde_json::Value> =
        info.limits.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let mut described = json!({
        "device": info.device(), "backend": info.backend, "name": info.name, "version": info.version, "units": info.compute_units,
        "memory_total": now.memory_total, "memory_free": now.memory_free, "features": info.features, "limits": limits,
        "software": info.software, "best": best == Some(info.device().as_str()),
    });
    if let Some(Ok(Some(health))) = opened.map(|device| device.health()) {
        described["health"] = json!({
            "memory_used": health.memory_used, "temperature_c": health.temperature_c, "power_w": health.power_w,
            "power_limit_w": health.power_limit_w, "clock_mhz": health.clock_mhz, "memory_clock_mhz": health.memory_clock_mhz,
            "utilization": health.utilization, "uncorrected_errors": health.uncorrected_errors, "throttled_by": health.throttled_by,
        });
    }
    described
}
