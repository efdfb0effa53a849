//! Networks by description: layers by name, whose input sizes are inferred.
//!
//! In: a builder's calls, a configuration file (TOML), or a model file (JSON among its strings); all three are one type, [`Architecture`]. Out: a [`Network`],
//! which is a module and a layer like any other, and knows how to train, predict, and save itself with its architecture.
//! Always: names of parameters are PyTorch's (`0.weight`, or `head.weight` of a layer with a name). A layer that does not fit is an error before anything
//! is computed. What a network cannot say (several inputs, branches other than residual ones) is a struct with `#[derive(Module)]`.

mod accuracy;
mod around;
mod arrays;
mod augment;
mod build;
mod builder;
mod checks;
mod config;
mod data;
mod descent;
mod file;
mod fit;
mod groups;
mod host;
mod kind;
mod kinds;
mod loading;
mod loss;
mod metrics;
mod named;
mod norms;
mod optimizer;
mod pads;
mod parts;
mod predict;
mod rules;
mod schedule;
mod sequences;
mod settings;
mod sizes;
mod sources;
mod spec;
mod stopping;
mod summary;
mod tables;
mod training;
mod weights;
mod windows;
mod writer;

pub use accuracy::BinaryAccuracy;
pub use around::{AdaptiveClip, GradientSettings, LookaheadSettings, NoiseSettings, Normalization, SamSettings};
pub use arrays::{ARRAYS, ArrayFile, ArrayFiles};
pub use augment::{Augment, NormalizeSpec, TransformSpec};
pub use builder::NetworkBuilder;
pub use config::RunConfig;
pub use data::{ClassedPictures, DataSpec, IMAGES, ImageData, ImageForm, ImageLabels, Pictured, Prepared, Samples};
pub use descent::Descent;
pub use groups::ParameterGroup;
pub use host::ToHost;
pub use kind::LayerKind;
pub use loading::{Loading, SamplerSpec, SplitSpec};
pub use loss::{LossSpec, Task};
pub use metrics::{AverageSpec, ClassSettings, MetricSpec};
pub use norms::{GroupNormSettings, InstanceNormSettings, LayerNormSettings, NormSettings, ResponseNormSettings, RmsNormSettings};
pub use optimizer::{
    AdadeltaSettings, AdafactorSettings, AdagradSettings, AdamSettings, AdamW8bitSettings, AdamWScheduleFreeSettings, AdamWSettings,
    AdamaxSettings, AdanSettings, AsgdSettings, LambSettings, LarsSettings, LbfgsSettings, LionSettings, MuonAdjust, MuonPrecision,
    MuonSettings, NAdamSettings, OptimizerSpec, RAdamSettings, RmsPropSettings, RpropSettings, SgdScheduleFreeSettings, SgdSettings,
    ShampooSettings, SophiaSettings, SparseAdamSettings,
};
pub use pads::Pads;
pub use predict::{Answer, Predictor, Takes};
pub use schedule::{AnnealSpec, BetterSpec, ScheduleSpec, Unit};
pub use sequences::{
    AttentionSettings, Bag, EmbeddingBagSettings, EmbeddingSettings, Give, HiddenActivation, RecurrentActivation, RecurrentSettings,
    RnnSettings, RotaryLayout, TransformerSettings,
};
pub use settings::{
    ConvSettings, ConvTransposeSettings, DenseSettings, LpPoolSettings, PaddingMode, PoolSettings, UpsampleMode, UpsampleSettings,
    WindowSettings,
};
pub use sizes::{Factors, Padding, Sizes};
pub use sources::{TEXTS, TextData, TextForm, TextsData, VOCABULARY};
pub use spec::LayerSpec;
pub use stopping::{Keeping, Stopping};
pub use summary::{Row, Summary};
pub use tables::{CsvData, TABLE};
pub use training::{Fp8Settings, LossScaleSettings, PrecisionSpec, TrainingConfig};
pub use weights::{SpectralNormSettings, WeightNormSettings};
pub use writer::{GPT, Generation, GptForm, Writer, Written};

use parts::Stack;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unigrad_nn::{Error, Layer, Module, Result, Visitor, VisitorMut};
use unigrad_tensor::{DType, Device, Generator, Origin, Tensor, manual_seed};

/// A network in words: what model files keep, and configuration files say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// The shape of one example, without the batch.
    pub input: Vec<usize>,
    /// In order.
    pub layers: Vec<LayerSpec>,
    /// What it is trained for.
    #[serde(default, deserialize_with = "named::loss")]
    pub loss: LossSpec,
}

impl Architecture {
    /// What an example consists of: tokens (`I64`) where the first layer looks them up, else `F32` numbers.
    pub fn input_dtype(&self) -> DType {
        let mut layers = self.layers.as_slice();
        // Into blocks, as deep as they go.
        while let Some(first) = layers.first() {
            match &first.kind {
                LayerKind::Embedding(_) | LayerKind::EmbeddingBag(_) => return DType::I64,
                LayerKind::Residual { layers: inner, .. } => layers = inner,
                _ => return DType::F32,
            }
        }
        DType::F32
    }
}

impl Architecture {
    /// Of JSON, as model files have it.
    ///
    /// ```
    /// use unigrad_train::network::Architecture;
    /// let text = r#"{"input": [4], "layers": ["relu", {"dense": {"units": 3}}]}"#;
    /// let architecture = Architecture::from_json(text)?;
    /// assert_eq!(Architecture::from_json(&architecture.to_json()?)?, architecture);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    pub fn from_json(text: &str) -> Result<Architecture> {
        let wrong = |error: serde_json::Error| Error::argument(format!("a network's description: {error}"), "see `docs/training.md`");
        serde_json::from_str(text).map_err(wrong)
    }

    /// As JSON.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::Internal(format!("an architecture that is no JSON: {error}")))
    }
}

/// Layers by description, one after another.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_nn::{Layer, Module};
/// use unigrad_tensor::{DType, Device, Tensor};
/// use unigrad_train::network::Network;
///
/// let device = Device::open("cpu")?;
/// let network = Network::with_input([1, 28, 28]).conv2d(8, 3).relu().max_pool2d(2).flatten().dense(10).build_on(&device)?;
/// assert_eq!(network.output_shape(), [10]); // 8 * 13 * 13 features go into `dense`
/// let logits = network.forward(&Tensor::zeros([2, 1, 28, 28], DType::F32, &device));
/// assert_eq!(logits.shape(), [2, 10]);
/// assert_eq!(network.named_parameters()[0].0, "0.weight");
/// println!("{}", network.summary());
/// // A layer that does not fit says so, with its place and shapes.
/// let error = Network::with_input([1, 4, 4]).conv2d(8, 5).build_on(&device).unwrap_err().to_string();
/// assert!(error.contains("layer 0 (conv2d) does not fit an input of shape [batch, 1, 4, 4]"), "{error}");
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
pub struct Network {
    architecture: Architecture,
    stack: Stack,
    rows: Vec<Row>,
    output: Vec<usize>,
    device: Device,
    /// Whether layers behave as in training.
    training: bool,
    /// Strings that are saved with it: how data were encoded, for example.
    metadata: BTreeMap<String, String>,
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network").field("architecture", &self.architecture).field("device", &self.device).finish_non_exhaustive()
    }
}

impl Network {
    /// A network for examples of a shape, without the batch: `[channels, height, width]`, `[length, features]`, or `[length]` of tokens.
    pub fn with_input(shape: impl Into<Vec<usize>>) -> NetworkBuilder {
        NetworkBuilder::new(shape.into())
    }

    /// A network for examples of so many numbers.
    pub fn with_input_size(size: usize) -> NetworkBuilder {
        NetworkBuilder::new(vec![size])
    }

    /// The network of a description, on a device; with a seed, initial values depend on it alone.
    #[track_caller]
    pub fn from_architecture(architecture: Architecture, seed: Option<u64>, device: &Device) -> Result<Network> {
        let before = Generator::global().state();
        if let Some(seed) = seed {
            manual_seed(seed);
        }
        let built = Network::recorded(architecture, device).and_then(|network| network.realize().map(|()| network));
        if seed.is_some() {
            Generator::global().set(before.0, before.1);
        }
        built
    }

    /// As [`Network::from_architecture`], with initial values that are not computed yet.
    #[track_caller]
    fn recorded(architecture: Architecture, device: &Device) -> Result<Network> {
        let _origin = Origin::enter_caller();
        build::check_extent(&architecture.layers)?;
        let Some(last) = architecture.layers.last() else {
            return Err(Error::argument("a network without layers", "add at least one layer"));
        };
        let squashed = matches!(last.kind, LayerKind::Softmax { .. } | LayerKind::LogSoftmax { .. });
        if squashed && architecture.loss.task() == Task::Classes {
            let cause = format!("the last layer is `{}`, and the loss takes logits: the softmax would be taken twice", last.kind.name());
            return Err(Error::argument(
                cause,
                "leave the last layer out (predictions can be probabilities all the same), or use `log_softmax` with the loss `nll`",
            ));
        }
        if last.kind == LayerKind::Sigmoid && architecture.loss.task() == Task::Binary {
            let cause = "the last layer is `sigmoid`, and the loss takes logits: the sigmoid would be taken twice";
            return Err(Error::argument(
                cause,
                "leave the last layer out (predictions can be probabilities all the same), or use the loss `bce`",
            ));
        }
        architecture.loss.build(device)?;
        let input = build::probe(&architecture.input, architecture.input_dtype(), device)?;
        let built = build::stack(&architecture.layers, input, "", device)?;
        let output = built.output.shape().split_off(1);
        let metadata = BTreeMap::new();
        Ok(Network { architecture, stack: built.stack, rows: built.rows, output, device: *device, training: true, metadata })
    }

    /// The loss of the description, of a prediction and a target.
    #[track_caller]
    pub fn loss(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        self.architecture.loss.build(&self.device)?.forward(prediction, target).check()
    }

    /// The description.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The shape of one example, without the batch.
    pub fn input_shape(&self) -> &[usize] {
        &self.architecture.input
    }

    /// The shape of what is made of one example, without the batch.
    pub fn output_shape(&self) -> &[usize] {
        &self.output
    }

    /// Where it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its layers in numbers, with batches of 32 and an optimizer of Adam's kind; both are fields.
    pub fn summary(&self) -> Summary {
        Summary { input: self.architecture.input.clone(), rows: self.rows.clone(), batch_size: 32, optimizer_tensors: 2 }
    }

    /// A string that is saved with the network.
    pub fn metadata(&self, name: &str) -> Option<&str> {
        self.metadata.get(name).map(String::as_str)
    }

    /// Sets a string that is saved with the network: how data were encoded, for example.
    pub fn set_metadata(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.metadata.insert(name.into(), text.into());
    }
}

impl Module for Network {
    fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
        self.stack.visit(visitor);
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
        self.stack.visit_mut(visitor);
    }

    fn on_mode(&mut self, training: bool) {
        self.training = training;
    }
}

impl Layer for Network {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.stack.forward(x)
    }
}
