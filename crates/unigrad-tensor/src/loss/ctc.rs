//! Connectionist temporal classification (Graves et al., 2006): the likelihood of a sequence of labels that is shorter than the sequence of outputs.
//!
//! In: log probabilities per step, padded labels, lengths. Out: a loss per example.
//! Always: one scan over steps (forward variables in logarithms, in `f32` or wider), whose gradient is the scan's own. An example whose labels do not fit
//! into its steps has an infinite loss, and no gradient.

use super::Reduction;
use crate::{ScanOptions, Tensor, arithmetic::K, scan};
use unigrad_graph::{DType, ErrorKind};

/// Settings of [`Tensor::ctc_loss`]; the defaults are PyTorch's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CtcOptions {
    /// The class that stands for no label.
    pub blank: usize,
    /// What becomes of the losses: the mean is over examples, each divided by the length of its labels.
    pub reduction: Reduction,
    /// Whether losses that are infinite count as 0.
    pub zero_infinity: bool,
}

/// The logarithm of 0: finite, so that differences are numbers.
const NEVER: f64 = -1e30;

impl Tensor {
    /// The CTC loss of log probabilities `[steps, n, classes]` (as [`Tensor::log_softmax`] gives them), labels `[n, longest]` (padded; without blanks), how many
    /// steps and how many labels of each example count (`[n]` each). Without a batch: `[steps, classes]`, `[longest]`, and two lengths of rank 0.
    ///
    /// A label out of `0..classes` among those that count is an error when it runs; lengths count as at most what there is.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{CtcOptions, DType, Device, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// // Two steps, blank and one label, all equally likely: three of four paths give the label.
    /// let logp = Tensor::zeros([2, 1, 2], DType::F32, &device).log_softmax(-1);
    /// let [labels, steps, length] = [[1i64], [2], [1]].map(|x| Tensor::new(x, &device));
    /// let loss = logp.ctc_loss(&labels.unsqueeze(0), &steps, &length, &CtcOptions::default());
    /// assert!((loss.item::<f32>()? + 0.75f32.ln()).abs() < 1e-6);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn ctc_loss(&self, labels: &Tensor, n_steps: &Tensor, n_labels: &Tensor, options: &CtcOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("ctc_loss") {
            return cast.of(self).ctc_loss(&cast.of(labels), &cast.of(n_steps), &cast.of(n_labels), options);
        }
        for tensor in [self, labels, n_steps, n_labels] {
            if tensor.is_invalid() {
                return tensor.clone();
            }
        }
        let fail =
            |message: String, help: &str| Tensor::fail(ErrorKind::Shape, "ctc_loss", message, help, &[self, labels, n_steps, n_labels]);
        if self.rank() == 2 && labels.rank() == 1 && n_steps.rank() == 0 && n_labels.rank() == 0 {
            let one = |tensor: &Tensor| tensor.unsqueeze(0);
            let losses = self.unsqueeze(1).ctc_loss(&one(labels), &one(n_steps), &one(n_labels), options);
            return if options.reduction == Reduction::None { losses.squeeze(0) } else { losses };
        }
        let shape = self.shape();
        let batch = match (&shape[..], &labels.shape()[..], &n_steps.shape()[..], &n_labels.shape()[..]) {
            ([_, n, _], [rows, _], [a], [b]) if n == rows && n == a && n == b => *n,
            _ => {
                let message =
                    format!("{shape:?} with labels {:?} and lengths {:?}, {:?}", labels.shape(), n_steps.shape(), n_labels.shape());
                return fail(message, "give [steps, n, classes], [n, longest], [n] and [n]");
            }
        };
        if [labels, n_steps, n_labels].iter().any(|tensor| tensor.dtype().is_float() || tensor.dtype() == DType::Bool) {
            let message = format!("labels {}, lengths {}, {}", labels.dtype(), n_steps.dtype(), n_labels.dtype());
            return Tensor::fail(ErrorKind::DType, "ctc_loss", message, "give integers", &[labels, n_steps, n_labels]);
        }
        let (steps, classes, longest) = (shape[0], shape[2], labels.shape()[1]);
        if options.blank >= classes {
            let message = format!("blank is class {} of {classes}", options.blank);
            return Tensor::fail(ErrorKind::Argument, "ctc_loss", message, "give a class", &[self]);
        }
        let logp = self.float();
        let dtype = logp.dtype();
        let logp = logp.cast(dtype.compute());
        let Ok(device) = self.device() else { return self.clone() };
        // Blanks before, between and after the labels: [n, 2 longest + 1].
        let width = 2 * longest + 1;
        let place = Tensor::arange(0.0, longest as f64, 1.0, DType::I64, &device);
        let n_labels = n_labels.cast(DType::I64).clamp(0, longest as i64);
        let n_steps = n_steps.cast(DType::I64).clamp(0, steps as i64);
        let blank = Tensor::full([batch, 1], options.blank as f64, DType::I64, &device);
        let labels = place.lt(n_labels.unsqueeze(1)).where_(labels.cast(DType::I64), &blank);
        let pairs = Tensor::stack(&[&blank.expand([batch, longest]), &labels], 2).reshape([batch, 2 * longest]);
        let symbols = Tensor::concat(&[&pairs, &blank], 1);
        // A path may leave out the blank between two labels that differ.
        let before = if width > 2 {
            let front = Tensor::full([batch, 2], options.blank as f64, DType::I64, &device);
            Tensor::concat(&[&front, &symbols.narrow(1, 0, width - 2)], 1)
        } else {
            symbols.clone()
        };
        let may_skip = symbols.ne(options.blank as i64).logical_and(symbols.ne(&before));
        let at = symbols.unsqueeze(0).expand([steps, batch, width]);
        let emitted = logp.gather(2, &at);
        let time = Tensor::arange(0.0, steps as f64, 1.0, DType::I64, &device);
        let never = |columns: usize| Tensor::full([batch, columns], NEVER, dtype.compute(), &device);
        // Before the first step only the first place has been reached, so to say: one step from it are the first blank and the first label.
        let start = Tensor::concat(&[&Tensor::zeros([batch, 1], dtype.compute(), &device), &never(width - 1)], 1);
        let step = |states: &[Tensor], elements: &[Tensor]| {
            let (alpha, now, t) = (&states[0], &elements[0], &elements[1]);
            let shifted = |by: usize| {
                let by = by.min(width);
                if by == width { never(width) } else { Tensor::concat(&[&never(by), &alpha.narrow(1, 0, width - by)], 1) }
            };
            // The start stands for the blank before all; no path skips from it.
            let skipped = may_skip.where_(shifted(2), K(NEVER));
            let next = alpha.logaddexp(shifted(1)).logaddexp(&skipped) + now;
            let next = next.maximum(K(NEVER));
            (vec![n_steps.unsqueeze(1).gt(t).where_(next, alpha)], vec![])
        };
        let alpha = match scan(step, &[&start], &[&emitted, &time], ScanOptions::new()) {
            Ok((last, _)) => last[0].clone(),
            Err(_) => return fail("its steps cannot be recorded".into(), "give tensors of one device"),
        };
        let end = (&n_labels * 2).unsqueeze(1);
        let last_label = alpha.gather(1, &(&end - 1).clamp_min(0)).squeeze(1);
        let last_label = n_labels.gt(0).where_(last_label, K(NEVER));
        let losses = alpha.gather(1, &end).squeeze(1).logaddexp(&last_label).neg();
        let hopeless = losses.ge(K(-0.5 * NEVER));
        let losses = hopeless.where_(if options.zero_infinity { K(0.0) } else { K(f64::INFINITY) }, losses);
        let losses = match options.reduction {
            Reduction::Mean => losses / n_labels.clamp_min(1).cast(dtype.compute()),
            Reduction::Sum | Reduction::None => losses,
        };
        losses.reduced(options.reduction).cast(dtype)
    }
}
