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

#[cfg(test)]
mod tests {
    use super::*;
    use unigrad_graph::{DType, Expr, UnaryOp};

    fn capture(op: UnaryOp) -> Capture {
        let x = Expr::buffer([8].into_iter().collect(), DType::F32, 0, Arc::new(()));
        Capture::new(&[x.unary(op)]).unwrap()
    }

    /// Keys are 64 bits of a hash: two graphs may have one.
    #[test]
    fn a_plan_of_another_graph_with_the_same_key_is_not_taken() {
        let (exp, mut sin) = (capture(UnaryOp::Exp), capture(UnaryOp::Sin));
        assert_ne!(exp.key, sin.key);
        sin.key = exp.key;
        let mut cache = PlanCache::new(4);
        cache.insert(&exp, Options::default(), Arc::new("exp"));
        assert_eq!(cache.get(&sin, Options::default()), None);
        // Each is found by its own structure; the last one of a key has its place.
        assert_eq!(cache.get(&capture(UnaryOp::Exp), Options::default()).as_deref(), Some(&"exp"));
        cache.insert(&sin, Options::default(), Arc::new("sin"));
        assert_eq!(cache.get(&sin, Options::default()).as_deref(), Some(&"sin"));
        assert_eq!(cache.get(&exp, Options::default()), None);
    }

    #[test]
    fn other_options_have_another_plan() {
        let (exp, plain) = (capture(UnaryOp::Exp), Options::default());
        let mut cache = PlanCache::new(4);
        cache.insert(&exp, plain, Arc::new("plain"));
        assert_eq!(cache.get(&exp, Options { tf32: true, ..plain }), None);
        assert_eq!(cache.get(&exp, plain).as_deref(), Some(&"plain"));
    }
}
