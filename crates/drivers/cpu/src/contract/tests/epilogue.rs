//! Products with epilogues: what a map may do with sums, at every edge of a tile, and timings.
//!
//! Always: against sums that are stored first and the same map over them afterwards, so that nothing but the way differs.

use super::{AsBuf, filled, matmul, time};
use crate::contract::CompiledContract;
use crate::contract::kernel::Compute;
use crate::memory::Buf;
use crate::region::CompiledRegion;
use crate::simd::{Bf16, tests::tiers};
use smallvec::{SmallVec, smallvec};
use unigrad_kernel::testing::{Memory, Rng};
use unigrad_kernel::{Arg, Contract, Index, Inst, InstOp, Region, Value};
use unigrad_scalar::{BinaryOp, DType, Literal, UnaryOp};

/// An epilogue under construction.
struct Map(Region);

impl Map {
    fn new(axes: &[usize], acc: DType) -> (Map, Value) {
        let axes: SmallVec<[usize; 6]> = axes.iter().copied().collect();
        let n_parallel = axes.len();
        let mut map = Map(Region { name: "epilogue".into(), axes, n_parallel, args: vec![], scalars: vec![], insts: vec![] });
        let sums = map.push(InstOp::Acc, acc);
        (map, sums)
    }

    fn push(&mut self, op: InstOp, dtype: DType) -> Value {
        self.0.insts.push(Inst { op, dtype });
        Value(self.0.insts.len() as u32 - 1)
    }

    fn dtype(&self, value: Value) -> DType {
        self.0.insts[value.index()].dtype
    }

    fn arg(&mut self, dtype: DType, strides: &[i64], write: bool) -> u32 {
        let len = strides.iter().zip(&self.0.axes).map(|(s, e)| *s as usize * e.saturating_sub(1)).sum::<usize>() + 1;
        self.0.args.push(Arg { dtype, len, write });
        self.0.args.len() as u32 - 1
    }

    fn index(strides: &[i64]) -> Index {
        Index { offset: 0, strides: strides.iter().copied().collect(), dynamic: smallvec![] }
    }

    fn load(&mut self, dtype: DType, strides: &[i64]) -> Value {
        let arg = self.arg(dtype, strides, false);
        self.push(InstOp::Load { arg, index: Map::index(strides), mask: None }, dtype)
    }

    fn store(&mut self, value: Value, strides: &[i64]) {
        let dtype = self.dtype(value);
        let arg = self.arg(dtype, strides, true);
        self.push(InstOp::Store { arg, index: Map::index(strides), value }, dtype);
    }

    fn unary(&mut self, op: UnaryOp, a: Value) -> Value {
        let dtype = if op.gives_bool() { DType::Bool } else { self.dtype(a) };
        self.push(InstOp::Unary(op, a), dtype)
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let dtype = if op.is_comparison() { DType::Bool } else { self.dtype(a) };
        self.push(InstOp::Binary(op, a, b), dtype)
    }

    fn number(&mut self, dtype: DType, x: f64) -> Value {
        self.push(InstOp::Const(if dtype.is_float() { Literal::float(dtype, x) } else { Literal::int(dtype, x as i64) }), dtype)
    }

    fn cast(&mut self, a: Value, to: DType) -> Value {
        self.push(InstOp::Cast(a), to)
    }

    /// `sums` where the second index is not above the first, otherwise a number.
    fn causal(&mut self, sums: Value, axes: [u32; 2]) -> Value {
        let (i, j) = (self.push(InstOp::AxisIndex(axes[0]), DType::I64), self.push(InstOp::AxisIndex(axes[1]), DType::I64));
        let on = self.binary(BinaryOp::Le, j, i);
        let off = self.number(self.dtype(sums), -9.0);
        self.push(InstOp::Where(on, sums, off), self.dtype(sums))
    }
}

/// What epilogues of layers are, over `[m, n]` sums of `f32`.
fn of_layers(m: usize, n: usize) -> Vec<(&'static str, Option<Region>)> {
    let f = DType::F32;
    let (rows, columns) = ([n as i64, 1], [0, 1]);
    let mut out = vec![("plain", None)];
    let mut add = |name, f: &dyn Fn(&mut Map, Value)| {
        let (mut map, sums) = Map::new(&[m, n], DType::F32);
        f(&mut map, sums);
        out.push((name, Some(map.0)));
    };
    add("scale", &|map, sums| {
        let scale = map.number(f, 0.125);
        let y = map.binary(BinaryOp::Mul, sums, scale);
        map.store(y, &rows);
    });
    add("bias", &|map, sums| {
        let bias = map.load(f, &columns);
        let y = map.binary(BinaryOp::Add, sums, bias);
        map.store(y, &rows);
    });
    add("residual", &|map, sums| {
        let residual = map.load(f, &rows);
        let y = map.binary(BinaryOp::Add, sums, residual);
        map.store(y, &rows);
    });
    add("bias+residual", &|map, sums| {
        let (bias, residual) = (map.load(f, &columns), map.load(f, &rows));
        let y = map.binary(BinaryOp::Add, sums, bias);
        let y = map.binary(BinaryOp::Add, y, residual);
        map.store(y, &rows);
    });
    add("bias+relu", &|map, sums| {
        let bias = map.load(f, &columns);
        let y = map.binary(BinaryOp::Add, sums, bias);
        let y = map.unary(UnaryOp::Relu, y);
        map.store(y, &rows);
    });
    add("bias+gelu", &|map, sums| {
        let bias = map.load(f, &columns);
        let y = map.binary(BinaryOp::Add, sums, bias);
        let y = map.unary(UnaryOp::Gelu, y);
        map.store(y, &rows);
    });
    add("bias+gelu, both", &|map, sums| {
        let bias = map.load(f, &columns);
        let x = map.binary(BinaryOp::Add, sums, bias);
        let y = map.unary(UnaryOp::GeluTanh, x);
        map.store(x, &rows);
        map.store(y, &rows);
    });
    add("cast bf16", &|map, sums| {
        let y = map.cast(sums, DType::BF16);
        map.store(y, &rows);
    });
    add("bias, cast f16", &|map, sums| {
        let bias = map.load(f, &columns);
        let y = map.binary(BinaryOp::Add, sums, bias);
        let y = map.cast(y, DType::F16);
        map.store(y, &rows);
    });
    add("causal", &|map, sums| {
        let y = map.causal(sums, [0, 1]);
        map.store(y, &rows);
    });
    add("column scale", &|map, sums| {
        let scale = map.load(f, &[1, 0]);
        let y = map.binary(BinaryOp::Mul, sums, scale);
        map.store(y, &rows);
    });
    out
}

/// Every epilogue at every edge of tiles and blocks, against the same map over sums that were stored.
#[test]
fn epilogues_of_layers_at_every_edge() {
    let mut rng = Rng(41);
    for tier in tiers() {
        let kernels = f32::kernels(tier);
        let around = |n: usize| [n - 1, n, n + 1];
        let rows: Vec<usize> = [1, 3 * kernels.mr + 1, 169, 257].into_iter().chain(around(kernels.mr)).collect();
        let cols: Vec<usize> = [1, 2, 65, 600, 1030].into_iter().chain(around(kernels.nr)).chain(around(64)).collect();
        for (i, m) in rows.into_iter().enumerate() {
            for (j, n) in cols.iter().copied().enumerate() {
                let k = [1, 17, 330][(i + j) % 3];
                let plain = matmul(m, n, k, i % 2 == 1, j % 2 == 1, DType::F32);
                let mut memory = [plain.a, plain.b, plain.c].map(|arg| Memory::new(arg.dtype, arg.len));
                // Whole numbers: sums are exact, whatever the way.
                for memory in &mut memory[..2] {
                    (0..memory.len()).for_each(|i| memory.set(i, Literal::int(DType::F32, rng.below(5) as i64 - 2)));
                }
                let [mut a, mut b, mut sums] = memory;
                // SAFETY: the buffers match the contraction.
                unsafe { CompiledContract::for_tier(&plain, tier, Bf16::Widened).unwrap().run_on(1, &[a.buf(), b.buf(), sums.buf()], &[]) }
                    .unwrap();
                for (name, epilogue) in of_layers(m, n) {
                    let Some(epilogue) = epilogue else { continue };
                    let mut others: Vec<Memory> = epilogue.args.iter().map(|arg| Memory::new(arg.dtype, arg.len)).collect();
                    for (other, _) in others.iter_mut().zip(&epilogue.args).filter(|(_, arg)| !arg.write) {
                        (0..other.len()).for_each(|i| other.set(i, Literal::float(DType::F32, rng.below(200) as f64 / 40.0 - 2.5)));
                    }
                    let mut wanted = others.clone();
                    let mut of_stored = epilogue.clone();
                    of_stored.args.push(Arg { dtype: DType::F32, len: m * n, write: false });
                    let index = Map::index(&[n as i64, 1]);
                    of_stored.insts[0].op = InstOp::Load { arg: of_stored.args.len() as u32 - 1, index, mask: None };
                    let mut bufs: Vec<Buf> = wanted.iter_mut().map(Memory::buf).collect();
                    bufs.push(sums.buf());
                    // SAFETY: the buffers match the map.
                    unsafe { CompiledRegion::on(&of_stored, tier).unwrap().run(&bufs, &[]) }.unwrap();
                    let contract = Contract { epilogue: Some(Box::new(epilogue)), ..plain.clone() };
                    let compiled = CompiledContract::for_tier(&contract, tier, Bf16::Widened).unwrap();
                    for threads in [1, 2, 3] {
                        let mut got = others.clone();
                        let mut bufs = vec![a.buf(), b.buf()];
                        bufs.extend(got.iter_mut().map(Memory::buf));
                        // SAFETY: the buffers match the contraction.
                        unsafe { compiled.run_on(threads, &bufs, &[]) }.unwrap();
                        for (arg, (got, want)) in got.iter().zip(&wanted).enumerate() {
                            assert!(got.bytes() == want.bytes(), "{name} of {m}x{n}x{k} on {tier:?}, {threads} threads: argument {arg}");
                        }
                    }
                }
            }
        }
    }
}

/// `cargo test --release -p unigrad-cpu epilogue::speed -- --ignored --nocapture`, with `ONLY=bias` for some of them.
#[test]
#[ignore = "a measurement"]
fn speed() {
    let only = std::env::var("ONLY").unwrap_or_default();
    for (m, n, k, tb) in [
        (1024, 64, 64, true),
        (1024, 192, 64, true),
        (1024, 256, 64, true),
        (1024, 64, 256, true),
        (1024, 256, 256, true),
        (1024, 1024, 256, false),
    ] {
        for (name, epilogue) in of_layers(m, n) {
            let name = format!("{m}x{n}x{k} {name}");
            if !name.contains(&only) {
                continue;
            }
            let mut contract = matmul(m, n, k, false, tb, DType::F32);
            contract.epilogue = epilogue.map(Box::new);
            let [mut a, mut b, mut c] = filled(&contract);
            let mut others: Vec<Memory> =
                contract.epilogue.iter().flat_map(|e| &e.args).map(|arg| Memory::new(arg.dtype, arg.len)).collect();
            let mut bufs: Vec<Buf> = vec![a.buf(), b.buf()];
            if others.is_empty() {
                bufs.push(c.buf());
            }
            bufs.extend(others.iter_mut().map(Memory::buf));
            time(&name, &contract, &bufs);
        }
    }
}

/// The same for what a map makes of `a` before it is multiplied.
#[test]
#[ignore = "a measurement"]
fn speed_of_prologues() {
    for (m, n, k, ta) in [(1024, 64, 64, false), (1024, 256, 64, false), (256, 64, 1024, true), (64, 256, 1024, true)] {
        for made in [false, true] {
            let mut contract = matmul(m, n, k, ta, false, DType::F32);
            let [mut a, mut b, mut c] = filled(&contract);
            let strides = if ta { [m as i64, 1] } else { [k as i64, 1] };
            let mut row = Memory::new(DType::F32, m.max(k));
            let mut bufs: Vec<Buf> = vec![a.buf(), b.buf(), c.buf()];
            if made {
                let axes = if ta { [k, m] } else { [m, k] };
                let (mut map, _) = Map::new(&axes, DType::F32);
                map.0.insts.clear();
                let (x, column) = (map.load(DType::F32, &strides), map.load(DType::F32, &[0, 1]));
                let y = map.binary(BinaryOp::Mul, x, column);
                map.store(y, &strides);
                contract.prologues[0] = Some(Box::new(map.0));
                bufs.push(row.buf());
            }
            time(&format!("{m}x{n}x{k} ta={ta} {}", if made { "made" } else { "plain" }), &contract, &bufs);
        }
    }
}
