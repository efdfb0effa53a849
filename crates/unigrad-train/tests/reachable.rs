//! What the library exports, and how a configuration file says it: every optimizer, wrapper, schedule, loss, metric and layer is reached, or stands here with
//! the reason why not. A new export that is in neither list fails.

mod support;

use std::collections::BTreeSet;
use support::{
    alone, device,
    reach::How::{Not, Part, Said},
    reach::{exported, said},
};
use unigrad_nn::Layer;
use unigrad_tensor::Tensor;
use unigrad_train::network::{Architecture, LossSpec, Network, Prepared, RunConfig};

const SEVERAL: &str = "takes several inputs: write a struct with `#[derive(Module)]`, or a step of your own";
const TOOL: &str = "a function or a type for programs, not a part of a run";

/// Data of two numbers, and which of them is greater.
fn file(rest: &str) -> String {
    format!(
        "device = \"cpu\"\ndata = \"digits\"\n{rest}\n[network]\nlayers = [\"flatten\", {{ dense = {{ units = 6 }} }}, \"tanh\", \
         {{ dense = {{ units = 6 }} }}, \"relu\", \"output\"]\n"
    )
}

fn digits(config: &RunConfig) -> Prepared {
    let mut data = config.data.read(0).unwrap();
    data.samples = std::sync::Arc::new(unigrad_data::Dataset::subset(data.samples, (0..40).collect()).unwrap());
    data
}

/// Runs two steps; the losses.
fn run(name: &str, text: &str) -> Vec<f32> {
    let text = if text.contains("[train") {
        text.replacen("[train]", "[train]\nmax_epochs = 1\nbatch_size = 10", 1)
    } else {
        format!("{text}[train]\nmax_epochs = 1\nbatch_size = 10\n")
    };
    let config = RunConfig::parse(&text, name).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
    let data = digits(&config);
    let mut network = config.build(&data, &device()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let trained = network.train_prepared(&data, &config.train, |trainer| trainer).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(trained.history.step_losses.iter().all(|loss| loss.is_finite()), "{name}");
    trained.history.step_losses
}

#[test]
fn every_optimizer_is_reached() {
    let _alone = alone();
    let names = exported(include_str!("../../unigrad-nn/src/optim/mod.rs"));
    let names: BTreeSet<String> =
        names.into_iter().filter(|name| !name.ends_with("Rule") || name == "Rule" || name == "LookaheadRule").collect();
    let table = [
        ("Adafactor", Said("[optimizer.adafactor]\nlr = 0.1")),
        ("Adagrad", Said("[optimizer.adagrad]")),
        ("Adadelta", Said("[optimizer.adadelta]")),
        ("Adam", Said("[optimizer.adam]\namsgrad = true")),
        ("AdamW", Said("[optimizer.adamw]\nbetas = [0.8, 0.9]")),
        ("AdamW8bit", Said("[optimizer.adamw8bit]\nleast_size = 100")),
        ("AdamWScheduleFree", Said("[optimizer.adamw_schedule_free]\nwarmup_steps = 1")),
        ("Adamax", Said("[optimizer.adamax]")),
        ("Adan", Said("[optimizer.adan]")),
        ("AdjustLr", Said("[optimizer.muon]\nadjust_lr = \"match_rms_adamw\"")),
        ("Asgd", Said("[optimizer.asgd]")),
        ("AveragedModel", Said("[train]\nema = 0.9\nvalidation_split = 0.5\n")),
        ("Lamb", Said("[optimizer.lamb]\nbias_correction = false")),
        ("Lars", Said("[optimizer.lars]\nadapts_vectors = true")),
        ("Lbfgs", Said("[optimizer.lbfgs]\nmax_iter = 3\nstrong_wolfe = true")),
        ("Lion", Said("[optimizer.lion]")),
        ("LookaheadRule", Said("[train]\nlookahead = { every = 2, alpha = 0.5 }\n")),
        ("Muon", Said("[optimizer.muon]\nadamw_lr = 1e-3")),
        ("NAdam", Said("[optimizer.nadam]")),
        ("RAdam", Said("[optimizer.radam]")),
        ("RmsProp", Said("[optimizer.rmsprop]\ncentered = true")),
        ("Rprop", Said("[optimizer.rprop]")),
        ("Sam", Said("[train]\nsam = { rho = 0.05, adaptive = true }\n")),
        ("Sgd", Said("[optimizer.sgd]\nmomentum = 0.9")),
        ("SgdScheduleFree", Said("[optimizer.sgd_schedule_free]")),
        ("Shampoo", Said("[optimizer.shampoo]\nmomentum = 0.5")),
        ("Sophia", Said("[optimizer.sophia]\nevery = 1")),
        ("SparseAdam", Said("[optimizer.sparse_adam]")),
        ("GradScaler", Said("[train]\nprecision = \"f16\"\naccumulate = 2\nclip_norm = 1.0\n")),
        ("ScalerOptions", Part),
        ("clip_grad_norm", Said("[train]\nclip_norm = 0.5\nclip_each_norm = 0.2\n")),
        ("clip_grad_value", Said("[train]\nclip_value = 1e-3\n")),
        (
            "clip_grad_adaptively",
            Said(
                "[train]\nclip_adaptively = { factor = 0.01 }\n[train.gradients]\ncentralize = true\nnormalize = \"each\"\nnoise = {}\nl1 = 1e-4\nl2 = 1e-4\nmax_norm = 3.0\n",
            ),
        ),
        ("clip_grad_norm_with", Said("[train]\nclip_norm = 0.01\nclip_norm_type = inf\n")),
        ("update_bn", Not("`swa_start` averages running statistics; a pass over the data for them is for programs")),
        ("grad_norm", Not(TOOL)),
        ("ArrayOptimizer", Not("trains arrays of a program, without a network")),
        ("Values", Not(TOOL)),
        ("ValuesMut", Not(TOOL)),
        ("View", Not(TOOL)),
        ("ViewMut", Not(TOOL)),
        ("Climbed", Not(TOOL)),
        ("Group", Said("[[groups]]\nparameters = [\"*.bias\"]\nlr = 0.5\n")),
        ("Optimize", Not(TOOL)),
        ("optimize_types", Not(TOOL)),
        ("Optimizer", Not(TOOL)),
        ("Rule", Not(TOOL)),
        ("StepNumbers", Not(TOOL)),
    ];
    let plain = run("plain", &file(""));
    for (name, text) in said("optimizers", &names, &table) {
        let losses = run(name, &file(text));
        // The first loss is that of the same network; what comes after differs, but for averages.
        if !text.contains("accumulate") && !text.contains("validation_split") {
            assert_eq!(losses[0].to_bits(), plain[0].to_bits(), "{name}");
            // The greatest second moment is the last one here.
            assert!(name == "Adam" || losses != plain, "{name}");
        }
    }
    // Averages over epochs, and what writes files.
    run("swa", &file("[train]\nswa_start = 1\nvalidation_split = 0.5\n"));
}

#[test]
fn products_in_8_bit_floats_are_reached() {
    let _alone = alone();
    let half = run("bf16", &file("[train]\nprecision = \"bf16\"\n"));
    let mut all = vec![half];
    // A margin changes only what is rounded to subnormal numbers, of which there are none here: that it arrives shows where it is refused.
    for settings in ["", "amax_history_len = 2\n", "stochastic_rounding = true\n"] {
        let losses = run("fp8", &file(&format!("[train]\nprecision = \"fp8\"\n[train.fp8]\n{settings}")));
        assert!(!all.contains(&losses), "{settings}");
        all.push(losses);
    }
    for (settings, says) in [
        ("precision = \"bf16\"\nfp8 = { margin = 1 }", "precision = \"fp8\""),
        ("precision = \"fp8\"\nfp8 = { margin = 7 }", "margin"),
        ("precision = \"fp8\"\nfp8 = { amax_history_len = 0 }", "at least 1"),
    ] {
        let config = RunConfig::parse(&file(&format!("[train]\n{settings}\n")), "fp8.toml").unwrap();
        let data = digits(&config);
        let error = config.build(&data, &device()).unwrap().train_prepared(&data, &config.train, |trainer| trainer).err();
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(says), "{settings}: {error}");
    }
    assert!(RunConfig::parse(&file("[train.fp8]\nscaling = 1\n"), "fp8.toml").is_err());
}

#[test]
fn the_loss_scale_is_reached() {
    let _alone = alone();
    // A scale that no gradient of F16 bears: the first steps are not taken.
    let small = run("f16", &file("[train]\nprecision = \"f16\"\n[train.loss_scale]\ninit_scale = 8.0\n"));
    let huge = run("f16", &file("[train]\nprecision = \"f16\"\nloss_scale = { init_scale = 1e38, backoff_factor = 0.9 }\n"));
    assert_eq!(huge[0].to_bits(), small[0].to_bits());
    assert_ne!(huge, small);
    for (settings, says) in [
        ("precision = \"bf16\"\nloss_scale = { growth_interval = 3 }", "precision = \"f16\""),
        ("precision = \"f16\"\nloss_scale = { backoff_factor = 1.5 }", "backs off by 1.5"),
        ("precision = \"f16\"\nloss_scale = { growth_interval = 0 }", "a growth interval of 0 steps"),
    ] {
        let config = RunConfig::parse(&file(&format!("[train]\n{settings}\n")), "scale.toml").unwrap();
        let data = digits(&config);
        let error = config.build(&data, &device()).unwrap().train_prepared(&data, &config.train, |trainer| trainer).err();
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(says), "{settings}: {error}");
    }
    let told = RunConfig::parse(&file("[train.loss_scale]\ninit = 1.0\n"), "scale.toml").unwrap_err().to_string();
    assert!(told.contains("line ") && told.contains("`init_scale`"), "{told}");
}

#[test]
fn every_schedule_is_reached() {
    let _alone = alone();
    let text = include_str!("../../unigrad-nn/src/schedule/mod.rs");
    let makes = |line: &&str| line.trim_start().starts_with("pub fn ") && line.contains("-> Schedule {") && !line.contains("self");
    let names: BTreeSet<String> =
        text.lines().filter(makes).map(|line| line.trim().trim_start_matches("pub fn ").split('(').next().unwrap().to_owned()).collect();
    let types = include_str!("../../unigrad-nn/src/lib.rs").split("pub use schedule::").nth(1).unwrap().split(';').next().unwrap();
    let exported: BTreeSet<String> = names.into_iter().chain(exported(&format!("pub use {types};"))).collect();
    let table = [
        ("constant", Said("[schedule.constant]\nwarmup = 1")),
        ("cosine", Said("[schedule.cosine]")),
        ("linear", Said("[schedule.linear]\nfloor = 0.1")),
        ("ramp", Said("[schedule.ramp]\nfrom = 0.1")),
        ("step", Said("[schedule.step]\nevery = 1")),
        ("multi_step", Said("[schedule.multi_step]\nmilestones = [1]")),
        ("exponential", Said("[schedule.exponential]\ngamma = 0.5\nunit = \"epoch\"")),
        ("polynomial", Said("[schedule.polynomial]\npower = 2")),
        ("warm_restarts", Said("[schedule.warm_restarts]\nfirst = 1")),
        ("cyclic", Said("[schedule.cyclic]\nhighest = 2\nup = 2\ngamma = 0.9")),
        ("one_cycle", Said("[schedule.one_cycle]")),
        ("one_cycle_with", Said("[schedule.one_cycle]\nback = true\nanneal = \"linear\"")),
        ("stable_decay", Said("[schedule.stable_decay]\ndecay = 1")),
        ("product", Said("[schedule.product]\nparts = [{ ramp = { from = 0.1 } }, { exponential = { gamma = 0.9 } }]")),
        ("sequence", Said("[schedule.sequence]\nparts = [\"constant\", { cosine = { floor = 0.1 } }]\nmilestones = [1]")),
        ("Plateau", Said("[schedule.plateau]\nmetric = \"loss\"\nabsolute = true")),
        ("of", Not("a function of the program's own")),
        ("Schedule", Not(TOOL)),
        ("Anneal", Part),
        ("Better", Part),
        ("Peaks", Part),
    ];
    for (name, text) in said("schedules", &exported, &table) {
        run(name, &file(text));
    }
    // What cannot be is told.
    for (text, part) in [
        ("[schedule.sequence]\nparts = [\"constant\"]\nmilestones = [1]", "one milestone fewer"),
        ("[schedule.product]\nparts = [{ plateau = {} }]", "use it alone"),
        ("[schedule.cyclic]\nhighest = 2\nup = 2\ngamma = 0.9\nhalved = true", "give one of them"),
    ] {
        let config = RunConfig::parse(&file(text), "x.toml").unwrap();
        let data = digits(&config);
        let mut network = config.build(&data, &device()).unwrap();
        let told = network.train_prepared(&data, &config.train, |trainer| trainer).unwrap_err().to_string();
        assert!(told.contains(part), "{told}");
    }
    let told = RunConfig::parse(&file("[schedule.product]\nparts = [{ ramps = { from = 0.1 } }]"), "x.toml").unwrap_err().to_string();
    assert!(told.contains("x.toml: line 4") && told.contains("did you mean `ramp`?"), "{told}");
}

#[test]
fn every_loss_is_reached() {
    let _alone = alone();
    let text = include_str!("../../unigrad-nn/src/lib.rs");
    let own = text.split("pub use losses::{").nth(1).unwrap().split("};").next().unwrap();
    let mut exported: BTreeSet<String> = own.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    exported.insert("LinearCrossEntropyLoss".to_owned());
    let table = [
        ("BceLoss", Said("loss = \"bce\"")),
        ("BceWithLogitsLoss", Said("[loss.bce_with_logits]\npos_weight = [2.0]")),
        ("CrossEntropyLoss", Said("[loss.cross_entropy]\nlabel_smoothing = 0.1")),
        ("DiceLoss", Said("[loss.dice]")),
        ("FocalLoss", Said("[loss.focal]")),
        ("HingeEmbeddingLoss", Said("[loss.hinge_embedding]")),
        ("HuberLoss", Said("[loss.huber]\ndelta = 0.5")),
        ("KlDivLoss", Said("[loss.kl_div]")),
        ("L1Loss", Said("loss = \"l1\"")),
        ("MseLoss", Said("loss = \"mse\"")),
        ("MultiLabelSoftMarginLoss", Said("loss = \"multilabel_soft_margin\"")),
        ("MultiMarginLoss", Said("[loss.multi_margin]\np = 2")),
        ("NllLoss", Said("[loss.nll]")),
        ("PoissonNllLoss", Said("[loss.poisson_nll]")),
        ("SmoothL1Loss", Said("[loss.smooth_l1]")),
        ("SoftMarginLoss", Said("loss = \"soft_margin\"")),
        ("Loss", Not(TOOL)),
        ("CosineEmbeddingLoss", Not(SEVERAL)),
        ("CtcLoss", Not("takes lengths of inputs and targets: a step of your own")),
        ("GaussianNllLoss", Not("takes a variance beside the prediction: a step of your own")),
        ("LinearCrossEntropyLoss", Not("is a layer and a loss in one; `token_cross_entropy` after `output` computes the same")),
        ("MarginRankingLoss", Not(SEVERAL)),
        ("MultiLabelMarginLoss", Said("loss = \"multilabel_margin\"")),
        ("TripletMarginLoss", Not(SEVERAL)),
        ("TripletMarginWithDistanceLoss", Not("takes three inputs and a distance of the program's own")),
    ];
    let device = device();
    for (name, text) in said("losses", &exported, &table) {
        let loss = format!("data = \"digits\"\n{text}\n");
        let config = RunConfig::parse(&format!("{loss}[network]\nlayers = [\"flatten\", \"output\"]\n"), name)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        config.loss.unwrap().build(&device).unwrap();
    }
    let config = RunConfig::parse("data = \"digits\"\nloss = \"token_cross_entropy\"\n[network]\nlayers = [\"output\"]\n", "x").unwrap();
    config.loss.unwrap().build(&device).unwrap();
}

#[test]
fn every_metric_is_reached() {
    let _alone = alone();
    let exported = exported(include_str!("../../unigrad-nn/src/metrics/mod.rs"));
    let classes = "\"cross_entropy\"";
    let table = [
        ("Accuracy", Said("\"accuracy\"")),
        ("TopK", Said("{ top_k = { k = 3 } }")),
        (
            "ClassScore",
            Said("\"f1\", { precision = { average = \"micro\" } }, { recall = { class = 2 } }, { iou = { average = \"weighted\" } }"),
        ),
        ("Score", Part),
        ("Average", Part),
        ("LogLoss", Said("\"log_loss\"")),
        ("Perplexity", Said("\"perplexity\"")),
        ("Mae", Said("\"mae\"")),
        ("Mse", Said("\"mse\"")),
        ("Rmse", Said("\"rmse\"")),
        ("Mape", Said("\"mape\"")),
        ("R2", Said("\"r2\"")),
        ("RocAuc", Said("\"roc_auc\"")),
        ("PrAuc", Said("\"pr_auc\"")),
        ("ConfusionMatrix", Not("is a table and not a number; `iou`, `precision` and `recall` are computed from it")),
        ("Confusion", Not(TOOL)),
        ("AveragePrecision", Not("of boxes, which no section of data gives")),
        ("Detections", Not("of boxes, which no section of data gives")),
        ("MeanAveragePrecision", Not("of boxes, which no section of data gives")),
        ("Objects", Not("of boxes, which no section of data gives")),
        ("Bleu", Not("of texts that a model has written, which a program does")),
        ("RougeL", Not("of texts that a model has written, which a program does")),
        ("Smoothing", Part),
        ("bleu", Not("of texts that a model has written, which a program does")),
        ("rouge_l", Not("of texts that a model has written, which a program does")),
        ("box_iou", Not(TOOL)),
        ("mask_iou", Not(TOOL)),
    ];
    for (name, text) in said("metrics", &exported, &table) {
        let regression = matches!(name, "Mae" | "Mse" | "Rmse" | "Mape" | "R2");
        let questions = matches!(name, "RocAuc" | "PrAuc");
        let loss = if regression {
            "\"mse\""
        } else if questions {
            "\"bce_with_logits\""
        } else {
            classes
        };
        let layers = "layers = [{ dense = { units = 4 } }, \"relu\", \"output\"]";
        let text = format!(
            "device = \"cpu\"\nloss = {loss}\ndata = \"digits\"\n[train]\nmetrics = [{text}]\nbatch_size = 20\nmax_epochs = 1\n[network]\n{layers}\n"
        );
        let config = RunConfig::parse(&text, name).unwrap_or_else(|e| panic!("{name}: {e}"));
        let x: Vec<f32> = (0..80).map(|i| (i * 37 % 80) as f32 / 80.0).collect();
        let inputs = unigrad_data::array(&x, &[40, 2]).unwrap();
        let y: Vec<i64> = if questions { (0..40).map(|i| i % 2).collect() } else { (0..40).map(|i| i % 4).collect() };
        let targets = match regression || questions {
            true => unigrad_data::array(&y.iter().map(|y| *y as f32).collect::<Vec<_>>(), &[40, 1]).unwrap(),
            false => unigrad_data::array(&y, &[40]).unwrap(),
        };
        let data = Prepared {
            note: String::new(),
            samples: std::sync::Arc::new(unigrad_data::Arrays::new(inputs, targets).unwrap()),
            labels: None,
            pictures: None,
            shape: vec![2],
            n_outputs: if regression || questions { 1 } else { 4 },
            n_tokens: None,
            loss: config.loss.clone().unwrap(),
            metadata: Vec::new(),
        };
        let mut network = config.build(&data, &device()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let run = network.train_prepared(&data, &config.train, |trainer| trainer).unwrap_or_else(|e| panic!("{name}: {e}"));
        // The loss is among them.
        let wanted = if name == "ClassScore" { 5 } else { 2 };
        assert_eq!(run.history.train_metrics.len(), wanted, "{name}: {:?}", run.history.train_metrics);
        assert!(run.history.train_metrics.values().flatten().all(|value| value.is_finite()), "{name}");
    }
    let told = RunConfig::parse(&file("[train]\nmetrics = [\"acuracy\"]\n"), "x.toml").unwrap_err().to_string();
    assert!(told.contains("x.toml: line 4") && told.contains("did you mean `accuracy`?"), "{told}");
}

#[test]
fn every_layer_is_reached() {
    let _alone = alone();
    let exported = exported(include_str!("../../unigrad-nn/src/layers/mod.rs"));
    let cell = "is one step of a layer: `rnn`, `lstm` and `gru` are whole ones";
    let decoder = "reads an encoder's output beside its input: write a struct with `#[derive(Module)]`";
    let table = [
        ("Linear", Said("[4] { dense = { units = 3, bias = false } }")),
        ("Conv1d", Said("[2, 8] { conv1d = { channels = 3, kernel = 3, padding = 1, padding_mode = \"circular\" } }")),
        ("Conv2d", Said("[2, 8, 8] { conv2d = { channels = 4, kernel = [3, 2], padding = \"same\", groups = 2, bias = false } }")),
        ("Conv3d", Said("[2, 5, 5, 5] { conv3d = { channels = 3, kernel = 2, dilation = 2 } }")),
        ("ConvTranspose1d", Said("[2, 8] { conv_transpose1d = { channels = 3, kernel = 3, stride = 2 } }")),
        ("ConvTranspose2d", Said("[2, 4, 4] { conv_transpose2d = { channels = 3, kernel = 3, bias = false } }")),
        ("ConvTranspose3d", Said("[2, 3, 3, 3] { conv_transpose3d = { channels = 3, kernel = 2 } }")),
        ("MaxPool1d", Said("[2, 8] { max_pool1d = { kernel = 2 } }")),
        ("MaxPool2d", Said("[2, 8, 8] { max_pool2d = { kernel = 2 } }")),
        ("MaxPool3d", Said("[2, 4, 4, 4] { max_pool3d = { kernel = 2 } }")),
        ("AvgPool1d", Said("[2, 8] { avg_pool1d = { kernel = 2 } }")),
        ("AvgPool2d", Said("[2, 8, 8] { avg_pool2d = { kernel = 2 } }")),
        ("AvgPool3d", Said("[2, 4, 4, 4] { avg_pool3d = { kernel = 2 } }")),
        ("LpPool1d", Said("[2, 8] { lp_pool1d = { p = 2.0, kernel = 2 } }")),
        ("LpPool2d", Said("[2, 8, 8] { lp_pool2d = { p = 2.0, kernel = [2, 3], stride = 1 } }")),
        ("LpPool3d", Said("[2, 4, 4, 4] { lp_pool3d = { p = 1.0, kernel = 2 } }")),
        ("AdaptiveMaxPool1d", Said("[2, 8] { adaptive_max_pool1d = { size = 3 } }")),
        ("AdaptiveMaxPool2d", Said("[2, 8, 8] { adaptive_max_pool2d = { size = 3 } }")),
        ("AdaptiveMaxPool3d", Said("[2, 4, 4, 4] { adaptive_max_pool3d = { size = 3 } }")),
        ("AdaptiveAvgPool1d", Said("[2, 8] { adaptive_avg_pool1d = { size = 3 } }")),
        ("AdaptiveAvgPool2d", Said("[2, 8, 8] { adaptive_avg_pool2d = { size = [3, 2] } }")),
        ("AdaptiveAvgPool3d", Said("[2, 4, 4, 4] { adaptive_avg_pool3d = { size = 3 } }")),
        ("MaxUnpool1d", Not("takes the places of maxima beside its input: write a struct with `#[derive(Module)]`")),
        ("MaxUnpool2d", Not("takes the places of maxima beside its input: write a struct with `#[derive(Module)]`")),
        ("MaxUnpool3d", Not("takes the places of maxima beside its input: write a struct with `#[derive(Module)]`")),
        ("BatchNorm", Said("[2, 8] { batch_norm = { momentum = 0.2 } }")),
        ("InstanceNorm", Said("[2, 8] { instance_norm = { affine = true } }")),
        ("LayerNorm", Said("[2, 8] { layer_norm = { axes = 2 } }")),
        ("GroupNorm", Said("[4, 8] { group_norm = { groups = 2 } }")),
        ("RmsNorm", Said("[8] \"rms_norm\"")),
        ("LocalResponseNorm", Said("[4, 8] { local_response_norm = { size = 3 } }")),
        ("Dropout", Said("[4] { dropout = { p = 0.2 } }")),
        ("Dropout1d", Said("[4, 3] { dropout1d = { p = 0.2 } }")),
        ("Dropout2d", Said("[4, 3, 3] { dropout2d = { p = 0.2 } }")),
        ("Dropout3d", Said("[4, 3, 3, 3] { dropout3d = { p = 0.2 } }")),
        ("AlphaDropout", Said("[4] \"alpha_dropout\"")),
        ("FeatureAlphaDropout", Said("[4, 3] { feature_alpha_dropout = { p = 0.2 } }")),
        ("Flatten", Said("[4, 3] \"flatten\"")),
        ("Unflatten", Said("[6] { unflatten = { sizes = [2, 3] } }")),
        ("Fold", Said("[8, 12] { fold = { size = [4, 5], windows = { kernel = 2 } } }")),
        ("Unfold", Said("[2, 4, 5] { unfold = { kernel = [2, 3], padding = 1 } }")),
        ("Embedding", Said("[5] { embedding = { tokens = 7, size = 3 } }")),
        ("EmbeddingBag", Said("[5] { embedding_bag = { tokens = 7, size = 3, mode = \"max\" } }")),
        ("Rnn", Said("[5, 3] { rnn = { hidden = 4, nonlinearity = \"relu\", bias = false, give = \"last\" } }")),
        ("Nonlinearity", Part),
        ("RecurrentOptions", Part),
        ("Lstm", Said("[5, 3] { lstm = { hidden = 4, n_layers = 2, dropout = 0.1 } }")),
        ("Gru", Said("[5, 3] { gru = { hidden = 4, bidirectional = true, give = \"last\" } }")),
        ("RnnCell", Not(cell)),
        ("LstmCell", Not(cell)),
        ("GruCell", Not(cell)),
        ("MultiHeadAttention", Said("[5, 4] { multihead_attention = { heads = 2, bias = false, causal = true } }")),
        ("TransformerEncoder", Said("[5, 4] { transformer_encoder = { heads = 2, n_layers = 2, hidden = 8 } }")),
        ("TransformerEncoderLayer", Part),
        ("TransformerOptions", Part),
        ("Activation", Part),
        ("AttentionMasks", Part),
        ("TransformerDecoder", Not(decoder)),
        ("TransformerDecoderLayer", Not(decoder)),
        ("Transformer", Not(SEVERAL)),
        ("SinusoidalEncoding", Said("[5, 4] \"sinusoidal_encoding\"")),
        ("LearnedEncoding", Said("[5, 4] \"learned_encoding\"")),
        ("RotaryEncoding", Said("[5, 4] { rotary_encoding = { base = 100.0 } }")),
        ("Residual", Said("[4] { residual = { layers = [{ dense = { units = 4 } }, \"relu\"] } }")),
        ("Sequential", Not("is the list of layers itself")),
        ("Upsample", Said("[2, 3, 3] { upsample = { factor = 2.0, mode = \"bilinear\" } }")),
        ("UpsamplingNearest2d", Not("is `upsample` with `mode = \"nearest\"`")),
        ("UpsamplingBilinear2d", Not("is `upsample` with `mode = \"bilinear\"` and `align_corners = true`")),
        ("PixelShuffle", Said("[4, 3, 3] { pixel_shuffle = { factor = 2 } }")),
        ("PixelUnshuffle", Said("[1, 4, 4] { pixel_unshuffle = { factor = 2 } }")),
        ("ChannelShuffle", Said("[4, 3] { channel_shuffle = { groups = 2 } }")),
        ("ZeroPad1d", Said("[2, 3] { zero_pad = { pad = 1 } }")),
        ("ZeroPad2d", Said("[2, 3, 3] { zero_pad = { pad = [[1, -2], 3] } }")),
        ("ZeroPad3d", Said("[2, 3, 3, 3] { zero_pad = { pad = 1 } }")),
        ("ReflectionPad1d", Said("[2, 3] { reflection_pad = { pad = 1 } }")),
        ("ReflectionPad2d", Said("[2, 3, 3] { reflection_pad = { pad = 1 } }")),
        ("ReflectionPad3d", Said("[2, 3, 3, 3] { reflection_pad = { pad = 1 } }")),
        ("ReplicationPad1d", Said("[2, 3] { replication_pad = { pad = 1 } }")),
        ("ReplicationPad2d", Said("[2, 3, 3] { replication_pad = { pad = 1 } }")),
        ("ReplicationPad3d", Said("[2, 3, 3, 3] { replication_pad = { pad = 1 } }")),
        ("CircularPad1d", Said("[2, 3] { circular_pad = { pad = 1 } }")),
        ("CircularPad2d", Said("[2, 3, 3] { circular_pad = { pad = 1 } }")),
        ("CircularPad3d", Said("[2, 3, 3, 3] { circular_pad = { pad = 1 } }")),
        ("ConstantPad1d", Said("[2, 3] { constant_pad = { pad = 1, value = 0.5 } }")),
        ("ConstantPad2d", Said("[2, 3, 3] { constant_pad = { pad = [1, 2], value = 0.5 } }")),
        ("ConstantPad3d", Said("[2, 3, 3, 3] { constant_pad = { pad = 1, value = 0.5 } }")),
        ("WeightNorm", Said("[4] { weight_norm = { layer = { dense = { units = 3 } } } }")),
        ("SpectralNorm", Said("[2, 8] { spectral_norm = { layer = { conv_transpose1d = { channels = 3, kernel = 2 } } } }")),
        ("Bilinear", Not(SEVERAL)),
        ("CosineSimilarity", Not(SEVERAL)),
        ("PairwiseDistance", Not(SEVERAL)),
        ("LinearCrossEntropyLoss", Not("is a layer and a loss in one; `token_cross_entropy` after `output` computes the same")),
        ("CrossMapLrn2d", Said("[4, 3, 3] { cross_map_lrn2d = { size = 3 } }")),
        ("SyncBatchNorm", Said("[4, 3] \"sync_batch_norm\"")),
        ("blocks_of", Not(TOOL)),
        ("checkpointed", Not(TOOL)),
        ("checkpointed_by", Not(TOOL)),
        ("is_checkpointing", Not(TOOL)),
        ("gradient_checkpointing", Not("is a setting of the run: `gradient_checkpointing = true` in `[train]`")),
        ("Identity", Said("[4] \"identity\"")),
        ("Relu", Said("[4] \"relu\"")),
        ("Relu6", Said("[4] \"relu6\"")),
        ("LeakyRelu", Said("[4] { leaky_relu = { slope = 0.2 } }")),
        ("PRelu", Said("[4] { prelu = { per_channel = true } }")),
        ("RRelu", Said("[4] \"rrelu\"")),
        ("Elu", Said("[4] \"elu\"")),
        ("Celu", Said("[4] \"celu\"")),
        ("Selu", Said("[4] \"selu\"")),
        ("Gelu", Said("[4] \"gelu\"")),
        ("GeluTanh", Said("[4] \"gelu_tanh\"")),
        ("Silu", Said("[4] \"silu\"")),
        ("Sigmoid", Said("[4] \"sigmoid\"")),
        ("LogSigmoid", Said("[4] \"log_sigmoid\"")),
        ("Tanh", Said("[4] \"tanh\"")),
        ("Tanhshrink", Said("[4] \"tanhshrink\"")),
        ("Softsign", Said("[4] \"softsign\"")),
        ("Softplus", Said("[4] \"softplus\"")),
        ("Softshrink", Said("[4] \"softshrink\"")),
        ("Hardshrink", Said("[4] \"hardshrink\"")),
        ("Hardtanh", Said("[4] \"hardtanh\"")),
        ("Hardswish", Said("[4] \"hardswish\"")),
        ("Hardsigmoid", Said("[4] \"hardsigmoid\"")),
        ("Mish", Said("[4] \"mish\"")),
        ("Threshold", Said("[4] { threshold = { threshold = 0.1, value = 0.2 } }")),
        ("Softmax", Said("[4] \"softmax\"")),
        ("Softmax2d", Said("[4, 2, 2] \"softmax2d\"")),
        ("Softmin", Said("[4] \"softmin\"")),
        ("LogSoftmax", Said("[4] \"log_softmax\"")),
        ("Glu", Said("[4] \"glu\"")),
        ("SwiGlu", Said("[4] \"swiglu\"")),
        ("GeGlu", Said("[4] \"geglu\"")),
    ];
    let device = device();
    for (name, text) in said("layers", &exported, &table) {
        let (input, layer) = text.split_once("] ").unwrap();
        let text = format!("data = \"digits\"\nloss = \"mse\"\n[network]\ninput = {input}]\nlayers = [{layer}]\n");
        let config = RunConfig::parse(&text, name).unwrap_or_else(|e| panic!("{name}: {e}"));
        let architecture =
            Architecture { input: config.network.input.clone().unwrap(), layers: config.network.layers.clone(), loss: LossSpec::Mse };
        let network = Network::from_architecture(architecture.clone(), Some(0), &device).unwrap_or_else(|e| panic!("{name}: {e}"));
        let shape: Vec<usize> = [2].into_iter().chain(architecture.input.iter().copied()).collect();
        let x = Tensor::ones(shape, architecture.input_dtype(), &device);
        let y = network.forward(&x).realize().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(y.shape()[1..], *network.output_shape(), "{name}");
        // Model files have it as it was said.
        let json = serde_json::to_string(&architecture).unwrap();
        assert_eq!(serde_json::from_str::<Architecture>(&json).unwrap(), architecture, "{json}");
    }
}
