//! The trainer: a loop that trains any module by any loss and optimizer, and everything that belongs to a run.
//!
//! In: a [`Learner`] (what a step is), a [`Source`](unigrad_data::Source) of batches, settings. Out: a trained model, its [`History`], and a folder with
//! checkpoints, figures and a report.
//! Always: the same seed gives the same run, bit for bit; a run that was killed continues from its last checkpoint to the same weights; a step that fails
//! (bad shapes, a label out of range, a loss that is no number) leaves model and optimizer as they were before it.
//! Never: knows a device or a driver by name.
//!
//! ```
//! # unigrad_device::register(unigrad_cpu::CpuDriver);
//! use unigrad_data::{Arrays, Loader};
//! use unigrad_nn::{AdamW, CrossEntropyLoss, HostTensor, Linear, Module, metrics::Accuracy};
//! use unigrad_tensor::{DType, Device};
//! use unigrad_train::{Supervised, Trainer};
//!
//! let device = Device::open("cpu")?;
//! // Which of two numbers is greater.
//! let pairs: Vec<[f32; 2]> = (0..64).map(|i| [i as f32 / 64.0, (i * 37 % 64) as f32 / 64.0]).collect();
//! let inputs = HostTensor { dtype: DType::F32, shape: vec![64, 2], bytes: pairs.iter().flatten().flat_map(|x| x.to_le_bytes()).collect() };
//! let labels = pairs.iter().map(|[a, b]| i64::from(a > b));
//! let targets = HostTensor { dtype: DType::I64, shape: vec![64], bytes: labels.flat_map(i64::to_le_bytes).collect() };
//! let train = Loader::new(Arrays::new(inputs, targets)?, 16, 1);
//!
//! let model = Linear::new(2, 2, &device);
//! let optimizer = AdamW::new(model.parameters(), 0.1)?;
//! let mut learner = Supervised::new(model, CrossEntropyLoss::default(), optimizer);
//! let run = Trainer::new(&device).epochs(10).seed(1).metric(Accuracy::default).quiet().fit(&mut learner, &train, Some(&train))?;
//! assert!(run.history.val_metrics.get("accuracy").and_then(|a| a.last()) > Some(&0.9));
//! # Ok::<(), unigrad_tensor::Error>(())
//! ```

mod callback;
mod callbacks;
mod console;
mod descend;
mod files;
mod finder;
mod history;
mod learner;
mod meter;
pub mod network;
mod profile;
pub mod report;
mod run;
mod saved;
mod supervised;
mod trainer;

pub use callback::{Callback, Context, Saved};
pub use callbacks::{EarlyStopping, Ema, KeepBest, Scalar, Swa, TensorBoard, read_scalars};
pub use console::Console;
pub use descend::descend;
pub use finder::{BatchSizes, LrCurve, LrRange};
pub use history::{EpochRow, History};
pub use learner::{Clip, Learner, Number, Outcome, Precision, StepSettings};
pub use profile::StepProfile;
pub use report::compare;
pub use run::{Ended, Run};
pub use saved::CHECKPOINT;
pub use supervised::Supervised;
pub use trainer::{Trainer, Until};
pub use unigrad_nn::{Error, Optimize, Result};
