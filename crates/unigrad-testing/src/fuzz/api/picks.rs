//! Calls of what picks, searches and counts, and of what networks of images take.

use super::elements::operand;
use super::{
    Draw, Entry, Outputs, calls,
    shapes::{along, items, n_axes, per_axis, pooled, scattered, vector_and_source},
};
use unigrad_graph::DType;
use unigrad_tensor::{
    BagMode, EmbeddingBagOptions, EmbeddingOptions, GridMode, GridPadding, GridSampleOptions, InterpolateMode, InterpolateOptions,
    PoolOptions, ScatterReduce, Tensor, WindowOptions,
};

fn reduction(d: &mut Draw) -> ScatterReduce {
    d.pick(&[ScatterReduce::Sum, ScatterReduce::Prod, ScatterReduce::Mean, ScatterReduce::Max, ScatterReduce::Min])
}

fn rows(d: &mut Draw) -> EmbeddingOptions {
    EmbeddingOptions {
        padding_idx: if d.once_in(3) { Some(d.int()) } else { None },
        max_norm: if d.once_in(3) { Some(d.float()) } else { None },
        norm_type: if d.once_in(2) { d.float() } else { 2.0 },
        scale_grad_by_freq: d.once_in(3),
    }
}

fn bags(d: &mut Draw) -> Tensor {
    let table = d.floats(2);
    let entries = along(&table, 0);
    let vector = d.flag();
    let index = if vector { d.index(&[5], entries) } else { d.index(&[2, 3], entries) };
    let offsets = d.index(&[3], 5);
    let weights = d.shaped(&index.shape(), DType::F32);
    let options = EmbeddingBagOptions {
        mode: d.pick(&[BagMode::Sum, BagMode::Mean, BagMode::Max]),
        offsets: if vector != d.once_in(12) { Some(offsets) } else { None },
        include_last_offset: d.once_in(4),
        weights: if d.once_in(4) { Some(weights) } else { None },
        rows: rows(d),
    };
    table.embedding_bag(&index, &options)
}

/// `[n, c, ..]` with this many spatial axes.
fn image(d: &mut Draw, n: usize) -> Tensor {
    let mut shape = vec![d.pick(&[0, 1, 2]), d.pick(&[0, 1, 2, 4, 9])];
    (0..n).for_each(|_| shape.push(d.pick(&[0, 1, 2, 3, 4, 6])));
    let dtype = d.float_dtype();
    d.shaped(&shape, dtype)
}

fn interpolated(d: &mut Draw) -> Tensor {
    let n = d.pick(&[0, 1, 2, 3]);
    let x = image(d, n);
    let by_sizes = d.flag();
    let options = InterpolateOptions {
        mode: d.pick(&[
            InterpolateMode::Nearest,
            InterpolateMode::NearestExact,
            InterpolateMode::Linear,
            InterpolateMode::Cubic,
            InterpolateMode::Area,
        ]),
        sizes: if by_sizes { d.n_sizes(n) } else { Vec::new() },
        scales: if by_sizes && !d.once_in(12) { Vec::new() } else { (0..n).map(|_| d.float()).collect() },
        align_corners: d.once_in(3),
        antialias: d.once_in(3),
    };
    x.interpolate(&options)
}

fn sampled(d: &mut Draw) -> Tensor {
    let n = d.pick(&[1, 2, 2, 3]);
    let x = image(d, n);
    let mut places = vec![x.shape().first().copied().unwrap_or(1)];
    (0..n).for_each(|_| places.push(d.pick(&[0, 1, 2, 3])));
    places.push(n);
    let grid = d.shaped(&places, x.dtype());
    let options = GridSampleOptions {
        mode: d.pick(&[GridMode::Linear, GridMode::Nearest, GridMode::Cubic]),
        padding: d.pick(&[GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection]),
        align_corners: d.flag(),
    };
    x.grid_sample(&grid, &options)
}

fn windows(d: &mut Draw, n: usize) -> WindowOptions {
    let mut kernel = per_axis(d, n, 1);
    if kernel.is_empty() {
        kernel.push(d.pick(&[1, 2]));
    }
    WindowOptions { kernel, stride: per_axis(d, n, 1), padding: per_axis(d, n, 0), dilation: per_axis(d, n, 1) }
}

/// What a maximum pooling gives, for the way back.
fn unpooled(d: &mut Draw, n: usize) -> (Tensor, Tensor, PoolOptions, Option<Vec<usize>>) {
    let (x, options) = pooled(d, n);
    let index = d.index(&x.shape(), 4);
    let output = if d.once_in(2) { Some(d.n_sizes(n)) } else { None };
    (x, index, options, output)
}

calls! {
    index_fill |d| { let x = d.x(); let (axis, index, _) = vector_and_source(d, &x); x.index_fill(axis, &index, operand(d, &x)) };
    index_put |d| { let x = d.x(); let index = items(d, &x); x.index_put(index, &d.near(&x), d.flag()) };
    put |d| {
        let x = d.x();
        let shape = d.shape_of(2);
        let index = d.index(&shape, x.numel().min(1000));
        x.put(&index, &d.shaped(&shape, x.dtype()), d.flag())
    };
    masked_scatter |d| { let x = d.x(); let mask = d.mask(&x); x.masked_scatter(&mask, &d.near(&x)) };
    scatter_value |d| { let x = d.x(); let (axis, index, _) = scattered(d, &x); x.scatter_value(axis, &index, operand(d, &x)) };
    scatter_reduce |d| {
        let x = d.x();
        let (axis, index, source) = scattered(d, &x);
        x.scatter_reduce(axis, &index, &source, reduction(d), d.flag())
    };
    index_reduce |d| {
        let x = d.x();
        let (axis, index, source) = vector_and_source(d, &x);
        x.index_reduce(axis, &index, &source, reduction(d), d.flag())
    };
    searchsorted |d| { let rank = d.pick(&[1, 1, 2]); let x = d.floats(rank); x.searchsorted(operand(d, &x), d.flag()) };
    bucketize |d| { let x = d.x(); let boundaries = d.floats(1); x.bucketize(&boundaries, d.flag()) };
    isin |d| { let x = d.x(); x.isin(operand(d, &x)) };
    bincount |d| {
        let x = d.index(&[7], 9);
        let weights = d.shaped(&[7], DType::F32);
        if x.numel() > 10_000 { x } else { x.bincount(if d.flag() { Some(&weights) } else { None }, d.size()) }
    };
    histc |d| { let x = d.x(); x.histc(d.size(), d.float(), d.float()) };
    unique_with |d| { let x = d.x(); if x.numel() > 10_000 { (x.clone(), x.clone(), x) } else { x.unique_with() } };
    unique_slices |d| {
        let x = d.x();
        let axis = d.axis(x.rank());
        if x.numel() > 10_000 { (x.clone(), x.clone(), x) } else { x.unique_slices(axis) }
    };
    unique_consecutive |d| { let x = d.x(); if x.numel() > 10_000 { (x.clone(), x.clone(), x) } else { x.unique_consecutive() } };
    unique_consecutive_slices |d| {
        let x = d.x();
        let axis = d.axis(x.rank());
        if x.numel() > 10_000 { (x.clone(), x.clone(), x) } else { x.unique_consecutive_slices(axis) }
    };
    repeat_interleave_by |d| {
        let x = d.x();
        let axis = d.axis(x.rank());
        let counts = d.index(&[along(&x, axis)], 4);
        if counts.numel() > 10_000 { x } else { x.repeat_interleave_by(&counts, axis) }
    };
    embedding_with |d| { let x = d.floats(2); let size = along(&x, 0); let index = d.index(&[2, 3], size); x.embedding_with(&index, &rows(d)) };
    embedding_bag |d| bags(d);
    zeros_like_as |d| { let x = d.x(); x.zeros_like_as(d.dtype()) };
    ones_like_as |d| { let x = d.x(); x.ones_like_as(d.dtype()) };
    full_like_as |d| { let x = d.x(); x.full_like_as(operand(d, &x), d.dtype()) };
    new_zeros |d| { let x = d.x(); x.new_zeros(d.sizes()) };
    new_ones |d| { let x = d.x(); x.new_ones(d.sizes()) };
    new_full |d| { let x = d.x(); x.new_full(d.sizes(), operand(d, &x)) };
    full_int |d| Tensor::full_int(d.sizes(), d.int(), d.dtype(), &d.device.clone());
    tril_indices |d| Tensor::tril_indices(d.size(), d.size(), d.int(), &d.device.clone());
    triu_indices |d| Tensor::triu_indices(d.size(), d.size(), d.int(), &d.device.clone());

    interpolate |d| interpolated(d);
    grid_sample |d| sampled(d);
    affine_grid |d| {
        let n = d.pick(&[1, 2, 2, 3]);
        let mut size = vec![d.pick(&[0, 1, 2])];
        size.extend(d.n_sizes(n + 1));
        let dtype = d.float_dtype();
        d.shaped(&[size[0], n, n + 1], dtype).affine_grid(&size, d.flag())
    };
    avg_pool_with_divisor |d| { let (n, asked) = n_axes(d); let (x, options) = pooled(d, n); x.avg_pool_with_divisor(asked, &options, d.int()) };
    adaptive_max_pool_with_index |d| {
        let n = d.pick(&[0, 1, 2, 3]);
        let (x, _) = pooled(d, n);
        x.adaptive_max_pool_with_index(&d.n_sizes(n))
    };
    max_unpool |d| { let (n, asked) = n_axes(d); let (x, index, options, output) = unpooled(d, n); x.max_unpool(&index, asked, &options, output.as_deref()) };
    max_unpool1d |d| { let (x, index, options, output) = unpooled(d, 1); x.max_unpool1d(&index, &options, output.as_deref()) };
    max_unpool2d |d| { let (x, index, options, output) = unpooled(d, 2); x.max_unpool2d(&index, &options, output.as_deref()) };
    max_unpool3d |d| { let (x, index, options, output) = unpooled(d, 3); x.max_unpool3d(&index, &options, output.as_deref()) };
    im2col |d| { let n = d.pick(&[0, 1, 2, 3]); let x = image(d, n); x.im2col(&windows(d, n)) };
    col2im |d| {
        let n = d.pick(&[0, 1, 2, 3]);
        let options = windows(d, n);
        let sizes = d.n_sizes(n);
        let columns = Tensor::zeros([1, 2].iter().chain(&sizes).copied().collect::<Vec<_>>(), DType::F32, &d.device.clone()).im2col(&options).shape();
        let dtype = d.float_dtype();
        d.shaped(&columns, dtype).col2im(&sizes, &options)
    };
    local_response_norm |d| { let n = d.pick(&[0, 1, 2]); let x = image(d, n); x.local_response_norm(d.size(), d.float(), d.float(), d.float()) };
    instance_norm_train |d| { let x = image(d, 1); let w = d.shaped(&[along(&x, 1)], x.dtype()); x.instance_norm_train(Some(&w), None, d.float()) };
    layer_norm_over |d| {
        let x = d.floats(3);
        let shape = if d.once_in(4) { d.sizes() } else { x.shape()[x.rank().min(1)..].to_vec() };
        let w = d.shaped(&shape, x.dtype());
        x.layer_norm_over(&shape, if d.flag() { Some(&w) } else { None }, None, d.float())
    };
    pairwise_distance |d| { let x = d.floats(2); x.pairwise_distance(&d.near(&x), d.float(), d.float()) };
    pixel_shuffle |d| { let x = image(d, 2); x.pixel_shuffle(d.size()) };
    pixel_unshuffle |d| { let x = image(d, 2); x.pixel_unshuffle(d.size()) };
    channel_shuffle |d| { let x = image(d, 2); x.channel_shuffle(d.size()) };
}
