//! Averages of weights: exponential (EMA) or equal (SWA, Izmailov et al., arXiv:1803.05407), as `torch.optim.swa_utils` computes them.
//!
//! In: a model, after each step that counts. Out: averages of its weights, which can take their place.
//! Always: an update is one evaluation, and a transaction; the averages are in memory of their own; the first update copies.

use crate::{
    archive::HostTensor,
    error::{Error, Result},
    module::{self, Module},
};
use std::collections::BTreeMap;
use unigrad_tensor::{Arguments, Composite, DType, Tensor, eval, no_grad};

/// The averages of a model's parameters; buffers are copied, unless they are averaged too.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{AveragedModel, Linear, Module};
/// use unigrad_tensor::Device;
///
/// let model = Linear::new(4, 2, &Device::open("cpu")?);
/// let mut ema = AveragedModel::ema(&model, 0.999)?;
/// ema.update(&model)?; // after each step
/// ema.swap(&model)?; // evaluate and save with the averages ..
/// ema.swap(&model)?; // .. and go on with the weights
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Debug)]
pub struct AveragedModel {
    averages: Vec<Average>,
    /// How slowly averages forget; `None` for equal shares.
    decay: Option<f64>,
    use_buffers: bool,
    n_averaged: Tensor,
    is_swapped: bool,
}

#[derive(Debug)]
struct Average {
    name: String,
    value: Tensor,
    is_buffer: bool,
}

/// The names of counts among the state.
const N_AVERAGED: &str = "n_averaged";
const MODULE: &str = "module.";

impl AveragedModel {
    /// Equal shares of all updates.
    pub fn swa<M: Module + ?Sized>(model: &M) -> Result<AveragedModel> {
        AveragedModel::new(model, None)
    }

    /// Exponential averages, which keep the share `decay` (0.999, say) at each update.
    pub fn ema<M: Module + ?Sized>(model: &M, decay: f64) -> Result<AveragedModel> {
        if !(0.0..=1.0).contains(&decay) {
            return Err(Error::argument(format!("a decay of {decay}"), "give a share between 0 and 1, such as 0.999"));
        }
        AveragedModel::new(model, Some(decay))
    }

    fn new<M: Module + ?Sized>(model: &M, decay: Option<f64>) -> Result<AveragedModel> {
        let mut averages = Vec::new();
        let parameters = model.named_parameters().into_iter().map(|entry| (entry, false));
        for ((name, tensor), is_buffer) in parameters.chain(model.named_buffers().into_iter().map(|entry| (entry, true))) {
            averages.push(Average { name, value: own(&tensor), is_buffer });
        }
        let first = averages.first().ok_or_else(|| Error::argument("a model without parameters", "give one that has some"))?;
        let n_averaged = Tensor::from_slice(&[0i64], (), &first.value.device()?);
        let all: Vec<&Tensor> = averages.iter().map(|average| &average.value).chain([&n_averaged]).collect();
        Tensor::realize_all(&all)?;
        Ok(AveragedModel { averages, decay, use_buffers: false, n_averaged, is_swapped: false })
    }

    /// Whether buffers (running statistics) are averaged as well; otherwise they are copied. Counts are always copied.
    pub fn use_buffers(mut self, averaged: bool) -> Self {
        self.use_buffers = averaged;
        self
    }

    /// Updates so far.
    pub fn n_averaged(&self) -> Result<u64> {
        u64::try_from(self.n_averaged.item::<i64>()?).map_err(|_| Error::Internal("a negative count of updates".into()))
    }

    /// The averages, with the model's names.
    pub fn averages(&self) -> Vec<(String, Tensor)> {
        self.averages.iter().map(|average| (average.name.clone(), average.value.clone())).collect()
    }

    /// The model's tensors, in order, if they are those that were averaged.
    fn tensors<M: Module + ?Sized>(&self, model: &M) -> Result<Vec<Tensor>> {
        let named: Vec<(String, Tensor)> = model.named_parameters().into_iter().chain(model.named_buffers()).collect();
        let fits = named.len() == self.averages.len()
            && named
                .iter()
                .zip(&self.averages)
                .all(|((name, tensor), average)| *name == average.name && tensor.shape() == average.value.shape());
        if !fits {
            return Err(Error::argument("a model with other names or shapes than the averages", "give the model that they were made of"));
        }
        Ok(named.into_iter().map(|(_, tensor)| tensor).collect())
    }

    /// Takes the model's weights into the averages.
    pub fn update<M: Module + ?Sized>(&mut self, model: &M) -> Result<()> {
        if self.is_swapped {
            return Err(Error::argument("an update while the averages stand in the model", "`swap` them back first"));
        }
        let tensors = self.tensors(model)?;
        let attempt = eval::Attempt::begin();
        let mut changed = vec![self.n_averaged.clone()];
        no_grad(|| -> Result<()> {
            let n = self.n_averaged.detach();
            let mut updates: Vec<Composite> = Vec::new();
            for (average, tensor) in self.averages.iter().zip(&tensors) {
                let (old, new) = (average.value.detach(), tensor.detach().to(&average.value.device()?));
                let is_averaged = old.dtype().is_float() && (!average.is_buffer || self.use_buffers);
                let value = if is_averaged {
                    let dtype = old.dtype().compute();
                    let n = n.to(&old.device()?);
                    let share = match self.decay {
                        Some(decay) => Tensor::scalar(1.0 - decay, dtype, &old.device()?),
                        None => (n.cast(dtype) + 1.0).recip(),
                    };
                    let share = n.eq(0).where_(1.0, &share).cast(dtype);
                    let toward = |x: &[Tensor]| match x {
                        [old, new, share] => {
                            let (wide, share) = (old.cast(dtype), share.expand(old.shape()));
                            // The first is a copy, to the last bit.
                            let moved = &wide + (new.cast(dtype) - &wide) * &share;
                            vec![share.eq(1.0).where_(new.cast(dtype), moved).cast(old.dtype())]
                        }
                        _ => Vec::new(),
                    };
                    let arguments = [&old, &new, &share];
                    let values = Arguments::of(&arguments);
                    let known = match updates.iter().position(|update| update.fits(&values)) {
                        Some(known) => known,
                        None => {
                            updates.push(Composite::record("average", &arguments, toward)?);
                            updates.len() - 1
                        }
                    };
                    let results = updates[known].call(values).unwrap_or_else(|| toward(&arguments.map(Tensor::detach)));
                    results.into_iter().next().ok_or_else(|| Error::Internal("an average without a result".into()))?
                } else {
                    new.cast(old.dtype())
                };
                average.value.assign(&value)?;
                changed.push(average.value.clone());
            }
            self.n_averaged.assign(&(n + 1))
        })?;
        Tensor::realize_all(&changed.iter().collect::<Vec<_>>())?;
        attempt.succeeded();
        Ok(())
    }

    /// Exchanges the averages and the model's weights, in one evaluation: what the model computes, and saves, is then of the averages. A second call
    /// exchanges them back. Before the first update the averages are the weights that the model had at first.
    pub fn swap<M: Module + ?Sized>(&mut self, model: &M) -> Result<()> {
        let tensors = self.tensors(model)?;
        let attempt = eval::Attempt::begin();
        no_grad(|| -> Result<()> {
            for (average, tensor) in self.averages.iter().zip(&tensors) {
                let (mine, theirs) = (average.value.detach(), tensor.detach());
                average.value.assign(&theirs.to(&mine.device()?).cast(mine.dtype()))?;
                tensor.assign(&mine.to(&theirs.device()?).cast(theirs.dtype()))?;
            }
            Ok(())
        })?;
        let all: Vec<&Tensor> = self.averages.iter().map(|average| &average.value).chain(&tensors).collect();
        Tensor::realize_all(&all)?;
        attempt.succeeded();
        self.is_swapped = !self.is_swapped;
        Ok(())
    }

    fn named(&self) -> Vec<(String, Tensor)> {
        let averages = self.averages.iter().map(|average| (format!("{MODULE}{}", average.name), average.value.clone()));
        averages.chain([(N_AVERAGED.to_owned(), self.n_averaged.clone())]).collect()
    }

    /// The averages on the host, for a file. An error while they stand in the model.
    pub fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        if self.is_swapped {
            return Err(Error::argument("the averages stand in the model", "`swap` them back before their state is saved"));
        }
        module::to_host(&self.named())
    }

    /// Continues from saved averages.
    pub fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>) -> Result<()> {
        if self.is_swapped {
            return Err(Error::argument("the averages stand in the model", "`swap` them back before a state is loaded"));
        }
        module::load(&self.named(), state, "the averages' state")
    }
}

/// The same values in memory of their own.
fn own(tensor: &Tensor) -> Tensor {
    let value = tensor.detach();
    match value.dtype() {
        DType::Bool => value.cast(DType::U8).cast(DType::Bool),
        dtype if dtype.is_float() => &value + value.zeros_like(),
        _ => &value + value.zeros_like(),
    }
}

/// Names of running statistics, and what they begin with.
const STATISTICS: [(&str, f64); 2] = [("running_mean", 0.0), ("running_var", 1.0)];

/// Computes a model's running statistics anew, as the mean over all batches: what weights need that were averaged and never trained with. As
/// `torch.optim.swa_utils.update_bn`.
///
/// `forward` runs the model on a batch; the model is in training mode meanwhile, and in the mode `training` afterwards. The first batch is run twice. When
/// a batch fails, all buffers are what they were.
pub fn update_bn<M: Module, B>(
    model: &mut M,
    batches: impl IntoIterator<Item = B>,
    training: bool,
    mut forward: impl FnMut(&M, &B) -> Result<Tensor>,
) -> Result<()> {
    let buffers: Vec<(String, Tensor)> = model.named_buffers();
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let first = |name: &str| STATISTICS.iter().find(|(statistic, _)| *statistic == last(name)).map(|(_, first)| *first);
    let found: Vec<(Tensor, f64)> = buffers.iter().filter_map(|(name, tensor)| Some((tensor.clone(), first(name)?))).collect();
    if found.is_empty() {
        return Ok(());
    }
    let before: Vec<(Tensor, Tensor)> = buffers.iter().map(|(_, tensor)| (tensor.clone(), own(tensor))).collect();
    Tensor::realize_all(&before.iter().map(|(_, value)| value).collect::<Vec<_>>())?;
    model.train(true);
    let statistics: Vec<Tensor> = found.iter().map(|(tensor, _)| tensor.clone()).collect();
    let result = means(model, &statistics, batches, &mut forward);
    model.train(training);
    no_grad(|| -> Result<()> {
        before.iter().try_for_each(|(tensor, value)| tensor.assign(value))?;
        if let Ok((n, means)) = &result {
            for (at, (buffer, first)) in found.iter().enumerate() {
                // Without a batch they are as of a new layer.
                buffer.assign(&means.get(at).map_or_else(|| buffer.full_like(*first), |mean| mean.cast(buffer.dtype())))?;
            }
            let mut counts = buffers.iter().filter(|(name, _)| last(name) == COUNT);
            counts.try_for_each(|(_, tensor)| tensor.assign(&(tensor.zeros_like() + *n)))?;
        }
        Ok(())
    })?;
    Tensor::realize_all(&buffers.iter().map(|(_, tensor)| tensor).collect::<Vec<_>>())?;
    result.map(|_| ())
}

/// A layer's count of batches.
const COUNT: &str = "num_batches_tracked";
/// An old statistic beside which a batch's is nothing: what is left of it tells the layer's momentum.
const HUGE: f64 = (1u64 << 50) as f64;

/// How many batches there were, and the mean of each statistic over them.
///
/// A layer leaves `keep * old + (1 - keep) * batch`. So the old statistic is 0 before each batch, and `keep` is known from one run with an old statistic that
/// is huge.
fn means<M: Module, B>(
    model: &M,
    statistics: &[Tensor],
    batches: impl IntoIterator<Item = B>,
    forward: &mut impl FnMut(&M, &B) -> Result<Tensor>,
) -> Result<(i64, Vec<Tensor>)> {
    let all: Vec<&Tensor> = statistics.iter().collect();
    let mut after = |old: f64, batch: &B| -> Result<Vec<Tensor>> {
        no_grad(|| statistics.iter().try_for_each(|statistic| statistic.assign(&statistic.full_like(old))))?;
        let y = no_grad(|| forward(model, batch))?;
        y.check()?;
        Tensor::realize_all(&all)?;
        let values: Vec<Tensor> = statistics.iter().map(|statistic| statistic.cast(statistic.dtype().compute()).detach()).collect();
        Ok(values)
    };
    let (mut n, mut keep, mut means): (i64, Vec<Tensor>, Vec<Tensor>) = (0, Vec::new(), Vec::new());
    for batch in batches {
        if n == 0 {
            keep = after(HUGE, &batch)?.iter().map(|value| value * HUGE.recip()).collect();
            Tensor::realize_all(&keep.iter().collect::<Vec<_>>())?;
        }
        n += 1;
        let values = after(0.0, &batch)?;
        let batch = values.iter().zip(&keep).map(|(value, keep)| value / (1.0 - keep));
        means = match n {
            1 => batch.collect(),
            _ => means.iter().zip(batch).map(|(mean, batch)| mean + (batch - mean) * (1.0 / n as f64)).collect(),
        };
        Tensor::realize_all(&means.iter().collect::<Vec<_>>())?;
    }
    Ok((n, means))
}
