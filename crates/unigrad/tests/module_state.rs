//! What is done to whole modules: moved, cast, frozen, copied, shown, loaded in part; tied weights through all of it.

use std::{collections::BTreeMap, path::PathBuf};
use unigrad::{
    nn::{AdamW, BatchNorm, Dropout, Embedding, Linear, LoadOptions, Module, Relu, Residual, Sequential},
    prelude::*,
};

fn device() -> Device {
    Device::open("cpu").unwrap()
}

/// A language model whose head is tied to its embedding, with parts of every kind.
#[derive(Module, Clone)]
struct Net {
    emb: Embedding,
    blocks: Vec<Sequential>,
    by_name: BTreeMap<String, Linear>,
    in_order: Vec<(String, Linear)>,
    two: [Residual<Linear>; 2],
    norm: BatchNorm,
    head: Linear,
    #[module(buffer)]
    tables: Vec<Tensor>,
    sizes: BTreeMap<String, usize>,
}

fn net() -> Net {
    let d = device();
    let emb = Embedding::new(7, 4, &d);
    let linear = || Linear::new(4, 4, &d);
    Net {
        head: Linear { weight: emb.weight.clone(), bias: None },
        emb,
        blocks: (0..11).map(|_| Sequential::new().add(Linear::new(4, 4, &d)).add_named("act", Relu)).collect(),
        by_name: [("b".to_owned(), linear()), ("a".to_owned(), linear())].into(),
        in_order: vec![("z".to_owned(), linear()), ("y".to_owned(), linear())],
        two: [Residual(linear()), Residual(linear())],
        norm: BatchNorm::new(4, &d),
        tables: vec![Tensor::from_vec(vec![1i64, 2], 2, &d), Tensor::from_vec(vec![0.5f32], 1, &d)],
        sizes: BTreeMap::new(),
    }
}

impl Net {
    fn loss(&self) -> Tensor {
        let d = self.emb.weight.device().unwrap();
        let x = self.emb.forward(&Tensor::from_vec(vec![1i64, 2, 6, 0], 4, &d));
        let x = self.blocks.iter().fold(x, |x, block| x.clone() + block.forward(&x));
        let x = self.by_name.values().chain(self.in_order.iter().map(|(_, layer)| layer)).fold(x, |x, layer| layer.forward(&x));
        let x = self.two.iter().fold(x, |x, layer| layer.forward(&x));
        let target = Tensor::from_vec(vec![2i64, 6, 0, 3], 4, &d);
        self.head.forward(&self.norm.forward(&x)).cross_entropy(&target)
    }

    fn names(&self) -> Vec<String> {
        self.state_dict().into_iter().map(|(name, _)| name).collect()
    }
}

#[test]
fn maps_and_lists_have_paths() {
    let net = net();
    let names = net.names();
    for name in [
        "emb.weight",
        "blocks.10.0.weight",
        "by_name.a.weight",
        "by_name.b.bias",
        "in_order.z.weight",
        "two.1.weight",
        "norm.num_batches_tracked",
        "tables.0",
        "tables.1",
    ] {
        assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
    }
    assert!(!names.iter().any(|name| name.starts_with("head.") || name.starts_with("sizes")), "{names:?}");
    assert!(names.iter().position(|name| name == "in_order.z.weight") < names.iter().position(|name| name == "in_order.y.weight"));
    let buffers: Vec<String> = net.named_buffers().into_iter().map(|(name, _)| name).collect();
    assert!(buffers.ends_with(&["tables.0".to_owned(), "tables.1".to_owned()]), "{buffers:?}");
    assert!(net.sizes.is_empty());
    let modules: Vec<(String, String)> = net.named_modules().into_iter().map(|(path, module)| (path, module.type_name())).collect();
    for (path, name) in
        [("", "Net"), ("blocks.3", "Sequential"), ("blocks.3.act", "Relu"), ("two.0", "Residual<Linear>"), ("by_name.a", "Linear")]
    {
        assert!(modules.contains(&(path.to_owned(), name.to_owned())), "{path} {name} is not in {modules:?}");
    }
}

#[test]
fn apply_reaches_every_module_of_a_type() {
    let mut net =
        Sequential::new().add(Dropout::new(0.5)).add(Residual(Linear::new(2, 2, &device()))).add(Sequential::new().add(Dropout::new(0.25)));
    let mut seen = Vec::new();
    net.apply(|path, module| {
        if let Some(dropout) = module.downcast_mut::<Dropout>() {
            dropout.p /= 2.0;
            seen.push((path.to_owned(), dropout.p));
        }
    });
    assert_eq!(seen, [("0".to_owned(), 0.25), ("2.0".to_owned(), 0.125)]);
}

#[test]
fn a_cast_keeps_names_ties_and_handles() {
    let net = net();
    let optimizer_has = net.parameters();
    let names = net.names();
    net.loss().backward().unwrap();
    let before = net.loss().item::<f32>().unwrap();
    net.to_dtype(DType::F64).unwrap();
    assert_eq!(net.names(), names);
    assert!(net.head.weight.same(&net.emb.weight) && net.parameters().iter().zip(&optimizer_has).all(|(a, b)| a.same(b)));
    for (name, tensor) in net.state_dict() {
        let integer = name == "tables.0" || name == "norm.num_batches_tracked";
        assert_eq!(tensor.dtype(), if integer { DType::I64 } else { DType::F64 }, "{name}");
        assert_eq!(tensor.is_variable(), !integer && !name.starts_with("tables") && !name.contains("running"), "{name}");
    }
    assert_eq!(net.emb.weight.grad().unwrap().dtype(), DType::F64);
    net.parameters().iter().for_each(Tensor::zero_grad);
    let loss = net.loss();
    assert!((loss.item::<f64>().unwrap() - f64::from(before)).abs() < 1e-5);
    loss.backward().unwrap();
    assert_eq!(net.emb.weight.grad().unwrap().dtype(), DType::F64);
    assert!(net.to_dtype(DType::I64).unwrap_err().to_string().contains("float dtype"));
}

#[test]
fn a_move_keeps_values_and_trains_on() {
    unigrad_testing::register();
    let net = net();
    let state = net.to_archive().unwrap();
    let optimizer = AdamW::new(net.parameters(), 1e-2).unwrap();
    let (saved, n_steps) = (optimizer.state_dict().unwrap(), optimizer.n_steps());
    let other = Device::open("interpreter:0").unwrap();
    let before = net.loss().item::<f32>().unwrap();
    net.load_state_dict(&state.tensors).unwrap();
    net.to(&other).unwrap();
    assert!(net.state_dict().iter().all(|(_, tensor)| tensor.device().unwrap() == other));
    assert_eq!(net.to_archive().unwrap(), state);
    assert!((net.loss().item::<f32>().unwrap() - before).abs() < 1e-4);
    // An optimizer that was made before does not go along, and says so.
    let mut stale = optimizer;
    net.loss().backward().unwrap();
    assert!(stale.step().unwrap_err().to_string().contains("another device"));
    let mut optimizer = AdamW::new(net.parameters(), 1e-2).unwrap();
    optimizer.load_state_dict(&saved, n_steps).unwrap();
    let loss = net.loss().item::<f32>().unwrap();
    // The weights are what the process's generator gives beside other tests: one step may overshoot.
    for _ in 0..10 {
        optimizer.minimize(&net.loss(), &[]).unwrap();
    }
    assert!(net.loss().item::<f32>().unwrap() < loss);
}

#[test]
fn what_is_frozen_does_not_change() {
    let net = net();
    let values = |prefix: &str| -> Vec<Vec<u8>> {
        net.state_dict().iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, tensor)| tensor.to_bytes().unwrap()).collect()
    };
    // `blocks.1` is not `blocks.10`.
    assert_eq!(net.freeze_under("blocks.1").unwrap(), 2);
    assert_eq!(net.freeze_under("head").unwrap(), 1, "the tied weight by its other path");
    assert!(net.freeze_under("blocks.12").unwrap_err().to_string().contains("blocks.12"));
    assert_eq!(net.parameters().len(), net.trainable_parameters().len() + 3);
    let (frozen, tied, free) = (values("blocks.1."), values("emb."), values("blocks.10."));
    let mut optimizer = AdamW::new(net.parameters(), 0.1).unwrap().weight_decay(0.5);
    for _ in 0..2 {
        optimizer.minimize(&net.loss(), &[]).unwrap();
        net.loss().backward().unwrap();
        optimizer.step().unwrap();
        optimizer.zero_grad();
    }
    assert_eq!((values("blocks.1."), values("emb.")), (frozen.clone(), tied));
    assert_ne!(values("blocks.10."), free);
    net.unfreeze().unwrap();
    assert!(net.parameters().len() == net.trainable_parameters().len());
    optimizer.minimize(&net.loss(), &[]).unwrap();
    assert_ne!(values("blocks.1."), frozen);
    // All frozen: there is nothing to learn, and that is an error; nothing has changed.
    net.freeze().unwrap();
    let all = values("");
    assert!(optimizer.minimize(&net.loss(), &[]).is_err());
    assert_eq!(values("").len(), all.len());
    assert_eq!(values("emb."), all[..1]);
    // A gradient that was there when it was frozen is not used.
    net.unfreeze().unwrap();
    net.loss().backward().unwrap();
    net.freeze_under("emb").unwrap();
    assert!(net.emb.weight.grad().is_none());
    let pretrained = Embedding::from_pretrained(&Tensor::ones([3, 2], DType::F32, &device()), false);
    assert!(pretrained.trainable_parameters().is_empty());
    pretrained.unfreeze().unwrap();
    assert_eq!(pretrained.trainable_parameters().len(), 1);
}

#[test]
fn a_copy_is_apart_and_tied_in_itself() {
    let net = net();
    net.freeze_under("norm").unwrap();
    let copy = net.deep_copy().unwrap();
    assert_eq!(copy.to_archive().unwrap(), net.to_archive().unwrap());
    assert!(copy.head.weight.same(&copy.emb.weight) && !copy.emb.weight.same(&net.emb.weight));
    assert!(net.state_dict().iter().zip(copy.state_dict()).all(|((_, a), (_, b))| !a.same(&b)));
    assert_eq!(copy.trainable_parameters().len(), net.trainable_parameters().len());
    let before = net.to_archive().unwrap();
    let mut optimizer = AdamW::new(copy.parameters(), 0.1).unwrap();
    optimizer.minimize(&copy.loss(), &[]).unwrap();
    assert_eq!(net.to_archive().unwrap(), before);
    assert_ne!(copy.to_archive().unwrap(), before);
}

#[test]
fn tied_weights_are_saved_once_and_loaded_by_either_name() {
    let (a, b) = (net(), net());
    let path: PathBuf = std::env::temp_dir().join(format!("unigrad-tied-{}.safetensors", std::process::id()));
    a.save(&path).unwrap();
    b.load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(a.to_archive().unwrap(), b.to_archive().unwrap());
    let mut state = a.to_archive().unwrap().tensors;
    assert!(!state.contains_key("head.weight"));
    // As PyTorch writes it: under both names.
    let weight = state["emb.weight"].clone();
    state.insert("head.weight".to_owned(), weight.clone());
    net().load_state_dict(&state).unwrap();
    state.remove("emb.weight");
    let c = net();
    c.load_state_dict(&state).unwrap();
    assert_eq!(c.to_archive().unwrap(), a.to_archive().unwrap());
    let mut other = weight.clone();
    other.bytes[0] ^= 1;
    state.insert("emb.weight".to_owned(), other);
    let error = c.load_state_dict(&state).unwrap_err().to_string();
    assert!(error.contains("`emb.weight` and `head.weight`"), "{error}");
    assert_eq!(c.to_archive().unwrap(), a.to_archive().unwrap());
}

#[test]
fn a_part_is_loaded_and_the_rest_is_told() {
    let d = device();
    let file = Sequential::new()
        .add_named("encoder", Linear::new(4, 3, &d))
        .add_named("head", Linear::new(3, 2, &d))
        .to_archive()
        .unwrap()
        .tensors;
    let encoder = Linear::new(4, 3, &d);
    let report = encoder.load_with(&file, &LoadOptions::new().prefix("encoder.")).unwrap();
    assert_eq!(report.loaded, ["weight", "bias"]);
    assert_eq!(encoder.weight.to_bytes().unwrap(), file["encoder.weight"].bytes);
    let other = Sequential::new()
        .add_named("encoder", Linear::no_bias(4, 3, &d))
        .add_named("head", Linear::new(3, 5, &d))
        .add_named("new", BatchNorm::new(2, &d));
    let before = other.to_archive().unwrap();
    // Other shapes are errors also where names need not fit.
    let error = other.load_with(&file, &LoadOptions::new().not_strict()).unwrap_err().to_string();
    assert!(error.contains("head.weight (model [5, 3], file [2, 3])"), "{error}");
    assert_eq!(other.to_archive().unwrap(), before);
    let report = other.load_with(&file, &LoadOptions::new().not_strict().skip_mismatched()).unwrap();
    assert_eq!(report.loaded, ["encoder.weight"]);
    assert_eq!(report.unexpected, ["encoder.bias"]);
    assert_eq!(report.mismatched, ["head.weight", "head.bias"]);
    assert_eq!(report.missing.len(), 5);
    let error = other.load_with(&file, &LoadOptions::new().skip_mismatched()).unwrap_err().to_string();
    assert!(error.contains("missing: new.") && error.contains("unexpected: encoder.bias"), "{error}");
    // Nothing below a prefix, not strictly: nothing is loaded, and that is told.
    let report = other.load_with(&file, &LoadOptions::new().prefix("enc").not_strict()).unwrap();
    assert!(report.loaded.is_empty() && report.unexpected.is_empty());
}
