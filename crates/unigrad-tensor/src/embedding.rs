//! Rows of a table by number, with PyTorch's settings: a row without gradient, a limited norm, bags of rows.
//!
//! In: a table `[entries, features]` and integers. Out: rows, or one row per bag.
//! Always: the table stays as it is: rows whose norm is limited are made smaller on the way out.

use crate::{Tensor, arithmetic::K, index::as_index, selection::first_invalid};
use unigrad_graph::{DType, ErrorKind, Expr, Literal, ScatterMode};

/// Settings of [`Tensor::embedding_with`].
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingOptions {
    /// The row that gets no gradient; negative: from the end.
    pub padding_idx: Option<i64>,
    /// Rows whose norm is greater are scaled to have this one.
    pub max_norm: Option<f64>,
    /// Which norm: 2 by default.
    pub norm_type: f64,
    /// A row's gradient is divided by how often it is looked up.
    pub scale_grad_by_freq: bool,
}

impl Default for EmbeddingOptions {
    fn default() -> EmbeddingOptions {
        EmbeddingOptions { padding_idx: None, max_norm: None, norm_type: 2.0, scale_grad_by_freq: false }
    }
}

/// What a bag of rows becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BagMode {
    /// The rows' sum.
    Sum,
    /// Their mean.
    #[default]
    Mean,
    /// The greatest of each feature; equal ones share the gradient (PyTorch: the first).
    Max,
}

/// Settings of [`Tensor::embedding_bag`].
#[derive(Clone, Default)]
pub struct EmbeddingBagOptions {
    /// What a bag becomes; the mean by default.
    pub mode: BagMode,
    /// Where each bag begins in a vector of numbers, ascending from 0.
    pub offsets: Option<Tensor>,
    /// The last offset is the end of the last bag.
    pub include_last_offset: bool,
    /// What each row is multiplied with, in the numbers' shape; for sums only.
    pub weights: Option<Tensor>,
    /// Which rows are looked up; the one of `padding_idx` is in no bag.
    pub rows: EmbeddingOptions,
}

/// Bags that are made of a vector of numbers, or the rows of a matrix of them.
struct Bags {
    /// The numbers.
    index: Tensor,
    /// Which of them are in a bag; all of them if none is named.
    counted: Option<Tensor>,
    wide: DType,
}

impl Bags {
    /// `value` where the number is in no bag; `rows` has one axis more than the numbers.
    #[track_caller]
    fn without_padding(&self, rows: Tensor, value: f64) -> Tensor {
        match &self.counted {
            Some(counted) => counted.unsqueeze(-1).where_(rows, K(value)),
            None => rows,
        }
    }

    /// Of `[bags, n, features]`.
    #[track_caller]
    fn of_matrix(&self, rows: Tensor, mode: BagMode) -> Tensor {
        let n = self.index.size(1);
        let count = match &self.counted {
            Some(counted) => counted.cast(DType::I64).sum(1_isize).unsqueeze(-1),
            None => Tensor::from_expr(Expr::constant(Literal::int(DType::I64, n as i64), &[self.index.size(0), 1], rows.device_id())),
        };
        match mode {
            BagMode::Max if n > 0 => {
                let most = self.without_padding(rows, f64::NEG_INFINITY).max(1_isize);
                count.gt(0_i64).where_(most, K(0.0))
            }
            BagMode::Mean => self.without_padding(rows, 0.0).sum(1_isize) / count.maximum(1_i64).cast(self.wide),
            BagMode::Sum | BagMode::Max => self.without_padding(rows, 0.0).sum(1_isize),
        }
    }

    /// Of `[n, features]`, whose bags begin at the offsets.
    #[track_caller]
    fn of_vector(&self, rows: &Tensor, mode: BagMode, offsets: &Tensor, bags: usize) -> Tensor {
        let (n, features, device) = (rows.size(0), rows.size(1), rows.device_id());
        // Bag 0 takes what no bag holds: in front of the first offset, or padding; the one at the end what is behind the last.
        let all = offsets.numel() + 1;
        let mut bag = offsets.searchsorted(Tensor::from_expr(Expr::iota(&[n], 0, DType::I64, device)), true);
        if let Some(counted) = &self.counted {
            bag = counted.where_(bag, 0_i64);
        }
        if n == 0 {
            // Nothing looks at the offsets, which are checked all the same: all bags begin at 0.
            let none = offsets.narrow(0, 0, bags).gt(0_i64).cast(self.wide).unsqueeze(-1);
            return none.expand([bags, features]);
        }
        let (bag, rows) = (bag.expr(), rows.expr());
        if bag.error().is_some() || rows.error().is_some() {
            return Tensor::from_expr(if bag.error().is_some() { bag } else { rows });
        }
        let ones = Expr::constant(Literal::one(DType::I64), &[n], device);
        let count = Expr::constant(Literal::zero(DType::I64), &[all], device).scatter(0, ScatterMode::Add, &bag, &ones);
        let count = Tensor::from_expr(count).narrow(0, 1, bags).unsqueeze(-1);
        let places = bag.reshape(&[n, 1]).expand(&[n, features]);
        let start = if mode == BagMode::Max { Literal::min_value(self.wide) } else { Literal::zero(self.wide) };
        let how = if mode == BagMode::Max { ScatterMode::Max } else { ScatterMode::Add };
        let together = Expr::constant(start, &[all, features], device).scatter(0, how, &places, &rows);
        let together = Tensor::from_expr(together).narrow(0, 1, bags);
        match mode {
            BagMode::Sum => together,
            BagMode::Mean => together / count.maximum(1_i64).cast(self.wide),
            BagMode::Max => count.gt(0_i64).where_(together, K(0.0)),
        }
    }
}

/// The offsets of bags, checked when they are computed: the first is 0, none is less than the one before it, or more than there are numbers.
#[track_caller]
fn checked_offsets(offsets: &Tensor, numbers: usize) -> Tensor {
    let bags = offsets.numel();
    if bags == 0 || offsets.is_invalid() {
        return offsets.clone();
    }
    let offsets = offsets.cast(DType::I64);
    let first = Tensor::from_expr(offsets.narrow(0, 0, 1).expr().label(1));
    let before = offsets.narrow(0, 0, bags - 1);
    let size = numbers.saturating_add(1);
    let step = Tensor::from_expr((offsets.narrow(0, 1, bags - 1) - &before).expr().label(size));
    let after = Tensor::from_expr((before + step).expr().label(size));
    Tensor::concat(&[&first, &after], 0)
}

/// A number of a row from the end as one from the start.
fn from_start(row: i64, entries: usize) -> i64 {
    if row < 0 { row.saturating_add(entries as i64) } else { row }
}

/// Numbers of rows as from the start, to compare with one; those beyond the table may be any.
#[track_caller]
fn from_starts(index: &Tensor, entries: usize) -> Tensor {
    let index = index.cast(DType::I64);
    index.lt(0_i64).where_(&index + entries as i64, &index)
}

/// The error of a table that is none, or of a row that it does not have.
#[track_caller]
fn wrong_table(op: &str, table: &Tensor, rows: &EmbeddingOptions) -> Option<Tensor> {
    if table.is_invalid() {
        return Some(table.clone());
    }
    if table.rank() != 2 {
        let message = format!("a table {:?}", table.shape());
        return Some(Tensor::fail(ErrorKind::Shape, op, message, "a table is [entries, features]", &[table]));
    }
    let entries = table.size(0);
    let row = rows.padding_idx.map(|row| from_start(row, entries));
    if row.is_some_and(|row| !(0..entries as i64).contains(&row)) {
        let message = format!("row {:?} as padding, of {entries}", rows.padding_idx);
        return Some(Tensor::fail(ErrorKind::Index, op, message, "it is one of the table's rows", &[table]));
    }
    None
}

/// How often each of the numbers stands among them.
#[track_caller]
fn times_looked_up(index: &Tensor, entries: usize) -> Tensor {
    let (flat, shape) = (from_starts(index, entries).expr(), index.shape());
    let n: usize = shape.iter().product();
    let flat = flat.reshape(&[n]);
    let ones = Expr::constant(Literal::one(DType::I64), &[n], flat.device());
    let counts = Expr::constant(Literal::zero(DType::I64), &[entries], flat.device()).scatter(0, ScatterMode::Add, &flat, &ones);
    Tensor::from_expr(counts.gather(0, &flat)).reshape_to(&shape)
}

impl Tensor {
    /// [`Tensor::embedding`] with settings: a row without gradient, gradients by frequency, and rows of a limited norm, scaled by `max_norm / (norm + 1e-7)` where their
    /// norm is greater.
    ///
    /// The table stays as it is, and the gradient is that of the scaled rows. PyTorch writes the scaled rows into the table first, and
    /// hands the gradient on as it is.
    #[track_caller]
    pub fn embedding_with(&self, index: &Tensor, options: &EmbeddingOptions) -> Tensor {
        let _within = crate::autocast::within();
        if let Some(invalid) = wrong_table("embedding_with", self, options) {
            return invalid;
        }
        let mut rows = self.embedding(index);
        if rows.is_invalid() {
            return rows;
        }
        if options.scale_grad_by_freq && rows.dtype().is_float() {
            let times = times_looked_up(index, self.size(0)).unsqueeze(-1);
            rows = rows.with_gradient_hook(move |dy| {
                let wide = dy.dtype().compute();
                (dy.cast(wide) / times.cast(wide)).cast(dy.dtype())
            });
        }
        if let Some(padding) = options.padding_idx {
            let entries = self.size(0);
            let padded = from_starts(index, entries).eq(from_start(padding, entries)).unsqueeze(-1);
            rows = padded.where_(rows.detach(), &rows);
        }
        if let Some(most) = options.max_norm {
            let float = rows.float();
            let wide = float.cast(float.dtype().compute());
            let norm = wide.norm_keepdim(options.norm_type, -1_isize);
            let scale = norm.gt(most).where_((&norm + K(1e-7)).recip() * most, K(1.0));
            rows = (wide * scale).cast(float.dtype());
        }
        rows
    }

    /// The rows of each bag of numbers together: their sum, mean or maximum, `[bags, features]`. A bag is a row of a matrix `[bags, n]` of
    /// numbers, or what lies between two of the `offsets` in a vector, of which the first is 0, none is less than the one before it, and none is
    /// more than there are numbers (checked when they are computed). A bag without rows gives 0.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{BagMode, Device, EmbeddingBagOptions, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let table = Tensor::new([[1.0f32], [10.0], [100.0]], &device);
    /// let offsets = Tensor::new([0i64, 2, 2], &device);
    /// let options = EmbeddingBagOptions { mode: BagMode::Sum, offsets: Some(offsets), ..Default::default() };
    /// let bags = table.embedding_bag(&Tensor::new([0i64, 2, 1, 1], &device), &options);
    /// assert_eq!(bags.to_vec::<f32>()?, [101.0, 0.0, 20.0]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn embedding_bag(&self, index: &Tensor, options: &EmbeddingBagOptions) -> Tensor {
        let _within = crate::autocast::within();
        if let Some(invalid) = wrong_table("embedding_bag", self, &options.rows) {
            return invalid;
        }
        let given: Vec<&Tensor> = [Some(index), options.offsets.as_ref(), options.weights.as_ref()].into_iter().flatten().collect();
        if let Some(invalid) = first_invalid(&given) {
            return invalid;
        }
        for numbers in [Some(index), options.offsets.as_ref()].into_iter().flatten() {
            if let Err(invalid) = as_index("embedding_bag", &numbers.expr()) {
                return Tensor::from_expr(invalid);
            }
        }
        let shape = index.shape();
        let least = usize::from(options.include_last_offset);
        let fits = match &options.offsets {
            Some(offsets) => shape.len() == 1 && offsets.rank() == 1 && offsets.numel() >= least,
            None => shape.len() == 2 && !options.include_last_offset,
        };
        let weighs = options.weights.as_ref().is_none_or(|weights| options.mode == BagMode::Sum && weights.shape() == shape);
        if !fits || !weighs {
            let shapes = [options.offsets.as_ref().map(Tensor::shape), options.weights.as_ref().map(Tensor::shape)];
            let message = format!("numbers {shape:?} with offsets and weights {shapes:?}, {:?}", options.mode);
            let help = "numbers are a matrix, or a vector with a vector of offsets; weights are for sums, and as many as numbers";
            return Tensor::fail(ErrorKind::Shape, "embedding_bag", message, help, &given);
        }
        let table = self.float();
        let entries = table.size(0);
        let rows = table.embedding_with(index, &options.rows);
        let (dtype, wide) = (rows.dtype(), rows.dtype().compute());
        let mut rows = rows.cast(wide);
        if let Some(weights) = &options.weights {
            rows = rows * weights.cast(wide).unsqueeze(-1);
        }
        if rows.is_invalid() {
            return rows;
        }
        // Not in a closure, where an error would name its line.
        #[allow(clippy::manual_map)]
        let counted = match options.rows.padding_idx {
            Some(padding) => Some(from_starts(index, entries).ne(from_start(padding, entries))),
            None => None,
        };
        let bags = Bags { index: index.clone(), counted, wide };
        match &options.offsets {
            Some(offsets) => bags.of_vector(&rows, options.mode, &checked_offsets(offsets, shape[0]), offsets.numel() - least),
            None => bags.of_matrix(rows, options.mode),
        }
        .cast(dtype)
    }
}
