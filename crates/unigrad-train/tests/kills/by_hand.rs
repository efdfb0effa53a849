//! Loops without a trainer, for what the trainer does not run: each step saved by the program itself, as its documentation has it.

use super::{
    support::{loader, net},
    table::Life,
};
use std::collections::BTreeMap;
use unigrad_data::{Batch, Position, Source};
use unigrad_nn::{
    AdamW, Archive, ArrayOptimizer, AveragedModel, Checkpoint, HostTensor, Layer, Lbfgs, Linear, Module, Rule, Sam, Sequential, Sgd, Tanh,
    random::Rng,
};
use unigrad_tensor::{DType, Tensor, manual_seed};
use unigrad_train::{CHECKPOINT, Result};

type State = BTreeMap<String, HostTensor>;

const STEPS: u64 = 12;

/// A loop over batches with something that has a state beside the model.
fn run<K>(
    life: &Life,
    model: &Sequential,
    kept: &mut K,
    save: impl Fn(&K) -> Result<State>,
    load: impl Fn(&mut K, &State, u64) -> Result<()>,
    mut step: impl FnMut(&mut K, &Batch) -> Result<()>,
) -> Result<Archive> {
    let path = life.saves.then(|| life.folder.join(CHECKPOINT));
    let (mut done, mut position) = (0u64, Position::default());
    manual_seed(11);
    if let Some(path) = path.as_ref().filter(|path| path.exists()) {
        let checkpoint = Checkpoint::load(path)?;
        checkpoint.restore_parts(&[("", model.state_dict())], &mut [])?;
        (done, position) = (checkpoint.get("done")?, checkpoint.get("position")?);
        load(kept, &checkpoint.tensors_below("kept."), done)?;
    }
    let source = loader(22, 4);
    let mut batches = source.steps(position, &life.device);
    while done < STEPS {
        let batch = batches.next().unwrap()?;
        step(kept, &batch)?;
        done += 1;
        if let Some(path) = &path {
            let mut checkpoint = Checkpoint::of_parts(&[("", model.state_dict())], &[])?;
            checkpoint.set("done", done);
            checkpoint.set("position", batches.position());
            save(kept)?.into_iter().for_each(|(name, tensor)| checkpoint.set_tensor(&format!("kept.{name}"), tensor));
            checkpoint.save(path)?;
        }
        println!("\n#step");
    }
    let mut result = model.to_archive()?;
    result.tensors.extend(save(kept)?.into_iter().map(|(name, tensor)| (format!("kept.{name}"), tensor)));
    Ok(result)
}

/// Without dropout: a line search looks at one function.
pub(crate) fn lbfgs(life: &Life, make: fn(Vec<Tensor>) -> Result<Lbfgs>) -> Result<Archive> {
    manual_seed(3);
    let d = &life.device;
    let model = Sequential::new().add(Linear::new(3, 6, d)).add(Tanh).add(Linear::new(6, 3, d));
    let mut optimizer = make(model.parameters())?;
    run(
        life,
        &model,
        &mut optimizer,
        Lbfgs::state_dict,
        |kept, state, _| kept.load_state_dict(state),
        |kept, batch| kept.step(|| Ok(model.forward(&batch.input).cross_entropy(&batch.target))).map(|_| ()),
    )
}

pub(crate) fn sam<R: Rule>(life: &Life, make: fn(Vec<Tensor>) -> Result<Sam<R>>) -> Result<Archive> {
    let model = net(&life.device);
    let mut optimizer = make(model.parameters())?;
    run(life, &model, &mut optimizer, Sam::state_dict, Sam::load_state_dict, |kept, batch| {
        kept.minimize(|| Ok(model.forward(&batch.input).cross_entropy(&batch.target)), &[]).map(|_| ())
    })
}

/// Averages of a model that AdamW trains.
pub(crate) fn averaged(life: &Life, make: fn(&Sequential) -> Result<AveragedModel>) -> Result<Archive> {
    let model = net(&life.device);
    let mut kept = (AdamW::new(model.parameters(), 0.01)?, make(&model)?);
    let save = |(optimizer, average): &(AdamW, AveragedModel)| -> Result<State> {
        let average = average.state_dict()?.into_iter().map(|(name, tensor)| (format!("average.{name}"), tensor));
        Ok(optimizer.state_dict()?.into_iter().chain(average).collect())
    };
    let load = |(optimizer, average): &mut (AdamW, AveragedModel), state: &State, n_steps: u64| -> Result<()> {
        let own = state.iter().filter_map(|(name, tensor)| Some((name.strip_prefix("average.")?.to_owned(), tensor.clone())));
        average.load_state_dict(&own.collect())?;
        let rest = state.iter().filter(|(name, _)| !name.starts_with("average."));
        optimizer.load_state_dict(&rest.map(|(name, tensor)| (name.clone(), tensor.clone())).collect(), n_steps)
    };
    run(life, &model, &mut kept, save, load, |(optimizer, average), batch| {
        optimizer.minimize(&model.forward(&batch.input).cross_entropy(&batch.target), &[])?;
        average.update(&model)
    })
}

/// Vectors, with gradients by hand: towards the mean of each batch's points.
pub(crate) fn arrays<R: Rule + Send + 'static>(life: &Life, make: impl Fn(&Life) -> ArrayOptimizer<R>) -> Result<Archive> {
    let model = Sequential::new();
    let mut kept = (make(life), [vec![1.0f32; 3], vec![-1.0f32; 2]], 0);
    let save = |(optimizer, values, _): &(ArrayOptimizer<R>, [Vec<f32>; 2], u64)| -> Result<State> {
        let mut state = optimizer.state_dict()?;
        for (at, value) in values.iter().enumerate() {
            let bytes = value.iter().flat_map(|x| x.to_le_bytes()).collect();
            state.insert(format!("value.{at}"), HostTensor { dtype: DType::F32, shape: vec![value.len()], bytes });
        }
        Ok(state)
    };
    let load = |kept: &mut (ArrayOptimizer<R>, [Vec<f32>; 2], u64), state: &State, n_steps: u64| -> Result<()> {
        let (values, own): (State, State) = state.clone().into_iter().partition(|(name, _)| name.starts_with("value."));
        for (value, saved) in kept.1.iter_mut().zip(values.values()) {
            *value = saved.bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        }
        kept.2 = n_steps;
        kept.0.load_state_dict(&own, n_steps)
    };
    run(life, &model, &mut kept, save, load, |(optimizer, values, at), batch| {
        let mean = batch.input.mean(0).to_vec::<f32>()?;
        let mut rng = Rng::new(5, *at);
        *at += 1;
        let first: Vec<f32> = values[0].iter().zip(&mean).map(|(value, mean)| value - mean + 0.1 * rng.normal() as f32).collect();
        let second = values[1].iter().map(|value| value * rng.uniform() as f32).collect();
        optimizer.step(values, &[first, second])
    })
}

/// The optimizers that array rows are of.
pub(crate) fn sgd(p: Vec<Tensor>) -> Result<Sgd> {
    Sgd::new(p, 0.1)?.momentum(0.9)
}
