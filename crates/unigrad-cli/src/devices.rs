//! `unigrad devices`: what this machine has, and why it does not have more.

use crate::{Failure, args::Devices};
use serde_json::json;
use unigrad::{device::Info, prelude::Device};

pub(crate) fn run(options: &Devices) -> Result<(), Failure> {
    let available = Device::all();
    let best = Device::best().ok().map(Device::name);
    if options.json {
        let devices: Vec<_> = available.devices.iter().map(|info| describe(info, best)).collect();
        let problems: Vec<_> =
            available.problems.iter().map(|p| json!({ "backend": p.backend, "cause": p.cause, "help": p.help })).collect();
        say!("{}", json!({ "devices": devices, "problems": problems }));
        return Ok(());
    }
    for info in &available.devices {
        let mark = if best == Some(info.device().as_str()) { "*" } else { " " };
        let memory = if info.memory_total > 0 {
            format!(", {} of {} free", bytes(info.memory_free), bytes(info.memory_total))
        } else {
            String::new()
        };
        let kind = if info.software { ", in software" } else { "" };
        say!("{mark} {:<8} {}, {} units{memory}{kind}", info.device(), info.name, info.compute_units);
        if options.verbose {
            say!("           {}; {}", info.version, info.features.join(", "));
        }
    }
    if options.verbose || available.devices.is_empty() {
        for problem in &available.problems {
            say!("  {:<8} {}\n    help: {}", problem.backend, problem.cause, problem.help);
        }
    }
    if available.devices.is_empty() {
        return Err(Failure::new("no device was found", "see the causes above"));
    }
    if let Some(best) = best {
        say!("* `Device::best()` takes {best}; `--device NAME` or UNIGRAD_DEVICE=NAME chooses another");
    }
    Ok(())
}

fn describe(info: &Info, best: Option<&str>) -> serde_json::Value {
    json!({
        "device": info.device(), "name": info.name, "version": info.version, "units": info.compute_units,
        "memory_total": info.memory_total, "memory_free": info.memory_free, "features": info.features,
        "software": info.software, "best": best == Some(info.device().as_str()),
    })
}

fn bytes(n: u64) -> String {
    format!("{:.1} GB", n as f64 / 1e9)
}
