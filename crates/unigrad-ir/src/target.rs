//! What a program is made for: a dialect and a device's limits, as numbers that lowering, validator and renderers look at.
//!
//! Never: is asked of a device here; drivers fill it in.

use crate::FragmentShape;
use unigrad_scalar::DType;

/// A language that kernels are rendered in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Dialect {
    /// CUDA C++, as NVRTC takes it.
    Cuda,
    /// HIP C++, as hiprtc takes it.
    Hip,
    /// OpenCL C 1.2 and newer.
    OpenCl,
    /// Metal Shading Language.
    Msl,
    /// WebGPU Shading Language.
    Wgsl,
    /// The IR itself, for the interpreter.
    Ir,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Dialect; 6] = [Dialect::Cuda, Dialect::Hip, Dialect::OpenCl, Dialect::Msl, Dialect::Wgsl, Dialect::Ir];

    /// Its name in messages, text forms and options.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Cuda => "cuda",
            Dialect::Hip => "hip",
            Dialect::OpenCl => "opencl",
            Dialect::Msl => "msl",
            Dialect::Wgsl => "wgsl",
            Dialect::Ir => "ir",
        }
    }
}

/// A dialect and the limits of one device.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The language.
    pub dialect: Dialect,
    /// The device's architecture in the compiler's words: `sm_90`, `gfx1100`; empty where there is no such thing.
    pub arch: String,
    /// Threads of a workgroup at most.
    pub max_threads: u32,
    /// Workgroups per axis of the grid at most.
    pub max_grid: [u32; 3],
    /// Bytes of shared memory of a workgroup at most.
    pub shared_bytes: usize,
    /// Threads of a subgroup, where that is known when a program is made and all subgroup operations are there.
    pub subgroup: Option<u32>,
    /// Multiprocessors, compute units: how many workgroups keep the device busy.
    pub compute_units: u32,
    /// Buffers a launch can pass at most.
    pub max_buffers: u32,
    /// Bytes of all parameters at most; a buffer takes [`Target::buffer_param_bytes`].
    pub max_param_bytes: u32,
    /// Bytes of the largest buffer that a parameter can be.
    pub max_buffer_bytes: u64,
    /// Whether there is a 64-bit float type.
    pub f64: bool,
    /// Whether there are 64-bit integer types. Where there are not, renderers keep such values in two words, and they are slow.
    pub i64: bool,
    /// Whether `F16` is a storage type of the dialect. Where it is not, renderers load and store words and pick them apart.
    pub f16: bool,
    /// Whether `Atomic(Add)` takes `F32`.
    pub atomic_f32: bool,
    /// Whether atomics take 64-bit integers.
    pub atomic_i64: bool,
    /// Whether arguments of one launch may be parts of one buffer, of which some are written.
    pub overlapping: bool,
    /// Whether [`crate::Param::Table`] can be had.
    pub tables: bool,
    /// Whether vector loads and stores of 16 bytes pay (and need alignment to their size).
    pub vectors: bool,
    /// Whether lowered kernels load their run-time scalars from a block in memory that each run fills, instead of being passed them by value.
    pub scalars_in_block: bool,
    /// Whether lowered kernels may have statements in the dialect's own words ([`crate::Raw`]), for instructions that the IR has no word for.
    pub own_words: bool,
    /// Threads that every workgroup has for which lowering can choose a number: then programs can stand side by side in one launch.
    pub workgroup: Option<u32>,
    /// Matrix operations that there are.
    pub fragments: Vec<FragmentShape>,
}

impl Target {
    /// Bytes of parameters that a buffer takes: its address; in OpenCL C also where it begins in its memory object, and in WGSL only that.
    pub fn buffer_param_bytes(&self) -> u32 {
        match self.dialect {
            Dialect::OpenCl => 16,
            Dialect::Wgsl => 4,
            Dialect::Cuda | Dialect::Hip | Dialect::Msl | Dialect::Ir => 8,
        }
    }

    /// Workgroups at most that a device can have at the same time, so that they may wait for each other ([`crate::Program::cluster`]); 0 where there is no
    /// such thing. NVIDIA GPUs since Hopper take 8 everywhere:
    /// <https://docs.nvidia.com/cuda/cuda-c-programming-guide/#thread-block-clusters>.
    pub fn clusters(&self) -> u32 {
        let digits: String = self.arch.chars().filter(char::is_ascii_digit).collect();
        let is_new = digits.parse::<u32>().is_ok_and(|capability| capability >= 90);
        if self.dialect == Dialect::Cuda && is_new { 8 } else { 0 }
    }

    /// Whether programs can have tensor maps ([`crate::TensorMap`]): NVIDIA GPUs since Hopper, for statements in CUDA's own words alone use them.
    pub fn tensor_maps(&self) -> bool {
        self.clusters() > 0 && self.own_words
    }

    /// Whether an index at run time into a table of parameters costs no more than one into memory. OpenCL C has no arrays of buffers: there
    /// an index chooses among all entries, so that fewer such choices are better, and comparing with every entry is better than several.
    pub fn indexes_tables(&self) -> bool {
        self.dialect != Dialect::OpenCl
    }

    /// Whether [`crate::Op::ApproxExp2`] is less than an exponential: on NVIDIA's GPUs, in their own words; and the interpreter does it, so
    /// that what is written with it is run.
    pub fn approximates(&self) -> bool {
        self.own_words && matches!(self.dialect, Dialect::Cuda | Dialect::Ir)
    }

    /// Whether a table's buffers are told apart by branches: WGSL has no pointer to keep, so what is done with one is written out for each, or
    /// every access chooses.
    pub fn branches_on_tables(&self) -> bool {
        self.dialect == Dialect::Wgsl
    }

    /// Bytes that an element of a shared array takes: WGSL has arrays of words.
    pub fn shared_element_bytes(&self, dtype: DType) -> usize {
        if self.dialect == Dialect::Wgsl { dtype.size().max(4) } else { dtype.size() }
    }

    /// Whether a barrier has to stand between two loops with barriers. PoCL 3.1 loses what is written to private memory there where nothing else is
    /// between them: sums of the second loop begin with what a workgroup before left. It does not without optimization, nor with `volatile` sums.
    pub fn parts_loops(&self) -> bool {
        self.dialect == Dialect::OpenCl
    }

    /// Whether programs with barriers can stand side by side, each in a branch that whole workgroups take. PoCL 3.1 compiles some such programs to what
    /// reads anywhere, and takes a time for others that doubles with every barrier.
    pub fn branches_over_barriers(&self) -> bool {
        self.dialect != Dialect::OpenCl
    }

    /// The interpreter's: everything there is, with subgroups of 32.
    pub fn interpreter() -> Target {
        Target {
            dialect: Dialect::Ir,
            arch: String::new(),
            max_threads: 1024,
            max_grid: [u32::MAX >> 1, 65_535, 65_535],
            shared_bytes: 48 << 10,
            subgroup: Some(32),
            compute_units: 4,
            max_buffers: 64,
            max_param_bytes: 4096,
            max_buffer_bytes: u64::MAX >> 1,
            f64: true,
            i64: true,
            f16: true,
            atomic_f32: true,
            atomic_i64: true,
            tables: true,
            overlapping: true,
            vectors: true,
            scalars_in_block: false,
            own_words: true,
            workgroup: None,
            fragments: Vec::new(),
        }
    }
}
