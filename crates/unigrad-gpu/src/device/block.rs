//! Parameter blocks: what differs from run to run, in memory of the device.
//!
//! In: the words of a launch, or of all launches of a sequence. Out: the same words where the programs' block parameters point to.
//! Always: one block a queue, which all its launches share; they run in order, so it is filled before the programs that read it and after those
//! that read what was there. Words that are there already are not written again: a run with the scalars of the last one writes nothing.
//! Filling allocates nothing but the first time. Where a launch passes tables of numbers, a program copies the words from its own parameters, so that
//! the driver keeps them until it runs, as page-locked memory and an event for each run would, and a replayed graph changes one node. Elsewhere
//! it is one write of the queue.
//! Never: waits.
//!
//! A driver chooses blocks by `Target::scalars_in_block`. They cost a launch a run and a load a program, and save what it takes to change a program's
//! parameters: nothing where each launch passes them anyway. So they are for what is launched as it is, many times: replayed graphs.
//! Metal, OpenCL and WebGPU pass scalars by value with each launch.

use super::{GpuDevice, lock};
use crate::{Backend, BlockWord, Bound, Lowered, ProgramArg, Range};
use std::sync::{Arc, MutexGuard};
use unigrad_device::Error;
use unigrad_ir::{Builder, Program};
use unigrad_scalar::DType;

/// A queue's block, for filling.
pub(super) type Filling<'a, B> = MutexGuard<'a, Block<B>>;

/// Words that a launch of a filling program writes: the smallest that is enough is taken.
const SIZES: [usize; 3] = [16, 128, 896];
/// Bytes behind a block: a filling program writes its whole size, wherever it begins.
const BEYOND: usize = 4 * SIZES[SIZES.len() - 1];
/// What programs' parts begin at multiples of, in words: where every backend can begin.
const ALIGNMENT: usize = 16;

/// A queue's block.
pub(crate) struct Block<B: Backend> {
    handle: Option<u64>,
    bytes: usize,
    /// What is there, from the beginning on, as far as it is known.
    filled: Vec<u32>,
    /// Per size, the program.
    programs: [Option<Arc<B::Module>>; SIZES.len()],
    /// For the next launch of each: the range, and the words.
    args: [Vec<Bound>; SIZES.len()],
    /// For the next write.
    staged: Vec<u8>,
}

impl<B: Backend> Default for Block<B> {
    fn default() -> Block<B> {
        let args = SIZES.map(|size| vec![Bound::ScalarTable(DType::U32, vec![0; size]), Bound::Buffer(super::NOTHING)]);
        Block { handle: None, bytes: 0, filled: Vec::new(), programs: Default::default(), args, staged: Vec::new() }
    }
}

impl<B: Backend> Block<B> {
    /// Its memory; 0 if there is none.
    pub(super) fn handle(&self) -> u64 {
        self.handle.unwrap_or(0)
    }

    /// Its memory, which it has no more.
    pub(super) fn take(&mut self) -> Option<(u64, usize)> {
        self.filled.clear();
        let bytes = std::mem::take(&mut self.bytes) + BEYOND;
        Some((self.handle.take()?, bytes))
    }
}

/// Where the steps' parts begin in a launch's words, and these words; what is between parts is 0.
pub(super) fn lay_out(lowered: &Lowered) -> (Vec<usize>, Vec<Option<BlockWord>>) {
    let (mut starts, mut all) = (Vec::with_capacity(lowered.steps.len()), Vec::new());
    for step in &lowered.steps {
        starts.push(all.len());
        for arg in &step.args {
            if let ProgramArg::Block(words) = arg {
                all.extend(words.iter().copied().map(Some));
                all.resize(all.len().next_multiple_of(ALIGNMENT), None);
            }
        }
    }
    (starts, all)
}

/// Where a block parameter's words begin, of a step whose words begin at `start`, behind those of the parameters before it.
pub(super) fn behind(start: usize, before: &[ProgramArg]) -> usize {
    let words = before.iter().map(|arg| if let ProgramArg::Block(words) = arg { words.len() } else { 0 });
    start + words.map(|words| words.next_multiple_of(ALIGNMENT)).sum::<usize>()
}

/// A step's part of a block, which begins at a word.
pub(super) fn part(handle: u64, first: usize, words: &[BlockWord]) -> Range {
    Range { handle, offset: 4 * first, len: 4 * words.len() }
}

/// Copies `size` words from its parameters.
fn program(size: usize) -> (Program, u32) {
    let threads = size.min(128) as u32;
    let mut b = Builder::new("fill_block", [threads, 1, 1]);
    let table = b.scalar_table("words", DType::U32, size as u32);
    let block = b.buffer_mut("block", DType::U32);
    let (group, thread) = (b.group(0), b.thread(0));
    let first = b.mul_const(group, threads.into());
    let at = b.add(first, thread);
    let word = b.table_scalar(table, at);
    b.store(block, at, word);
    (b.finish(), size as u32 / threads)
}

impl<B: Backend> GpuDevice<B> {
    /// The queue's block, at least `bytes` long.
    pub(super) fn block(&self, bytes: usize) -> Result<Filling<'_, B>, Error> {
        let mut block = lock(&self.block);
        if block.bytes < bytes {
            if let Some((old, bytes)) = block.take() {
                self.free_own(old, bytes);
            }
            let most = bytes.next_power_of_two();
            block.handle = Some(self.allocate_own(most + BEYOND)?);
            block.bytes = most;
        }
        Ok(block)
    }

    /// Has the words written to the block before what is launched next.
    pub(super) fn fill(&self, block: &mut Block<B>, words: &[u32]) -> Result<(), Error> {
        let Some(handle) = block.handle.filter(|_| block.filled.get(..words.len()) != Some(words)) else { return Ok(()) };
        // Unknown from here on, if a launch fails.
        let mut filled = std::mem::take(&mut block.filled);
        if self.target.tables && self.target.indexes_tables() {
            self.fill_by_programs(block, handle, words)?;
        } else {
            block.staged.clear();
            block.staged.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            self.backend.upload(&block.staged, Range { handle, offset: 0, len: block.staged.len() })?;
        }
        filled.clear();
        filled.extend_from_slice(words);
        block.filled = filled;
        Ok(())
    }

    fn fill_by_programs(&self, block: &mut Block<B>, handle: u64, words: &[u32]) -> Result<(), Error> {
        let mut first = 0;
        while first < words.len() {
            let rest = &words[first..];
            let which = SIZES.iter().position(|size| *size >= rest.len()).unwrap_or(SIZES.len() - 1);
            let size = SIZES[which];
            let (module, grid) = match &block.programs[which] {
                Some(module) => (Arc::clone(module), size as u32 / size.min(128) as u32),
                None => {
                    let (program, grid) = program(size);
                    (Arc::clone(block.programs[which].insert(self.module(&program)?)), grid)
                }
            };
            let args = &mut block.args[which];
            for arg in args.iter_mut() {
                match arg {
                    // What lies behind the words is unused.
                    Bound::ScalarTable(_, raws) => raws.iter_mut().zip(rest).for_each(|(raw, word)| *raw = (*word).into()),
                    Bound::Buffer(range) => *range = Range { handle, offset: 4 * first, len: 4 * size },
                    Bound::Scalar(..) | Bound::Table(_) => {}
                }
            }
            self.backend.launch(&module, [grid, 1, 1], args)?;
            first += size;
        }
        Ok(())
    }
}
