//! Files of tensors with changes drawn by a generator: `.pt` (zip and older), NPZ, NPY, safetensors, an index with its parts, checkpoints. Each is read, or refused with
//! a remedy, without a panic, in a thread of little stack, in bounded memory and time. `UNIGRAD_FUZZ=20000` runs that many in all,
//! `UNIGRAD_FUZZ_SEED=17` others.

#[path = "../src/bin/fuzz/memory.rs"]
mod memory;
#[path = "../src/bin/fuzz/mutate.rs"]
mod mutate;

use std::{
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use unigrad::{
    nn::{AdamW, Archive, Checkpoint, HostTensor, Layer, Module, TensorFile, models::Mlp},
    prelude::{DType, Device, Error, Tensor},
};
use unigrad_testing::fuzz::Rng;

#[global_allocator]
static MEMORY: memory::Counting = memory::Counting;

/// Inputs that are read if nobody asks for more.
const USUAL: u64 = 2100;
/// Bytes that packed and shared tensors may have beyond a file's own.
const LIMIT: u64 = 16 << 20;
/// Bytes that any file may take beside its content.
const FIXED: usize = 64 << 20;
/// How long a file of some kB may take, on a machine that has other work too.
const MOST: Duration = Duration::from_secs(10);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../goldens/formats")
}

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(goldens().join(name)).unwrap()
}

/// A zip archive with these entries, stored: its checksums are right, so that what is changed inside is read.
fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let (n, at) = (content.len() as u32, file.len() as u32);
        let mut common = vec![0, 8, 0, 0, 0, 0, 0, 0];
        common.extend([crc.sum(), n, n].into_iter().flat_map(u32::to_le_bytes));
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        file.write_all(&[b"PK\x03\x04\x14\0", &common[..], name.as_bytes(), content].concat()).unwrap();
        directory.extend([b"PK\x01\x02\x14\0\x14\0", &common[..], &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let (n, at) = (entries.len() as u16, file.len() as u32);
    let end = [n.to_le_bytes(), n.to_le_bytes()].concat();
    file.extend(
        [&directory[..], b"PK\x05\x06\0\0\0\0", &end, &(directory.len() as u32).to_le_bytes(), &at.to_le_bytes(), &[0, 0]].concat(),
    );
    file
}

/// What is between two marks of a file.
fn entry<'a>(file: &'a [u8], name: &str) -> &'a [u8] {
    let find = |from: usize, what: &[u8]| (from..=file.len() - what.len()).find(|at| &file[*at..*at + what.len()] == what).unwrap();
    let name_at = find(0, name.as_bytes());
    let [name_len, extra] = [26, 28].map(|at| u16::from_le_bytes([file[name_at - 30 + at], file[name_at - 30 + at + 1]]) as usize);
    let begin = name_at + name_len + extra;
    &file[begin..find(begin, b"PK")]
}

/// A part of the inputs: a name, what makes one, whether it is an index with parts beside it.
struct Kind {
    name: &'static str,
    make: fn(&mut Rng) -> Vec<u8>,
}

fn changed(mut bytes: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    mutate::bytes(&mut bytes, rng);
    bytes
}

const PICKLED: [&str; 6] = ["dtypes", "views", "training", "values", "protocol_4", "values_5"];

fn checkpoint_of_torch(rng: &mut Rng) -> Vec<u8> {
    let name = *rng.pick(&PICKLED);
    let file = golden(&format!("{name}.pt"));
    if rng.below(3) == 0 {
        return changed(file, rng);
    }
    // The pickle changes, and the archive around it is right.
    let data: Vec<Vec<u8>> = (0..).map_while(|i| find_entry(&file, &format!("{name}/data/{i}"))).collect();
    let pickle = changed(entry(&file, &format!("{name}/data.pkl")).to_vec(), rng);
    let names: Vec<String> = (0..data.len()).map(|i| format!("a/data/{i}")).collect();
    let mut entries: Vec<(&str, &[u8])> = vec![("a/data.pkl", &pickle)];
    entries.extend(names.iter().zip(&data).map(|(name, data)| (name.as_str(), data.as_slice())));
    zipped(&entries)
}

/// An entry that may not be there.
fn find_entry(file: &[u8], name: &str) -> Option<Vec<u8>> {
    file.windows(name.len()).any(|window| window == name.as_bytes()).then(|| entry(file, name).to_vec())
}

fn older_checkpoint(rng: &mut Rng) -> Vec<u8> {
    let name = *rng.pick(&["dtypes_old.pt", "views_old.pt", "training_old.pt", "values_old.pt"]);
    changed(golden(name), rng)
}

fn npz(rng: &mut Rng) -> Vec<u8> {
    match rng.below(4) {
        0 => changed(golden("arrays.npz"), rng),
        1 => changed(golden("arrays_packed.npz"), rng),
        _ => {
            let array = npy(rng);
            zipped(&[("a.npy", &array), ("b.npy", &golden("plain.npy"))])
        }
    }
}

fn npy(rng: &mut Rng) -> Vec<u8> {
    let names = &["plain.npy", "version_1.npy", "version_2.npy", "version_3.npy"];
    let name: &&str = rng.pick(names);
    let file = golden(name);
    if rng.once_in(2) {
        return changed(file, rng);
    }
    // The header's words, with its length kept right.
    let begin = if file[6] == 1 { 10 } else { 12 };
    let (header, data) = file[begin..].split_at(file.len() - begin - 24);
    let header = mutate::text(&String::from_utf8_lossy(header), rng);
    let n = header.len() as u32;
    [&b"\x93NUMPY\x02\0"[..], &n.to_le_bytes(), header.as_bytes(), data].concat()
}

fn framed(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn safetensors(rng: &mut Rng) -> Vec<u8> {
    let names = &["views.safetensors", "training.safetensors", "arrays.safetensors"];
    let name: &&str = rng.pick(names);
    let file = golden(name);
    if rng.once_in(2) {
        return changed(file, rng);
    }
    let size = u64::from_le_bytes(*file.first_chunk().unwrap()) as usize;
    let (header, data) = file[8..].split_at(size);
    framed(&mutate::text(&String::from_utf8_lossy(header), rng), data)
}

/// An index of two parts that are beside it.
fn index(rng: &mut Rng) -> Vec<u8> {
    let good = r#"{"metadata": {"total_size": 9}, "weight_map": {"a": "m-1.safetensors", "b": "m-1.safetensors", "c": "m-2.safetensors"}}"#;
    let text = mutate::text(good, rng).into_bytes();
    if rng.once_in(3) { changed(text, rng) } else { text }
}

/// Bytes without any meaning, after a beginning that has one.
fn noise(rng: &mut Rng) -> Vec<u8> {
    let starts = [&b"PK\x03\x04"[..], b"\x93NUMPY\x01\0", b"\x80\x02", b"\x80\x04\x95", b"{", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."];
    let mut bytes = rng.pick(&starts).to_vec();
    let n = if rng.once_in(20) { 200_000 } else { rng.below(400) };
    // Opcodes more often than other bytes.
    let opcodes = b"(.01]a}sul)t\x85\x86\x87Nqh\x94RbK\x01Q2\x8f\x90\x8c\x01x";
    bytes.extend((0..n).map(|_| if rng.once_in(4) { rng.bits() as u8 } else { *rng.pick(opcodes) }));
    if rng.once_in(2) {
        return zipped(&[("a/data.pkl", &bytes)]);
    }
    bytes
}

const KINDS: [Kind; 7] = [
    Kind { name: "pt", make: checkpoint_of_torch },
    Kind { name: "older pt", make: older_checkpoint },
    Kind { name: "npz", make: npz },
    Kind { name: "npy", make: npy },
    Kind { name: "safetensors", make: safetensors },
    Kind { name: "index", make: index },
    Kind { name: "noise", make: noise },
];

/// Reads all of it; how it was refused, if it was.
fn read(file: Result<TensorFile, Error>) -> Result<(), Error> {
    let file = file?;
    file.aliases();
    let archive = file.read_all()?;
    let sizes = archive.tensors.values().map(|t| (t.shape.iter().product::<usize>() * t.dtype.size(), t.bytes.len()));
    assert!(sizes.into_iter().all(|(wanted, there)| wanted == there), "a tensor with other bytes than its shape has");
    Ok(())
}

/// Every refusal says what would help, and nothing that commands a terminal.
fn has_remedy(error: &str) -> bool {
    error.contains("help: ") && !error.chars().any(|c| c.is_control() && c != '\n' && c != '\t')
}

/// What is wrong with how an input is read.
fn judge(read: impl FnOnce() -> Result<(), Error>, len: usize, refused: &mut u64) -> Option<String> {
    let begin = Instant::now();
    let (outcome, peak) = memory::peak_of(|| catch_unwind(AssertUnwindSafe(read)));
    let most = FIXED + LIMIT as usize + 16 * len;
    match outcome {
        Err(_) => Some("panicked".to_owned()),
        Ok(Err(error)) if !has_remedy(&error.to_string()) => Some(format!("no remedy, or a control character: {error:?}")),
        Ok(_) if peak > most => Some(format!("{peak} bytes of memory for {len}, at most {most} are allowed")),
        Ok(_) if begin.elapsed() > MOST => Some(format!("took {:?}", begin.elapsed())),
        Ok(outcome) => {
            *refused += u64::from(outcome.is_err());
            None
        }
    }
}

#[test]
fn mutated_files_are_read_or_refused() {
    let count = number("UNIGRAD_FUZZ").unwrap_or(USUAL);
    let seed = number("UNIGRAD_FUZZ_SEED").unwrap_or(1);
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
        let folder = std::env::temp_dir().join(format!("unigrad-mutated-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let part = |names: &[&str]| Archive {
            tensors: names.iter().map(|n| ((*n).to_owned(), HostTensor { dtype: DType::U8, shape: vec![3], bytes: vec![1; 3] })).collect(),
            ..Archive::default()
        };
        part(&["a", "b"]).save(folder.join("m-1.safetensors")).unwrap();
        part(&["c"]).save(folder.join("m-2.safetensors")).unwrap();
        let mut wrong = Vec::new();
        let mut refused = [0; KINDS.len() + 1];
        let each = count / (KINDS.len() as u64 + 1);
        for (i, kind) in KINDS.iter().enumerate() {
            for case in 0..each {
                let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(case * 64 + i as u64));
                rng.bits();
                let input = (kind.make)(&mut rng);
                let len = input.len();
                let path = folder.join("model.safetensors.index.json");
                let outcome = if kind.name == "index" {
                    std::fs::write(&path, &input).unwrap();
                    judge(|| read(TensorFile::open_at_most(&path, LIMIT)), len, &mut refused[i])
                } else {
                    judge(|| read(TensorFile::from_bytes_at_most(input, "mutated", LIMIT)), len, &mut refused[i])
                };
                wrong.extend(outcome.map(|why| format!("FAIL {} case {case}, seed {seed}: {why}", kind.name)));
            }
        }
        checkpoints(each, seed, &folder, &mut wrong, &mut refused[KINDS.len()]);
        std::fs::remove_dir_all(&folder).unwrap();
        // Of each kind some are still good, and most are not, or the changes change nothing.
        for (n, name) in refused.into_iter().zip(KINDS.iter().map(|kind| kind.name).chain(["checkpoint"])) {
            println!("{name}: {each} files, {n} refused");
            assert!(n > each / 4 && (n < each || name == "noise"), "{name}: {n} of {each} refused");
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
    thread.unwrap().join().unwrap();
}

/// Checkpoints of a model and its optimizer: what is refused has changed neither.
fn checkpoints(count: u64, seed: u64, folder: &Path, wrong: &mut Vec<String>, refused: &mut u64) {
    let device = Device::open("cpu").unwrap();
    let model = Mlp::new(&[3, 4, 2], 0.0, &device);
    let mut optimizer = AdamW::new(model.parameters(), 1e-3).unwrap();
    optimizer.minimize(&model.forward(&Tensor::ones([2, 3], DType::F32, &device)).square().mean(()), &[]).unwrap();
    let path = folder.join("checkpoint.safetensors");
    Checkpoint::of(&model, &optimizer).unwrap().save(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    for case in 0..count {
        let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(case * 64 + 63));
        rng.bits();
        let size = u64::from_le_bytes(*good.first_chunk().unwrap()) as usize;
        let input = if rng.once_in(2) {
            changed(good.clone(), &mut rng)
        } else {
            framed(&mutate::text(&String::from_utf8_lossy(&good[8..8 + size]), &mut rng), &good[8 + size..])
        };
        std::fs::write(&path, &input).unwrap();
        let before = (model.to_archive().unwrap(), optimizer.n_steps());
        let n = *refused;
        let outcome =
            judge(|| Checkpoint::load(&path).and_then(|checkpoint| checkpoint.restore(&model, &mut optimizer)), input.len(), refused);
        wrong.extend(outcome.map(|why| format!("FAIL checkpoint case {case}, seed {seed}: {why}")));
        if *refused > n && (model.to_archive().unwrap(), optimizer.n_steps()) != before {
            wrong.push(format!("FAIL checkpoint case {case}, seed {seed}: refused, and yet loaded in part"));
        }
    }
}
