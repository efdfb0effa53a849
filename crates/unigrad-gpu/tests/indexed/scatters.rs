//! Scatter.

use crate::{Random, check, encode, on_target, targets, tolerance};
use smallvec::SmallVec;
use unigrad_ir::Target;
use unigrad_kernel::{Arg, Kernel, Scatter, ScatterBase};
use unigrad_scalar::{DType, Literal, ScatterMode};

const INTEGERS: [DType; 8] = [DType::U8, DType::I8, DType::U16, DType::I16, DType::U32, DType::I32, DType::U64, DType::I64];

/// A random layout of a shape: axes in any order, with gaps, backwards, or (where allowed) expanded. Strides, offset, length.
fn view(random: &mut Random, shape: &[usize], expand: bool) -> (SmallVec<[i64; 6]>, i64, usize) {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i + 1));
    }
    let mut strides: SmallVec<[i64; 6]> = SmallVec::from_elem(0, shape.len());
    let (mut next, mut offset) = (1, random.below(3));
    for d in order {
        if expand && random.below(3) == 0 {
            continue;
        }
        strides[d] = next as i64;
        if random.below(4) == 0 {
            strides[d] = -strides[d];
            offset += next * shape[d].saturating_sub(1);
        }
        next = next * shape[d].max(1) + random.below(2);
    }
    (strides, offset as i64, offset + next + 1)
}

fn check_random(random: &mut Random, target: &Target, kernel: Scatter) {
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

fn random_base(random: &mut Random, dtype: DType) -> ScatterBase {
    if random.below(2) == 0 { ScatterBase::Arg } else { ScatterBase::Fill(Literal::int(dtype, random.below(3) as i64)) }
}

#[test]
fn scatters() {
    let mut random = Random(5);
    let targets = targets();
    for case in 0..400 {
        let rank = 1 + random.below(4);
        let mut shape: SmallVec<[usize; 6]> = (0..rank).map(|_| random.pick(&[0, 1, 1, 2, 3, 5, 9])).collect();
        let axis = random.below(rank);
        if random.below(3) == 0 {
            shape[axis] = random.pick(&[20, 64, 65, 130]);
        }
        let mut out_shape = shape.clone();
        for (d, size) in out_shape.iter_mut().enumerate() {
            if d == axis {
                *size = 1 + random.below(12);
            } else if random.below(4) == 0 {
                *size += random.below(3);
            }
        }
        let dtype = random.pick(&DType::ALL);
        let (index_strides, index_offset, index_len) = view(&mut random, &shape, true);
        let (src_strides, src_offset, src_len) = view(&mut random, &shape, case % 3 == 0);
        let kernel = Scatter {
            mode: random.pick(ScatterMode::ALL),
            base: random_base(&mut random, dtype),
            axis,
            index: Arg { dtype: random.pick(&INTEGERS), len: index_len, write: false },
            src: Arg { dtype, len: src_len, write: false },
            shape,
            index_strides,
            index_offset,
            src_strides,
            src_offset,
            out_shape,
            dtype,
        };
        check_random(&mut random, &targets[case % targets.len()], kernel);
    }
}

/// Rows of a table: the gradient of an embedding of `n` tokens.
fn embedding_gradient(dtype: DType, mode: ScatterMode, n: usize, vocabulary: usize, width: usize) -> Scatter {
    Scatter {
        mode,
        base: ScatterBase::Fill(Literal::zero(dtype)),
        axis: 0,
        shape: SmallVec::from_slice(&[n, width]),
        index_strides: SmallVec::from_slice(&[1, 0]),
        index_offset: 0,
        src_strides: SmallVec::from_slice(&[width as i64, 1]),
        src_offset: 0,
        out_shape: SmallVec::from_slice(&[vocabulary, width]),
        index: Arg { dtype: DType::I64, len: n, write: false },
        src: Arg { dtype, len: n * width, write: false },
        dtype,
    }
}

#[test]
fn scatters_of_rows() {
    let mut random = Random(6);
    let targets = targets();
    for (case, dtype) in [DType::F32, DType::BF16, DType::F16, DType::F64, DType::I32, DType::Bool].into_iter().enumerate() {
        let mode = ScatterMode::ALL[case % ScatterMode::ALL.len()];
        for target in &targets {
            check_random(&mut random, target, embedding_gradient(dtype, ScatterMode::Add, 300, 65, 17));
            check_random(&mut random, target, embedding_gradient(dtype, mode, 40, 900, 13));
        }
        // Long runs, of whole chunks and of their ends.
        check_random(&mut random, &targets[case % 2], embedding_gradient(dtype, mode, 5000, 7, 2));
        check_random(&mut random, &targets[case % 2], embedding_gradient(dtype, ScatterMode::Max, 4500, 1, 1));
    }
}

#[test]
fn an_index_outside_is_told() {
    let mut random = Random(7);
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
        let mut kernel = embedding_gradient(DType::F32, ScatterMode::Add, 100, 7, 4);
        kernel.index.dtype = dtype;
        let index = encode(dtype, (0..100).map(|i| Literal::int(dtype, if i == 60 { bad } else { i % 7 })));
        let mut buffers = [index, random.numbers(DType::F32, 400), vec![0; 112]];
        let result = on_target(&Kernel::Scatter(kernel), &Target::interpreter(), &mut buffers, &[]);
        assert_eq!(result, Err((told, 7)));
    }
}
