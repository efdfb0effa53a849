//! Running reductions.

use crate::{Values, check, decode, encode, targets, tolerance};
use unigrad_kernel::testing::Rng;
use unigrad_kernel::{Kernel, Scan};
use unigrad_scalar::{DType, Literal, ScanOp};

#[test]
fn scans() {
    let mut random = Rng(1);
    let targets = targets();
    for case in 0..300 {
        let dtype = random.pick(&DType::ALL);
        let len = random.pick(&[0, 1, 2, 7, 33, 100, 600, 3000]);
        let (outer, inner) =
            if len > 500 { (random.pick(&[1, 2]), random.pick(&[1, 1, 3, 9])) } else { (random.below(6), random.pick(&[1, 2, 5, 8, 40])) };
        let ops: Vec<ScanOp> = ScanOp::ALL.iter().copied().filter(|op| dtype.is_float() || !op.needs_floats()).collect();
        let scan = Scan { op: random.pick(&ops), dtype, outer, len, inner, reverse: random.below(2) == 0 };
        let n = outer * len * inner;
        let float = dtype.is_float();
        // Products of large numbers, and sums of extremes, round differently in every order.
        let x = if float && scan.op.rounds() { random.numbers(dtype, n) } else { random.values(dtype, n) };
        // Such as the running reduction combines.
        let x = match scan.op.prepare(true) {
            Some(_) if float => {
                let prepared = decode(dtype, &x).into_iter().map(|x| Literal::float(dtype, scan.op.prepared(x.as_f64())));
                encode(dtype, prepared)
            }
            _ => x,
        };
        let out = vec![0xff; x.len()];
        let allowed = tolerance(dtype) * if dtype == DType::F32 { 10.0 } else { 2.0 };
        check(&Kernel::Scan(scan), &targets[case % targets.len()], &[x, out], &[], 1, allowed);
    }
}
