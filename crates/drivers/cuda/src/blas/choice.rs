//! Which of the library's algorithms does a product: by time, once for a product on a kind of device.
//!
//! In: the few algorithms that the library's heuristic puts first, and a way to run each. Out: the fastest, kept for the process, on disk beside the
//! compiled kernels, and by [`Choices::export`] in what a run saves.
//! Always: algorithms differ in the order in which they add, so a choice changes the last bits: the same process, and one that reads what another
//! has kept, chooses the same. With [`unigrad_device::Config::reproducible`] nothing is timed or read: the heuristic's first is taken. A choice that the
//! library does not take any more is forgotten.
//! Never: times more in a plan than [`MOST_IN_A_PLAN`], as far as costs are estimated rightly; is needed for a result.

use super::call::Algorithm;
use crate::{api, backend::Failure};
use cudarc::driver::sys;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use unigrad_gpu::{KernelCache, Key, Product};

/// Algorithms of the heuristic that are timed.
pub(super) const CANDIDATES: usize = 8;
/// Times that each is run while the clock runs, after one run that does not count.
const RUNS: u32 = 3;
/// Nanoseconds that all products of a plan are timed for: the heaviest first.
pub(super) const MOST_IN_A_PLAN: f64 = 200e6;
/// An algorithm has to be so much faster than the heuristic's first to be taken in its place: less is noise.
const GAIN: f64 = 0.98;

/// What it costs to time a product that takes so many nanoseconds.
pub(super) fn cost(nanoseconds: f64) -> f64 {
    nanoseconds * f64::from(RUNS + 1) * CANDIDATES as f64
}

/// What was chosen in this process, or was read from what another run saved.
#[derive(Default)]
pub(crate) struct Choices {
    chosen: Mutex<BTreeMap<String, Algorithm>>,
}

impl Choices {
    /// What a product's choice is kept under: everything that the library's kernel depends on.
    pub(super) fn name(device: &str, version: usize, p: &Product) -> String {
        // What comes before and after the product is not the library's.
        let p = Product { made: 0, after: false, ..*p };
        format!("cublaslt {version} {device}: {p:?}")
    }

    fn key(name: &str) -> Key {
        Key::of(&[b"choice", name.as_bytes()])
    }

    /// The choice of before, if there is one.
    pub(super) fn find(&self, name: &str) -> Option<Algorithm> {
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(algorithm) = chosen.get(name) {
            return Some(*algorithm);
        }
        let algorithm = Algorithm::from_bytes(&KernelCache::shared().get(Choices::key(name))?)?;
        chosen.insert(name.to_owned(), algorithm);
        Some(algorithm)
    }

    pub(super) fn keep(&self, name: &str, algorithm: Algorithm) {
        KernelCache::shared().put(Choices::key(name), &algorithm.to_bytes());
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), algorithm);
    }

    pub(super) fn forget(&self, name: &str) {
        KernelCache::shared().remove(Choices::key(name));
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// All choices: names, and algorithms as hexadecimal digits.
    pub(crate) fn export(&self) -> Vec<(String, String)> {
        let digits = |algorithm: &Algorithm| algorithm.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        chosen.iter().map(|(name, algorithm)| (name.clone(), digits(algorithm))).collect()
    }

    /// Takes choices over for products that are prepared from now on; what is none is left out.
    pub(crate) fn import(&self, choices: &[(String, String)]) {
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, digits) in choices {
            let bytes: Option<Vec<u8>> =
                (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()).collect();
            if let Some(algorithm) = bytes.and_then(|bytes| Algorithm::from_bytes(&bytes)) {
                chosen.insert(name.clone(), algorithm);
            }
        }
    }
}

impl Algorithm {
    fn to_bytes(self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Algorithm> {
        let mut words = [0; 8];
        if bytes.len() != size_of_val(&words) {
            return None;
        }
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().ok()?);
        }
        Some(Algorithm(words))
    }
}

/// An event that is timed.
struct Event(sys::CUevent);

impl Event {
    fn new(stream: sys::CUstream) -> Result<Event, Failure> {
        let mut event = std::ptr::null_mut();
        // SAFETY: pointer to a local; the context is current, as the caller of a library's work makes it.
        Failure::check("event", unsafe { sys::cuEventCreate(&mut event, 0) })?;
        let event = Event(event);
        // SAFETY: an event and a stream of one context.
        Failure::check("event", unsafe { sys::cuEventRecord(event.0, stream) })?;
        Ok(event)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once.
        unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// Runs each of so many candidates on the stream, and gives the fastest; waits for the stream. A candidate that is refused counts no more, and the error
/// is the first that is no refusal.
pub(super) fn fastest(n: usize, stream: sys::CUstream, mut run: impl FnMut(usize) -> bool) -> Result<Option<usize>, Failure> {
    let mut timed = Vec::with_capacity(n);
    for candidate in 0..n {
        if !run(candidate) {
            continue;
        }
        let begin = Event::new(stream)?;
        if (0..RUNS).all(|_| run(candidate)) {
            timed.push((candidate, begin, Event::new(stream)?));
        }
    }
    let Some((.., last)) = timed.last() else { return Ok(None) };
    // SAFETY: an event that is recorded.
    Failure::check("event", unsafe { sys::cuEventSynchronize(last.0) })?;
    let mut best: Option<(usize, f64)> = None;
    for (candidate, begin, end) in &timed {
        let time = f64::from(api::event_elapsed_ms(begin.0, end.0)?);
        if best.is_none_or(|(first, least)| time < if first == 0 { least * GAIN } else { least }) {
            best = Some((*candidate, time));
        }
    }
    Ok(best.map(|(candidate, _)| candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_were_written() {
        let choices = Choices::default();
        let algorithm = Algorithm([1, u64::MAX, 3, 0, 5, 6, 7, 8]);
        choices.chosen.lock().unwrap().insert("a".to_owned(), algorithm);
        let saved = choices.export();
        let other = Choices::default();
        other.import(&saved);
        assert_eq!(other.export(), saved);
        // What was damaged is no choice.
        let third = Choices::default();
        let damaged = |digits: &str| ("b".to_owned(), digits.to_owned());
        third.import(&[
            damaged(""),
            damaged("0"),
            damaged("zz"),
            damaged(&"0".repeat(127)),
            damaged(&"é".repeat(64)),
            damaged(&"0".repeat(130)),
        ]);
        assert_eq!(third.export(), []);
    }
}
