//! `unigrad inspect`, on files of every format: text, JSON, exit codes.

mod support;

use serde_json::Value;
use support::{Folder, refused, run, stdout, text};
use unigrad::nn::Archive;

const GOLDENS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../goldens/formats");

fn golden(name: &str) -> String {
    format!("{GOLDENS}/{name}")
}

fn json(args: &[&str]) -> Value {
    let output = run(&[&["inspect", "--json"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn every_format_is_listed() {
    for (name, format) in [
        ("views.pt", "PyTorch checkpoint"),
        ("views_old.pt", "PyTorch checkpoint (before 1.6)"),
        ("arrays_packed.npz", "NPZ"),
        ("plain.npy", "NPY"),
        ("views.safetensors", "safetensors"),
    ] {
        let listed = json(&[&golden(name)]);
        let stem = name.split('.').next().unwrap();
        let wanted = Archive::load(golden(&format!("{stem}.safetensors"))).unwrap();
        assert_eq!((listed["format"].as_str().unwrap(), listed["n_tensors"].as_u64().unwrap() as usize), (format, wanted.tensors.len()));
        let mut bytes = 0;
        for (row, (name, tensor)) in listed["tensors"].as_array().unwrap().iter().zip(&wanted.tensors) {
            let shape: Vec<usize> = serde_json::from_value(row["shape"].clone()).unwrap();
            assert_eq!(
                (row["name"].as_str().unwrap(), row["dtype"].as_str().unwrap(), &shape),
                (name.as_str(), tensor.dtype.name(), &tensor.shape)
            );
            assert_eq!(row["bytes"].as_u64().unwrap() as usize, tensor.bytes.len(), "{name}");
            bytes += tensor.bytes.len() as u64;
        }
        assert_eq!(listed["bytes"].as_u64().unwrap(), bytes);
    }
}

#[test]
fn text_has_names_sums_and_metadata() {
    let output = run(&["inspect", &golden("training.pt"), "--prefix", "model_state_dict."]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in
        ["training.pt: PyTorch checkpoint", "model_state_dict.0.weight", "f32", "[3, 4]", "9 tensors, 36 values, 148 bytes", "epoch: 7"]
    {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    assert!(!said.contains("optimizer.state.0.exp_avg "), "{said}");
    let said = stdout(&run(&["inspect", &golden("views.pt")]));
    assert!(said.lines().any(|line| line.contains("tied.b") && line.ends_with("the same as tied.a")), "{said}");
}

#[test]
fn parts_and_checkpoints_say_what_they_are() {
    let folder = Folder::new("inspect");
    let mut archive = Archive::load(golden("views.safetensors")).unwrap();
    let index = archive.save_shards(folder.path("model.safetensors"), 300).unwrap();
    let listed = json(&[text(&index)]);
    assert_eq!(listed["format"], "index of parts");
    assert!(listed["files"].as_array().unwrap().len() > 1);
    archive.metadata.insert("optimizer.steps".to_owned(), "x".repeat(300));
    let path = folder.path("c.safetensors");
    archive.save(&path).unwrap();
    let said = stdout(&run(&["inspect", text(&path)]));
    assert!(
        said.contains("safetensors, a checkpoint of a training run") && said.contains("(300 characters; `--json` prints all)"),
        "{said}"
    );
    assert_eq!(json(&[text(&path)])["metadata"]["optimizer.steps"].as_str().unwrap().len(), 300);
}

#[test]
fn what_cannot_be_listed_is_refused() {
    refused(&["inspect", &golden("refused_system.pt")], &["contains code: posix.system", "refused_system.pt"]);
    refused(&["inspect", &golden("refused_script.pt")], &["TorchScript"]);
    refused(&["inspect", &golden("missing.pt")], &["missing.pt", "cannot be read"]);
    refused(&["inspect", GOLDENS], &["this is a folder"]);
    refused(&["inspect", &golden("refused.json")], &["index"]);
    refused(&["inspect", &golden("views.pt"), "--prefix", "nothing"], &["no tensor's name begins with nothing"]);
    assert_eq!(run(&["inspect"]).status.code(), Some(2));
    let help = run(&["inspect", "--help"]);
    assert!(help.status.success() && stdout(&help).contains("unigrad inspect checkpoint.pt"));
}
