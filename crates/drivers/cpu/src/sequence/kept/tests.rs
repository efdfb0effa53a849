//! Sequences with kept operands beside the same launches one by one: weights that change between runs, within a run, and under another name.

use super::super::{Steps, prepare, run};
use super::{MIN_BYTES, MIN_USES, SharedOperand};
use crate::CpuDriver;
use std::any::Any;
use unigrad_device::{At, Buffer, Device, Launch, Run, Slice, register};
use unigrad_kernel::{Arg, Contract, Index, Inst, InstOp, KDim, Kernel, MDim, NDim, Region, Value};
use unigrad_scalar::{BinaryOp, DType};

/// A product of so many rows: `b` is used in place.
const M: usize = 32;
const K: usize = 256;
const N: usize = 64;
/// Bytes of the operand, of the weight and of a result.
const A: usize = M * K * 4;
const W: usize = K * N * 4;
const C: usize = M * N * 4;

fn product(n: usize) -> Kernel {
    let arg = |len, write| Arg { dtype: DType::F32, len, write };
    Kernel::Contract(Contract {
        batch: [].into_iter().collect(),
        m: [MDim { size: M, a: K as i64, c: n as i64 }].into_iter().collect(),
        n: [NDim { size: n, b: 1, c: 1 }].into_iter().collect(),
        k: [KDim { size: K, a: 1, b: n as i64 }].into_iter().collect(),
        a_offset: 0,
        b_offset: 0,
        a: arg(M * K, false),
        b: arg(K * n, false),
        c: arg(M * n, true),
        tf32: false,
        epilogue: None,
        prologues: [None, None],
    })
}

/// Adds its memory to itself.
fn doubling(len: usize) -> Kernel {
    let at = || Index { offset: 0, strides: [1].as_slice().into(), dynamic: Default::default() };
    let inst = |op| Inst { op, dtype: DType::F32 };
    Kernel::Region(Region {
        name: "double".to_owned(),
        axes: [len].as_slice().into(),
        n_parallel: 1,
        args: vec![Arg { dtype: DType::F32, len, write: true }],
        scalars: Vec::new(),
        insts: vec![
            inst(InstOp::Load { arg: 0, index: at(), mask: None }),
            inst(InstOp::Binary(BinaryOp::Add, Value(0), Value(0))),
            inst(InstOp::Store { arg: 0, index: at(), value: Value(1) }),
        ],
    })
}

/// An entry of the table and a byte in it.
type ByteAt = (usize, usize);

#[derive(Clone, Copy)]
enum Work {
    /// Of entry 0 by a weight, to a result.
    Product { w: ByteAt, c: ByteAt },
    /// So many numbers.
    Double(ByteAt, usize),
}

struct Launches {
    device: Device,
    launches: Vec<Launch>,
}

impl Launches {
    fn new(work: &[Work]) -> Launches {
        register(CpuDriver);
        let device = Device::open("cpu").unwrap();
        let at = |(entry, offset): ByteAt, len| At { entry, offset, len };
        let launch = |step: &Work| {
            let (kernel, args) = match *step {
                Work::Product { w, c } => (product(N), vec![at((0, 0), A), at(w, W), at(c, C)]),
                Work::Double(place, len) => (doubling(len), vec![at(place, 4 * len)]),
            };
            Launch { program: device.compile(&kernel).unwrap(), args, scalars: vec![], begins: vec![], origin: None }
        };
        Launches { launches: work.iter().map(launch).collect(), device }
    }

    fn shared(&self) -> Vec<(std::ops::Range<usize>, usize)> {
        let prepared = prepare(&self.launches).unwrap();
        let work = (&*prepared as &dyn Any).downcast_ref::<Steps>().unwrap();
        work.kept.shared.iter().map(|shared: &SharedOperand| (shared.launches.clone(), shared.uses)).collect()
    }

    /// Runs parts of the sequence over and over, and the same launches one by one over other memory; entries name buffers of the given sizes.
    fn check(&self, sizes: &[usize], entries: &[usize], parts: &[std::ops::Range<usize>]) {
        let prepared = prepare(&self.launches).unwrap();
        let numbers = |seed: usize, bytes: usize| -> Vec<u8> {
            (0..bytes / 4).flat_map(|i| (((i * 31 + seed * 7) % 61) as f32 / 64.0 - 0.5).to_le_bytes()).collect()
        };
        let fresh = || -> Vec<Buffer> {
            sizes.iter().enumerate().map(|(i, bytes)| self.device.allocate_with(&numbers(i, *bytes)).unwrap()).collect()
        };
        let (mut ours, mut theirs) = (fresh(), fresh());
        for round in 0..3 {
            for buffers in [&mut ours, &mut theirs] {
                for (i, buffer) in buffers.iter_mut().enumerate() {
                    // Every run begins with other weights in the same memory.
                    let data = self.device.allocate_with(&numbers(i + 10 * round, sizes[i])).unwrap();
                    buffer.copy_from(0, &data, 0, sizes[i]).unwrap();
                }
            }
            for part in parts {
                let table: Vec<Slice<'_>> = entries.iter().map(|i| ours[*i].as_slice()).collect();
                run(&Run { prepared: &*prepared, launches: &self.launches, which: part.clone(), table: &table, scalars: &[] }).unwrap();
                let table: Vec<Slice<'_>> = entries.iter().map(|i| theirs[*i].as_slice()).collect();
                for launch in &self.launches[part.clone()] {
                    let args: Vec<Slice<'_>> = launch.args.iter().map(|at| at.find(&table).unwrap()).collect();
                    self.device.launch(&*launch.program, &args, &[]).unwrap();
                }
            }
            for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                assert!(ours.to_vec().unwrap() == theirs.to_vec().unwrap(), "round {round}: buffer {i} differs");
            }
        }
    }
}

fn products(w: ByteAt, results: std::ops::Range<usize>) -> impl Iterator<Item = Work> {
    results.map(move |i| Work::Product { w, c: (2, i * C) })
}

#[test]
fn a_weight_that_changes_between_runs_is_packed_again() {
    const { assert!(W >= MIN_BYTES) };
    for uses in [MIN_USES - 1, MIN_USES, MIN_USES + 1] {
        let program = Launches::new(&products((1, 0), 0..uses).collect::<Vec<_>>());
        let all = 0..uses;
        let expected = if uses >= MIN_USES { vec![(all.clone(), uses)] } else { vec![] };
        assert_eq!(program.shared(), expected);
        program.check(&[A, W, uses * C], &[0, 1, 2], &[all.clone(), all]);
    }
}

#[test]
fn a_weight_that_changes_within_a_run_is_packed_again() {
    let n = MIN_USES;
    for place in [(1, 0), (1, W - 64)] {
        let mut work: Vec<Work> = products((1, 0), 0..n).collect();
        // Its last or first numbers alone.
        work.push(Work::Double(place, 16));
        work.extend(products((1, 0), n..2 * n));
        work.push(Work::Double(place, 16));
        work.extend(products((1, 0), 2 * n..3 * n - 1));
        let program = Launches::new(&work);
        assert_eq!(program.shared(), [(0..n, n), (n + 1..2 * n + 1, n)]);
        program.check(&[A, W, 3 * n * C], &[0, 1, 2], &[0..work.len(), 2..work.len(), 0..n + 2, n + 2..work.len()]);
    }
    // What is written beside it does not matter.
    let mut work: Vec<Work> = products((1, 64), 0..n).collect();
    work.splice(1..1, [Work::Double((1, 0), 16), Work::Double((1, W + 64), 16)]);
    let program = Launches::new(&work);
    assert_eq!(program.shared(), vec![(0..n + 2, n)]);
    program.check(&[A, W + 128, n * C], &[0, 1, 2], std::slice::from_ref(&(0..work.len())));
}

#[test]
fn a_product_that_writes_into_the_weight_ends_it() {
    let n = MIN_USES;
    let mut work: Vec<Work> = products((1, 0), 0..n).collect();
    work.push(Work::Product { w: (1, W + C), c: (1, W - 64) });
    work.extend(products((1, 0), n..2 * n));
    let program = Launches::new(&work);
    assert_eq!(program.shared(), [(0..n, n), (n + 1..2 * n + 1, n)]);
    program.check(&[A, 2 * W + C, 2 * n * C], &[0, 1, 2], std::slice::from_ref(&(0..work.len())));
}

/// Entry 3 is the weight's buffer, or another.
#[test]
fn a_weight_that_changes_by_another_name_is_not_kept() {
    let n = MIN_USES;
    for offset in [0, W - 64, W] {
        let mut work: Vec<Work> = products((1, 0), 0..n).collect();
        work.push(Work::Double((3, offset), 16));
        work.extend(products((1, 0), n..2 * n));
        let program = Launches::new(&work);
        assert_eq!(program.shared(), [(0..2 * n + 1, 2 * n)]);
        for entries in [[0, 1, 2, 1], [0, 1, 2, 3]] {
            program.check(&[A, W + 64, 2 * n * C, W + 64], &entries, std::slice::from_ref(&(0..work.len())));
        }
    }
}

#[test]
fn weights_at_once_have_places_of_their_own() {
    let n = MIN_USES;
    // Two in turns, then a third, which takes the place of either.
    let mut work: Vec<Work> = Vec::new();
    for i in 0..n {
        work.extend(products((1, 0), i..i + 1).chain(products((1, W), n + i..n + i + 1)));
    }
    work.extend(products((1, 2 * W), 2 * n..3 * n));
    let program = Launches::new(&work);
    let prepared = prepare(&program.launches).unwrap();
    let kept = &(&*prepared as &dyn Any).downcast_ref::<Steps>().unwrap().kept;
    assert_eq!(kept.shared.len(), 3);
    assert!(kept.bytes < 3 * W);
    for (i, a) in kept.shared.iter().enumerate() {
        for b in &kept.shared[..i] {
            assert!(!super::meet(&a.launches, &b.launches) || !super::meet(&a.at, &b.at));
        }
    }
    program.check(&[A, 3 * W, 3 * n * C], &[0, 1, 2], &[0..work.len(), 1..work.len() - 1]);
}

/// Several threads run one sequence at once.
#[test]
fn runs_at_once_do_not_share_panels() {
    let n = 2 * MIN_USES;
    let program = Launches::new(&products((1, 0), 0..n).collect::<Vec<_>>());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5).for_each(|_| program.check(&[A, W, n * C], &[0, 1, 2], std::slice::from_ref(&(0..n)))));
        }
    });
}
