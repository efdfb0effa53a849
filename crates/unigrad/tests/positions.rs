//! Attention over sequences of different lengths: each of a batch as it is alone, with its keys in rows and in pages, on every device of this
//! machine.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::prelude::*;
use unigrad::tensor::eval;

/// Counts of plans are the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn devices() -> Vec<Device> {
    unigrad_testing::selection::without_slowest(unigrad_testing::devices())
        .into_iter()
        .filter(|device| !device.name().starts_with("null"))
        .collect()
}

/// Numbers that differ and repeat for a name, in `-1..1`.
fn numbers(shape: &[usize], seed: usize, dtype: DType, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    let value = |i: usize| ((i * 7919 + seed * 104_729 + 31) % 2003) as f32 / 1001.5 - 1.0;
    Tensor::new((0..n).map(value).collect::<Vec<f32>>(), device).reshape(shape.to_vec()).cast(dtype)
}

fn integers(values: &[usize], device: &Device) -> Tensor {
    Tensor::new(values.iter().map(|value| *value as i64).collect::<Vec<_>>(), device)
}

/// How far two results may be apart.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-12,
        DType::F32 => 3e-6,
        DType::F16 => 4e-3,
        _ => 3e-2,
    }
}

/// The elements, as they are.
fn host(x: &Tensor, place: &str) -> Vec<f64> {
    let wide = |x: &Tensor| x.to_vec::<f64>();
    let values =
        if x.dtype() == DType::F64 { wide(x) } else { x.cast(DType::F32).to_vec::<f32>().map(|x| x.into_iter().map(f64::from).collect()) };
    values.unwrap_or_else(|error| panic!("{place}: {error}"))
}

fn compare(got: &[f64], want: &[f64], tolerance: f64, place: &str) {
    assert_eq!(got.len(), want.len(), "{place}");
    for (i, (a, b)) in got.iter().zip(want).enumerate() {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{place}: element {i} is {a}, alone {b}");
    }
}

/// Part `i` of `n` equal ones.
fn part(values: &[f64], i: usize, n: usize) -> &[f64] {
    let len = values.len() / n;
    &values[i * len..(i + 1) * len]
}

#[derive(Clone, Copy, Debug)]
struct Sizes {
    heads: usize,
    groups: usize,
    queries: usize,
    features: usize,
    values: usize,
    page: usize,
    /// Pages of a sequence at most.
    pages: usize,
}

/// Every length of a batch against the length alone.
fn check(device: &Device, dtype: DType, sizes: Sizes, options: &AttentionOptions) {
    let Sizes { heads, groups, queries, features, values, page, pages } = sizes;
    let most = page * pages;
    let mut lengths: Vec<usize> = vec![0, 1, page - 1, page, page + 1, most - 1, most];
    lengths.retain(|length| *length <= most);
    let batch = lengths.len();
    let place = format!("{device} {dtype} {sizes:?} causal {} window {:?}", options.causal, options.window);
    let options = &AttentionOptions {
        bias: options.bias.as_ref().map(|_| numbers(&[batch, heads, queries, most], 7, dtype, device)),
        ..options.clone()
    };
    let q = numbers(&[batch, heads, queries, features], 1, dtype, device);
    let k = numbers(&[batch, groups, most, features], 2, dtype, device);
    let v = numbers(&[batch, groups, most, values], 3, dtype, device);
    // The queries are the last ones of each sequence.
    let offsets: Vec<i64> = lengths.iter().map(|length| *length as i64 - queries as i64).collect();
    let rows = AttentionOptions {
        kv_len: Some((&integers(&lengths, device)).into()),
        q_offset: Some((&Tensor::new(offsets.clone(), device)).into()),
        ..options.clone()
    };
    let inputs = [&q, &k, &v].map(|x| x.requires_grad());
    let [q, k, v] = &inputs;
    let mixed = q.attention(k, v, &rows);
    let weight = numbers(&[batch, heads, queries, values], 4, dtype, device);
    let gradients = grad(&(&mixed * &weight).sum(()), &[q, k, v]).unwrap();

    // The same keys in pages that lie anywhere: page `n` of sequence `b` is the table's number.
    let table: Vec<usize> = (0..batch * pages).map(|i| (i * 5 + 3) % (batch * pages + 1)).collect();
    assert!(!(batch * pages + 1).is_multiple_of(5), "pages would meet");
    let in_pages = |x: &Tensor, seed: usize, width: usize| {
        let cache = numbers(&[batch * pages + 1, page, groups, width], seed, dtype, device);
        cache.paged_update(
            &x.detach().transpose(1, 2),
            &integers(&table, device).reshape([batch, pages]),
            &integers(&vec![0; batch], device),
        )
    };
    let (k_pages, v_pages) = (in_pages(k, 5, features).requires_grad(), in_pages(v, 6, values).requires_grad());
    // What stands behind a length does not count.
    let shown: Vec<i64> =
        table.iter().enumerate().map(|(i, at)| if i % pages * page < lengths[i / pages] { *at as i64 } else { -1 }).collect();
    let paged_options = AttentionOptions { page_table: Some(Tensor::new(shown, device).reshape([batch, pages])), ..rows };
    let paged = q.attention(&k_pages, &v_pages, &paged_options);
    let paged_gradients = grad(&(&paged * &weight).sum(()), &[q, &k_pages, &v_pages]).unwrap();

    let [mixed, paged] = [("in rows", mixed), ("in pages", paged)].map(|(name, y)| host(&y, &format!("{place} {name}")));
    let gradients: Vec<_> = gradients.iter().map(|x| host(x, &format!("{place} gradients"))).collect();
    let paged_gradients: Vec<_> = paged_gradients.iter().map(|x| host(x, &format!("{place} gradients in pages"))).collect();
    for (b, length) in lengths.iter().enumerate() {
        let place = format!("{place} length {length}");
        // Of their own, so that one plan does for all.
        let one = |x: &Tensor| {
            x.detach().narrow(0, b, 1).contiguous().realize().unwrap_or_else(|error| panic!("{place}: {error}")).requires_grad()
        };
        let (q1, k1, v1) = (one(q), one(k), one(v));
        let alone = AttentionOptions {
            kv_len: Some((*length).into()),
            q_offset: Some(offsets[b].into()),
            bias: options.bias.as_ref().map(one),
            ..options.clone()
        };
        let want = q1.attention(&k1, &v1, &alone);
        let wants = grad(&(&want * &one(&weight)).sum(()), &[&q1, &k1, &v1]).unwrap();
        let want = host(&want, &place);
        let wants: Vec<_> = wants.iter().map(|x| host(x, &place)).collect();
        compare(part(&mixed, b, batch), &want, tolerance(dtype), &place);
        compare(part(&paged, b, batch), &want, tolerance(dtype), &format!("{place} in pages"));
        assert!(*length > 0 || part(&mixed, b, batch).iter().chain(part(&paged, b, batch)).all(|y| *y == 0.0), "{place}");
        for (name, (got, want)) in ["dq", "dk", "dv"].iter().zip(gradients.iter().zip(&wants)) {
            compare(part(got, b, batch), want, 8.0 * tolerance(dtype), &format!("{place} {name}"));
        }
        compare(part(&paged_gradients[0], b, batch), &wants[0], 8.0 * tolerance(dtype), &format!("{place} dq in pages"));
        for (which, width) in [(1, features), (2, values)] {
            for position in 0..length.next_multiple_of(page) {
                let at = table[b * pages + position / page] * page + position % page;
                for group in 0..groups {
                    let got = &paged_gradients[which][(at * groups + group) * width..][..width];
                    let want = &wants[which][(group * most + position) * width..][..width];
                    compare(got, want, 8.0 * tolerance(dtype), &format!("{place} gradient {which} at {position} in pages"));
                }
            }
        }
    }
}

#[test]
fn every_sequence_of_a_batch_is_as_alone() {
    let _alone = alone();
    for device in devices() {
        for (dtype, cases) in [(DType::F32, 0..4), (DType::F64, 0..1), (DType::F16, 1..2), (DType::BF16, 2..3)] {
            if dtype == DType::F64 && unigrad_testing::without_f64(&device).is_some() {
                println!("{device}: not run in f64, which it lacks");
                continue;
            }
            // Few queries, a window, many queries, a bias.
            let options = [(1, true, None, false), (5, true, Some(3), false), (20, false, None, false), (3, true, None, true)];
            let few = if unigrad_testing::selection::compiles_slowly(&device) { 2 } else { cases.len() };
            for (queries, causal, window, biased) in options.into_iter().skip(cases.start).take(few.min(cases.len())) {
                let sizes = Sizes { heads: 4, groups: 2, queries, features: 16, values: 8, page: 4, pages: 3 };
                // Of what size a bias is, the check knows.
                let bias = biased.then(|| Tensor::zeros([1], dtype, &device));
                check(&device, dtype, sizes, &AttentionOptions { causal, window, bias, ..AttentionOptions::default() });
            }
        }
    }
}

/// What an evaluation says.
fn error(x: &Tensor) -> String {
    x.to_vec::<f32>().map(|values| format!("{values:?}")).unwrap_or_else(|error| error.to_string())
}

#[test]
fn what_is_out_of_range_is_an_error_and_never_read() {
    let _alone = alone();
    for device in devices() {
        let q = numbers(&[2, 2, 1, 8], 1, DType::F32, &device);
        let (k, v) = (numbers(&[2, 2, 6, 8], 2, DType::F32, &device), numbers(&[2, 2, 6, 8], 3, DType::F32, &device));
        let lengths =
            |list: [i64; 2]| AttentionOptions { kv_len: Some((&Tensor::new(list, &device)).into()), ..AttentionOptions::default() };
        for list in [[1, 7], [-1, 3], [i64::MAX, 0], [1 << 32, 0]] {
            let said = error(&q.attention(&k, &v, &lengths(list)));
            assert!(said.contains("out of range"), "{device} lengths {list:?}: {said}");
        }
        let (k, v) = (numbers(&[4, 3, 2, 8], 2, DType::F32, &device), numbers(&[4, 3, 2, 8], 3, DType::F32, &device));
        for (list, table, fails) in [
            ([4, 6], [0, 1, 2, 4], true),
            ([4, 6], [0, -1, 2, 3], true),
            ([3, 6], [0, i64::MAX, 2, 3], false),
            ([0, 0], [-1, -1, 99, 99], false),
            ([7, 0], [0, 1, 2, 3], true),
        ] {
            let options = AttentionOptions { page_table: Some(Tensor::new(table, &device).reshape([2, 2])), ..lengths(list) };
            let said = error(&q.attention(&k, &v, &options));
            assert_eq!(said.contains("out of range"), fails, "{device} lengths {list:?} of pages {table:?}: {said}");
        }
        let rows = numbers(&[2, 2, 2, 8], 4, DType::F32, &device);
        for (start, table, fails) in
            [([0, 4], [0, 1, 2, 3], false), ([0, 5], [0, 1, 2, 3], true), ([-1, 0], [0, 1, 2, 3], true), ([0, 0], [4, 1, 2, 3], true)]
        {
            let table = Tensor::new(table, &device).reshape([2, 2]);
            let said = error(&k.paged_update(&rows, &table, &Tensor::new(start, &device)));
            assert_eq!(said.contains("out of range"), fails, "{device} starts {start:?}: {said}");
        }
        // What does not fit is said when it is written.
        let table = Tensor::new([0i64, 1], &device).reshape([1, 2]);
        assert!(error(&q.attention(&k, &v, &AttentionOptions { page_table: Some(table), ..lengths([1, 1]) })).contains("2 sequences"));
        let three = AttentionOptions { kv_len: Some((&Tensor::new([1i64, 2, 3], &device)).into()), ..AttentionOptions::default() };
        let (k, v) = (numbers(&[2, 2, 6, 8], 2, DType::F32, &device), numbers(&[2, 2, 6, 8], 3, DType::F32, &device));
        assert!(error(&q.attention(&k, &v, &three)).contains("kv_len [3] for 2 sequences"));
    }
}

#[test]
fn nothing_is_a_cache_too() {
    let _alone = alone();
    for device in devices() {
        let q = numbers(&[2, 2, 3, 4], 1, DType::F32, &device);
        for shape in [[0, 4, 2, 4], [3, 0, 2, 4]] {
            let (k, table) = (Tensor::zeros(shape, DType::F32, &device), Tensor::zeros([2, 2], DType::I64, &device));
            let lengths = Tensor::zeros([2], DType::I64, &device);
            let options = AttentionOptions { page_table: Some(table), kv_len: Some((&lengths).into()), ..AttentionOptions::default() };
            let y = q.attention(&k, &k, &options).to_vec::<f32>().unwrap_or_else(|error| panic!("{device} {shape:?}: {error}"));
            assert!(y.iter().all(|y| *y == 0.0), "{device} {shape:?}");
        }
    }
}

/// Sequences that begin with different lengths and grow step by step: one plan, results as of each sequence alone, nothing copied.
#[test]
fn a_batch_decodes_by_one_plan() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    let (heads, groups, features, page, pages, batch) = (4, 2, 8, 4, 6, 3);
    let most = page * pages;
    let begins = [1usize, 4, 7];
    let all = |seed, heads| numbers(&[batch, most, heads, features], seed, DType::F32, &device).realize().unwrap();
    let (all_q, all_k, all_v) = (all(1, heads), all(2, groups), all(3, groups));
    let table: Vec<usize> = (0..batch * pages).map(|i| (i * 5 + 3) % (batch * pages)).collect();
    let table = integers(&table, &device).reshape([batch, pages]).realize().unwrap();
    // The first keys of each sequence, by one call: what is behind a sequence's begin is written over later.
    let filled = |x: &Tensor| {
        let cache = Tensor::zeros([batch * pages, page, groups, features], DType::F32, &device);
        cache.paged_update(&x.narrow(1, 0, 8), &table, &Tensor::scalar(0.0, DType::I64, &device)).realize().unwrap()
    };
    let (keys, values) = (filled(&all_k), filled(&all_v));
    for step in 0..most - begins[2] {
        let at: Vec<usize> = begins.iter().map(|begin| begin + step).collect();
        let (start, length) = (integers(&at, &device), integers(&at.iter().map(|at| at + 1).collect::<Vec<_>>(), &device));
        let of = |x: &Tensor| {
            let rows: Vec<Tensor> =
                at.iter().enumerate().map(|(b, at)| x.narrow(0, b, 1).narrow(1, *at, 1).contiguous().realize().unwrap()).collect();
            Tensor::concat(&rows.iter().collect::<Vec<_>>(), 0).realize().unwrap()
        };
        let (q, k, v) = (of(&all_q), of(&all_k), of(&all_v));
        let built = eval::stats();
        keys.assign(&keys.paged_update(&k, &table, &start)).unwrap();
        values.assign(&values.paged_update(&v, &table, &start)).unwrap();
        let options = AttentionOptions {
            causal: true,
            kv_len: Some((&length).into()),
            q_offset: Some((&start).into()),
            page_table: Some(table.clone()),
            ..AttentionOptions::default()
        };
        let y = q.transpose(1, 2).attention(&keys, &values, &options).realize().unwrap();
        let before = eval::stats();
        if step > 1 {
            assert_eq!((before.plans_built, before.compiles), (built.plans_built, built.compiles), "step {step}");
        }
        let y = host(&y, "decode");
        for (b, at) in at.iter().enumerate() {
            let one = |x: &Tensor| x.narrow(0, b, 1).transpose(1, 2);
            let alone = AttentionOptions { causal: true, ..AttentionOptions::default() };
            let want = one(&all_q).attention(&one(&all_k), &one(&all_v), &alone).narrow(2, *at, 1);
            compare(part(&y, b, batch), &host(&want, "alone"), 3e-6, &format!("step {step} sequence {b}"));
        }
    }
}
