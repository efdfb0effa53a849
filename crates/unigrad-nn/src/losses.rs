//! Losses as types: settings that stand beside a model, and `forward` of a prediction and a target.
//!
//! Always: what the method of [`Tensor`] with the same name computes; names and defaults are PyTorch's.

use unigrad_tensor::{CrossEntropyOptions, CtcOptions, Reduction, Tensor, TripletOptions};

/// A loss of a prediction and a target.
pub trait Loss: Send + Sync {
    /// The loss, reduced as its settings say.
    #[track_caller]
    fn forward(&self, prediction: &Tensor, target: &Tensor) -> Tensor;
}

/// A function is a loss.
impl<F: Fn(&Tensor, &Tensor) -> Tensor + Send + Sync> Loss for F {
    fn forward(&self, prediction: &Tensor, target: &Tensor) -> Tensor {
        self(prediction, target)
    }
}

macro_rules! losses {
    ($($name:ident { $($field:ident: $ty:ty = $default:expr, $text:literal;)* } |$loss:ident, $x:ident, $y:ident| $body:expr, $doc:literal,
        ($prediction:literal, $target:literal, $value:literal);)*) => { $(
        #[doc = $doc]
        #[doc = example!(loss $name, $prediction, $target, $value)]
        #[derive(Clone, Debug)]
        pub struct $name {
            $(#[doc = $text] pub $field: $ty,)*
            /// Mean, sum, or one loss per example.
            pub reduction: Reduction,
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)* reduction: Reduction::Mean }
            }
        }

        impl Loss for $name {
            #[track_caller]
            fn forward(&self, $x: &Tensor, $y: &Tensor) -> Tensor {
                let $loss = self;
                $body
            }
        }
    )* };
}
losses! {
    MseLoss {} |l, x, y| x.mse_loss_with(y, l.reduction), "See [`Tensor::mse_loss`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[[0.0f32, 1.0, 2.0], [1.0, 1.0, 0.0]]", "0.9167");
    L1Loss {} |l, x, y| x.l1_loss_with(y, l.reduction), "See [`Tensor::l1_loss`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[[0.0f32, 1.0, 2.0], [1.0, 1.0, 0.0]]", "0.6667");
    HuberLoss { delta: f64 = 1.0, "Where it becomes linear."; } |l, x, y| x.huber_loss_with(y, l.delta, l.reduction), "See [`Tensor::huber_loss`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[[0.0f32, 1.0, 2.0], [1.0, 1.0, 0.0]]", "0.375");
    SmoothL1Loss { beta: f64 = 1.0, "Where it becomes linear."; } |l, x, y| x.smooth_l1_loss_with(y, l.beta, l.reduction),
        "See [`Tensor::smooth_l1_loss`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[[0.0f32, 1.0, 2.0], [1.0, 1.0, 0.0]]", "0.375");
    BceLoss { weight: Option<Tensor> = None, "Of each element; broadcasts."; } |l, x, y| x.bce_loss_with(y, l.weight.as_ref(), l.reduction),
        "See [`Tensor::bce_loss`].",
        ("[[0.5f32, 0.2], [0.9, 0.6]]", "[[1.0f32, 0.0], [1.0, 1.0]]", "0.3831");
    BceWithLogitsLoss { weight: Option<Tensor> = None, "Of each element; broadcasts."; pos_weight: Option<Tensor> = None, "Of ones, per class."; }
        |l, x, y| x.bce_with_logits_with(y, l.weight.as_ref(), l.pos_weight.as_ref(), l.reduction), "See [`Tensor::bce_with_logits`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[[1.0f32, 0.0, 1.0], [0.0, 0.0, 1.0]]", "0.6491");
    KlDivLoss { log_target: bool = false, "Whether targets are logarithms."; } |l, x, y| x.kl_div(y, l.log_target, l.reduction),
        "See [`Tensor::kl_div`].",
        ("[[-0.6931f32, -1.6094], [-0.1054, -0.5108]]", "[[1.0f32, 0.0], [1.0, 1.0]]", "0.3273");
    CrossEntropyLoss {
        weight: Option<Tensor> = None, "Per class.";
        ignore_index: Option<i64> = Some(-100), "Targets that count nothing.";
        label_smoothing: f64 = 0.0, "The weight of the uniform distribution in the target.";
    } |l, x, y| x.cross_entropy_with(y, &CrossEntropyOptions {
        axis: None,
        label_smoothing: l.label_smoothing,
        // Probabilities have no index to ignore.
        ignore_index: if y.dtype().is_float() { None } else { l.ignore_index },
        weight: l.weight.clone(),
        reduction: l.reduction,
    }), "See [`Tensor::cross_entropy`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[2i64, 0]", "0.3528");
    NllLoss { weight: Option<Tensor> = None, "Per class."; ignore_index: Option<i64> = Some(-100), "Targets that count nothing."; }
        |l, x, y| x.nll_loss_with(y, &CrossEntropyOptions {
            ignore_index: l.ignore_index,
            weight: l.weight.clone(),
            reduction: l.reduction,
            ..CrossEntropyOptions::default()
        }), "See [`Tensor::nll_loss`].",
        ("[[-0.5f32, -1.5], [-1.0, -0.5]]", "[0i64, 1]", "0.5");
    HingeEmbeddingLoss { margin: f64 = 1.0, "How far apart those with label -1 should be."; }
        |l, x, y| x.hinge_embedding_loss(y, l.margin, l.reduction), "See [`Tensor::hinge_embedding_loss`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[[1.0f32, -1.0, 1.0], [-1.0, -1.0, 1.0]]", "0.8333");
    SoftMarginLoss {} |l, x, y| x.soft_margin_loss(y, l.reduction), "See [`Tensor::soft_margin_loss`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[[1.0f32, -1.0, 1.0], [-1.0, -1.0, 1.0]]", "0.6491");
    MultiMarginLoss { p: i32 = 1, "The power, 1 or 2."; margin: f64 = 1.0, "By how much the right class should be ahead."; weight: Option<Tensor> = None, "Per class."; }
        |l, x, y| x.multi_margin_loss(y, l.p, l.margin, l.weight.as_ref(), l.reduction), "See [`Tensor::multi_margin_loss`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[0i64, 1]", "0.8333");
    MultiLabelMarginLoss {} |l, x, y| x.multilabel_margin_loss(y, l.reduction), "See [`Tensor::multilabel_margin_loss`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[[2i64, 0, -1], [1, -1, -1]]", "0.4167");
    MultiLabelSoftMarginLoss { weight: Option<Tensor> = None, "Per class."; }
        |l, x, y| x.multilabel_soft_margin_loss(y, l.weight.as_ref(), l.reduction), "See [`Tensor::multilabel_soft_margin_loss`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[[1.0f32, 0.0, 1.0], [0.0, 0.0, 1.0]]", "0.6491");
    PoissonNllLoss {
        log_input: bool = true, "Whether predictions are logarithms of rates.";
        full: bool = false, "Whether Stirling's term is added.";
        eps: f64 = 1e-8, "Added to rates before their logarithm.";
    } |l, x, y| x.poisson_nll_loss(y, l.log_input, l.full, l.eps, l.reduction), "See [`Tensor::poisson_nll_loss`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[[0.0f32, 1.0, 2.0], [1.0, 1.0, 0.0]]", "1.6217");
    FocalLoss { alpha: f64 = 0.25, "The weight of ones; negative: none."; gamma: f64 = 2.0, "How little counts what is known."; }
        |l, x, y| x.focal_loss(y, l.alpha, l.gamma, l.reduction), "See [`Tensor::focal_loss`].",
        ("[[0.5f32, -1.0, 2.0], [1.0, 0.0, -0.5]]", "[[1.0f32, 0.0, 1.0], [0.0, 0.0, 1.0]]", "0.1308");
    DiceLoss { smooth: f64 = 1.0, "Added above and below."; } |l, x, y| x.dice_loss(y, l.smooth, l.reduction), "See [`Tensor::dice_loss`].",
        ("[[0.5f32, 0.2], [0.9, 0.6]]", "[[1.0f32, 0.0], [1.0, 1.0]]", "0.1852");
}

/// See [`Tensor::gaussian_nll_loss`].
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::GaussianNllLoss;
/// use unigrad_tensor::{Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let [mean, target, var] = [[1.0f32, 2.0], [1.0, 4.0], [1.0, 1.0]].map(|x| Tensor::new(x, &device));
/// assert_eq!(GaussianNllLoss::default().forward(&mean, &target, &var).item::<f32>()?, 1.0);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GaussianNllLoss {
    /// Whether `log(2π) / 2` is added.
    pub full: bool,
    /// The least variance.
    pub eps: f64,
    /// Mean, sum, or one loss per element.
    pub reduction: Reduction,
}

impl Default for GaussianNllLoss {
    fn default() -> GaussianNllLoss {
        GaussianNllLoss { full: false, eps: 1e-6, reduction: Reduction::Mean }
    }
}

impl GaussianNllLoss {
    /// Of predicted means and variances.
    #[track_caller]
    pub fn forward(&self, mean: &Tensor, target: &Tensor, var: &Tensor) -> Tensor {
        mean.gaussian_nll_loss(target, var, self.full, self.eps, self.reduction)
    }
}

/// See [`Tensor::margin_ranking_loss`].
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::MarginRankingLoss;
/// use unigrad_tensor::{Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let [first, second, target] = [[0.5f32, 2.0], [1.0, 0.0], [1.0, 1.0]].map(|x| Tensor::new(x, &device));
/// assert_eq!(MarginRankingLoss::default().forward(&first, &second, &target).item::<f32>()?, 0.25);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MarginRankingLoss {
    /// By how much the first should be ahead.
    pub margin: f64,
    /// Mean, sum, or one loss per pair.
    pub reduction: Reduction,
}

impl MarginRankingLoss {
    /// Of two scores, and labels of ±1.
    #[track_caller]
    pub fn forward(&self, first: &Tensor, second: &Tensor, target: &Tensor) -> Tensor {
        first.margin_ranking_loss(second, target, self.margin, self.reduction)
    }
}

/// See [`Tensor::cosine_embedding_loss`].
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::CosineEmbeddingLoss;
/// use unigrad_tensor::{Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let [first, second] = [[[3.0f32, 4.0]], [[3.0, 0.0]]].map(|x| Tensor::new(x, &device));
/// let loss = CosineEmbeddingLoss::default().forward(&first, &second, &Tensor::new([1.0f32], &device));
/// assert!((loss.item::<f32>()? - 0.4).abs() < 1e-4);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CosineEmbeddingLoss {
    /// The greatest cosine that does not count for label -1.
    pub margin: f64,
    /// Mean, sum, or one loss per pair.
    pub reduction: Reduction,
}

impl CosineEmbeddingLoss {
    /// Of two vectors, and labels of ±1.
    #[track_caller]
    pub fn forward(&self, first: &Tensor, second: &Tensor, target: &Tensor) -> Tensor {
        first.cosine_embedding_loss(second, target, self.margin, self.reduction)
    }
}

/// See [`Tensor::triplet_margin_loss`].
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::TripletMarginLoss;
/// use unigrad_tensor::{Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let [anchor, positive, negative] = [[[0.0f32, 0.0]], [[3.0, 4.0]], [[0.0, 2.0]]].map(|x| Tensor::new(x, &device));
/// let loss = TripletMarginLoss::default().forward(&anchor, &positive, &negative);
/// assert!((loss.item::<f32>()? - 4.0).abs() < 1e-4);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TripletMarginLoss {
    /// Margin, norm, reduction.
    pub options: TripletOptions,
}

impl TripletMarginLoss {
    /// Of anchors, what is like them, and what is not.
    #[track_caller]
    pub fn forward(&self, anchor: &Tensor, positive: &Tensor, negative: &Tensor) -> Tensor {
        anchor.triplet_margin_loss(positive, negative, &self.options)
    }
}

/// [`TripletMarginLoss`] by a distance of your own: `TripletMarginWithDistanceLoss::new(|a, b| ..)`.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::TripletMarginWithDistanceLoss;
/// use unigrad_tensor::{Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let [anchor, positive, negative] = [[[0.0f32, 0.0]], [[3.0, 4.0]], [[0.0, 2.0]]].map(|x| Tensor::new(x, &device));
/// let loss = TripletMarginWithDistanceLoss::new(|a: &Tensor, b: &Tensor| (a - b).abs().sum(-1));
/// assert_eq!(loss.forward(&anchor, &positive, &negative).item::<f32>()?, 6.0);
/// # Ok::<(), unigrad::Error>(())
/// ```
pub struct TripletMarginWithDistanceLoss<F> {
    /// Of two batches of vectors.
    pub distance: F,
    /// Margin, swap, reduction.
    pub options: TripletOptions,
}

impl<F: Fn(&Tensor, &Tensor) -> Tensor> TripletMarginWithDistanceLoss<F> {
    /// With PyTorch's margin of 1.
    pub fn new(distance: F) -> TripletMarginWithDistanceLoss<F> {
        TripletMarginWithDistanceLoss { distance, options: TripletOptions::default() }
    }

    /// Of anchors, what is like them, and what is not.
    #[track_caller]
    pub fn forward(&self, anchor: &Tensor, positive: &Tensor, negative: &Tensor) -> Tensor {
        anchor.triplet_margin_loss_by(positive, negative, &self.distance, &self.options)
    }
}

/// See [`Tensor::ctc_loss`].
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::CtcLoss;
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let logp = Tensor::zeros([5, 1, 3], DType::F32, &device).log_softmax(-1);
/// let [n_steps, n_labels] = [5i64, 2].map(|n| Tensor::new([n], &device));
/// let loss = CtcLoss::default().forward(&logp, &Tensor::new([[1i64, 2]], &device), &n_steps, &n_labels);
/// assert!(loss.dims()?.is_empty() && loss.item::<f32>()? > 0.0);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CtcLoss {
    /// Blank, reduction.
    pub options: CtcOptions,
}

impl CtcLoss {
    /// Of log probabilities `[steps, n, classes]`, labels `[n, longest]`, and how many steps and labels count.
    #[track_caller]
    pub fn forward(&self, logp: &Tensor, labels: &Tensor, n_steps: &Tensor, n_labels: &Tensor) -> Tensor {
        logp.ctc_loss(labels, n_steps, n_labels, &self.options)
    }
}
