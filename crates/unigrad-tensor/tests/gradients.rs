//! First and second derivatives of every op, against central differences of the float64 oracle.

use unigrad_graph::{DType, Expr, ScanOp, ScatterMode};
use unigrad_tensor::*;
use unigrad_testing::{Values, oracle};

/// Numbers that look random, far from ties and kinks.
fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..n).map(|_| next() * 2.0 - 1.0).collect()
}

fn leaf(shape: &[usize], data: &[f64]) -> Tensor {
    Tensor::from_expr(oracle::leaf(Values::from_f64(DType::F64, shape, data), 0))
}

fn ints(shape: &[usize], data: &[i64]) -> Tensor {
    Tensor::from_expr(oracle::leaf(Values::int(DType::I64, shape, data.to_vec()), 0))
}

fn values(tensors: &[Tensor]) -> Vec<Vec<f64>> {
    let exprs: Vec<Expr> = tensors.iter().map(|t| t.expr()).collect();
    for (i, expr) in exprs.iter().enumerate() {
        if let Some(error) = expr.error() {
            panic!("result {i} is invalid: {error}");
        }
    }
    oracle::evaluate(&exprs).unwrap().iter().map(|v| v.to_f64()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

type Function<'a> = &'a dyn Fn(&[Tensor]) -> Tensor;

/// Gradients of `sum(dy * f(x))` and their differences.
#[track_caller]
fn compare(name: &str, shapes: &[Vec<usize>], data: &[Vec<f64>], f: Function<'_>, g: &dyn Fn(&[Tensor]) -> Vec<Tensor>) {
    let make = |data: &[Vec<f64>]| -> Vec<Tensor> { shapes.iter().zip(data).map(|(shape, data)| leaf(shape, data)).collect() };
    let inputs = make(data);
    let analytic = values(&g(&inputs));
    let h = 1e-5;
    let scalar = |data: &[Vec<f64>]| {
        let y = f(&make(data));
        let dy = noise(y.numel(), 77);
        dot(&values(&[y])[0], &dy)
    };
    for (i, analytic) in analytic.iter().enumerate() {
        assert_eq!(analytic.len(), data[i].len(), "{name}: input {i}");
        for (j, analytic) in analytic.iter().enumerate() {
            let mut moved = data.to_vec();
            moved[i][j] += h;
            let up = scalar(&moved);
            moved[i][j] -= 2.0 * h;
            let down = scalar(&moved);
            let numeric = (up - down) / (2.0 * h);
            assert!((analytic - numeric).abs() <= 2e-5 * (1.0 + numeric.abs()), "{name}: input {i}[{j}]: {analytic} is not {numeric}");
        }
    }
}

fn gradient(f: Function<'_>, inputs: &[Tensor]) -> Vec<Tensor> {
    let y = f(inputs);
    assert!(y.error().is_none(), "{}", y.error().unwrap());
    let dy = leaf(&y.shape(), &noise(y.numel(), 77));
    let found = grad_allow_unused(&y, Some(&dy), &inputs.iter().collect::<Vec<_>>()).unwrap();
    // The second derivative of what is linear depends on nothing.
    found.into_iter().zip(inputs).map(|(gradient, x)| gradient.unwrap_or_else(|| x.zeros_like())).collect()
}

#[track_caller]
fn check_data(name: &str, shapes: &[&[usize]], data: Vec<Vec<f64>>, second: bool, f: Function<'_>) {
    let shapes: Vec<Vec<usize>> = shapes.iter().map(|s| s.to_vec()).collect();
    compare(name, &shapes, &data, f, &|inputs| gradient(f, inputs));
    if !second {
        return;
    }
    // All gradients as one vector, differentiated again.
    let flat = |inputs: &[Tensor]| -> Tensor {
        let parts: Vec<Tensor> = gradient(f, inputs).iter().map(|g| g.flatten_all()).collect();
        Tensor::concat(&parts.iter().collect::<Vec<_>>(), 0)
    };
    compare(&format!("{name} twice"), &shapes, &data, &flat, &|inputs| gradient(&flat, inputs));
}

#[track_caller]
fn check(name: &str, shapes: &[&[usize]], f: impl Fn(&[Tensor]) -> Tensor) {
    let data = shapes.iter().enumerate().map(|(i, s)| noise(s.iter().product(), i as u64 + 3)).collect();
    check_data(name, shapes, data, true, &f);
}

/// Inputs in 0.2..1.
#[track_caller]
fn check_positive(name: &str, shapes: &[&[usize]], f: impl Fn(&[Tensor]) -> Tensor) {
    let positive = |(i, s): (usize, &&[usize])| noise(s.iter().product(), i as u64 + 3).iter().map(|x| 0.2 + 0.7 * x.abs()).collect();
    check_data(name, shapes, shapes.iter().enumerate().map(positive).collect(), true, &f);
}

#[test]
fn unary() {
    type F = fn(&Tensor) -> Tensor;
    let any: &[(&str, F)] = &[
        ("neg", Tensor::neg),
        ("abs", Tensor::abs),
        ("exp", Tensor::exp),
        ("exp2", Tensor::exp2),
        ("expm1", Tensor::expm1),
        ("sin", Tensor::sin),
        ("cos", Tensor::cos),
        ("tan", Tensor::tan),
        ("asin", Tensor::asin),
        ("acos", Tensor::acos),
        ("atan", Tensor::atan),
        ("sinh", Tensor::sinh),
        ("cosh", Tensor::cosh),
        ("tanh", Tensor::tanh),
        ("erf", Tensor::erf),
        ("relu", Tensor::relu),
        ("sigmoid", Tensor::sigmoid),
        ("silu", Tensor::silu),
        ("gelu", Tensor::gelu),
        ("gelu_tanh", Tensor::gelu_tanh),
        ("softplus", Tensor::softplus),
        ("selu", Tensor::selu),
        ("mish", Tensor::mish),
        ("hardswish", Tensor::hardswish),
        ("square", Tensor::square),
        ("asinh", Tensor::asinh),
        ("atanh", Tensor::atanh),
        ("softsign", Tensor::softsign),
        ("log_sigmoid", Tensor::log_sigmoid),
        ("floor", Tensor::floor),
        ("recip", Tensor::recip),
        ("relu6", Tensor::relu6),
        ("sign", Tensor::sign),
    ];
    for (name, f) in any {
        check(name, &[&[2, 3]], |x| f(&x[0]));
    }
    let positive: &[(&str, F)] = &[
        ("log", Tensor::log),
        ("log2", Tensor::log2),
        ("log1p", Tensor::log1p),
        ("log10", Tensor::log10),
        ("sqrt", Tensor::sqrt),
        ("rsqrt", Tensor::rsqrt),
    ];
    for (name, f) in positive {
        check_positive(name, &[&[2, 3]], |x| f(&x[0]));
    }
    check("acosh", &[&[3]], |x| (&x[0] + 2.5).acosh());
    check("elu", &[&[2, 3]], |x| x[0].elu(1.3));
    check("leaky_relu", &[&[2, 3]], |x| x[0].leaky_relu(0.1));
    check("clamp", &[&[2, 3]], |x| x[0].clamp(-0.3, 0.4));
    check("cast", &[&[2, 3]], |x| x[0].cast(DType::F64) * 2.0);
}

#[test]
fn binary() {
    check("add", &[&[2, 3], &[3]], |x| &x[0] + &x[1]);
    check("sub", &[&[2, 1], &[1, 3]], |x| &x[0] - &x[1]);
    check("mul", &[&[2, 3], &[]], |x| &x[0] * &x[1]);
    check_positive("div", &[&[2, 3], &[2, 1]], |x| &x[0] / &x[1]);
    check_positive("rem", &[&[2, 3], &[3]], |x| &x[0] % &x[1]);
    check_positive("pow", &[&[2, 3], &[3]], |x| x[0].pow(&x[1]));
    check_positive("pow number", &[&[2, 3]], |x| x[0].pow(2.5));
    check("pow 3", &[&[2, 3]], |x| x[0].pow(3));
    check_positive("pow -2", &[&[2, 3]], |x| x[0].pow(-2));
    check_data("pow 0", &[&[3], &[3]], vec![vec![0.5, 2.0, 3.0], vec![0.0, 0.0, 1.0]], true, &|x| x[0].pow(&x[1]));
    check("atan2", &[&[2, 3], &[3]], |x| x[0].atan2(&x[1]));
    check("maximum", &[&[2, 3], &[3]], |x| x[0].maximum(&x[1]));
    check("minimum", &[&[2, 3], &[3]], |x| x[0].minimum(&x[1]));
    check("where", &[&[2, 3], &[3]], |x| x[0].gt(0.1).where_(&x[0] * 2.0, &x[1] * &x[1]));
    check("lerp", &[&[3], &[3], &[3]], |x| x[0].lerp(&x[1], &x[2]));
    check("left scalar", &[&[3]], |x| 2.0 - (1.0 / (&x[0] + 3.0)));
    check("self product", &[&[3]], |x| &x[0] * &x[0] * &x[0]);
}

#[test]
fn views() {
    check("reshape", &[&[2, 6]], |x| x[0].reshape([3, -1]).square());
    check("permute", &[&[2, 3, 4]], |x| x[0].permute([2, 0, 1]).square());
    check("expand", &[&[2, 1, 3]], |x| x[0].expand([4, 2, 5, 3]).square());
    check("slice", &[&[7, 6]], |x| x[0].i((step(1..6, 2), step(.., -1))).square());
    check("slice -3", &[&[8]], |x| x[0].i(step(.., -3)).square());
    check("index", &[&[3, 4, 5]], |x| x[0].i((.., 1, 2..5)).square());
    check("pad", &[&[2, 3]], |x| x[0].pad(&[(1, 2), (0, 1)]).square());
    check("reflect", &[&[2, 5]], |x| x[0].pad_with(&[(2, 3)], PadMode::Reflect).square());
    check("replicate", &[&[2, 3]], |x| x[0].pad_with(&[(1, 0), (2, 1)], PadMode::Replicate).square());
    check("circular", &[&[2, 3]], |x| x[0].pad_with(&[(2, 3)], PadMode::Circular).square());
    check("concat", &[&[2, 3], &[2, 2]], |x| Tensor::concat(&[&x[0], &x[1]], -1).square());
    check("stack", &[&[2, 3], &[2, 3]], |x| Tensor::stack(&[&x[0], &x[1]], 1).square());
    check("flip", &[&[2, 3]], |x| x[0].flip([0, 1]).square());
    check("roll", &[&[2, 5]], |x| x[0].roll(-2, 1).square());
    check("tile", &[&[2, 3]], |x| x[0].tile(&[2, 1, 3]).square());
    check("interleave", &[&[2, 3]], |x| x[0].repeat_interleave(3, 0).square());
    check("tril", &[&[3, 4]], |x| x[0].tril(1).square());
    check("diagonal", &[&[3, 4, 2]], |x| x[0].diagonal(1, 0, 1).square());
    check("diag_embed", &[&[2, 3]], |x| x[0].diag_embed().square());
    check("unfold", &[&[2, 7]], |x| x[0].unfold(1, 3, 2).square());
    check("unfold overlap", &[&[7, 2]], |x| x[0].unfold(0, 4, 1).square());
    check("unfold apart", &[&[9]], |x| x[0].unfold(0, 2, 3).square());
    check("unfold dilated", &[&[9]], |x| Tensor::from_expr(x[0].expr().window(0, 3, 2, 2)).square());
    check("unfold long", &[&[40]], |x| x[0].unfold(0, 36, 1).square());
    check("dyn_slice", &[&[6, 2]], |x| x[0].dyn_slice(0, &ints(&[], &[2]), 3).square());
    check("dyn_update", &[&[6, 2], &[3, 2]], |x| x[0].dyn_update(0, &x[1], &ints(&[], &[1])).square());
    check("set_at", &[&[4, 3], &[2]], |x| x[0].set_at((1..3, 0), &x[1]).square());
}

#[test]
fn reductions() {
    check("sum", &[&[2, 3, 4]], |x| x[0].sum([0, 2]).square());
    check("mean", &[&[2, 3, 4]], |x| x[0].mean_keepdim(1).square());
    check("prod", &[&[2, 3, 2]], |x| x[0].prod([0, 2]));
    check("max", &[&[2, 3, 4]], |x| x[0].max([0, 2]).square());
    check("min", &[&[2, 3, 4]], |x| x[0].min(()).square());
    check("var", &[&[2, 5]], |x| x[0].var(1, 1));
    check("std", &[&[2, 5]], |x| x[0].std((), 0));
    check("norm 2", &[&[2, 5]], |x| x[0].norm(2.0, 1));
    check("norm 1", &[&[2, 5]], |x| x[0].norm(1.0, ()));
    check("norm 3", &[&[2, 5]], |x| x[0].norm(3.0, 0));
    check("norm inf", &[&[2, 5]], |x| x[0].norm(f64::INFINITY, 1));
    check("logsumexp", &[&[2, 5]], |x| x[0].logsumexp(1));
    check("cumsum", &[&[2, 5]], |x| x[0].cumsum(1).square());
    check("cumprod", &[&[2, 4]], |x| x[0].cumprod(1));
    check("cummax", &[&[2, 5]], |x| x[0].cummax(1).square());
    check("cummin", &[&[5, 2]], |x| x[0].cummin(0).square());
    check("max index", &[&[2, 5]], |x| x[0].max_with_index(1).0.square());
    let zeros = vec![vec![0.5, 0.0, -0.7, 1.5, 2.0, 0.3, 0.0, 0.0]];
    check_data("prod with zeros", &[&[2, 4]], zeros.clone(), true, &|x| x[0].prod(1));
    check_data("cumprod with zeros", &[&[2, 4]], zeros.clone(), true, &|x| x[0].cumprod(1));
    check_data("cumprod backwards", &[&[4, 2]], zeros, true, &|x| Tensor::from_expr(x[0].expr().scan(ScanOp::Prod, 0, true)));
}

#[test]
fn indexed() {
    let index = || ints(&[2, 3], &[0, 2, 2, 1, 0, -1]);
    check("gather", &[&[2, 4]], |x| x[0].gather(1, &index()).square());
    check("gather part", &[&[3, 4]], |x| x[0].gather(1, &index()).square());
    check("take_along", &[&[3, 4]], |x| x[0].take_along(1, &ints(&[1, 2], &[3, 1])).square());
    check("index_select", &[&[3, 4]], |x| x[0].index_select(0, &ints(&[2, 2], &[2, 0, 2, 1])).square());
    check("index tensors", &[&[3, 4, 2]], |x| x[0].i((&ints(&[2], &[2, 0]), &ints(&[2], &[1, 3]))).square());
    check("take", &[&[3, 4]], |x| x[0].take(&ints(&[3], &[5, 0, 11])).square());
    check("embedding", &[&[5, 3]], |x| x[0].embedding(&ints(&[2, 2], &[4, 0, 4, 1])).square());
    for mode in [ScatterMode::Set, ScatterMode::Add, ScatterMode::Max, ScatterMode::Min, ScatterMode::Mul] {
        check(&format!("scatter {mode}"), &[&[2, 4], &[2, 3]], |x| x[0].scatter_with(1, &index(), &x[1], mode).square());
        check(&format!("scatter part {mode}"), &[&[3, 4], &[2, 3]], |x| x[0].scatter_with(1, &index(), &x[1], mode).square());
    }
    check_data("scatter mul with zeros", &[&[1, 3], &[1, 5]], vec![vec![0.5, -0.3, 0.0], vec![0.0, 0.4, 0.7, 0.0, 0.0]], true, &|x| {
        x[0].scatter_with(1, &ints(&[1, 5], &[0, 0, 1, 1, 1]), &x[1], ScatterMode::Mul)
    });
    check("index_add", &[&[4, 3], &[2, 3]], |x| x[0].index_add(0, &ints(&[2], &[3, 3]), &x[1]).square());
    check("sort", &[&[2, 5]], |x| x[0].sort(1, true).0.square());
    check("topk", &[&[2, 5]], |x| x[0].topk(2, 1, false).0.square());
    check("masked_fill", &[&[2, 5]], |x| x[0].masked_fill(&x[0].gt(0.0), 3.0).square());
}

#[test]
fn products() {
    check("matmul", &[&[2, 3], &[3, 4]], |x| x[0].matmul(&x[1]).square());
    check("matmul vector", &[&[3], &[2, 3, 4]], |x| x[0].matmul(&x[1]).square());
    check("matmul column", &[&[2, 4, 3], &[3]], |x| x[0].matmul(&x[1]).square());
    check("matmul batch", &[&[2, 1, 2, 3], &[3, 3, 2]], |x| x[0].matmul(&x[1]).square());
    check("dot", &[&[3], &[3]], |x| x[0].dot(&x[1]));
    check("outer", &[&[3], &[2]], |x| x[0].outer(&x[1]));
    check("linear", &[&[2, 2, 3], &[4, 3], &[4]], |x| x[0].linear(&x[1], Some(&x[2])).square());
    check("einsum", &[&[2, 3, 4], &[2, 4, 2]], |x| Tensor::einsum("bij,bjk->kib", &[&x[0], &x[1]]).square());
    check("einsum dots", &[&[2, 3, 4], &[4]], |x| Tensor::einsum("...j,j->...", &[&x[0], &x[1]]).square());
    check("einsum trace", &[&[3, 3], &[3]], |x| Tensor::einsum("ii,i", &[&x[0], &x[1]]).square());
    check("einsum three", &[&[2, 3], &[3, 2], &[2]], |x| Tensor::einsum("ij,jk,k->ik", &[&x[0], &x[1], &x[2]]));
}

#[test]
fn convolutions() {
    check("conv1d", &[&[2, 2, 6], &[3, 2, 3], &[3]], |x| x[0].conv1d(&x[1], Some(&x[2]), &ConvOptions::new(2, 1)));
    let options = ConvOptions { padding: vec![(0, 1), (2, 0)], stride: vec![1, 2], dilation: vec![2, 1], ..ConvOptions::default() };
    check("conv2d", &[&[1, 2, 5, 4], &[2, 2, 2, 3]], |x| x[0].conv2d(&x[1], None, &options));
    check("conv2d groups", &[&[1, 4, 3, 3], &[4, 2, 2, 2]], |x| x[0].conv2d(&x[1], None, &ConvOptions::default().groups(2)));
    check("conv3d", &[&[1, 1, 3, 2, 3], &[2, 1, 2, 2, 2]], |x| x[0].conv3d(&x[1], None, &ConvOptions::new(1, 1)));
    let options = ConvOptions { output_padding: vec![1], ..ConvOptions::new(2, 1) };
    check("conv_transpose1d", &[&[2, 2, 3], &[2, 3, 3], &[3]], |x| x[0].conv_transpose1d(&x[1], Some(&x[2]), &options));
    check("conv_transpose2d", &[&[1, 4, 2, 2], &[4, 1, 2, 3]], |x| x[0].conv_transpose2d(&x[1], None, &ConvOptions::new(2, 0).groups(2)));
    check("max_pool", &[&[1, 2, 5, 5]], |x| x[0].max_pool2d(&PoolOptions::new(3).stride(2).padding(1)).square());
    check("max_pool1d", &[&[2, 1, 7]], |x| x[0].max_pool1d(&PoolOptions { ceil_mode: true, ..PoolOptions::new(2) }).square());
    let options = PoolOptions { dilation: vec![1, 2, 1], ..PoolOptions::new(2).stride(1) };
    check("max_pool3d", &[&[1, 2, 2, 4, 3]], |x| x[0].max_pool3d(&options).square());
    check("avg_pool", &[&[1, 2, 5, 5]], |x| x[0].avg_pool2d(&PoolOptions::new(3).stride(2).padding(1)).square());
    let options = PoolOptions { ceil_mode: true, count_include_pad: false, ..PoolOptions::new(2).padding(1) };
    check("avg_pool ceil", &[&[1, 1, 6]], |x| x[0].avg_pool1d(&options).square());
    check("adaptive avg", &[&[1, 1, 5, 4]], |x| x[0].adaptive_avg_pool(&[3, 2]).square());
    check("adaptive max", &[&[1, 1, 5, 4]], |x| x[0].adaptive_max_pool(&[3, 1]).square());
    check("nearest", &[&[1, 1, 3, 2]], |x| x[0].interpolate_nearest(&[5, 4]).square());
}

#[test]
fn rows() {
    check("softmax", &[&[2, 4]], |x| x[0].softmax(-1));
    check("softmax 0", &[&[3, 2, 2]], |x| x[0].softmax(0));
    check("log_softmax", &[&[2, 4]], |x| x[0].log_softmax(1));
    check("layer_norm", &[&[2, 4], &[4], &[4]], |x| x[0].layer_norm(Some(&x[1]), Some(&x[2]), 1e-3));
    check("layer_norm 2", &[&[2, 2, 3], &[2, 3]], |x| x[0].layer_norm(Some(&x[1]), None, 1e-3));
    check("rms_norm", &[&[2, 4], &[4]], |x| x[0].rms_norm(Some(&x[1]), 1e-3));
    check("group_norm", &[&[2, 4, 3], &[4], &[4]], |x| x[0].group_norm(2, Some(&x[1]), Some(&x[2]), 1e-3));
    check("instance_norm", &[&[2, 2, 3], &[2], &[2]], |x| x[0].instance_norm(Some(&x[1]), Some(&x[2]), 1e-3));
    check("batch_norm", &[&[3, 2, 2], &[2], &[2]], |x| x[0].batch_norm_train(Some(&x[1]), Some(&x[2]), 1e-3).0);
    check("normalize", &[&[2, 3]], |x| x[0].normalize(2.0, 1, 1e-12));
    check("rope", &[&[1, 3, 4], &[3, 2], &[3, 2]], |x| x[0].rope(&x[1], &x[2], RopeLayout::HalfSplit));
    check("rope pairs", &[&[1, 3, 4], &[3, 2], &[3, 2]], |x| x[0].rope(&x[1], &x[2], RopeLayout::Interleaved));
}

#[test]
fn losses() {
    let target = || ints(&[3], &[1, 3, 0]);
    check("cross_entropy", &[&[3, 4]], |x| x[0].cross_entropy(&target()));
    check("cross_entropy 3d", &[&[2, 4, 3]], |x| x[0].cross_entropy(&ints(&[2, 3], &[1, 3, 0, 2, 2, 1])));
    let options = |x: &[Tensor]| CrossEntropyOptions {
        label_smoothing: 0.1,
        ignore_index: Some(3),
        weight: Some(x[1].abs()),
        ..CrossEntropyOptions::default()
    };
    check("cross_entropy options", &[&[3, 4], &[4]], |x| x[0].cross_entropy_with(&target(), &options(x)));
    check("cross_entropy probabilities", &[&[3, 4], &[3, 4]], |x| x[0].cross_entropy(&x[1].softmax(1)));
    check("nll", &[&[3, 4]], |x| x[0].nll_loss(&target()));
    check("mse", &[&[3, 4], &[3, 4]], |x| x[0].mse_loss(&x[1]));
    check("l1", &[&[3, 4], &[3, 4]], |x| x[0].l1_loss(&x[1]));
    check("huber", &[&[3, 4], &[3, 4]], |x| x[0].huber_loss(&x[1], 0.7));
    check("smooth_l1", &[&[3, 4], &[3, 4]], |x| x[0].smooth_l1_loss(&x[1], 0.7));
    check_positive("bce", &[&[3, 4], &[3, 4]], |x| x[0].bce_loss(&x[1]));
    check("bce_with_logits", &[&[3, 4], &[3, 4], &[4]], |x| x[0].bce_with_logits_with(&x[1], None, Some(&x[2]), Reduction::Mean));
    check("tensordot of one with many", &[&[1, 3], &[4, 2]], |x| x[0].tensordot(&x[1], 0_i64, 0_i64));
    check_positive("kl_div", &[&[3, 4], &[3, 4]], |x| x[0].kl_div(&x[1], false, Reduction::Sum));
    check("kl_div log", &[&[3, 4], &[3, 4]], |x| x[0].kl_div(&x[1], true, Reduction::Mean));
    check("cosine", &[&[3, 4], &[3, 4]], |x| x[0].cosine_similarity(&x[1], 1, 1e-8));
}

#[test]
fn attention() {
    let shapes: &[&[usize]] = &[&[1, 2, 3, 2], &[1, 1, 4, 2], &[1, 1, 4, 3]];
    check("attention", shapes, |x| x[0].attention(&x[1], &x[2], &AttentionOptions::default()));
    let causal = AttentionOptions { causal: true, q_offset: Some(1.into()), window: Some(2), kv_len: Some(3.into()), ..Default::default() };
    check("attention causal", shapes, |x| x[0].attention(&x[1], &x[2], &causal));
    let blind = AttentionOptions { causal: true, q_offset: Some((-1).into()), ..Default::default() };
    check("attention blind", shapes, |x| x[0].attention(&x[1], &x[2], &blind));
    let shapes: &[&[usize]] = &[&[1, 2, 3, 2], &[1, 1, 4, 2], &[1, 1, 4, 3], &[2, 1, 4]];
    check("attention bias", shapes, |x| x[0].attention(&x[1], &x[2], &AttentionOptions { bias: Some(x[3].clone()), ..Default::default() }));
    check("attention dropout", shapes, |x| {
        manual_seed(5);
        x[0].attention(&x[1], &x[2], &AttentionOptions { dropout: 0.4, ..Default::default() })
    });
}

#[test]
fn composites_equal_their_primitives() {
    let same = |a: &Tensor, b: &Expr| {
        let both = values(&[a.clone(), Tensor::from_expr(b.clone())]);
        for (x, y) in both[0].iter().zip(&both[1]) {
            assert!((x - y).abs() < 1e-12, "{x} is not {y}");
        }
    };
    let x = leaf(&[2, 5], &noise(10, 1));
    for y in [x.softmax(1), x.log_softmax(0), x.layer_norm(None, None, 1e-5), x.rms_norm(None, 1e-5)] {
        same(&y, &unigrad_graph::decompose(&y.expr()).unwrap());
    }
    let (q, k, v) = (leaf(&[1, 2, 3, 2], &noise(12, 2)), leaf(&[1, 1, 4, 2], &noise(8, 3)), leaf(&[1, 1, 4, 3], &noise(12, 4)));
    for options in [
        AttentionOptions::default(),
        AttentionOptions { causal: true, q_offset: Some((-1).into()), ..Default::default() },
        AttentionOptions { dropout: 0.5, window: Some(2), ..Default::default() },
    ] {
        let y = q.attention(&k, &v, &options);
        let node = y.expr().input(0).unwrap();
        for part in 0..2 {
            let part = node.part(part);
            let (a, b) =
                (values(&[Tensor::from_expr(part.clone())]), values(&[Tensor::from_expr(unigrad_graph::decompose(&part).unwrap())]));
            assert_eq!(a[0].len(), b[0].len());
            assert!(a[0].iter().zip(&b[0]).all(|(a, b)| a == b || (a - b).abs() < 1e-12), "{a:?} {b:?}");
        }
        let dy = leaf(&y.shape(), &noise(y.numel(), 9));
        for g in grad_with(&y, &dy, &[&q, &k, &v]).unwrap() {
            same(&g, &unigrad_graph::decompose(&g.expr()).unwrap());
        }
    }
}
