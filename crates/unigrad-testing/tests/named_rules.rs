//! Ops whose rule for a named axis is more than to carry the name on: max pools, scatters into a part of an axis, attention over pages with a bias, and
//! a decode step of any number of sequences. Values and gradients are those without names, whatever lies in the padding, and sizes of a bucket share
//! their plans.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::prelude::*;
use unigrad_scalar::ScatterMode;
use unigrad_tensor::{AttentionOptions, Dim, PoolOptions, eval};
use unigrad_testing::{Values, compare::Tolerance, compare::close};

/// Counters are the process's, and so are plans; padding is NaN.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    let guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    eval::set_padding(255);
    guard
}

/// The CPU, the interpreter and PoCL, as far as they are here.
fn devices() -> Vec<Device> {
    let all: Vec<Device> =
        unigrad_testing::devices().into_iter().filter(|device| ["cpu", "interpreter", "opencl"].contains(&device.backend())).collect();
    let mut one: Vec<Device> = Vec::new();
    for device in all {
        if !one.iter().any(|other| other.backend() == device.backend()) {
            one.push(device);
        }
    }
    println!("on {:?}", one.iter().map(|device| device.name().to_owned()).collect::<Vec<_>>());
    one
}

/// Numbers of which some are equal, and none are positive if `low`.
fn numbers(shape: &[usize], seed: usize, low: bool, device: &Device) -> Tensor {
    let of = |i: usize| ((i * 7919 + seed * 104_729 + i * i % 31) % 37) as f32 / 8.0 - if low { 6.0 } else { 2.0 };
    Tensor::from_vec((0..shape.iter().product()).map(of).collect::<Vec<_>>(), shape, device).realize().unwrap()
}

/// What is computed of these inputs: results, and the gradients of floats among them.
fn results(f: &dyn Fn(&[Tensor]) -> Vec<Tensor>, inputs: &[Tensor]) -> Vec<Values> {
    let inputs: Vec<Tensor> = inputs.iter().map(|x| if x.dtype().is_float() { x.requires_grad() } else { x.clone() }).collect();
    let mut all = f(&inputs);
    // Each element has a weight of its own.
    let first = &all[0];
    let weight = (first.ones_like().cumsum(0) * 0.5).sin();
    let of: Vec<&Tensor> = inputs.iter().filter(|x| x.dtype().is_float()).collect();
    let gradients = unigrad_tensor::grad_allow_unused(&(first.square() * weight).sum(()), None, &of).unwrap();
    all.extend(gradients.into_iter().flatten());
    Tensor::realize_all(&all.iter().collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"));
    all.iter().map(|x| Values::from_f64(x.dtype(), &x.shape(), &x.to_f64_vec().unwrap())).collect()
}

/// The first of these on devices that compile slowly, and all on the CPU.
fn chosen<T: Copy>(device: &Device, all: &[T]) -> Vec<T> {
    all.iter().take(if device.backend() == "cpu" { all.len() } else { 1 }).copied().collect()
}

/// Inputs of a size on a device, with names or without.
type Make<'a> = &'a dyn Fn(usize, Option<&Dim>, &Device) -> Vec<Tensor>;

/// For each size: what the inputs with names give on the device is what those without give on the CPU; at most `plans` of the sizes have new plans. On
/// devices that compile slowly there are the first few sizes.
fn check(name: &str, device: &Device, dim: &Dim, (sizes, plans): (&[usize], usize), f: &dyn Fn(&[Tensor]) -> Vec<Tensor>, make: Make<'_>) {
    let (mut built, mut late) = (0, 0);
    let cpu = Device::open("cpu").unwrap();
    let sizes = if device.backend() == "cpu" { sizes } else { &sizes[..sizes.len().min(3)] };
    for n in sizes {
        let wanted = results(f, &make(*n, None, &cpu));
        let named = make(*n, Some(dim), device);
        assert!(named.iter().any(|x| x.expr().is_named()), "{name} of {n}: nothing has a name");
        let before = eval::stats().plans_built;
        let found = results(f, &named);
        let new = eval::stats().plans_built - before;
        built += new;
        late += usize::from(new > 0);
        assert_eq!(found.len(), wanted.len(), "{name} of {n}");
        for (which, (got, want)) in found.iter().zip(&wanted).enumerate() {
            let off = close(got, want, Tolerance::new(DType::F32, 64));
            assert!(off.is_ok(), "{name} of {n}, result {which}: {off:?}");
        }
    }
    println!("{} {name}: {} sizes, {late} of them with {built} new plans", device.name(), sizes.len());
    assert!(late <= plans, "{} {name}: {late} of {} sizes have plans of their own", device.name(), sizes.len());
}

/// The edges of a dimension's buckets, one more and one less.
const SIZES: [usize; 12] = [8, 7, 9, 16, 15, 17, 32, 31, 11, 13, 6, 5];

#[test]
fn max_pools_see_no_padding() {
    let _alone = alone();
    for device in devices() {
        let dim = Dim::named("length", 1..=32).unwrap().first_bucket(8);
        let all = [
            (3, 2, 1, 1, false),
            (2, 3, 0, 1, true),
            (2, 2, 0, 1, false),
            (3, 1, 1, 1, false),
            (3, 2, 1, 2, false),
            (3, 2, 0, 1, true),
            (1, 2, 0, 1, false),
        ];
        for (kernel, stride, pad, dilation, ceil_mode) in chosen(&device, &all) {
            let options = PoolOptions {
                kernel: vec![kernel],
                stride: vec![stride],
                padding: vec![pad],
                dilation: vec![dilation],
                ceil_mode,
                ..PoolOptions::new(1)
            };
            let pooled = |x: &[Tensor]| {
                let (y, index) = x[0].max_pool_with_index(1, &options);
                vec![y.transpose(0, 2), index]
            };
            let make = |n: usize, dim: Option<&Dim>, on: &Device| {
                let x = numbers(&[2, 3, n], 1, true, on);
                vec![dim.map_or(x.clone(), |dim| x.with_dim(2, dim))]
            };
            // A plan for each of three buckets; where windows are counted up, a size may need one window more than another one of its bucket.
            let plans = if ceil_mode { 6 } else { 3 };
            check(&format!("pool {options:?}"), &device, &dim, (&SIZES, plans), &pooled, &make);
        }
    }
}

#[test]
fn max_pools_of_planes_see_no_padding() {
    let _alone = alone();
    for device in devices() {
        let (rows, columns) = (Dim::named("rows", 1..=16).unwrap().first_bucket(8), Dim::named("columns", 1..=16).unwrap().first_bucket(8));
        for (which, axes) in chosen(&device, &[("both", [true, true]), ("rows", [true, false]), ("columns", [false, true])]) {
            let options = PoolOptions { padding: vec![1, 0], stride: vec![2, 1], kernel: vec![3, 2], ..PoolOptions::new(1) };
            let pooled = |x: &[Tensor]| {
                let (y, index) = x[0].max_pool_with_index(2, &options);
                vec![y.permute([2, 3, 0, 1]), index]
            };
            let make = |n: usize, dim: Option<&Dim>, on: &Device| {
                // Of an axis without a name the size does not change.
                let of = |axis: usize, size: usize| if axes[axis] { size } else { 6 };
                let mut x = numbers(&[2, 1, of(0, n), of(1, n + 1)], 2, true, on);
                for (axis, own) in [(2, &rows), (3, &columns)] {
                    if dim.is_some() && axes[axis as usize - 2] {
                        x = x.with_dim(axis, own);
                    }
                }
                vec![x]
            };
            check(&format!("pool of {which}"), &device, &rows, (&[7, 6, 8, 5, 9, 15, 12], 3), &pooled, &make);
        }
        // All elements are the least there is.
        let x = Tensor::full([1, 1, 5], f64::NEG_INFINITY, DType::F32, &device).realize().unwrap();
        let exact = x.max_pool_with_index(1, &PoolOptions::new(2));
        let named = x.with_dim(2, &rows).max_pool_with_index(1, &PoolOptions::new(2));
        assert_eq!(named.1.to_vec::<i64>().unwrap(), exact.1.to_vec::<i64>().unwrap());
        assert_eq!(named.0.to_vec::<f32>().unwrap(), exact.0.to_vec::<f32>().unwrap());
        let least = Tensor::full_int([1, 1, 5], i64::from(i32::MIN), DType::I32, &device).realize().unwrap();
        let named = least.with_dim(2, &rows).max_pool_with_index(1, &PoolOptions::new(3).padding(1).stride(1));
        assert_eq!(named.1.to_vec::<i64>().unwrap(), [0, 0, 1, 2, 3]);
        // Windows that step over all that there is are refused, with a name or without.
        let wide = PoolOptions { kernel: vec![2], stride: vec![1], padding: vec![1], dilation: vec![4], ..PoolOptions::new(1) };
        let refused = numbers(&[1, 1, 3], 1, false, &device).with_dim(2, &rows).max_pool(1, &wide);
        assert!(refused.error().is_some_and(|error| error.to_string().contains("nothing but padding")));
    }
}

#[test]
fn a_part_of_a_named_axis_is_scattered_into() {
    let _alone = alone();
    for device in devices() {
        let (many, few) = (Dim::named("many", 1..=32).unwrap().first_bucket(8), Dim::named("few", 1..=32).unwrap().first_bucket(16));
        let all = [
            (ScatterMode::Set, "set"),
            (ScatterMode::Add, "add"),
            (ScatterMode::Mul, "mul"),
            (ScatterMode::Max, "max"),
            (ScatterMode::Min, "min"),
        ];
        for (mode, what) in chosen(&device, &all) {
            // Of the base alone, of the index alone, or of both, and then by two names.
            for (which, base_named, index_named) in chosen(
                &device,
                &[("both", true, true), ("base", true, false), ("index", false, true), ("both, of one size at times", true, true)],
            ) {
                let scattered = |x: &[Tensor]| vec![x[0].scatter_with(1, &x[2], &x[1], mode)];
                let make = |n: usize, dim: Option<&Dim>, on: &Device| {
                    let m = match which {
                        "base" => 4,
                        "both, of one size at times" => n - n % 3,
                        _ => n - 2,
                    };
                    let base = numbers(&[if which == "index" { 40 } else { n }, 3], 1, false, on);
                    let src = numbers(&[m, 2], 2, false, on);
                    // Each goes to one place, as `Set` gives it a gradient.
                    let at: Vec<i64> = (0..2 * m).map(|i| [2, 0, 1, 2][i % 4]).collect();
                    let index = Tensor::from_vec(at, [m, 2], on).realize().unwrap();
                    let is_named = dim.is_some();
                    let with = |x: Tensor, wanted: bool, own: &Dim| if is_named && wanted { x.with_dim(0, own) } else { x };
                    vec![with(base, base_named, &many), with(src, index_named, &few), with(index, index_named, &few)]
                };
                check(
                    &format!("{what} into a part, names of {which}"),
                    &device,
                    &many,
                    (&[8, 7, 6, 9, 16, 15, 12, 5], 2),
                    &scattered,
                    &make,
                );
            }
        }
    }
}

#[test]
fn what_is_added_by_another_name_has_one_plan_for_a_bucket() {
    let _alone = alone();
    for device in devices() {
        let (many, few) = (Dim::named("many", 1..=32).unwrap().first_bucket(8), Dim::named("few", 1..=32).unwrap().first_bucket(16));
        let with = |x: Tensor, dim: Option<&Dim>, own: &Dim| if dim.is_some() { x.with_dim(0, own) } else { x };
        // Along the axis that has two names.
        let added = |x: &[Tensor]| vec![x[0].index_add(0, &x[2], &x[1])];
        let make = |n: usize, dim: Option<&Dim>, on: &Device| {
            let m = n - n % 3;
            let index = Tensor::from_vec((0..m).map(|i| (i * 3 % n) as i64).collect::<Vec<_>>(), [m], on).realize().unwrap();
            let (base, src) = (numbers(&[n, 3], 1, false, on), numbers(&[m, 3], 2, false, on));
            vec![with(base, dim, &many), with(src, dim, &few), with(index, dim, &few)]
        };
        check("index_add", &device, &many, (&[8, 7, 6, 9, 16, 15, 12, 5], 2), &added, &make);
        // Along another axis, and the gradient of a gradient.
        let twice = |x: &[Tensor]| {
            let y = x[0].scatter_add(1, &x[2], &x[1]);
            unigrad_tensor::grad(&(y.square() * &y).sum(()), &[&x[1]]).unwrap()
        };
        let make = |n: usize, dim: Option<&Dim>, on: &Device| {
            let m = n - n % 3;
            let at: Vec<i64> = (0..2 * m).map(|i| [2, 0, 1, 2][i % 4]).collect();
            let index = Tensor::from_vec(at, [m, 2], on).realize().unwrap();
            let (base, src) = (numbers(&[n, 3], 1, false, on), numbers(&[m, 2], 2, false, on));
            vec![with(base, dim, &many), with(src, dim, &few), with(index, dim, &few)]
        };
        check("a gradient's gradient", &device, &many, (&[8, 7, 6, 9, 16, 15, 12, 5], 2), &twice, &make);
    }
}

#[test]
fn attention_over_pages_takes_a_bias_with_names() {
    let _alone = alone();
    for device in devices() {
        let (heads, page, pages, features) = (2, 4, 3, 4);
        for which in chosen(&device, &["sequences", "queries"]) {
            let dim = Dim::named(which, 1..=16).unwrap().first_bucket(4);
            let attended = |x: &[Tensor]| {
                let (q, bias, k, v, table) = (&x[0], &x[1], &x[2], &x[3], &x[4]);
                let options = AttentionOptions {
                    bias: Some(bias.clone()),
                    page_table: Some(table.clone()),
                    kv_len: Some((&x[5]).into()),
                    ..AttentionOptions::default()
                };
                vec![q.attention(k, v, &options).permute(if which == "sequences" { [0, 1, 2, 3] } else { [2, 0, 1, 3] })]
            };
            let make = |n: usize, dim: Option<&Dim>, on: &Device| {
                let (batch, queries) = if which == "sequences" { (n, 3) } else { (2, n) };
                let q = numbers(&[batch, heads, queries, features], 1, false, on);
                let bias = numbers(&[1, heads, 1, page * pages], 2, false, on);
                let (k, v) = (numbers(&[7, page, heads, features], 3, false, on), numbers(&[7, page, heads, features], 4, false, on));
                let table: Vec<i64> = (0..batch * pages).map(|i| (i * 3 % 7) as i64).collect();
                let table = Tensor::from_vec(table, [batch, pages], on).realize().unwrap();
                let lengths: Vec<i64> = (0..batch).map(|b| (b * 5 % 13) as i64).collect();
                let lengths = Tensor::from_vec(lengths, [batch], on).realize().unwrap();
                let with = |x: Tensor, axis: isize| dim.map_or(x.clone(), |dim| x.with_dim(axis, dim));
                match which {
                    "sequences" => vec![with(q, 0), bias, k, v, with(table, 0), with(lengths, 0)],
                    _ => vec![with(q, 2), bias, k, v, table, lengths],
                }
            };
            check(&format!("pages and a bias, named {which}"), &device, &dim, (&[4, 3, 5, 8, 7, 2, 6], 3), &attended, &make);
        }
        // Named pages have no rule: a store has one size.
        let dim = Dim::named("pages", 1..=16).unwrap();
        let k = numbers(&[7, page, heads, features], 3, false, &device).with_dim(0, &dim);
        let table = Tensor::from_vec(vec![0i64, 1], [1, 2], &device);
        let options = AttentionOptions { page_table: Some(table), ..AttentionOptions::default() };
        let refused = numbers(&[1, heads, 1, features], 1, false, &device).attention(&k, &k, &options);
        assert!(refused.error().is_some_and(|error| error.to_string().contains("a store of a fixed size")));
    }
}

/// Sequences come and go: each step decodes as many as there are, over one store of pages, which it writes in place.
#[test]
fn any_number_of_sequences_decodes_over_pages() {
    let _alone = alone();
    for device in devices() {
        let (heads, page, pages, features) = (2, 4, 3, 4);
        let dim = Dim::named("sequences", 1..=16).unwrap().first_bucket(4);
        let stepped = |x: &[Tensor]| {
            let (q, new, store, table, start) = (&x[0], &x[1], &x[2], &x[3], &x[4]);
            let store = store.paged_update(new, table, start);
            let options =
                AttentionOptions { page_table: Some(table.clone()), kv_len: Some((&(start + 1)).into()), ..AttentionOptions::default() };
            vec![q.attention(&store, &store, &options), store]
        };
        let make = |n: usize, dim: Option<&Dim>, on: &Device| {
            let q = numbers(&[n, heads, 1, features], 1, false, on);
            let new = numbers(&[n, 1, heads, features], 2, false, on);
            let store = numbers(&[16 * pages, page, heads, features], 3, false, on);
            let table = Tensor::from_vec((0..(n * pages) as i64).collect::<Vec<_>>(), [n, pages], on).realize().unwrap();
            let start = Tensor::from_vec((0..n).map(|b| (b * 5 % 12) as i64).collect::<Vec<_>>(), [n], on).realize().unwrap();
            let with = |x: Tensor| dim.map_or(x.clone(), |dim| x.with_dim(0, dim));
            vec![with(q), with(new), store, with(table), with(start)]
        };
        check("decoding", &device, &dim, (&[4, 3, 5, 8, 7, 2, 6], 3), &stepped, &make);
    }
}
