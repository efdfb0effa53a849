//! What ends a run early: Ctrl-C (SIGINT) by a user, SIGTERM by a job's scheduler or a container.
//!
//! In: the process's signals. Out: whether one came, to be asked between steps, and the exit status that says which.
//! Always: the first signal lets the step end and the checkpoint be saved; the second ends the process at once.

use crate::Failure;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering::SeqCst},
};

/// The signals, and whether each came.
type Heard = [(i32, Arc<AtomicBool>); 2];

static HEARD: OnceLock<Heard> = OnceLock::new();

/// From now on signals are heard.
pub(crate) fn watch() -> Result<(), Failure> {
    if HEARD.get().is_some() {
        return Ok(());
    }
    let heard: Heard = [SIGINT, SIGTERM].map(|signal| (signal, Arc::default()));
    let register = || -> std::io::Result<()> {
        for (signal, _) in &heard {
            // Before the flags are set by the same signal: the second time, of either, the process does not wait for the step to end.
            for (_, flag) in &heard {
                flag::register_conditional_shutdown(*signal, exit_status(*signal).into(), Arc::clone(flag))?;
            }
        }
        heard.iter().try_for_each(|(signal, flag)| flag::register(*signal, Arc::clone(flag)).map(drop))
    };
    register().map_err(|e| Failure::new(format!("signals cannot be watched: {e}"), "start the program in another terminal"))?;
    // Two threads at once register twice, which changes nothing but for the flags that are looked at: the first's.
    let _ = HEARD.set(heard);
    Ok(())
}

/// Whether the run is to end.
pub(crate) fn interrupted() -> bool {
    HEARD.get().is_some_and(|heard| heard.iter().any(|(_, flag)| flag.load(SeqCst)))
}

/// What an interrupted run exits with: 128 and the signal's number, as a shell reports it.
pub(crate) fn status() -> u8 {
    let came = |heard: &Heard| heard.iter().find(|(_, flag)| flag.load(SeqCst)).map(|(signal, _)| *signal);
    exit_status(HEARD.get().and_then(came).unwrap_or(SIGINT))
}

fn exit_status(signal: i32) -> u8 {
    if signal == SIGTERM { 143 } else { 130 }
}
