//! Scatter.

use crate::{Values, check, encode, on_target, targets, tolerance};
use smallvec::SmallVec;
use unigrad_ir::Target;
use unigrad_kernel::testing::{Rng, scatter};
use unigrad_kernel::{Kernel, Scatter, ScatterBase};
use unigrad_scalar::{DType, Literal, ScatterMode};

fn check_random(random: &mut Rng, target: &Target, kernel: Scatter) {
    let size = kernel.out_shape[kernel.axis];
    let dtype = kernel.dtype;
    let signed = kernel.index.dtype.is_signed_int();
    let index = encode(
        kernel.index.dtype,
        (0..kernel.index.len).map(|_| {
            let at = if size == 0 { 0 } else { random.below(size) as i64 };
            let at = if signed && random.below(4) == 0 { at - size as i64 } else { at };
            Literal::int(kernel.index.dtype, at)
        }),
    );
    let rounds = dtype.is_float() && matches!(kernel.mode, ScatterMode::Add | ScatterMode::Mul);
    let mut values = |n: usize| if rounds { random.numbers(dtype, n) } else { random.values(dtype, n) };
    let src = values(kernel.src.len);
    let n: usize = kernel.out_shape.iter().product();
    let (base, out) = (values(n), vec![0xff; n * dtype.size()]);
    let buffers = if kernel.base == ScatterBase::Arg { vec![base, index, src, out] } else { vec![index, src, out] };
    let allowed = if rounds { tolerance(dtype) * 4.0 } else { 0.0 };
    check(&Kernel::Scatter(kernel), target, &buffers, &[], 1, allowed);
}

#[test]
fn scatters() {
    let mut random = Rng(5);
    let targets = targets();
    for case in 0..400 {
        let rank = 1 + random.below(4);
        let mut shape: SmallVec<[usize; 6]> = (0..rank).map(|_| random.pick(&[0, 1, 1, 2, 3, 5, 9])).collect();
        let axis = random.below(rank);
        if random.below(3) == 0 {
            shape[axis] = random.pick(&[20, 64, 65, 130]);
        }
        let kernel = scatter::random(&mut random, shape, axis, case % 3 == 0);
        check_random(&mut random, &targets[case % targets.len()], kernel);
    }
}

#[test]
fn scatters_of_rows() {
    let mut random = Rng(6);
    let targets = targets();
    for (case, dtype) in [DType::F32, DType::BF16, DType::F16, DType::F64, DType::I32, DType::Bool].into_iter().enumerate() {
        let mode = ScatterMode::ALL[case % ScatterMode::ALL.len()];
        for target in &targets {
            check_random(&mut random, target, scatter::rows(dtype, ScatterMode::Add, 300, 65, 17));
            check_random(&mut random, target, scatter::rows(dtype, mode, 40, 900, 13));
        }
        // Long runs, of whole chunks and of their ends.
        check_random(&mut random, &targets[case % 2], scatter::rows(dtype, mode, 5000, 7, 2));
        check_random(&mut random, &targets[case % 2], scatter::rows(dtype, ScatterMode::Max, 4500, 1, 1));
    }
}

#[test]
fn an_index_outside_is_told() {
    let mut random = Rng(7);
    for (dtype, bad, told) in [
        (DType::I64, 7i64, 7i64),
        (DType::I64, -8, -8),
        (DType::I64, 1 << 40, 1 << 40),
        (DType::I32, i64::from(i32::MIN), i64::from(i32::MIN)),
        (DType::I8, -128, -128),
        (DType::U8, 200, 200),
        (DType::U32, -1, i64::from(u32::MAX)),
        (DType::U64, -1, i64::MAX),
    ] {
        let mut kernel = scatter::rows(DType::F32, ScatterMode::Add, 100, 7, 4);
        kernel.index.dtype = dtype;
        let index = encode(dtype, (0..100).map(|i| Literal::int(dtype, if i == 60 { bad } else { i % 7 })));
        let mut buffers = [index, random.numbers(DType::F32, 400), vec![0; 112]];
        let result = on_target(&Kernel::Scatter(kernel), &Target::interpreter(), &mut buffers, &[]);
        assert_eq!(result, Err((told, 7)));
    }
}
