//! What evaluations of a device share: the order of captures, plans, and per stream the turn to submit and the arenas.
//!
//! Always: the lock of captures is held for a walk alone, that of the plans for a look-up, that of a stream's submission until its launches are
//! handed over. Where launches run when they are given, no evaluation waits for another's: several evaluations have an arena each.
//! An unused arena belongs to the stream's next evaluation; of several, the largest one stays when the last evaluation ends.
//! Never: takes one of these locks while it waits for a claim.

use super::{claims::Claimed, prepare::Ready};
use crate::Error;
use std::{
    collections::HashMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};
use unigrad_device::{Buffer, Device};
use unigrad_plan::{Options, PlanCache};

/// How many plans a device remembers.
const PLANS: usize = 512;

/// By device; they live as long as the process, as devices do.
static SITES: Mutex<Option<HashMap<u32, &'static Site>>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is kept under these locks is whole at every moment: a panic elsewhere leaves nothing half-written.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A plan, or the place where it will be; locked while it is made, so that it is not made twice.
type Slot = Mutex<Option<Arc<Ready>>>;

/// What the evaluations of a device share.
pub(super) struct Site {
    captures: Mutex<()>,
    plans: Mutex<PlanCache<Slot>>,
    /// By stream.
    lanes: Mutex<Vec<Arc<Lane>>>,
}

impl Site {
    pub(super) fn of(device: u32) -> &'static Site {
        let mut sites = lock(&SITES);
        let new = || -> &'static Site {
            let plans = Mutex::new(PlanCache::new(PLANS));
            Box::leak(Box::new(Site { captures: Mutex::default(), plans, lanes: Mutex::default() }))
        };
        sites.get_or_insert_default().entry(device).or_insert_with(new)
    }

    /// Captures of the device follow each other.
    pub(super) fn captures(&self) -> MutexGuard<'_, ()> {
        lock(&self.captures)
    }

    /// The plan of a capture, if there is one.
    pub(super) fn known(&self, claimed: &Claimed, options: Options) -> Option<Arc<Ready>> {
        let slot = lock(&self.plans).get(&claimed.capture, options)?;
        let plan = lock(&slot);
        plan.clone()
    }

    /// The plan of a capture: the one that is there, or that another thread makes now, or what `make` gives. Whether it was there.
    pub(super) fn plan(
        &self,
        claimed: &Claimed,
        options: Options,
        make: impl FnOnce() -> Result<Ready, Error>,
    ) -> Result<(Arc<Ready>, bool), Error> {
        let slot = {
            let mut plans = lock(&self.plans);
            match plans.get(&claimed.capture, options) {
                Some(slot) => slot,
                None => {
                    let slot = Arc::new(Slot::default());
                    plans.insert(&claimed.capture, options, Arc::clone(&slot));
                    slot
                }
            }
        };
        let mut plan = lock(&slot);
        match &*plan {
            Some(ready) => Ok((Arc::clone(ready), true)),
            None => Ok((Arc::clone(plan.insert(Arc::new(make()?))), false)),
        }
    }

    /// Forgets what a device that is gone cannot use any more.
    pub(super) fn clear(&self) {
        lock(&self.plans).clear();
        lock(&self.lanes).clear();
    }

    /// The device's stream of this number.
    pub(super) fn lane(&self, stream: u32) -> Arc<Lane> {
        let mut lanes = lock(&self.lanes);
        while lanes.len() <= stream as usize {
            lanes.push(Arc::default());
        }
        Arc::clone(&lanes[stream as usize])
    }
}

/// Forgets every plan, on all devices.
pub(super) fn clear_plans() {
    let sites: Vec<&Site> = lock(&SITES).iter().flat_map(|sites| sites.values().copied()).collect();
    sites.into_iter().for_each(|site| lock(&site.plans).clear());
}

/// Turns in the order in which they are asked for: a thread that submits again and again must not keep the others out, as it would with a plain lock.
#[derive(Default)]
struct Turns {
    /// The number of the next to ask, and of the one whose turn it is.
    numbers: Mutex<(u64, u64)>,
    changed: Condvar,
}

impl Turns {
    fn take(&self) -> Turn<'_> {
        let mut numbers = lock(&self.numbers);
        let mine = numbers.0;
        numbers.0 += 1;
        drop(self.changed.wait_while(numbers, |(_, turn)| *turn != mine).unwrap_or_else(PoisonError::into_inner));
        Turn(self)
    }
}

/// A turn; the next one's begins when this drops.
pub(super) struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        lock(&self.0.numbers).1 += 1;
        self.0.changed.notify_all();
    }
}

/// What the evaluations of a stream share.
#[derive(Default)]
pub(super) struct Lane {
    submission: Turns,
    arenas: Mutex<Arenas>,
}

#[derive(Default)]
struct Arenas {
    idle: Vec<Buffer>,
    /// How many evaluations have one.
    n_lent: usize,
}

impl Lane {
    /// This evaluation's turn to submit. Where launches run when they are given there are no turns.
    pub(super) fn turn(&self, device: Device) -> Option<Turn<'_>> {
        if device.completes_at_once() { None } else { Some(self.submission.take()) }
    }

    /// Bytes that wait for the next evaluation's intermediates.
    pub(super) fn idle_bytes(&self) -> usize {
        lock(&self.arenas).idle.iter().map(Buffer::len).sum()
    }

    /// Memory for the intermediates of one evaluation.
    pub(super) fn arena(&self, device: Device, bytes: usize) -> Result<Arena<'_>, unigrad_device::Error> {
        let found = {
            let mut arenas = lock(&self.arenas);
            let large = arenas.idle.iter().position(|arena| arena.len() >= bytes);
            arenas.n_lent += 1;
            match large {
                Some(at) => Some(arenas.idle.swap_remove(at)),
                // It grows: the old one goes first, for the two need not fit at once.
                None => {
                    let _small = arenas.idle.pop();
                    None
                }
            }
        };
        let mut arena = Arena { lane: self, buffer: found };
        if arena.buffer.is_none() {
            arena.buffer = Some(device.allocate_tagged(bytes, "arena")?);
        }
        Ok(arena)
    }
}

/// An arena in use; given back when this drops.
pub(super) struct Arena<'a> {
    lane: &'a Lane,
    /// `None` while there is none yet.
    buffer: Option<Buffer>,
}

impl Arena<'_> {
    pub(super) fn buffer(&self) -> Result<&Buffer, Error> {
        self.buffer.as_ref().ok_or_else(|| Error::Internal("the arena is missing".into()))
    }
}

impl Drop for Arena<'_> {
    fn drop(&mut self) {
        let mut arenas = lock(&self.lane.arenas);
        arenas.n_lent -= 1;
        arenas.idle.extend(self.buffer.take());
        if arenas.n_lent == 0 && arenas.idle.len() > 1 {
            arenas.idle.sort_by_key(|arena| std::cmp::Reverse(arena.len()));
            let _others = arenas.idle.split_off(1);
            drop(arenas);
        }
    }
}
