//! `unigrad train`: what all training runs share.
//!
//! In: settings. Out: a folder with the model, a checkpoint, the figures and a report; one line per epoch and a last line.
//! Always: the folder is tried before any work is done, and is this run's alone while it lasts; nothing in it changes before the first epoch is
//! done. Ctrl-C and SIGTERM end the step, save a checkpoint, and exit with 130 or 143; a loss that is not a number ends the run with the step, the place and
//! a checkpoint of the state before that step. Numbers pass the same limits wherever they come from. Output that cannot be written changes the
//! exit status, not the run.

mod gpt;
mod images;
pub(crate) mod interrupt;
mod limits;
mod network;
mod output;

use crate::{
    Failure,
    args::{Common, Train},
    stream::{self, tell},
};
use interrupt::interrupted;
use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    rc::Rc,
};
use unigrad::{
    nn::{
        Checkpoint,
        files::{self, FolderLock},
    },
    prelude::*,
    train::{CHECKPOINT, Ended, Run, Trainer},
};

pub(crate) fn run(what: Train) -> Result<(), Failure> {
    stream::go_on_without_output();
    interrupt::watch()?;
    match what {
        Train::Digits(options) => images::digits(&options),
        Train::Mnist(options) => images::mnist(&options),
        Train::Gpt(options) => gpt::run(&options),
        Train::Csv(options) => network::csv(&options),
        Train::Images(options) => network::images(&options),
        Train::Config(options) => network::config(&options),
    }
}

/// Ends a run in which no step was taken yet, if the user asked for that.
fn end_if_interrupted() -> Result<(), Failure> {
    if !interrupted() {
        return Ok(());
    }
    tell(format_args!("interrupted before the first step; nothing was changed"));
    Err(Failure::Interrupted)
}

/// What a run that was interrupted after a step tells.
fn interrupted_after(step: u64, checkpoint: &Path) -> Failure {
    tell(format_args!("interrupted after step {step}; saved {}; continue with --resume", checkpoint.display()));
    Failure::Interrupted
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

/// A run that is continued: its checkpoint, which no other process replaces from now on.
struct Resumed {
    checkpoint: Checkpoint,
    path: PathBuf,
    lock: FolderLock,
}

/// The run to continue, if that was asked for.
fn resumed(common: &Common, folder: &Path) -> Result<Option<Resumed>, Failure> {
    if !common.resume {
        return Ok(None);
    }
    let path = folder.join(CHECKPOINT);
    if !path.exists() {
        let cause = format!("{}: there is no checkpoint to resume from", path.display());
        return Err(Failure::new(cause, "name the folder of the interrupted run with `--out`, or leave `--resume` out"));
    }
    let lock = files::lock_folder(folder)?;
    Ok(Some(Resumed { checkpoint: Checkpoint::load(&path)?, path, lock }))
}

/// What tells data from other data: its length and a checksum (FNV-1a).
fn fingerprint(parts: &[&[u8]]) -> String {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        // The length too, so that bytes that move from one part to the next are seen.
        for byte in part.iter().chain(&(part.len() as u64).to_le_bytes()) {
            sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{sum:016x}")
}

const FINGERPRINT: &str = "data.fingerprint";

/// Refuses to continue a run with other data than it began with.
fn check_data(saved: Option<&Resumed>, found: &str, data: &str, option: &str) -> Result<(), Failure> {
    let Some(saved) = saved else { return Ok(()) };
    let there: String = saved.checkpoint.get(FINGERPRINT)?;
    if there == found {
        return Ok(());
    }
    let cause = format!("{data}: not what the interrupted run of {} learned from", saved.path.display());
    Err(Failure::new(cause, format!("name the same data with `{option}`, or start a new run without `--resume`")))
}

/// A setting: as in the checkpoint, and as asked for only where that is the same; without a checkpoint, as asked for, or the default.
fn setting<T: std::str::FromStr + ToString + PartialEq + Clone>(
    name: &str,
    asked: Option<T>,
    default: T,
    saved: Option<&Resumed>,
) -> Result<T, Failure> {
    let Some(saved) = saved else { return Ok(asked.unwrap_or(default)) };
    let there: T = saved.checkpoint.get(&format!("setting.{name}"))?;
    match asked {
        Some(asked) if asked != there => {
            let cause = format!("--{name} {} differs from the interrupted run's {}", asked.to_string(), there.to_string());
            Err(Failure::new(cause, format!("leave `--{name}` out, or start a new run without `--resume`")))
        }
        _ => Ok(there),
    }
}

/// Where a setting stands, for errors about it.
fn source(saved: Option<&Resumed>) -> String {
    saved.map_or_else(|| "--".to_owned(), |saved| format!("{}: setting.", saved.path.display()))
}

/// What a run was asked to do, by name: for the checkpoint, the report, and the reader.
type Settings = Vec<(&'static str, String)>;

/// A trainer for the command; see [`command`].
fn trainer(device: &Device, folder: &Path, settings: &Settings, data: &str, checkpoint: Option<Checkpoint>, show: output::Show) -> Trainer {
    command(Trainer::new(device), folder, settings, data, checkpoint, show)
}

/// A trainer as the command has it: it keeps settings and the data's fingerprint, hears interruptions, and leaves what is shown to `show`.
fn command(
    trainer: Trainer,
    folder: &Path,
    settings: &Settings,
    data: &str,
    checkpoint: Option<Checkpoint>,
    show: output::Show,
) -> Trainer {
    let trainer = trainer.locked_folder(folder).quiet().report(false).validation_name("test").keep(FINGERPRINT, data);
    let trainer = trainer.read_every(1).stop_when(interrupted).callback(show);
    let trainer = settings.iter().fold(trainer, |trainer, (name, value)| trainer.setting(name, value));
    match checkpoint {
        Some(checkpoint) => trainer.resume_from(checkpoint),
        None => trainer,
    }
}

/// A run that is done; one that was interrupted, or failed, is what the command ends with.
fn done(run: unigrad::Result<Run>, output: &Rc<RefCell<output::Output>>) -> Result<Run, Failure> {
    let run = run.inspect_err(|_| output.borrow_mut().end_bar())?;
    if run.ended == Ended::Interrupted {
        output.borrow_mut().end_bar();
        return Err(interrupted_after(run.n_steps, &output.borrow().checkpoint_path()));
    }
    Ok(run)
}
