//! Products with sums of an operand's lanes on a device: of either operand, in either layout of the other one, with sums that are added in place to a scalar's
//! multiple.
//!
//! In: an open device. Out: nothing, or a panic that names kernel, buffer and element.
//! Always: elements are small whole numbers, so that sums are exact in any order.

use smallvec::smallvec;
use unigrad_device::{OpenDevice, Slice};
use unigrad_kernel::{Arg, Columns, Contract, InstOp, KDim, Kernel, MDim, NDim, Region, Summed};
use unigrad_scalar::{DType, Literal};

/// What bytes are that nothing writes.
const UNTOUCHED: u8 = 0xa5;
/// What the sums are multiplied with.
const FACTOR: f64 = 0.5;

/// A product of `lanes` by `others`, both added up over `k`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) dtype: DType,
    pub(crate) lanes: usize,
    pub(crate) others: usize,
    pub(crate) k: usize,
    /// Which operand is added up.
    pub(crate) side: usize,
    /// Whether the other operand runs along `k`.
    pub(crate) turned: bool,
    /// Elements before the operand that is added up, and between its rows.
    pub(crate) gap: usize,
}

impl Case {
    fn pitch(&self) -> usize {
        self.lanes + self.gap
    }

    pub(crate) fn kernel(&self) -> Summed {
        let Case { dtype, lanes, others, k, side, turned, gap } = *self;
        let own = Arg { dtype, len: gap + k * self.pitch(), write: false };
        let other = Arg { dtype, len: k * others, write: false };
        let (other_lane, other_k) = if turned { (k as i64, 1) } else { (1, others as i64) };
        let (mine, theirs) = ((1, self.pitch() as i64), (other_lane, other_k));
        let [(a, a_lane, a_k, m), (b, b_lane, b_k, n)] = if side == 0 {
            [(own, mine.0, mine.1, lanes), (other, theirs.0, theirs.1, others)]
        } else {
            [(other, theirs.0, theirs.1, others), (own, mine.0, mine.1, lanes)]
        };
        let offset = |at: usize| if at == side { gap as i64 } else { 0 };
        let product = Contract {
            batch: smallvec![],
            m: smallvec![MDim { size: m, a: a_lane, c: n as i64 }],
            n: smallvec![NDim { size: n, b: b_lane, c: 1 }],
            k: smallvec![KDim { size: k, a: a_k, b: b_k }],
            a_offset: offset(0),
            b_offset: offset(1),
            a,
            b,
            c: Arg { dtype: DType::F32, len: m * n, write: true },
            tf32: false,
            epilogue: None,
            prologues: [None, None],
        };
        let (len, pitch) = (own.len, self.pitch());
        let text = format!(
            "region \"lanes\" parallel [{lanes}] reduce [{k}] {{
                a0: {dtype}[{len}]
                a1: mut f32[{lanes}]
                s0: f32
                %0 = load {dtype} a0[i0 + {pitch}*i1]
                %1 = cast f32 %0
                %2 = sum f32 %1
                %3 = scalar f32 s0
                %4 = mul f32 %2, %3
                %5 = load f32 a1[i0]
                %6 = add f32 %4, %5
                store f32 a1[i0], %6
            }}"
        );
        let mut region: Region = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
        if let InstOp::Load { index, .. } = &mut region.insts[0].op {
            index.offset = gap as i64;
        }
        let summed = Summed { product, sums: Columns { region, shared: smallvec![Some(side as u32), None] } };
        assert_eq!(summed.lane_sum().map(|sum| (sum.side, sum.at)), Some((side, 2)), "{self:?}");
        summed
    }

    fn value(arg: usize, i: usize) -> i32 {
        ((i * 7 + i / 5 + i / 131 + 3 * arg) % 5) as i32 - 2
    }

    /// The product and the sums.
    fn expected(&self) -> [Vec<f64>; 2] {
        let Case { lanes, others, k, side, turned, gap, .. } = *self;
        let (mut product, mut sums) = (vec![0i32; lanes * others], vec![0i32; lanes]);
        for at in 0..k {
            let row: Vec<i32> = (0..lanes).map(|lane| Case::value(side, gap + at * self.pitch() + lane)).collect();
            let other: Vec<i32> =
                (0..others).map(|other| Case::value(1 - side, if turned { other * k + at } else { at * others + other })).collect();
            for (lane, x) in row.iter().enumerate() {
                sums[lane] += x;
                for (other, y) in other.iter().enumerate() {
                    product[if side == 0 { lane * others + other } else { other * lanes + lane }] += x * y;
                }
            }
        }
        let floats = |all: Vec<i32>| all.into_iter().map(f64::from).collect();
        let before = |i: usize| f64::from(Case::value(3, i));
        [floats(product), sums.iter().enumerate().map(|(i, sum)| FACTOR * f64::from(*sum) + before(i)).collect()]
    }
}

fn check(device: &dyn OpenDevice, case: Case) {
    let kernel = Kernel::Summed(case.kernel());
    let args = kernel.args();
    let mut bytes = vec![UNTOUCHED; 64];
    let mut offsets = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        offsets.push(bytes.len());
        // The product is written and not read; rows of the operand have what must not be added up between them.
        let raw = |i: usize| Literal::float(arg.dtype, f64::from(Case::value(at, i))).to_raw().to_le_bytes();
        match at {
            2 => bytes.resize(bytes.len() + arg.len * arg.dtype.size(), UNTOUCHED),
            _ => (0..arg.len).for_each(|i| bytes.extend(&raw(i)[..arg.dtype.size()])),
        }
        bytes.resize((bytes.len() + 1).next_multiple_of(64), UNTOUCHED);
    }
    let memory = device.allocate(bytes.len()).unwrap();
    let whole = Slice { buffer: &memory, offset: 0, len: bytes.len() };
    let slices: Vec<Slice<'_>> = (args.iter().zip(&offsets))
        .map(|(arg, offset)| Slice { buffer: &memory, offset: *offset, len: arg.len * arg.dtype.size() })
        .collect();
    let before = bytes.clone();
    let scalars = [Literal::float(DType::F32, FACTOR).to_raw()];
    let done = device.upload(&bytes, whole).and_then(|()| {
        let program = device.compile(&kernel)?;
        device.launch(&*program, &slices, &scalars, None)?;
        device.download(whole, &mut bytes)
    });
    device.free(memory);
    done.unwrap_or_else(|error| panic!("{case:?}: {error}"));
    let mut end = 0;
    let [product, sums] = case.expected();
    for (at, want) in [(2, product), (3, sums)] {
        assert!(bytes[end..offsets[at]] == before[end..offsets[at]], "{case:?}: bytes before argument {at} were written");
        end = offsets[at] + want.len() * 4;
        for (i, (got, want)) in bytes[offsets[at]..end].chunks_exact(4).zip(want).enumerate() {
            let got = f32::from_le_bytes([got[0], got[1], got[2], got[3]]);
            assert!(f64::from(got) == want, "{case:?}: element {i} of argument {at} is {got}, not {want}");
        }
    }
    assert!(bytes[end..].iter().all(|byte| *byte == UNTOUCHED), "{case:?}: bytes behind were written");
}

/// Sizes around tiles of 64, 128 and 256 lanes, stages of 64 and parts of 512 elements of `k`; lanes that are no whole runs of eight, and few of all.
pub(crate) fn products_and_sums(device: &dyn OpenDevice) {
    let sizes =
        [[128, 256, 512], [136, 264, 1032], [64, 128, 4100], [264, 72, 520], [776, 130, 640], [48, 32, 64], [250, 128, 512], [3, 5, 7]];
    for (i, [lanes, others, k]) in sizes.into_iter().enumerate() {
        for side in [0, 1] {
            let dtype = [DType::BF16, DType::F16][(i + side) % 2];
            let turned = i % 3 == 1 && k % 8 == 0;
            let gap = if i % 2 == 0 { 0 } else { 8 };
            check(device, Case { dtype, lanes, others, k, side, turned, gap });
        }
    }
}
