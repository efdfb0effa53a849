//! Calls of what works on elements and rows: maps, creation, random numbers, reductions, norms, losses.

use super::{Draw, Entry, Outputs, calls};
use unigrad_graph::{DType, Literal};
use unigrad_tensor::{CrossEntropyOptions, Device, Generator, Operand, Reduction, Tensor, TripletOptions};

fn device(d: &Draw) -> Device {
    d.device
}

/// A tensor or a number beside a tensor.
pub(super) fn operand(d: &mut Draw, x: &Tensor) -> Operand {
    match d.pick(&[0, 1, 2, 3, 4, 5, 6]) {
        0 => d.float().into(),
        1 => d.int().into(),
        2 => d.flag().into(),
        3 => d.size().into(),
        _ => d.near(x).into(),
    }
}

fn reduction(d: &mut Draw) -> Reduction {
    d.pick(&[Reduction::Mean, Reduction::Sum, Reduction::None])
}

fn some(d: &mut Draw, tensor: Tensor) -> Option<Tensor> {
    if d.once_in(2) { Some(tensor) } else { None }
}

/// One value per channel of `x`.
fn channels(d: &mut Draw, x: &Tensor) -> Tensor {
    let n = x.shape().get(1).copied().unwrap_or(1);
    d.shaped(&[n], x.dtype())
}

/// Logits and labels.
fn labelled(d: &mut Draw) -> (Tensor, Tensor, CrossEntropyOptions) {
    let rank = d.pick(&[1, 2, 2, 3]);
    let x = d.floats(rank);
    let mut rows = x.shape();
    let at = if rows.len() > 1 { 1 } else { 0 };
    let classes = if rows.is_empty() { 1 } else { rows.remove(at) };
    let target = if d.once_in(4) { d.near(&x) } else { d.index(&rows, classes) };
    let weight = d.shaped(&[classes], x.dtype());
    let options = CrossEntropyOptions {
        axis: if d.once_in(4) { Some(d.axis(x.rank())) } else { None },
        label_smoothing: if d.once_in(2) { 0.0 } else { d.float() },
        ignore_index: if d.once_in(3) { Some(d.int()) } else { None },
        weight: some(d, weight),
        reduction: reduction(d),
    };
    (x, target, options)
}

macro_rules! methods {
    ($draw:ident $x:ident: $($own:tt)*) => {{
        let $x = $draw.x();
        $($own)*
    }};
}

calls! {
    neg |d| d.x().neg();
    abs |d| d.x().abs();
    sign |d| d.x().sign();
    relu |d| d.x().relu();
    floor |d| d.x().floor();
    ceil |d| d.x().ceil();
    round |d| d.x().round();
    trunc |d| d.x().trunc();
    exp |d| d.x().exp();
    exp2 |d| d.x().exp2();
    expm1 |d| d.x().expm1();
    log |d| d.x().log();
    log2 |d| d.x().log2();
    log1p |d| d.x().log1p();
    log10 |d| d.x().log10();
    sin |d| d.x().sin();
    cos |d| d.x().cos();
    tan |d| d.x().tan();
    asin |d| d.x().asin();
    acos |d| d.x().acos();
    atan |d| d.x().atan();
    sinh |d| d.x().sinh();
    cosh |d| d.x().cosh();
    tanh |d| d.x().tanh();
    asinh |d| d.x().asinh();
    acosh |d| d.x().acosh();
    atanh |d| d.x().atanh();
    sqrt |d| d.x().sqrt();
    rsqrt |d| d.x().rsqrt();
    recip |d| d.x().recip();
    erf |d| d.x().erf();
    erfc |d| d.x().erfc();
    sigmoid |d| d.x().sigmoid();
    silu |d| d.x().silu();
    gelu |d| d.x().gelu();
    gelu_tanh |d| d.x().gelu_tanh();
    softplus |d| d.x().softplus();
    elu |d| methods!(d x: x.elu(d.float()));
    selu |d| d.x().selu();
    leaky_relu |d| methods!(d x: x.leaky_relu(d.float()));
    mish |d| d.x().mish();
    hardswish |d| d.x().hardswish();
    hardsigmoid |d| d.x().hardsigmoid();
    hardtanh |d| d.x().hardtanh();
    relu6 |d| d.x().relu6();
    softsign |d| d.x().softsign();
    log_sigmoid |d| d.x().log_sigmoid();
    square |d| d.x().square();
    fract |d| d.x().fract();
    isnan |d| d.x().isnan();
    isfinite |d| d.x().isfinite();
    isinf |d| d.x().isinf();
    logical_not |d| d.x().logical_not();
    bitwise_not |d| d.x().bitwise_not();
    add |d| methods!(d x: x.add(operand(d, &x)));
    sub |d| methods!(d x: x.sub(operand(d, &x)));
    mul |d| methods!(d x: x.mul(operand(d, &x)));
    div |d| methods!(d x: x.div(operand(d, &x)));
    floor_div |d| methods!(d x: x.floor_div(operand(d, &x)));
    rem |d| methods!(d x: x.rem(operand(d, &x)));
    pow |d| methods!(d x: x.pow(operand(d, &x)));
    atan2 |d| methods!(d x: x.atan2(operand(d, &x)));
    maximum |d| methods!(d x: x.maximum(operand(d, &x)));
    minimum |d| methods!(d x: x.minimum(operand(d, &x)));
    eq |d| methods!(d x: x.eq(operand(d, &x)));
    ne |d| methods!(d x: x.ne(operand(d, &x)));
    lt |d| methods!(d x: x.lt(operand(d, &x)));
    le |d| methods!(d x: x.le(operand(d, &x)));
    gt |d| methods!(d x: x.gt(operand(d, &x)));
    ge |d| methods!(d x: x.ge(operand(d, &x)));
    bitwise_and |d| methods!(d x: x.bitwise_and(operand(d, &x)));
    bitwise_or |d| methods!(d x: x.bitwise_or(operand(d, &x)));
    bitwise_xor |d| methods!(d x: x.bitwise_xor(operand(d, &x)));
    shl |d| methods!(d x: x.shl(operand(d, &x)));
    shr |d| methods!(d x: x.shr(operand(d, &x)));
    logical_and |d| methods!(d x: x.logical_and(operand(d, &x)));
    logical_or |d| methods!(d x: x.logical_or(operand(d, &x)));
    logical_xor |d| methods!(d x: x.logical_xor(operand(d, &x)));
    where_ |d| { let x = d.x(); let mask = d.mask(&x); mask.where_(operand(d, &x), operand(d, &x)) };
    clamp |d| methods!(d x: x.clamp(operand(d, &x), operand(d, &x)));
    clamp_min |d| methods!(d x: x.clamp_min(operand(d, &x)));
    clamp_max |d| methods!(d x: x.clamp_max(operand(d, &x)));
    lerp |d| methods!(d x: x.lerp(&d.near(&x), operand(d, &x)));
    addcmul |d| methods!(d x: x.addcmul(&d.near(&x), &d.near(&x), operand(d, &x)));
    addcdiv |d| methods!(d x: x.addcdiv(&d.near(&x), &d.near(&x), operand(d, &x)));
    isclose |d| methods!(d x: x.isclose(&d.near(&x), d.float(), d.float(), d.flag()));
    masked_fill |d| methods!(d x: x.masked_fill(&d.mask(&x), operand(d, &x)));
    cast |d| methods!(d x: x.cast(d.dtype()));
    to_dtype |d| methods!(d x: x.to_dtype(d.dtype()));
    bitcast |d| methods!(d x: x.bitcast(d.dtype()));
    to |d| methods!(d x: x.to(&device(d)));
    detach |d| d.x().detach();
    requires_grad |d| d.x().requires_grad();
    check |d| { let x = d.x(); x.clone().check().unwrap_or(x) };
    contiguous |d| d.x().contiguous();

    full |d| Tensor::full(d.sizes(), d.float(), d.dtype(), &device(d));
    zeros |d| Tensor::zeros(d.sizes(), d.dtype(), &device(d));
    ones |d| Tensor::ones(d.sizes(), d.dtype(), &device(d));
    scalar |d| Tensor::scalar(d.float(), d.dtype(), &device(d));
    new |d| Tensor::new([[d.float(), d.float()], [0.0, 1.0]], &device(d));
    from_slice |d| Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], d.sizes(), &device(d));
    from_vec |d| Tensor::from_vec(vec![1i64, 2], d.sizes(), &device(d));
    from_bytes |d| Tensor::from_bytes(&[0, 1, 2, 255], d.sizes(), d.dtype(), &device(d));
    zeros_like |d| d.x().zeros_like();
    ones_like |d| d.x().ones_like();
    full_like |d| methods!(d x: x.full_like(d.float()));
    arange |d| Tensor::arange(d.float(), d.float(), d.float(), d.dtype(), &device(d));
    range |d| Tensor::range(d.size(), d.dtype(), &device(d));
    linspace |d| Tensor::linspace(d.float(), d.float(), d.size(), d.dtype(), &device(d));
    logspace |d| Tensor::logspace(d.float(), d.float(), d.size(), d.float(), d.dtype(), &device(d));
    eye |d| Tensor::eye(d.size(), d.size(), d.dtype(), &device(d));
    rand |d| Tensor::rand(d.sizes(), d.dtype(), &device(d));
    rand_like |d| d.x().rand_like();
    rand_like_as |d| { let x = d.x(); x.rand_like_as(d.dtype()) };
    randn_like |d| d.x().randn_like();
    randn_like_as |d| { let x = d.x(); x.randn_like_as(d.dtype()) };
    randn |d| Tensor::randn(d.sizes(), d.dtype(), &device(d));
    uniform |d| Tensor::uniform(d.sizes(), d.float(), d.float(), d.dtype(), &device(d));
    randint |d| Tensor::randint(d.int(), d.int(), d.sizes(), d.dtype(), &device(d));
    randperm |d| Tensor::randperm(d.size(), &device(d));
    bernoulli |d| d.x().bernoulli();
    multinomial |d| { let rank = d.pick(&[1, 2]); d.floats(rank).multinomial(d.size(), d.flag()) };
    dropout |d| methods!(d x: x.dropout(d.float()));
    generator |d| {
        let generator = Generator::new(7);
        generator.set(d.int() as u64, d.int() as u64);
        vec![generator.rand(d.sizes(), DType::F32, &device(d)), generator.randint(d.int(), d.int(), [3], DType::I64, &device(d))]
    };

    sum |d| methods!(d x: x.sum(d.axes(x.rank())));
    sum_keepdim |d| methods!(d x: x.sum_keepdim(d.axes(x.rank())));
    prod |d| methods!(d x: x.prod(d.axes(x.rank())));
    prod_keepdim |d| methods!(d x: x.prod_keepdim(d.axes(x.rank())));
    mean |d| methods!(d x: x.mean(d.axes(x.rank())));
    mean_keepdim |d| methods!(d x: x.mean_keepdim(d.axes(x.rank())));
    max |d| methods!(d x: x.max(d.axes(x.rank())));
    max_keepdim |d| methods!(d x: x.max_keepdim(d.axes(x.rank())));
    min |d| methods!(d x: x.min(d.axes(x.rank())));
    min_keepdim |d| methods!(d x: x.min_keepdim(d.axes(x.rank())));
    any |d| methods!(d x: x.any(d.axes(x.rank())));
    any_keepdim |d| methods!(d x: x.any_keepdim(d.axes(x.rank())));
    all |d| methods!(d x: x.all(d.axes(x.rank())));
    all_keepdim |d| methods!(d x: x.all_keepdim(d.axes(x.rank())));
    logsumexp |d| methods!(d x: x.logsumexp(d.axes(x.rank())));
    logsumexp_keepdim |d| methods!(d x: x.logsumexp_keepdim(d.axes(x.rank())));
    nrm2_keepdim |d| methods!(d x: x.nrm2_keepdim(d.axes(x.rank())));
    var |d| methods!(d x: x.var(d.axes(x.rank()), d.size()));
    var_keepdim |d| methods!(d x: x.var_keepdim(d.axes(x.rank()), d.size()));
    std |d| methods!(d x: x.std(d.axes(x.rank()), d.size()));
    std_keepdim |d| methods!(d x: x.std_keepdim(d.axes(x.rank()), d.size()));
    norm |d| methods!(d x: x.norm(d.float(), d.axes(x.rank())));
    norm_keepdim |d| methods!(d x: x.norm_keepdim(d.float(), d.axes(x.rank())));
    count_nonzero |d| methods!(d x: x.count_nonzero(d.axes(x.rank())));
    argmax |d| methods!(d x: x.argmax(d.axis(x.rank())));
    argmax_keepdim |d| methods!(d x: x.argmax_keepdim(d.axis(x.rank())));
    argmin |d| methods!(d x: x.argmin(d.axis(x.rank())));
    argmin_keepdim |d| methods!(d x: x.argmin_keepdim(d.axis(x.rank())));
    max_with_index |d| methods!(d x: x.max_with_index(d.axis(x.rank())));
    min_with_index |d| methods!(d x: x.min_with_index(d.axis(x.rank())));
    cumsum |d| methods!(d x: x.cumsum(d.axis(x.rank())));
    cumprod |d| methods!(d x: x.cumprod(d.axis(x.rank())));
    cummax |d| methods!(d x: x.cummax(d.axis(x.rank())));
    cummin |d| methods!(d x: x.cummin(d.axis(x.rank())));

    softmax |d| methods!(d x: x.softmax(d.axis(x.rank())));
    log_softmax |d| methods!(d x: x.log_softmax(d.axis(x.rank())));
    softmin |d| methods!(d x: x.softmin(d.axis(x.rank())));
    layer_norm |d| {
        let x = d.x();
        let last = x.shape().last().copied().unwrap_or(1);
        let (weight, bias) = (d.shaped(&[last], x.dtype()), d.shaped(&[last], x.dtype()));
        x.layer_norm(some(d, weight).as_ref(), some(d, bias).as_ref(), d.float())
    };
    rms_norm |d| {
        let x = d.x();
        let weight = d.shaped(&[x.shape().last().copied().unwrap_or(1)], x.dtype());
        x.rms_norm(some(d, weight).as_ref(), d.float())
    };
    group_norm |d| {
        let x = d.x();
        let (weight, bias) = (channels(d, &x), channels(d, &x));
        x.group_norm(d.size(), some(d, weight).as_ref(), some(d, bias).as_ref(), d.float())
    };
    instance_norm |d| {
        let x = d.x();
        let (weight, bias) = (channels(d, &x), channels(d, &x));
        x.instance_norm(some(d, weight).as_ref(), some(d, bias).as_ref(), d.float())
    };
    batch_norm |d| {
        let x = d.x();
        let (mean, var, weight, bias) = (channels(d, &x), channels(d, &x), channels(d, &x), channels(d, &x));
        x.batch_norm(&mean, &var, some(d, weight).as_ref(), some(d, bias).as_ref(), d.float())
    };
    batch_norm_train |d| {
        let x = d.x();
        let (weight, bias) = (channels(d, &x), channels(d, &x));
        x.batch_norm_train(some(d, weight).as_ref(), some(d, bias).as_ref(), d.float())
    };
    normalize |d| methods!(d x: x.normalize(d.float(), d.axis(x.rank()), d.float()));

    cross_entropy |d| { let (x, target, _) = labelled(d); x.cross_entropy(&target) };
    cross_entropy_with |d| { let (x, target, options) = labelled(d); x.cross_entropy_with(&target, &options) };
    nll_loss |d| { let (x, target, _) = labelled(d); x.nll_loss(&target) };
    nll_loss_with |d| { let (x, target, options) = labelled(d); x.nll_loss_with(&target, &options) };
    mse_loss |d| methods!(d x: x.mse_loss(&d.near(&x)));
    mse_loss_with |d| methods!(d x: x.mse_loss_with(&d.near(&x), reduction(d)));
    l1_loss |d| methods!(d x: x.l1_loss(&d.near(&x)));
    l1_loss_with |d| methods!(d x: x.l1_loss_with(&d.near(&x), reduction(d)));
    huber_loss |d| methods!(d x: x.huber_loss(&d.near(&x), d.float()));
    huber_loss_with |d| methods!(d x: x.huber_loss_with(&d.near(&x), d.float(), reduction(d)));
    smooth_l1_loss |d| methods!(d x: x.smooth_l1_loss(&d.near(&x), d.float()));
    smooth_l1_loss_with |d| methods!(d x: x.smooth_l1_loss_with(&d.near(&x), d.float(), reduction(d)));
    bce_loss |d| methods!(d x: x.bce_loss(&d.near(&x)));
    bce_loss_with |d| { let x = d.x(); let weight = d.near(&x); x.bce_loss_with(&d.near(&x), some(d, weight).as_ref(), reduction(d)) };
    bce_with_logits |d| methods!(d x: x.bce_with_logits(&d.near(&x)));
    bce_with_logits_with |d| {
        let x = d.x();
        let (weight, positive) = (d.near(&x), d.near(&x));
        x.bce_with_logits_with(&d.near(&x), some(d, weight).as_ref(), some(d, positive).as_ref(), reduction(d))
    };
    triplet_margin_loss_by |d| {
        let x = d.x();
        let (positive, negative, flag) = (d.near(&x), d.near(&x), d.flag());
        let options = TripletOptions { margin: d.float(), swap: flag, reduction: reduction(d), ..TripletOptions::default() };
        x.triplet_margin_loss_by(&positive, &negative, |a, b| (a - b).abs().sum(-1), &options)
    };
    kl_div |d| methods!(d x: x.kl_div(&d.near(&x), d.flag(), reduction(d)));
    cosine_similarity |d| methods!(d x: x.cosine_similarity(&d.near(&x), d.axis(x.rank()), d.float()));
    literal |d| Tensor::full([2], Literal::float(d.dtype(), d.float()).as_f64(), d.dtype(), &device(d));
}
