//! Files of tensors with changes drawn by a generator: `.pt` (zip and older), NPZ, NPY, safetensors, an index with its parts, checkpoints. Each is read, or refused with
//! a remedy, without a panic, in a thread of little stack, in bounded memory and time. `UNIGRAD_FUZZ=20000` runs that many in all,
//! `UNIGRAD_FUZZ_SEED=17` others. Runs beside other programs: ten seconds are a hundred times what an input takes.

#[path = "../src/bin/fuzz/memory.rs"]
mod memory;
#[path = "../src/bin/fuzz/mutate.rs"]
mod mutate;
#[path = "../src/bin/fuzz/tensor_files.rs"]
mod tensor_files;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::{Duration, Instant},
};
use tensor_files::{INDEXED, changed, checkpoint_of_torch, golden, index, noise, npy, npz, older_checkpoint};
use unigrad::{
    nn::{AdamW, Archive, Checkpoint, HostTensor, Layer, Module, TensorFile, models::Mlp},
    prelude::{DType, Device, Error, Tensor},
};
use unigrad_testing::fuzz::Rng;

#[global_allocator]
static MEMORY: memory::Counting = memory::Counting;

/// Inputs that are read if no more are asked for.
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

/// A part of the inputs: a name, what makes one, whether it is an index with parts beside it.
struct Kind {
    name: &'static str,
    make: fn(&mut Rng) -> Vec<u8>,
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
        for (file, names) in INDEXED {
            part(names).save(folder.join(file)).unwrap();
        }
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
