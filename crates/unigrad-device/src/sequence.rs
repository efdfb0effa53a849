//! Sequences: launches that are prepared once and run together, many times, by one call.
//!
//! In: programs, and where their arguments are in a table of memory that each run brings. Out: the same as from launching one after the other.
//! Always: what stays the same between runs is worked out when the sequence is prepared. A run checks its table once, orders itself once against
//! other streams, and says which launch it stopped at.
//! Never: keeps memory of a run; a sequence may be run by several threads at once, on several streams.

use crate::{Device, Error, Executable, OpenDevice, Origin, Slice};
use std::{any::Any, fmt, ops::Range, sync::Arc};

/// Memory of a run: part of an entry of its table, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Which entry.
    pub entry: usize,
    /// First byte in the entry; a multiple of 64.
    pub offset: usize,
    /// Bytes, or `usize::MAX` for all that follow.
    pub len: usize,
}

impl At {
    /// All of an entry.
    pub fn whole(entry: usize) -> At {
        At { entry, offset: 0, len: usize::MAX }
    }

    /// The memory in this table; `None` where the table has none.
    pub fn find<'a>(&self, table: &[Slice<'a>]) -> Option<Slice<'a>> {
        let entry = table.get(self.entry)?;
        let rest = entry.len.checked_sub(self.offset)?;
        let len = if self.len == usize::MAX { rest } else { self.len };
        (len <= rest).then_some(Slice { buffer: entry.buffer, offset: entry.offset + self.offset, len })
    }
}

/// A launch of a sequence.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What runs.
    pub program: Arc<dyn Executable>,
    /// One per argument of the kernel.
    pub args: Vec<At>,
    /// Which of the run's words each scalar of the kernel is.
    pub scalars: Vec<usize>,
    /// Memory that it is the first to write: what is there before has no owner any more.
    pub begins: Vec<At>,
    /// What errors that surface later say of it.
    pub origin: Option<Origin>,
}

impl Launch {
    /// Of the first `args` entries of a table, whole, with the first `scalars` words of a run.
    pub fn whole(program: Arc<dyn Executable>, args: usize, scalars: usize) -> Launch {
        Launch { program, args: (0..args).map(At::whole).collect(), scalars: (0..scalars).collect(), begins: Vec::new(), origin: None }
    }
}

/// What a driver keeps for a sequence; see [`crate::Sequences::prepare`].
pub type Prepared = Box<dyn Any + Send + Sync>;

/// Launches that are prepared.
pub struct Sequence {
    device: Device,
    launches: Vec<Launch>,
    /// Per entry of a table, the bytes that it must have, and whether a launch writes it.
    entries: Vec<(usize, bool)>,
    n_words: usize,
    prepared: Prepared,
}

/// A run of some launches of a sequence, as a driver gets it.
#[derive(Clone)]
pub struct Run<'a> {
    /// What [`crate::Sequences::prepare`] gave.
    pub prepared: &'a (dyn Any + Send + Sync),
    /// All launches of the sequence.
    pub launches: &'a [Launch],
    /// Those to run.
    pub which: Range<usize>,
    /// Memory: every [`At`] lies in it.
    pub table: &'a [Slice<'a>],
    /// Raw words of the scalars.
    pub scalars: &'a [u64],
}

/// How a run was queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// As a replay of what the driver had kept, by one call.
    pub replayed: bool,
    /// Launches of what the driver had kept that were given other arguments first.
    pub changed: usize,
}

/// A run that came to no end.
#[derive(Debug)]
pub struct Stopped {
    /// The launch that failed. Those before it are done, or queued; it may be run again from here where the error allows it.
    pub at: usize,
    /// Why.
    pub error: Error,
}

impl Run<'_> {
    /// Whether all launches are run.
    pub fn is_whole(&self) -> bool {
        self.which == (0..self.launches.len())
    }

    /// The same run of other launches.
    pub fn of(&self, which: Range<usize>) -> Run<'_> {
        Run { which, ..self.clone() }
    }

    /// Launches one after the other: what a driver without sequences does.
    pub fn one_by_one<D: OpenDevice + ?Sized>(&self, device: &D) -> Result<Ran, Stopped> {
        let mut args: Vec<Slice<'_>> = Vec::new();
        let mut words: Vec<u64> = Vec::new();
        for at in self.which.clone() {
            self.launch(device, at, &mut args, &mut words).map_err(|error| Stopped { at, error })?;
        }
        Ok(Ran::default())
    }

    fn launch<'a, D: OpenDevice + ?Sized>(
        &'a self,
        device: &D,
        at: usize,
        args: &mut Vec<Slice<'a>>,
        words: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let launch = self.launches.get(at).ok_or_else(|| device.info().misfit("the sequence has no such launch"))?;
        let missing = || device.info().misfit("an argument lies outside of its memory");
        args.clear();
        words.clear();
        for place in &launch.begins {
            device.settle(place.find(self.table).ok_or_else(missing)?);
        }
        for place in &launch.args {
            args.push(place.find(self.table).ok_or_else(missing)?);
        }
        for word in &launch.scalars {
            words.push(*self.scalars.get(*word).ok_or_else(missing)?);
        }
        device.launch(&*launch.program, args, words, launch.origin)
    }
}

impl crate::Info {
    /// An error of a run that does not fit its sequence.
    fn misfit(&self, cause: &str) -> Error {
        Error::Launch { device: self.device(), kernel: "sequence".to_owned(), cause: cause.to_owned() }
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sequence({}, {} launches)", self.device, self.launches.len())
    }
}

impl Sequence {
    /// How many launches it has.
    pub fn len(&self) -> usize {
        self.launches.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
    }

    /// The launches.
    pub fn launches(&self) -> &[Launch] {
        &self.launches
    }
}

impl Device {
    /// Prepares launches that are run together many times. `temporary` is an entry of the table whose contents are not asked for between runs: every
    /// launch reads there only what this run has written.
    pub fn prepare(self, launches: Vec<Launch>, temporary: Option<usize>) -> Result<Sequence, Error> {
        self.here()?;
        let mut entries: Vec<(usize, bool)> = Vec::new();
        let mut n_words = 0;
        for launch in &launches {
            let args = launch.args.iter().enumerate().map(|(arg, at)| (at, launch.program.writes(arg)));
            for (at, writes) in args.chain(launch.begins.iter().map(|at| (at, false))) {
                let end = if at.len == usize::MAX { Some(at.offset) } else { at.offset.checked_add(at.len) };
                let end = end.ok_or_else(|| self.info().misfit("an argument is larger than memory"))?;
                if entries.len() <= at.entry {
                    entries.resize(at.entry + 1, (0, false));
                }
                let entry = &mut entries[at.entry];
                *entry = (entry.0.max(end), entry.1 || writes);
            }
            n_words = launch.scalars.iter().fold(n_words, |most, word| most.max(word + 1));
        }
        let prepared = self.note(self.inner().open.prepare(&launches, temporary))?;
        Ok(Sequence { device: self, launches, entries, n_words, prepared })
    }

    /// Gets the memory of the driver's own that a run of the sequence takes; see [`OpenDevice::reserve`].
    pub fn reserve_for(self, sequence: &Sequence) -> Result<(), Error> {
        let open = self.driver();
        let reserve = || open.reserve_for(&*sequence.prepared, &sequence.launches);
        let mut result = reserve();
        if matches!(&result, Err(Error::OutOfMemory { .. })) && self.clear_cache() > 0 {
            result = reserve();
        }
        self.note(result)
    }

    /// Runs launches of a sequence, with the memory in `table` and the scalars' raw words. May return before the work is done. Tells after which
    /// launch it stopped, if it did.
    pub fn run(self, sequence: &Sequence, which: Range<usize>, table: &[Slice<'_>], scalars: &[u64]) -> Result<(), Stopped> {
        let stopped = |error| Stopped { at: which.start, error };
        self.here().map_err(stopped)?;
        let fits = sequence.device == self
            && which.end <= sequence.launches.len()
            && table.len() >= sequence.entries.len()
            && scalars.len() >= sequence.n_words
            && table.iter().zip(&sequence.entries).all(|(slice, (bytes, _))| slice.len >= *bytes);
        if !fits {
            return Err(stopped(self.info().misfit("the run does not fit the sequence that was prepared")));
        }
        let mut run = Run { prepared: &*sequence.prepared, launches: &sequence.launches, which: which.clone(), table, scalars };
        let uses = || table.iter().zip(&sequence.entries).map(|(slice, (_, writes))| (slice.buffer.handle, *writes)).collect();
        let mut cleared_at = None;
        loop {
            let from = run.which.start;
            let result = match self.inner().ordered(uses, |open| Ok(open.run(&run))) {
                Ok(result) => result,
                Err(error) => Err(Stopped { at: from, error }),
            };
            self.count_launches(result.as_ref().map_or_else(|stopped| stopped.at + 1 - from, |_| run.which.len()));
            match result {
                // Memory of the driver's own, between a kernel's steps, is not from the pool; nothing of that launch is queued when it is refused.
                Err(Stopped { at, error: Error::OutOfMemory { asked: 1.., .. } }) if cleared_at != Some(at) && self.clear_cache() > 0 => {
                    cleared_at = Some(at);
                    run.which.start = at;
                }
                Err(Stopped { at, error }) => return self.note(Err(error)).map_err(|error| Stopped { at, error }),
                Ok(ran) => {
                    self.count_replay(ran);
                    return Ok(());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Driver, RawBuffer,
        testing::{Failure, Faults, FaultyDriver, NullDriver, Operation},
    };
    use std::sync::Mutex;

    #[derive(Debug)]
    struct Seen;

    impl Executable for Seen {
        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    fn launch(args: Vec<At>, scalars: Vec<usize>) -> Launch {
        Launch { program: Arc::new(Seen), args, scalars, begins: Vec::new(), origin: None }
    }

    #[test]
    fn parts_of_entries_lie_in_them() {
        let raw = RawBuffer { handle: 7, bytes: 1024 };
        let table = [Slice { buffer: &raw, offset: 0, len: 256 }, Slice { buffer: &raw, offset: 256, len: 128 }];
        let find = |entry, offset, len| At { entry, offset, len }.find(&table).map(|slice| (slice.offset, slice.len));
        assert_eq!(find(0, 64, 64), Some((64, 64)));
        assert_eq!(find(1, 64, usize::MAX), Some((320, 64)));
        assert_eq!(find(1, 128, usize::MAX), Some((384, 0)));
        assert_eq!((find(1, 64, 65), find(1, 192, 0), find(2, 0, 0)), (None, None, None));
    }

    #[test]
    fn a_fault_strikes_at_each_launch_of_a_sequence() {
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = ALONE.lock();
        let faults = Faults::default();
        let driver = FaultyDriver::new("sequences", NullDriver::default(), faults.clone());
        let device = Device::leak(900, "sequences:0".to_owned(), driver.open(0).unwrap());
        let sequence = device.prepare((0..5).map(|i| launch(vec![At::whole(0)], vec![i])).collect(), None).unwrap();
        let buffer = device.allocate(256).unwrap();
        let table = [buffer.as_slice()];
        let run = |which| device.run(&sequence, which, &table, &[0; 5]);
        for at in 0..5 {
            for failure in [Failure::Refused, Failure::NoMemory] {
                faults.fail(Operation::Launch, at, failure);
                assert_eq!(run(0..5).expect_err("a fault").at, at, "{failure:?}");
                run(at..5).unwrap();
            }
        }
        let before = device.counters().launches;
        run(0..5).unwrap();
        assert_eq!(device.counters().launches - before, 5);
        // Runs that do not fit.
        assert!(device.run(&sequence, 0..5, &[], &[0; 5]).is_err());
        assert!(device.run(&sequence, 0..5, &table, &[0; 4]).is_err());
        assert!(device.run(&sequence, 0..6, &table, &[0; 5]).is_err());
    }
}
