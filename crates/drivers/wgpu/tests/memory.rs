//! Memory inside programs: stores of less than a word by neighbouring threads, vectors, shared memory, atomics, subgroups, 64-bit counters.

#[path = "../../../unigrad-ir/tests/programs/mod.rs"]
mod programs;
mod support;

use support::{Arg, Random, run};
use unigrad_gpu::Backend;
use unigrad_ir::{AtomicOp, Builder};
use unigrad_scalar::{BinaryOp, DType, Literal};

fn numbers(dtype: DType, n: usize) -> Vec<u64> {
    (0..n).map(|i| Literal::int(dtype, i as i64 * 7 - 11).to_raw()).collect()
}

#[test]
fn neighbours_do_not_overwrite_each_other() {
    for (what, backend) in support::backends() {
        for dtype in programs::held(&support::widened(backend.target())) {
            // Thread i writes element n - 1 - i of an array that begins and ends within a word, but for every third.
            let mut b = Builder::new(format!("reverse_{dtype}"), [64, 1, 1]);
            let (x, y, n) = (b.buffer("x", dtype), b.buffer_mut("y", dtype), b.scalar("n", DType::U32));
            let i = b.global_index();
            let inside = b.lt(i, n);
            let third = b.rem_const(i, 3);
            let zero = b.u32(0);
            let wanted = b.binary(BinaryOp::Ne, third, zero);
            let both = b.and(inside, wanted);
            b.when(both, |b| {
                let v = b.load(x, i);
                let last = b.add_const(n, -1);
                let at = b.sub(last, i);
                b.store(y, at, v);
            });
            let program = b.finish();
            for n in [1usize, 3, 5, 1021] {
                let (x, old) = (numbers(dtype, n), numbers(dtype, 2 * n).split_off(n));
                let args = [Arg::Buffer(x.clone()), Arg::Buffer(old.clone()), Arg::Scalar(n as u64)];
                let got = run(&backend, &program, [n.div_ceil(64) as u32, 1, 1], &args);
                let want: Vec<u64> = (0..n).map(|at| if (n - 1 - at).is_multiple_of(3) { old[at] } else { x[n - 1 - at] }).collect();
                assert_eq!(got[1], want, "{what}: {dtype}, {n} elements");
            }
        }
    }
}

#[test]
fn vectors_go_through_every_memory() {
    for (what, backend) in support::backends() {
        for dtype in programs::held(&support::widened(backend.target())) {
            for lanes in [2u8, 4, 8].into_iter().filter(|lanes| usize::from(*lanes) * dtype.size() <= 16) {
                let n = 16 * usize::from(lanes);
                let x = numbers(dtype, n);
                let got = run(&backend, &programs::vectors(dtype, lanes), [1, 1, 1], &[Arg::Buffer(x.clone()), Arg::Buffer(vec![0; n])]);
                let want: Vec<u64> = x.chunks(lanes.into()).flat_map(|chunk| chunk.iter().rev().copied()).collect();
                assert_eq!(got[1], want, "{what}: {dtype} x {lanes}");
            }
        }
    }
}

#[test]
fn vectors_and_scalars_mix_in_one_buffer() {
    for (what, backend) in support::backends() {
        for dtype in [DType::F32, DType::U32, DType::BF16, DType::U8, DType::I16] {
            // y[8 i ..] = x[8 i ..] as vectors of 4, and y[8 i] once more alone, from a scalar load.
            let mut b = Builder::new(format!("mixed_{dtype}"), [16, 1, 1]);
            let (x, y) = (b.buffer("x", dtype), b.buffer_mut("y", dtype));
            let t = b.thread(0);
            let at = b.mul_const(t, 8);
            for half in [0, 4] {
                let at = b.add_const(at, half);
                let v = b.load_vector(x, at, 4);
                b.store(y, at, v);
            }
            let next = b.add_const(at, 1);
            let v = b.load(x, next);
            b.store(y, at, v);
            let raw = numbers(dtype, 128);
            let got = run(&backend, &b.finish(), [1, 1, 1], &[Arg::Buffer(raw.clone()), Arg::Buffer(vec![0; 128])]);
            let want: Vec<u64> = (0..128).map(|i| if i % 8 == 0 { raw[i + 1] } else { raw[i] }).collect();
            assert_eq!(got[1], want, "{what}: {dtype}");
        }
    }
}

#[test]
fn sums_loops_and_products() {
    for (what, backend) in support::backends() {
        let x: Vec<f32> = (0..4 * 100).map(|i| (i % 17) as f32 - 3.0).collect();
        let raw = |x: &[f32]| x.iter().map(|x| u64::from(x.to_bits())).collect::<Vec<u64>>();
        let args = [Arg::Buffer(raw(&x)), Arg::Buffer(vec![0; 4]), Arg::Scalar(100)];
        let got = run(&backend, &programs::row_sum(), [4, 1, 1], &args);
        let want: Vec<f32> = x.chunks(100).map(|row| row.iter().sum()).collect();
        assert_eq!(got[1], raw(&want), "{what}");

        let starts: Vec<u64> = (1..=16).collect();
        let steps =
            |start: u64| (0..).scan(start, |v, _| (*v > 1).then(|| *v = if *v % 2 == 1 { 3 * *v + 1 } else { *v / 2 })).count() as u64;
        let got = run(&backend, &programs::collatz(), [2, 1, 1], &[Arg::Buffer(starts.clone()), Arg::Buffer(vec![0; 16])]);
        assert_eq!(got[1], starts.iter().map(|s| steps(*s)).collect::<Vec<u64>>(), "{what}");

        for wide in [false, true] {
            let (a, c): (Vec<f32>, Vec<f32>) = ((0..64).map(|i| i as f32).collect(), (0..64).map(|i| (i % 5) as f32 - 2.0).collect());
            let got = run(
                &backend,
                &programs::small_product(wide),
                [1, 1, 1],
                &[Arg::Buffer(raw(&a)), Arg::Buffer(raw(&c)), Arg::Buffer(vec![0; 64])],
            );
            let dot = |i: usize, j: usize| (0..8).map(|k| a[8 * i + k] * c[8 * k + j]).sum::<f32>();
            let want: Vec<f32> = (0..64).map(|at| dot(at / 8, at % 8)).collect();
            assert_eq!(got[2], raw(&want), "{what}");
        }
    }
}

#[test]
fn atomics_lose_nothing() {
    for (what, backend) in support::backends() {
        for dtype in [DType::U32, DType::I32] {
            let mut start = vec![0u64; 12];
            (start[2], start[3]) = (1000, 0xff);
            let got = &run(&backend, &programs::atomics(dtype), [4, 1, 1], &[Arg::Buffer(start)])[0];
            let xor = (1..=64u64).fold(0, |a, b| a ^ b);
            assert_eq!(got[..7], [2080, 64, 1, 0, 127, xor, 2080], "{what}: {dtype}");
            let sums: Vec<u64> = (0..4u64).map(|g| (16 * g + 1..=16 * g + 16).sum()).collect();
            assert_eq!(got[8..12], sums, "{what}: {dtype}");
        }
        let got = &run(&backend, &programs::atomics(DType::F32), [4, 1, 1], &[Arg::Buffer(vec![0; 12])])[0];
        assert_eq!(f32::from_bits(got[0] as u32), 2080.0, "{what}");
    }
}

#[test]
fn float_maxima_by_compare_and_exchange() {
    for (what, backend) in support::backends() {
        let mut b = Builder::new("maximum", [64, 1, 1]);
        let (x, y) = (b.buffer("x", DType::F32), b.buffer_atomic("y", DType::F32));
        let i = b.global_index();
        let v = b.load(x, i);
        let zero = b.u32(0);
        b.atomic(AtomicOp::Max, y, zero, v);
        let mut random = Random(5);
        let x: Vec<u64> = (0..256).map(|_| u64::from((random.next() as i32 as f32).to_bits())).collect();
        let got = run(&backend, &b.finish(), [4, 1, 1], &[Arg::Buffer(x.clone()), Arg::Buffer(vec![0xff80_0000])]);
        let want = x.iter().map(|x| f32::from_bits(*x as u32)).fold(f32::NEG_INFINITY, f32::max);
        assert_eq!(f32::from_bits(got[1][0] as u32), want, "{what}");
    }
}

#[test]
fn subgroups_do_what_they_say() {
    for (what, backend) in support::backends() {
        let Some(size) = backend.target().subgroup.map(|n| n as usize) else {
            println!("SKIPPED: {what}: subgroups of unknown size");
            continue;
        };
        for dtype in [DType::F32, DType::I64, DType::U8, DType::BF16, DType::Bool] {
            let x: Vec<u64> = (0..64u64).map(|i| Literal::int(dtype, (i % 3) as i64).to_raw()).collect();
            let n_ops = if dtype == DType::BF16 {
                4
            } else if dtype == DType::Bool {
                6
            } else {
                8
            };
            let args = [Arg::Buffer(x.clone()), Arg::Buffer(vec![0; 64 * n_ops]), Arg::Buffer(vec![0; 64])];
            let got = run(&backend, &programs::subgroups(dtype), [1, 1, 1], &args);
            let of = |t: usize, lane: usize| x[t / size * size + lane];
            for t in 0..64 {
                let lane = t % size;
                assert_eq!(got[2][t], lane as u64, "{what}: lane of {t}");
                let down = if lane + 3 < size { lane + 3 } else { lane };
                let up = if lane >= 2 { lane - 2 } else { lane };
                let want = [of(t, lane ^ 1), of(t, down), of(t, up), of(t, 5 % size)];
                for (k, want) in want.into_iter().enumerate() {
                    assert_eq!(got[1][64 * k + t], want, "{what}: {dtype} operation {k} of {t}");
                }
                if n_ops == 8 {
                    let all: Vec<i64> = (0..size).map(|lane| Literal::from_raw(dtype, of(t, lane)).as_i64()).collect();
                    let want = [*all.iter().max().unwrap(), *all.iter().min().unwrap(), all.iter().sum(), all.iter().product()];
                    for (k, want) in want.into_iter().enumerate() {
                        let want = Literal::int(dtype, want).to_raw();
                        assert_eq!(got[1][64 * (k + 4) + t], want, "{what}: {dtype} reduction {k} of {t}");
                    }
                }
            }
        }
    }
}

#[test]
fn threads_groups_and_scalars() {
    for (what, backend) in support::backends() {
        let target = support::widened(backend.target());
        let program = programs::places_and_names(&target);
        let scalars: Vec<Literal> = programs::computed(&target).into_iter().map(|dtype| Literal::int(dtype, 3)).collect();
        let sum = scalars.iter().map(|s| s.as_i64() as u64).sum::<u64>();
        let grid = [3u32, 2, 2];
        let n = 4 * 2 * 2 * 12usize;
        let mut args = vec![Arg::Buffer(vec![0; n])];
        args.extend(scalars.iter().map(|s| Arg::Scalar(s.to_raw())));
        let got = &run(&backend, &program, grid, &args)[0];
        let want = |at: u64| if at.is_multiple_of(2) { sum + ((at * 0xffff_fff0) >> 32) } else { at };
        assert_eq!(*got, (0..n as u64).map(want).collect::<Vec<u64>>(), "{what}");
    }
}

#[test]
fn scalar_tables_of_every_width() {
    use unigrad_gpu::{Bound, Range};
    for (what, backend) in support::backends() {
        let mut b = Builder::new("tables", [8, 1, 1]);
        let (small, wide) = (b.scalar_table("small", DType::F32, 5), b.scalar_table("wide", DType::I64, 5));
        let (y, z) = (b.buffer_mut("y", DType::F32), b.buffer_mut("z", DType::I64));
        let t = b.thread(0);
        let five = b.u32(5);
        let inside = b.lt(t, five);
        b.when(inside, |b| {
            let (v, w) = (b.table_scalar(small, t), b.table_scalar(wide, t));
            b.store(y, t, v);
            b.store(z, t, w);
        });
        let module = backend.load(&b.finish()).unwrap();
        let memory = backend.allocate(128).unwrap();
        let (y, z) = (Range { handle: memory, offset: 0, len: 20 }, Range { handle: memory, offset: 64, len: 40 });
        let (floats, ints) = ([1.5f32, -2.0, 0.25, 3.0, 7.0], [1i64, -1, 1 << 40, i64::MIN, 9]);
        let tables = [
            Bound::ScalarTable(DType::F32, floats.map(|x| x.to_bits().into()).to_vec()),
            Bound::ScalarTable(DType::I64, ints.map(|x| x as u64).to_vec()),
        ];
        backend.launch(&module, [1, 1, 1], &[tables[0].clone(), tables[1].clone(), Bound::Buffer(y), Bound::Buffer(z)]).unwrap();
        let mut data = [0; 104];
        backend.download(Range { handle: memory, offset: 0, len: 104 }, &mut data).unwrap();
        assert_eq!(support::elements(DType::F32, &data[..20]), floats.map(|x| u64::from(x.to_bits())), "{what}");
        assert_eq!(support::elements(DType::I64, &data[64..]), ints.map(|x| x as u64), "{what}");
    }
}
