//! The oracle on graphs small enough to check by hand.

use unigrad_graph::{ConvSpec, DType, Expr, Literal, PadAxis, PoolSpec, ReduceOp, ScanOp, ScatterMode, SliceAxis, UnaryOp};
use unigrad_testing::{
    Values,
    oracle::{Precision, evaluate, evaluate_with, leaf},
};

fn float(shape: &[usize], data: &[f64]) -> Expr {
    leaf(Values::from_f64(DType::F32, shape, data), 0)
}

fn ints(shape: &[usize], data: &[i64]) -> Expr {
    leaf(Values::int(DType::I64, shape, data.to_vec()), 0)
}

#[track_caller]
fn check(node: &Expr, expected: &[f64]) {
    let values = evaluate(std::slice::from_ref(node)).unwrap().remove(0);
    let got = values.to_f64();
    assert_eq!(got.len(), expected.len());
    for (a, b) in got.iter().zip(expected) {
        assert!((a - b).abs() < 1e-12 || a == b || (a.is_nan() && b.is_nan()), "{got:?} is not {expected:?}");
    }
}

#[test]
fn views() {
    let x = float(&[2, 3], &[1., 2., 3., 4., 5., 6.]);
    check(&x.permute(&[1, 0]), &[1., 4., 2., 5., 3., 6.]);
    let flipped = x.slice(&[SliceAxis { start: 1, step: -1, len: 2 }, SliceAxis { start: 2, step: -2, len: 2 }]);
    check(&flipped, &[6., 4., 3., 1.]);
    let pad = x.pad(&[PadAxis { lo: 1, hi: 0, interior: 0 }, PadAxis { lo: 0, hi: 1, interior: 1 }], Literal::float(DType::F32, 9.0));
    check(&pad, &[9., 9., 9., 9., 9., 9., 1., 9., 2., 9., 3., 9., 4., 9., 5., 9., 6., 9.]);
    check(&x.window(1, 2, 1, 1), &[1., 2., 2., 3., 4., 5., 5., 6.]);
    check(&Expr::concat(&[x.clone(), x.narrow(1, 0, 1)], 1), &[1., 2., 3., 1., 4., 5., 6., 4.]);
    let at = Expr::scalar(Literal::int(DType::I64, 1), &[], 0);
    check(&x.dyn_slice(1, &at, 2), &[2., 3., 5., 6.]);
    check(&x.dyn_update(1, &float(&[2, 1], &[7., 8.]), &at), &[1., 7., 3., 4., 8., 6.]);
}

#[test]
fn reductions_and_scans() {
    let x = float(&[2, 3], &[1., 2., 3., f64::NAN, 5., 6.]);
    check(&x.sum(0b10), &[6., f64::NAN]);
    check(&x.reduce(ReduceOp::Max, 0b11), &[f64::NAN]);
    check(&x.scan(ScanOp::Sum, 1, true), &[6., 5., 3., f64::NAN, 11., 6.]);
    check(&x.narrow(1, 0, 0).reduce(ReduceOp::Max, 0b10), &[f64::NEG_INFINITY, f64::NEG_INFINITY]);
    check(&x.argsort(1, true), &[2., 1., 0., 0., 2., 1.]);
    check(&float(&[3], &[2., 2., 1.]).topk(0, 2, true), &[0., 1.]);
    check(&float(&[3], &[0., 0., 0.]).softmax(0), &[1. / 3.; 3]);
    check(&float(&[2], &[1., 3.]).normalize(1, true, 0.0), &[-1., 1.]);
}

#[test]
fn indices() {
    let x = float(&[2, 3], &[1., 2., 3., 4., 5., 6.]);
    check(&x.gather(1, &ints(&[2, 2], &[0, -1, 1, 1])), &[1., 6. - 3., 5., 5.]);
    let src = float(&[1, 3], &[10., 20., 30.]);
    check(&x.scatter(1, ScatterMode::Add, &ints(&[1, 3], &[0, 0, 2]), &src), &[31., 2., 33., 4., 5., 6.]);
    check(&x.scatter(1, ScatterMode::Set, &ints(&[1, 3], &[0, 0, 2]), &src), &[20., 2., 30., 4., 5., 6.]);
    assert!(evaluate(&[x.gather(1, &ints(&[2, 1], &[3, 0]))]).unwrap_err().contains("index 3 is out of range"));
}

#[test]
fn contractions() {
    let a = float(&[1, 2, 2], &[1., 2., 3., 4.]);
    check(&a.matmul(&float(&[1, 2, 1], &[5., 6.])), &[17., 39.]);
    let x = float(&[1, 1, 3], &[1., 2., 3.]);
    let w = float(&[1, 1, 2], &[1., 10.]);
    let spec = ConvSpec {
        stride: [1].into_iter().collect(),
        padding: [(1, 0)].into_iter().collect(),
        dilation: [1].into_iter().collect(),
        groups: 1,
    };
    let y = x.conv(&w, spec.clone().into());
    check(&y, &[10., 21., 32.]);
    let dy = float(&[1, 1, 3], &[1., 1., 1.]);
    check(&Expr::conv_data_grad(&dy, &w, spec.clone().into(), &[1, 1, 3]), &[11., 11., 10.]);
    check(&Expr::conv_weight_grad(&x, &dy, spec.into(), &[1, 1, 2]), &[3., 6.]);
    let pool = PoolSpec {
        kernel: [2].into_iter().collect(),
        stride: [2].into_iter().collect(),
        pad: [1].into_iter().collect(),
        dilation: [1].into_iter().collect(),
    };
    let pooled = x.max_pool_node(pool.into(), &[2]);
    check(&pooled.part(0), &[1., 3.]);
    check(&pooled.part(1), &[0., 2.]);
}

#[test]
fn precision_and_unsigned_integers() {
    let third = float(&[1], &[3.0]).unary(UnaryOp::Recip);
    check(&third, &[1.0 / 3.0]);
    let rounded = evaluate_with(std::slice::from_ref(&third), Precision::Rounded).unwrap();
    assert_eq!(rounded[0].as_f64(0), f64::from(1.0f32 / 3.0));
    let moved = evaluate_with(&[third], Precision::Perturbed(1)).unwrap()[0].as_f64(0);
    assert!(moved != 1.0 / 3.0 && (moved - 1.0 / 3.0).abs() < 3e-8);
    let big = leaf(Values::int(DType::U64, &[2], vec![-1, 1]), 0);
    check(&big.reduce(ReduceOp::Max, 1).cast(DType::F64), &[u64::MAX as f64]);
    check(&big.gt(&leaf(Values::int(DType::U64, &[2], vec![5, 5]), 0)), &[1., 0.]);
}

#[test]
fn bytes_round_trip() {
    for dtype in DType::ALL {
        let values = Values::from_f64(dtype, &[3], &[0.0, 1.0, 100.0]);
        assert_eq!(Values::from_bytes(dtype, &[3], &values.to_bytes()), values);
    }
}
