//! Hand-built programs: right results, and every kind of fault.

use unigrad_scalar::{BinaryOp, DType, Literal, ReduceOp, UnaryOp};

use super::*;
use crate::{AtomicOp, Builder, Fragment, FragmentRole, FragmentShape, Place, SubgroupOp, Type};

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn as_floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn as_words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Runs with one allocation per buffer, and the scalars after them.
fn launch(program: &Program, grid: u32, buffers: &mut [Vec<u8>], scalars: &[u64]) -> Result<(), Box<Fault>> {
    let mut arguments: Vec<Argument> =
        buffers.iter().enumerate().map(|(at, b)| Argument::Buffer(Span { allocation: at, offset: 0, len: b.len() })).collect();
    arguments.extend(scalars.iter().map(|raw| Argument::Scalar(*raw)));
    // Some of the programs here are wrong on purpose, in ways that the validator sees too.
    Interpreter::unchecked(program, &Target::interpreter()).run([grid, 1, 1], buffers, &arguments, Options::default())
}

fn kind(program: &Program, grid: u32, buffers: &mut [Vec<u8>], scalars: &[u64]) -> FaultKind {
    launch(program, grid, buffers, scalars).unwrap_err().kind
}

#[test]
fn maps_with_masks() {
    let mut b = Builder::new("square_plus_one", [8, 1, 1]);
    let (x, y) = (b.buffer("x", DType::F32), b.buffer_mut("y", DType::F32));
    let n = b.scalar("n", DType::U32);
    let i = b.global_index();
    let inside = b.lt(i, n);
    b.when(inside, |b| {
        let v = b.load(x, i);
        let one = b.float(DType::F32, 1.0);
        let r = b.fma(v, v, one);
        b.store(y, i, r);
    });
    let program = b.finish();
    let x: Vec<f32> = (0..21).map(|i| i as f32).collect();
    let mut buffers = [floats(&x), floats(&[0.0; 21])];
    launch(&program, 3, &mut buffers, &[21]).unwrap();
    assert_eq!(as_floats(&buffers[1]), x.iter().map(|x| x * x + 1.0).collect::<Vec<_>>());
    // One element more than there is.
    let fault = launch(&program, 3, &mut buffers, &[22]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::OutOfBounds { place: "x".to_owned(), index: 21, len: 21 });
    assert_eq!((fault.group, fault.thread), ([2, 0, 0], [5, 0, 0]));
    assert!(fault.to_string().starts_with("kernel square_plus_one, group 2,0,0, thread 5,0,0: `%7 = load f32 x[%5]`: x[21]"), "{fault}");
}

/// A sum over a workgroup's elements in shared memory, with or without the barrier in its loop.
fn tree_sum(barrier: bool, divergent: bool) -> Program {
    let mut b = Builder::new("tree_sum", [64, 1, 1]);
    let (x, y) = (b.buffer("x", DType::F32), b.buffer_mut("y", DType::F32));
    let tile = b.shared("tile", DType::F32, 64);
    let (i, t) = (b.global_index(), b.thread(0));
    let v = b.load(x, i);
    b.store(tile, t, v);
    b.barrier();
    let first = b.u32(32);
    let distance = b.variable("distance", first);
    b.repeat_while(
        |b| {
            let (d, zero) = (b.get(distance), b.u32(0));
            b.binary(BinaryOp::Gt, d, zero)
        },
        |b| {
            let d = b.get(distance);
            let low = b.lt(t, d);
            b.when(low, |b| {
                let other = b.add(t, d);
                let (a, c) = (b.load(tile, t), b.load(tile, other));
                let sum = b.add(a, c);
                b.store(tile, t, sum);
                if divergent {
                    b.barrier();
                }
            });
            if barrier {
                b.barrier();
            }
            let half = b.div_const(d, 2);
            b.set(distance, half);
        },
    );
    let zero = b.u32(0);
    let is_first = b.binary(BinaryOp::Eq, t, zero);
    b.when(is_first, |b| {
        let (g, total) = (b.group(0), b.load(tile, zero));
        b.store(y, g, total);
    });
    b.finish()
}

#[test]
fn barriers_order_shared_memory() {
    let x: Vec<f32> = (0..128).map(|i| i as f32).collect();
    let mut buffers = [floats(&x), floats(&[0.0; 2])];
    launch(&tree_sum(true, false), 2, &mut buffers, &[]).unwrap();
    assert_eq!(as_floats(&buffers[1]), [x[..64].iter().sum::<f32>(), x[64..].iter().sum::<f32>()]);
    let race = kind(&tree_sum(false, false), 2, &mut buffers, &[]);
    assert!(matches!(&race, FaultKind::Race { place, .. } if place == "tile"), "{race:?}");
    assert_eq!(kind(&tree_sum(true, true), 2, &mut buffers, &[]), FaultKind::DivergentBarrier { active: 32, threads: 64 });
}

#[test]
fn races_between_groups_are_found() {
    let program = |index: fn(&mut Builder) -> crate::Value| {
        let mut b = Builder::new("write", [4, 1, 1]);
        let y = b.buffer_mut("y", DType::F32);
        let (at, v) = (index(&mut b), b.float(DType::F32, 1.0));
        b.store(y, at, v);
        b.finish()
    };
    let mut buffers = [floats(&[0.0; 16])];
    launch(&program(Builder::global_index), 4, &mut buffers, &[]).unwrap();
    assert_eq!(as_floats(&buffers[0]), [1.0; 16]);
    let other = (Some(0), Some(0));
    assert_eq!(
        kind(&program(|b| b.thread(0)), 2, &mut buffers, &[]),
        FaultKind::Race { place: "y".to_owned(), index: 0, other, other_wrote: true }
    );
    assert!(matches!(kind(&program(|b| b.group(0)), 1, &mut buffers, &[]), FaultKind::Race { .. }));
}

#[test]
fn aliased_buffers_race_too() {
    let mut b = Builder::new("shift", [4, 1, 1]);
    let (x, y) = (b.buffer("x", DType::U8), b.buffer_mut("y", DType::F32));
    let (i, zero) = (b.thread(0), b.u32(0));
    let v = b.load(x, zero);
    let v = b.cast(v, DType::F32);
    b.store(y, i, v);
    let program = b.finish();
    let span = |offset| Span { allocation: 0, offset, len: 16 };
    let target = Target::interpreter();
    let mut memory = [vec![1; 32]];
    run(&program, &target, [1; 3], &mut memory, &[Argument::Buffer(span(0)), Argument::Buffer(span(16))]).unwrap();
    let fault = run(&program, &target, [1; 3], &mut memory, &[Argument::Buffer(span(0)), Argument::Buffer(span(0))]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
}

/// Runs on several threads.
fn launch_on_threads(program: &Program, grid: [u32; 3], buffers: &mut [Vec<u8>], scalars: &[u64]) -> Result<(), Box<Fault>> {
    let mut arguments: Vec<Argument> =
        buffers.iter().enumerate().map(|(at, b)| Argument::Buffer(Span { allocation: at, offset: 0, len: b.len() })).collect();
    arguments.extend(scalars.iter().map(|raw| Argument::Scalar(*raw)));
    let memory: Vec<Bytes<'_>> = buffers.iter_mut().map(|b| Bytes::from(b.as_mut_slice())).collect();
    let start = |n: usize, task: &(dyn Fn(usize) + Sync)| {
        std::thread::scope(|scope| (0..n).for_each(|at| drop(scope.spawn(move || task(at)))));
    };
    let workers = Workers { count: 4, start: &start };
    Interpreter::new(program, &Target::interpreter()).unwrap().run_in(grid, &memory, &arguments, Options::default(), workers)
}

#[test]
fn workers_share_the_groups() {
    let mut b = Builder::new("place", [8, 1, 1]);
    let y = b.buffer_mut("y", DType::U32);
    let n = b.scalar("n", DType::U32);
    let groups: Vec<Value> = (0..3).map(|axis| b.group(axis)).collect();
    // y[i] = i + 1 for the element of each thread of a grid of 7 x 5 x 3 groups.
    let row = b.mul_const(groups[2], 5);
    let row = b.add(row, groups[1]);
    let row = b.mul_const(row, 7);
    let group = b.add(row, groups[0]);
    let (first, t, one) = (b.mul_const(group, 8), b.thread(0), b.u32(1));
    let i = b.add(first, t);
    let inside = b.lt(i, n);
    b.when(inside, |b| {
        let v = b.add(i, one);
        b.store(y, i, v);
    });
    let program = b.finish();
    let total = 8 * 7 * 5 * 3;
    for _ in 0..20 {
        let mut buffers = [words(&vec![0; total as usize])];
        launch_on_threads(&program, [7, 5, 3], &mut buffers, &[total]).unwrap();
        assert_eq!(as_words(&buffers[0]), (1..=total as u32).collect::<Vec<_>>());
        // The first group that leaves the buffer is told, whichever gets there first.
        let mut buffers = [words(&vec![0; 500])];
        let fault = launch_on_threads(&program, [7, 5, 3], &mut buffers, &[total]).unwrap_err();
        assert_eq!(
            (fault.kind, fault.group, fault.thread),
            (FaultKind::OutOfBounds { place: "y".to_owned(), index: 500, len: 500 }, [6, 3, 1], [4, 0, 0])
        );
    }
}

#[test]
fn races_between_workers_are_found() {
    let mut b = Builder::new("last_wins", [4, 1, 1]);
    let y = b.buffer_mut("y", DType::U32);
    let (i, g) = (b.thread(0), b.group(0));
    b.store(y, i, g);
    let program = b.finish();
    let fault = launch_on_threads(&program, [64, 1, 1], &mut [words(&[0; 4])], &[]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
}

#[test]
fn atomics_do_not_race() {
    let mut b = Builder::new("histogram", [32, 1, 1]);
    let (x, count) = (b.buffer("x", DType::U32), b.buffer_atomic("count", DType::U32));
    let largest = b.buffer_atomic("largest", DType::I32);
    let i = b.global_index();
    let (v, one, zero) = (b.load(x, i), b.u32(1), b.u32(0));
    b.atomic(AtomicOp::Add, count, v, one);
    let signed = b.cast(v, DType::I32);
    b.atomic(AtomicOp::Max, largest, zero, signed);
    let program = b.finish();
    let x: Vec<u32> = (0..96).map(|i| i * i % 5).collect();
    let mut buffers = [words(&x), words(&[0; 5]), words(&[u32::MAX])];
    launch(&program, 3, &mut buffers, &[]).unwrap();
    let counted: Vec<u32> = (0..5).map(|v| x.iter().filter(|x| **x == v).count() as u32).collect();
    assert_eq!((as_words(&buffers[1]), as_words(&buffers[2])), (counted, vec![4]));
}

#[test]
fn a_float_is_added_by_compare_and_exchange() {
    let mut b = Builder::new("float_add", [16, 1, 1]);
    let (x, sum) = (b.buffer("x", DType::F32), b.buffer_atomic("sum", DType::U32));
    let (i, zero) = (b.global_index(), b.u32(0));
    let v = b.load(x, i);
    let first = b.load(sum, zero);
    let seen = b.variable("seen", first);
    let truth = b.constant(Literal::one(DType::Bool));
    let go_on = b.variable("go_on", truth);
    b.repeat_while(
        |b| b.get(go_on),
        |b| {
            let old = b.get(seen);
            let old_float = b.bitcast(old, DType::F32);
            let new = b.add(old_float, v);
            let new = b.bitcast(new, DType::U32);
            let now = b.compare_exchange(sum, zero, old, new);
            let failed = b.binary(BinaryOp::Ne, now, old);
            b.set(seen, now);
            b.set(go_on, failed);
        },
    );
    let program = b.finish();
    let x: Vec<f32> = (0..32).map(|i| i as f32).collect();
    let mut buffers = [floats(&x), words(&[0])];
    launch(&program, 2, &mut buffers, &[]).unwrap();
    assert_eq!(as_floats(&buffers[1]), [496.0]);
}

#[test]
fn subgroups_reduce_and_shuffle() {
    let mut b = Builder::new("subgroups", [64, 1, 1]);
    let y = b.buffer_mut("y", DType::I32);
    let (t, lane) = (b.thread(0), b.lane());
    let v = b.cast(t, DType::I32);
    let ops = [
        SubgroupOp::Reduce(ReduceOp::Sum),
        SubgroupOp::Reduce(ReduceOp::Min),
        SubgroupOp::ShuffleXor(5),
        SubgroupOp::ShuffleDown(3),
        SubgroupOp::ShuffleUp(3),
        SubgroupOp::Broadcast(7),
    ];
    for (at, op) in ops.into_iter().enumerate() {
        let r = b.subgroup(op, v);
        let index = b.add_const(t, 64 * at as i64);
        b.store(y, index, r);
    }
    let index = b.add_const(t, 64 * ops.len() as i64);
    let lane = b.cast(lane, DType::I32);
    b.store(y, index, lane);
    let program = b.finish();
    let mut buffers = [words(&[0; 64 * 7])];
    launch(&program, 1, &mut buffers, &[]).unwrap();
    let y = as_words(&buffers[0]);
    for t in 0..64u32 {
        let (base, lane) = (t / 32 * 32, t % 32);
        let expected = [
            (base..base + 32).sum(),
            base,
            base + (lane ^ 5),
            if lane + 3 < 32 { t + 3 } else { t },
            if lane >= 3 { t - 3 } else { t },
            base + 7,
            lane,
        ];
        (0..7).for_each(|op| assert_eq!(y[op * 64 + t as usize], expected[op], "op {op} of thread {t}"));
    }
    let target = Target { subgroup: None, ..Target::interpreter() };
    let span = Span { allocation: 0, offset: 0, len: buffers[0].len() };
    let arguments = [Argument::Buffer(span)];
    let fault = Interpreter::unchecked(&program, &target).run([1; 3], &mut buffers, &arguments, Options::default()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NoSubgroup);
    assert!(matches!(run(&program, &target, [1; 3], &mut buffers, &arguments).unwrap_err().kind, FaultKind::Invalid(_)));
}

#[test]
fn subgroups_must_be_whole() {
    let program = |limit: u32| {
        let mut b = Builder::new("partial", [64, 1, 1]);
        let y = b.buffer_mut("y", DType::U32);
        let t = b.thread(0);
        let limit = b.u32(limit);
        let low = b.lt(t, limit);
        b.when(low, |b| {
            let sum = b.subgroup(SubgroupOp::Reduce(ReduceOp::Sum), t);
            b.store(y, t, sum);
        });
        b.finish()
    };
    let mut buffers = [words(&[0; 64])];
    launch(&program(32), 1, &mut buffers, &[]).unwrap();
    assert_eq!(as_words(&buffers[0])[..32], [496; 32]);
    assert_eq!(kind(&program(33), 1, &mut buffers, &[]), FaultKind::DivergentSubgroup);
}

#[test]
fn undefined_memory_is_not_read() {
    let mut b = Builder::new("undefined", [4, 1, 1]);
    let y = b.buffer_mut("y", DType::F32);
    let tile = b.shared("tile", DType::F32, 8);
    let t = b.thread(0);
    let v = b.load(tile, t);
    b.store(y, t, v);
    assert_eq!(kind(&b.finish(), 1, &mut [floats(&[0.0; 4])], &[]), FaultKind::Undefined { place: "tile".to_owned(), index: 0 });

    // Written by the first group only: the next one does not see it.
    let mut b = Builder::new("stale", [4, 1, 1]);
    let y = b.buffer_mut("y", DType::F32);
    let v = b.local("v", Type::Scalar(DType::F32), 2);
    let (i, g, zero) = (b.global_index(), b.group(0), b.u32(0));
    let first = b.binary(BinaryOp::Eq, g, zero);
    b.when(first, |b| {
        let one = b.float(DType::F32, 1.0);
        b.store(v, zero, one);
    });
    let r = b.load(v, zero);
    b.store(y, i, r);
    let program = b.finish();
    launch(&program, 1, &mut [floats(&[0.0; 4])], &[]).unwrap();
    let fault = launch(&program, 2, &mut [floats(&[0.0; 8])], &[]).unwrap_err();
    assert_eq!((fault.kind, fault.group), (FaultKind::Undefined { place: "v".to_owned(), index: 0 }, [1, 0, 0]));
}

#[test]
fn vectors_move_memory() {
    let mut b = Builder::new("reverse4", [4, 1, 1]);
    let (x, y) = (b.buffer("x", DType::F16), b.buffer_mut("y", DType::F16));
    let offset = b.scalar("offset", DType::U32);
    let t = b.thread(0);
    let at = b.mul_const(t, 4);
    let at = b.add(at, offset);
    let v = b.load_vector(x, at, 4);
    let lanes: Vec<_> = (0..4).rev().map(|lane| b.extract(v, lane)).collect();
    let r = b.compose(&lanes);
    let kept = b.local("kept", Type::Vector(DType::F16, 4), 2);
    let one = b.u32(1);
    b.store(kept, one, r);
    let r = b.load(kept, one);
    b.store(y, at, r);
    let program = b.finish();
    let halves: Vec<u8> = (0..16u16).flat_map(u16::to_le_bytes).collect();
    let mut buffers = [halves.clone(), halves.clone()];
    launch(&program, 1, &mut buffers, &[0]).unwrap();
    let expected: Vec<u8> = (0..16u16).map(|i| i / 4 * 4 + 3 - i % 4).flat_map(u16::to_le_bytes).collect();
    assert_eq!(buffers[1], expected);
    assert_eq!(kind(&program, 1, &mut buffers, &[2]), FaultKind::Misaligned { place: "x".to_owned(), index: 2, of: 4 });
    assert_eq!(kind(&program, 1, &mut buffers, &[4]), FaultKind::OutOfBounds { place: "x".to_owned(), index: 16, len: 16 });
}

#[test]
fn loops_count_per_thread() {
    // y[t] = sum of t, t + 3, ... below 20, by a loop whose bounds differ between threads.
    let mut b = Builder::new("stairs", [8, 1, 1]);
    let y = b.buffer_mut("y", DType::I64);
    let t = b.thread(0);
    let (start, end, step) = (b.cast(t, DType::I64), b.int(DType::I64, 20), b.int(DType::I64, 3));
    let zero = b.int(DType::I64, 0);
    let sum = b.variable("sum", zero);
    b.repeat(start, end, step, |b, i| {
        let old = b.get(sum);
        let new = b.add(old, i);
        b.set(sum, new);
    });
    let total = b.get(sum);
    b.store(y, t, total);
    let program = b.finish();
    let mut buffers = [vec![0; 64]];
    launch(&program, 1, &mut buffers, &[]).unwrap();
    let got: Vec<i64> = buffers[0].chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(got, (0..8).map(|t| (t..20).step_by(3).sum::<i64>()).collect::<Vec<_>>());
}

#[test]
fn endless_loops_end() {
    let mut b = Builder::new("endless", [4, 1, 1]);
    let truth = b.constant(Literal::one(DType::Bool));
    b.repeat_while(|_| truth, |_| {});
    let program = b.finish();
    let options = Options { max_steps: 1000, ..Options::default() };
    let fault = Interpreter::new(&program, &Target::interpreter()).unwrap().run([1; 3], &mut [], &[], options).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Endless(1000));
}

#[test]
fn tables_choose_per_thread() {
    let mut b = Builder::new("pick", [4, 1, 1]);
    let table = b.table("xs", DType::F32, 2, false);
    let rates = b.scalar_table("rates", DType::F32, 2);
    let y = b.buffer_mut("y", DType::F32);
    let t = b.thread(0);
    let (which, at) = (b.rem_const(t, 2), b.div_const(t, 2));
    let v = b.load(Place::Table(table, which), at);
    let rate = b.table_scalar(rates, which);
    let r = b.mul(v, rate);
    b.store(y, t, r);
    let program = b.finish();
    let mut memory = [floats(&[1.0, 2.0]), floats(&[3.0, 4.0]), floats(&[0.0; 4])];
    let span = |allocation: usize, len| Span { allocation, offset: 0, len };
    let rates = [10.0f32, 100.0].map(|x| x.to_bits().into());
    let arguments = [Argument::Table(vec![span(0, 8), span(1, 8)]), Argument::ScalarTable(rates.to_vec()), Argument::Buffer(span(2, 16))];
    run(&program, &Target::interpreter(), [1; 3], &mut memory, &arguments).unwrap();
    assert_eq!(as_floats(&memory[2]), [10.0, 300.0, 20.0, 400.0]);
    assert!(matches!(run(&program, &Target::interpreter(), [1; 3], &mut memory, &arguments[..2]).unwrap_err().kind, FaultKind::Launch(_)));
}

#[test]
fn fragments_multiply() {
    let shape = FragmentShape { m: 16, n: 8, k: 16, input: DType::F16, sum: DType::F32 };
    let fragment = |role| Type::Fragment(Fragment { shape, role });
    let mut b = Builder::new("mma", [32, 1, 1]);
    let (x, w, y) = (b.buffer("x", DType::F16), b.buffer("w", DType::F16), b.buffer_mut("y", DType::F32));
    let (zero, k) = (b.u32(0), b.u32(16));
    let x = b.inst(Op::FragmentLoad { place: x, index: zero, stride: k, transposed: false }, fragment(FragmentRole::A));
    let w = b.inst(Op::FragmentLoad { place: w, index: zero, stride: k, transposed: true }, fragment(FragmentRole::B));
    let half = b.float(DType::F32, 0.5);
    let bias = b.inst(Op::FragmentFill(half), fragment(FragmentRole::C));
    let acc = b.local("acc", fragment(FragmentRole::C), 1);
    b.store(acc, zero, bias);
    let c = b.load(acc, zero);
    let r = b.inst(Op::FragmentMma(x, w, c), fragment(FragmentRole::C));
    let n = b.u32(8);
    b.stmt(Stmt::FragmentStore { place: y, index: zero, stride: n, value: r });
    let program = b.finish();
    let at = |row: usize, column: usize| ((row * 3 + column * 5) % 7) as f32;
    let halves = |rows: usize, columns: usize| -> Vec<u8> {
        (0..rows * columns).flat_map(|i| half::f16::from_f32(at(i / columns, i % columns)).to_le_bytes()).collect()
    };
    let mut buffers = [halves(16, 16), halves(8, 16), floats(&[0.0; 128])];
    launch(&program, 1, &mut buffers, &[]).unwrap();
    let expected: Vec<f32> = (0..128).map(|i| 0.5 + (0..16).map(|k| at(i / 8, k) * at(i % 8, k)).sum::<f32>()).collect();
    assert_eq!(as_floats(&buffers[2]), expected);
}

/// Every operation in every dtype that it takes is what `unigrad-scalar` says, whatever fast path computes it.
#[test]
fn operations_mean_their_definition() {
    let specials = [0.0, -0.0, 1.0, -1.0, 2.5, -7.0, 3.0, 1e-3, 1e10, -1e10, 40.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for dtype in DType::ALL.into_iter().filter(|d| d.compute() == *d) {
        let values: Vec<Literal> = if dtype.is_float() {
            specials.iter().map(|x| Literal::float(dtype, *x)).collect()
        } else {
            [0, 1, 2, 3, 7, -1, -2, -7, 31, 64, 200, i64::MAX, i64::MIN, 1 << 31].iter().map(|x| Literal::int(dtype, *x)).collect()
        };
        let n = values.len();
        let pairs: Vec<(Literal, Literal)> = (0..n * n).map(|i| (values[i / n], values[i % n])).collect();
        let column = |f: &dyn Fn(&(Literal, Literal)) -> Literal| {
            pairs.iter().flat_map(|p| f(p).to_raw().to_le_bytes()[..dtype.size()].to_vec()).collect::<Vec<u8>>()
        };
        for op in BinaryOp::ALL.iter().copied() {
            let bits = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr);
            let arithmetic = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::IDiv | BinaryOp::Rem | BinaryOp::Pow);
            let shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
            if (dtype == DType::Bool && (arithmetic || shift))
                || (dtype.is_float() && bits)
                || (!dtype.is_float() && matches!(op, BinaryOp::Div | BinaryOp::Atan2))
            {
                continue;
            }
            let mut b = Builder::new("binary", [n as u32, 1, 1]);
            let (x, w) = (b.buffer("x", dtype), b.buffer("w", dtype));
            let result = if op.is_comparison() { DType::Bool } else { dtype };
            let y = b.buffer_mut("y", result);
            let i = b.global_index();
            let (p, q) = (b.load(x, i), b.load(w, i));
            let r = b.binary(op, p, q);
            b.store(y, i, r);
            let mut buffers = [column(&|p| p.0), column(&|p| p.1), vec![0; n * n * result.size()]];
            launch(&b.finish(), n as u32, &mut buffers, &[]).unwrap();
            for (i, (p, q)) in pairs.iter().enumerate() {
                let expected = if dtype.is_float() {
                    Literal::float(result, op.eval(p.as_f64(), q.as_f64()))
                } else {
                    Literal::int(result, op.eval_int(p.as_i64(), q.as_i64(), 8 * dtype.size() as u32, dtype.is_signed_int()))
                };
                let mut raw = [0; 8];
                raw[..result.size()].copy_from_slice(&buffers[2][i * result.size()..(i + 1) * result.size()]);
                let got = Literal::from_raw(result, u64::from_le_bytes(raw));
                let both_nan = result.is_float() && got.as_f64().is_nan() && expected.as_f64().is_nan();
                assert!(both_nan || got == expected, "{op} {dtype} {p:?} {q:?}: {got:?}, expected {expected:?}");
            }
        }
    }
}

#[test]
fn casts_saturate() {
    let cast = |from: DType, value: f64, to: DType| {
        let mut b = Builder::new("cast", [1, 1, 1]);
        let (x, y, zero) = (b.buffer("x", from), b.buffer_mut("y", to), b.u32(0));
        let v = b.load(x, zero);
        let r = b.cast(v, to);
        b.store(y, zero, r);
        let raw = Literal::float(from, value).to_raw().to_le_bytes();
        let mut buffers = [raw[..from.size()].to_vec(), vec![0; to.size()]];
        launch(&b.finish(), 1, &mut buffers, &[]).unwrap();
        let mut raw = [0; 8];
        raw[..to.size()].copy_from_slice(&buffers[1]);
        Literal::from_raw(to, u64::from_le_bytes(raw))
    };
    assert_eq!(cast(DType::F32, 300.7, DType::U8), Literal::int(DType::U8, 255));
    assert_eq!(cast(DType::F32, -300.7, DType::I8), Literal::int(DType::I8, -128));
    assert_eq!(cast(DType::F32, -1.5, DType::U32), Literal::int(DType::U32, 0));
    assert_eq!(cast(DType::F32, -1.5, DType::I8), Literal::int(DType::I8, -1));
    assert_eq!(cast(DType::F32, f64::NAN, DType::I64), Literal::int(DType::I64, 0));
    assert_eq!(cast(DType::F32, f64::NAN, DType::Bool), Literal::one(DType::Bool));
    assert_eq!(cast(DType::F64, 1e30, DType::I64), Literal::int(DType::I64, i64::MAX));
    assert_eq!(cast(DType::F32, 1e30, DType::I32), Literal::int(DType::I32, i32::MAX.into()));
    assert_eq!(cast(DType::U64, 1e19, DType::F32), Literal::float(DType::F32, 1e19));
    assert_eq!(cast(DType::F32, 1e-9, DType::F16), Literal::float(DType::F16, 1e-9));
    assert_eq!(cast(DType::BF16, 3.0, DType::F64), Literal::float(DType::F64, 3.0));
    assert_eq!(cast(DType::I32, -5.0, DType::BF16), Literal::float(DType::BF16, -5.0));
}

#[test]
fn unary_operations_mean_their_definition() {
    for op in UnaryOp::ALL.iter().copied().filter(|op| !matches!(op, UnaryOp::Not | UnaryOp::BitNot)) {
        for value in [0.0, -0.0, 0.3, -0.3, 2.0, -9.5, f64::INFINITY, f64::NAN] {
            let mut b = Builder::new("unary", [1, 1, 1]);
            let result = if op.gives_bool() { DType::Bool } else { DType::F32 };
            let (y, zero) = (b.buffer_mut("y", result), b.u32(0));
            let v = b.scalar("v", DType::F32);
            let r = b.unary(op, v);
            b.store(y, zero, r);
            let mut buffers = [vec![0; result.size()]];
            let value = Literal::float(DType::F32, value);
            launch(&b.finish(), 1, &mut buffers, &[value.to_raw()]).unwrap();
            let mut raw = [0; 8];
            raw[..result.size()].copy_from_slice(&buffers[0]);
            let (got, expected) = (Literal::from_raw(result, u64::from_le_bytes(raw)), Literal::float(result, op.eval(value.as_f64())));
            assert!(
                got == expected || got.as_f64().is_nan() && expected.as_f64().is_nan(),
                "{op} {value:?}: {got:?}, expected {expected:?}"
            );
        }
    }
}
