//! Files that were made to do harm: code in all its spellings, bombs, depth, lies about sizes. Each is refused, in a thread with little stack.

use super::*;

/// A checkpoint with this pickle and a storage `0` of these bytes.
fn checkpoint(pickle: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = zip::Writer::new(&mut bytes);
    writer.entry("a/data.pkl", &[pickle], false).unwrap();
    writer.entry("a/data/0", &[data], false).unwrap();
    writer.finish().unwrap();
    bytes
}

fn refused(pickle: &[u8]) -> String {
    let error = error(&checkpoint(pickle, &[0; 24]));
    assert!(error.contains("some.pt: ") && error.contains("help: "), "{error}");
    error
}

/// A text as an opcode.
fn text(text: &str) -> Vec<u8> {
    [&[0x8c, text.len() as u8][..], text.as_bytes()].concat()
}

/// The opcodes of a tensor of six floats, with these opcodes for offset, shape and strides.
fn tensor(offset: &[u8], shape: &[u8], strides: &[u8]) -> Vec<u8> {
    let id = [b"(".as_slice(), &text("storage"), b"ctorch\nFloatStorage\n", &text("0"), &text("cpu"), b"K\x06tQ"].concat();
    [b"ctorch._utils\n_rebuild_tensor_v2\n(", &id[..], offset, shape, strides, b"\x89}tR"].concat()
}

#[test]
fn code_is_refused_with_its_name() {
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"cos\nsystem\n(S'true'\ntR.".to_vec(), "contains code: os.system"),
        (b"cbuiltins\neval\n(S'1'\ntR.".to_vec(), "contains code: builtins.eval"),
        (b"c__builtin__\nexec\n.".to_vec(), "contains code: __builtin__.exec"),
        (b"(S'true'\nios\nsystem\n.".to_vec(), "contains code: os.system"),
        (b"(cos\nsystem\nS'true'\no.".to_vec(), "contains code: os.system"),
        (b"\x80\x02csubprocess\nPopen\n(S'true'\ntR.".to_vec(), "contains code: subprocess.Popen"),
        (b"\x80\x02c__main__\nNet\n)\x81}b.".to_vec(), "contains code: __main__.Net"),
        ([b"\x80\x04".as_slice(), &text("posix"), &text("system"), b"\x93."].concat(), "contains code: posix.system"),
        (b"\x80\x02ctorch.hub\nload\n.".to_vec(), "contains code: torch.hub.load"),
        (b"cbuiltins\ngetattr\n.".to_vec(), "contains code: builtins.getattr"),
        // Attributes by dots.
        ([b"\x80\x04".as_slice(), &text("torch"), &text("Size.__class__"), b"\x93."].concat(), "contains code: torch.Size.__class__"),
        // Names that are no texts, and those that only look like known ones.
        (b"\x80\x04K\x01K\x02\x93.".to_vec(), "contains code: a name that is made while it is read"),
        (b"\x80\x04ccollections\nOrderedDict\nK\x02\x93.".to_vec(), "contains code: a name that is made while it is read"),
        (b"ccollections \nOrderedDict\n.".to_vec(), "contains code: collections .OrderedDict"),
        (b"\x80\x02\x82\x07.".to_vec(), "contains code: extension 7"),
        (b"\x80\x02\x83\x07\x01.".to_vec(), "contains code: extension 263"),
        (b"\x80\x02\x84\x07\0\0\x01.".to_vec(), "contains code: extension 16777223"),
        (b"Pmodule\n.".to_vec(), "contains code: an object of another program"),
        (b"(S'module'\nNNtQ.".to_vec(), "contains code: a reference to module"),
        // Known names, used for something else.
        (b"ctorch\nSize\n(K\x01tR.".to_vec(), "arguments that do not belong to it"),
        (b"c_codecs\nencode\n(S'a'\nS'rot13'\ntR.".to_vec(), "unknown encoding"),
        (b"\x80\x04ccollections\nOrderedDict\n)(S'a'\nK\x01d\x92.".to_vec(), "contains code: a call with named arguments"),
        (b"K\x01)R.".to_vec(), "calls what is no function"),
        (b"K\x01}b.".to_vec(), "sets the state of an object that has none"),
        (b"\x80\x05\x97.".to_vec(), "outside of the file"),
        // A terminal is not commanded.
        (b"c\x1b[2J\nx\n.".to_vec(), "contains code: \\u001b[2J.x"),
    ];
    for (pickle, words) in cases {
        let error = refused(&pickle);
        assert!(error.contains(words) && !error.contains('\x1b'), "{words}: {error}");
    }
}

#[test]
fn damaged_pickles_are_refused() {
    for pickle in [
        &b""[..],
        b".",
        b"(.",
        b"t.",
        b"K",
        b"X\xff\xff\xff\xff.",
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\xff.",
        b"h\x01.",
        b"]K\x01s.",
        b"}K\x01a.",
        b"}(K\x01u.",
        b"\x80\x06.",
        b"\xff.",
        b"I1x\n.",
        b"L9\xff\n.",
        b"S'a\n.",
        b"F.\n.",
        b"NN.N",
        b"\x95\xff\0\0\0\0\0\0\0N.",
        b"cos",
        b"X\x01\0\0\0\xff.",
        b"(0.",
        b"Np-1\n.",
    ] {
        refused(pickle);
    }
    assert!(refused(b"\x8b\xff\xff\xff\x7f.").contains("an integer of 2147483647 bytes"));
    assert!(refused(&[&[0x8a, 65][..], &[1; 65], b"."].concat()).contains("an integer of 65 bytes"));
    assert!(refused(&[b"L".as_slice(), &[b'9'; 1000], b"L\n."].concat()).contains("an integer that cannot be read"));
}

#[test]
fn bombs_and_depth_are_refused() {
    let small = std::thread::Builder::new().stack_size(256 << 10).spawn(|| {
        // Lists in lists, of any depth.
        for n in [100, 100_000, 1_000_000] {
            let deep = [b"]".repeat(n), b"a".repeat(n - 1), b".".to_vec()].concat();
            let error = refused(&deep);
            assert!(error.contains("nested more than 64 deep") || error.contains("objects"), "{n}: {error}");
            let tuples = [b")".to_vec(), b"\x85".repeat(n), b".".to_vec()].concat();
            refused(&tuples);
        }
        // A list that contains itself, and one that contains one twice that contains one twice …
        assert!(refused(b"]q\0h\0a.").contains("contains itself"));
        let mut bomb = b"]q\0(N".to_vec();
        bomb.extend(tensor(b"K\0", b"K\x06\x85", b"K\x01\x85"));
        bomb.push(b'e');
        for level in 1..40u8 {
            bomb.extend([b']', b'q', level, b'(', b'h', level - 1, b'h', level - 1, b'e']);
        }
        bomb.push(b'.');
        let error = refused(&bomb);
        assert!(error.contains("again and again") || error.contains("names and texts"), "{error}");
        // The same long list, copied many times.
        let mut copies = [b"](".to_vec(), b"N".repeat(50_000), b"eq\x000cbuiltins\nlist\nq\x010".to_vec()].concat();
        copies.extend(b"h\x01h\0\x85R0".repeat(50_000));
        copies.extend(b"N.");
        assert!(refused(&copies).contains("copies the same values"));
        // And a long text, encoded many times: once is enough.
        let mut encoded = [b"X\x40\x42\x0f\0".to_vec(), b"a".repeat(1_000_000), b"q\0".to_vec()].concat();
        encoded.extend([&b"c_codecs\nencode\nq\x01"[..], &text("latin1"), b"q\x02000]q\x03("].concat());
        encoded.extend(b"h\x01h\0h\x02\x86R".repeat(100));
        encoded.extend(b"e.");
        let file = TensorFile::from_bytes_at_most(checkpoint(&encoded, &[]), "x", 1 << 20).unwrap();
        assert!(file.read_all().unwrap_err().to_string().contains("at most 1048576 more than that"));
        assert_eq!(file.read("7").unwrap().bytes.len(), 1_000_000);
    });
    small.unwrap().join().unwrap();
}

#[test]
fn tensors_stay_in_their_storage() {
    let data: Vec<u8> = (0..6).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let read = |offset: &[u8], shape: &[u8], strides: &[u8]| {
        let pickle = [tensor(offset, shape, strides), b".".to_vec()].concat();
        TensorFile::from_bytes_at_most(checkpoint(&pickle, &data), "some.pt", 1 << 20)
            .and_then(|file| file.read("data"))
            .map_err(|e| e.to_string())
    };
    assert_eq!(read(b"K\0", b"K\x06\x85", b"K\x01\x85").unwrap().bytes, data);
    assert_eq!(read(b"K\x05", b"K\x01\x85", b"K\x01\x85").unwrap().bytes, data[20..]);
    assert_eq!(read(b"K\x05", b")", b")").unwrap().bytes, data[20..]);
    // Sizes of 0 and 1 make strides and offsets mean nothing.
    let huge = b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f";
    assert!(read(huge, b"K\0\x85", b"K\x01\x85").unwrap().bytes.is_empty());
    assert_eq!(read(b"K\0", b"K\x01K\x02\x86", &[huge.as_slice(), b"K\x01\x86"].concat()).unwrap().bytes, data[..8]);
    let outside = [
        read(b"K\x01", b"K\x06\x85", b"K\x01\x85"),
        read(b"K\x06", b")", b")"),
        read(b"K\0", b"K\x07\x85", b"K\x01\x85"),
        read(b"K\0", b"K\x02K\x03\x86", b"K\x04K\x01\x86"),
        read(huge, b"K\x01\x85", b"K\x01\x85"),
        read(b"K\0", &[huge.as_slice(), b"\x85"].concat(), b"K\0\x85"),
        read(b"K\0", &[huge.as_slice(), huge, b"\x86"].concat(), b"K\0K\0\x86"),
        read(b"K\0", b"K\x02\x85", &[huge.as_slice(), b"\x85"].concat()),
        read(b"K\0", b"K\x02\x85", b"J\xff\xff\xff\xff\x85"),
        read(b"J\xff\xff\xff\xff", b"K\x01\x85", b"K\x01\x85"),
        read(b"K\0", b"K\x02\x85", b")"),
        read(b"N", b"K\x02\x85", b"K\x01\x85"),
        // A number, repeated: more than the limit allows.
        read(b"K\0", b"J\0\0\0\x10\x85", b"K\0\x85"),
    ];
    for (i, outcome) in outside.into_iter().enumerate() {
        assert!(outcome.as_ref().is_err_and(|error| error.contains("help: ")), "{i}: {outcome:?}");
    }
    let axes = |n: usize| {
        read(
            b"K\0",
            &[b"(".to_vec(), b"K\x01".repeat(n), b"t".to_vec()].concat(),
            &[b"(".to_vec(), b"K\x01".repeat(n), b"t".to_vec()].concat(),
        )
    };
    assert_eq!(axes(255).unwrap().shape.len(), 255);
    assert!(axes(256).unwrap_err().contains("no more than 255"));
    // A storage of another size than is announced.
    let error = error(&checkpoint(&[tensor(b"K\0", b"K\x06\x85", b"K\x01\x85"), b".".to_vec()].concat(), &data[..23]));
    assert!(error.contains("6 elements are announced, and 23 bytes are there"), "{error}");
}

#[test]
fn damage_to_a_zip_archive_is_seen() {
    let whole = golden("views.pt");
    // The elements of a tensor.
    let mut flipped = whole.clone();
    let at = whole.windows(8).position(|w| *w == [0, 0, 0, 0, 0, 0, 128, 63]).unwrap();
    flipped[at] ^= 1;
    assert!(error(&flipped).contains("the checksum is"));
    for n in [whole.len() - 1, whole.len() - 22, whole.len() / 2, 100, 4] {
        let error = error(&whole[..n]);
        assert!(error.contains("truncated") || error.contains("damaged"), "{n}: {error}");
    }
    assert!(error(&[&whole[..], b"more"].concat()).contains("no directory at its end"));
    let packed = golden("arrays_packed.npz");
    for at in (0..packed.len()).step_by(7) {
        let mut bytes = packed.clone();
        bytes[at] ^= 0x10;
        // A name or a date may be other than before; content may not.
        if let Ok(archive) = TensorFile::from_bytes(bytes, "x").and_then(|file| file.read_all()) {
            let wanted = Archive::load(folder().join("arrays_packed.safetensors")).unwrap();
            assert!(archive.tensors.values().all(|tensor| wanted.tensors.values().any(|other| other == tensor)), "{at}");
        }
    }
}

#[test]
fn what_unpacks_to_much_is_refused() {
    let zeros = HostTensor { dtype: DType::U8, shape: vec![32 << 20], bytes: vec![0; 32 << 20] };
    let archive = Archive { tensors: [("a".to_owned(), zeros)].into(), metadata: BTreeMap::new() };
    let folder = temporary("bomb");
    let path = folder.join("x.npz");
    archive.save_npz(&path, true).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 64 << 10);
    assert_eq!(Archive::open(&path).unwrap(), archive);
    let file = TensorFile::open_at_most(&path, 1 << 20).unwrap();
    let error = file.read("a").unwrap_err().to_string();
    assert!(error.contains("unpacks to 33554432 bytes") && error.contains("open_at_most"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Names come from strangers, also where what they name is cut off.
#[test]
fn names_of_entries_command_nothing() {
    let mut file = golden("arrays_packed.npz");
    let directory = file.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let (local, central) = (30, directory + 46);
    assert_eq!((&file[local..local + 6], &file[central..central + 6]), (&b"b1.npy"[..], &b"b1.npy"[..]));
    (file[local], file[central]) = (0x1b, 0x1b);
    // Six bytes more than are there, in the directory and before the data.
    file[directory + 24] += 6;
    file[local + 6 + 4] += 6;
    let error = TensorFile::from_bytes(file, "x.npz").and_then(|file| file.read_all()).unwrap_err().to_string();
    assert!(
        error.contains("entry \\u001b1.npy: announces at least 140 bytes, and unpacks to 134") && !error.contains('\u{1b}'),
        "{error:?}"
    );
}
