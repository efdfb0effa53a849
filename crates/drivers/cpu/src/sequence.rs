//! Sequences: launches whose arguments are known but for where their memory begins.
//!
//! In: launches, and per run a table of memory. Out: their results, or which launch stopped, and why.
//! Always: what a kernel needs of each entry of the table is checked once per run, before the first launch; a launch then only adds offsets.
//! Never: allocates per launch, or holds a lock.

mod kept;

use crate::{
    driver::{CpuProgram, NAME, bytes_of},
    memory::{Buf, NOWHERE},
};
use kept::Kept;
use std::{any::Any, sync::Arc};
use unigrad_device::{Error, Launch, Prepared, Ran, Run, Slice, Stopped};
use unigrad_scalar::DType;

/// An argument of a launch.
struct Argument {
    entry: usize,
    offset: usize,
    /// Elements.
    len: usize,
    dtype: DType,
    write: bool,
}

impl Argument {
    /// Its bytes in the entry.
    fn bytes(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.len * self.dtype.size()
    }
}

struct PreparedLaunch {
    program: Arc<dyn unigrad_device::Executable>,
    args: Vec<Argument>,
    scalars: Vec<usize>,
}

/// Launches that are prepared.
struct Steps {
    steps: Vec<PreparedLaunch>,
    /// Bytes that each entry of a table has at least, and what its address is a multiple of.
    needs: Vec<(usize, usize)>,
    n_words: usize,
    /// The most arguments and scalars that one launch has.
    most_args: usize,
    most_words: usize,
    /// Operands that many launches have, and that none of them changes.
    kept: Kept,
}

fn misfit(kernel: &str, cause: String) -> Error {
    Error::Launch { device: NAME.to_owned(), kernel: kernel.to_owned(), cause }
}

/// The program of a launch, if it was compiled here.
fn own(program: &dyn unigrad_device::Executable) -> Result<&CpuProgram, Error> {
    let program = program.as_any().downcast_ref::<CpuProgram>();
    program.ok_or_else(|| misfit("sequence", "a program was compiled for another driver".to_owned()))
}

pub(crate) fn prepare(launches: &[Launch]) -> Result<Prepared, Error> {
    let mut needs: Vec<(usize, usize)> = Vec::new();
    let mut steps = Vec::with_capacity(launches.len());
    for launch in launches {
        let program = own(&*launch.program)?;
        let fail = |cause: String| misfit(program.name(), cause);
        program.check_counts(launch.args.len(), launch.scalars.len()).map_err(fail)?;
        let mut args = Vec::with_capacity(launch.args.len());
        for (i, (at, arg)) in launch.args.iter().zip(program.args()).enumerate() {
            let larger = || fail(format!("argument {i} is larger than memory"));
            let bytes = arg.len.checked_mul(arg.dtype.size()).ok_or_else(larger)?;
            if at.len < bytes {
                return Err(fail(format!("argument {i} has {} bytes, not the {bytes} of {} {}", at.len, arg.len, arg.dtype)));
            }
            if !at.offset.is_multiple_of(64) {
                return Err(fail(format!("argument {i} starts at byte {}, not a multiple of 64", at.offset)));
            }
            let end = at.offset.checked_add(bytes).ok_or_else(larger)?;
            if needs.len() <= at.entry {
                needs.resize(at.entry + 1, (0, 1));
            }
            let (bytes, align) = needs[at.entry];
            needs[at.entry] = (bytes.max(end), align.max(arg.dtype.size()));
            args.push(Argument { entry: at.entry, offset: at.offset, len: arg.len, dtype: arg.dtype, write: arg.write });
        }
        steps.push(PreparedLaunch { program: Arc::clone(&launch.program), args, scalars: launch.scalars.clone() });
    }
    let n_words = steps.iter().flat_map(|step| &step.scalars).fold(0, |most, word| most.max(word + 1));
    let most_args = steps.iter().map(|step| step.args.len()).max().unwrap_or(0);
    let most_words = steps.iter().map(|step| step.scalars.len()).max().unwrap_or(0);
    let kept = Kept::find(&steps);
    Ok(Box::new(Steps { steps, needs, n_words, most_args, most_words, kept }))
}

/// Where an entry of a table begins, if it has so many bytes and lies as its elements ask for.
fn base(slice: &Slice<'_>, needs: usize, align: usize) -> Option<*mut u8> {
    let start = bytes_of(slice)?;
    (slice.len >= needs && (start as usize).is_multiple_of(align)).then_some(start)
}

pub(crate) fn run(run: &Run<'_>) -> Result<Ran, Stopped> {
    let stopped = |at: usize| move |error| Stopped { at, error };
    let first = run.which.start;
    let Some(steps) = (run.prepared as &dyn Any).downcast_ref::<Steps>() else {
        return Err(stopped(first)(misfit("sequence", "it was prepared for another driver".to_owned())));
    };
    let mut bases = Vec::with_capacity(steps.needs.len());
    for (entry, (needs, align)) in steps.needs.iter().enumerate() {
        let base = run.table.get(entry).and_then(|slice| base(slice, *needs, *align));
        let misses = || misfit("sequence", format!("entry {entry} of the table does not have the {needs} bytes that are used of it"));
        bases.push(base.ok_or_else(misses).map_err(stopped(first))?);
    }
    if run.which.end > steps.steps.len() || run.scalars.len() < steps.n_words {
        return Err(stopped(first)(misfit("sequence", "the run has other launches or scalars than were prepared".to_owned())));
    }
    let mut bufs: Vec<Buf> = Vec::with_capacity(steps.most_args);
    let mut words: Vec<u64> = Vec::with_capacity(steps.most_words);
    let mut kept = steps.kept.begin(&bases);
    for at in run.which.clone() {
        let step = &steps.steps[at];
        bufs.clear();
        for arg in &step.args {
            // SAFETY: the entry has `needs` bytes from its base on, and what is read of an argument ends before; an empty one is nowhere.
            let ptr = if arg.len == 0 { NOWHERE } else { unsafe { bases[arg.entry].add(arg.offset) } };
            bufs.push(Buf { ptr, len: arg.len, dtype: arg.dtype });
        }
        words.clear();
        words.extend(step.scalars.iter().map(|word| run.scalars[*word]));
        // SAFETY: order, number, length and dtype are the program's own (`prepare`), and the caller gives each launch its outputs alone. What is kept
        // was packed in this run, and no launch since has written to what it was packed from (`kept`).
        let launched = own(&*step.program).and_then(|program| unsafe {
            match kept.of(at) {
                Some((panels, packs)) => program.launch_with(&bufs, &words, panels, packs),
                None => program.launch(&bufs, &words),
            }
        });
        launched.map_err(stopped(at))?;
    }
    Ok(Ran::default())
}
