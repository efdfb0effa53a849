//! Contractions as a library's products: what a naive library computes from a [`Product`] alone, and the step after it, against the oracle.

use super::super::library::{Library, library};
use super::*;
use crate::{Matrix, Product};

/// `c = a b`, as the text of `crate::product` says it.
fn multiply(p: &Product, [a, b, c]: [&mut Memory; 3]) {
    for (matrix, rows, cols) in [(&p.a, p.m, p.k), (&p.b, p.k, p.n), (&p.c, p.m, p.n)] {
        let (run, count) = if matrix.transposed { (rows, cols) } else { (cols, rows) };
        assert!(matrix.ld >= run && run > 0 && count > 0, "{p:?}");
    }
    assert!(!p.c.transposed && p.a.dtype == p.b.dtype && [p.a.dtype, p.compute].contains(&p.c.dtype), "{p:?}");
    let at = |matrix: &Matrix, item: u32, row: u32, col: u32| {
        let (outer, inner) = if matrix.transposed { (col, row) } else { (row, col) };
        (matrix.offset + u64::from(item) * matrix.batch_stride + u64::from(outer) * u64::from(matrix.ld) + u64::from(inner)) as usize
    };
    for item in 0..p.batch {
        for row in 0..p.m {
            for col in 0..p.n {
                let sum = (0..p.k).map(|k| a.get(at(&p.a, item, row, k)).as_f64() * b.get(at(&p.b, item, k, col)).as_f64()).sum();
                c.set(at(&p.c, item, row, col), Literal::float(p.c.dtype, sum));
            }
        }
    }
}

/// Runs the product and what comes after.
fn run(found: &Library, args: &mut [Memory], scalars: &[u64]) {
    let target = &targets()[0].1;
    let [StepArg::Arg(a), StepArg::Arg(b), out] = &found.places else { panic!("{:?}", found.places) };
    let (mut a, mut b) = (args[*a].clone(), args[*b].clone());
    match out {
        StepArg::Arg(c) => multiply(&found.product, [&mut a, &mut b, &mut args[*c]]),
        _ => {
            let dtype = found.product.c.dtype;
            let mut sums = Memory::new(dtype, found.after.scratch[0] / dtype.size());
            multiply(&found.product, [&mut a, &mut b, &mut sums]);
            execute(&found.after, target, args, scalars, &[sums]).unwrap();
        }
    }
}

fn check(case: &mut Case, what: &str) -> Option<Product> {
    let found = library(&case.contract, &targets()[0].1)?;
    let want = oracle(&case.contract, &case.args[0], &case.args[1]);
    let untouched = Literal::int(case.args[2].dtype, 1);
    (0..case.args[2].len()).for_each(|i| case.args[2].set(i, untouched));
    run(&found, &mut case.args, &[]);
    assert_eq!(first_difference(&case.args[2], &want, untouched), None, "{what}: {:?}", case.contract);
    Some(found.product)
}

#[test]
fn plain_products_in_every_layout_and_dtype() {
    let mut rng = Rng(11);
    for [m, n, k] in [[5, 7, 9], [1, 8, 3], [8, 1, 3], [1, 1, 6], [4, 6, 1], [1, 1, 1]] {
        for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
            for dtype in FLOATS {
                for out in [dtype, if dtype == DType::F64 { dtype } else { DType::F32 }] {
                    let mut case = matmul(&mut rng, [m, n, k], ta, tb, [dtype, dtype, out]);
                    let product = check(&mut case, &format!("{m} {n} {k} {ta} {tb} {dtype}")).expect("a plain product");
                    assert_eq!((product.a.dtype, product.c.dtype, product.epilogue), (dtype, out, false));
                    if m > 1 && n > 1 && k > 1 {
                        assert_eq!((product.a.transposed, product.b.transposed, product.m), (ta, tb, m as u32));
                    }
                }
            }
        }
    }
}

#[test]
fn batches_may_share_an_operand_and_lie_between_rows() {
    let mut rng = Rng(12);
    let mut case = matmul(&mut rng, [4, 5, 6], false, true, [DType::F32; 3]);
    // [row, item, column] for `a` and `c`, one `b`.
    case.contract.batch = smallvec![BatchDim { size: 3, a: 6, b: 0, c: 5 }];
    (case.contract.m[0].a, case.contract.m[0].c) = (18, 15);
    (case.contract.a.len, case.contract.c.len) = (72, 60);
    case.args[0] = Memory::new(DType::F32, 72);
    (0..72).for_each(|i| case.args[0].set(i, Literal::int(DType::F32, i as i64 % 7)));
    case.args[2] = Memory::new(DType::F32, 60);
    let product = check(&mut case, "interleaved").expect("strides that a library takes");
    assert_eq!((product.a.ld, product.c.ld, product.b.batch_stride, product.c.batch_stride), (18, 15, 0, 5));
}

#[test]
fn whatever_is_taken_for_a_product_is_one() {
    let mut rng = Rng(13);
    let mut taken = 0;
    for round in 0..1500 {
        let [batch, m, n, k] = [&[1, 2, 3][..], &[1, 2, 5], &[1, 3, 8], &[0, 1, 2, 7]].map(|sizes| list(&mut rng, 2, sizes));
        let dtype = rng.pick(&[DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32]);
        let dtypes = [dtype, rng.pick(&[dtype, dtype, DType::F32]), rng.pick(&[dtype, DType::F32, DType::F64])];
        let found = check(&mut random_case(&mut rng, [&batch, &m, &n, &k], dtypes), &format!("round {round}"));
        taken += usize::from(found.is_some());
    }
    // Most of the random layouts overlap, run backwards or leave gaps.
    assert!(taken > 100, "{taken}");
}

#[test]
fn epilogues_follow_the_product() {
    let mut rng = Rng(14);
    for turned in [false, true] {
        for (input, acc) in [(DType::F32, DType::F32), (DType::BF16, DType::F32), (DType::F16, DType::F32), (DType::F64, DType::F64)] {
            let mut case = matmul(&mut rng, [6, 9, 4], turned, false, [input, input, acc]);
            let axes: SmallVec<[usize; 6]> = smallvec![6, 9];
            let run_it = |case: &Case, args: &mut [Memory], scalars: &[u64]| {
                let found = library(&case.contract, &targets()[0].1).expect("a plain product");
                assert!(found.product.epilogue && found.product.c.dtype == found.product.compute);
                run(&found, args, scalars);
            };
            check_epilogue(&mut rng, &mut case, &axes, 1, turned, &format!("{input} {turned}"), &run_it);
        }
    }
}
