//! What the library of data exports, and how a configuration file says it: every kind of data, option of a table, transform, sampler, split and setting of a
//! loader is reached and changes something, or stands here with the reason why not. A new one that is in neither list fails.

mod support;

use std::{collections::BTreeSet, fs};
use support::{
    Folder, alone,
    reach::How::{self, Not, Part, Said},
    reach::{exported, said},
};
use unigrad_nn::random::Rng;
use unigrad_train::network::{Prepared, RunConfig};

const TOOL: &str = "a function or a type for programs, not a part of a run";
const FIXED: &str = "examples of a run have one size";

/// Files of every kind that the texts name, in a folder `DIR`.
fn files(name: &str) -> Folder {
    let _ = support::device();
    let folder = Folder::new(name);
    let cifar = folder.0.join("cifar");
    fs::create_dir_all(&cifar).unwrap();
    let mut rng = Rng::new(3, 0);
    let mut record = |labels: &[u8]| -> Vec<u8> { labels.iter().copied().chain((0..3072).map(|_| rng.below(256) as u8)).collect() };
    for file in ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"] {
        // Half of the pictures are of class 0.
        let records: Vec<u8> = (0..8u8).flat_map(|at| record(&[if at < 4 { 0 } else { at }])).collect();
        fs::write(cifar.join(format!("{file}.bin")), records).unwrap();
    }
    for file in ["train", "test"] {
        fs::write(cifar.join(format!("{file}.bin")), (0..8u8).flat_map(|at| record(&[at, at])).collect::<Vec<u8>>()).unwrap();
    }
    let rows: String = (0..40).map(|i| format!("{},{},'a;b',{},{}\n", i * 7 % 40, i % 3, ["x", "y"][i % 2], i % 2)).collect();
    fs::write(folder.0.join("table.csv"), format!("size,code,note,kind,answer\n{rows}")).unwrap();
    let idx = |name: &str, shape: &[u32], bytes: &[u8]| {
        let sizes = shape.iter().flat_map(|size| size.to_be_bytes());
        fs::write(
            folder.0.join(name),
            [0, 0, 8, shape.len() as u8].into_iter().chain(sizes).chain(bytes.iter().copied()).collect::<Vec<u8>>(),
        )
        .unwrap();
    };
    idx("images-idx", &[20, 28, 28], &(0..20 * 784).map(|i| (i * 37 % 256) as u8).collect::<Vec<u8>>());
    idx("labels-idx", &[20], &(0..20).map(|i| i % 4).collect::<Vec<u8>>());
    fs::write(folder.0.join("text.txt"), "To be, or not to be, that is the question. ".repeat(10)).unwrap();
    let texts: String = (0..20).map(|i| if i % 2 == 0 { "a good film,yes\n" } else { "bad bad,no\n" }).collect();
    fs::write(folder.0.join("texts.csv"), format!("review,liked\n{texts}")).unwrap();
    folder
}

fn config(folder: &Folder, text: &str) -> RunConfig {
    let layers = if text.contains("[data.text]") {
        "[{ embedding = { size = 8 } }, \"output\"]"
    } else if text.contains("[data.texts]") {
        "[{ embedding_bag = { size = 8 } }, \"output\"]"
    } else {
        "[\"flatten\", { dense = { units = 6 } }, \"output\"]"
    };
    let data = if text.contains("data") { "" } else { "data = { cifar10 = { folder = \"DIR/cifar\" } }\n" };
    let train = if text.contains("[train]") { "" } else { "[train]\nmax_epochs = 1\n" };
    // Keys without a section come first.
    let text =
        format!("device = \"cpu\"\n{data}{text}\n[network]\nlayers = {layers}\n{train}").replace("DIR", &folder.0.display().to_string());
    RunConfig::parse(&text, "data.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn read(config: &RunConfig) -> Prepared {
    config.data.read(0).unwrap_or_else(|e| panic!("{e}"))
}

/// All that a run shows: losses of steps, and of validation.
fn run(folder: &Folder, text: &str) -> Vec<u64> {
    let config = config(folder, text);
    let (_, run) = config.run().unwrap_or_else(|e| panic!("{text}: {e}"));
    let losses = run.history.step_losses.iter().map(|loss| u64::from(loss.to_bits()));
    let validated = run.history.get("val_loss").unwrap_or_default().iter().map(|loss| loss.to_bits());
    assert!(!run.history.step_losses.is_empty() && run.history.step_losses.iter().all(|loss| loss.is_finite()), "{text}");
    losses.chain(validated).collect()
}

const WITH_VALIDATION: &str = "[train]\nmax_epochs = 1\nvalidation_split = 0.25\n";

#[test]
fn every_export_is_reached() {
    let (_alone, folder) = (alone(), files("reach-exports"));
    let names = exported(include_str!("../../unigrad-data/src/lib.rs"));
    let pictures = |text| Said(text);
    let table = [
        ("Arrays", Said("[data.idx]\ninputs = \"DIR/images-idx\"\ntargets = \"DIR/labels-idx\"")),
        ("Idx", Part),
        ("IdxData", Part),
        ("Batches", Part),
        ("Prepared", Not(TOOL)),
        ("Collate", Not(TOOL)),
        ("HostBatch", Not(TOOL)),
        ("OfStacked", Not(TOOL)),
        ("PadSequences", Not(FIXED)),
        ("PaddedBatch", Not(FIXED)),
        ("pad_sequences", Not(FIXED)),
        ("Stack", Part),
        ("Stackable", Not(TOOL)),
        ("Upload", Not(TOOL)),
        ("Cached", Not("tables and arrays are in memory; files are decoded by several threads")),
        ("Concat", Not("a run reads one kind of data: join the files")),
        ("InMemory", Not(TOOL)),
        ("Map", Not(TOOL)),
        ("Subset", Part),
        ("Dataset", Not(TOOL)),
        ("Sample", Not(TOOL)),
        ("HostNumber", Not(TOOL)),
        ("array", Not(TOOL)),
        ("ImageBatch", Not(TOOL)),
        ("ImageSplit", Not(TOOL)),
        ("Images", Part),
        ("digits", Said("data = \"digits\"")),
        ("mnist", Not("reads both parts; a file's run reads the training part: see `mnist_examples`")),
        ("mnist_examples", Said("data = { mnist = { folder = \"DIR/mnist\", normalize = { channels = { mean = [0.1], std = [0.3] } } } }")),
        ("Batch", Part),
        ("Loader", Part),
        ("CIFAR10", Part),
        ("Channels", Not("pictures of a run are grey or RGB: `grey`")),
        ("DecodeOptions", Not("limits are the library's; channels are `grey`")),
        ("FASHION_MNIST", Part),
        ("ImageFolder", Not("`network_train.rs` and `unigrad-cli/tests/networks.rs` train on folders; its options are below")),
        ("Picture", Not(TOOL)),
        ("Pictures", Part),
        ("Pixels", Not(TOOL)),
        ("cifar10", Said("data = { cifar10 = { folder = \"DIR/cifar\", normalize = \"imagenet\" } }")),
        ("cifar100", Said("data = { cifar100 = { folder = \"DIR/cifar\" } }")),
        ("fashion_mnist", Said("data = { fashion_mnist = { folder = \"DIR/mnist\" } }")),
        ("BatchSampler", Not(TOOL)),
        ("Buckets", Not(FIXED)),
        ("Distributed", Not("a run is of one process")),
        ("RandomOrder", Said("[loader]\nsampler = { replacement = { samples = 48 } }")),
        ("Sampler", Not(TOOL)),
        ("Sequential", Said("[train]\nmax_epochs = 1\nshuffle = false\n")),
        ("Stratified", Said("[loader]\nsampler = \"stratified\"")),
        ("SubsetOrder", Not("parts are made by `split`")),
        (
            "Weighted",
            Said("[loader]\nsampler = { weighted = { weights = [0.0, 1, 1, 1, 2, 1, 1, 1], samples = 12, replacement = false } }"),
        ),
        ("MapBatches", Part),
        ("Position", Not(TOOL)),
        ("Source", Not(TOOL)),
        ("Steps", Not(TOOL)),
        ("Fold", Part),
        ("k_fold", Said("split = { folds = { k = 4, fold = 1, shuffled = false } }")),
        ("random_split", Said("split = \"random\"\n[train]\nmax_epochs = 1\nvalidation_split = 0.25\n")),
        ("stratified_k_fold", Said("split = { folds = { k = 4, fold = 1, stratified = true } }")),
        ("stratified_split", Said("split = \"stratified\"\n[train]\nmax_epochs = 1\nvalidation_split = 0.25\n")),
        ("validation_split", Said(WITH_VALIDATION)),
        ("Categories", Part),
        ("ColumnType", Part),
        ("Csv", Said("[data.csv]\nfile = \"DIR/table.csv\"\ntarget = \"kind\"")),
        ("CsvOptions", Part),
        ("Missing", Part),
        ("TableOptions", Part),
        ("TableSchema", Part),
        ("Task", Part),
        ("Unknown", Part),
        ("StreamingText", Not("texts of a run are in memory")),
        ("Text", Part),
        ("TextBatch", Not(TOOL)),
        ("Vocabulary", Not("`TokenVocabulary` is that of a run")),
        ("LabelledTexts", Not(FIXED)),
        ("TextTable", Part),
        ("TokenVocabulary", Part),
        ("TokenWindows", Said("[data.text]\nfile = \"DIR/text.txt\"\ncontext = 8")),
        ("Unit", Part),
        ("lines_of_file", Not(TOOL)),
        ("lines_of_text", Not(TOOL)),
        ("texts_of_table", Said("[data.texts]\nfile = \"DIR/texts.csv\"\ntext = \"review\"\nlabel = \"liked\"\nlength = 4")),
        ("CenterCrop", pictures("[augment]\npictures = [{ center_crop = { height = 20, width = 24 } }]")),
        ("ColorJitter", pictures("[augment]\npictures = [{ color_jitter = { hue = 0.3 } }]")),
        ("Compose", Part),
        ("Grayscale", pictures("[augment]\npictures = [{ grayscale = { p = 1 } }]")),
        ("Normalize", Part),
        ("RandomApply", pictures("[augment]\npictures = [{ apply = { p = 0.5, transforms = [\"vertical_flip\"] } }]")),
        ("RandomCrop", pictures("[augment]\npictures = [{ random_crop = { height = 32, width = 32, padding = 4 } }]")),
        ("RandomErasing", pictures("[augment]\npictures = [{ erasing = { p = 1 } }]")),
        ("RandomHorizontalFlip", pictures("[augment]\npictures = [\"horizontal_flip\"]")),
        ("RandomResizedCrop", pictures("[augment]\npictures = [{ random_resized_crop = { height = 32, width = 32 } }]")),
        ("RandomRotation", pictures("[augment]\npictures = [{ rotation = { degrees = [-20, 20] } }]")),
        ("RandomVerticalFlip", pictures("[augment]\npictures = [\"vertical_flip\"]")),
        ("Resize", pictures("[augment]\npictures = [{ resize = { height = 20, width = 40 } }]")),
        ("Size", pictures("[augment]\npictures = [{ resize_shorter = { size = 20 } }]")),
        ("ToFloat", Part),
        ("Transform", Not(TOOL)),
    ];
    let mnist = folder.0.join("mnist");
    fs::create_dir_all(&mnist).unwrap();
    for part in ["train", "t10k"] {
        fs::copy(folder.0.join("images-idx"), mnist.join(format!("{part}-images-idx3-ubyte"))).unwrap();
        fs::copy(folder.0.join("labels-idx"), mnist.join(format!("{part}-labels-idx1-ubyte"))).unwrap();
    }
    let plain = run(&folder, "");
    for (name, text) in said("data", &names, &table) {
        assert_ne!(run(&folder, text), plain, "{name}");
    }
    for (text, other) in [
        ("[augment]\nmixup = 0.4\n", "[augment]\ncutmix = 0.4\n"),
        ("[augment]\ncutmix = 0.4\n", "[augment]\nmixup = 0.4\ncutmix = 0.4\n"),
        ("[loader]\nsampler = \"balanced\"\n", "[loader]\nsampler = \"stratified\"\n"),
    ] {
        let losses = run(&folder, text);
        assert!(losses != plain && losses != run(&folder, other), "{text}");
    }
}

/// Names of methods that set something, in a part of a source.
fn setters(text: &str, from: &str, to: &str) -> BTreeSet<String> {
    let text = text.split(from).nth(1).unwrap().split(to).next().unwrap();
    let lines = text.lines().filter(|line| line.contains("(mut self"));
    lines.map(|line| line.trim().trim_start_matches("pub fn ").split(['(', '<']).next().unwrap().to_owned()).collect()
}

/// A transform, the settings that it has, what its table needs, and how each setting is said.
type Settings = (&'static str, BTreeSet<String>, &'static str, Vec<(&'static str, How)>);

#[test]
fn every_setting_of_loaders_and_transforms_is_reached() {
    let (_alone, folder) = (alone(), files("reach-settings"));
    let of = |file: &str, name: &str| setters(file, &format!("impl {name}"), "\n}\n");
    let (geometry, resize) =
        (include_str!("../../unigrad-data/src/transform/geometry.rs"), include_str!("../../unigrad-data/src/transform/resize.rs"));
    let (rotate, erase) =
        (include_str!("../../unigrad-data/src/transform/rotate.rs"), include_str!("../../unigrad-data/src/transform/erase.rs"));
    let lists: [Settings; 4] = [
        (
            "random_crop",
            of(geometry, "RandomCrop {"),
            "height = 32, width = 32",
            vec![("padding", Said("padding = 4")), ("fill", Said("padding = 4, fill = 0.5"))],
        ),
        (
            "random_resized_crop",
            of(resize, "RandomResizedCrop {"),
            "height = 32, width = 32",
            vec![("scale", Said("scale = [0.5, 0.6]")), ("ratio", Said("ratio = [1.0, 1.1]"))],
        ),
        ("rotation", of(rotate, "RandomRotation {"), "degrees = [10, 20]", vec![("fill", Said("fill = 0.5"))]),
        (
            "erasing",
            of(erase, "RandomErasing {"),
            "p = 1",
            vec![("scale", Said("scale = [0.5, 0.6]")), ("ratio", Said("ratio = [1.0, 1.1]")), ("value", Said("value = 0.5"))],
        ),
    ];
    for (transform, names, base, table) in lists {
        let text = |more: &str| format!("[augment]\npictures = [{{ {transform} = {{ {base}{more} }} }}]");
        let mut seen = vec![run(&folder, &text(""))];
        for (name, setting) in said(transform, &names, &table) {
            let losses = run(&folder, &text(&format!(", {setting}")));
            assert!(!seen.contains(&losses), "{transform}.{name}");
            seen.push(losses);
        }
    }
    for setting in ["brightness", "contrast", "saturation", "hue"] {
        let none = run(&folder, "[augment]\npictures = [\"color_jitter\"]");
        assert_ne!(run(&folder, &format!("[augment]\npictures = [{{ color_jitter = {{ {setting} = 0.4 }} }}]")), none, "{setting}");
    }
    let names = setters(include_str!("../../unigrad-data/src/loader.rs"), "impl<D: Dataset + 'static, C> Loader<D, C> {", "\n}\n");
    let table = [
        ("in_order", Said("[train]\nmax_epochs = 1\nbatch_size = 16\nshuffle = false\n")),
        ("sampler", Said("[loader]\nsampler = \"balanced\"")),
        ("batch_sampler", Not("of batches of a program's own")),
        ("drop_last", Said("[loader]\ndrop_last = true\n[train]\nmax_epochs = 1\nbatch_size = 16\n")),
        ("workers", Said("[loader]\nworkers = 0")),
        ("prefetch", Said("[loader]\nprefetch = 1")),
        ("upload_ahead", Said("[loader]\nupload_ahead = 3")),
    ];
    let plain = run(&folder, "[train]\nmax_epochs = 1\nbatch_size = 16\n");
    let of_threads = run(&folder, "");
    for (name, text) in said("loaders", &names, &table) {
        match name {
            // Batches are the same whatever makes them.
            "workers" | "prefetch" | "upload_ahead" => assert_eq!(run(&folder, text), of_threads, "{name}"),
            _ => assert_ne!(run(&folder, text), plain, "{name}"),
        }
    }
}

#[test]
fn every_option_of_a_table_is_reached() {
    let folder = files("reach-table");
    let own: BTreeSet<String> = setters(include_str!("../../unigrad-data/src/table/fit.rs"), "impl TableOptions {", "\n}\n");
    let fields = include_str!("../../unigrad-data/src/table/read.rs").split("pub struct CsvOptions {").nth(1).unwrap();
    let fields = fields.split("\n}").next().unwrap().lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(": "));
    let names: BTreeSet<String> = own.into_iter().chain(fields.map(|(name, _)| name.to_owned())).collect();
    let path = folder.0.join("options.csv");
    let rows: String = (0..40)
        .map(|i| {
            format!(
                "{},{},{},{},{}\n",
                i * 7 % 40,
                i % 3,
                if i == 5 { "" } else { ["2.5", "2.5", "4"][i % 3] },
                ["x", "y"][i % 2],
                i * 3 % 10
            )
        })
        .collect();
    let told = |keys: &str, header: &str, rows: &str| {
        fs::write(&path, format!("{header}{rows}")).unwrap();
        let text = format!("[data.csv]\nfile = {:?}\n{keys}\n", path.display().to_string());
        config(&folder, &text).data.read(0).map(|data| {
            let samples = (0..data.samples.len()).flat_map(|at| {
                let sample = data.samples.get(at, &mut Rng::new(0, 0)).unwrap();
                sample.input.bytes.into_iter().chain(sample.target.bytes)
            });
            (samples.collect::<Vec<u8>>(), data.metadata.clone(), data.shape.clone(), data.n_outputs)
        })
    };
    const HEADER: &str = "size,code,gap,kind,answer\n";
    const TARGET: &str = "target = \"answer\"\n";
    let plain = told(TARGET, HEADER, &rows).unwrap();
    let table = [
        ("target", Said("target = \"kind\"")),
        ("task", Said("target = \"answer\"\ntask = \"classification\"")),
        ("ignore", Said("target = \"answer\"\nignore = [\"code\"]")),
        ("column_type", Said("target = \"answer\"\ntypes = { code = \"category\" }")),
        ("missing", Said("target = \"answer\"\nmissing = \"mean\"")),
        ("missing_of", Said("target = \"answer\"\nmissing_of = { gap = \"mode\" }")),
        ("categories", Said("target = \"answer\"\ncategories = \"index\"")),
        ("unknown", Said("target = \"answer\"\nunknown = \"ignore\"")),
        ("standardize", Said("target = \"answer\"\nstandardize = false")),
        ("standardize_target", Said("target = \"size\"\nstandardize_target = false")),
        ("nan_is_missing", Part),
        ("max_categories", Part),
        ("delimiter", Part),
        ("quote", Part),
        ("has_header", Part),
        ("max_bytes", Part),
    ];
    for (name, keys) in said("tables", &names, &table) {
        assert!(told(keys, HEADER, &rows).unwrap() != plain, "{name}");
    }
    let of_size = |more: &str| told(&format!("target = \"size\"\n{more}"), HEADER, &rows).unwrap();
    assert!(of_size("standardize_target = false") != of_size(""));
    // What is an error without it. The error says the key.
    let nan = rows.replacen("2.5", "nan", 1);
    let error = told(TARGET, HEADER, &nan).unwrap_err().to_string();
    assert!(error.contains("`nan_is_missing`") && error.contains("line 2"), "{error}");
    assert!(told(&format!("{TARGET}nan_is_missing = true"), HEADER, &nan).is_ok());
    let error = told(&format!("{TARGET}max_categories = 1"), HEADER, &rows).unwrap_err().to_string();
    assert!(error.contains("`kind`"), "{error}");
    assert!(told(&format!("{TARGET}delimiter = \";\""), &HEADER.replace(',', ";"), &rows.replace(',', ";")).unwrap() == plain);
    let quoted = rows.replace("x", "'x'").replace("y", "'y'");
    assert!(told(&format!("{TARGET}quote = \"'\""), HEADER, &quoted).unwrap() == plain);
    assert!(told(&format!("{TARGET}quote = \"\""), HEADER, &quoted).unwrap() != plain);
    assert!(told("target = \"column 5\"\nheader = false", "", &rows).is_ok());
    assert!(told(&format!("{TARGET}max_bytes = 10"), HEADER, &rows).is_err());
    for (keys, says) in [("quote = \"ab\"", "several characters"), ("quote = \"é\"", "ASCII"), ("delimiter = \"é\"", "ASCII")] {
        let error = told(&format!("{TARGET}{keys}"), HEADER, &rows).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("help: "), "{error}");
    }
}

#[test]
fn mistakes_are_told_with_their_lines() {
    let folder = files("reach-told");
    let parse = |text: &str| {
        let text = format!("data = \"digits\"\n{text}\n[network]\nlayers = [\"flatten\", \"output\"]\n[train]\nmax_epochs = 1\n");
        RunConfig::parse(&text, "x.toml").map(|_| ()).unwrap_err().to_string()
    };
    for (text, says) in [
        ("[loader]\nworker = 2", ["line 3", "did you mean `workers`?"]),
        ("[loader]\nworkers = -2", ["line 3", "-2"]),
        ("[loader]\nsampler = \"balance\"", ["line 3", "did you mean `balanced`?"]),
        ("[loader]\nsampler = { weighted = { weight = [1] } }", ["line 3", "`weights`"]),
        ("split = \"rnadom\"", ["line 2", "did you mean `random`?"]),
        ("split = { folds = { k = 0, fold = 0 } }", ["line 2", "nonzero"]),
        ("[augment]\npicture = []", ["line 3", "did you mean `pictures`?"]),
        ("[augment]\npictures = [\"flip\"]", ["line 3", "`horizontal_flip`"]),
        ("[augment]\npictures = [{ rotation = { degrees = 5 } }]", ["line 3", "integer `5`"]),
        ("[augment]\nmixup = \"yes\"", ["line 3", "string"]),
    ] {
        let told = parse(text);
        assert!(says.iter().all(|part| told.contains(part)), "{text}: {told}");
    }
    for (text, says) in [
        ("[augment]\npictures = [{ horizontal_flip = { p = 2 } }]", "from 0 to 1"),
        ("split = { folds = { k = 4, fold = 4 } }", "from 0 to 3"),
        ("split = { folds = { k = 1, fold = 0 } }", "fold"),
        ("[loader]\nsampler = { weighted = { weights = [1, 2] } }", "a weight for each class"),
        ("[augment]\nmixup = -1.0", "above 0"),
        (
            "data = { cifar10 = { folder = \"DIR/cifar\", normalize = { channels = { mean = [0.5, 0.5], std = [1, 1] } } } }",
            "one for each channel",
        ),
        ("[data.csv]\nfile = \"DIR/table.csv\"\ntarget = \"kind\"\n[augment]\npictures = [\"vertical_flip\"]", "the data are none"),
        ("[data.csv]\nfile = \"DIR/table.csv\"\ntarget = \"size\"\n[augment]\nmixup = 1.0", "one class for each example"),
        ("[data.csv]\nfile = \"DIR/table.csv\"\ntarget = \"size\"\n[loader]\nsampler = \"balanced\"", "goes by classes"),
    ] {
        let told = config(&folder, text).run().map(|_| ()).unwrap_err().to_string();
        assert!(told.contains(says) && told.contains("help: "), "{text}: {told}");
    }
}

#[test]
fn only_training_pictures_are_changed() {
    let (_alone, folder) = (alone(), files("reach-train"));
    // An optimizer that changes nothing: validation is the same whatever training sees.
    let still = "[optimizer.sgd]\nlr = 1e-30\n[train]\nmax_epochs = 1\nvalidation_split = 0.25\n";
    let validated = |text: &str| run(&folder, &format!("{text}{still}")).pop();
    let plain = validated("");
    assert_eq!(validated("[augment]\npictures = [{ erasing = { p = 1 } }]\nmixup = 0.4\n"), plain);
    // What every picture has done to it changes validation too, and stands in the model.
    let text = "data = { cifar10 = { folder = \"DIR/cifar\", normalize = \"imagenet\" } }\n";
    assert_ne!(validated(text), plain);
    let config = config(&folder, text);
    let data = read(&config);
    assert!(data.metadata.iter().any(|(_, form)| form.contains("0.485")), "{:?}", data.metadata);
}
