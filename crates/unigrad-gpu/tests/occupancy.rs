//! Maps that leave compute units idle are compiled for smaller workgroups: on a backend that tells how full they would be.

use std::sync::{Arc, Mutex};
use unigrad_device::{Error, Info, OpenDevice, RawBuffer, Slice};
use unigrad_gpu::{Backend, Bound, GpuDevice, Range};
use unigrad_ir::{Program, Target};
use unigrad_kernel::{Arg, Index, Inst, InstOp, Kernel, Region, Value};
use unigrad_scalar::{DType, ReduceOp};

/// Threads of the workgroups launched.
type Launched = Arc<Mutex<Vec<u32>>>;

struct Telling {
    target: Target,
    /// Part of a compute unit that workgroups of more, and of at most 128 threads fill.
    parts: [f64; 2],
    launched: Launched,
}

impl Backend for Telling {
    type Module = u32;
    type Mark = ();

    fn info(&self) -> Info {
        Info { backend: "telling", ..Info::default() }
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn allocate(&self, _: usize) -> Result<u64, Error> {
        Ok(1)
    }

    fn free(&self, _: u64) {}

    fn upload(&self, _: &[u8], _: Range) -> Result<(), Error> {
        Ok(())
    }

    fn download(&self, _: Range, _: &mut [u8]) -> Result<(), Error> {
        Ok(())
    }

    fn copy(&self, _: Range, _: Range) -> Result<(), Error> {
        Ok(())
    }

    fn load(&self, program: &Program) -> Result<u32, Error> {
        Ok(program.block.iter().product())
    }

    fn occupancy(&self, threads: &u32) -> Option<f64> {
        Some(if *threads > 128 { self.parts[0] } else { self.parts[1] * f64::from(*threads) / 128.0 })
    }

    fn launch(&self, threads: &u32, _: [u32; 3], _: &[Bound]) -> Result<(), Error> {
        self.launched.lock().unwrap().push(*threads);
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

const SIZE: usize = 4096;

/// `exp(x)` of a vector, or the sum of it.
fn kernel(sums: bool) -> Kernel {
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
    let launched = Launched::default();
    let target = Target { max_threads: 1024, ..Target::interpreter() };
    let device = GpuDevice::new(Telling { target, parts, launched: Arc::clone(&launched) });
    let program = device.compile(kernel).unwrap();
    let buffer = RawBuffer { handle: 1, bytes: 4 * SIZE };
    let slice = Slice { buffer: &buffer, offset: 0, len: 4 * SIZE };
    device.launch(&*program, &[slice, slice], &[], None).unwrap();
    let launched = launched.lock().unwrap();
    launched[0]
}

#[test]
fn maps_are_compiled_for_workgroups_that_fill_the_device() {
    assert_eq!(threads(&kernel(false), [0.75, 1.0]), 256, "full enough");
    assert_eq!(threads(&kernel(false), [0.25, 0.5]), 128, "smaller ones fill more");
    assert_eq!(threads(&kernel(false), [0.25, 0.26]), 256, "not enough to change anything");
}

#[test]
fn the_order_of_a_sum_does_not_depend_on_it() {
    assert_eq!(threads(&kernel(true), [0.25, 0.5]), threads(&kernel(true), [0.75, 1.0]));
}
