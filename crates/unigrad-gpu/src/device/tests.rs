//! Kernels that are compiled again: without matrix instructions, where a compiler refuses them; for smaller workgroups, where a map would
//! leave compute units idle. On a backend that does nothing but tell.

use super::{GpuDevice, status::STATUS_BYTES};
use crate::{
    Backend, Bound, Range,
    faults::{SLOT_WORDS, SLOTS},
};
use std::sync::{Arc, Mutex};
use unigrad_device::{Abilities, Config, Error, Info, Kernels, OpenDevice, RawBuffer, Slice};
use unigrad_ir::{Dialect, FragmentShape, Program, Source, Target};
use unigrad_kernel::{Arg, Contract, Custom, Index, Inst, InstOp, KDim, Kernel, MDim, NDim, Region, Value};
use unigrad_scalar::{DType, ReduceOp, UserProgram};

/// Answers as it is told to.
struct Told {
    target: Target,
    /// Whether its compiler takes a program.
    takes: fn(&Program) -> bool,
    /// Part of a compute unit that workgroups of more, and of at most 128 threads fill.
    parts: [f64; 2],
    /// Threads of the workgroups launched.
    launched: Mutex<Vec<u32>>,
    /// Sources loaded.
    loaded: Mutex<Vec<String>>,
    /// The only memory: every buffer is it.
    memory: Mutex<Vec<u8>>,
    /// What was read, by waits.
    read: Mutex<Vec<Vec<Range>>>,
}

impl Told {
    fn device(target: Target, takes: fn(&Program) -> bool, parts: [f64; 2]) -> GpuDevice<Told> {
        let memory = Mutex::new(vec![0; STATUS_BYTES]);
        let (launched, loaded, read) = (Mutex::default(), Mutex::default(), Mutex::default());
        GpuDevice::new(Told { target, takes, parts, launched, loaded, memory, read })
    }
}

impl Abilities for Told {}

impl Backend for Told {
    /// Threads of a workgroup.
    type Module = u32;

    fn info(&self) -> Info {
        Info { backend: "told", ..Info::default() }
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn allocate(&self, _: usize) -> Result<u64, Error> {
        Ok(1)
    }

    fn free(&self, _: u64) {}

    fn upload(&self, data: &[u8], to: Range) -> Result<(), Error> {
        self.memory.lock().unwrap()[to.offset..to.offset + to.len].copy_from_slice(data);
        Ok(())
    }

    fn download(&self, from: Range, data: &mut [u8]) -> Result<(), Error> {
        self.download_all(&mut [(from, data)])
    }

    fn download_all(&self, parts: &mut [(Range, &mut [u8])]) -> Result<(), Error> {
        self.read.lock().unwrap().push(parts.iter().map(|(from, _)| *from).collect());
        for (from, data) in parts {
            data.copy_from_slice(&self.memory.lock().unwrap()[from.offset..from.offset + from.len]);
        }
        Ok(())
    }

    fn copy(&self, _: Range, _: Range) -> Result<(), Error> {
        Ok(())
    }

    fn load(&self, program: &Program) -> Result<u32, Error> {
        if (self.takes)(program) {
            return Ok(program.block.iter().product());
        }
        Err(Error::Compile { device: "told:0".to_owned(), kernel: program.name.clone(), cause: "no".to_owned() })
    }

    fn load_source(&self, source: &Source, signature: &Program) -> Result<u32, Error> {
        self.loaded.lock().unwrap().push(source.text.clone());
        Ok(signature.block.iter().product())
    }

    fn occupancy(&self, threads: &u32) -> Option<f64> {
        Some(if *threads > 128 { self.parts[0] } else { self.parts[1] * f64::from(*threads) / 128.0 })
    }

    fn launch(&self, threads: &u32, _: [u32; 3], _: &[Bound]) -> Result<(), Error> {
        self.launched.lock().unwrap().push(*threads);
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.read.lock().unwrap().push(Vec::new());
        Ok(())
    }
}

#[test]
fn a_users_program_is_loaded_once_for_each_signature() {
    let device = Told::device(Target { dialect: Dialect::Cuda, ..Target::interpreter() }, |_| true, [1.0; 2]);
    let texts = vec![("cuda".to_owned(), "text".to_owned())];
    let program = Arc::new(UserProgram { name: "own".to_owned(), entry: "own".to_owned(), texts, block: [64, 1, 1] });
    let kernel = |dtype, len, grid| {
        let args = [false, true].map(|write| Arg { dtype, len, write }).to_vec();
        Kernel::Custom(Custom { program: Arc::clone(&program), grid: [grid, 1, 1], args, scalars: Vec::new() })
    };
    let loaded = || device.backend().loaded.lock().unwrap().len();
    // Ahead of its use, then for launches of several sizes.
    let executable = device.compile(&kernel(DType::F32, 0, 1)).unwrap();
    for (len, grid) in [(64, 1), (640, 10)] {
        device.compile(&kernel(DType::F32, len, grid)).unwrap();
    }
    assert_eq!(loaded(), 1);
    device.compile(&kernel(DType::I32, 64, 1)).unwrap();
    assert_eq!(loaded(), 2);
    let told = device.describe(&*executable).unwrap();
    assert_eq!((told.len(), told[0].source.as_str(), told[0].entry.as_str(), told[0].occupancy), (1, "text", "own", Some(0.5)));
}

fn product() -> Kernel {
    let arg = |write| Arg { dtype: DType::F16, len: 64 * 64, write };
    Kernel::Contract(Contract {
        batch: [].into_iter().collect(),
        m: [MDim { size: 64, a: 64, c: 64 }].into_iter().collect(),
        n: [NDim { size: 64, b: 1, c: 1 }].into_iter().collect(),
        k: [KDim { size: 64, a: 1, b: 64 }].into_iter().collect(),
        a_offset: 0,
        b_offset: 0,
        a: arg(false),
        b: arg(false),
        c: arg(true),
        tf32: false,
        epilogue: None,
        prologues: [None, None],
    })
}

#[test]
fn what_does_not_compile_with_matrices_is_compiled_without() {
    let fragments = vec![FragmentShape { m: 16, n: 16, k: 16, input: DType::F16, sum: DType::F32 }];
    let picky = |takes| Told::device(Target { fragments: fragments.clone(), ..Target::interpreter() }, takes, [1.0; 2]);
    let device = picky(Program::is_plain);
    let lowered = crate::lower(&product(), device.backend().target()).unwrap();
    assert!(!lowered.steps[0].program.is_plain(), "the case has no matrices to refuse");
    assert!(device.compile(&product()).is_ok());
    let Err(Error::Compile { cause, .. }) = picky(|_| false).compile(&product()) else { panic!("accepted") };
    assert_eq!(cause, "no");
}

#[test]
fn settings_take_abilities_from_the_target() {
    let all =
        Target { fragments: vec![FragmentShape { m: 16, n: 16, k: 16, input: DType::F16, sum: DType::F32 }], ..Target::interpreter() };
    let with = |kernels| {
        let mut target = all.clone();
        super::adapt(&mut target, &Config { kernels, ..Config::default() });
        target
    };
    assert_eq!(with(Kernels::Auto), all);
    assert_eq!(with(Kernels::Portable), Target { own_words: false, ..all.clone() });
    assert_eq!(with(Kernels::Plain), Target { own_words: false, subgroup: None, fragments: Vec::new(), ..all.clone() });
}

const SIZE: usize = 4096;

/// `exp(x)` of a vector, or the sum of it.
fn exponentials(sums: bool) -> Kernel {
    let index = |along: i64| Index { offset: 0, strides: [along].into_iter().collect(), dynamic: Default::default() };
    let inst = |op| Inst { op, dtype: DType::F32 };
    let mut insts =
        vec![inst(InstOp::Load { arg: 0, index: index(1), mask: None }), inst(InstOp::Unary(unigrad_scalar::UnaryOp::Exp, Value(0)))];
    if sums {
        insts.push(inst(InstOp::Reduce(ReduceOp::Sum, Value(1))));
    }
    let value = Value(insts.len() as u32 - 1);
    insts.push(inst(InstOp::Store { arg: 1, index: index(i64::from(!sums)), value }));
    let arg = |len, write| Arg { dtype: DType::F32, len, write };
    Kernel::Region(Region {
        name: "exp".to_owned(),
        axes: [SIZE].into_iter().collect(),
        n_parallel: usize::from(!sums),
        args: vec![arg(SIZE, false), arg(if sums { 1 } else { SIZE }, true)],
        scalars: vec![],
        insts,
    })
}

fn threads(kernel: &Kernel, parts: [f64; 2]) -> u32 {
    let device = Told::device(Target { max_threads: 1024, ..Target::interpreter() }, |_| true, parts);
    let program = device.compile(kernel).unwrap();
    let buffer = RawBuffer { handle: 1, bytes: 4 * SIZE };
    let slice = Slice { buffer: &buffer, offset: 0, len: 4 * SIZE };
    device.launch(&*program, &[slice, slice], &[], None).unwrap();
    let launched = device.backend().launched.lock().unwrap();
    launched[0]
}

#[test]
fn maps_are_compiled_for_workgroups_that_fill_the_device() {
    assert_eq!(threads(&exponentials(false), [0.75, 1.0]), 256, "full enough");
    assert_eq!(threads(&exponentials(false), [0.25, 0.5]), 128, "smaller ones fill more");
    assert_eq!(threads(&exponentials(false), [0.25, 0.26]), 256, "not enough to change anything");
}

#[test]
fn the_order_of_a_sum_does_not_depend_on_it() {
    assert_eq!(threads(&exponentials(true), [0.25, 0.5]), threads(&exponentials(true), [0.75, 1.0]));
}

#[test]
fn a_look_covers_launches_from_before_the_wait_only() {
    let device = Told::device(Target::interpreter(), |_| true, [1.0, 1.0]);
    let begin = || _ = super::lock(&device.shared.faults).begin(device.queue, "report", None);
    let unchecked = || super::lock(&device.shared.faults).n_unchecked(device.queue);
    device.status().unwrap();
    assert!(device.before_wait(None).is_empty());
    begin();
    let awaited = device.before_wait(None);
    begin();
    assert_eq!(awaited, [(device.queue, 1)]);
    device.after_wait(&awaited).unwrap();
    assert_eq!(unchecked(), 1, "the second one may be under way");
    // A later look finds nothing left of what has been looked at.
    device.after_wait(&awaited).unwrap();
    assert_eq!(unchecked(), 1);
    device.wait(None).unwrap();
    assert_eq!(unchecked(), 0);
}

#[test]
fn reports_come_with_the_data_in_one_wait() {
    let slots = u64::from(SLOTS);
    // Launches that were waited for, and launches since: within the memory, at its end, across it, and as many as there can be.
    for (before, since) in [(0, 1), (1, 1), (2, 3), (slots - 1, 1), (slots - 1, 2), (slots - 2, 5), (7, slots - 1), (0, slots - 1)] {
        for failed in [0, since / 2, since - 1] {
            let device = Told::device(Target::interpreter(), |_| true, [1.0, 1.0]);
            let begin = |n: u64| (0..n).for_each(|_| _ = super::lock(&device.shared.faults).begin(device.queue, "report", None));
            device.status().unwrap();
            for _ in 0..before {
                begin(1);
                device.wait(None).unwrap();
            }
            begin(since);
            // What the launch has to say: index 9 of 5.
            let words = [1u32, 9, 0, 5, 0, 0, 0, 0];
            let slot = 4 * words.len() * ((before + failed) % slots) as usize;
            assert_eq!(words.len(), SLOT_WORDS as usize);
            device.backend().memory.lock().unwrap()[slot..][..32].copy_from_slice(&words.map(u32::to_le_bytes).concat());
            device.backend().read.lock().unwrap().clear();
            let buffer = RawBuffer { handle: 1, bytes: 64 };
            device.download(Slice { buffer: &buffer, offset: 0, len: 64 }, &mut [0; 64]).unwrap();
            let read = std::mem::take(&mut *device.backend().read.lock().unwrap());
            let [parts] = &read[..] else { panic!("{before}, {since}: {read:?}") };
            let [data, reports] = parts[..] else { panic!("{before}, {since}: {parts:?}") };
            assert_eq!((data.offset, data.len), (0, 64));
            assert!(reports.offset % 64 == 0 && reports.offset + reports.len <= STATUS_BYTES, "{reports:?}");
            let Err(Error::IndexOutOfRange { index: 9, size: 5, .. }) = device.synchronize() else { panic!("{before}, {since}, {failed}") };
            assert!(device.backend().memory.lock().unwrap().iter().all(|byte| *byte == 0), "slots are set back");
            assert_eq!(super::lock(&device.shared.faults).n_unchecked(device.queue), 0);
        }
    }
}
