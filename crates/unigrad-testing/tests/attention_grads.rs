//! Gradients of attention that one product's gradient has side by side are written there, on devices that take one buffer for several arguments, and are
//! what the float64 oracle gives, on every device.
//!
//! Always: plans are compared with those for a device that does not take it, so that a case where nothing is copied would be noticed.

use unigrad::prelude::*;
use unigrad_kernel::Limits;
use unigrad_plan::{Capture, Options, Plan, plan};
use unigrad_tensor::grad;
use unigrad_testing::{Values, compare, oracle, run::values_of, selection::compiles_slowly};

fn numbers(shape: &[usize], seed: usize, dtype: DType, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 7919 + seed * 104_729 + i * i % 31) % 257) as f32 / 128.0 - 1.0).collect();
    Tensor::from_vec(values, shape, device).cast(dtype).realize().unwrap().detach()
}

#[derive(Clone, Copy, Debug)]
struct Case {
    heads: usize,
    groups: usize,
    features: usize,
    dtype: DType,
    /// Whether the gradient of the queries has another reader.
    is_read_twice: bool,
    /// Copies that are left: launches.
    left: usize,
}

/// One product makes queries, keys and values, which attend: the gradients of its input and its weight.
fn gradients(case: Case, device: &Device) -> Vec<Tensor> {
    let Case { heads, groups, features, dtype, is_read_twice, .. } = case;
    let (batch, time, width) = (2, 21, 16);
    let parts = [heads, groups, groups].map(|heads| heads * features);
    let x = numbers(&[batch, time, width], 1, dtype, device).requires_grad();
    let w = numbers(&[width, parts.iter().sum()], 2, dtype, device).requires_grad();
    let all = (&x * 0.25).matmul(&w);
    let mut start = 0;
    let [q, k, v] = parts.map(|size| {
        start += size;
        all.narrow(2, start - size, size).reshape([batch, time, size / features, features]).permute([0, 2, 1, 3])
    });
    let y = q.attention(&k, &v, &AttentionOptions { causal: true, ..AttentionOptions::default() });
    let weight = numbers(&[batch, heads, time, features], 3, dtype, device);
    let loss = (&y * &weight).sum(());
    let mut of = vec![&x, &w];
    of.extend(is_read_twice.then_some(&q));
    grad(&loss, &of).unwrap()
}

fn planned(tensors: &[Tensor], shares: bool) -> Plan {
    let exprs: Vec<_> = tensors.iter().map(Tensor::expr).collect();
    let options = Options { limits: Limits { shares, ..Limits::NONE }, ..Options::default() };
    plan(&Capture::new(&exprs).unwrap(), options).unwrap()
}

fn copies(plan: &Plan) -> usize {
    plan.launches.iter().filter(|launch| launch.name == "concat").count()
}

const CASES: [Case; 6] = [
    Case { heads: 2, groups: 2, features: 16, dtype: DType::F32, is_read_twice: false, left: 0 },
    // Keys and values are copied by a launch of their own.
    Case { heads: 4, groups: 2, features: 8, dtype: DType::F32, is_read_twice: false, left: 0 },
    Case { heads: 3, groups: 1, features: 64, dtype: DType::BF16, is_read_twice: false, left: 0 },
    Case { heads: 1, groups: 1, features: 64, dtype: DType::F16, is_read_twice: false, left: 0 },
    // Rows would begin where no vector does.
    Case { heads: 2, groups: 2, features: 6, dtype: DType::F32, is_read_twice: false, left: 1 },
    // The memory for all would be taken sooner, beside the gradient that stays.
    Case { heads: 4, groups: 2, features: 16, dtype: DType::F32, is_read_twice: true, left: 2 },
];

#[test]
fn gradients_are_made_where_a_product_has_them() {
    let device = Device::open("cpu").unwrap();
    for case in CASES {
        let tensors = gradients(case, &device);
        let (apart, joined) = (planned(&tensors, false), planned(&tensors, true));
        assert!(copies(&apart) > 0, "{case:?}: nothing is copied\n{apart}");
        assert_eq!(copies(&joined), case.left, "{case:?}:\n{joined}");
        assert!(joined.arena <= apart.arena, "{case:?}: {} bytes, {} apart", joined.arena, apart.arena);
    }
}

#[test]
fn they_are_the_oracles_on_every_device() {
    let mut wrong = Vec::new();
    for device in unigrad_testing::devices() {
        let is_slow = compiles_slowly(&device);
        for case in CASES.into_iter().filter(|case| !is_slow || case.groups < case.heads && case.left == 0) {
            let all = gradients(case, &device);
            let want = oracle::evaluate(&all.iter().map(Tensor::expr).collect::<Vec<_>>()).unwrap();
            Tensor::realize_all(&all.iter().collect::<Vec<_>>()).unwrap();
            for (at, (got, want)) in all.iter().zip(&want).enumerate() {
                let got: Values = values_of(got).unwrap();
                let tolerance = compare::Tolerance::new(case.dtype, 64 * case.features).times(8.0);
                wrong.extend(
                    compare::close(&got, want, tolerance).map_err(|error| format!("{device} {case:?} gradient {at}: {error}")).err(),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
