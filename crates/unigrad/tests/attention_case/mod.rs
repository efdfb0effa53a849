//! A case of attention with its gradients, compared with the float64 oracle.

use unigrad::prelude::*;
use unigrad_testing::{Values, compare, oracle, run::values_of};

/// All devices, and the interpreter's for targets that lack something.
pub(crate) fn devices() -> Vec<Device> {
    let mut devices = unigrad_testing::devices();
    if std::env::var("UNIGRAD_TEST_DEVICES").is_err() {
        devices.extend([1, 2].map(|variant| Device::open(&format!("interpreter:{variant}")).unwrap()));
    }
    devices.retain(|device| !device.name().starts_with("null"));
    devices
}

/// Numbers that differ and repeat for a name, in `-1..1`.
pub(crate) fn numbers(shape: &[usize], seed: usize, dtype: DType, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    let value = |i: usize| ((i * 7919 + seed * 104_729 + 31) % 2003) as f32 / 1001.5 - 1.0;
    Tensor::new((0..n).map(value).collect::<Vec<f32>>(), device).reshape(shape.to_vec()).cast(dtype).realize().unwrap()
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) batch: usize,
    pub(crate) heads: usize,
    pub(crate) groups: usize,
    pub(crate) queries: usize,
    pub(crate) keys: usize,
    pub(crate) features: usize,
    pub(crate) values: usize,
    /// Keys that count and where the queries begin: the same for all sequences, or (of sequence `b`) that many fewer.
    pub(crate) kv_len: usize,
    pub(crate) q_offset: i64,
    pub(crate) each: bool,
    pub(crate) causal: bool,
    pub(crate) window: Option<usize>,
    pub(crate) dropout: bool,
    pub(crate) dtype: DType,
    /// Whether products of `F32` may have operands rounded to TF32, which has the mantissa of `F16`.
    pub(crate) tf32: bool,
}

impl Case {
    /// One sequence of two heads of 64 features, all of whose positions see each other.
    pub(crate) fn plain(positions: usize, dtype: DType) -> Case {
        Case {
            batch: 1,
            heads: 2,
            groups: 2,
            queries: positions,
            keys: positions,
            features: 64,
            values: 64,
            kv_len: positions,
            q_offset: 0,
            each: false,
            causal: false,
            window: None,
            dropout: false,
            dtype,
            tf32: false,
        }
    }
}

/// Output and gradients on the device are the oracle's.
pub(crate) fn check(device: &Device, case: Case) -> Result<(), String> {
    let Case { batch, heads, groups, queries, keys, features, values, kv_len, q_offset, each, causal, window, dropout, dtype, tf32 } = case;
    let [q, k, v] = [(heads, queries, features), (groups, keys, features), (groups, keys, values)]
        .map(|(heads, positions, width)| numbers(&[batch, heads, positions, width], positions + width, dtype, device).requires_grad());
    let lengths = Tensor::new((0..batch).map(|b| kv_len.saturating_sub(b) as i64).collect::<Vec<_>>(), device);
    let offsets = Tensor::new((0..batch).map(|b| q_offset - b as i64).collect::<Vec<_>>(), device);
    let options = AttentionOptions {
        kv_len: Some(if each { (&lengths).into() } else { kv_len.into() }),
        q_offset: Some(if each { (&offsets).into() } else { q_offset.into() }),
        causal,
        window,
        dropout: if dropout { 0.3 } else { 0.0 },
        ..AttentionOptions::default()
    };
    manual_seed(5);
    let y = q.attention(&k, &v, &options);
    let weight = numbers(&[batch, heads, queries, values], 4, dtype, device);
    let gradients = grad(&(&y * &weight).sum(()), &[&q, &k, &v]).map_err(|error| error.to_string())?;
    let all: Vec<Tensor> = std::iter::once(y).chain(gradients).collect();
    let want = oracle::evaluate(&all.iter().map(Tensor::expr).collect::<Vec<_>>())?;
    Tensor::realize_all(&all.iter().collect::<Vec<_>>()).map_err(|error| error.to_string())?;
    for ((got, want), name) in all.iter().zip(&want).zip(["y", "dq", "dk", "dv"]) {
        let precision = if tf32 && dtype == DType::F32 { DType::F16 } else { dtype };
        let tolerance = compare::Tolerance::new(precision, queries.max(keys) * heads / groups).times(4.0);
        let got: Values = values_of(got)?;
        compare::close(&got, want, tolerance).map_err(|error| format!("{device} {case:?} {name}: {error}"))?;
    }
    Ok(())
}
