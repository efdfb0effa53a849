//! Calls of what arranges, picks and multiplies: views, indices, products, convolutions, pools, attention.

use super::{Draw, Entry, Outputs, calls};
use unigrad_graph::DType;
use unigrad_tensor::{
    AttentionOptions, ConvOptions, Dim, Ellipsis, IndexItem, NewAxis, Operand, PadMode, PoolOptions, RopeLayout, ScatterMode, Tensor, step,
};

/// The size of an axis, if there is one.
pub(super) fn along(x: &Tensor, axis: isize) -> usize {
    let axis = if axis < 0 { axis.saturating_add(x.rank() as isize) } else { axis };
    usize::try_from(axis).ok().and_then(|axis| x.shape().get(axis).copied()).unwrap_or(1)
}

/// An entry of an index.
fn item(d: &mut Draw, x: &Tensor) -> IndexItem {
    let bound = |d: &mut Draw| if d.once_in(2) { Some(d.int()) } else { None };
    match d.pick(&[0, 0, 1, 1, 1, 2, 3, 4, 5]) {
        0 => d.int().into(),
        1 => IndexItem::Range { start: bound(d), end: bound(d), step: if d.once_in(2) { 1 } else { d.int() } },
        2 => NewAxis.into(),
        3 => Ellipsis.into(),
        4 => d.size().into(),
        _ => {
            let (rank, size) = (d.pick(&[0, 1, 2]), along(x, 0));
            let shape = d.shape_of(rank);
            d.index(&shape, size).into()
        }
    }
}

pub(super) fn items(d: &mut Draw, x: &Tensor) -> Vec<IndexItem> {
    let n = d.pick(&[0, 1, 1, 2, 3, 9]);
    (0..n).map(|_| item(d, x)).collect()
}

/// Tensors to be put side by side.
fn several(d: &mut Draw) -> Vec<Tensor> {
    let x = d.x();
    let n = d.pick(&[0, 1, 2, 2, 3]);
    (0..n).map(|_| if d.once_in(3) { d.near(&x) } else { d.of(&x.shape(), x.dtype()) }).collect()
}

/// An axis, an index and sources for it.
pub(super) fn scattered(d: &mut Draw, x: &Tensor) -> (isize, Tensor, Tensor) {
    let axis = d.axis(x.rank());
    let index = d.index(&x.shape(), along(x, axis));
    let source = d.shaped(&index.shape(), x.dtype());
    (axis, index, source)
}

pub(super) fn vector_and_source(d: &mut Draw, x: &Tensor) -> (isize, Tensor, Tensor) {
    let axis = d.axis(x.rank());
    let index = d.index(&[3], along(x, axis));
    let mut shape = x.shape();
    let at = if axis < 0 { axis.saturating_add(x.rank() as isize) } else { axis };
    if let Some(size) = usize::try_from(at).ok().and_then(|at| shape.get_mut(at)) {
        *size = 3;
    }
    let source = d.shaped(&shape, x.dtype());
    (axis, index, source)
}

fn pads(d: &mut Draw) -> Vec<(usize, usize)> {
    let n = d.pick(&[0, 1, 2, 3]);
    (0..n).map(|_| (d.size(), d.size())).collect()
}

/// A list of one entry per axis, one for all, none, or anything.
pub(super) fn per_axis(d: &mut Draw, n: usize, least: usize) -> Vec<usize> {
    let count = d.pick(&[0, 0, 1, 1, n.min(3), 2]);
    (0..count).map(|_| if d.once_in(8) { d.size() } else { least + d.pick(&[0, 0, 0, 1, 2]) }).collect()
}

fn conv_options(d: &mut Draw, n: usize) -> ConvOptions {
    ConvOptions {
        stride: per_axis(d, n, 1),
        padding: per_axis(d, n, 0).into_iter().map(|pad| (pad, pad)).collect(),
        dilation: per_axis(d, n, 1),
        groups: if d.once_in(6) { d.size() } else { 1 },
        output_padding: if d.once_in(4) { per_axis(d, n, 0) } else { Vec::new() },
    }
}

/// Input, weight and bias over `n` axes.
fn convolved(d: &mut Draw, n: usize, transposed: bool) -> (Tensor, Tensor, Option<Tensor>) {
    let (c, o) = (d.pick(&[0, 1, 2, 3]), d.pick(&[0, 1, 2, 4]));
    let mut x = vec![d.pick(&[0, 1, 2]), c];
    let mut w = if transposed { vec![c, o] } else { vec![o, c] };
    for _ in 0..n.min(3) {
        x.push(d.pick(&[0, 1, 3, 4, 5]));
        w.push(d.pick(&[0, 1, 1, 2, 3]));
    }
    let dtype = d.float_dtype();
    let (x, w) = (d.shaped(&x, dtype), d.shaped(&w, dtype));
    let bias = d.shaped(&[o], dtype);
    (x, w, if d.once_in(2) { Some(bias) } else { None })
}

fn conv(d: &mut Draw, n: usize) -> Tensor {
    let (x, w, bias) = convolved(d, n, false);
    let options = conv_options(d, n);
    match n {
        1 => x.conv1d(&w, bias.as_ref(), &options),
        2 => x.conv2d(&w, bias.as_ref(), &options),
        _ => x.conv3d(&w, bias.as_ref(), &options),
    }
}

fn conv_transpose(d: &mut Draw, n: usize) -> Tensor {
    let (x, w, bias) = convolved(d, n, true);
    let options = conv_options(d, n);
    match n {
        1 => x.conv_transpose1d(&w, bias.as_ref(), &options),
        2 => x.conv_transpose2d(&w, bias.as_ref(), &options),
        _ => x.conv_transpose3d(&w, bias.as_ref(), &options),
    }
}

/// A number of axes: mostly what the input has.
pub(super) fn n_axes(d: &mut Draw) -> (usize, usize) {
    let n = d.pick(&[0, 1, 1, 2, 2, 3]);
    (n, if d.once_in(8) { d.size() } else { n })
}

pub(super) fn pooled(d: &mut Draw, n: usize) -> (Tensor, PoolOptions) {
    let mut shape = vec![d.pick(&[0, 1, 2]), d.pick(&[1, 2])];
    (0..n).for_each(|_| shape.push(d.pick(&[0, 1, 3, 4, 5, 7])));
    let dtype = d.float_dtype();
    let x = d.shaped(&shape, dtype);
    let mut kernel = per_axis(d, n, 1);
    if kernel.is_empty() && !d.once_in(4) {
        kernel.push(2);
    }
    let options = PoolOptions {
        kernel,
        stride: per_axis(d, n, 1),
        padding: per_axis(d, n, 0),
        dilation: if d.once_in(2) { per_axis(d, n, 1) } else { Vec::new() },
        ceil_mode: d.flag(),
        count_include_pad: d.flag(),
        divisor_override: None,
    };
    (x, options)
}

fn attended(d: &mut Draw) -> (Tensor, Tensor, Tensor, AttentionOptions) {
    let (b, g, groups) = (d.pick(&[0, 1, 2]), d.pick(&[1, 2]), d.pick(&[1, 2]));
    let (t, s, f, e) = (d.pick(&[0, 1, 3, 5]), d.pick(&[0, 1, 4, 7]), d.pick(&[0, 1, 4, 8]), d.pick(&[1, 4, 8]));
    let dtype = d.float_dtype();
    let q = d.shaped(&[b, g * groups, t, f], dtype);
    let k = d.shaped(&[b, g, s, f], dtype);
    let v = d.shaped(&[b, g, s, e], dtype);
    let extra = d.shaped(&[t, s], dtype);
    let number = |d: &mut Draw| match d.pick(&[0, 1, 2, 3, 4, 5]) {
        0 | 1 => Some(Operand::from(d.int())),
        2 => Some(Operand::from(&d.shaped(&[b], DType::I64))),
        _ => None,
    };
    let options = AttentionOptions {
        causal: d.flag(),
        window: if d.once_in(3) { Some(d.size()) } else { None },
        bias: if d.once_in(3) { Some(extra.clone()) } else { None },
        mask: if d.once_in(3) { Some(extra.gt(0.0)) } else { None },
        scale: if d.once_in(3) { Some(d.float()) } else { None },
        dropout: if d.once_in(4) { d.float() } else { 0.0 },
        kv_len: number(d),
        q_offset: number(d),
        page_table: if d.once_in(6) { Some(d.shaped(&[b, 2], DType::I64)) } else { None },
    };
    (q, k, v, options)
}

fn einsum(d: &mut Draw) -> Tensor {
    let specs = [
        "ij,jk->ik",
        "bij,bjk->bik",
        "ij->ji",
        "ii->i",
        "ii",
        "i,i->",
        "...i,...i->...",
        "...ij->...ji",
        "ij,ij",
        ",->",
        "",
        "->",
        "i",
        "ij->",
        "i->j",
        "i,j,k->ijk",
        "......i",
        "\u{1}i",
        "iI,Ij->ij",
        "a b , b c -> a c",
        "ij,kl->iq",
        "é",
        "ijk,",
        "....",
        "i->ii",
    ];
    let spec = d.pick(&specs);
    let operands = several(d);
    Tensor::einsum(spec, &operands.iter().collect::<Vec<_>>())
}

calls! {
    reshape |d| { let x = d.x(); if d.once_in(3) { let shape = d.sizes(); x.reshape(shape) } else { x.reshape(d.ints()) } };
    view |d| { let x = d.x(); x.view(d.ints()) };
    flatten |d| { let x = d.x(); x.flatten(d.axis(x.rank()), d.axis(x.rank())) };
    flatten_all |d| d.x().flatten_all();
    unflatten |d| { let x = d.x(); x.unflatten(d.axis(x.rank()), d.ints()) };
    permute |d| { let x = d.x(); if d.once_in(2) { x.permute((0..x.rank()).rev().collect::<Vec<_>>()) } else { x.permute(d.axes(x.rank())) } };
    transpose |d| { let x = d.x(); x.transpose(d.axis(x.rank()), d.axis(x.rank())) };
    swap_axes |d| { let x = d.x(); x.swap_axes(d.axis(x.rank()), d.axis(x.rank())) };
    t |d| d.x().t();
    movedim |d| { let x = d.x(); x.movedim(d.axis(x.rank()), d.axis(x.rank())) };
    expand |d| { let x = d.x(); let mut shape = d.sizes(); shape.extend(x.shape()); x.expand(shape) };
    broadcast_to |d| { let x = d.x(); x.broadcast_to(d.sizes()) };
    expand_as |d| { let x = d.x(); x.expand_as(&d.near(&x)) };
    squeeze |d| { let x = d.x(); x.squeeze(d.axis(x.rank())) };
    squeeze_all |d| d.x().squeeze_all();
    unsqueeze |d| { let x = d.x(); x.unsqueeze(d.axis(x.rank() + 1)) };
    narrow |d| { let x = d.x(); x.narrow(d.axis(x.rank()), d.size(), d.size()) };
    dyn_slice |d| { let x = d.x(); let start = d.index(&[], 3); x.dyn_slice(d.axis(x.rank()), &start, d.size()) };
    dyn_update |d| { let x = d.x(); let start = d.index(&[], 3); let axis = d.axis(x.rank()); x.dyn_update(axis, &d.near(&x), &start) };
    with_dim |d| { let x = d.x(); let most = d.size().clamp(1, 64); let dim = Dim::named("n", 1..=most).unwrap(); x.with_dim(d.axis(x.rank()), &dim) };
    fixed |d| { let x = d.x(); x.fixed(d.axis(x.rank())) };
    narrow_like |d| { let x = d.x(); let like = d.x(); x.narrow_like(d.axis(x.rank()), &like, d.axis(like.rank())) };
    flip |d| { let x = d.x(); x.flip(d.axes(x.rank())) };
    roll |d| { let x = d.x(); x.roll(d.int(), d.axis(x.rank())) };
    concat |d| { let parts = several(d); Tensor::concat(&parts.iter().collect::<Vec<_>>(), d.axis(2)) };
    stack |d| { let parts = several(d); Tensor::stack(&parts.iter().collect::<Vec<_>>(), d.axis(2)) };
    split |d| { let x = d.x(); x.split(d.size(), d.axis(x.rank())) };
    split_sizes |d| { let x = d.x(); x.split_sizes(&d.sizes(), d.axis(x.rank())) };
    chunk |d| { let x = d.x(); x.chunk(d.size(), d.axis(x.rank())) };
    unbind |d| { let x = d.x(); x.unbind(d.axis(x.rank())) };
    select |d| { let x = d.x(); x.select(d.axis(x.rank()), d.int()) };
    tile |d| { let x = d.x(); x.tile(&d.sizes()) };
    repeat |d| { let x = d.x(); x.repeat(&d.sizes()) };
    repeat_interleave |d| { let x = d.x(); x.repeat_interleave(d.size(), d.axis(x.rank())) };
    tril |d| { let x = d.x(); x.tril(d.int()) };
    triu |d| { let x = d.x(); x.triu(d.int()) };
    diagonal |d| { let x = d.x(); x.diagonal(d.int(), d.axis(x.rank()), d.axis(x.rank())) };
    diag_embed |d| d.x().diag_embed();
    unfold |d| { let x = d.x(); x.unfold(d.axis(x.rank()), d.size(), d.size()) };
    pad |d| { let x = d.x(); x.pad(&pads(d)) };
    pad_with |d| {
        let x = d.x();
        let value = d.float();
        let mode = d.pick(&[PadMode::Constant(value), PadMode::Reflect, PadMode::Replicate, PadMode::Circular]);
        x.pad_with(&pads(d), mode)
    };
    meshgrid |d| { let parts = several(d); Tensor::meshgrid(&parts.iter().collect::<Vec<_>>()) };
    interpolate_nearest |d| {
        let n = d.pick(&[0, 1, 2, 3]);
        let x = d.floats(n + 2);
        x.interpolate_nearest(&d.n_sizes(n))
    };

    i |d| { let x = d.x(); x.i(items(d, &x)) };
    index |d| { let x = d.x(); x.index(step(d.int()..d.int(), d.int())) };
    set_at |d| { let x = d.x(); let index = items(d, &x); x.set_at(index, &d.near(&x)) };
    gather |d| { let x = d.x(); let (axis, index, _) = scattered(d, &x); x.gather(axis, &index) };
    take_along |d| { let x = d.x(); let (axis, index, _) = scattered(d, &x); x.take_along(axis, &index) };
    index_select |d| { let x = d.x(); let (axis, index, _) = vector_and_source(d, &x); x.index_select(axis, &index) };
    take |d| { let x = d.x(); let shape = d.shape_of(2); x.take(&d.index(&shape, x.numel().min(1000))) };
    embedding |d| { let x = d.floats(2); let shape = d.shape_of(2); let size = along(&x, 0); x.embedding(&d.index(&shape, size)) };
    scatter |d| { let x = d.x(); let (axis, index, source) = scattered(d, &x); x.scatter(axis, &index, &source) };
    scatter_add |d| { let x = d.x(); let (axis, index, source) = scattered(d, &x); x.scatter_add(axis, &index, &source) };
    scatter_with |d| {
        let x = d.x();
        let (axis, index, source) = scattered(d, &x);
        let mode = d.pick(&[ScatterMode::Set, ScatterMode::Add, ScatterMode::Max, ScatterMode::Min, ScatterMode::Mul]);
        x.scatter_with(axis, &index, &source, mode)
    };
    index_add |d| { let x = d.x(); let (axis, index, source) = vector_and_source(d, &x); x.index_add(axis, &index, &source) };
    index_copy |d| { let x = d.x(); let (axis, index, source) = vector_and_source(d, &x); x.index_copy(axis, &index, &source) };
    one_hot |d| { let shape = d.shape_of(2); let classes = d.size(); d.index(&shape, classes.min(1000)).one_hot(classes) };
    argsort |d| { let x = d.x(); x.argsort(d.axis(x.rank()), d.flag()) };
    sort |d| { let x = d.x(); x.sort(d.axis(x.rank()), d.flag()) };
    topk |d| { let x = d.x(); x.topk(d.size(), d.axis(x.rank()), d.flag()) };
    nonzero |d| { let x = d.x(); if x.numel() > 10_000 { x } else { x.nonzero() } };
    masked_select |d| { let x = d.x(); let mask = d.mask(&x); if x.numel().max(mask.numel()) > 10_000 { x } else { x.masked_select(&mask) } };
    unique |d| { let x = d.x(); if x.numel() > 10_000 { x } else { x.unique() } };
    axis_last |d| { let x = d.x(); x.axis_last(d.axis(x.rank())) };

    matmul |d| {
        let (m, k, n) = (d.pick(&[0, 1, 3, 7]), d.pick(&[0, 1, 4, 5]), d.pick(&[0, 1, 2, 9]));
        let dtype = d.dtype();
        let (a, b) = (d.shaped(&[m, k], dtype), d.shaped(&[k, n], dtype));
        a.matmul(&b)
    };
    dot |d| { let x = d.floats(1); x.dot(&d.near(&x)) };
    outer |d| { let x = d.x(); x.outer(&d.near(&x)) };
    addmm |d| { let (x, a, b) = (d.floats(2), d.floats(2), d.floats(2)); x.addmm(&a, &b) };
    linear |d| {
        let (i, o) = (d.pick(&[0, 1, 3]), d.pick(&[0, 1, 4]));
        let dtype = d.float_dtype();
        let (x, w, b) = (d.shaped(&[2, i], dtype), d.shaped(&[o, i], dtype), d.shaped(&[o], dtype));
        x.linear(&w, if d.once_in(2) { Some(&b) } else { None })
    };
    trace |d| d.x().trace();
    einsum |d| einsum(d);
    conv |d| {
        let (n, asked) = n_axes(d);
        let (x, w, bias) = convolved(d, n, false);
        x.conv(&w, bias.as_ref(), asked, &conv_options(d, n))
    };
    conv1d |d| conv(d, 1);
    conv2d |d| conv(d, 2);
    conv3d |d| conv(d, 3);
    conv_transpose |d| {
        let (n, asked) = n_axes(d);
        let (x, w, bias) = convolved(d, n, true);
        x.conv_transpose(&w, bias.as_ref(), asked, &conv_options(d, n))
    };
    conv_transpose1d |d| conv_transpose(d, 1);
    conv_transpose2d |d| conv_transpose(d, 2);
    conv_transpose3d |d| conv_transpose(d, 3);
    max_pool_with_index |d| { let (n, asked) = n_axes(d); let (x, options) = pooled(d, n); x.max_pool_with_index(asked, &options) };
    max_pool |d| { let (n, asked) = n_axes(d); let (x, options) = pooled(d, n); x.max_pool(asked, &options) };
    max_pool1d |d| { let (x, options) = pooled(d, 1); x.max_pool1d(&options) };
    max_pool2d |d| { let (x, options) = pooled(d, 2); x.max_pool2d(&options) };
    max_pool3d |d| { let (x, options) = pooled(d, 3); x.max_pool3d(&options) };
    avg_pool |d| { let (n, asked) = n_axes(d); let (x, options) = pooled(d, n); x.avg_pool(asked, &options) };
    avg_pool1d |d| { let (x, options) = pooled(d, 1); x.avg_pool1d(&options) };
    avg_pool2d |d| { let (x, options) = pooled(d, 2); x.avg_pool2d(&options) };
    avg_pool3d |d| { let (x, options) = pooled(d, 3); x.avg_pool3d(&options) };
    adaptive_avg_pool |d| { let n = d.pick(&[0, 1, 2, 3]); let (x, _) = pooled(d, n); x.adaptive_avg_pool(&d.n_sizes(n)) };
    adaptive_max_pool |d| { let n = d.pick(&[0, 1, 2, 3]); let (x, _) = pooled(d, n); x.adaptive_max_pool(&d.n_sizes(n)) };
    attention |d| { let (q, k, v, options) = attended(d); q.attention(&k, &v, &options) };
    rope |d| {
        let (t, f) = (d.pick(&[0, 1, 3]), d.pick(&[0, 2, 3, 8]));
        let dtype = d.float_dtype();
        let (x, cos, sin) = (d.shaped(&[2, t, f], dtype), d.shaped(&[t, f / 2], DType::F32), d.shaped(&[t, f / 2], DType::F32));
        x.rope(&cos, &sin, d.pick(&[RopeLayout::HalfSplit, RopeLayout::Interleaved]))
    };
    rope_tables |d| { let x = d.x(); Tensor::rope_tables(&x, d.size(), d.float()) };
}
