//! `unigrad train`: what all training runs share.
//!
//! In: settings. Out: a folder with the model, a checkpoint, the figures and a report; one line per epoch and a last line.
//! Always: the folder is tried before any work is done; Ctrl-C ends the step, saves a checkpoint, and exits with 130; a loss that is
//! not a number ends the run with the step, the place and a checkpoint of the state before that step.

mod gpt;
mod history;
mod images;
mod output;

use crate::{
    Failure,
    args::{Common, Train},
};
use std::{
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};
use unigrad::{nn::Checkpoint, prelude::*};

pub(crate) fn run(what: Train) -> Result<(), Failure> {
    watch_for_interrupts()?;
    match what {
        Train::Digits(options) => images::digits(&options),
        Train::Mnist(options) => images::mnist(&options),
        Train::Gpt(options) => gpt::run(&options),
    }
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

fn watch_for_interrupts() -> Result<(), Failure> {
    static SET: OnceLock<Result<(), String>> = OnceLock::new();
    let set = SET.get_or_init(|| {
        let handler = || {
            // The second time, the user does not want to wait for the step to end.
            if INTERRUPTED.swap(true, SeqCst) {
                std::process::exit(130);
            }
        };
        ctrlc::set_handler(handler).map_err(|e| e.to_string())
    });
    set.clone().map_err(|e| Failure::new(format!("Ctrl-C cannot be watched: {e}"), "start the program in another terminal"))
}

/// Whether the user asked to stop.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(SeqCst)
}

/// The device that was asked for, or the best.
fn device(common: &Common) -> Result<Device, Failure> {
    let device = match &common.device {
        Some(name) => Device::open(name)?,
        None => Device::best()?,
    };
    if let Some(threads) = common.threads {
        device.set_threads(threads as usize);
    }
    Ok(device)
}

/// Where a run keeps its files.
fn folder(common: &Common, name: &str) -> PathBuf {
    common.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(name))
}

/// The checkpoint to continue from, if that was asked for.
fn resumed(common: &Common, folder: &std::path::Path) -> Result<Option<Checkpoint>, Failure> {
    if !common.resume {
        return Ok(None);
    }
    let path = folder.join(output::CHECKPOINT);
    if !path.exists() {
        let cause = format!("{}: there is no checkpoint to resume from", path.display());
        return Err(Failure::new(cause, "name the folder of the interrupted run with `--out`, or leave `--resume` out"));
    }
    Ok(Some(Checkpoint::load(path)?))
}

/// A setting: as in the checkpoint, and as asked for only where that is the same; without a checkpoint, as asked for, or the default.
fn setting<T: std::str::FromStr + ToString + PartialEq + Clone>(
    name: &str,
    asked: Option<T>,
    default: T,
    saved: Option<&Checkpoint>,
) -> Result<T, Failure> {
    let Some(saved) = saved else { return Ok(asked.unwrap_or(default)) };
    let there: T = saved.get(&format!("setting.{name}"))?;
    match asked {
        Some(asked) if asked != there => {
            let cause = format!("--{name} {} differs from the interrupted run's {}", asked.to_string(), there.to_string());
            Err(Failure::new(cause, format!("leave `--{name}` out, or start a new run without `--resume`")))
        }
        _ => Ok(there),
    }
}

/// What a run was asked to do, by name: for the checkpoint, the report, and the reader.
type Settings = Vec<(&'static str, String)>;

fn save_settings(checkpoint: &mut Checkpoint, settings: &Settings) {
    settings.iter().for_each(|(name, value)| checkpoint.set(&format!("setting.{name}"), value));
}

fn machine(device: Device) -> Vec<(String, String)> {
    let info = device.info();
    let row = |name: &str, value: String| (name.to_owned(), value);
    vec![
        row("device", format!("{} ({})", device.name(), info.name)),
        row("units", info.compute_units.to_string()),
        row("driver", info.version),
        row("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        row("unigrad", env!("CARGO_PKG_VERSION").to_owned()),
    ]
}
