//! Numbers that make no sense, wherever they stand: refused with cause and remedy, without a panic and before memory is taken for them.

mod support;

use std::{fs, path::Path};
use support::{Folder, SONNETS, refused, run, text};
use unigrad::{
    nn::{Archive, HostTensor},
    prelude::DType,
};

const HUGE: [&str; 4] = ["0", "4294967295", "18446744073709551615", "1000000000000000"];

#[test]
fn of_the_command_line() {
    let folder = Folder::new("numbers");
    let out = folder.path("out");
    let gpt = ["train", "gpt", "--text", SONNETS, "--device", "cpu", "--out", text(&out)];
    let digits = ["train", "digits", "--model", "mlp", "--device", "cpu", "--out", text(&out)];
    let bench = ["bench", "W1", "--device", "cpu"];
    for value in HUGE {
        for option in ["--layers", "--heads", "--dim", "--ctx", "--batch"] {
            refused(&[&gpt[..], &[option, value]].concat(), &[value]);
        }
        refused(&[&digits[..], &["--batch", value]].concat(), &[value]);
        refused(&[&digits[..], &["--threads", value]].concat(), &[value]);
        refused(&[&bench[..], &["--threads", value]].concat(), &[value]);
        refused(&[&gpt[..], &["--epochs", value]].concat(), &[value]);
        refused(&[&digits[..], &["--epochs", value]].concat(), &[value]);
        if value != "4294967295" {
            refused(&[&gpt[..], &["--steps", value]].concat(), &[value]);
        }
    }
    for value in ["nan", "inf", "-1", "0", "1e999"] {
        refused(&[&gpt[..], &["--lr", value]].concat(), &["learning rate"]);
        refused(&[&bench[..], &["--secs", value]].concat(), &["seconds above 0"]);
        if value != "0" {
            refused(&[&gpt[..], &["--temperature", value]].concat(), &["temperature"]);
        }
    }
    // What fits the limits, and no memory.
    refused(&[&gpt[..], &["--batch", "16777216", "--ctx", "4096"]].concat(), &["needs at least", "--batch"]);
    refused(&[&gpt[..], &["--layers", "10000", "--dim", "65536", "--heads", "1"]].concat(), &["needs at least"]);
    for (name, value) in
        [("PEERS_WAIT_S", "nan"), ("PEERS_WAIT_S", "-1"), ("PEERS_WAIT_S", "1e300"), ("PEERS_TRIES", "inf"), ("PEERS_TRIES", "x")]
    {
        let output = support::unigrad(&bench).env(name, value).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && error.contains(&format!("{name}={value}")) && error.contains("help: "), "{error}");
    }
    assert!(!out.exists());
}

/// Resumes with each of the values in a checkpoint, which must be refused.
fn with_values(folder: &Path, resume: &[&str], values: &[(&str, &[&str])]) {
    let path = folder.join("checkpoint.safetensors");
    let whole = Archive::load(&path).unwrap();
    for (name, values) in values {
        assert!(whole.metadata.contains_key(*name), "{name}: {:?}", whole.metadata.keys());
        for value in *values {
            let mut changed = whole.clone();
            changed.metadata.insert((*name).to_owned(), (*value).to_owned());
            changed.save(&path).unwrap();
            let found = fs::read(&path).unwrap();
            let error = refused(resume, &[]);
            let (_, short) = name.split_once('.').unwrap();
            assert!(error.contains("checkpoint.safetensors") || error.contains(short), "{name} {value}: {error}");
            assert!(fs::read(&path).unwrap() == found, "{name} {value}: the checkpoint changed");
        }
        let mut without = whole.clone();
        without.metadata.remove(*name);
        without.save(&path).unwrap();
        refused(resume, &["checkpoint.safetensors", name]);
    }
    for name in ["history.epochs", "history.step_losses"] {
        let wrong = HostTensor { dtype: DType::F32, shape: vec![1, 1], bytes: vec![0; 4] };
        for tensor in [None, Some(wrong)] {
            let mut changed = whole.clone();
            changed.tensors.remove(name);
            changed.tensors.extend(tensor.map(|tensor| (name.to_owned(), tensor)));
            changed.save(&path).unwrap();
            refused(resume, &["checkpoint.safetensors", name]);
        }
    }
    whole.save(&path).unwrap();
    let output = run(resume);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

const RATES: &[&str] = &["-1", "nan", "inf", "0", "x"];
const COUNTS: &[&str] = &["0", "4294967296", "18446744073709551615", "-1", "x"];
/// Of which 0 is one that a run can have.
const PLACES: &[&str] = &["18446744073709551615", "7", "-1", "nan"];
const SUMS: &[&str] = &["nan", "inf", "x"];

#[test]
fn of_a_checkpoint_of_digits() {
    let folder = Folder::new("numbers-digits");
    let out = folder.path("out");
    let base = ["train", "digits", "--model", "mlp", "--device", "cpu", "--out", text(&out)];
    assert!(run(&[&base[..], &["--epochs", "1"]].concat()).status.success());
    let values: &[(&str, &[&str])] = &[
        ("setting.lr", RATES),
        ("setting.batch", COUNTS),
        ("setting.epochs", COUNTS),
        ("setting.seed", &["-1", "x"]),
        ("setting.model", &["cnn", "x"]),
        ("position.epoch", PLACES),
        ("position.batch", PLACES),
        ("position.step", PLACES),
        ("position.items", &["7", "-1", "nan"]),
        ("position.loss_sum", SUMS),
        ("position.seconds", &["nan", "inf", "-1"]),
        ("optimizer.steps", &["0", "1", "18446744073709551615", "-1"]),
        ("random.offset", &["18446744073709551615", "-1"]),
        ("random.seed", &["x"]),
        ("data.fingerprint", &["", "0123456789abcdef"]),
    ];
    let resume = ["train", "digits", "--device", "cpu", "--out", text(&out), "--resume"];
    with_values(&out, &resume, values);
}

#[test]
fn of_a_checkpoint_of_a_gpt() {
    let folder = Folder::new("numbers-gpt");
    let out = folder.path("out");
    let base = ["train", "gpt", "--text", SONNETS, "--device", "cpu", "--sample", "3", "--out", text(&out)];
    let sizes = ["--layers", "1", "--heads", "2", "--dim", "8", "--ctx", "8", "--batch", "2", "--steps", "20"];
    assert!(run(&[&base[..], &sizes].concat()).status.success());
    let resume = [&base[..], &["--resume"]].concat();
    // Another text, though of the same length and letters.
    let mut other = fs::read(SONNETS).unwrap();
    let at = (1..other.len()).find(|&i| other[i] != other[i - 1]).unwrap();
    other.swap(at, at - 1);
    fs::write(folder.path("other.txt"), other).unwrap();
    let file = folder.path("other.txt");
    let with_other: Vec<&str> = resume.iter().map(|arg| if *arg == SONNETS { text(&file) } else { arg }).collect();
    refused(&with_other, &["other.txt", "not what the interrupted run", "--text"]);
    let values: &[(&str, &[&str])] = &[
        ("setting.lr", RATES),
        ("setting.batch", COUNTS),
        ("setting.ctx", COUNTS),
        ("setting.layers", &["0", "1000000000", "2"]),
        ("setting.heads", &["0", "4294967296", "3"]),
        ("setting.dim", &["0", "4294967296", "16"]),
        ("setting.steps", &["0", "19", "18446744073709551615", "x"]),
        ("position.epoch", PLACES),
        ("position.batch", PLACES),
        ("position.loss_sum", SUMS),
        ("position.seconds", &["nan", "-1"]),
        ("optimizer.steps", &["0", "21", "18446744073709551615"]),
    ];
    with_values(&out, &resume, values);
}

#[test]
fn of_files_of_images() {
    let folder = Folder::new("numbers-mnist");
    let mnist = |images: &[u8], labels: &[u8], parts: &[&str]| {
        fs::write(folder.path("t10k-images-idx3-ubyte"), images).unwrap();
        fs::write(folder.path("t10k-labels-idx1-ubyte"), labels).unwrap();
        let out = folder.path("out");
        refused(&["train", "mnist", "--data", text(&folder.0), "--device", "cpu", "--out", text(&out)], parts);
    };
    let none = [0, 0, 8, 1, 0, 0, 0, 0];
    mnist(&[0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 28], &none, &["0 images"]);
    mnist(&[0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255], &none, &["more than any file"]);
    mnist(&[0, 0, 8, 3, 0, 0, 0, 1, 255, 255, 255, 255, 0, 0, 0, 1], &none, &["truncated"]);
    // Too small for the network.
    let two = [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 9, 9];
    mnist(&two, &[0, 0, 8, 1, 0, 0, 0, 2, 1, 2], &["1x1", "--model mlp"]);
}
