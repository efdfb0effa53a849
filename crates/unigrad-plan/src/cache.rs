//! The plan cache: by key, and structurally compared on a hit.

use crate::capture::{Capture, Structure};
use crate::plan::Options;
use rustc_hash::FxHashMap;
use std::sync::Arc;

struct Entry<T> {
    structure: Structure,
    value: Arc<T>,
    last_used: u64,
}

/// Plans (or what a caller makes of them) by the structure of their graph. Beyond its capacity the least recently used one goes.
pub struct PlanCache<T> {
    entries: FxHashMap<(u64, Options), Entry<T>>,
    capacity: usize,
    clock: u64,
}

impl<T> PlanCache<T> {
    /// A cache of at most `capacity` plans.
    pub fn new(capacity: usize) -> PlanCache<T> {
        PlanCache { entries: FxHashMap::default(), capacity, clock: 0 }
    }

    /// What was made for a graph of the same structure.
    pub fn get(&mut self, capture: &Capture, options: Options) -> Option<Arc<T>> {
        self.clock += 1;
        let entry = self.entries.get_mut(&(capture.key, options))?;
        entry.structure.is_of(capture).then(|| {
            entry.last_used = self.clock;
            entry.value.clone()
        })
    }

    /// Remembers a value.
    pub fn insert(&mut self, capture: &Capture, options: Options, value: Arc<T>) {
        if self.entries.len() >= self.capacity {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last_used).map(|(key, _)| *key);
            oldest.and_then(|key| self.entries.remove(&key));
        }
        let entry = Entry { structure: Structure::of(capture), value, last_used: self.clock };
        self.entries.insert((capture.key, options), entry);
    }

    /// Forgets every plan.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}
