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
    /// Positions of a page, if keys and values lie in pages: then lengths are of each sequence.
    pub(crate) page: Option<usize>,
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
            page: None,
            causal: false,
            window: None,
            dropout: false,
            dtype,
            tf32: false,
        }
    }
}

/// Pages for the keys of all sequences, and some that none has.
#[derive(Clone, Copy)]
struct Pages {
    size: usize,
    per_sequence: usize,
    count: usize,
}

impl Pages {
    fn new(size: usize, batch: usize, keys: usize) -> Pages {
        let per_sequence = keys.div_ceil(size);
        Pages { size, per_sequence, count: batch * per_sequence + 3 }
    }

    /// Which pages a sequence has: they lie anywhere.
    fn table(self, batch: usize, device: &Device) -> Tensor {
        let step = (self.count / 2..).find(|step| gcd(*step, self.count) == 1).unwrap();
        let places = (0..batch * self.per_sequence).map(|i| ((i * step + 2) % self.count) as i64);
        Tensor::new(places.collect::<Vec<_>>(), device).reshape([batch, self.per_sequence])
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Output and gradients on the device are the oracle's.
pub(crate) fn check(device: &Device, case: Case) -> Result<(), String> {
    let Case { batch, heads, groups, queries, keys, features, values, kv_len, q_offset, each, causal, window, dropout, dtype, tf32, page } =
        case;
    let leaf = |shape: [usize; 4]| numbers(&shape, shape[2] + shape[3], dtype, device).requires_grad();
    let pages = page.map(|size| Pages::new(size, batch, keys));
    let [k, v] = [features, values].map(|width| match pages {
        Some(Pages { size, count, .. }) => leaf([count, size, groups, width]),
        None => leaf([batch, groups, keys, width]),
    });
    let q = leaf([batch, heads, queries, features]);
    let lengths = Tensor::new((0..batch).map(|b| kv_len.saturating_sub(b) as i64).collect::<Vec<_>>(), device);
    let offsets = Tensor::new((0..batch).map(|b| q_offset - b as i64).collect::<Vec<_>>(), device);
    let options = AttentionOptions {
        kv_len: Some(if each { (&lengths).into() } else { kv_len.into() }),
        q_offset: Some(if each { (&offsets).into() } else { q_offset.into() }),
        causal,
        window,
        dropout: if dropout { 0.3 } else { 0.0 },
        page_table: pages.map(|pages| pages.table(batch, device)),
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

/// Keys in pages, for programs whose blocks have 128 queries by 64 keys: pages as large as a block, smaller and larger ones, such as divide nothing.
pub(crate) fn in_pages(plain: Case, dtype: DType) -> Vec<Case> {
    let mut cases = Vec::new();
    for (i, (size, queries)) in [(16, 129), (64, 128), (7, 70), (128, 257), (1, 48), (96, 191)].into_iter().enumerate() {
        let features = [64, 128][i % 2];
        let keys = queries + 70;
        let one = Case { batch: 2, each: true, page: Some(size), queries, keys, kv_len: keys, features, values: features, dtype, ..plain };
        cases.push(Case { causal: true, q_offset: 70, ..one });
        cases.push(Case { heads: 4, kv_len: keys - 50, features: 192 - features, values: 192 - features, ..one });
        cases.push(Case { window: Some(59), causal: true, q_offset: 66, ..one });
    }
    cases.push(Case { batch: 2, each: true, page: Some(16), kv_len: 1, dtype, ..plain });
    cases
}
