//! Files of PyTorch and NumPy (`scripts/golden_files.py`) against what they hold; what is written against what NumPy writes; files that lie.

use super::*;
use std::path::PathBuf;

mod hostile;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../goldens/formats")
}

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

fn temporary(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("unigrad-formats-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn error(bytes: &[u8]) -> String {
    let file = TensorFile::from_bytes(bytes.to_vec(), "some.pt").and_then(|file| file.read_all());
    file.unwrap_err().to_string()
}

/// Says the first tensor that differs, and not all bytes of all.
fn same(got: &Archive, wanted: &Archive, name: &str) {
    let names = |archive: &Archive| archive.tensors.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(got), names(wanted), "{name}");
    for (tensor, wanted) in &wanted.tensors {
        assert_eq!(got.tensors[tensor], *wanted, "{name}: {tensor}");
    }
    assert_eq!(got.metadata, wanted.metadata, "{name}");
}

#[test]
fn files_of_others_hold_what_they_should() {
    let mut n = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("refused") || !["pt", "npy", "npz"].iter().any(|ending| name.ends_with(ending)) {
            continue;
        }
        let wanted = Archive::load(path.with_extension("safetensors")).unwrap();
        same(&Archive::open(&path).unwrap_or_else(|e| panic!("{name}: {e}")), &wanted, &name);
        // Tensor by tensor, and from memory.
        let file = TensorFile::from_bytes(std::fs::read(&path).unwrap(), &name).unwrap();
        for (tensor, dtype, shape) in file.tensors() {
            let read = file.read(tensor).unwrap();
            assert_eq!((read.dtype, read.shape.as_slice()), (dtype, shape), "{name}: {tensor}");
            assert_eq!(read, wanted.tensors[tensor], "{name}: {tensor}");
        }
        n += 1;
    }
    assert!(n >= 20, "{n} files only");
}

#[test]
fn what_is_no_data_is_refused_with_its_name() {
    let words: BTreeMap<String, String> = serde_json::from_slice(&golden("refused.json")).unwrap();
    assert!(words.len() >= 10);
    for (name, words) in words {
        let error = Archive::open(folder().join(&name)).unwrap_err().to_string();
        assert!(error.contains(&words) && error.contains(&name) && error.contains("help: "), "{name}: {error}");
    }
}

#[test]
fn formats_are_told_by_content() {
    let open = |name: &str| TensorFile::from_bytes(golden(name), "no-ending").unwrap().format();
    assert_eq!(open("views.pt"), Format::PyTorch);
    assert_eq!(open("packed.pt"), Format::PyTorch);
    assert_eq!(open("views_old.pt"), Format::PyTorchLegacy);
    assert_eq!(open("plain.npy"), Format::Npy);
    assert_eq!(open("arrays_packed.npz"), Format::Npz);
    assert_eq!(open("views.safetensors"), Format::Safetensors);
    let tar = [&[b'a'; 257][..], b"ustar\0", &[0; 300]].concat();
    for (bytes, what) in [
        (&b""[..], "an empty file"),
        (b"GGUF\x03\0\0\0", "a GGUF file"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (&tar, "a tar archive"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
        (b"hello", "no file of tensors"),
        (b"{\"weight_map\": {}}", "an index of other files"),
    ] {
        let error = error(bytes);
        assert!(error.contains(what) && error.contains("help: "), "{error}");
    }
}

#[test]
fn tied_weights_are_told() {
    for name in ["views.pt", "views_old.pt", "packed.pt"] {
        let file = TensorFile::open(folder().join(name)).unwrap();
        assert_eq!(file.aliases().into_iter().collect::<Vec<_>>(), [("tied.b", "tied.a")], "{name}");
    }
    assert!(TensorFile::open(folder().join("dtypes.pt")).unwrap().aliases().is_empty());
}

#[test]
fn a_part_is_read_by_its_prefix() {
    let file = TensorFile::open(folder().join("training.pt")).unwrap();
    let state = file.read_prefix("model_state_dict.").unwrap();
    let names: Vec<&str> = state.tensors.keys().map(String::as_str).collect();
    let wanted =
        ["0.bias", "0.weight", "1.bias", "1.num_batches_tracked", "1.running_mean", "1.running_var", "1.weight", "3.bias", "3.weight"];
    assert_eq!(names, wanted);
    assert_eq!(state.metadata["epoch"], "7");
    assert_eq!(state.metadata["optimizer.param_groups.0.betas"], "[0.9, 0.999]");
    let error = file.read_prefix("encoder.").unwrap_err().to_string();
    assert!(error.contains("begins with encoder.") && error.contains("help: "), "{error}");
    assert!(file.read("encoder").unwrap_err().to_string().contains("has no tensor encoder"));
}

#[test]
fn arrays_are_written_as_numpy_writes_them() {
    let folder = temporary("written");
    let plain = Archive::load(self::folder().join("plain.safetensors")).unwrap();
    plain.tensors["data"].save_npy(folder.join("x.npy")).unwrap();
    assert_eq!(std::fs::read(folder.join("x.npy")).unwrap(), golden("plain.npy"));
    let all = Archive::load(self::folder().join("arrays.safetensors")).unwrap();
    for compressed in [false, true] {
        let path = folder.join("x.npz");
        all.save_npz(&path, compressed).unwrap();
        same(&Archive::open(&path).unwrap(), &all, "npz");
        // What is written is the same each time.
        let first = std::fs::read(&path).unwrap();
        all.save_npz(&path, compressed).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), first);
    }
    let half = HostTensor { dtype: DType::BF16, shape: vec![1], bytes: vec![0; 2] };
    assert!(half.save_npy(folder.join("y.npy")).unwrap_err().to_string().contains("NumPy has no type bf16"));
    assert!(!folder.join("y.npy").exists());
    let short = HostTensor { dtype: DType::F32, shape: vec![2], bytes: vec![0; 4] };
    assert!(short.save_npy(folder.join("y.npy")).unwrap_err().to_string().contains("with 4 bytes"));
    let mut said = all.clone();
    said.metadata.insert("epoch".into(), "3".into());
    assert!(said.save_npz(folder.join("y.npz"), false).unwrap_err().to_string().contains("metadata cannot be saved"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Zip64 is used where numbers are wide, which here is from 0, 1, 100 … on.
#[test]
fn wide_archives_are_read() {
    let tensor = HostTensor { dtype: DType::U8, shape: vec![300], bytes: (0..300).map(|i| i as u8).collect() };
    for wide_from in [0, 1, 100, 300, 450, 700, 1000, u64::MAX] {
        for deflate in [false, true] {
            let mut bytes = Vec::new();
            let mut writer = zip::Writer::wide_from(&mut bytes, wide_from);
            let header = npy::written(&tensor, "x", Path::new("x")).unwrap();
            for name in ["a.npy", "b.npy"] {
                writer.entry(name, &[&header, &tensor.bytes], deflate).unwrap();
            }
            writer.finish().unwrap();
            let read =
                TensorFile::from_bytes(bytes, "x.npz").and_then(|file| file.read_all()).unwrap_or_else(|e| panic!("{wide_from}: {e}"));
            assert!(read.tensors.len() == 2 && read.tensors.values().all(|t| *t == tensor), "{wide_from}");
        }
    }
}

fn archive(sizes: &[usize]) -> Archive {
    let tensor = |n: usize| HostTensor { dtype: DType::U8, shape: vec![n], bytes: vec![n as u8; n] };
    let tensors = sizes.iter().enumerate().map(|(i, n)| (format!("layer.{i}"), tensor(*n))).collect();
    Archive { tensors, metadata: [("format".to_owned(), "pt".to_owned())].into() }
}

#[test]
fn parts_have_at_most_their_size() {
    let folder = temporary("shards");
    let path = folder.join("model.safetensors");
    let n_files = || std::fs::read_dir(&folder).unwrap().count();
    // Bytes of a part, and how many parts that makes of 9, 10, 11, 0 and 1 bytes.
    for (max, parts) in [(u64::MAX, 1), (31, 1), (30, 2), (19, 2), (18, 3), (10, 4), (9, 4), (8, 4), (0, 4)] {
        let archive = archive(&[9, 10, 11, 0, 1]);
        let index = archive.save_shards(&path, max).unwrap();
        let file = TensorFile::open(&index).unwrap();
        assert_eq!((file.files().count(), file.format() == Format::Index), (parts, parts > 1), "{max}");
        same(&file.read_all().unwrap(), &archive, "shards");
        for part in file.files() {
            let part = Archive::load(part).unwrap();
            let sum: usize = part.tensors.values().map(|t| t.bytes.len()).sum();
            assert!(sum as u64 <= max || part.tensors.values().filter(|t| !t.bytes.is_empty()).count() == 1, "{max}: {sum}");
        }
        assert_eq!(file.read_prefix("layer.").unwrap().tensors["1"], archive.tensors["layer.1"]);
        assert_eq!(file.n_bytes(), 31);
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
    }
    // An index that no longer holds is not left beside the whole.
    archive(&[9, 9]).save_shards(&path, 9).unwrap();
    assert_eq!(n_files(), 3);
    assert_eq!(archive(&[9, 9]).save_shards(&path, 18).unwrap(), path);
    assert!(!folder.join("model.safetensors.index.json").exists());
    assert!(archive(&[1]).save_shards(folder.join("model.pt"), 9).unwrap_err().to_string().contains("does not end with"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_index_that_lies_is_refused() {
    let folder = temporary("index");
    let index = archive(&[9, 9]).save_shards(folder.join("model.safetensors"), 9).unwrap();
    let good = std::fs::read_to_string(&index).unwrap();
    let refused = |text: &str| {
        std::fs::write(&index, text).unwrap();
        let error = TensorFile::open(&index).unwrap_err().to_string();
        assert!(error.contains("help: "), "{error}");
        error
    };
    assert!(
        refused(&good.replace("layer.0", "layer.7")).contains("layer.7 is in model-00001-of-00002.safetensors, which does not have it")
    );
    assert!(refused(&good.replace("00001-of", "00009-of")).contains("model-00009-of-00002.safetensors: cannot be read"));
    for elsewhere in ["../", "/tmp/", "a/", "./", "..\\\\", "c:"] {
        let text = good.replace("\"model-00001", &format!("\"{elsewhere}model-00001"));
        assert!(refused(&text).contains("not a file beside it"), "{elsewhere}");
    }
    assert!(refused(&good.replace("\"model-00001-of-00002.safetensors\"", "\"model.safetensors.index.json\"")).contains("itself an index"));
    assert!(refused(&good.replace("\"layer.1\"", "\"layer.0\"")).contains("stands twice"));
    assert!(refused("{\"weight_map\": {\"a\": 3}}").contains("is no index of tensors"));
    assert!(refused("{\"a\": 3}").contains("missing field `weight_map`"));
    assert!(refused(&"{\"metadata\":".repeat(100_000)).contains("is no index of tensors"));
    let without =
        good.lines().filter(|line| !line.contains("layer.1")).collect::<String>().replace("safetensors\",  }", "safetensors\"  }");
    std::fs::write(folder.join("model-00001-of-00002.safetensors"), {
        archive(&[9, 9]).save(folder.join("both.safetensors")).unwrap();
        std::fs::read(folder.join("both.safetensors")).unwrap()
    })
    .unwrap();
    assert!(refused(&without).contains("does not say that model-00001-of-00002.safetensors has a tensor layer.1"));
    std::fs::remove_dir_all(folder).unwrap();
}
