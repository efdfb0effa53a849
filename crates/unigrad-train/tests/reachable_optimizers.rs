//! Every method of an optimizer that sets something, and how a configuration file says it; read from the library's sources, so that a new one which is in no list
//! fails.

use std::collections::BTreeSet;
use unigrad_train::network::RunConfig;

#[test]
fn every_setting_of_an_optimizer_is_reached() {
    let sources = [
        include_str!("../../unigrad-nn/src/optim/adafactor.rs"),
        include_str!("../../unigrad-nn/src/optim/adagrad.rs"),
        include_str!("../../unigrad-nn/src/optim/adam.rs"),
        include_str!("../../unigrad-nn/src/optim/adam8bit.rs"),
        include_str!("../../unigrad-nn/src/optim/adamax.rs"),
        include_str!("../../unigrad-nn/src/optim/adan.rs"),
        include_str!("../../unigrad-nn/src/optim/asgd.rs"),
        include_str!("../../unigrad-nn/src/optim/gradients.rs"),
        include_str!("../../unigrad-nn/src/optim/lamb.rs"),
        include_str!("../../unigrad-nn/src/optim/lars.rs"),
        include_str!("../../unigrad-nn/src/optim/lbfgs.rs"),
        include_str!("../../unigrad-nn/src/optim/lion.rs"),
        include_str!("../../unigrad-nn/src/optim/lookahead.rs"),
        include_str!("../../unigrad-nn/src/optim/muon.rs"),
        include_str!("../../unigrad-nn/src/optim/nadam.rs"),
        include_str!("../../unigrad-nn/src/optim/radam.rs"),
        include_str!("../../unigrad-nn/src/optim/rmsprop.rs"),
        include_str!("../../unigrad-nn/src/optim/rprop.rs"),
        include_str!("../../unigrad-nn/src/optim/sam.rs"),
        include_str!("../../unigrad-nn/src/optim/schedule_free.rs"),
        include_str!("../../unigrad-nn/src/optim/sgd.rs"),
        include_str!("../../unigrad-nn/src/optim/shampoo.rs"),
        include_str!("../../unigrad-nn/src/optim/sophia.rs"),
        include_str!("../../unigrad-nn/src/optim/sparse_adam.rs"),
    ];
    let mut known = BTreeSet::new();
    for text in sources {
        for line in text.lines().map(str::trim) {
            // A method that takes the optimizer and gives it back.
            let method = line.strip_prefix("pub fn ").and_then(|rest| rest.split_once('('));
            if let Some((name, rest)) = method
                && (rest.starts_with("mut self") || rest.starts_with("self"))
                && !line.contains("&")
            {
                known.insert(name.to_owned());
            }
        }
        for part in text.split("setters! {").skip(1) {
            let rows = part.split("\n    }").next().unwrap();
            known.extend(rows.lines().filter_map(|row| Some(row.trim().split_once(", \"")?.0.to_owned())));
        }
        if text.contains("betas!(") {
            known.insert("betas".to_owned());
        }
    }
    // Words that stand in a file for each; several where one method sets several.
    let table: &[(&str, &str)] = &[
        ("adaptive", "[train]\nsam = { adaptive = true }"),
        ("adapts_vectors", "[optimizer.lars]\nadapts_vectors = true"),
        ("adjust_lr", "[optimizer.muon]\nadjust_lr = \"spectral_unclamped\""),
        ("alpha", "[optimizer.rmsprop]\nalpha = 0.9"),
        ("amsgrad", "[optimizer.adamw]\namsgrad = true"),
        ("beta2_decay", "[optimizer.adafactor]\nbeta2_decay = -0.5"),
        ("betas", "[optimizer.adan]\nbetas = [0.9, 0.9, 0.9]"),
        ("bias_correction", "[optimizer.lamb]\nbias_correction = false"),
        ("centered", "[optimizer.rmsprop]\ncentered = true"),
        ("centralize_gradients", "[train.gradients]\ncentralize = true"),
        ("clip_adaptively", "[train]\nclip_adaptively = { factor = 0.1, eps = 1e-2 }"),
        ("clip_each_norm", "[train]\nclip_each_norm = 1"),
        ("clip_norm", "[train]\nclip_norm = 1.0"),
        ("clip_p_norm", "[train]\nclip_norm = 1.0\nclip_norm_type = 1.0"),
        ("clip_value", "[train]\nclip_value = 1.0"),
        ("d", "[optimizer.adafactor]\nd = 2.0"),
        ("dampening", "[optimizer.sgd]\nmomentum = 0.9\ndampening = 0.1"),
        ("decoupled", "[optimizer.radam]\ndecoupled = true"),
        ("elastic_penalty", "[train.gradients]\nl1 = 0.1\nl2 = 0.1"),
        ("eps", "[optimizer.adadelta]\neps = 0.1"),
        ("etas", "[optimizer.rprop]\netas = [0.4, 1.1]"),
        ("gradient_noise", "[train.gradients]\nnoise = { eta = 0.1, gamma = 0.5 }"),
        ("history_size", "[optimizer.lbfgs]\nhistory_size = 3"),
        ("initial_accumulator", "[optimizer.adagrad]\ninitial_accumulator = 0.1"),
        ("iterations", "[optimizer.muon]\niterations = 3\ncoefficients = [2.0, -1.5, 0.5]"),
        ("l1_penalty", "[train.gradients]\nl1 = 0.1"),
        ("l2_penalty", "[train.gradients]\nl2 = 0.1"),
        ("lambda", "[optimizer.asgd]\nlambda = 0.1"),
        ("least_size", "[optimizer.adamw8bit]\nleast_size = 256"),
        ("lookahead", "[train]\nlookahead = { every = 3, alpha = 0.4 }"),
        ("lr_decay", "[optimizer.adagrad]\nlr_decay = 0.1"),
        ("max_eval", "[optimizer.lbfgs]\nmax_eval = 9"),
        ("max_iter", "[optimizer.lbfgs]\nmax_iter = 9"),
        ("max_norm", "[train.gradients]\nmax_norm = 1.0"),
        ("max_side", "[optimizer.shampoo]\nmax_side = 64"),
        ("momentum", "[optimizer.sgd]\nmomentum = 0.5"),
        ("momentum_decay", "[optimizer.nadam]\nmomentum_decay = 0.1"),
        ("nesterov", "[optimizer.sgd]\nmomentum = 0.5\nnesterov = true"),
        ("no_prox", "[optimizer.adan]\nno_prox = true"),
        ("normalize_each_gradient", "[train.gradients]\nnormalize = \"each\""),
        ("normalize_gradients", "[train.gradients]\nnormalize = \"all\""),
        ("precision", "[optimizer.muon]\nprecision = \"f32\""),
        ("rho", "[optimizer.sophia]\nrho = 0.1"),
        ("sam", "[train]\nsam = { rho = 0.1 }"),
        ("step_sizes", "[optimizer.rprop]\nstep_sizes = [1e-5, 1.0]"),
        ("strong_wolfe", "[optimizer.lbfgs]\nstrong_wolfe = true"),
        ("t0", "[optimizer.asgd]\nt0 = 3"),
        ("tolerances", "[optimizer.lbfgs]\ntolerance_grad = 1e-3\ntolerance_change = 1e-3"),
        ("trust", "[optimizer.lars]\ntrust = 0.1"),
        ("warmup_steps", "[optimizer.adamw_schedule_free]\nwarmup_steps = 3"),
        ("weight_decay", "[optimizer.adamw]\nweight_decay = 0.5"),
        ("weights", "[optimizer.sgd_schedule_free]\nr = 1.0\nlr_power = 1.0"),
    ];
    // Methods that are no settings of a run.
    let not = [
        // Of the estimate by labels that are drawn, which is a program's; a run's is Hutchinson's.
        "batch",
        "into_inner",
        "step",
    ];
    let listed: BTreeSet<String> = table.iter().map(|(name, _)| (*name).to_owned()).chain(not.map(str::to_owned)).collect();
    let (missing, gone) = (known.difference(&listed).collect::<Vec<_>>(), listed.difference(&known).collect::<Vec<_>>());
    assert!(missing.is_empty(), "make {missing:?} reachable from configuration files, or say here why not");
    assert!(gone.is_empty(), "{gone:?} are no settings any more");
    let parse = |text: &str| {
        let text = format!("data = \"digits\"\n{text}\n[network]\nlayers = [\"flatten\", \"output\"]\n");
        RunConfig::parse(&text, "x.toml").unwrap_or_else(|e| panic!("{text}: {e}"))
    };
    for (name, text) in table {
        let (config, section) = (parse(text), text.lines().next().unwrap());
        assert_ne!(config.train, parse(section).train, "{name}: {text}");
    }
}
