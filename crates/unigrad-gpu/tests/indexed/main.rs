//! Lowered kernels in the interpreter against the CPU driver, which has tests of its own: random shapes and dtypes, and targets that lack
//! one thing or another. The interpreter reports races, accesses out of bounds and reads of what no thread wrote.

mod attention;
mod compile;
mod pools;
mod scans;
mod scatters;
mod sorts;

use unigrad_cpu::CpuDriver;
use unigrad_device::{Driver, Slice};
use unigrad_gpu::{Part, ProgramArg, lower};
use unigrad_ir::{
    Target,
    interpret::{self, Argument, Span},
};
use unigrad_kernel::Kernel;
use unigrad_kernel::testing::Rng;
use unigrad_scalar::{DType, Literal};

/// Rng values as they are stored.
pub(crate) trait Values {
    /// Near 1.
    fn number(&mut self) -> f64;
    fn values(&mut self, dtype: DType, n: usize) -> Vec<u8>;
    fn numbers(&mut self, dtype: DType, n: usize) -> Vec<u8>;
}

impl Values for Rng {
    fn number(&mut self) -> f64 {
        (self.bits() as i32) as f64 / f64::from(i32::MAX)
    }

    fn values(&mut self, dtype: DType, n: usize) -> Vec<u8> {
        encode(dtype, (0..n).map(|_| self.value(dtype)))
    }

    fn numbers(&mut self, dtype: DType, n: usize) -> Vec<u8> {
        encode(dtype, (0..n).map(|_| Literal::float(dtype, self.number())))
    }
}

pub(crate) fn encode(dtype: DType, values: impl IntoIterator<Item = Literal>) -> Vec<u8> {
    values.into_iter().flat_map(|x| x.cast(dtype).to_raw().to_le_bytes()[..dtype.size()].to_vec()).collect()
}

pub(crate) fn decode(dtype: DType, bytes: &[u8]) -> Vec<Literal> {
    bytes
        .chunks_exact(dtype.size())
        .map(|chunk| {
            let mut raw = [0; 8];
            raw[..chunk.len()].copy_from_slice(chunk);
            Literal::from_raw(dtype, u64::from_le_bytes(raw))
        })
        .collect()
}

/// Devices of different abilities.
pub(crate) fn targets() -> Vec<Target> {
    let all = Target::interpreter();
    vec![
        all.clone(),
        Target { subgroup: Some(8), compute_units: 64, ..all.clone() },
        Target { subgroup: None, shared_bytes: 16 << 10, max_threads: 128, max_grid: [3, 65_535, 65_535], max_buffers: 8, ..all.clone() },
        Target { subgroup: None, shared_bytes: 2 << 10, max_threads: 32, compute_units: 20, ..all.clone() },
        Target { scalars_in_block: true, ..all },
    ]
}

/// Runs a kernel on buffers, of which the written ones are overwritten: or tells the index that was out of range, and the size.
pub(crate) fn on_target(kernel: &Kernel, target: &Target, buffers: &mut [Vec<u8>], scalars: &[u64]) -> Result<(), (i64, i64)> {
    let lowered = lower(kernel, target).unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
    let n = buffers.len();
    let mut memory: Vec<Vec<u8>> = buffers.to_vec();
    memory.extend(lowered.scratch.iter().map(|bytes| vec![0xa5; *bytes]));
    let status = memory.len();
    memory.push(vec![0; 4096]);
    let whole = |memory: &[Vec<u8>], allocation: usize| Span { allocation, offset: 0, len: memory[allocation].len() };
    for step in &lowered.steps {
        if step.grid.contains(&0) {
            continue;
        }
        let extents = step.grid.iter().zip(&target.max_grid).all(|(extent, most)| extent <= most);
        let program = &step.program;
        assert!(extents && program.threads() <= target.max_threads, "{}: {:?} of {:?}", program.name, step.grid, program.block);
        assert!(program.shared_bytes() <= target.shared_bytes, "{}: {} bytes shared", program.name, program.shared_bytes());
        // The words of a block, in memory of their own.
        let block = step.args.iter().find_map(|arg| if let ProgramArg::Block(words) = arg { Some(words) } else { None });
        let block: Vec<u8> = block.into_iter().flatten().flat_map(|word| word.of(scalars, 0).unwrap().to_le_bytes()).collect();
        memory.truncate(status + 1);
        memory.push(block);
        let arguments: Vec<_> = step
            .args
            .iter()
            .map(|arg| match arg {
                ProgramArg::Arg(at) => Argument::Buffer(whole(&memory, *at)),
                ProgramArg::Scratch(at) => Argument::Buffer(whole(&memory, n + at)),
                ProgramArg::Status => Argument::Buffer(whole(&memory, status)),
                ProgramArg::StatusSlot => Argument::Scalar(0),
                ProgramArg::Block(_) => Argument::Buffer(whole(&memory, status + 1)),
                ProgramArg::Scalar(at, Part::Whole) => Argument::Scalar(scalars[*at]),
                ProgramArg::Scalar(at, Part::Low) => Argument::Scalar(scalars[*at] & 0xffff_ffff),
                ProgramArg::Scalar(at, Part::High) => Argument::Scalar(scalars[*at] >> 32),
                ProgramArg::Word(word) => Argument::Scalar(*word),
                ProgramArg::Table(at) => Argument::Table(at.iter().map(|at| whole(&memory, *at)).collect()),
                ProgramArg::ScalarTable(at) => Argument::ScalarTable(at.iter().map(|at| scalars[*at]).collect()),
                ProgramArg::WordTable(words) => Argument::ScalarTable(words.clone()),
            })
            .collect();
        if let Err(fault) = interpret::run(&step.program, target, step.grid, &mut memory, &arguments) {
            panic!("{fault}\n of {kernel:?}\n on {target:?}");
        }
    }
    let word = |at: usize| u64::from(u32::from_le_bytes(memory[status][4 * at..][..4].try_into().unwrap()));
    if word(0) != 0 {
        return Err(((word(1) | word(2) << 32) as i64, (word(3) | word(4) << 32) as i64));
    }
    buffers.iter_mut().zip(memory).for_each(|(buffer, memory)| *buffer = memory);
    Ok(())
}

/// The same on the CPU.
pub(crate) fn on_cpu(kernel: &Kernel, buffers: &mut [Vec<u8>], scalars: &[u64]) -> Result<(), String> {
    let device = CpuDriver.open(0).unwrap();
    let program = device.compile(kernel).unwrap();
    let raw: Vec<_> = buffers
        .iter()
        .map(|bytes| {
            let buffer = device.allocate(bytes.len().max(64)).unwrap();
            device.upload(bytes, Slice { buffer: &buffer, offset: 0, len: bytes.len() }).unwrap();
            buffer
        })
        .collect();
    let slices: Vec<_> = raw.iter().zip(buffers.iter()).map(|(buffer, bytes)| Slice { buffer, offset: 0, len: bytes.len() }).collect();
    let result = device.launch(&*program, &slices, scalars, None).map_err(|error| error.to_string());
    for (slice, bytes) in slices.iter().zip(buffers.iter_mut()) {
        device.download(*slice, bytes).unwrap();
    }
    raw.into_iter().for_each(|buffer| device.free(buffer));
    result
}

/// How far two results may be apart: numbers as `f64`, relative to the greater of 1 and themselves.
pub(crate) fn check_close(dtype: DType, got: &[u8], want: &[u8], allowed: f64, what: &dyn std::fmt::Debug) {
    let (got, want) = (decode(dtype, got), decode(dtype, want));
    assert_eq!(got.len(), want.len());
    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
        let same = if dtype.is_float() {
            let (x, y) = (got.as_f64(), want.as_f64());
            x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= allowed * y.abs().max(1.0)
        } else {
            got == want
        };
        assert!(same, "[{i}]: {got:?}, not {want:?}, of {what:?}");
    }
}

/// The tolerance that a dtype's rounding asks for.
pub(crate) fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-12,
        DType::F16 => 2e-3,
        DType::BF16 => 1.6e-2,
        _ => 2e-5,
    }
}

/// Runs a kernel both ways and compares its last `n_out` buffers.
pub(crate) fn check(kernel: &Kernel, target: &Target, buffers: &[Vec<u8>], scalars: &[u64], n_out: usize, allowed: f64) {
    let (mut want, mut got, mut again) = (buffers.to_vec(), buffers.to_vec(), buffers.to_vec());
    on_cpu(kernel, &mut want, scalars).unwrap();
    on_target(kernel, target, &mut got, scalars).unwrap();
    on_target(kernel, target, &mut again, scalars).unwrap();
    let args = kernel.args();
    let n = buffers.len();
    assert_eq!(args.len(), n);
    for at in n - n_out..n {
        assert_eq!(got[at], again[at], "buffer {at} differs when rerun, of {kernel:?}");
        check_close(args[at].dtype, &got[at], &want[at], allowed, &(kernel, target.max_threads));
    }
}
