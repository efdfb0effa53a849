use super::*;

fn sample() -> Archive {
    let tensor = |shape: &[usize], dtype: DType| HostTensor {
        dtype,
        shape: shape.to_vec(),
        bytes: (0..shape.iter().product::<usize>() * dtype.size()).map(|i| i as u8).collect(),
    };
    Archive {
        tensors: [
            ("a.weight".to_owned(), tensor(&[2, 3], DType::F32)),
            ("n".to_owned(), tensor(&[], DType::I64)),
            ("z".to_owned(), tensor(&[0], DType::BF16)),
        ]
        .into(),
        metadata: [("epoch".to_owned(), "3".to_owned())].into(),
    }
}

/// A file of this header and so many bytes of data.
fn file(header: &str, n_bytes: usize) -> Vec<u8> {
    let size = (header.len() as u64).to_le_bytes();
    [&size[..], header.as_bytes(), &vec![7; n_bytes]].concat()
}

fn error(bytes: &[u8]) -> String {
    Archive::from_bytes(bytes, "some.safetensors").unwrap_err().to_string()
}

#[test]
fn there_and_back() {
    let path = std::env::temp_dir().join(format!("unigrad-archive-{}.safetensors", std::process::id()));
    sample().save(&path).unwrap();
    assert_eq!(Archive::load(&path).unwrap(), sample());
    std::fs::remove_file(path).unwrap();
}

/// Whatever the order in which entries came: hash maps of two threads differ in their seeds, as those of two processes do.
#[test]
fn equal_content_gives_equal_files() {
    let write = |keys: Vec<usize>| {
        let mut archive = sample();
        archive.metadata.extend(keys.iter().map(|key| (format!("key \"{key}\""), format!("{key}\n\u{1b}"))));
        archive.tensors.extend(keys.iter().map(|key| (format!("t.{key}"), HostTensor { shape: vec![], ..sample().tensors["n"].clone() })));
        archive.to_bytes(Path::new("x")).unwrap()
    };
    let first = write((0..500).collect());
    for _ in 0..4 {
        let other = std::thread::spawn(move || write((0..500).rev().collect())).join().unwrap();
        assert!(first == other);
    }
    let header = std::str::from_utf8(&first[8..8 + u64::from_le_bytes(*first.first_chunk().unwrap()) as usize]).unwrap();
    let strings: serde_json::Value = serde_json::from_str(header).unwrap();
    assert_eq!((first.len() - 8 - header.len(), header.len() % 8), (32 + 500 * 8, 0));
    let at: Vec<usize> = (0..500).map(|key| header.find(&format!("\"key \\\"{key}\\\"\"")).unwrap()).collect();
    let mut in_order: Vec<String> = (0..500).map(|key| format!("key \"{key}\"")).collect();
    in_order.sort();
    let by_name: Vec<usize> = in_order.iter().map(|name| at[name[5..name.len() - 1].parse::<usize>().unwrap()]).collect();
    assert!(by_name.is_sorted() && strings["__metadata__"]["key \"7\""] == "7\n\u{1b}");
    assert_eq!(Archive::from_bytes(&first, "x").unwrap().tensors.len(), 503);
}

#[test]
fn every_type_comes_back_and_another_reader_agrees() {
    let mut archive = Archive::default();
    for (i, (dtype, _, name)) in PAIRS.iter().enumerate() {
        let tensor = HostTensor { dtype: *dtype, shape: vec![i, 2], bytes: vec![1; 2 * i * dtype.size()] };
        archive.tensors.insert((*name).to_owned(), tensor);
    }
    let bytes = archive.to_bytes(Path::new("x")).unwrap();
    assert_eq!(Archive::from_bytes(&bytes, "x").unwrap(), archive);
    let theirs = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    for (name, view) in theirs.tensors() {
        let ours = &archive.tensors[&name];
        assert_eq!((view.shape(), view.data()), (&ours.shape[..], &ours.bytes[..]), "{name}");
        assert!(PAIRS.iter().any(|(dtype, theirs, _)| *dtype == ours.dtype && *theirs == view.dtype()), "{name}");
    }
}

#[test]
fn damaged_files_are_refused() {
    let bytes = sample().to_bytes(Path::new("x")).unwrap();
    assert!(error(&bytes[..bytes.len() - 1]).contains("truncated: the header announces 32 bytes of data, and there are 31"));
    assert!(error(&bytes[..40]).contains("truncated: the header has"));
    assert!(error(&bytes[..5]).contains("at least 8 bytes"));
    assert!(error(&[&bytes[..], b"x"].concat()).contains("oversized"));
    assert!(error(b"PK\x03\x04 this is a zip file").contains("wrong magic"));
    let mut broken = bytes.clone();
    broken[10] = b'}';
    assert!(error(&broken).contains("some.safetensors: "));
    assert!(error(&file("", 0)).contains("the header is empty"));
    assert!(error(&file("{", 0)).contains("damaged"));
}

#[test]
fn headers_that_lie_are_refused() {
    let one = |entry: &str, n_bytes| error(&file(&format!("{{\"x\":{entry}}}"), n_bytes));
    let u8s = |shape: &str, begin: u64, end: u64| format!(r#"{{"dtype":"U8","shape":{shape},"data_offsets":[{begin},{end}]}}"#);
    assert!(one(&u8s("[3]", 0, 4), 4).contains("needs 3 bytes"));
    assert!(one(&u8s("[3]", 1, 4), 4).contains("begins at 1"));
    assert!(one(&u8s("[3]", 4, 1), 1).contains("goes from 4 to 1"));
    assert!(one(&u8s("[4294967296,4294967296]", 0, 0), 0).contains("more bytes than a file can have"));
    assert!(one(&u8s("[18446744073709551615]", 0, u64::MAX), 0).contains("truncated"));
    assert!(one(&u8s("[-1]", 0, 0), 0).contains("not that of a safetensors file"));
    assert!(one(r#"{"dtype":"F8_E8M0","shape":[],"data_offsets":[0,1]}"#, 1).contains("type F8_E8M0, which is not known here"));
    assert!(one("[]", 0).contains("not that of a safetensors file"));
    let (a, overlap, twice) = (u8s("[4]", 0, 4), u8s("[4]", 2, 6), u8s("[4]", 4, 8));
    assert!(error(&file(&format!("{{\"a\":{a},\"b\":{overlap}}}"), 6)).contains("begins at 2, and that before it ends at 4"));
    assert!(error(&file(&format!("{{\"a\":{a},\"a\":{twice}}}"), 8)).contains("two tensors are called a"));
    // Names come from strangers.
    let shown = one(r#"{"dtype":"\u001b[2J","shape":[],"data_offsets":[0,1]}"#, 1);
    assert!(shown.contains("\\u001b[2J") && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn headers_of_any_depth_and_size_are_refused() {
    // In a thread with the least of stacks: an error, not the end of the process.
    let small = std::thread::Builder::new().stack_size(256 << 10).spawn(|| {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            for (depth, closed) in [200, 20_000, 1_000_000].into_iter().flat_map(|depth| [(depth, true), (depth, false)]) {
                let value = format!("{}1{}", open.repeat(depth), if closed { close.repeat(depth) } else { String::new() });
                let ignored = format!(r#"{{"x":{{"dtype":"U8","shape":[0],"data_offsets":[0,0],"more":{value},"dtype":1}}}}"#);
                for header in [format!("{{\"a\":{value}}}"), format!("{{\"__metadata__\":{{\"a\":{value}}}}}"), ignored] {
                    assert!(error(&file(&header, 0)).contains("the header is "), "{open} {depth} {closed}");
                }
            }
        }
    });
    small.unwrap().join().unwrap();
    let axes = |n: usize| format!(r#"{{"x":{{"dtype":"U8","shape":[0{}],"data_offsets":[0,0]}}}}"#, ",1".repeat(n - 1));
    assert_eq!(Archive::from_bytes(&file(&axes(255), 0), "x").unwrap().tensors["x"].shape.len(), 255);
    assert!(error(&file(&axes(256), 0)).contains("more than 255 axes"));
    let strings = |n: usize| format!("{{\"__metadata__\":{{{}}}}}", (0..n).map(|i| format!("\"{i}\":\"\"")).collect::<Vec<_>>().join(","));
    assert_eq!(Archive::from_bytes(&file(&strings(1 << 16), 0), "x").unwrap().metadata.len(), 1 << 16);
    assert!(error(&file(&strings((1 << 16) + 1), 0)).contains("more than 65536 strings"));
    assert!(error(&file(&format!("{{{}}}", " ".repeat(8 << 20)), 0)).contains("at most 8388608 are read"));
    // And what cannot be read is not saved.
    let mut archive = sample();
    archive.metadata = (0..(1 << 16) + 1).map(|i| (i.to_string(), String::new())).collect();
    assert!(archive.to_bytes(Path::new("x")).unwrap_err().to_string().contains("more than 65536 strings"));
    archive = sample();
    archive.tensors.insert("wrong".to_owned(), HostTensor { dtype: DType::F32, shape: vec![2], bytes: vec![0; 4] });
    assert!(archive.to_bytes(Path::new("x")).unwrap_err().to_string().contains("wrong cannot be saved"));
}

/// What has no known length is read as far as it goes, and no further.
#[cfg(target_os = "linux")]
#[test]
fn streams_are_read() {
    let bytes = sample().to_bytes(Path::new("x")).unwrap();
    let read = |bytes: &[u8]| Archive::read(&mut &*bytes, None, Path::new("pipe"));
    assert_eq!(read(&bytes).unwrap(), sample());
    assert!(read(&bytes[..bytes.len() - 1]).unwrap_err().to_string().contains("there are 31"));
    assert!(read(&[&bytes[..], b"x"].concat()).unwrap_err().to_string().contains("oversized"));
    let huge = r#"{"x":{"dtype":"U8","shape":[9000000000000000000],"data_offsets":[0,9000000000000000000]}}"#;
    assert!(read(&file(huge, 5)).unwrap_err().to_string().contains("there are 5"));
    assert!(Archive::load("/dev/zero").unwrap_err().to_string().contains("wrong magic"));
}
