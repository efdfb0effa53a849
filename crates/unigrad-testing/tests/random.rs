//! Random numbers: the same on every device as by the definition, and distributed as they should be.

use unigrad_tensor::{AttentionOptions, DType, Device, Generator, Tensor};
use unigrad_testing::{
    Values,
    compare::{Tolerance, close},
    devices, oracle,
    run::values_of,
};

/// The tensor's values, after they have been compared with the oracle's.
fn checked(name: &str, device: &Device, tensor: &Tensor) -> Values {
    // Before the device has computed them, after which the graph is gone.
    let expected = oracle::evaluate(&[tensor.expr()]).unwrap().remove(0);
    let got = values_of(tensor).unwrap();
    // Normal numbers are made in f32 whatever the dtype, so that they are the same numbers.
    let made_in = if got.dtype == DType::F64 { DType::F32 } else { got.dtype };
    if let Err(difference) = close(&got, &expected, Tolerance::new(made_in, 1).times(2.0)) {
        panic!("FAIL {name} {} on {}: {difference}", tensor.dtype(), device.name());
    }
    got
}

fn mean_and_variance(values: &Values) -> (f64, f64) {
    let values = values.to_f64();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n)
}

#[test]
fn numbers_are_the_definitions_and_well_distributed() {
    for device in &devices() {
        let generator = Generator::new(17);
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            let uniform = checked("rand", device, &generator.rand([100, 100], dtype, device));
            let (mean, variance) = mean_and_variance(&uniform);
            assert!((mean - 0.5).abs() < 0.01 && (variance - 1.0 / 12.0).abs() < 0.003, "rand {dtype}: mean {mean}, variance {variance}");
            assert!(uniform.to_f64().iter().all(|x| (0.0..1.0).contains(x)), "rand {dtype} leaves [0, 1)");
            let normal = checked("randn", device, &generator.randn([100, 100], dtype, device));
            let (mean, variance) = mean_and_variance(&normal);
            assert!(mean.abs() < 0.04 && (variance - 1.0).abs() < 0.06, "randn {dtype}: mean {mean}, variance {variance}");
        }
        // In the shape of a tensor of any dtype; its own where none is asked for.
        let like = Tensor::zeros([50, 40], DType::I32, device);
        for dtype in [DType::F32, DType::F16] {
            let uniform = checked("rand_like", device, &like.rand_like_as(dtype));
            let normal = checked("randn_like", device, &like.cast(dtype).randn_like());
            assert!(
                [&uniform, &normal, &checked("randn_like", device, &like.randn_like_as(dtype))]
                    .iter()
                    .all(|x| x.shape[..] == [50, 40] && x.dtype == dtype)
            );
            let (mean, variance) = mean_and_variance(&normal);
            assert!(mean.abs() < 0.1 && (variance - 1.0).abs() < 0.15, "randn_like {dtype}: mean {mean}, variance {variance}");
            let (mean, variance) = mean_and_variance(&uniform);
            assert!((mean - 0.5).abs() < 0.03 && (variance - 1.0 / 12.0).abs() < 0.01, "rand_like {dtype}: {mean}, {variance}");
        }
        assert!(like.randn_like().is_invalid() && like.rand_like().is_invalid(), "integers have no distribution of floats");
        let whole = checked("randint", device, &generator.randint(-3, 4, [10_000], DType::I64, device));
        for value in -3..4 {
            let count = whole.to_f64().iter().filter(|x| **x == f64::from(value)).count();
            assert!((1250..1610).contains(&count), "randint: {count} times {value}");
        }
        let mut order = checked("randperm", device, &generator.randperm(1000, device)).to_f64();
        assert!(order.windows(2).any(|pair| pair[1] < pair[0]), "randperm does not permute");
        order.sort_by(f64::total_cmp);
        assert_eq!(order, (0..1000).map(f64::from).collect::<Vec<_>>());
        let ones = Tensor::ones([10_000], DType::F32, device).contiguous();
        ones.realize().unwrap();
        let dropped = checked("dropout", device, &generator.dropout(&ones, 0.25)).to_f64();
        let kept = dropped.iter().filter(|x| **x != 0.0).count();
        assert!((7300..7700).contains(&kept), "dropout keeps {kept} of 10000");
        assert!(dropped.iter().all(|x| *x == 0.0 || (*x - 1.0 / 0.75).abs() < 1e-6));
    }
}

#[test]
fn a_seed_repeats_and_calls_differ() {
    for device in &devices() {
        let draw = |seed: u64| {
            let generator = Generator::new(seed);
            let pair = [generator.rand([50], DType::F32, device), generator.rand([50], DType::F32, device)];
            pair.map(|tensor| tensor.to_vec::<f32>().unwrap())
        };
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5)[0], draw(5)[1]);
        assert_ne!(draw(5)[0], draw(6)[0]);
    }
}

#[test]
fn attention_drops_what_the_definition_drops() {
    for device in &devices() {
        let generator = Generator::new(3);
        let leaf = |shape: [usize; 4]| {
            let tensor = generator.randn(shape, DType::F32, device);
            tensor.realize().unwrap();
            tensor.requires_grad()
        };
        let (q, k, v) = (leaf([2, 4, 9, 8]), leaf([2, 2, 11, 8]), leaf([2, 2, 11, 8]));
        let options = AttentionOptions { dropout: 0.3, causal: true, q_offset: Some(2.into()), ..AttentionOptions::default() };
        unigrad_tensor::manual_seed(11);
        let y = q.attention(&k, &v, &options);
        let grads = unigrad_tensor::grad(&y.square().sum(()), &[&q, &k, &v]).unwrap();
        let all: Vec<&Tensor> = std::iter::once(&y).chain(&grads).collect();
        let expected = oracle::evaluate(&all.iter().map(|tensor| tensor.expr()).collect::<Vec<_>>()).unwrap();
        Tensor::realize_all(&all).unwrap();
        for (i, (got, expected)) in all.iter().zip(&expected).enumerate() {
            let got = values_of(got).unwrap();
            let scale = expected.to_f64().iter().fold(1.0, |scale: f64, x| scale.max(x.abs()));
            if let Err(difference) = close(&got, expected, Tolerance::new(DType::F32, 99).times(4.0 * scale)) {
                panic!("FAIL attention with dropout, result {i}, on {}: {difference}", device.name());
            }
        }
    }
}
