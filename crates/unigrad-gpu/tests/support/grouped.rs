//! Groups on a device against the plain evaluator: maps and reductions of many tensors of unequal lengths, in place, with scalars of their own; and
//! several groups as one launch.
//!
//! In: an open device. Out: nothing, or a panic that names group, buffer and element.
//! Always: arguments are parts of one allocation, at multiples of 64 bytes, with bytes between them that nothing may touch.

use smallvec::{SmallVec, smallvec};
use unigrad_device::{Error, OpenDevice, Slice};
use unigrad_kernel::testing::region::{self as oracle, Buffer, Memory};
use unigrad_kernel::{Arg, Grouped, Index, Inst, InstOp, Joined, Kernel, Region, Value};
use unigrad_scalar::{BinaryOp, DType, Literal, ReduceOp};

/// What bytes are that nothing writes.
const UNTOUCHED: u8 = 0xa5;

/// A region of one axis under construction: a map, until its axis is said to be reduced.
struct Make(Region);

impl Make {
    fn new(name: &str, len: usize) -> Make {
        Make(Region { name: name.into(), axes: smallvec![len], n_parallel: 1, args: vec![], scalars: vec![], insts: vec![] })
    }

    fn push(&mut self, op: InstOp, dtype: DType) -> Value {
        self.0.insts.push(Inst { op, dtype });
        Value(self.0.insts.len() as u32 - 1)
    }

    fn arg(&mut self, dtype: DType, len: usize, write: bool) -> u32 {
        self.0.args.push(Arg { dtype, len, write });
        self.0.args.len() as u32 - 1
    }

    fn load(&mut self, arg: u32, stride: i64) -> Value {
        let dtype = self.0.args[arg as usize].dtype;
        let index = Index { offset: 0, strides: SmallVec::from_slice(&[stride]), dynamic: smallvec![] };
        self.push(InstOp::Load { arg, index, mask: None }, dtype)
    }

    fn store(&mut self, arg: u32, value: Value) {
        let dtype = self.0.insts[value.index()].dtype;
        let index = Index { offset: 0, strides: smallvec![1], dynamic: smallvec![] };
        self.push(InstOp::Store { arg, index, value }, dtype);
    }

    fn store_once(&mut self, arg: u32, value: Value) {
        let dtype = self.0.insts[value.index()].dtype;
        let index = Index { offset: 0, strides: smallvec![0], dynamic: smallvec![] };
        self.push(InstOp::Store { arg, index, value }, dtype);
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let dtype = self.0.insts[a.index()].dtype;
        self.push(InstOp::Binary(op, a, b), dtype)
    }

    fn cast(&mut self, a: Value, dtype: DType) -> Value {
        if self.0.insts[a.index()].dtype == dtype { a } else { self.push(InstOp::Cast(a), dtype) }
    }
}

/// `w -= rate * half * byte * scale[0] * g`, in place, and a copy in `copy`.
fn update(dtype: DType, copy: DType, len: usize) -> Region {
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let mut m = Make::new("update", len);
    m.0.scalars = vec![DType::F32, DType::BF16, DType::U8];
    let (w_at, g_at, scale_at) = (m.arg(dtype, len, true), m.arg(dtype, len, false), m.arg(DType::F32, 1, false));
    let (w, g, scale) = (m.load(w_at, 1), m.load(g_at, 1), m.load(scale_at, 0));
    let mut step = m.cast(scale, wide);
    for (slot, dtype) in [DType::F32, DType::BF16, DType::U8].into_iter().enumerate() {
        let number = m.push(InstOp::Scalar(slot as u32), dtype);
        let number = m.cast(number, wide);
        step = m.binary(BinaryOp::Mul, step, number);
    }
    let (w, g) = (m.cast(w, wide), m.cast(g, wide));
    let step = m.binary(BinaryOp::Mul, step, g);
    let new = m.binary(BinaryOp::Sub, w, step);
    m.store(w_at, new);
    let copied = m.arg(copy, len, true);
    m.store(copied, new);
    m.0
}

/// `y = i`, where each `i` must be an index of 10 elements, counted from the start.
fn indices(len: usize) -> Region {
    let mut m = Make::new("indices", len);
    let (i_at, y_at) = (m.arg(DType::I64, len, false), m.arg(DType::I64, len, true));
    let index = m.load(i_at, 1);
    let bounded = m.push(InstOp::Bounded { index, size: 10, from_end: true, check: 0 }, DType::I64);
    m.store(y_at, bounded);
    m.0
}

/// `total = sum w`, `rest = sum (w - max g) * byte`, and in place `w += max g - g * scale[0]`: reductions in two stages, stores at every point and once.
fn norms(dtype: DType, len: usize) -> Region {
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let mut m = Make::new("norms", len);
    m.0.n_parallel = 0;
    m.0.scalars = vec![DType::F32, DType::BF16, DType::U8];
    let (w_at, g_at, scale_at) = (m.arg(dtype, len, true), m.arg(dtype, len, false), m.arg(DType::F32, 1, false));
    let (total_at, rest_at) = (m.arg(wide, 1, true), m.arg(wide, 1, true));
    let (w, g, scale) = (m.load(w_at, 1), m.load(g_at, 1), m.load(scale_at, 0));
    let (w, g, scale) = (m.cast(w, wide), m.cast(g, wide), m.cast(scale, wide));
    let total = m.push(InstOp::Reduce(ReduceOp::Sum, w), wide);
    let most = m.push(InstOp::Reduce(ReduceOp::Max, g), wide);
    let below = m.binary(BinaryOp::Sub, w, most);
    let byte = m.push(InstOp::Scalar(2), DType::U8);
    let byte = m.cast(byte, wide);
    let below = m.binary(BinaryOp::Mul, below, byte);
    let rest = m.push(InstOp::Reduce(ReduceOp::Sum, below), wide);
    let step = m.binary(BinaryOp::Mul, g, scale);
    let step = m.binary(BinaryOp::Sub, most, step);
    let new = m.binary(BinaryOp::Add, w, step);
    m.store(w_at, new);
    m.store_once(total_at, total);
    m.store_once(rest_at, rest);
    m.0
}

/// `totals = sum of each row of w`, and in place `w = max of the row - w`; rows of 96.
fn rows(dtype: DType, n: usize) -> Region {
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let mut m = Make::new("rows", n);
    m.0.axes.push(96);
    let (w_at, totals_at) = (m.arg(dtype, 96 * n, true), m.arg(wide, n, true));
    let at = |strides: [i64; 2]| Index { offset: 0, strides: SmallVec::from_slice(&strides), dynamic: smallvec![] };
    let w = m.push(InstOp::Load { arg: w_at, index: at([96, 1]), mask: None }, dtype);
    let w = m.cast(w, wide);
    let total = m.push(InstOp::Reduce(ReduceOp::Sum, w), wide);
    let most = m.push(InstOp::Reduce(ReduceOp::Max, w), wide);
    let below = m.binary(BinaryOp::Sub, most, w);
    m.push(InstOp::Store { arg: w_at, index: at([96, 1]), value: below }, wide);
    m.push(InstOp::Store { arg: totals_at, index: at([1, 0]), value: total }, wide);
    m.0
}

/// Random words by their place, and the place: what a map makes of where it is must not depend on what else is in the group.
fn noise(len: usize) -> Region {
    let mut m = Make::new("noise", len);
    m.0.scalars = vec![DType::U64];
    let (words_at, places_at) = (m.arg(DType::U32, len, true), m.arg(DType::I32, len, true));
    let index = m.push(InstOp::AxisIndex(0), DType::I64);
    let seed = m.push(InstOp::Scalar(0), DType::U64);
    let offset = m.push(InstOp::Const(Literal::int(DType::U64, 7)), DType::U64);
    let word = m.push(InstOp::Philox { seed, offset, index, word: 2 }, DType::U32);
    m.store(words_at, word);
    let place = m.cast(index, DType::I32);
    m.store(places_at, place);
    m.0
}

/// The region with another length.
fn with_len(region: &Region, len: usize) -> Region {
    Grouped { region: region.clone(), lens: Vec::new() }.with_len(len)
}

/// Runs groups of regions with these lengths, as one launch; `value` gives element `i` of argument `a` of an instance, of which the first one is `first`.
fn run(
    device: &dyn OpenDevice,
    groups: &[(&Region, &[usize])],
    first: usize,
    value: impl Fn(usize, usize, usize) -> f64,
) -> Result<(Memory, Vec<u8>, Vec<usize>), Error> {
    let mut bufs = Vec::new();
    let mut scalars = Vec::new();
    let instances = || groups.iter().flat_map(|(region, lens)| lens.iter().map(move |len| (*region, *len)));
    for (instance, (region, len)) in instances().enumerate().map(|(at, instance)| (at + first, instance)) {
        for (a, arg) in with_len(region, len).args.iter().enumerate() {
            let raw = (0..arg.len).map(|i| Literal::float(arg.dtype, value(instance, a, i)).to_raw()).collect();
            bufs.push(Buffer { dtype: arg.dtype, raw });
        }
        let numbers = [Literal::float(DType::F32, 0.5), Literal::float(DType::BF16, 2.0), Literal::int(DType::U8, instance as i64 % 3)];
        let seed = [Literal::int(DType::U64, (instance as i64) << 33 | 5)];
        let numbers = if region.scalars == [DType::U64] { &seed[..] } else { &numbers };
        scalars.extend(numbers.iter().take(region.scalars.len()).map(|number| number.to_raw()));
    }
    let mut bytes = vec![UNTOUCHED; 64];
    let mut offsets = Vec::new();
    for buf in &bufs {
        offsets.push(bytes.len());
        bytes.extend(buf.raw.iter().flat_map(|raw| raw.to_le_bytes().into_iter().take(buf.dtype.size())));
        let end = (bytes.len() + 1).next_multiple_of(64);
        bytes.resize(end, UNTOUCHED);
    }
    let memory = device.allocate(bytes.len())?;
    let whole = Slice { buffer: &memory, offset: 0, len: bytes.len() };
    let slices: Vec<Slice<'_>> = (bufs.iter().zip(&offsets))
        .map(|(buf, offset)| Slice { buffer: &memory, offset: *offset, len: buf.raw.len() * buf.dtype.size() })
        .collect();
    let done = device.upload(&bytes, whole).and_then(|()| {
        let group = |(region, lens): &(&Region, &[usize])| {
            let (region, lens) = (with_len(region, lens[0]), lens.to_vec());
            // A group of one is a region.
            if let [_] = lens[..] { Kernel::Region(region) } else { Kernel::Grouped(Grouped { region, lens }) }
        };
        let mut parts: Vec<Kernel> = groups.iter().map(group).collect();
        let kernel = if parts.len() == 1 { parts.remove(0) } else { Kernel::Joined(Joined { parts }) };
        let program = device.compile(&kernel)?;
        device.launch(&*program, &slices, &scalars, None)?;
        device.download(whole, &mut bytes)
    });
    device.free(memory);
    let (mut first_arg, mut first_scalar) = (0, 0);
    let expected = instances().flat_map(|(region, len)| {
        let (n_args, n_scalars) = (region.args.len(), region.scalars.len());
        let mine = Memory { bufs: bufs[first_arg..][..n_args].to_vec() };
        let numbers = &scalars[first_scalar..][..n_scalars];
        (first_arg, first_scalar) = (first_arg + n_args, first_scalar + n_scalars);
        // What has an index out of range is not looked at.
        oracle::run(&with_len(region, len), &mine, numbers).map_or(mine.bufs, |memory| memory.bufs)
    });
    let expected = Memory { bufs: expected.collect() };
    done.map(|()| (expected, bytes, offsets))
}

fn check(device: &dyn OpenDevice, what: &str, groups: &[(&Region, &[usize])], value: impl Fn(usize, usize, usize) -> f64) {
    let (expected, bytes, offsets) = run(device, groups, 0, value).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut end = 0;
    for (at, (buf, offset)) in expected.bufs.iter().zip(offsets).enumerate() {
        let which = format!("{what}: argument {at}");
        assert!(bytes[end..offset].iter().all(|byte| *byte == UNTOUCHED), "{which}: the bytes before it were written");
        for (i, want) in buf.raw.iter().enumerate() {
            let size = buf.dtype.size();
            let mut raw = [0; 8];
            raw[..size].copy_from_slice(&bytes[offset + i * size..][..size]);
            let (got, want) = (Literal::from_raw(buf.dtype, u64::from_le_bytes(raw)), Literal::from_raw(buf.dtype, *want));
            // A sum of nothing but zeros may have either sign.
            let zeros = got.as_f64() == 0.0 && want.as_f64() == 0.0;
            assert!(got.to_raw() == want.to_raw() || zeros, "{which}: element {i} is {got:?}, not {want:?}");
        }
        end = offset + buf.raw.len() * buf.dtype.size();
    }
    assert!(bytes[end..].iter().all(|byte| *byte == UNTOUCHED), "{what}: the bytes behind were written");
}

/// Small whole numbers, which every dtype holds and which stay exact.
fn whole(instance: usize, arg: usize, i: usize) -> f64 {
    ((i * 7 + 3 * arg + instance) % 13) as f64
}

/// Groups of every kind on a device; `f64` where it has that.
pub(crate) fn groups(device: &dyn OpenDevice, has_f64: bool) {
    let many: Vec<usize> = (0..150).map(|i| if i == 11 { 0 } else { 2 + (i * 37) % 300 }).collect();
    let large = [300_000, 5, 70_001, 4096, 123_457];
    for (dtype, copy) in [
        (DType::F32, DType::F16),
        (DType::BF16, DType::F32),
        (DType::F16, DType::BF16),
        (DType::F64, DType::F64),
        (DType::I16, DType::I32),
        (DType::I64, DType::I32),
    ] {
        if dtype == DType::F64 && !has_f64 {
            continue;
        }
        // Programs are what takes long: one per group.
        let some = [&[5usize, 1000, 0, 4096, 3][..], &[2048; 7], &[9], &many, &large];
        for lens in &some[if dtype == DType::F32 { 0..5 } else { 3..4 }] {
            let region = update(dtype, copy, lens[0]);
            check(device, &format!("{dtype}, {} tensors", lens.len()), &[(&region, lens)], whole);
        }
    }
    // Around what one workgroup does, and what a row is split at. Programs are what takes long.
    let edges = [0, 1, 255, 256, 257, 4095, 4097, 16_383, 16_385, 32_767, 32_768, 32_769];
    check(device, "norms, edges", &[(&norms(DType::F32, 0), &edges)], whole);
    for dtype in [DType::F32, DType::F16, DType::F64, DType::I16] {
        if dtype != DType::F64 || has_f64 {
            check(device, &format!("norms of {dtype}"), &[(&norms(dtype, 5), &[5, 70_001, 4096])], whole);
        }
    }
    check(device, "rows", &[(&rows(DType::F32, 7), &[7, 1, 0, 300, 64])], whole);
    check(device, "noise", &[(&noise(5), &[5, 1000, 0, 4097])], whole);
    let (update, norms, rows, noise) = (update(DType::F32, DType::F16, 9), norms(DType::F32, 5), rows(DType::F32, 7), noise(5));
    let (short, long, some): (&[usize], &[usize], &[usize]) = (&[5, 17, 300, 64], &[9, 70_001, 0, 5], &[7, 1, 0, 30]);
    // Of one step each, and of one and several; a region by itself; the same group twice.
    let beside: [&[(&Region, &[usize])]; 4] = [
        &[(&update, long), (&rows, some)],
        &[(&norms, short), (&update, &[5, 2000, 0]), (&rows, some), (&noise, short)],
        &[(&noise, &[2000]), (&norms, long), (&rows, &[3]), (&update, &[1])],
        &[(&norms, short), (&norms, long)],
    ];
    for (at, groups) in beside.iter().enumerate() {
        check(device, &format!("side by side, {at}"), groups, whole);
        // Of numbers whose sums depend on their order, what each group gives alone, bit for bit.
        let part = |instance: usize, arg: usize, i: usize| ((i * 7919 + arg * 31 + instance * 104_729) % 1009) as f64 / 1009.0 - 0.3;
        let results = |groups: &[(&Region, &[usize])], first: usize| -> Vec<Vec<u8>> {
            let (expected, bytes, offsets) = run(device, groups, first, part).unwrap_or_else(|error| panic!("side by side, {at}: {error}"));
            let buffers = expected.bufs.iter().zip(offsets);
            buffers.map(|(buf, offset)| bytes[offset..offset + buf.raw.len() * buf.dtype.size()].to_vec()).collect()
        };
        let mut first = 0;
        let mut apart = Vec::new();
        for group in *groups {
            apart.extend(results(&[*group], first));
            first += group.1.len();
        }
        assert!(results(groups, 0) == apart, "side by side, {at}: other bits than alone");
    }
    let region = indices(5);
    let lens = [5usize, 1000, 0, 4096, 3];
    check(device, "indices", &[(&region, &lens)], |instance, _, i| ((i + instance) % 20) as f64 - 10.0);
    let wrong = run(device, &[(&region, &lens)], 0, |instance, arg, i| if (instance, arg, i) == (3, 0, 2000) { 10.0 } else { 1.0 });
    assert!(matches!(wrong, Err(Error::IndexOutOfRange { index: 10, size: 10, .. })), "{:?}", wrong.map(|_| ()));
    check(device, "indices again", &[(&region, &lens)], |_, _, i| (i % 10) as f64);
}
