//! Networks by description, trained: the same bits as by hand, what data do not fit, settings in words, and configuration files.

mod support;

use std::path::PathBuf;
use support::{alone, device};
use unigrad_data::{Arrays, Loader, array};
use unigrad_nn::{Adam, CrossEntropyLoss, Layer, Linear, Module, Relu, Sequential, metrics::Accuracy};
use unigrad_tensor::{DType, ErrorKind, Tensor, manual_seed};
use unigrad_train::{
    Ended, Supervised, Trainer,
    network::{
        AdamSettings, ClassSettings, ConvSettings, LayerKind, LossSpec, MetricSpec, Network, NetworkBuilder, OptimizerSpec, RunConfig,
        ScheduleSpec, Stopping, TABLE, ToHost, TrainingConfig,
    },
};

/// 50 points of the plane, and on which side of a line they lie.
fn points() -> (Vec<f32>, Vec<i64>) {
    let x: Vec<f32> = (0..100).map(|i| ((i * 37 + 11) % 101) as f32 / 101.0).collect();
    let labels = x.chunks(2).map(|p| i64::from(p[0] > p[1])).collect();
    (x, labels)
}

fn plane() -> NetworkBuilder {
    Network::with_input_size(2).dense(8).relu().dropout(0.1).dense(2)
}

fn bits(losses: &[f32]) -> Vec<u32> {
    losses.iter().map(|loss| loss.to_bits()).collect()
}

#[test]
fn a_network_trains_as_a_trainer_by_hand_does() {
    let _alone = alone();
    let device = device();
    let (x, labels) = points();
    let config = TrainingConfig { batch_size: 7, max_epochs: 4, validation_split: 0.2, seed: 3, ..TrainingConfig::default() };
    let mut network = plane().seed(5).build_on(&device).unwrap();
    let history = network.train(&(&x[..], [50, 2]), &labels, &config).unwrap();

    manual_seed(5);
    let model =
        Sequential::new().add(Linear::new(2, 8, &device)).add(Relu).add(unigrad_nn::Dropout::new(0.1)).add(Linear::new(8, 2, &device));
    let part = |from: usize, to: usize| {
        Arrays::new(array(&x[2 * from..2 * to], &[to - from, 2]).unwrap(), array(&labels[from..to], &[to - from]).unwrap()).unwrap()
    };
    // The last fifth validates, unshuffled.
    let (train, validation) = (Loader::new(part(0, 40), 7, 3), Loader::new(part(40, 50), 256, 0).in_order());
    let optimizer = Adam::new(model.parameters(), 1e-3).unwrap();
    let mut learner = Supervised::new(model, CrossEntropyLoss::default(), optimizer);
    let run =
        Trainer::new(&device).epochs(4).seed(3).metric(Accuracy::default).quiet().fit(&mut learner, &train, Some(&validation)).unwrap();
    assert_eq!(bits(&history.step_losses), bits(&run.history.step_losses));
    assert_eq!((history.step_losses.len(), &history.val_metrics), (24, &run.history.val_metrics));
    let weights = |parameters: Vec<Tensor>| -> Vec<Vec<f32>> { parameters.iter().map(|p| p.to_vec().unwrap()).collect() };
    assert_eq!(weights(network.parameters()), weights(learner.model.parameters()));
    // What validation measured is what `evaluate` measures.
    let judged = network.evaluate(&(&x[80..], [10, 2]), &labels[40..]).unwrap();
    assert_eq!(judged["accuracy"], history.last("val_accuracy").unwrap());
    assert!((judged["loss"] - history.last("val_loss").unwrap()).abs() < 1e-6);
}

/// Classes of pixels: by name, on the axis where the network has them.
#[test]
fn pixels_are_judged_by_name() {
    let _alone = alone();
    let device = device();
    let (n, side) = (24, 4);
    let x: Vec<f32> = (0..n * side * side).map(|i| (i * 37 % 101) as f32 / 101.0 - 0.5).collect();
    // The class is whether a pixel is bright; every seventh has none.
    let labels: Vec<i64> = x.iter().enumerate().map(|(i, x)| if i % 7 == 6 { -100 } else { i64::from(*x > 0.0) }).collect();
    let (x, labels) = (array(&x, &[n, 1, side, side]).unwrap(), array(&labels, &[n, side, side]).unwrap());
    let conv = |channels: usize| LayerKind::Conv2d(ConvSettings::new(channels, 1));
    let mut network = Network::with_input([1, side, side]).layer(conv(8)).relu().layer(conv(2)).seed(1).build_on(&device).unwrap();
    assert_eq!(network.output_shape(), [2, side, side]);
    let class = |class: usize| MetricSpec::Iou(ClassSettings { class: Some(class), ..ClassSettings::default() });
    let metrics = Some(vec![MetricSpec::Accuracy, MetricSpec::Iou(ClassSettings::default()), class(0), class(1)]);
    let optimizer = OptimizerSpec::Adam(AdamSettings { lr: 0.05, ..AdamSettings::default() });
    let config = TrainingConfig { batch_size: 8, max_epochs: 40, validation_split: 0.25, metrics, optimizer, ..TrainingConfig::default() };
    let history = network.train(&x, &labels, &config).unwrap();
    let last = |name: &str| history.last(name).unwrap_or_else(|| panic!("{name} is missing: {:?}", history.val_metrics.keys()));
    let mean = (last("val_iou_0") + last("val_iou_1")) / 2.0;
    assert!((last("val_iou") - mean).abs() < 1e-12 && mean > 0.9, "{mean}");
    // Pixels of no class are not right.
    assert!((last("val_accuracy") - 6.0 / 7.0).abs() < 0.06, "{}", last("val_accuracy"));
    let none = TrainingConfig { metrics: Some(vec![class(2)]), ..config };
    assert!(network.train(&x, &labels, &none).unwrap_err().to_string().contains("class 2, and there are 2"));
}

#[test]
fn predictions_are_made_in_batches_and_in_use() {
    let _alone = alone();
    let device = device();
    let mut network = plane().seed(1).build_on(&device).unwrap();
    let x: Vec<f32> = (0..2 * 600).map(|i| (i % 83) as f32 / 83.0).collect();
    let all = network.predict(&(&x[..], [600, 2])).unwrap();
    assert_eq!(all.shape(), [600, 2]);
    // Dropout drops nothing, and drops again while training.
    let all = all.to_vec::<f32>().unwrap();
    assert_eq!(network.predict(&(&x[..1022], [511, 2])).unwrap().to_vec::<f32>().unwrap(), all[..1022]);
    let t = Tensor::from_slice(&x, [600, 2], &device);
    assert_ne!(network.forward(&t).to_vec::<f32>().unwrap(), network.forward(&t).to_vec::<f32>().unwrap());
    let probabilities = network.predict_probabilities(&t).unwrap().to_vec::<f32>().unwrap();
    assert!(probabilities.chunks(2).all(|p| (p[0] + p[1] - 1.0).abs() < 1e-6));
    let classes = network.predict_classes(&t).unwrap();
    assert!(classes.iter().zip(all.chunks(2)).all(|(class, scores)| (*class == 1) == (scores[1] > scores[0])));
    assert!(network.predict(&Vec::<f32>::new()).is_err());
    let mut regression = Network::with_input_size(2).dense(1).loss(LossSpec::Mse).build_on(&device).unwrap();
    assert_eq!(regression.predict(&t).unwrap().shape(), [600, 1]);
    assert!(regression.predict_classes(&t).unwrap_err().to_string().contains("numbers, not classes"));
}

#[test]
fn every_optimizer_and_schedule_in_words_trains() {
    let _alone = alone();
    let device = device();
    let (x, labels) = points();
    let optimizers = [
        r#"{"sgd":{"lr":0.1,"momentum":0.9,"nesterov":true}}"#,
        r#"{"adam":{"amsgrad":true,"betas":[0.8,0.99]}}"#,
        r#"{"adamw":{}}"#,
        r#"{"nadam":{"decoupled":true,"weight_decay":0.1}}"#,
        r#"{"radam":{}}"#,
        r#"{"adamax":{}}"#,
        r#"{"adagrad":{"initial_accumulator":0.1}}"#,
        r#"{"adadelta":{}}"#,
        r#"{"rmsprop":{"momentum":0.5,"centered":true}}"#,
        r#"{"rprop":{}}"#,
        r#"{"asgd":{}}"#,
        r#"{"lion":{}}"#,
        r#"{"adan":{}}"#,
    ];
    let schedules = [
        r#"{"constant":{"warmup":3}}"#,
        r#"{"cosine":{"warmup":2,"floor":0.1}}"#,
        r#"{"linear":{}}"#,
        r#"{"polynomial":{"power":2}}"#,
        r#"{"step":{"every":1,"unit":"epoch"}}"#,
        r#"{"multi_step":{"milestones":[2,4],"gamma":0.5}}"#,
        r#"{"exponential":{"gamma":0.9}}"#,
        r#"{"warm_restarts":{"first":2,"growth":2}}"#,
        r#"{"cyclic":{"highest":2,"up":2}}"#,
        r#"{"one_cycle":{}}"#,
        r#"{"stable_decay":{"warmup":1,"decay":2}}"#,
        r#"{"plateau":{"metric":"loss","patience":0,"factor":0.5}}"#,
        r#"{"plateau":{}}"#,
    ];
    for (optimizer, schedule) in optimizers.iter().zip(schedules) {
        let optimizer: OptimizerSpec = serde_json::from_str(optimizer).unwrap();
        let schedule: ScheduleSpec = serde_json::from_str(schedule).unwrap();
        let mut network = plane().seed(1).build_on(&device).unwrap();
        let before: Vec<Vec<f32>> = network.parameters().iter().map(|p| p.to_vec().unwrap()).collect();
        let config = TrainingConfig {
            batch_size: 20,
            max_epochs: 2,
            validation_split: 0.2,
            optimizer: optimizer.clone(),
            schedule: Some(schedule),
            clip_norm: Some(1.0),
            ..TrainingConfig::default()
        };
        let history = network.train(&(&x[..], [50, 2]), &labels, &config).unwrap_or_else(|e| panic!("{optimizer:?}: {e}"));
        assert_eq!(history.step_losses.len(), 4);
        let after: Vec<Vec<f32>> = network.parameters().iter().map(|p| p.to_vec().unwrap()).collect();
        assert!(before.iter().zip(&after).all(|(b, a)| b != a), "{optimizer:?}");
        // What it says it keeps is what it keeps.
        let kept = optimizer.build(&network).unwrap().state_dict().unwrap();
        let n = kept.keys().filter(|name| name.starts_with("state.0.")).count();
        assert_eq!(optimizer.n_state_tensors(), n, "{optimizer:?}");
        assert_eq!(serde_json::from_str::<OptimizerSpec>(&serde_json::to_string(&optimizer).unwrap()).unwrap(), optimizer);
    }
    // The step schedule counted epochs: a tenth in the second one.
    let config = TrainingConfig {
        batch_size: 25,
        max_epochs: 3,
        schedule: Some(serde_json::from_str(schedules[4]).unwrap()),
        ..TrainingConfig::default()
    };
    let history = plane().build_on(&device).unwrap().train(&(&x[..], [50, 2]), &labels, &config).unwrap();
    let rates: Vec<f64> = history.lr.iter().map(|lr| (lr * 1e9).round() / 1e9).collect();
    assert_eq!(rates, [1e-3, 1e-4, 1e-5]);
}

#[test]
fn every_loss_in_words_is_computed() {
    let _alone = alone();
    let device = device();
    let y = Tensor::from_slice(&[0.2f32, -0.4, 0.7, 0.1, 0.5, -0.3], [2, 3], &device);
    for (text, target) in [
        (r#"{"cross_entropy":{"label_smoothing":0.1,"ignore_index":null,"class_weights":[1,2,3]}}"#, "classes"),
        (r#"{"nll":{}}"#, "classes"),
        (r#"{"bce_with_logits":{"pos_weight":[2]}}"#, "bits"),
        (r#"{"bce":{}}"#, "probabilities"),
        (r#""mse""#, "bits"),
        (r#""l1""#, "bits"),
        (r#"{"huber":{"delta":0.5}}"#, "bits"),
        (r#"{"smooth_l1":{"beta":0.5}}"#, "bits"),
        (r#"{"kl_div":{}}"#, "bits"),
        (r#"{"poisson_nll":{"full":true}}"#, "bits"),
        (r#"{"multi_margin":{"p":2}}"#, "classes"),
        (r#""soft_margin""#, "signs"),
        (r#"{"hinge_embedding":{}}"#, "signs"),
        (r#"{"multilabel_soft_margin":{}}"#, "bits"),
        (r#""multilabel_margin""#, "bits"),
        (r#"{"focal":{}}"#, "bits"),
        (r#"{"dice":{}}"#, "probabilities"),
    ] {
        let spec: LossSpec = serde_json::from_str(text).unwrap();
        let target = match target {
            "classes" => Tensor::new([2i64, 0], &device),
            "signs" => Tensor::from_slice(&[1.0f32, -1.0, 1.0, 1.0, -1.0, -1.0], [2, 3], &device),
            _ => Tensor::from_slice(&[1.0f32, 0.0, 1.0, 1.0, 0.0, 0.0], [2, 3], &device),
        };
        let y = if text.contains("bce\"") || text.contains("dice") { y.sigmoid() } else { y.clone() };
        let loss = spec.build(&device).unwrap().forward(&y, &target);
        assert!(loss.shape().is_empty() && loss.to_f64().unwrap().is_finite(), "{text}");
        assert_eq!(serde_json::from_value::<LossSpec>(serde_json::to_value(&spec).unwrap()).unwrap(), spec);
    }
    for wrong in [
        LossSpec::Huber { delta: -1.0 },
        LossSpec::CrossEntropy { label_smoothing: 2.0, ignore_index: None, class_weights: vec![] },
        LossSpec::Nll { ignore_index: None, class_weights: vec![f64::NAN] },
    ] {
        assert_eq!(wrong.build(&device).err().unwrap().kind(), ErrorKind::Argument);
    }
}

#[test]
fn data_that_do_not_fit_are_told_before_anything_changes() {
    let _alone = alone();
    let device = device();
    let (x, labels) = points();
    let mut network = plane().seed(1).build_on(&device).unwrap();
    let before: Vec<Vec<f32>> = network.parameters().iter().map(|p| p.to_vec().unwrap()).collect();
    let good = TrainingConfig { max_epochs: 1, ..TrainingConfig::default() };
    let inputs = (&x[..], [50usize, 2]);
    let mut nan = x.clone();
    nan[31] = f32::NAN;
    let mut label = labels.clone();
    label[17] = 2;
    let mut told =
        |inputs: &dyn Fn() -> unigrad_tensor::Result<unigrad_nn::HostTensor>, labels: &[i64], config: &TrainingConfig, parts: &[&str]| {
            let error = inputs().and_then(|inputs| network.train(&inputs, labels, config)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument);
            let text = error.to_string();
            assert!(text.contains("help: "), "{text}");
            parts.iter().for_each(|part| assert!(text.contains(part), "no {part:?} in {text}"));
        };
    let all = || inputs.to_host();
    told(&|| (&x[..99], [33usize, 3]).to_host(), &labels[..33], &good, &["takes inputs [n, 2], and these are [n, 3]"]);
    told(&|| (&x[..99], [50usize, 2]).to_host(), &labels, &good, &["99 values do not fill [50, 2]"]);
    told(&all, &labels[..49], &good, &["50 inputs and 49 targets"]);
    told(&|| (&nan[..], [50usize, 2]).to_host(), &labels, &good, &["the inputs: item 15", "not finite (element 1)"]);
    told(&all, &label, &good, &["the label of item 17 is 2, and the network has 2 classes"]);
    for (config, part) in [
        (TrainingConfig { batch_size: 0, ..good.clone() }, "`batch_size` is 0"),
        (TrainingConfig { validation_split: 1.0, ..good.clone() }, "validation split of 1"),
        (TrainingConfig { validation_split: f64::NAN, ..good.clone() }, "validation split"),
        (TrainingConfig { clip_norm: Some(-1.0), ..good.clone() }, "`clip_norm` is -1"),
        (TrainingConfig { optimizer: OptimizerSpec::default().with_lr(0.0), ..good.clone() }, "`lr` is 0"),
        (TrainingConfig { optimizer: OptimizerSpec::default().with_lr(f64::NAN), ..good.clone() }, "`lr` is not finite"),
        (
            TrainingConfig { early_stopping: Some(Stopping { metric: "val_los".into(), ..Stopping::default() }), ..good.clone() },
            "`val_los`",
        ),
    ] {
        if part != "`val_los`" {
            told(&all, &labels, &config, &[part]);
        }
    }
    let after: Vec<Vec<f32>> = network.parameters().iter().map(|p| p.to_vec().unwrap()).collect();
    assert_eq!(before, after);
    assert!(network.predict(&(&x[..], [50, 2])).is_ok(), "it works on");
    let mut numbers = Network::with_input_size(2).dense(3).loss(LossSpec::Mse).build_on(&device).unwrap();
    let told = numbers.train(&inputs, &vec![0.5f32; 50], &good).unwrap_err().to_string();
    assert!(told.contains("output is [n, 3], and its targets are f32 [n]"), "{told}");
    let mut tokens = Network::with_input([4]).embedding(9, 3).flatten().dense(2).build_on(&device).unwrap();
    assert!(tokens.predict(&(&x[..], [25, 4])).unwrap_err().to_string().contains("takes tokens"));
    assert_eq!(tokens.predict_classes(&(&[1u8, 2, 3, 8][..], [1, 4])).unwrap().len(), 1);
}

#[test]
fn training_stops_early_and_keeps_the_best() {
    let _alone = alone();
    let device = device();
    let (x, labels) = points();
    let mut network = plane().seed(1).build_on(&device).unwrap();
    let config = TrainingConfig {
        max_epochs: 200,
        validation_split: 0.2,
        // A rate at which it gets worse soon.
        optimizer: serde_json::from_str(r#"{"sgd":{"lr":30}}"#).unwrap(),
        early_stopping: Some(Stopping { patience: 2, ..Stopping::default() }),
        ..TrainingConfig::default()
    };
    let run = network.train_run(&(&x[..], [50, 2]), &labels, &config).unwrap();
    assert!(matches!(&run.ended, Ended::Stopped(why) if why.contains("val_loss")), "{:?}", run.ended);
    let losses = &run.history.val_metrics["loss"];
    let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(losses.len() < 200 && losses.iter().position(|l| *l == best) == Some(losses.len() - 4), "{losses:?}");
    let judged = network.evaluate(&(&x[80..], [10, 2]), &labels[40..]).unwrap();
    assert!((judged["loss"] - best).abs() < 1e-6, "{judged:?} and {best}");
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("unigrad-network-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn flowers() -> String {
    let mut text = "colour,petal,weight,kind\n".to_owned();
    for i in 0..60 {
        let petal = i as f64 / 10.0;
        let colour = ["red", "blue", "white"][i % 3];
        text += &format!("{colour},{petal},{},{}\n", 10 - i % 7, if petal > 3.0 { "rose" } else { "iris" });
    }
    text
}

#[test]
fn a_configuration_file_is_a_whole_run() {
    let _alone = alone();
    device();
    let folder = Folder::new("config");
    let csv = folder.0.join("flowers.csv");
    std::fs::write(&csv, flowers()).unwrap();
    let text = format!(
        r#"
device = "cpu"
loss = "cross_entropy"

[data.csv]
file = {csv:?}
target = "kind"
ignore = ["weight"]

[network]
layers = [
    {{ dense = {{ units = 16 }}, name = "stem" }},   # what a comment says
    "relu",
    "output",
]

[optimizer.adamw]
lr = 0.02
weight_decay = 0.0

[schedule.cosine]
warmup = 5

[train]
max_epochs = 30
batch_size = 8
validation_split = 0.2
folder = {out:?}

[train.early_stopping]
patience = 30
"#,
        out = folder.0.join("out")
    );
    let config = RunConfig::parse(&text, "flowers.toml").unwrap();
    let (mut network, run) = config.run().unwrap();
    assert!(run.history.last("val_accuracy") > Some(0.8), "{:?}", run.history.val_metrics);
    assert_eq!(network.named_parameters()[0].0, "stem.weight");
    // Red, blue, white and the petal.
    assert_eq!((network.input_shape(), network.output_shape()), (&[4usize][..], &[2usize][..]));
    let mut again = Network::load(folder.0.join("out/model.safetensors")).unwrap();
    assert!(again.metadata(TABLE).is_some_and(|schema| schema.contains("petal")));
    let x = Tensor::randn([5, 4], DType::F32, network.device()).realize().unwrap();
    assert_eq!(again.predict(&x).unwrap().to_vec::<f32>().unwrap(), network.predict(&x).unwrap().to_vec::<f32>().unwrap());
    assert!(folder.0.join("out/metrics.csv").exists() && folder.0.join("out/report.html").exists());
    // A regression answers one number.
    let text = text.replace("\"kind\"", "\"petal\"").replace("loss = \"cross_entropy\"", "").replace("[\"weight\"]", "[\"kind\"]");
    let config = RunConfig::parse(&text.replace("/out\"", "/second\""), "flowers.toml").unwrap();
    let (network, run) = config.run().unwrap();
    assert_eq!((network.output_shape(), &network.architecture().loss), (&[1usize][..], &LossSpec::Mse));
    assert!(run.history.last("val_mae").is_some());
}

#[test]
fn mistakes_in_configuration_files_are_told_with_their_line() {
    let _alone = alone();
    let good = r#"data = "digits"
[network]
layers = [
  "flatten",
  { dense = { units = 8 } },
  "output",
]
[optimizer.adam]
lr = 0.1
[train]
max_epochs = 2
"#;
    RunConfig::parse(good, "x.toml").unwrap();
    for (from, to, line, parts) in [
        ("\"digits\"", "\"digit\"", 1, &["unknown variant `digit`", "did you mean `digits`?"][..]),
        ("\"digits\"", "3", 1, &["invalid type: integer `3`", "a kind of data"]),
        ("data = \"digits\"", "", 1, &["missing field `data`"]),
        ("[network]", "[networks]", 2, &["unknown field `networks`", "did you mean `network`?"]),
        ("layers", "input = [-1]\nlayers", 3, &["invalid value: integer `-1`"]),
        ("\"flatten\"", "\"flat\"", 4, &["unknown variant `flat`"]),
        ("\"flatten\"", "\"dens\"", 4, &["unknown variant `dens`", "did you mean `dense`?"]),
        ("\"flatten\"", "\"dense\"", 4, &["missing field `units`"]),
        ("units = 8", "unit = 8", 5, &["unknown field `unit`", "did you mean `units`?"]),
        ("units = 8", "units = \"8\"", 5, &["invalid type: string \"8\"", "usize"]),
        ("units = 8", "units = 8, bias = 1", 5, &["invalid type: integer `1`", "boolean"]),
        ("units = 8 }", "units = 8 }, relu = {}", 5, &["`dense` and `relu`"]),
        ("[optimizer.adam]", "[optimizer.adams]", 8, &["unknown variant `adams`", "did you mean `adam`?"]),
        ("lr = 0.1", "learning_rate = 0.1", 9, &["unknown field `learning_rate`", "use one of lr"]),
        ("lr = 0.1", "lr = \"fast\"", 9, &["invalid type: string \"fast\""]),
        ("max_epochs = 2", "max_epoch = 2", 11, &["unknown field `max_epoch`", "did you mean `max_epochs`?"]),
        ("max_epochs = 2", "max_epochs = 2.5", 11, &["invalid type: floating point `2.5`"]),
        ("max_epochs = 2", "max_epochs = ", 11, &[]),
        ("max_epochs = 2", "max_epochs = 2\nmax_epochs = 3", 12, &["duplicate key"]),
        ("max_epochs = 2", "early_stopping = { patience = -1 }", 11, &["`-1`"]),
        ("lr = 0.1", "lr = 0.1\n[schedule.cosines]", 10, &["unknown variant `cosines`", "did you mean `cosine`?"]),
        ("lr = 0.1", "lr = 0.1\n[loss.huber]\ndelat = 1.0", 11, &["unknown field `delat`", "did you mean `delta`?"]),
    ] {
        assert!(good.contains(from));
        let error = RunConfig::parse(&good.replacen(from, to, 1), "x.toml").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Format);
        let told = error.to_string();
        assert!(told.starts_with(&format!("x.toml: line {line}: ")) && told.contains("\n help: "), "{to}: line {line}? {told}");
        parts.iter().for_each(|part| assert!(told.contains(part), "{to}: no {part:?} in {told}"));
    }
    assert_eq!(RunConfig::load("nowhere.toml").unwrap_err().kind(), ErrorKind::File);
    // Text of any kind is refused, and nothing panics.
    let mut state = 5u64;
    for _ in 0..2000 {
        let mut text = good.as_bytes().to_vec();
        for _ in 0..3 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = (state >> 33) as usize % text.len();
            text[at] = b"{}[]\"=.,\n\\0aZ-\xff#"[(state >> 50) as usize % 16];
        }
        let _ = RunConfig::parse(&String::from_utf8_lossy(&text), "x.toml");
    }
    let deep = format!("data = {}1{}", "[".repeat(5000), "]".repeat(5000));
    assert!(RunConfig::parse(&deep, "x.toml").is_err());
}

#[test]
fn data_without_a_network_that_fits_are_told() {
    let _alone = alone();
    device();
    let folder = Folder::new("data");
    let csv = folder.0.join("flowers.csv");
    std::fs::write(&csv, flowers()).unwrap();
    let run = |data: &str, layers: &str| {
        let text = format!("device = \"cpu\"\n{data}\n[network]\nlayers = [{layers}]\n[train]\nmax_epochs = 1\n");
        RunConfig::parse(&text, "x.toml").and_then(|config| config.run()).map(|_| ()).unwrap_err().to_string()
    };
    let table = |target: &str| format!("[data.csv]\nfile = {csv:?}\ntarget = {target:?}");
    assert!(run(&table("kinds"), "\"output\"").contains("kind"), "an unknown target names a known one");
    assert!(run("[data.csv]\nfile = \"nowhere.csv\"\ntarget = \"x\"", "\"output\"").contains("nowhere.csv"));
    assert!(run(&table("kind"), "{ conv2d = { channels = 2, kernel = 3 } }, \"output\"").contains("layer 0 (conv2d) does not fit"));
    let told = run(&table("kind"), "{ dense = { units = 1 } }");
    assert!(told.contains("the data need 2 outputs, and the network has 1"), "{told}");
}
