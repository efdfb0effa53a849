//! Data of configuration files: every kind is read from files as they are published or saved, trains a network, and says what is wrong with it.

mod support;

use std::{fs, path::Path};
use support::{Folder, cpu};
use unigrad_data::array;
use unigrad_nn::{Archive, HostTensor, Module};
use unigrad_tensor::ErrorKind;
use unigrad_train::network::{IMAGES, LossSpec, Network, Prepared, RunConfig, VOCABULARY};

fn config(data: &str, rest: &str) -> String {
    format!("device = \"cpu\"\n{data}\n[network]\n{rest}\n[train]\nmax_epochs = 2\nbatch_size = 4\n")
}

fn run(data: &str, rest: &str) -> (Prepared, Network, Vec<f32>) {
    let text = config(data, rest);
    let config = RunConfig::parse(&text, "x.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let data = config.data.read(config.train.seed).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let (network, run) = config.run().unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(run.history.step_losses.iter().all(|loss| loss.is_finite()));
    (data, network, run.history.step_losses)
}

fn told(data: &str, rest: &str) -> String {
    let error = RunConfig::parse(&config(data, rest), "x.toml").and_then(|config| config.run()).map(|_| ()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Argument | ErrorKind::Format | ErrorKind::File), "{error}");
    let text = error.to_string();
    assert!(text.contains("help: "), "{text}");
    text
}

fn idx(path: &Path, kind: u8, shape: &[usize], bytes: &[u8]) {
    let sizes = shape.iter().flat_map(|size| (*size as u32).to_be_bytes());
    fs::write(path, [0, 0, kind, shape.len() as u8].into_iter().chain(sizes).chain(bytes.iter().copied()).collect::<Vec<u8>>()).unwrap();
}

const DENSE: &str = "layers = [\"flatten\", { dense = { units = 8 } }, \"relu\", \"output\"]";

#[test]
fn idx_files() {
    let (_cpu, folder) = (cpu(), Folder::new("idx"));
    fs::create_dir_all(&folder.0).unwrap();
    let path = |name: &str| folder.0.join(name);
    let pixels: Vec<u8> = (0..10 * 5 * 4).map(|i| (i * 37 % 256) as u8).collect();
    idx(&path("images"), 8, &[10, 5, 4], &pixels);
    // Letters: more than ten classes.
    idx(&path("labels"), 8, &[10], &[0, 1, 2, 25, 4, 5, 6, 7, 8, 9]);
    let said = |inputs: &str, targets: &str| format!("[data.idx]\ninputs = {:?}\ntargets = {:?}", path(inputs), path(targets));
    let (data, network, _) = run(&said("images", "labels"), DENSE);
    assert_eq!((&data.shape[..], data.n_outputs, network.output_shape()), (&[1, 5, 4][..], 26, &[26][..]));
    let first = data.samples.get(0, &mut unigrad_nn::random::Rng::new(0, 0)).unwrap();
    let values: Vec<f32> = first.input.bytes.as_chunks::<4>().0.iter().map(|x| f32::from_ne_bytes(*x)).collect();
    assert!((values[1] - 37.0 / 255.0).abs() < 1e-6, "bytes are numbers from 0 to 1");
    // Floats are answered as numbers.
    idx(&path("numbers"), 0x0D, &[10], &(0..10).flat_map(|i| (i as f32).to_be_bytes()).collect::<Vec<u8>>());
    let (data, ..) = run(&said("images", "numbers"), DENSE);
    assert_eq!((data.n_outputs, data.loss), (1, LossSpec::Mse));
    idx(&path("few"), 8, &[9], &[0, 1, 0, 1, 0, 1, 0, 1, 0]);
    assert!(told(&said("images", "few"), DENSE).contains("holds 9 targets"));
    idx(&path("below"), 9, &[10], &[0, 1, 0xff, 1, 0, 1, 0, 1, 0, 0]);
    assert!(told(&said("images", "below"), DENSE).contains("the label of item 2 is -1"));
    idx(&path("one"), 8, &[10], &[0; 10]);
    assert!(told(&said("images", "one"), DENSE).contains("one class only"));
    idx(&path("none"), 8, &[0, 5, 4], &[]);
    assert!(told(&said("none", "labels"), DENSE).contains("nothing to learn from"));
    assert!(told(&said("nowhere", "labels"), DENSE).contains("nowhere"));
    let wrong = RunConfig::parse(&config("[data.idx]\ninput = \"a\"", DENSE), "x.toml").unwrap_err().to_string();
    assert!(wrong.contains("x.toml: line 3: unknown field `input`") && wrong.contains("did you mean `inputs`?"), "{wrong}");
}

#[test]
fn npy_and_npz_files() {
    let (_cpu, folder) = (cpu(), Folder::new("npy"));
    fs::create_dir_all(&folder.0).unwrap();
    let path = |name: &str| folder.0.join(name);
    let save = |name: &str, array: &HostTensor| {
        let archive = Archive { tensors: [("array".to_owned(), array.clone())].into(), ..Archive::default() };
        archive.save_npz(path(name), false).unwrap();
    };
    let numbers: Vec<f64> = (0..24).map(|i| f64::from(i) / 24.0).collect();
    let inputs = array(&numbers, &[12, 2]).unwrap();
    inputs.save_npy(path("x.npy")).unwrap();
    array(&[0i32, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2], &[12]).unwrap().save_npy(path("y.npy")).unwrap();
    let said =
        |inputs: &str, targets: &str, more: &str| format!("[data.npy]\ninputs = {:?}\ntargets = {:?}\n{more}", path(inputs), path(targets));
    let (data, ..) = run(&said("x.npy", "y.npy", ""), DENSE);
    assert_eq!((&data.shape[..], data.n_outputs), (&[2][..], 3));
    // Several yes-or-no questions, several numbers, tokens.
    array(&[0u8, 1].repeat(18), &[12, 3]).unwrap().save_npy(path("bits.npy")).unwrap();
    let (data, network, _) = run(&said("x.npy", "bits.npy", "scale = 2.0"), DENSE);
    assert_eq!((data.n_outputs, &network.architecture().loss), (3, &LossSpec::bce_with_logits()));
    array(&[0.5f32, 1.0].repeat(12), &[12, 2]).unwrap().save_npy(path("two.npy")).unwrap();
    assert_eq!(run(&said("x.npy", "two.npy", ""), DENSE).0.n_outputs, 2);
    array(&[3u16, 1, 4, 1, 5, 9].repeat(8), &[12, 4]).unwrap().save_npy(path("tokens.npy")).unwrap();
    let layers = "layers = [{ embedding = { size = 3 } }, \"flatten\", \"output\"]";
    let (data, network, _) = run(&said("tokens.npy", "y.npy", "tokens = true"), layers);
    assert_eq!((data.n_tokens, network.named_parameters()[0].1.shape()), (Some(10), vec![10, 3]));
    assert!(told(&said("tokens.npy", "y.npy", "tokens = true"), DENSE).contains("the data have tokens, and the network takes numbers"));
    assert!(
        told(&said("tokens.npy", "y.npy", ""), "layers = [{ embedding = { tokens = 10, size = 3 } }, \"flatten\", \"output\"]")
            .contains("takes tokens")
    );
    assert!(told(&said("x.npy", "y.npy", "tokens = true"), layers).contains("tokens are integers"));
    assert!(told(&said("x.npy", "y.npy", "scale = 0.0"), DENSE).contains("`scale` of 0"));
    let mut holes = numbers.clone();
    holes[7] = f64::NAN;
    array(&holes, &[12, 2]).unwrap().save_npy(path("holes.npy")).unwrap();
    assert!(told(&said("holes.npy", "y.npy", ""), DENSE).contains("item 3 has a number that is not finite (element 1)"));
    array(&[0i64, 1, 1 << 40].repeat(4), &[12]).unwrap().save_npy(path("huge.npy")).unwrap();
    assert!(told(&said("x.npy", "huge.npy", ""), DENSE).contains("the label of item 2 is 1099511627776"));
    // Two arrays of one file, by name.
    let tensors = [("inputs".to_owned(), inputs.clone()), ("y".to_owned(), array(&[0u8, 1].repeat(6), &[12, 1]).unwrap())].into();
    Archive { tensors, ..Archive::default() }.save_npz(path("both.npz"), true).unwrap();
    let both = |more: &str| format!("[data.npz]\nfile = {:?}\n{more}", path("both.npz"));
    assert_eq!(run(&both("targets = \"y\""), DENSE).0.n_outputs, 2);
    assert!(told(&both(""), DENSE).contains("has no array `targets`"));
    save("one.npz", &inputs);
    assert!(told(&said("both.npz", "y.npy", ""), DENSE).contains("holds 2 arrays"));
    fs::write(path("broken.npy"), b"\x93NUMPY\x01\x00").unwrap();
    assert!(told(&said("broken.npy", "y.npy", ""), DENSE).contains("broken.npy"));
}

#[test]
fn published_pictures() {
    let (_cpu, folder) = (cpu(), Folder::new("cifar"));
    fs::create_dir_all(&folder.0).unwrap();
    let record = |labels: &[u8]| labels.iter().copied().chain((0..3072).map(|i| (i * 7 % 256) as u8)).collect::<Vec<u8>>();
    for (at, name) in ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"].iter().enumerate() {
        fs::write(folder.0.join(format!("{name}.bin")), [record(&[at as u8]), record(&[9])].concat()).unwrap();
    }
    let layers = "layers = [{ max_pool2d = { kernel = 8 } }, \"flatten\", \"output\"]";
    let (data, network, _) = run(&format!("[data.cifar10]\nfolder = {:?}", folder.0), layers);
    assert_eq!((data.samples.len(), &data.shape[..], data.n_outputs), (10, &[3, 32, 32][..], 10));
    assert!(network.metadata(IMAGES).is_some_and(|form| form.contains("airplane")), "image files can be answered");
    fs::write(folder.0.join("train.bin"), [record(&[0, 99]), record(&[1, 3])].concat()).unwrap();
    fs::write(folder.0.join("test.bin"), record(&[0, 0])).unwrap();
    assert_eq!(run(&format!("[data.cifar100]\nfolder = {:?}", folder.0), layers).0.n_outputs, 100);
    fs::write(folder.0.join("data_batch_3.bin"), [1, 2, 3]).unwrap();
    assert!(told(&format!("[data.cifar10]\nfolder = {:?}", folder.0), layers).contains("data_batch_3.bin"));
    for (part, n) in [("train", 12), ("t10k", 4)] {
        idx(&folder.0.join(format!("{part}-images-idx3-ubyte")), 8, &[n, 28, 28], &vec![7; n * 784]);
        idx(&folder.0.join(format!("{part}-labels-idx1-ubyte")), 8, &[n], &(0..n).map(|i| (i % 10) as u8).collect::<Vec<u8>>());
    }
    let (data, network, _) = run(&format!("[data.fashion_mnist]\nfolder = {:?}", folder.0), layers);
    assert_eq!((data.samples.len(), &data.shape[..]), (12, &[1, 28, 28][..]));
    assert!(network.metadata(IMAGES).is_some_and(|form| form.contains("Sneaker")));
}

#[test]
fn texts() {
    let (_cpu, folder) = (cpu(), Folder::new("texts"));
    fs::create_dir_all(&folder.0).unwrap();
    let (text, table) = (folder.0.join("text.txt"), folder.0.join("reviews.csv"));
    fs::write(&text, "abcd".repeat(60)).unwrap();
    let said = |more: &str| format!("loss = \"token_cross_entropy\"\n[data.text]\nfile = {text:?}\ncontext = 8\n{more}");
    let layers = "layers = [{ embedding = { size = 8 } }, { lstm = { hidden = 16 } }, \"output\"]\n[optimizer.adam]\nlr = 0.05";
    let (data, network, losses) = run(&said("stride = 2"), layers);
    // Padding and unknown are tokens, too.
    assert_eq!((data.n_outputs, data.n_tokens, network.output_shape()), (6, Some(6), &[8, 6][..]));
    assert!(network.metadata(VOCABULARY).is_some() && losses[losses.len() - 1] < 0.5 * losses[0], "{losses:?}");
    // A language model's usual loss and figures.
    let text_config = config(&said("").replace("loss = \"token_cross_entropy\"\n", ""), layers)
        .replace("batch_size = 4", "batch_size = 4\nmetrics = [\"accuracy\", \"perplexity\"]");
    let (_, run_) = RunConfig::parse(&text_config, "x.toml").unwrap().run().unwrap();
    assert!(run_.history.last("perplexity").is_some_and(|x| x > 1.0) && run_.history.last("accuracy").is_some());
    assert!(told(&said("unit = \"words\""), layers).contains("did you mean `word`?"));
    assert!(told(&said("").replace("context = 8", "context = 1000"), layers).contains("windows of 1000 tokens"));
    let rows: String = (0..20).map(|i| if i % 2 == 0 { "a good film,yes\n" } else { "bad bad,no\n" }).collect();
    fs::write(&table, format!("review,liked\n{rows}")).unwrap();
    let said = |label: &str| format!("[data.texts]\nfile = {table:?}\ntext = \"review\"\nlabel = {label:?}\nlength = 4");
    let bag = "layers = [{ embedding_bag = { size = 8 } }, \"output\"]\n[optimizer.adam]\nlr = 0.1";
    let (data, _, losses) = run(&said("liked"), bag);
    assert_eq!((&data.shape[..], data.n_outputs, data.labels.map(|labels| labels.len())), (&[4][..], 2, Some(20)));
    assert!(losses[losses.len() - 1] < losses[0]);
    assert!(told(&said("like"), bag).contains("like"));
}
