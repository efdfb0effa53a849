//! A vector per token, and per bag of tokens.
//!
//! Always: where rows have a greatest norm, the rows that are looked up are made shorter in the table itself, before they are looked up, and no gradient
//! knows of it, as in PyTorch.

use super::Layer;
use crate::{Module, init, trace};
use unigrad_tensor::{BagMode, DType, Device, EmbeddingBagOptions, EmbeddingOptions, Result, Tensor, no_grad};

/// A row of the weight per index.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Embedding, Layer};
/// use unigrad_tensor::{Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let tokens = Tensor::new([[1i64, 2, 0], [6, 1, 1]], &device);
/// assert_eq!(Embedding::new(7, 4, &device).forward(&tokens).dims()?, [2, 3, 4]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone)]
pub struct Embedding {
    /// `[n, size]`.
    pub weight: Tensor,
    /// The row without a gradient, the greatest norm of a row.
    #[module(skip)]
    pub options: EmbeddingOptions,
}

impl Embedding {
    /// `n` vectors of `size` features.
    #[track_caller]
    pub fn new(n: usize, size: usize, device: &Device) -> Embedding {
        Embedding::with(n, size, EmbeddingOptions::default(), device)
    }

    /// With settings. The row of [`EmbeddingOptions::padding_idx`] is 0 at first.
    #[track_caller]
    pub fn with(n: usize, size: usize, options: EmbeddingOptions, device: &Device) -> Embedding {
        Embedding { weight: table(n, size, options.padding_idx, device), options }
    }

    /// From vectors `[n, size]` that are there; `trained`: whether they go on learning.
    pub fn from_pretrained(weight: &Tensor, trained: bool) -> Embedding {
        let weight = weight.detach().requires_grad();
        let weight = match trained || weight.is_invalid() {
            true => weight,
            false => weight.set_trainable(false).map_or_else(|error| Tensor::from_error(&error), |()| weight),
        };
        Embedding { weight, options: EmbeddingOptions::default() }
    }
}

/// Normal numbers, and zeros in one row.
#[track_caller]
fn table(n: usize, size: usize, padding: Option<i64>, device: &Device) -> Tensor {
    let Some(padding) = padding else { return init::normal(&[n, size], 1.0, init::dtype(), device) };
    let row = if padding < 0 { padding + n as i64 } else { padding };
    let rows = Tensor::arange(0.0, n as f64, 1.0, DType::I64, device).unsqueeze(1);
    no_grad(|| rows.eq(row).where_(0.0, Tensor::randn([n, size], init::dtype(), device))).requires_grad()
}

/// Makes the rows that are looked up as short as they may be, in the table. Gives the settings that are left for the look-up.
#[track_caller]
fn limited(weight: &Tensor, index: &Tensor, options: &EmbeddingOptions) -> Result<EmbeddingOptions> {
    let Some(most) = options.max_norm else { return Ok(options.clone()) };
    no_grad(|| {
        let (table, places) = (weight.detach(), index.flatten_all());
        let rows = table.embedding(&places);
        let wide = rows.cast(rows.dtype().compute());
        let norm = wide.norm_keepdim(options.norm_type, -1);
        let shorter = norm.gt(most).where_(&wide * (most / (&norm + 1e-7)), &wide).cast(table.dtype());
        weight.assign(&table.index_copy(0, &places, &shorter))
    })?;
    Ok(EmbeddingOptions { max_norm: None, norm_type: EmbeddingOptions::default().norm_type, ..options.clone() })
}

impl Layer for Embedding {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = match limited(&self.weight, x, &self.options) {
            Ok(options) if options == EmbeddingOptions::default() => self.weight.embedding(x),
            Ok(options) => self.weight.embedding_with(x, &options),
            Err(error) => Tensor::from_error(&error),
        };
        trace::observe("Embedding", Some(&self.weight), y)
    }
}

/// The sum, mean or maximum of the rows of each bag of indices.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{EmbeddingBag, Layer};
/// use unigrad_tensor::{BagMode, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let bags = EmbeddingBag::new(7, 4, BagMode::Sum, &device);
/// assert_eq!(bags.forward(&Tensor::new([[1i64, 2, 0], [6, 1, 1]], &device)).dims()?, [2, 4]);
/// // Bags of two tokens and of one.
/// let (tokens, offsets) = (Tensor::new([1i64, 2, 6], &device), Tensor::new([0i64, 2], &device));
/// assert_eq!(bags.bags(&tokens, Some(&offsets), None).dims()?, [2, 4]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone)]
pub struct EmbeddingBag {
    /// `[n, size]`.
    pub weight: Tensor,
    /// What a bag becomes, which rows are looked up.
    #[module(skip)]
    pub options: EmbeddingBagOptions,
}

impl EmbeddingBag {
    /// `n` vectors of `size` features; a bag is their mean.
    #[track_caller]
    pub fn new(n: usize, size: usize, mode: BagMode, device: &Device) -> EmbeddingBag {
        EmbeddingBag::with(n, size, EmbeddingBagOptions { mode, ..EmbeddingBagOptions::default() }, device)
    }

    /// With settings. The row of `rows.padding_idx`, which no bag counts, is 0 at first.
    #[track_caller]
    pub fn with(n: usize, size: usize, options: EmbeddingBagOptions, device: &Device) -> EmbeddingBag {
        EmbeddingBag { weight: table(n, size, options.rows.padding_idx, device), options }
    }

    /// Of bags that begin at `offsets` of a vector of indices; weights multiply rows.
    #[track_caller]
    pub fn bags(&self, index: &Tensor, offsets: Option<&Tensor>, weights: Option<&Tensor>) -> Tensor {
        let y = match limited(&self.weight, index, &self.options.rows) {
            Ok(rows) => {
                let options = EmbeddingBagOptions { offsets: offsets.cloned(), weights: weights.cloned(), rows, ..self.options.clone() };
                self.weight.embedding_bag(index, &options)
            }
            Err(error) => Tensor::from_error(&error),
        };
        trace::observe("EmbeddingBag", Some(&self.weight), y)
    }
}

impl Layer for EmbeddingBag {
    /// Of bags that are the rows of a matrix.
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.bags(x, None, None)
    }
}
