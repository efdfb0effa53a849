//! What is trained: a row each, with an optimizer, what surrounds it, settings of the trainer, and where batches come from.
//!
//! Always: a row's text is what it runs, so that which kinds stand in the table is read from the rows themselves. A new kind needs a line here.

use super::{
    by_hand,
    support::{data, net, points},
};
use std::path::PathBuf;
use unigrad_data::{
    Batch, Batches, Buckets, Dataset, Distributed, LabelledTexts, Loader, PadSequences, PaddedBatch, RandomOrder, Sample, Source, Stack,
    Stratified, SubsetOrder, TokenVocabulary, Unit, Weighted,
};
use unigrad_nn::{
    Adadelta, Adafactor, Adagrad, Adam, AdamW, AdamW8bit, AdamWScheduleFree, Adamax, Adan, Anneal, Archive, ArrayOptimizer, Asgd,
    AveragedModel, Better, CrossEntropyLoss, Dropout, Group, Lamb, Lars, Lbfgs, Linear, Lion, Module, Muon, NAdam, Optimizer, Peaks,
    Plateau, RAdam, Relu, RmsProp, Rprop, Rule, Schedule, Sequential, Sgd, SgdScheduleFree, Shampoo, Sophia, SparseAdam, StepNumbers,
    metrics::{Accuracy, LogLoss},
    random::Rng,
};
use unigrad_tensor::{DType, Device, Tensor, manual_seed};
use unigrad_train::{
    Callback, Clip, Context, EarlyStopping, Ema, History, KeepBest, Optimize, Precision, Result, Supervised, Swa, TensorBoard, Trainer,
};

/// Where a row is trained, and whether after each step it is saved such that another process can go on.
pub(crate) struct Life {
    pub(crate) device: Device,
    pub(crate) folder: PathBuf,
    pub(crate) saves: bool,
}

pub(crate) struct Row {
    pub(crate) text: &'static str,
    /// The whole state at the end.
    pub(crate) train: fn(&Life) -> Result<Archive>,
}

type Boxed = Box<dyn Source<Batch = Batch>>;
type Make = fn(Vec<Tensor>) -> Result<Box<dyn Optimize>>;

/// Tells that a step is done, and the one before it saved.
struct Tell;

impl Callback for Tell {
    fn on_step_end(&mut self, _: &mut Context<'_>) -> Result<()> {
        println!("\n#step");
        Ok(())
    }
}

fn trained(life: &Life, model: fn(&Device) -> Sequential, make: Make, settings: fn(Trainer) -> Trainer, source: Boxed) -> Result<Archive> {
    let model = model(&life.device);
    let optimizer = make(model.parameters())?;
    let mut learner = Supervised::new(model, CrossEntropyLoss::default(), optimizer);
    let test = Loader::new(data(9, 6), 4, 0).in_order();
    let trainer = Trainer::new(&life.device).epochs(2).seed(11).metric(Accuracy::default).metric(LogLoss::default).quiet();
    let trainer = match life.saves {
        true => settings(trainer.checkpoint_every(1)).resume_if_there(),
        false => settings(trainer),
    };
    let trainer = trainer.folder(&life.folder).report(false).save_model(false);
    let run = trainer.callback(Tell).fit(&mut learner, &*source, Some(&test))?;
    let mut result = learner.model.to_archive()?;
    result.tensors.extend(learner.optimizer.state_dict()?.into_iter().map(|(name, tensor)| (format!("optimizer.{name}"), tensor)));
    result.metadata.insert("figures".to_owned(), format!("{:?}", History { seconds: Vec::new(), ..run.history }));
    Ok(result)
}

/// Without biases: for what is for matrices only.
fn matrices(device: &Device) -> Sequential {
    manual_seed(3);
    Sequential::new().add(Linear::no_bias(3, 8, device)).add(Relu).add(Dropout::new(0.25)).add(Linear::no_bias(8, 3, device))
}

fn plateau(mut plateau: Plateau) -> Plateau {
    (plateau.patience, plateau.threshold) = (0, 0.5);
    plateau
}

fn stopping(stopping: EarlyStopping) -> EarlyStopping {
    stopping.patience(9).restore_best()
}

fn halves(mut p: Vec<Tensor>) -> (Vec<Tensor>, Vec<Tensor>) {
    let rest = p.split_off(p.len() / 2);
    (p, rest)
}

/// A program's own rule: steps by the sign of a momentum.
struct Signs;

impl Rule for Signs {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["momentum"]
    }

    fn weight_decay(&self) -> f64 {
        0.0
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        vec![step.number(-step.lr)]
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let momentum = &state[0] * 0.9 + gradient;
        (value + momentum.sign() * &scalars[0], vec![momentum])
    }
}

/// The class of each of the first `n` items.
fn classes(n: usize) -> Vec<usize> {
    points(n, 5).1.into_iter().map(|class| class as usize).collect()
}

/// Texts of one to seven words.
fn texts() -> LabelledTexts {
    let mut rng = Rng::new(4, 0);
    let words = ["one", "two", "three", "four"];
    let texts: Vec<(String, i64)> =
        (0..22).map(|i| ((0..1 + rng.below(7)).map(|_| words[rng.below(4)]).collect::<Vec<_>>().join(" "), i % 3)).collect();
    let vocabulary = TokenVocabulary::fit(texts.iter().map(|text| text.0.as_str()), Unit::Word, 1, 9);
    LabelledTexts::new(&texts, &vocabulary, 9).unwrap()
}

/// Three numbers of a padded sequence.
fn summed(batch: PaddedBatch, rng: &mut Rng) -> Result<Batch> {
    let x = batch.input.cast(DType::F32);
    let input = Tensor::stack(&[&x.sum(1), &x.max(1), &batch.lengths.cast(DType::F32)], 1) * (1.0 + 0.1 * rng.normal());
    Ok(Batch { input: input.check()?, target: batch.target, indices: batch.indices })
}

/// A sample with noise, by its own random numbers.
fn shaken(mut sample: Sample, rng: &mut Rng) -> Result<Sample> {
    for bytes in sample.input.bytes.as_chunks_mut().0 {
        *bytes = (f32::from_le_bytes(*bytes) + 0.1 * rng.normal() as f32).to_le_bytes();
    }
    Ok(sample)
}

macro_rules! sources {
    ($($name:ident = $make:expr;)*) => {
        $(fn $name() -> Result<Boxed> {
            Ok(Box::new($make))
        })*
        /// Their names and texts.
        pub(crate) const SOURCES: &[(&str, &str)] = &[$((stringify!($name), stringify!($make))),*];
    };
}

sources! {
    shuffled = Loader::new(data(22, 5), 4, 7);
    in_order = Loader::new(data(22, 5), 4, 7).in_order();
    whole = Loader::new(data(26, 5), 4, 7).drop_last();
    alone = Loader::new(data(22, 5), 4, 7).workers(0).collate(Stack);
    threads = Loader::new(data(22, 5), 4, 7).workers(3).prefetch(2).upload_ahead(2);
    ahead = Loader::new(data(26, 5), 4, 7).workers(2).prefetch(5).upload_ahead(0).drop_last().collate(Stack);
    sequential = Loader::new(data(22, 5), 4, 7).sampler(unigrad_data::Sequential(22));
    drawn = Loader::new(data(22, 5), 4, 7).sampler(RandomOrder::new(22, 9).with_replacement(24));
    part = Loader::new(data(30, 5), 4, 7).sampler(SubsetOrder::new((3..27).collect(), 9));
    weighted = Loader::new(data(22, 5), 4, 7).sampler(Weighted::new((0..22).map(f64::from).collect(), 20, false, 9)?);
    balanced = Loader::new(data(22, 5), 4, 7).sampler(Weighted::balanced(&classes(22), 9)?);
    stratified = Loader::new(data(22, 5), 4, 7).sampler(Stratified::new(&classes(22), 9));
    shared = Loader::new(data(44, 5), 4, 7).sampler(Distributed::new(RandomOrder::new(44, 9), 1, 2)?);
    buckets = Loader::new(data(22, 5), 4, 7).batch_sampler(Buckets::new(&classes(22), 4, 9));
    batches = Loader::new(data(22, 5), 4, 7).batch_sampler(Batches::new(22, 4, 9));
    padded = Loader::new(texts(), 4, 7).batch_sampler(Buckets::new(&texts().lengths(), 4, 9)).collate(PadSequences::default()).map_batches(3, summed);
    noisy = Loader::new(data(22, 5), 4, 7).map_batches(3, |batch: Batch, rng| Ok(Batch { input: &batch.input * (1.0 + 0.1 * rng.normal()), ..batch }));
    mapped = Loader::new(data(12, 5).map(shaken).cached().concat(data(10, 6).map(shaken)).subset((0..21).collect())?, 4, 7).workers(2);
}

macro_rules! row {
    ($optimizer:expr, $settings:expr, $source:ident) => {
        row!($optimizer, $settings, $source, net)
    };
    ($optimizer:expr, $settings:expr, $source:ident, $model:ident) => {
        Row {
            text: concat!(stringify!($optimizer), " ", stringify!($settings), " ", stringify!($source)),
            train: |life| trained(life, $model, $optimizer, $settings, $source()?),
        }
    };
}

macro_rules! by_hand {
    ($train:expr) => {
        Row { text: stringify!($train), train: $train }
    };
}

pub(crate) const ROWS: &[Row] = &[
    row!(|p| Ok(Box::new(Sgd::new(p, 0.1)?.momentum(0.9)?)), |t| t.schedule(Schedule::cosine(12)), shuffled),
    row!(
        |p| Ok(Box::new(Sgd::new(p, 0.1)?.momentum(0.9)?.nesterov(true).clip_norm(0.5))),
        |t| t.schedule(Schedule::constant().warmup(4)),
        in_order
    ),
    row!(|p| Ok(Box::new(Adam::new(p, 0.01)?.amsgrad()?)), |t| t.schedule(Schedule::linear(12).floor(0.1)), whole),
    row!(
        |p| Ok(Box::new(Adam::new(p, 0.01)?.clip_value(0.1).l1_penalty(1e-3))),
        |t| t.schedule(Schedule::one_cycle(12)).callback(Ema::new(0.9)),
        threads
    ),
    row!(|p| Ok(Box::new(AdamW::new(p, 0.01)?.lookahead(3, 0.5)?)), |t| t.accumulate(2).callback(Ema::new(0.5)), alone),
    row!(|p| Ok(Box::new(AdamW::new(p, 0.01)?)), |t| t.precision(Precision::Bf16).clip(Clip::Norm(1.0)), ahead),
    row!(
        |p| Ok(Box::new(Adamax::new(p, 0.01)?.clip_each_norm(0.5))),
        |t| t.schedule(Schedule::step(4, 0.5)).callback(Swa::new(1)),
        sequential
    ),
    row!(|p| Ok(Box::new(Adamax::new(p, 0.01)?.l2_penalty(1e-2))), |t| t.read_every(3).schedule(Schedule::polynomial(12, 2.0)), drawn),
    row!(|p| Ok(Box::new(NAdam::new(p, 0.01)?)), |t| t.plateau("loss", plateau(Plateau::new(0.5))).schedule(Schedule::linear(12)), part),
    row!(
        |p| Ok(Box::new({
            let (a, b) = halves(p);
            NAdam::new(a, 0.01)?.join(NAdam::new(b, 0.02)?.betas(0.5, 0.9))?
        })),
        |t| t.schedule(Schedule::ramp(0.5, 1.0, 6)),
        weighted
    ),
    row!(|p| Ok(Box::new(RAdam::new(p, 0.01)?.gradient_noise(0.01, 0.55))), |t| t.schedule(Schedule::multi_step(&[3, 7], 0.5)), balanced),
    row!(|p| Ok(Box::new(RAdam::new(p, 0.01)?.centralize_gradients())), |t| t.schedule(Schedule::exponential(0.9)), stratified),
    row!(|p| Ok(Box::new(Adagrad::new(p, 0.01)?)), |t| t.schedule(Schedule::warm_restarts(4, 2)), shared),
    row!(
        |p| Ok(Box::new(Adagrad::new(p, 0.01)?.normalize_gradients())),
        |t| t.schedule(Schedule::cyclic(2.0, 2, 3, Peaks::Halved)),
        buckets
    ),
    row!(|p| Ok(Box::new(Adadelta::new(p, 1.0)?)), |t| t.schedule(Schedule::stable_decay(6, 6, Anneal::Linear)), batches),
    row!(
        |p| Ok(Box::new(Adadelta::new(p, 1.0)?.normalize_each_gradient())),
        |t| t.schedule(Schedule::of(|step| 1.0 / (1.0 + step as f64))),
        padded
    ),
    row!(
        |p| Ok(Box::new(RmsProp::new(p, 0.01)?.momentum(0.5)?.centered()?)),
        |t| t.schedule(Schedule::product(vec![Schedule::cosine(12), Schedule::step(3, 0.7)])),
        noisy
    ),
    row!(
        |p| Ok(Box::new(RmsProp::new(p, 0.01)?.elastic_penalty(1e-3, 0.5))),
        |t| t.schedule(Schedule::sequence(vec![Schedule::ramp(0.1, 1.0, 5), Schedule::exponential(0.9)], &[5])),
        shuffled
    ),
    row!(
        |p| Ok(Box::new(Rprop::new(p, 0.01)?)),
        |t| t.callback(stopping(EarlyStopping::new("val_loss", Better::Lower))).callback(Ema::new(0.9)),
        in_order
    ),
    row!(
        |p| Ok(Box::new(Rprop::new(p, 0.01)?.max_norm(1.0))),
        |t| t.schedule(Schedule::one_cycle_with(12, 0.4, 10.0, 100.0, Anneal::Linear, true)),
        sequential
    ),
    row!(|p| Ok(Box::new(Asgd::new(p, 0.1)?)), |t| t.schedule(Schedule::cosine(12)).accumulate(3).clip(Clip::Norm(1.0)), in_order),
    row!(|p| Ok(Box::new(Asgd::new(p, 0.1)?.clip_p_norm(1.0, 3.0))), |t| t.schedule(Schedule::polynomial(12, 1.0)), drawn),
    row!(
        |p| Ok(Box::new(Lion::new(p, 0.001)?)),
        |t| t.schedule(Schedule::linear(12)).callback(stopping(EarlyStopping::new("val_loss", Better::Lower))),
        shuffled
    ),
    row!(|p| Ok(Box::new(Lion::new(p, 0.001)?.clip_adaptively(0.01, 1e-3))), |t| t.schedule(Schedule::warm_restarts(3, 1)), part),
    row!(
        |p| Ok(Box::new(Lars::new(p, 0.1)?)),
        |t| t.schedule(Schedule::one_cycle_with(12, 0.3, 25.0, 1e4, Anneal::Cosine, false)),
        weighted
    ),
    row!(|p| Ok(Box::new(Lars::new(p, 0.1)?.clip_norm(0.1))), |t| t.schedule(Schedule::cyclic(3.0, 3, 2, Peaks::Equal)), balanced),
    row!(
        |p| Ok(Box::new(Lamb::new(p, 0.01)?.lookahead(2, 0.5)?)),
        |t| t.schedule(Schedule::stable_decay(4, 8, Anneal::Cosine).warmup(2)),
        stratified
    ),
    row!(|p| Ok(Box::new(Lamb::new(p, 0.01)?.clip_value(0.05))), |t| t.schedule(Schedule::of(|step| 0.9f64.powi(step as i32))), shared),
    row!(
        |p| Ok(Box::new(Adafactor::new(p, 0.01)?)),
        |t| t.schedule(Schedule::product(vec![Schedule::linear(12), Schedule::constant()])),
        buckets
    ),
    row!(
        |p| Ok(Box::new(Adafactor::new(p, 0.01)?.l1_penalty(1e-3))),
        |t| t.schedule(Schedule::sequence(vec![Schedule::constant(), Schedule::cosine(6)], &[6])),
        batches
    ),
    row!(|p| Ok(Box::new(Adan::new(p, 0.01)?)), |t| t.read_every(2), padded),
    row!(
        |p| Ok(Box::new(Adan::new(p, 0.01)?.l2_penalty(1e-2))),
        |t| t.clip(Clip::Value(0.01)).schedule(Schedule::ramp(1.0, 0.1, 12)),
        noisy
    ),
    row!(|p| Ok(Box::new(Sophia::new(p, 0.001)?)), |t| t.schedule(Schedule::step(5, 0.5)), threads),
    row!(
        |p| Ok(Box::new(Sophia::new(p, 0.001)?.clip_each_norm(0.5))),
        |t| t.schedule(Schedule::multi_step(&[4], 0.1)).callback(Swa::new(2)),
        alone
    ),
    row!(|p| Ok(Box::new(Muon::new(p, 0.01)?)), |t| t.schedule(Schedule::exponential(0.95)), ahead, matrices),
    row!(|p| Ok(Box::new(Muon::new(p, 0.01)?.centralize_gradients())), |t| t.schedule(Schedule::cosine(12).warmup(3)), shuffled, matrices),
    row!(|p| Ok(Box::new(Shampoo::new(p, 0.01)?.momentum(0.9)?)), |t| t.schedule(Schedule::linear(12).floor(0.2)), in_order),
    row!(|p| Ok(Box::new(Shampoo::new(p, 0.01)?.gradient_noise(0.01, 0.55))), |t| t.plateau("val_loss", plateau(Plateau::new(0.5))), whole),
    row!(
        |p| Ok(Box::new(AdamWScheduleFree::new(p, 0.01)?.warmup_steps(3))),
        |t| t.callback(KeepBest::new("val_accuracy", Better::Higher)),
        mapped
    ),
    row!(|p| Ok(Box::new(AdamWScheduleFree::new(p, 0.01)?.clip_p_norm(1.0, 1.0))), |t| t.checkpoint_every(2), mapped),
    row!(|p| Ok(Box::new(SgdScheduleFree::new(p, 0.1)?)), |t| t.accumulate(2), shuffled),
    row!(|p| Ok(Box::new(SgdScheduleFree::new(p, 0.1)?.normalize_gradients())), |t| t.checkpoint_every(3), threads),
    row!(|p| Ok(Box::new(SparseAdam::new(p, 0.01)?)), |t| t.callback(KeepBest::new("val_loss", Better::Lower)), stratified),
    row!(|p| Ok(Box::new(SparseAdam::new(p, 0.01)?.normalize_each_gradient())), |t| t.schedule(Schedule::one_cycle(12)), shared),
    row!(|p| Ok(Box::new(AdamW8bit::new(p, 0.01)?.least_size(1)?)), |t| t.schedule(Schedule::cosine(12)), buckets),
    row!(|p| Ok(Box::new(AdamW8bit::new(p, 0.01)?.least_size(1)?.elastic_penalty(1e-3, 0.5))), |t| t.checkpoint_every(2), padded),
    row!(|p| Ok(Box::new(Sgd::new(p, 0.1)?.momentum(0.9)?)), |t| t.precision(Precision::F16).schedule(Schedule::cosine(12)), in_order),
    row!(|p| Ok(Box::new(AdamW::new(p, 0.01)?)), |t| t.precision(Precision::F16), noisy),
    row!(
        |p| Ok(Box::new({
            let (a, b) = halves(p);
            AdamW::new(a, 0.01)?.add_group(Group { parameters: b, lr: 0.02, weight_decay: Some(0.1) })?.clip_adaptively(0.01, 1e-3)
        })),
        |t| t.callback(TensorBoard::new()),
        whole
    ),
    row!(
        |p| Ok(Box::new({
            let (a, b) = halves(p);
            let b = Group { parameters: b, lr: 0.02, weight_decay: None };
            AdamW::new(a, 0.01)?.join(AdamW::new(vec![], 0.01)?.betas(0.5, 0.9).add_group(b)?)?.max_norm(1.0)
        })),
        |t| t.callback(TensorBoard::new()),
        batches
    ),
    row!(
        |p| Ok(Box::new(Optimizer::with_rule(Signs, vec![Group { parameters: p, lr: 0.01, weight_decay: None }])?)),
        |t| t.schedule(Schedule::linear(12)),
        sequential
    ),
    row!(
        |p| Ok(Box::new(Optimizer::with_rule(Signs, vec![Group { parameters: p, lr: 0.01, weight_decay: None }])?.lookahead(3, 0.5)?)),
        |t| t.accumulate(2),
        drawn
    ),
    by_hand!(|life| by_hand::lbfgs(life, |p| Ok(Lbfgs::new(p, 0.5)?.max_iter(3)))),
    by_hand!(|life| by_hand::lbfgs(life, |p| Ok(Lbfgs::new(p, 1.0)?.max_iter(2).history_size(4).strong_wolfe(true)))),
    by_hand!(|life| by_hand::sam(life, |p| Ok(Sgd::new(p, 0.1)?.momentum(0.9)?.sam(0.05)))),
    by_hand!(|life| by_hand::sam(life, |p| Ok(AdamW::new(p, 0.01)?.sam(0.5).adaptive(true)))),
    by_hand!(|life| by_hand::averaged(life, |model| AveragedModel::ema(model, 0.9))),
    by_hand!(|life| by_hand::averaged(life, |model| Ok(AveragedModel::ema(model, 0.5)?.use_buffers(true)))),
    by_hand!(|life| by_hand::averaged(life, |model| Ok(AveragedModel::swa(model)?.use_buffers(false)))),
    by_hand!(|life| by_hand::averaged(life, |model| Ok(AveragedModel::swa(model)?.use_buffers(true)))),
    by_hand!(|life| by_hand::arrays(life, |life| ArrayOptimizer::new(&life.device, |p| AdamW::new(p, 0.1)))),
    by_hand!(|life| by_hand::arrays(life, |life| ArrayOptimizer::new(&life.device, by_hand::sgd).backup_every(3))),
];
