//! Networks by description: shapes, names and counts as PyTorch has them, what does not fit, and files.

mod support;

use serde_json::Value;
use support::{alone, device};
use unigrad_nn::{Archive, Layer, Module};
use unigrad_tensor::{DType, Device, ErrorKind, Generator, Tensor, no_grad};
use unigrad_train::network::{
    Architecture, ConvSettings, LayerKind, LayerSpec, LossSpec, Network, PoolSettings, RecurrentSettings, TransformerSettings,
};

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../goldens/networks.json")).unwrap()
}

fn sizes(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect()
}

fn layers(value: &Value) -> Vec<LayerSpec> {
    serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{value}: {e}"))
}

fn network(input: &[usize], layers: Vec<LayerSpec>, device: &Device) -> unigrad_tensor::Result<Network> {
    Network::from_architecture(Architecture { input: input.to_vec(), layers, loss: LossSpec::Mse }, Some(0), device)
}

#[test]
fn shapes_and_counts_are_pytorchs() {
    let _alone = alone();
    let device = device();
    for row in golden()["layers"].as_array().unwrap() {
        let (input, specs) = (sizes(&row["input"]), layers(&row["layers"]));
        let built = network(&input, specs.clone(), &device).unwrap_or_else(|e| panic!("{row}: {e}"));
        let (outputs, counts) = (row["outputs"].as_array().unwrap(), sizes(&row["parameters"]));
        let summary = built.summary();
        let mut rows = summary.rows.iter();
        for ((spec, wanted), count) in specs.iter().zip(outputs).zip(counts) {
            if let LayerKind::Residual { layers, shortcut } = &spec.kind {
                let n: usize = rows.by_ref().take(layers.len() + shortcut.len()).map(|row| row.n_parameters).sum();
                assert_eq!(n, count, "{row}");
                continue;
            }
            let got = rows.next().unwrap();
            assert_eq!((&got.output, got.n_parameters), (&sizes(wanted), count), "{} of {row}", got.kind);
        }
        assert_eq!(rows.next(), None);
        assert_eq!(built.output_shape(), sizes(outputs.last().unwrap()));
        assert_eq!(summary.n_parameters(), built.n_parameters());
        // What was inferred is what comes out, for batches of any size, in training too.
        for (n, training) in [(1, false), (2, true), (5, true)] {
            let mut built = network(&input, specs.clone(), &device).unwrap();
            Module::train(&mut built, training);
            let shape: Vec<usize> = std::iter::once(n).chain(input.iter().copied()).collect();
            let x = Tensor::zeros(shape, built.architecture().input_dtype(), &device);
            let y = no_grad(|| built.forward(&x)).realize().unwrap_or_else(|e| panic!("{row}: {e}"));
            assert_eq!(y.shape()[1..], *built.output_shape());
            assert_eq!(y.shape()[0], n);
        }
        // A description is read as it was written.
        let text = serde_json::to_string(built.architecture()).unwrap();
        assert_eq!(&serde_json::from_str::<Architecture>(&text).unwrap(), built.architecture(), "{text}");
    }
}

#[test]
fn activations_are_pytorchs() {
    let _alone = alone();
    let device = device();
    let golden = golden();
    let numbers = |value: &Value| -> Vec<f32> { value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect() };
    let x = Tensor::from_slice(&numbers(&golden["activations"]["input"]), [2, 4], &device);
    for (name, wanted) in golden["activations"]["values"].as_object().unwrap() {
        let spec: LayerSpec = serde_json::from_value(Value::from(name.as_str())).unwrap();
        let mut built = network(&[4], vec![spec.clone()], &device).unwrap();
        built.eval();
        let got = built.forward(&x).to_vec::<f32>().unwrap();
        for (got, wanted) in got.iter().zip(numbers(wanted)) {
            assert!((got - wanted).abs() <= 1e-6 * (1.0 + wanted.abs()), "{name}: {got} and not {wanted}");
        }
        // With its settings in a table, too.
        let mut table = serde_json::Map::new();
        table.insert(name.clone(), Value::Object(serde_json::Map::new()));
        assert_eq!(serde_json::from_value::<LayerSpec>(Value::Object(table)).unwrap(), spec);
        assert_eq!(spec.kind.name(), *name);
    }
}

#[test]
fn names_are_pytorchs() {
    let _alone = alone();
    let device = device();
    let built = Network::with_input([1, 8, 8]).conv2d(4, 3).batch_norm().relu().flatten().dense(10).build_on(&device).unwrap();
    let got: Vec<(String, Vec<usize>)> = built.state_dict().into_iter().map(|(name, t)| (name, t.shape())).collect();
    let wanted: Vec<(String, Vec<usize>)> =
        golden()["names"].as_array().unwrap().iter().map(|row| (row[0].as_str().unwrap().to_owned(), sizes(&row[1]))).collect();
    assert_eq!(got, wanted);
    let named =
        Network::with_input_size(3).dense(4).named("stem").residual(|block| block.dense(4).named("fc").relu()).dense(2).build_on(&device);
    let names: Vec<String> = named.unwrap().named_parameters().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["stem.weight", "stem.bias", "1.fc.weight", "1.fc.bias", "2.weight", "2.bias"]);
}

/// Each row: an input, layers as files have them, and what the error says.
#[test]
fn what_does_not_fit_is_told_with_place_and_shapes() {
    let _alone = alone();
    let device = device();
    let table = [
        (
            "[1,4,4]",
            r#"["relu",{"conv2d":{"channels":8,"kernel":5}}]"#,
            &["layer 1 (conv2d)", "[batch, 1, 4, 4]", "weight [8, 1, 5, 5]"][..],
        ),
        (
            "[16]",
            r#"[{"conv2d":{"channels":8,"kernel":3},"name":"stem"}]"#,
            &["layer 0 (conv2d `stem`)", "[batch, 16]", "[channels, height, width]"],
        ),
        ("[4,4]", r#"[{"max_pool1d":{"kernel":5}}]"#, &["layer 0 (max_pool1d)", "[batch, 4, 4]"]),
        ("[4,4]", r#"[{"max_pool1d":{"kernel":3,"padding":2}}]"#, &["`padding` is 2", "half"]),
        ("[4,4]", r#"[{"avg_pool1d":{"kernel":2,"dilation":2}}]"#, &["dilation", "maxima"]),
        ("[6]", r#"[{"lstm":{"hidden":4}}]"#, &["layer 0 (lstm)", "[batch, 6]", "[length, features]"]),
        ("[6,8]", r#"[{"transformer_encoder":{"heads":3}}]"#, &["8 features do not divide into 3 heads"]),
        ("[6,8,8]", r#"[{"conv2d":{"channels":4,"kernel":1,"groups":4}}]"#, &["6 and 4 channels do not divide into 4 groups"]),
        ("[6,8,8]", r#"[{"conv2d":{"channels":4,"kernel":[1,1,1]}}]"#, &["`kernel` has 3 numbers for 2 axes"]),
        ("[6,8,8]", r#"[{"conv2d":{"channels":4,"kernel":3,"padding":"same","stride":2}}]"#, &["\"same\"", "`stride` is not 1"]),
        ("[6,8,8]", r#"[{"group_norm":{"groups":4}}]"#, &["layer 0 (group_norm)", "[batch, 6, 8, 8]"]),
        (
            "[6,8]",
            r#"[{"embedding":{"tokens":5,"size":2}},{"embedding":{"tokens":5,"size":2}}]"#,
            &["layer 1 (embedding)", "tokens (integers)"],
        ),
        ("[6]", r#"[{"unflatten":{"sizes":[4,2]}}]"#, &["layer 0 (unflatten)", "[batch, 6]"]),
        ("[6,2]", r#"[{"flatten":{"start":0}}]"#, &["layer 0 (flatten)", "the first axis is the batch"]),
        ("[6]", r#"[{"residual":{"layers":[{"dense":{"units":5}}]}}]"#, &["layer 0 (residual)", "[batch, 5]", "[batch, 6]", "shortcut"]),
        (
            "[6]",
            r#"[{"residual":{"layers":["relu",{"conv1d":{"channels":2,"kernel":1}}]},"name":"block"}]"#,
            &["layer 1 of block block (conv1d)"],
        ),
        ("[6]", r#"[{"dense":{"units":0}}]"#, &["`units` is 0"]),
        ("[6]", r#"[{"dropout":{"p":1.5}}]"#, &["`p` is 1.5", "from 0 to 1"]),
        ("[6]", r#"["output"]"#, &["how many units it has follows from data"]),
        ("[6]", r#"[{"relu":{},"name":"a"},{"relu":{},"name":"a"}]"#, &["layer 1 (relu `a`)", "layer 0 has the same name"]),
        ("[6]", r#"[{"relu":{},"name":"a.b"}]"#, &["its name cannot stand"]),
        ("[6]", r#"[{"relu":{},"name":"7"}]"#, &["its name cannot stand"]),
        ("[6,4]", r#"["upsample"]"#, &["neither `size` nor `factor`"]),
        ("[6,4]", r#"[{"sinusoidal_encoding":{"longest":5}}]"#, &["`longest` is 5", "6 positions"]),
        ("[]", r#"[{"dense":{"units":1}}]"#, &["needs an axis of features"]),
        ("[0]", r#"["relu"]"#, &["input of shape [0]"]),
        ("[6]", "[]", &["without layers"]),
    ];
    for (input, text, parts) in table {
        let input = sizes(&serde_json::from_str(input).unwrap());
        let specs = layers(&serde_json::from_str(text).unwrap());
        let error = network(&input, specs, &device).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        let told = error.to_string();
        assert!(told.contains("help: "), "{text}: {told}");
        parts.iter().for_each(|part| assert!(told.contains(part), "{text}: no {part:?} in {told}"));
    }
    let softmax = || Network::with_input_size(4).layer(LayerKind::Softmax { axis: -1 });
    assert!(softmax().build_on(&device).unwrap_err().to_string().contains("taken twice"));
    assert!(softmax().loss(LossSpec::Mse).build_on(&device).is_ok());
    assert!(Network::with_input_size(4).sigmoid().loss(LossSpec::bce_with_logits()).build_on(&device).is_err());
    let deep = (0..40).fold(LayerKind::Relu, |inner, _| LayerKind::residual([inner]));
    assert!(Network::with_input_size(4).layer(deep).build_on(&device).unwrap_err().to_string().contains("nested"));
}

#[test]
fn names_and_settings_that_do_not_exist_are_told() {
    let _alone = alone();
    for (text, parts) in [
        (r#""dens""#, &["unknown variant `dens`", "`dense`"][..]),
        (r#"{"dense":{"unit":3}}"#, &["unknown field `unit`", "`units`"]),
        (r#"{"dense":{}}"#, &["missing field `units`"]),
        (r#""dense""#, &["missing field `units`"]),
        (r#"{"dense":{"units":"3"}}"#, &["invalid type: string \"3\""]),
        (r#"{"dense":{"units":-3}}"#, &["invalid value: integer `-3`"]),
        (r#"{"dense":{"units":3},"relu":{}}"#, &["`dense` and `relu`"]),
        (r#"{"relu":{"x":1}}"#, &["unknown field `x`"]),
        (r#"{"dropout":{"q":1}}"#, &["unknown field `q`"]),
        (r#"{"conv2d":{"channels":1,"kernel":[]}}"#, &["an empty list of sizes"]),
        (r#"{"conv2d":{"channels":1,"kernel":-1}}"#, &["below 0"]),
        (r#"{"conv2d":{"channels":1,"kernel":1,"padding":"valid"}}"#, &["\"valid\"", "same"]),
        (r#"{"name":"a"}"#, &["the name of a layer is missing"]),
        ("3", &["a layer by its name"]),
    ] {
        let told = serde_json::from_str::<LayerSpec>(text).unwrap_err().to_string();
        parts.iter().for_each(|part| assert!(told.contains(part), "{text}: no {part:?} in {told}"));
    }
}

#[test]
fn the_summary_counts() {
    let _alone = alone();
    let built = Network::with_input([1, 28, 28])
        .layer(LayerKind::Conv2d(ConvSettings::new(8, 3).no_bias()))
        .batch_norm()
        .relu()
        .layer(LayerKind::MaxPool2d(PoolSettings::new(2)))
        .flatten()
        .dense(10)
        .build_on(&device())
        .unwrap();
    let mut summary = built.summary();
    let flops: Vec<f64> = summary.rows.iter().map(|row| row.flops).collect();
    assert_eq!(flops, [2.0 * 8.0 * 26.0 * 26.0 * 9.0, 0.0, 0.0, 0.0, 0.0, 2.0 * 1352.0 * 10.0]);
    let parameters = 72 + 16 + 13520 + 10;
    assert_eq!(summary.n_parameters(), parameters);
    // Two running statistics of 8 channels, and a count.
    assert_eq!(summary.model_bytes(), (4 * parameters + 2 * 32 + 8) as f64);
    let activations: usize = [8 * 26 * 26; 3].into_iter().chain([8 * 13 * 13; 2]).chain([10]).map(|n| 4 * n).sum();
    (summary.batch_size, summary.optimizer_tensors) = (7, 3);
    assert_eq!(summary.activation_bytes(), (7 * activations) as f64);
    assert_eq!(summary.training_bytes(), summary.model_bytes() + (16 * parameters) as f64 + (7 * activations) as f64);
    let text = summary.to_string();
    for part in ["0      conv2d", "[8, 26, 26]", "13,530", "13,618 parameters (54.5 kB)", "124 k FLOPs", "batches of 7"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(text.lines().all(|line| line.len() < 110 && line == line.trim_end()), "{text}");
}

#[test]
fn a_seed_gives_initial_values_and_leaves_other_numbers_alone() {
    let _alone = alone();
    let device = device();
    let build =
        |seed| Network::with_input_size(5).dense(4).seed(seed).build_on(&device).unwrap().named_parameters()[0].1.to_vec::<f32>().unwrap();
    let before = Generator::global().state();
    let (first, second, other) = (build(1), build(1), build(2));
    assert_eq!(Generator::global().state(), before);
    assert!(first == second && first != other);
}

struct File(std::path::PathBuf);

impl File {
    fn new(name: &str) -> File {
        File(std::env::temp_dir().join(format!("unigrad-network-{name}-{}.safetensors", std::process::id())))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn all_sorts(device: &Device) -> Network {
    let mut built = Network::with_input([2, 9, 9])
        .layer(LayerSpec::from(LayerKind::Conv2d(ConvSettings::new(4, 3).padding([1, 1]))).named("stem"))
        .batch_norm()
        .residual(|block| block.layer(LayerKind::Conv2d(ConvSettings::new(4, [3, 1]).same())).relu())
        .layer(LayerKind::Flatten { start: 2, end: -1 })
        .sinusoidal_encoding()
        .transformer_encoder(TransformerSettings::new(3).hidden(5).n_layers(2))
        .layer(LayerKind::Gru(RecurrentSettings::new(3).bidirectional().last()))
        .dropout(0.25)
        .dense(3)
        .loss(LossSpec::CrossEntropy { label_smoothing: 0.1, ignore_index: None, class_weights: vec![1.0, 2.0, 0.5] })
        .build_on(device)
        .unwrap();
    built.set_metadata("unigrad.classes", "[\"a\"]");
    built
}

#[test]
fn files_keep_every_bit() {
    let _alone = alone();
    let device = device();
    let (file, second) = (File::new("whole"), File::new("again"));
    let mut built = all_sorts(&device);
    // Statistics that are not as at first.
    let x = Tensor::randn([4, 2, 9, 9], DType::F32, &device).realize().unwrap();
    built.forward(&x).realize().unwrap();
    built.save(&file.0).unwrap();
    let mut again = Network::load_on(&file.0, &device).unwrap();
    assert_eq!((again.architecture(), again.metadata("unigrad.classes")), (built.architecture(), Some("[\"a\"]")));
    again.save(&second.0).unwrap();
    assert_eq!(Archive::load(&file.0).unwrap(), Archive::load(&second.0).unwrap());
    built.eval();
    again.eval();
    let bits = |network: &Network| -> Vec<u32> { network.forward(&x).to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect() };
    assert_eq!(bits(&built), bits(&again));
    // Any program reads the weights.
    assert_eq!(Archive::load(&file.0).unwrap().tensors["stem.weight"].shape, [4, 2, 3, 3]);
}

#[test]
fn wrong_files_are_refused() {
    let _alone = alone();
    let device = device();
    let built = Network::with_input_size(4).dense(3).build_on(&device).unwrap();
    let file = File::new("wrong");
    built.save(&file.0).unwrap();
    let whole = Archive::load(&file.0).unwrap();
    let text = whole.metadata["unigrad.network"].clone();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        let mut archive = whole.clone();
        archive.metadata.insert("unigrad.network".into(), text.replace(from, to));
        Network::from_archive(archive, &file.0, &device).unwrap_err()
    };
    for (from, to, part) in [
        ("\"version\":1", "\"version\":2", "version 2, and this unigrad reads up to 1\n help: update"),
        ("\"version\":1", "\"version\":\"1\"", "damaged"),
        ("\"units\":3", "\"units\":4", "made for another model"),
        ("\"units\":3", "\"units\":1000000000", "made for another model"),
        ("\"units\":3", "\"units\":18446744073709551615", "its architecture"),
        ("\"units\":3", "\"units\":0", "`units` is 0"),
        ("\"dense\"", "\"danse\"", "damaged: unknown variant `danse`"),
        ("\"input\":[4]", "\"input\":[5]", "made for another model"),
        ("\"input\":[4]", "\"input\":[4,4,4,4,4,4,4,4,4]", "input of shape"),
        ("\"input\":[4]", "\"input\":[18446744073709551615,2]", "input of shape"),
        ("\"input\":[4]", "\"inputs\":[4]", "unknown field `inputs`"),
        ("{", "", "damaged"),
    ] {
        let told = with(from, to).to_string();
        assert!(told.contains(part) && told.contains("help: ") && told.contains("unigrad-network-wrong"), "{to}: no {part:?} in {told}");
    }
    let mut bare = whole.clone();
    bare.metadata.clear();
    assert!(Network::from_archive(bare, &file.0, &device).unwrap_err().to_string().contains("no architecture"));
    let mut less = whole.clone();
    less.tensors.remove("0.bias");
    assert!(Network::from_archive(less, &file.0, &device).unwrap_err().to_string().contains("missing: 0.bias"));
    assert_eq!(Network::load_on("nowhere/at/all", &device).unwrap_err().kind(), ErrorKind::File);
}

/// Architectures whose numbers and words were changed at random: an error or a network, never a panic, and no memory for sizes that are only announced.
#[test]
fn mutated_files_never_panic() {
    let _alone = alone();
    let device = device();
    let file = File::new("mutated");
    all_sorts(&device).save(&file.0).unwrap();
    let whole = Archive::load(&file.0).unwrap();
    let text = whole.metadata["unigrad.network"].clone().into_bytes();
    let mut state = 9u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let numbers: Vec<usize> = (0..text.len()).filter(|&i| text[i].is_ascii_digit()).collect();
    let (mut loaded, mut refused) = (0, 0);
    for round in 0..1500 {
        let mut bytes = text.clone();
        if round % 2 == 0 {
            // Another number.
            let at = numbers[next(numbers.len())];
            let values = ["0", "1", "2", "7", "-1", "1e9", "4294967296", "1073741824", "18446744073709551615", "0.5", "null", "[3,3]"];
            bytes.splice(at..=at, values[next(values.len())].bytes());
        } else {
            for _ in 0..=next(3) {
                let at = next(bytes.len());
                bytes[at] = b"{}[]\",:019abcnulltrue.-"[next(23)];
            }
        }
        let Ok(changed) = String::from_utf8(bytes) else { continue };
        let mut archive = whole.clone();
        archive.metadata.insert("unigrad.network".into(), changed);
        match Network::from_archive(archive, &file.0, &device) {
            Ok(_) => loaded += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(loaded > 20 && refused > 1000, "{loaded} were loaded, {refused} refused");
}

/// A method of the builder says what a file says by the kind's name alone.
#[test]
fn methods_of_the_builder_are_kinds_with_defaults() {
    let _alone = alone();
    let device = device();
    let shapes = |builder: unigrad_train::network::NetworkBuilder, json: &str, output: &[usize]| {
        let said: LayerSpec = serde_json::from_str(json).unwrap();
        assert_eq!(builder.architecture().layers, [said], "{json}");
        assert_eq!(builder.build_on(&device).unwrap().output_shape(), output, "{json}");
    };
    let of = |input: &[usize]| Network::with_input(input.to_vec());
    shapes(of(&[5, 4]).multihead_attention(2), r#"{"multihead_attention": {"heads": 2}}"#, &[5, 4]);
    shapes(of(&[5, 4]).rnn(3), r#"{"rnn": {"hidden": 3}}"#, &[5, 3]);
    shapes(of(&[2, 8]).max_pool1d(2), r#"{"max_pool1d": {"kernel": 2}}"#, &[2, 4]);
    shapes(of(&[2, 4, 4, 6]).max_pool3d(2), r#"{"max_pool3d": {"kernel": 2}}"#, &[2, 2, 2, 3]);
    shapes(of(&[4, 5]).group_norm(2), r#"{"group_norm": {"groups": 2}}"#, &[4, 5]);
    shapes(of(&[4, 5]).instance_norm(), r#""instance_norm""#, &[4, 5]);
    shapes(of(&[5]).embedding_bag(7, 3), r#"{"embedding_bag": {"tokens": 7, "size": 3}}"#, &[3]);
}
