//! Systems that are not Apple's: no device, and why.

use crate::BACKEND;
use std::sync::Arc;
use unigrad_device::{Discovery, Error, OpenDevice};

fn problem() -> (String, String) {
    (format!("Metal is a system of Apple's, and this is {}", std::env::consts::OS), "choose another backend".to_owned())
}

pub(crate) fn discover() -> Discovery {
    Discovery { devices: Vec::new(), problem: Some(problem()) }
}

pub(crate) fn open(ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
    let (cause, help) = problem();
    Err(Error::NotAvailable { asked: format!("{BACKEND}:{ordinal}"), cause, help })
}
