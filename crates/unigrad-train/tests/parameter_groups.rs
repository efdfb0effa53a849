//! Parameters with settings of their own in configuration files: what is different for them, and what is wrong with a section.

mod support;

use std::collections::BTreeMap;
use support::{alone, device};
use unigrad_nn::Module;
use unigrad_train::network::{ParameterGroup, Prepared, RunConfig};

fn text(rest: &str) -> String {
    format!(
        "device = \"cpu\"\ndata = \"digits\"\n[network]\nlayers = [\"flatten\", {{ dense = {{ units = 6 }} }}, \"tanh\", {{ dense = {{ units = 5 }}, \
         name = \"middle\" }}, {{ batch_norm = {{}} }}, \"relu\", {{ dense = {{ units = 10 }}, name = \"head\" }}]\n[train]\nmax_epochs = 1\nbatch_size = 10\n{rest}\n"
    )
}

fn digits(config: &RunConfig) -> Prepared {
    let mut data = config.data.read(0).unwrap();
    data.samples = std::sync::Arc::new(unigrad_data::Dataset::subset(data.samples, (0..30).collect()).unwrap());
    data
}

/// Values of all parameters, before and after some steps.
fn run(rest: &str) -> [BTreeMap<String, Vec<f32>>; 2] {
    let text = text(rest);
    let config = RunConfig::parse(&text, "x.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let data = digits(&config);
    let mut network = config.build(&data, &device()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let values = |network: &unigrad_train::network::Network| {
        network.named_parameters().into_iter().map(|(name, tensor)| (name, tensor.to_vec::<f32>().unwrap())).collect()
    };
    let before = values(&network);
    network.train_prepared(&data, &config.train, |trainer| trainer).unwrap_or_else(|e| panic!("{e}\n{text}"));
    [before, values(&network)]
}

fn told(rest: &str) -> String {
    match RunConfig::parse(&text(rest), "x.toml") {
        Err(error) => error.to_string(),
        Ok(config) => {
            let data = digits(&config);
            match config.build(&data, &device()) {
                Err(error) => error.to_string(),
                Ok(mut network) => network.train_prepared(&data, &config.train, |trainer| trainer).unwrap_err().to_string(),
            }
        }
    }
}

#[test]
fn groups_with_the_runs_settings_change_nothing() {
    let _alone = alone();
    // Not `sophia`, which draws numbers for one parameter after the other: groups change their order.
    for optimizer in ["adamw", "sgd = { momentum = 0.9 }", "lion", "adamw_schedule_free", "muon", "adafactor", "lars"] {
        let section = match optimizer.split_once(" = ") {
            Some((name, settings)) => format!("[optimizer]\n{name} = {settings}"),
            None => format!("[optimizer.{optimizer}]"),
        };
        let plain = run(&section);
        let grouped = run(&format!("{section}\n[[groups]]\nparameters = [\"*.bias\"]\n[[groups]]\nparameters = [\"head\"]"));
        assert!(plain == grouped, "{optimizer}");
    }
}

#[test]
fn a_group_has_what_it_says() {
    let _alone = alone();
    let section = "[optimizer.adamw]\nlr = 1e-2\n";
    let [before, after] = run(&format!("{section}[[groups]]\nparameters = [\"*.bias\", \"1\"]\nfrozen = true"));
    for (name, value) in &before {
        let frozen = name.ends_with(".bias") || name.starts_with("1.");
        assert_eq!(after[name] == *value, frozen, "{name}");
    }
    // A tenth of the rate is a tenth of Adam's first step, of each element.
    let one = |rest: &str| run(&format!("max_steps = 1\n[optimizer.adamw]\nlr = 1e-2\nweight_decay = 0.0\n{rest}"));
    let [before, plain] = one("");
    let [_, own] = one("[[groups]]\nparameters = [\"head.*\"]\nlr = 1e-3");
    for (name, value) in &before {
        let share = if name.starts_with("head.") { 0.1 } else { 1.0 };
        for ((own, plain), value) in own[name].iter().zip(&plain[name]).zip(value) {
            assert!(((own - value) - share * (plain - value)).abs() < 2e-6, "{name}");
        }
    }
    // Each kind of setting of each rule: the members' own.
    for (rest, group) in [
        ("[optimizer.adamw]", "betas = [0.5, 0.6]"),
        ("[optimizer.adamw]", "weight_decay = 0.9"),
        ("[optimizer.sgd]\nlr = 0.1", "momentum = 0.9"),
        ("[optimizer.muon]\nlr = 0.1", "adamw_lr = 0.1"),
        ("[optimizer.sophia]", "rho = 0.9"),
        ("[optimizer.rprop]", "etas = [0.1, 9.0]"),
        ("lookahead = { every = 2 }\n[optimizer.adam]", "amsgrad = true\nlr = 0.5"),
        ("sam = { rho = 0.1 }\nclip_norm = 1.0\n[optimizer.adam]", "eps = 0.5"),
        ("precision = \"bf16\"\naccumulate = 2\n[optimizer.adamw8bit]", "least_size = 1\nlr = 0.5"),
        ("[optimizer.adamw_schedule_free]", "warmup_steps = 9"),
    ] {
        let [_, plain] = run(rest);
        let [_, own] = run(&format!("{rest}\n[[groups]]\nparameters = [\"head\", \"middle\"]\n{group}"));
        assert_ne!(plain["head.bias"], own["head.bias"], "{rest} {group}");
    }
    // In code.
    let groups = vec![ParameterGroup { parameters: vec!["head".to_owned()], frozen: true, optimizer: None }];
    let parsed = RunConfig::parse(&text("[[groups]]\nparameters = [\"head\"]\nfrozen = true"), "x.toml").unwrap();
    assert_eq!(parsed.train.groups, groups);
}

#[test]
fn what_is_wrong_with_a_group_is_told_with_its_line() {
    let _alone = alone();
    for (rest, parts) in [
        ("[[groups]]\nparameters = [\n\"head\",\n\"*.wight\",\n]", &["x.toml: line 11: `*.wight` names no parameter", "head.weight"][..]),
        (
            "[optimizer.adamw]\n[[groups]]\nparameters = [\"head\"]\nweigth_decay = 0.1",
            &["x.toml: line 11", "did you mean `weight_decay`?"],
        ),
        ("[optimizer.adamw]\n[[groups]]\nparameters = [\"head\"]\nmomentum = 0.1", &["x.toml: line 11", "unknown field `momentum`"]),
        ("[[groups]]\nparameters = [\"head\"]\nlr = \"fast\"", &["x.toml: line 10", "invalid type"]),
        ("[[groups]]\nparameters = [\"head\"]\nfrozen = true\nlr = 1.0", &["x.toml: line 11", "`frozen`"]),
        ("[[groups]]\nlr = 1.0", &["x.toml: line 8", "parameters"]),
        ("[[groups]]\nparameters = \"head\"", &["x.toml: line 9"]),
        ("[[groups]]\nparameters = []", &["names no parameter"]),
        ("[[groups]]\nparameters = [\"*\"]\n[[groups]]\nparameters = [\"head\"]", &["no parameter is left for the group of `head`"]),
        ("[[groups]]\nparameters = [\"*\"]\nfrozen = true", &["no parameter to train"]),
        ("[[groups]]\nparameters = [\"head\"]\nlr = -1.0", &["`lr` is -1"]),
        ("[optimizer.lbfgs]\n[[groups]]\nparameters = [\"head\"]\nlr = 0.5", &["lbfgs", "one for all"]),
        ("[optimizer.sophia]\n[[groups]]\nparameters = [\"head\"]\nevery = 2", &["every", "one for all"]),
    ] {
        let told = told(rest);
        assert!(parts.iter().all(|part| told.contains(part)), "{rest}\n{told}");
    }
}
