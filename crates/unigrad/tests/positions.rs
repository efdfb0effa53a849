//! Attention over sequences of different lengths: each of a batch as it is alone, with its keys in rows and in pages, on every device of this
//! machine.

use unigrad::prelude::*;

fn devices() -> Vec<Device> {
    unigrad_testing::devices().into_iter().filter(|device| !device.name().starts_with("null")).collect()
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

fn compare(got: &Tensor, want: &Tensor, tolerance: f64, place: &str) {
    let [got, want] = [got, want].map(|x| match x.dtype() {
        DType::F64 => x.to_vec::<f64>().unwrap_or_else(|error| panic!("{place}: {error}")),
        _ => x.cast(DType::F32).to_vec::<f32>().unwrap_or_else(|error| panic!("{place}: {error}")).into_iter().map(f64::from).collect(),
    });
    assert_eq!(got.len(), want.len(), "{place}");
    for (i, (a, b)) in got.iter().zip(&want).enumerate() {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{place}: element {i} is {a}, alone {b}");
    }
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
        cache.paged_update(&x.detach().transpose(1, 2), &integers(&table, device).reshape([batch, pages]), &integers(&vec![0; batch], device))
    };
    let (k_pages, v_pages) = (in_pages(k, 5, features).requires_grad(), in_pages(v, 6, values).requires_grad());
    // What stands behind a length does not count.
    let shown: Vec<i64> = table.iter().enumerate().map(|(i, at)| if i % pages * page < lengths[i / pages] { *at as i64 } else { -1 }).collect();
    let paged_options = AttentionOptions { page_table: Some(Tensor::new(shown, device).reshape([batch, pages])), ..rows };
    let paged = q.attention(&k_pages, &v_pages, &paged_options);
    let paged_gradients = grad(&(&paged * &weight).sum(()), &[q, &k_pages, &v_pages]).unwrap();

    for (b, length) in lengths.iter().enumerate() {
        let one = |x: &Tensor| x.detach().narrow(0, b, 1).requires_grad();
        let (q1, k1, v1) = (one(q), one(k), one(v));
        let alone = AttentionOptions {
            kv_len: Some((*length).into()),
            q_offset: Some(offsets[b].into()),
            bias: options.bias.as_ref().map(|bias| bias.narrow(0, b, 1)),
            ..options.clone()
        };
        let want = q1.attention(&k1, &v1, &alone);
        let place = format!("{place} length {length}");
        compare(&mixed.narrow(0, b, 1), &want, tolerance(dtype), &place);
        compare(&paged.narrow(0, b, 1), &want, tolerance(dtype), &format!("{place} in pages"));
        if *length == 0 {
            assert!(mixed.narrow(0, b, 1).cast(DType::F32).to_vec::<f32>().unwrap().iter().all(|y| *y == 0.0), "{place}");
        }
        let wants = grad(&(&want * &weight.narrow(0, b, 1)).sum(()), &[&q1, &k1, &v1]).unwrap();
        for (name, (got, want)) in ["dq", "dk", "dv"].iter().zip(gradients.iter().zip(&wants)) {
            compare(&got.narrow(0, b, 1), want, 8.0 * tolerance(dtype), &format!("{place} {name}"));
        }
        compare(&paged_gradients[0].narrow(0, b, 1), &wants[0], 8.0 * tolerance(dtype), &format!("{place} dq in pages"));
        for (name, got, want) in [("dk", &paged_gradients[1], &wants[1]), ("dv", &paged_gradients[2], &wants[2])] {
            for n in 0..length.div_ceil(page) {
                let want = want.narrow(2, n * page, page).squeeze(0).transpose(0, 1);
                let got = got.select(0, table[b * pages + n] as i64);
                compare(&got, &want, 8.0 * tolerance(dtype), &format!("{place} {name} in page {n}"));
            }
        }
    }
}

#[test]
fn every_sequence_of_a_batch_is_as_alone() {
    for device in devices() {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            if dtype == DType::F64 && unigrad_testing::without_f64(&device).is_some() {
                println!("{device}: not run in f64, which it lacks");
                continue;
            }
            for (queries, causal, window) in [(1, true, None), (5, true, Some(3)), (20, false, None)] {
                let sizes = Sizes { heads: 4, groups: 2, queries, features: 8, values: 16, page: 4, pages: 3 };
                check(&device, dtype, sizes, &AttentionOptions { causal, window, ..AttentionOptions::default() });
            }
        }
    }
}
