//! Sorting by index, and the best `k`.

use crate::{Values, check, targets};
use unigrad_ir::Target;
use unigrad_kernel::testing::Rng;
use unigrad_kernel::{ArgSort, Kernel, TopK};
use unigrad_scalar::DType;

fn sort(random: &mut Rng, target: &Target, dtype: DType, [outer, len, inner]: [usize; 3], k: Option<usize>) {
    let x = random.values(dtype, outer * len * inner);
    let descending = random.below(2) == 0;
    let (kernel, keep) = match k {
        None => (Kernel::ArgSort(ArgSort { dtype, outer, len, inner, descending }), len),
        Some(k) => (Kernel::TopK(TopK { dtype, outer, len, inner, k, largest: descending }), k),
    };
    check(&kernel, target, &[x, vec![0xff; 8 * outer * keep * inner]], &[], 1, 0.0);
}

#[test]
fn sorts() {
    let mut random = Rng(2);
    let targets = targets();
    for case in 0..250 {
        let dtype = random.pick(&DType::ALL);
        let len = random.pick(&[0, 1, 2, 3, 8, 17, 64, 100, 300, 700]);
        let (outer, inner) =
            if len > 200 { (1 + random.below(2), 1 + random.below(2)) } else { (random.below(4), random.pick(&[1, 1, 3, 6])) };
        let k = (random.below(2) == 0).then(|| random.pick(&[0, 1, 2, 5, len / 2, len]).min(len));
        sort(&mut random, &targets[case % targets.len()], dtype, [outer, len, inner], k);
    }
}

#[test]
fn long_rows_are_sorted_by_digits_and_their_best_found_by_tournament() {
    let mut random = Rng(3);
    let targets = targets();
    for dtype in [DType::F32, DType::I64, DType::F64, DType::BF16, DType::Bool, DType::U8] {
        for target in &targets[2..] {
            sort(&mut random, target, dtype, [1, 2500, 1], None);
            sort(&mut random, target, dtype, [2, 2100, 2], Some(20));
        }
    }
    sort(&mut random, &targets[0], DType::F16, [1, 6000, 1], None);
    sort(&mut random, &targets[1], DType::F32, [1, 6000, 1], Some(4000));
}
