//! Rows and sums down their columns on a device against the plain evaluator: in place, of what the rows write, with numbers of their own.
//!
//! In: an open device. Out: nothing, or a panic that names kernel, buffer and element.
//! Always: elements are small whole numbers and halves of them, so that sums are exact in any order.

use smallvec::smallvec;
use unigrad_device::{OpenDevice, Slice};
use unigrad_kernel::testing::region::{self as oracle, Buffer, Memory};
use unigrad_kernel::{Columns, Crossed, Kernel, Region};
use unigrad_scalar::{DType, Literal};

/// What bytes are that nothing writes.
const UNTOUCHED: u8 = 0xa5;

/// What a norm's gradient is like: `of` elements are read, and the result is there twice, added in place to one of the type `to`, and rounded to `of`.
pub(crate) fn kernel(of: DType, to: DType, rows: usize, len: usize) -> Kernel {
    let n = rows * len;
    let rows_text = format!(
        "region \"rows\" parallel [{rows}] reduce [{len}] {{
            a0: {of}[{n}]
            a1: {to}[{len}]
            a2: mut {to}[{n}]
            a3: mut {of}[{n}]
            %0 = load {to} a2[{len}*i0 + i1]
            %1 = load {of} a0[{len}*i0 + i1]
            %2 = cast {to} %1
            %3 = load {to} a1[i1]
            %4 = mul {to} %2, %3
            %5 = sum {to} %4
            %6 = const {to} 0.5
            %7 = mul {to} %5, %6
            %8 = sub {to} %4, %7
            %9 = add {to} %0, %8
            store {to} a2[{len}*i0 + i1], %9
            %11 = cast {of} %9
            store {of} a3[{len}*i0 + i1], %11
        }}"
    );
    // The weight is overwritten with what its gradient makes of it; the rows have read it by then.
    let update_text = format!(
        "region \"update\" parallel [{len}] reduce [{rows}] {{
            a0: {of}[{n}]
            a1: mut {to}[{len}]
            s0: {to}
            %0 = load {of} a0[i0 + {len}*i1]
            %1 = sum {of} %0
            %2 = cast {to} %1
            %3 = scalar {to} s0
            %4 = mul {to} %2, %3
            %5 = load {to} a1[i0]
            %6 = add {to} %4, %5
            store {to} a1[i0], %6
        }}"
    );
    let of_results_text = format!(
        "region \"of results\" parallel [{len}] reduce [{rows}] {{
            a0: {of}[{n}]
            a1: {of}[{n}]
            a2: {to}[{n}]
            a3: mut {to}[{len}]
            a4: mut {to}[{len}]
            %0 = load {of} a0[i0 + {len}*i1]
            %1 = load {of} a1[i0 + {len}*i1]
            %2 = cast {to} %0
            %3 = cast {to} %1
            %4 = mul {to} %2, %3
            %5 = sum {to} %4
            store {to} a3[i0], %5
            %7 = load {to} a2[i0 + {len}*i1]
            %8 = sum {to} %7
            store {to} a4[i0], %8
        }}"
    );
    let region = |text: String| text.parse::<Region>().unwrap_or_else(|error| panic!("{error}: {text}"));
    Kernel::Crossed(Crossed {
        rows: region(rows_text),
        columns: vec![
            Columns { region: region(update_text), shared: smallvec![Some(0), None] },
            Columns { region: region(of_results_text), shared: smallvec![Some(3), Some(0), Some(2), None, None] },
        ],
    })
}

/// What each part does, one after the other.
fn expected(crossed: &Crossed, mut bufs: Vec<Buffer>, scalars: &[u64]) -> Vec<Buffer> {
    for (region, places, first) in crossed.parts() {
        let own = Memory { bufs: places.iter().map(|place| bufs[*place].clone()).collect() };
        let memory = oracle::run(region, &own, &scalars[first..][..region.scalars.len()]).unwrap_or_else(|error| panic!("{error:?}"));
        places.iter().zip(memory.bufs).for_each(|(place, buf)| bufs[*place] = buf);
    }
    bufs
}

fn check(device: &dyn OpenDevice, of: DType, to: DType, rows: usize, len: usize) {
    let what = format!("{of} and {to}, {rows} rows of {len}");
    let kernel = kernel(of, to, rows, len);
    let Kernel::Crossed(crossed) = &kernel else { return };
    let value = |arg: usize, i: usize| ((i * 7 + i / 5 + 3 * arg) % 5) as f64 - 2.0;
    let bufs: Vec<Buffer> = (kernel.args().iter().enumerate())
        .map(|(at, arg)| Buffer { dtype: arg.dtype, raw: (0..arg.len).map(|i| Literal::float(arg.dtype, value(at, i)).to_raw()).collect() })
        .collect();
    let scalars = [Literal::float(to, 0.5).to_raw()];
    let mut bytes = vec![UNTOUCHED; 64];
    let mut offsets = Vec::new();
    for buf in &bufs {
        offsets.push(bytes.len());
        bytes.extend(buf.raw.iter().flat_map(|raw| raw.to_le_bytes().into_iter().take(buf.dtype.size())));
        let end = (bytes.len() + 1).next_multiple_of(64);
        bytes.resize(end, UNTOUCHED);
    }
    let memory = device.allocate(bytes.len()).unwrap();
    let whole = Slice { buffer: &memory, offset: 0, len: bytes.len() };
    let slices: Vec<Slice<'_>> = (bufs.iter().zip(&offsets))
        .map(|(buf, offset)| Slice { buffer: &memory, offset: *offset, len: buf.raw.len() * buf.dtype.size() })
        .collect();
    let done = device.upload(&bytes, whole).and_then(|()| {
        let program = device.compile(&kernel)?;
        device.launch(&*program, &slices, &scalars, None)?;
        device.download(whole, &mut bytes)
    });
    device.free(memory);
    done.unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut end = 0;
    for (at, (buf, offset)) in expected(crossed, bufs, &scalars).iter().zip(offsets).enumerate() {
        assert!(bytes[end..offset].iter().all(|byte| *byte == UNTOUCHED), "{what}: the bytes before argument {at} were written");
        for (i, want) in buf.raw.iter().enumerate() {
            let size = buf.dtype.size();
            let mut raw = [0; 8];
            raw[..size].copy_from_slice(&bytes[offset + i * size..][..size]);
            let (got, want) = (Literal::from_raw(buf.dtype, u64::from_le_bytes(raw)), Literal::from_raw(buf.dtype, *want));
            assert!(got.as_f64() == want.as_f64(), "{what}: element {i} of argument {at} is {got:?}, not {want:?}");
        }
        end = offset + buf.raw.len() * buf.dtype.size();
    }
    assert!(bytes[end..].iter().all(|byte| *byte == UNTOUCHED), "{what}: the bytes behind were written");
}

/// Kernels of many sizes on a device; `f64` where it has that.
pub(crate) fn rows_and_columns(device: &dyn OpenDevice, has_f64: bool) {
    // One row and several a workgroup, whole runs of vectors and not, threads without a column; more in a row than a thread keeps.
    for (rows, len) in [(1, 1), (1, 300), (300, 1), (3, 4), (131, 12), (70, 96), (33, 257), (65, 768), (5, 1000), (9, 3001), (2, 8192)] {
        check(device, DType::F32, DType::F32, rows, len);
    }
    // More rows than all threads have at once, and more than each may add up.
    for (rows, len) in [(1025, 64), (4099, 36), (40_001, 4)] {
        check(device, DType::BF16, DType::F32, rows, len);
    }
    check(device, DType::F16, DType::F32, 517, 80);
    if has_f64 {
        check(device, DType::F64, DType::F64, 129, 66);
    }
}
