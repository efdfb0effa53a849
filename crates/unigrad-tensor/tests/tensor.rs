//! Tensors end to end on the CPU: values, indexing, autograd's rules, printing, random numbers.

use unigrad_tensor::*;

fn cpu() -> Device {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    Device::open("cpu").unwrap()
}

fn t<V: NestedValues>(values: V) -> Tensor {
    Tensor::new(values, &cpu())
}

#[track_caller]
fn same(x: &Tensor, shape: &[usize], values: &[f64]) {
    assert_eq!(x.dims().unwrap(), shape);
    let got = x.to_f64_vec().unwrap();
    assert!(got.len() == values.len() && got.iter().zip(values).all(|(a, b)| (a - b).abs() <= 1e-5 * (1.0 + b.abs()) || a == b), "{got:?}");
}

fn ramp(shape: &[usize]) -> Tensor {
    Tensor::range(shape.iter().product(), DType::F32, &cpu()).reshape(shape)
}

#[test]
fn promotion_follows_the_page() {
    let (i, f, b) = (t([1i32, 2]), t([1.5f32, 2.5]), t([true, false]));
    assert_eq!((&i + &f).dtype(), DType::F32);
    assert_eq!((&i + 1).dtype(), DType::I32);
    assert_eq!((&i * 0.5).dtype(), DType::F32);
    assert_eq!((&i / 2).dtype(), DType::F32);
    assert_eq!((&b + 1).dtype(), DType::I64);
    assert_eq!((&b + &b).dtype(), DType::Bool);
    assert_eq!(b.sum(()).dtype(), DType::I64);
    assert_eq!(i.mean(()).dtype(), DType::F32);
    assert_eq!(i.exp().dtype(), DType::F32);
    assert_eq!((f.cast(DType::F16) * t(2.0f32)).dtype(), DType::F16);
    assert_eq!((f.cast(DType::F16) * f.cast(DType::BF16)).dtype(), DType::F32);
    same(&(&i / 2), &[2], &[0.5, 1.0]);
    same(&(2.0 - &f), &[2], &[0.5, -0.5]);
    same(&(7 - &i), &[2], &[6.0, 5.0]);
    same(&i.floor_div(2), &[2], &[0.0, 1.0]);
    same(&(-&f).floor_div(2.0), &[2], &[-1.0, -2.0]);
    same(&(!&b & i.gt(0)), &[2], &[0.0, 1.0]);
}

/// As in PyTorch: the dtype of both, and a float only where neither is one.
#[test]
fn functions_of_two_numbers_keep_half_types() {
    type Function = fn(&Tensor, &Tensor) -> Tensor;
    let all: [Function; 8] = [
        |a, b| a.hypot(b),
        |a, b| a.copysign(b),
        |a, b| a.xlogy(b),
        |a, b| a.xlog1py(b),
        |a, b| a.logaddexp(b),
        |a, b| a.logaddexp2(b),
        |a, b| a.nextafter(b),
        |a, b| a.atan2(b),
    ];
    for half in [DType::F16, DType::BF16, DType::F64] {
        let x = t([1.5f32, 2.0]).cast(half);
        for other in [t([1i64, 2]), t([true, false]), t(3i32), t([1u8, 2])] {
            for function in all {
                assert_eq!((function(&x, &other).dtype(), function(&other, &x).dtype()), (half, half));
            }
        }
    }
    for function in all {
        assert_eq!(function(&t([1i64]), &t([2i32])).dtype(), DType::F32);
    }
    same(&t([3i64]).hypot(t([4.0f32]).cast(DType::F16)), &[1], &[5.0]);
}

#[test]
fn integers_have_no_negative_powers() {
    for bad in [t([2i64]).pow(-1), t([true]).pow(-2), t([2u8]).pow(-1_i64)] {
        let error = bad.to_f64_vec().unwrap_err().to_string();
        assert!(error.contains("to the power of -"), "{error}");
    }
    same(&t([2i64, 0, -1]).pow(t([-1i64, -1, -3])), &[3], &[0.0, 0.0, -1.0]);
    same(&t([2i64]).pow(-1.0), &[1], &[0.5]);
}

#[test]
fn ranges_are_rounded_once() {
    for (start, end, step) in [(0.0, 1.0, 0.1), (-3.7, 20.0, 0.013), (16_777_216.0, 16_777_280.0, 3.0), (0.5, 9.0, 1.0), (5.0, -1.0, -1.0)]
    {
        let got = Tensor::arange(start, end, step, DType::F32, &cpu()).to_vec::<f32>().unwrap();
        let want: Vec<f32> = (0..got.len()).map(|i| (start + step * i as f64) as f32).collect();
        assert_eq!(got, want);
    }
}

#[test]
fn parts_and_axes_of_almost_nothing() {
    let shapes = |parts: &[Tensor]| parts.iter().map(|part| part.dims().unwrap().to_vec()).collect::<Vec<_>>();
    assert_eq!(shapes(&ramp(&[0]).chunk(3, 0)), vec![vec![0]; 3]);
    assert_eq!(shapes(&ramp(&[2, 0]).chunk(2, -1)), vec![vec![2, 0]; 2]);
    assert_eq!(shapes(&ramp(&[5]).chunk(3, 0)), [vec![2], vec![2], vec![1]]);
    assert!(
        ramp(&[2]).chunk(2, 1)[0].is_invalid() && ramp(&[0]).chunk(usize::MAX, 0)[0].is_invalid() && t(1.0f32).chunk(2, 0)[0].is_invalid()
    );
    let x = t(3.0f32);
    for k in [0, 1] {
        let (values, indices) = x.topk(k, -1, true);
        same(&values, &[], &[3.0]);
        same(&indices, &[], &[0.0]);
    }
    assert!(x.topk(2, 0, true).0.is_invalid() && x.topk(1, 1, true).0.is_invalid());
    same(&x.movedims([0], [-1]), &[], &[3.0]);
    assert!(x.movedims([1], [0]).is_invalid() && x.movedims([0, 0], [0, 0]).is_invalid());
}

#[test]
fn indexing() {
    let x = ramp(&[3, 4, 5]);
    same(&x.i((1, .., 2)), &[4], &[22.0, 27.0, 32.0, 37.0]);
    same(&x.i((-1, -1, 1..3)), &[2], &[56.0, 57.0]);
    same(&x.i((Ellipsis, 0)).i(0), &[4], &[0.0, 5.0, 10.0, 15.0]);
    same(&x.i((0, 0, step(.., -2))), &[3], &[4.0, 2.0, 0.0]);
    assert_eq!(x.i((NewAxis, .., 0..=1, Ellipsis, NewAxis)).dims().unwrap(), [1, 3, 2, 5, 1]);
    // A range that ends before it begins is empty, as in NumPy.
    #[allow(clippy::reversed_empty_ranges)]
    let empty = x.i((.., 3..1));
    assert_eq!(empty.dims().unwrap(), [3, 0, 5]);
    same(&x.i((&t([2i64, 0]), 1, &t([0i64, 4]))), &[2], &[45.0, 9.0]);
    same(&x.i((.., &t([[3i64], [-1]]), 0)), &[3, 2, 1], &[15.0, 15.0, 35.0, 35.0, 55.0, 55.0]);
    same(&x.i((0, 0)).i(x.i((0, 0)).gt(2.0)), &[2], &[3.0, 4.0]);
    same(&x.gt(57.5).nonzero(), &[2, 3], &[2.0, 3.0, 3.0, 2.0, 3.0, 4.0]);
    same(&t([3i64, 1, 3, 2, 1]).unique(), &[3], &[1.0, 2.0, 3.0]);
    same(&ramp(&[2, 2]).set_at((.., 0), &t([8.0f32, 9.0])), &[2, 2], &[8.0, 1.0, 9.0, 3.0]);
    // Axes of one element before those of the part are dropped, others are refused.
    same(&ramp(&[2, 2]).set_at((.., 0), &t([8.0f32, 9.0]).reshape([1, 1, 2])), &[2, 2], &[8.0, 1.0, 9.0, 3.0]);
    same(&ramp(&[2, 2]).set_at((0, 0), &t([8.0f32])), &[2, 2], &[8.0, 1.0, 2.0, 3.0]);
    assert!(ramp(&[2, 2]).set_at((.., 0), &t([8.0f32, 9.0]).reshape([2, 1])).realize().is_err());
    for bad in [x.i(3), x.i((0, 0, 0, 0)), x.i((Ellipsis, Ellipsis)), x.i(step(.., 0)), x.i(t([0.5f32]))] {
        assert!(bad.to_f64_vec().is_err());
    }
    let error = x.i((0, 4)).dims().unwrap_err().to_string();
    assert!(error.contains("element 4 of axis 1") && error.contains("tests/tensor.rs"), "{error}");
}

#[test]
fn creation_and_views() {
    let d = &cpu();
    same(&Tensor::arange(1.0, 2.0, 0.25, DType::F32, d), &[4], &[1.0, 1.25, 1.5, 1.75]);
    same(&Tensor::arange(5.0, 0.0, -2.0, DType::I32, d), &[3], &[5.0, 3.0, 1.0]);
    same(&Tensor::linspace(0.0, 1.0, 5, DType::F32, d), &[5], &[0.0, 0.25, 0.5, 0.75, 1.0]);
    same(&Tensor::eye(2, 3, DType::F32, d), &[2, 3], &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    same(&Tensor::logspace(0.0, 2.0, 3, 10.0, DType::F32, d), &[3], &[1.0, 10.0, 100.0]);
    same(&t([[1.0f32, 2.0], [3.0, 4.0]]).t(), &[2, 2], &[1.0, 3.0, 2.0, 4.0]);
    same(&ramp(&[3]).pad_with(&[(2, 1)], PadMode::Reflect), &[6], &[2.0, 1.0, 0.0, 1.0, 2.0, 1.0]);
    same(&ramp(&[3]).pad_with(&[(1, 2)], PadMode::Circular), &[6], &[2.0, 0.0, 1.0, 2.0, 0.0, 1.0]);
    same(&ramp(&[3]).roll(1, 0), &[3], &[2.0, 0.0, 1.0]);
    same(&ramp(&[2]).tile(&[2, 2]), &[2, 4], &[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    same(&ramp(&[3, 3]).diagonal(-1, 0, 1), &[2], &[3.0, 7.0]);
    same(&ramp(&[5]).unfold(0, 3, 2), &[2, 3], &[0.0, 1.0, 2.0, 2.0, 3.0, 4.0]);
    assert_eq!(ramp(&[7]).split(3, 0).len(), 3);
    assert_eq!(ramp(&[7]).chunk(2, 0)[1].dims().unwrap(), [3]);
    assert_eq!(ramp(&[2, 3, 4]).movedim(0, 2).dims().unwrap(), [3, 4, 2]);
    for bad in [
        Tensor::from_slice(&[1.0f32], [2], d),
        Tensor::new(vec![vec![1.0f32], vec![]], d),
        ramp(&[6]).reshape([4, -1]),
        ramp(&[6]).reshape([-1, -1]),
        Tensor::zeros([usize::MAX, 2], DType::F32, d),
        Tensor::zeros([1; 40], DType::F32, d).sum(()),
        ramp(&[2]).pad(&[(usize::MAX, 1)]),
        ramp(&[2]).tile(&[usize::MAX]),
    ] {
        assert!(bad.dims().is_err());
    }
}

#[test]
fn einsum() {
    let (a, b) = (ramp(&[2, 3]), ramp(&[3, 2]));
    same(&Tensor::einsum("ij,jk->ik", &[&a, &b]), &[2, 2], &a.matmul(&b).to_f64_vec().unwrap());
    same(&Tensor::einsum("ij", &[&b]), &[3, 2], &b.to_f64_vec().unwrap());
    same(&Tensor::einsum("ba", &[&b]), &[2, 3], &b.t().to_f64_vec().unwrap());
    same(&Tensor::einsum("ii->i", &[&ramp(&[3, 3])]), &[3], &[0.0, 4.0, 8.0]);
    same(&Tensor::einsum("ii", &[&ramp(&[3, 3])]), &[], &[12.0]);
    same(&Tensor::einsum("i,j->ij", &[&ramp(&[2]), &ramp(&[2])]), &[2, 2], &[0.0, 0.0, 0.0, 1.0]);
    assert_eq!(Tensor::einsum("...ij,...jk->...ik", &[&ramp(&[4, 1, 2, 3]), &ramp(&[5, 3, 2])]).dims().unwrap(), [4, 5, 2, 2]);
    for bad in ["ij,jk->iz", "ij->ij", "ijk,jk", "ij,jk->ii", "i1,jk"] {
        assert!(Tensor::einsum(bad, &[&a, &b]).dims().is_err(), "{bad}");
    }
}

#[test]
fn backward_accumulates_and_frees() {
    let x = t([1.0f32, 2.0, 3.0]).requires_grad();
    let loss = (&x * &x).sum(());
    loss.backward_retain().unwrap();
    loss.backward().unwrap();
    same(&x.grad().unwrap(), &[3], &[4.0, 8.0, 12.0]);
    let error = loss.backward().unwrap_err().to_string();
    assert!(error.contains("backward_retain"), "{error}");
    assert!(grad(&loss, &[&x]).is_err());
    x.zero_grad();
    assert!(x.grad().is_none());
    assert_eq!(loss.item::<f32>().unwrap(), 14.0);
    assert!(x.sum(()).square().backward().is_ok());
    assert!((&x * 2.0).backward().unwrap_err().to_string().contains("one element"));
    assert!(t([1.0f32]).sum(()).backward().unwrap_err().to_string().contains("requires_grad"));
    assert!(t([1i64]).requires_grad().dims().is_err());
}

#[test]
fn a_loss_that_was_read_differentiates() {
    let x = t([1.0f32, 2.0]).requires_grad();
    let y = x.exp();
    let loss = y.sum(());
    loss.item::<f32>().unwrap();
    y.realize().unwrap();
    loss.backward().unwrap();
    same(&x.grad().unwrap(), &[2], &[1f64.exp(), 2f64.exp()]);
}

#[test]
fn where_gradients_stop() {
    let x = t([3.0f32]).requires_grad();
    let detached = x.detach();
    let g = grad(&(&detached * &x).sum(()), &[&x]).unwrap();
    same(&g[0], &[1], &[3.0]);
    let plain = t([3.0f32]);
    let g = grad(&(plain.detach() * &plain).sum(()), &[&plain]).unwrap();
    same(&g[0], &[1], &[3.0]);
    let frozen = no_grad(|| x.reshape([1]));
    assert!(!frozen.needs_grad() && !no_grad(|| &x * 2.0).needs_grad());
    same(&detached, &[1], &[3.0]);
    let g = grad(&x.floor().sum(()), &[&x]).unwrap();
    same(&g[0], &[1], &[0.0]);
}

#[test]
fn higher_derivatives() {
    let x = t([2.0f32]).requires_grad();
    let y = x.pow(3).sum(());
    let first = grad(&y, &[&x]).unwrap().remove(0);
    let second = grad(&first.sum(()), &[&x]).unwrap().remove(0);
    let third = grad(&second.sum(()), &[&x]).unwrap().remove(0);
    same(&first, &[1], &[12.0]);
    same(&second, &[1], &[12.0]);
    same(&third, &[1], &[6.0]);
}

#[test]
fn data_of_any_shape() {
    let x = t([1.0f32, 2.0]).requires_grad();
    x.sum(()).backward().unwrap();
    let other = x.clone();
    // A gradient of the same shape stays, one of another shape does not.
    x.set_data_of_any_shape(&t([3.0f32, 4.0])).unwrap();
    same(&x.grad().unwrap(), &[2], &[1.0, 1.0]);
    x.set_data_of_any_shape(&t([[5.0f32], [6.0], [7.0]])).unwrap();
    assert!(x.grad().is_none() && x.is_variable());
    same(&other, &[3, 1], &[5.0, 6.0, 7.0]);
    (&x * 2.0).sum(()).backward().unwrap();
    same(&x.grad().unwrap(), &[3, 1], &[2.0, 2.0, 2.0]);
    assert!(x.set_data_of_any_shape(&t([1i64])).is_err());
    same(&x, &[3, 1], &[5.0, 6.0, 7.0]);
}

/// What is assigned again and again before it is read is not kept.
#[test]
fn overwritten_assignments_are_not_kept() {
    let nodes = |x: &Tensor| unigrad_plan::Capture::new(&[x.expr()]).unwrap().len();
    let (plain, variable) = (t([1.0f32, 2.0]), t([1.0f32, 2.0]).requires_grad());
    for x in [&plain, &variable] {
        let write = |value: f32| no_grad(|| x.assign(&(t([0.5f32, 0.25]) + value))).unwrap();
        write(1.0);
        let once = nodes(x);
        (2..1000).for_each(|i| write(i as f32));
        assert_eq!(nodes(x), once);
        // One that is read stays: by another tensor, or by the next value.
        let read = x * 2.0;
        write(7.0);
        no_grad(|| x.assign(&(x + 1.0))).unwrap();
        assert_eq!(x.to_vec::<f32>().unwrap(), [8.5, 8.25]);
        assert_eq!(read.to_vec::<f32>().unwrap(), [1999.0, 1998.5]);
        // Where the evaluation fails, the tensor has the value that it had before all of them.
        let bad = t([0.0f32, 1.0]).index_select(0, &Tensor::new([0i64, 9], &cpu()));
        write(1.0);
        no_grad(|| x.assign(&bad)).unwrap();
        no_grad(|| x.assign_if(&t([3.0f32, 3.0]), &Tensor::new([true], &cpu()))).unwrap();
        no_grad(|| x.assign(&(&bad + 1.0))).unwrap();
        assert!(x.to_vec::<f32>().is_err());
        assert_eq!(x.to_vec::<f32>().unwrap(), [8.5, 8.25]);
        // Under a condition the value before is wanted.
        write(1.0);
        no_grad(|| x.assign_if(&t([3.0f32, 3.0]), &Tensor::new([false], &cpu()))).unwrap();
        assert_eq!(x.to_vec::<f32>().unwrap(), [1.5, 1.25]);
    }
}

#[test]
fn assignment() {
    let x = t([1.0f32, 2.0]).requires_grad();
    assert!(x.assign(&t([0.0f32, 0.0])).unwrap_err().to_string().contains("no_grad"));
    let old = &x * 2.0;
    no_grad(|| x.assign(&(&x - 1.0))).unwrap();
    same(&x, &[2], &[0.0, 1.0]);
    same(&old, &[2], &[2.0, 4.0]);
    assert_eq!(x.version(), 1);
    x.sum(()).backward().unwrap();
    same(&x.grad().unwrap(), &[2], &[1.0, 1.0]);
    for bad in [t([1.0f32]), t([1i32, 2]), t([f16::ONE, f16::ONE])] {
        assert!(no_grad(|| x.assign(&bad)).is_err());
    }
    assert!((&x * 2.0).assign(&t([1.0f32, 1.0])).is_err());
    let plain = t([1.0f32, 2.0]);
    plain.assign(&(&plain * 3.0)).unwrap();
    plain.assign(&(&plain + 1.0)).unwrap();
    same(&plain, &[2], &[4.0, 7.0]);
}

#[test]
fn checkpoints_compute_again() {
    let x = t([0.3f32, -0.7]).requires_grad();
    let w = t([1.5f32, 0.5]).requires_grad();
    let block = {
        let w = w.clone();
        move |x: &[Tensor]| ((&x[0] * &w).tanh() * &x[0]).dropout(0.5)
    };
    let mut results = Vec::new();
    for again in [false, true] {
        manual_seed(11);
        x.zero_grad();
        w.zero_grad();
        let y = if again { checkpoint(block.clone(), &[&x]) } else { block(std::slice::from_ref(&x)) };
        let after = y.dropout(0.5);
        after.sum(()).backward().unwrap();
        let (gx, gw) = (x.grad().unwrap().to_f64_vec().unwrap(), w.grad().unwrap().to_f64_vec().unwrap());
        results.push((y.to_f64_vec().unwrap(), gx, gw));
    }
    assert_eq!(results[0], results[1]);
}

#[test]
fn the_users_own_gradient() {
    let x = t([0.5f32, -2.0]).requires_grad();
    let round = |x: &Tensor| custom("straight_through", &[x], |x| x[0].round(), |_, _, dy| vec![Some(dy * 3.0)]);
    let y = round(&x);
    same(&y, &[2], &[0.0, -2.0]);
    y.sum(()).backward().unwrap();
    same(&x.grad().unwrap(), &[2], &[3.0, 3.0]);
    let wrong = custom("wrong", &[&x], |x| x[0].clone(), |_, _, dy| vec![Some(dy.sum(()))]);
    assert!(wrong.sum(()).backward().unwrap_err().to_string().contains("wrong"));
}

#[test]
fn random_numbers() {
    let d = &cpu();
    manual_seed(42);
    let (a, b) = (Tensor::rand([1000], DType::F32, d), Tensor::rand([1000], DType::F32, d));
    // Evaluated in another order, the numbers are the same.
    let (b1, a1) = (b.to_f64_vec().unwrap(), a.to_f64_vec().unwrap());
    manual_seed(42);
    assert_eq!(Tensor::rand([1000], DType::F32, d).to_f64_vec().unwrap(), a1);
    assert_ne!(a1, b1);
    assert!(a1.iter().all(|u| (0.0..1.0).contains(u)));
    // Below 1 whatever the numbers are rounded to.
    for dtype in DType::ALL.into_iter().chain(DType::STORED).filter(|dtype| dtype.is_float()) {
        let u = Tensor::rand([10_000], dtype, d).cast(DType::F64).to_vec::<f64>().unwrap();
        assert!(u.iter().all(|u| (0.0..1.0).contains(u)), "{dtype}");
        assert!((u.iter().sum::<f64>() / 1e4 - 0.5).abs() < 0.1, "{dtype}");
    }
    let n = Tensor::randn([20_000], DType::F32, d);
    assert!(n.mean(()).to_f64().unwrap().abs() < 0.03 && (n.std((), 1).to_f64().unwrap() - 1.0).abs() < 0.03);
    let i = Tensor::randint(-3, 4, [5000], DType::I64, d);
    assert_eq!((i.min(()).item::<i64>().unwrap(), i.max(()).item::<i64>().unwrap()), (-3, 3));
    let mut p = Tensor::randperm(100, d).to_vec::<i64>().unwrap();
    p.sort_unstable();
    assert_eq!(p, (0..100).collect::<Vec<i64>>());
    let kept = Tensor::ones([10_000], DType::F32, d).dropout(0.25);
    assert!((kept.mean(()).to_f64().unwrap() - 1.0).abs() < 0.03);
    let m = t([0.0f32, 3.0, 1.0]).multinomial(4000, true);
    same(&m.eq(0).sum(()), &[], &[0.0]);
    assert!((m.eq(1).cast(DType::F32).mean(()).to_f64().unwrap() - 0.75).abs() < 0.03);
    let mut m = t([0.1f32, 3.0, 1.0]).multinomial(3, false).to_vec::<i64>().unwrap();
    m.sort_unstable();
    assert_eq!(m, [0, 1, 2]);
}

#[test]
fn logarithms_of_sums_of_rows_with_infinities() {
    const INF: f32 = f32::INFINITY;
    const NAN: f32 = f32::NAN;
    // The row, its value, its gradient: PyTorch's, except that its slopes of the last row are 1.
    for (row, value, slope) in [
        ([INF, 100.0, 0.0], INF, [NAN, 0.0, 0.0]),
        ([INF, -INF, 1e38], INF, [NAN, 0.0, 0.0]),
        ([INF, 1.0, INF], INF, [NAN, 0.0, NAN]),
        ([INF, f32::MAX, -f32::MAX], INF, [NAN, 0.0, 0.0]),
        ([-INF, 2.0, 2.0], 2.693_147_2, [0.0, 0.5, 0.5]),
        ([-INF, -INF, -INF], -INF, [NAN, NAN, NAN]),
        ([-f32::MAX, -f32::MAX, -INF], -f32::MAX, [0.5, 0.5, 0.0]),
    ] {
        let x = t(row).requires_grad();
        let y = x.logsumexp(0);
        y.backward().unwrap();
        let slopes = x.grad().unwrap().to_vec::<f32>().unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), [value], "{row:?}");
        let is_same = |(a, b): (&f32, &f32)| a == b || (a.is_nan() && b.is_nan());
        assert!(slopes.iter().zip(&slope).all(is_same), "{row:?}: {slopes:?}");
    }
    let x = t([f64::INFINITY, 800.0]).requires_grad();
    x.logsumexp(0).backward().unwrap();
    let slopes = x.grad().unwrap().to_vec::<f64>().unwrap();
    assert!(slopes[0].is_nan() && slopes[1] == 0.0, "{slopes:?}");
}

#[test]
fn printing() {
    assert_eq!(t([[1.0f32, 2.0], [3.0, 4.5]]).to_string(), "[[1.0000, 2.0000],\n [3.0000, 4.5000]]");
    assert_eq!(t([1i64, -20]).to_string(), "[  1, -20]");
    // All digits of what a float has not.
    assert_eq!(t([(1i64 << 53) + 1]).to_string(), "[9007199254740993]");
    assert_eq!(t([u64::MAX]).to_string(), "[18446744073709551615]");
    assert_eq!(t([true]).to_string(), "[true]");
    assert_eq!(t(2.0f32).to_string(), "2.");
    assert_eq!(ramp(&[2000]).to_string(), "[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n 1.9990e+03]");
    assert_eq!(t([1e8f64, -1e-10, 0.0]).to_string(), "[ 1.0000e+08, -1.0000e-10,  0.0000e+00]");
    assert_eq!(t([f32::NAN, f32::NEG_INFINITY, 0.5]).to_string(), "[   nan,   -inf, 0.5000]");
    // Lines of 80 columns, from the column that the text begins at.
    let (short, long) = (Tensor::range(30, DType::I64, &cpu()).to_string(), format!("{:60}", ramp(&[6])));
    assert_eq!(short.lines().map(str::len).collect::<Vec<_>>(), [80, 40]);
    assert_eq!(long, format!("[0., 1., 2., 3., 4.,\n{}5.]", " ".repeat(61)));
    assert_eq!(ramp(&[0, 3]).to_string(), "[]");
    let bad = ramp(&[2]) + ramp(&[3]);
    assert!(bad.to_string().contains("do not broadcast"), "{bad}");
}

#[test]
fn losses_and_pools() {
    let x = t([[1.0f32, 2.0, 0.5], [0.1, -1.0, 3.0]]);
    let y = t([1i64, -100]);
    let options = CrossEntropyOptions { ignore_index: Some(-100), ..Default::default() };
    let want = -(2f64.exp() / (1f64.exp() + 2f64.exp() + 0.5f64.exp())).ln();
    same(&x.cross_entropy_with(&y, &options), &[], &[want]);
    assert!(x.cross_entropy(&t([1i64, 3])).item::<f32>().is_err());
    let p = ramp(&[1, 1, 5]).avg_pool1d(&PoolOptions { ceil_mode: true, count_include_pad: false, ..PoolOptions::new(2) });
    same(&p, &[1, 1, 3], &[0.5, 2.5, 4.0]);
    same(&ramp(&[1, 1, 5]).max_pool1d(&PoolOptions::new(2)), &[1, 1, 2], &[1.0, 3.0]);
    // One window wider than the padded input, by less than a stride; expected values are PyTorch's.
    let x = t([[[1.0f32, 5.0, 2.0]]]);
    let wide = |kernel: usize, stride: usize, padding: usize, dilation: usize, count_include_pad: bool| PoolOptions {
        ceil_mode: true,
        count_include_pad,
        dilation: vec![dilation],
        ..PoolOptions::new(kernel).stride(stride).padding(padding)
    };
    for (kernel, stride, padding, dilation, want) in
        [(4, 2, 0, 1, 5.0), (5, 3, 0, 1, 5.0), (6, 3, 1, 1, 5.0), (2, 2, 0, 3, 1.0), (3, 4, 0, 2, 2.0)]
    {
        same(&x.max_pool1d(&wide(kernel, stride, padding, dilation, true)), &[1, 1, 1], &[want]);
    }
    for (kernel, stride, padding, counts, want) in
        [(4, 2, 0, true, 8.0 / 3.0), (5, 3, 0, false, 8.0 / 3.0), (6, 3, 1, true, 1.6), (6, 3, 1, false, 8.0 / 3.0)]
    {
        same(&x.avg_pool1d(&wide(kernel, stride, padding, 1, counts)), &[1, 1, 1], &[want]);
    }
    same(&ramp(&[1, 1, 3, 6]).max_pool2d(&PoolOptions { stride: vec![2, 4], ..wide(4, 2, 0, 1, true) }), &[1, 1, 1, 2], &[15.0, 17.0]);
    for options in [wide(5, 2, 0, 1, true), wide(usize::MAX, 3, 0, 1, true), PoolOptions { ceil_mode: false, ..wide(4, 2, 0, 1, true) }] {
        assert!(x.max_pool1d(&options).is_invalid() && x.avg_pool1d(&options).is_invalid(), "{options:?}");
    }
    same(&x.max_pool1d(&wide(usize::MAX, usize::MAX, 0, 1, true)), &[1, 1, 1], &[5.0]);
    same(&ramp(&[1, 1, 5]).adaptive_avg_pool(&[2]), &[1, 1, 2], &[1.0, 3.0]);
}

#[test]
fn parts_of_max_pools() {
    let x = t([[[3.0f32, 1.0, 3.0, f32::NAN, 2.0, -1.0, 5.0]]]);
    let options = PoolOptions { ceil_mode: true, ..PoolOptions::new(3).stride(2).padding(1) };
    let (maxima, indices) = x.max_pool_with_index(1, &options);
    same(&indices, &[1, 1, 4], &[0.0, 3.0, 3.0, 6.0]);
    let maxima = maxima.to_f64_vec().unwrap();
    assert!(maxima[0] == 3.0 && maxima[1].is_nan() && maxima[2].is_nan() && maxima[3] == 5.0, "{maxima:?}");
    // Either part alone, and gradients of a value that was there before.
    let x = ramp(&[1, 2, 2, 6]).requires_grad();
    let (_, indices) = x.max_pool_with_index(2, &PoolOptions::new(2));
    same(&indices, &[1, 2, 1, 3], &[7.0, 9.0, 11.0, 7.0, 9.0, 11.0]);
    let y = x.max_pool2d(&PoolOptions::new(2));
    same(&y, &[1, 2, 1, 3], &[7.0, 9.0, 11.0, 19.0, 21.0, 23.0]);
    let gradient = grad(&y.square().sum(()), &[&x]).unwrap().remove(0);
    let (mut want, maxima) = ([0.0; 24], [7, 9, 11, 19, 21, 23]);
    maxima.iter().for_each(|at| want[*at] = 2.0 * *at as f64);
    same(&gradient, &[1, 2, 2, 6], &want);
    assert!(Tensor::zeros([1, 1, 0], DType::F32, &cpu()).max_pool1d(&PoolOptions::new(2).padding(1)).realize().is_err());
    // A window that steps over the input: its elements would be at -1 and 3, and at -1 and 4.
    for (len, dilation) in [(3, 4), (4, 5)] {
        let outside = ramp(&[1, 1, len]).max_pool1d(&PoolOptions { dilation: vec![dilation], ..PoolOptions::new(2).stride(1).padding(1) });
        let message = outside.realize().unwrap_err().to_string();
        assert!(message.contains("window 0 along spatial axis 0") && message.contains("nothing but padding"), "{message}");
    }
    let touching = PoolOptions { dilation: vec![3], ..PoolOptions::new(2).stride(1).padding(1) };
    same(&ramp(&[1, 1, 3]).max_pool1d(&touching), &[1, 1, 2], &[2.0, 0.0]);
}

#[test]
fn tensors_are_shared_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Tensor>();
    let x = ramp(&[100]);
    let sums: Vec<f64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|i| {
                scope.spawn({
                    let x = &x;
                    move || (x * i).sum(()).to_f64().unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(sums, [0.0, 4950.0, 9900.0, 14850.0]);
}

/// What one thread computes may lie in the graph of another, and its input be overwritten as if nothing else held it.
#[test]
fn threads_compute_parts_of_one_graph_at_once() {
    for round in 0..300 {
        let x = (ramp(&[64]) + f64::from(round)).realize().unwrap();
        let y = (0..40).fold(x, |sum, _| &sum * 1.0 + 1.0);
        let barrier = std::sync::Barrier::new(3);
        std::thread::scope(|scope| {
            for factor in [1.0, 3.0, 5.0] {
                let (y, barrier) = (y.clone(), &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let read = if factor == 1.0 { y } else { y * factor }.to_f64_vec().unwrap();
                    let want = (0..64).map(|i| (f64::from(i + round) + 40.0) * factor);
                    assert!(read.iter().copied().eq(want), "round {round}, times {factor}: {read:?}");
                });
            }
        });
    }
}

/// A user's gradient holds tensors: it goes with its node, although the plan of the graph stays.
#[test]
fn a_cached_plan_keeps_no_gradient_alive() {
    let x = Tensor::from_slice(&[1.0f32, 2.0], [2], &cpu()).requires_grad();
    for _ in 0..2 {
        let held = std::sync::Arc::new(());
        let inside = held.clone();
        let y = custom(
            "held",
            &[&x],
            |x| x[0].exp(),
            move |_, _, dy| {
                let _ = &inside;
                vec![Some(dy.clone())]
            },
        );
        let loss = (&y * 2.0).sum(());
        loss.backward().unwrap();
        assert_eq!(x.grad().unwrap().to_vec::<f32>().unwrap(), [2.0, 2.0]);
        x.zero_grad();
        drop((y, loss));
        assert_eq!(std::sync::Arc::strong_count(&held), 1);
    }
}

#[test]
fn a_handle_becomes_another_value_and_what_was_computed_stays() {
    let device = cpu();
    let x = Tensor::new([1.0f32, 2.0], &device);
    let (clone, before) = (x.clone(), &x * 10.0);
    let w = Tensor::new([3.0f32, 4.0], &device).requires_grad();
    x.become_value(&(&w * 2.0)).unwrap();
    assert_eq!((clone.to_vec::<f32>().unwrap(), before.to_vec::<f32>().unwrap()), (vec![6.0, 8.0], vec![10.0, 20.0]));
    x.sum(()).backward().unwrap();
    assert_eq!(w.grad().unwrap().to_vec::<f32>().unwrap(), [2.0, 2.0]);
    assert!(w.become_value(&before).unwrap_err().to_string().contains("no_grad"));
    let leaf = Tensor::new([5.0f32], &device);
    leaf.become_variable().unwrap();
    leaf.square().sum(()).backward().unwrap();
    assert_eq!(leaf.grad().unwrap().to_vec::<f32>().unwrap(), [10.0]);
    assert!(Tensor::new([1i64], &device).become_variable().is_err());
}

/// What is the same at each place of an axis is read without the index, which is checked all the same.
#[test]
fn positions_in_what_is_repeated_are_checked() {
    let device = cpu();
    let row = Tensor::from_slice(&[7.0f32, 1.0], [1, 2], &device).realize().unwrap();
    let (rows, index) = (row.expand([3, 2]), |i: i64| Tensor::from_slice(&[i], [1], &device));
    let start = |i: i64| Tensor::scalar(i as f64, DType::I64, &device);
    let narrow = row.expand([1, 2]).take_along(0, &Tensor::from_slice(&[0i64, 1], [1, 2], &device));
    for (name, wrong) in [
        ("select", rows.index_select(0, &index(5))),
        ("from the end", rows.index_select(0, &index(-4))),
        ("computed", ((&rows * 2.0).exp() + 1.0).index_select(0, &index(3))),
        ("slice", rows.dyn_slice(0, &start(2), 2)),
        ("one place", narrow),
    ] {
        let error = wrong.to_vec::<f32>().map(|_| ()).expect_err(name).to_string();
        assert!(error.contains("out of range"), "{name}: {error}");
    }
    assert_eq!(rows.index_select(0, &index(-3)).to_vec::<f32>().unwrap(), [7.0, 1.0]);
    assert_eq!(rows.dyn_slice(0, &start(1), 2).to_vec::<f32>().unwrap(), [7.0, 1.0, 7.0, 1.0]);
}
