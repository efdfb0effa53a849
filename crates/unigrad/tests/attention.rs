//! Attention of sizes that are nothing, on every device of this machine: no features, no values, no keys, no queries, no batch.

use unigrad::prelude::*;

fn devices() -> Vec<Device> {
    unigrad_testing::devices().into_iter().filter(|device| !device.name().starts_with("null")).collect()
}

#[test]
fn sizes_may_be_zero() -> Result<()> {
    // batch, heads, queries, keys, features, values
    let sizes = [[1, 1, 2, 3, 0, 4], [1, 1, 2, 3, 4, 0], [1, 2, 3, 0, 4, 4], [1, 2, 0, 3, 4, 4], [0, 2, 3, 3, 4, 4], [1, 1, 2, 3, 0, 0]];
    for device in devices() {
        for [b, h, t, s, d, dv] in sizes {
            let place = format!("{device} {:?}", [b, h, t, s, d, dv]);
            let fill = |shape: [usize; 4]| {
                let n: usize = shape.iter().product();
                Tensor::arange(0.0, n as f64, 1.0, DType::F32, &device).reshape(shape).requires_grad()
            };
            let (q, k, v) = (fill([b, h, t, d]), fill([b, h, s, d]), fill([b, h, s, dv]));
            let y = q.attention(&k, &v, &AttentionOptions::default());
            assert_eq!(y.shape(), [b, h, t, dv], "{place}");
            let values = y.to_vec::<f32>()?;
            if d == 0 && dv > 0 {
                // All scores are equal: the mean of the values, for every query.
                let mean: Vec<f32> = (0..dv).map(|f| (0..s).map(|key| (key * dv + f) as f32).sum::<f32>() / s as f32).collect();
                assert_eq!(values, mean.repeat(t), "{place}");
            }
            if s == 0 {
                assert!(values.iter().all(|value| *value == 0.0), "{place}: {values:?}");
            }
            y.sum(()).backward()?;
            for (x, shape) in [(&q, [b, h, t, d]), (&k, [b, h, s, d]), (&v, [b, h, s, dv])] {
                let gradient = x.grad().map(|gradient| gradient.to_vec::<f32>()).transpose()?.unwrap_or_default();
                assert_eq!(gradient.len(), shape.iter().product::<usize>(), "{place}");
                assert!(gradient.iter().all(|value| value.is_finite()), "{place}: {gradient:?}");
            }
            if d == 0 && dv > 0 {
                let share = v.grad().expect("it was just read").to_vec::<f32>()?;
                assert!(share.iter().all(|value| (value - t as f32 / s as f32).abs() < 1e-6), "{place}: {share:?}");
            }
        }
    }
    Ok(())
}
