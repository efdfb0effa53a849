//! Memory as a table of host allocations, launches run at once.

use crate::{
    attention, attention_grad, convolutions, norms,
    products::{self, Bytes},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unigrad_device::{Abilities, Error, Info, MappedMemory, MappedWords};
use unigrad_gpu::{Backend, Bound, Library, Offer, Range, Replays, Taken, Work};
use unigrad_ir::{
    Program, Target,
    interpret::{Argument, Interpreter, Options, Span},
    parse,
};
use unigrad_kernel::Kernel;

/// What fresh memory holds: NaN in every float type, -1 in every signed one.
const FRESH: u8 = 0xff;
/// Bytes that a device has. Nothing that is interpreted needs more, and a test that asks for more shall be refused rather than fill the machine.
const TOTAL: u64 = 4 << 30;

/// One device: its memory and what its programs may use.
#[derive(Debug)]
pub struct InterpreterBackend {
    ordinal: usize,
    name: &'static str,
    target: Target,
    memory: Arc<Mutex<Memory>>,
}

#[derive(Debug, Default)]
struct Memory {
    /// By handle - 1; empty where freed.
    allocations: Vec<Vec<u8>>,
    /// Positions of freed ones.
    free: Vec<usize>,
    in_use: u64,
}

pub(crate) fn info(ordinal: usize, name: &str, in_use: u64) -> Info {
    Info {
        backend: super::BACKEND,
        ordinal,
        name: name.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        memory_total: TOTAL,
        memory_free: TOTAL.saturating_sub(in_use),
        compute_units: 1,
        software: true,
        rank: 2000,
        ..Info::default()
    }
}

impl InterpreterBackend {
    /// A device whose programs are lowered for `target`.
    pub fn new(ordinal: usize, name: &'static str, target: Target) -> InterpreterBackend {
        InterpreterBackend { ordinal, name, target, memory: Arc::default() }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn device(&self) -> String {
        format!("{}:{}", super::BACKEND, self.ordinal)
    }

    fn copy_error(&self, range: Range) -> Error {
        Error::Copy { device: self.device(), cause: format!("{} bytes at {} leave their buffer", range.len, range.offset) }
    }
}

impl Memory {
    fn release(&mut self, handle: u64) {
        let at = (handle as usize).wrapping_sub(1);
        let Some(block) = self.allocations.get_mut(at).filter(|block| !block.is_empty()) else { return };
        let bytes = std::mem::take(block).len() as u64;
        self.in_use -= bytes;
        self.free.push(at);
    }
}

impl Bytes for Memory {
    fn bytes(&mut self, range: Range) -> Option<&mut [u8]> {
        if range.len == 0 {
            return Some(&mut []);
        }
        let at = usize::try_from(range.handle).ok()?.checked_sub(1)?;
        self.allocations.get_mut(at)?.get_mut(range.offset..range.offset.checked_add(range.len)?)
    }
}

/// A range as the interpreter names it. An empty one is in bounds wherever it is.
fn span(range: &Range) -> Span {
    Span { allocation: (range.handle as usize).wrapping_sub(1), offset: range.offset, len: range.len }
}

impl Abilities for InterpreterBackend {
    fn mapped_memory(&self) -> Option<&dyn MappedMemory> {
        Some(self)
    }
}

/// Words in a buffer, which is the host's memory anyway.
#[derive(Debug)]
struct Words {
    memory: Arc<Mutex<Memory>>,
    range: Range,
}

impl Words {
    /// Does something with each of `count` words from `first` on.
    fn each(&self, first: usize, count: usize, mut work: impl FnMut(usize, &mut [u8])) -> bool {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(words) = memory.bytes(self.range).and_then(|bytes| bytes.get_mut(4 * first..4 * (first + count))) else { return false };
        words.chunks_exact_mut(4).enumerate().for_each(|(at, word)| work(at, word));
        true
    }
}

impl MappedWords for Words {
    fn range(&self) -> Range {
        self.range
    }

    fn read(&self, first: usize, words: &mut [u32]) -> bool {
        self.each(first, words.len(), |at, word| words[at] = u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }

    fn write(&self, first: usize, words: &[u32]) -> bool {
        self.each(first, words.len(), |at, word| word.copy_from_slice(&words[at].to_le_bytes()))
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).release(self.range.handle);
    }
}

impl MappedMemory for InterpreterBackend {
    fn map(&self, words: usize) -> Result<Arc<dyn MappedWords>, Error> {
        let range = Range { handle: self.allocate(4 * words)?, offset: 0, len: 4 * words };
        let mapped = Words { memory: Arc::clone(&self.memory), range };
        mapped.each(0, words, |_, word| word.fill(0));
        Ok(Arc::new(mapped))
    }
}

impl Backend for InterpreterBackend {
    type Module = Interpreter;

    fn info(&self) -> Info {
        info(self.ordinal, self.name, self.memory().in_use)
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        let mut memory = self.memory();
        let mut block = Vec::new();
        if memory.in_use.saturating_add(bytes as u64) > TOTAL || block.try_reserve_exact(bytes).is_err() {
            return Err(Error::OutOfMemory {
                device: self.device(),
                asked: bytes as u64,
                free: TOTAL.saturating_sub(memory.in_use),
                total: TOTAL,
                in_use: memory.in_use,
                largest: String::new(),
            });
        }
        block.resize(bytes, FRESH);
        memory.in_use += bytes as u64;
        let at = memory.free.pop().unwrap_or(memory.allocations.len());
        match memory.allocations.get_mut(at) {
            Some(place) => *place = block,
            None => memory.allocations.push(block),
        }
        Ok(at as u64 + 1)
    }

    fn free(&self, handle: u64) {
        self.memory().release(handle);
    }

    fn upload(&self, data: &[u8], to: Range) -> Result<(), Error> {
        let mut memory = self.memory();
        let target = memory.bytes(to).filter(|target| target.len() == data.len()).ok_or_else(|| self.copy_error(to))?;
        target.copy_from_slice(data);
        Ok(())
    }

    fn download(&self, from: Range, data: &mut [u8]) -> Result<(), Error> {
        let mut memory = self.memory();
        let source = memory.bytes(from).filter(|source| source.len() == data.len()).ok_or_else(|| self.copy_error(from))?;
        data.copy_from_slice(source);
        Ok(())
    }

    fn copy(&self, from: Range, to: Range) -> Result<(), Error> {
        let mut memory = self.memory();
        let data = memory.bytes(from).ok_or_else(|| self.copy_error(from))?.to_vec();
        let target = memory.bytes(to).filter(|target| target.len() == data.len()).ok_or_else(|| self.copy_error(to))?;
        target.copy_from_slice(&data);
        Ok(())
    }

    fn load(&self, program: &Program) -> Result<Interpreter, Error> {
        let refuse = |cause: String| Error::Compile { device: self.device(), kernel: program.name.clone(), cause };
        // Dumps and bug reports are text: it must be the program.
        let text = program.to_string();
        let read = parse(&text).map_err(|error| refuse(format!("its text form does not parse: {error}\n{text}")))?;
        if read.program.to_string() != text {
            return Err(refuse(format!("its text form reads back as another program:\n{text}\n{}", read.program)));
        }
        Interpreter::new(program, &self.target)
            .map_err(|errors| refuse(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
    }

    fn launch(&self, module: &Interpreter, grid: [u32; 3], args: &[Bound]) -> Result<(), Error> {
        let arguments: Vec<Argument> = args
            .iter()
            .map(|bound| match bound {
                Bound::Buffer(range) => Argument::Buffer(span(range)),
                Bound::Scalar(_, raw) => Argument::Scalar(*raw),
                Bound::Table(ranges) => Argument::Table(ranges.iter().map(span).collect()),
                Bound::ScalarTable(_, raws) => Argument::ScalarTable(raws.clone()),
            })
            .collect();
        let refuse = |cause: String| Error::Launch { device: self.device(), kernel: module.program().name.clone(), cause };
        if let Some((axis, most)) = (0..3).map(|axis| (axis, self.target.max_grid[axis])).find(|(axis, most)| grid[*axis] > *most) {
            return Err(refuse(format!("a grid of {grid:?} groups: axis {axis} takes {most} at most")));
        }
        let mut memory = self.memory();
        module.run(grid, &mut memory.allocations, &arguments, Options::default()).map_err(|fault| refuse(fault.to_string()))
    }

    fn library(&self) -> Option<Library> {
        Some(products::LIBRARY)
    }

    fn take(&self, offer: &Offer<'_>) -> Option<Taken> {
        products::take(offer)
    }

    fn perform(&self, _: &Taken, work: &Work<'_>, workspace: Range) -> Result<bool, Error> {
        let (kernel, done) = match work {
            Work::Product(product, operands) => ("contract", products::multiply(&mut *self.memory(), product, operands, workspace)),
            Work::Convolution(convolution, operands) => {
                ("convolution", convolutions::convolve(&mut *self.memory(), convolution, operands, workspace))
            }
            Work::Norm(norm, operands) => ("norm", norms::normalize(&mut *self.memory(), norm, operands, workspace)),
            Work::Kernel(Kernel::AttentionGrad(kernel), args, scalars) => {
                ("attention.grad", attention_grad::differentiate(&mut *self.memory(), kernel, args, scalars, workspace))
            }
            Work::Kernel(Kernel::Attention(kernel), args, scalars) => {
                ("attention", attention::attend(&mut *self.memory(), kernel, args, scalars, workspace))
            }
            Work::Kernel(..) => return Ok(false),
        };
        done.ok_or_else(|| Error::Launch {
            device: self.device(),
            kernel: kernel.to_owned(),
            cause: "an element leaves its buffer".to_owned(),
        })
    }

    fn replays(&self) -> Option<&dyn Replays<Interpreter>> {
        Some(self)
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}
