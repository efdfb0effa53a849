//! `unigrad devices`: what this machine has, backend by backend, and why it does not have more.

use crate::{Failure, args::Devices};
use serde_json::json;
use unigrad::{
    device::{Available, Config, Health, Info},
    prelude::Device,
};

/// How a backend is called, for people.
fn title(backend: &str) -> &str {
    match backend {
        "cpu" => "CPU",
        "cuda" => "CUDA (NVIDIA)",
        "hip" => "ROCm (AMD)",
        "metal" => "Metal (Apple)",
        "wgpu" => "WebGPU (Vulkan, Metal, DirectX 12)",
        "opencl" => "OpenCL",
        other => other,
    }
}

/// The backends that have devices or problems, best first.
fn backends(available: &Available) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    let hardware = available.devices.iter().filter(|info| !info.software);
    let software = available.devices.iter().filter(|info| info.software);
    let all = hardware.chain(software).map(|info| info.backend).chain(available.problems.iter().map(|p| p.backend));
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

pub(crate) fn run(options: &Devices) -> Result<(), Failure> {
    let available = Device::all();
    let config = Config::current();
    let chosen = config.as_ref().ok().and_then(|config| config.device.clone());
    let is_here = |name: &str| {
        let name = name.trim().to_ascii_lowercase();
        available.devices.iter().any(|info| info.device() == name || info.backend == name)
    };
    // What every other command would say.
    let refused = match (&config, &chosen) {
        (Err(error), _) => Some(error.to_string()),
        (_, Some(name)) if !is_here(name) => Device::best().err().map(|error| error.to_string()),
        _ => None,
    };
    let best = available.devices.iter().find(|info| !info.software).map(Info::device);
    if options.json {
        let devices: Vec<_> = available.devices.iter().map(|info| describe(info, best.as_deref(), options.verbose)).collect();
        let problems: Vec<_> =
            available.problems.iter().map(|p| json!({ "backend": p.backend, "cause": p.cause, "help": p.help })).collect();
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
        say!(
            "{}",
            json!({ "devices": devices, "problems": problems, "topology": topology, "recommended": best, "chosen": chosen, "error": refused })
        );
        return Ok(());
    }
    say!("=== Available Backends ===");
    for backend in backends(&available) {
        let devices: Vec<&Info> = available.devices.iter().filter(|info| info.backend == backend).collect();
        say!("{} {}", if devices.is_empty() { "✗" } else { "✓" }, title(backend));
        for info in devices {
            print(info, options.verbose);
        }
        for problem in available.problems.iter().filter(|p| p.backend == backend) {
            say!("    Error: {}", problem.cause);
            say!("     help: {}", problem.help);
        }
    }
    if options.verbose {
        for (backend, links) in Device::topology() {
            say!("Links between {backend} devices:");
            for link in links {
                let access = if link.peer_access { "peer access" } else { "through the host" };
                let kind = if link.kind.is_empty() { String::new() } else { format!(", {}", link.kind) };
                say!("    {backend}:{} -> {backend}:{}  {access}{kind}", link.from, link.to);
            }
        }
    }
    if available.devices.is_empty() {
        return Err(Failure::new("no device was found", "see the causes above"));
    }
    say!("");
    match (&chosen, &best) {
        _ if refused.is_some() => say!("Error: {}", refused.unwrap_or_default()),
        (Some(chosen), _) => say!("Chosen device: {chosen} (UNIGRAD_DEVICE)"),
        (None, Some(best)) => {
            say!("Recommended backend: {} ({best})", title(best.split(':').next().unwrap_or_default()));
            say!("`--device NAME` or UNIGRAD_DEVICE=NAME chooses another, `unigrad devices -v` tells more.");
        }
        (None, None) => say!("Only software devices are here: choose one with `--device NAME`."),
    }
    Ok(())
}

/// Discovery opens nothing, so free memory is told by those backends that know it unopened; `-v` opens the device and asks.
fn print(info: &Info, verbose: bool) {
    let opened = if verbose { Device::open(&info.device()).map(Some) } else { Ok(None) };
    let now = opened.as_ref().ok().and_then(Option::as_ref).map_or_else(|| info.clone(), |device| device.info());
    let memory = match (now.memory_total, now.memory_free) {
        (0, _) => String::new(),
        (total, 0) if info.features.iter().any(|feature| feature == "unified memory") => format!(": {} (unified memory)", gigabytes(total)),
        (total, 0) => format!(": {}", gigabytes(total)),
        (total, free) => format!(": {} ({} free)", gigabytes(total), gigabytes(free)),
    };
    say!("    [{}] {}{memory}{}", info.ordinal, info.name, if info.software { ", in software: taken only when asked for" } else { "" });
    if !verbose {
        return;
    }
    say!("        device    {}", info.device());
    say!("        version   {}", info.version);
    say!("        units     {}", info.compute_units);
    say!("        features  {}", info.features.join(", "));
    for (name, value) in &info.limits {
        say!("        limit     {name}: {value}");
    }
    match opened {
        Ok(Some(device)) => {
            if let Ok(Some(health)) = device.health() {
                say!("        health    {}", in_words(&health));
            }
        }
        Ok(None) => {}
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

fn gigabytes(n: u64) -> String {
    format!("{:.2} GB", n as f64 / 1e9)
}
