//! Parts for what training takes from others: files of tensors, tables, configurations, images, saved networks.
//!
//! Always: what is accepted is consistent; what is refused says what would help.

use crate::{
    mutate,
    parts::{MIB, bytes_of, framed, remedy},
    tensor_files::{INDEXED, changed},
};
use flate2::Crc;
use image::{ExtendedColorType, codecs};
use std::{cell::RefCell, path::PathBuf, sync::OnceLock};
use unigrad::{
    data::{Channels, Csv, CsvOptions, DecodeOptions, ImageFolder, Loader, Source, TableOptions, TableSchema, ToFloat, TokenVocabulary},
    nn::{Archive, HostTensor, TensorFile},
    prelude::{DType, Device, Error},
    train::network::{ConvSettings, LayerKind, Network, RunConfig, TransformerSettings},
};
use unigrad_testing::fuzz::Rng;

/// Bytes that packed and shared tensors may have beyond a file's own.
const LIMIT: u64 = 16 * MIB;
/// Pixels that a picture may announce here.
const PIXELS: u64 = 1 << 20;

/// A folder of this process, removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("unigrad-fuzz-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| error.to_string())?;
        Ok(Folder(path))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        std::fs::write(self.0.join(name), bytes).map_err(|error| error.to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is small, and in the folder for such.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

thread_local! {
    /// Of a thread's cases: made once, and removed when the thread ends.
    static INDEX: RefCell<Option<Folder>> = const { RefCell::new(None) };
    static IMAGES: RefCell<Option<Folder>> = const { RefCell::new(None) };
}

/// Where the thread's folder is; `prepare` is done when it is made.
fn kept(slot: &RefCell<Option<Folder>>, name: &str, prepare: impl FnOnce(&Folder) -> Result<(), String>) -> Result<PathBuf, String> {
    let mut slot = slot.borrow_mut();
    if slot.is_none() {
        let folder = Folder::new(name)?;
        prepare(&folder)?;
        *slot = Some(folder);
    }
    slot.as_ref().map(|folder| folder.0.clone()).ok_or_else(|| "no folder".to_owned())
}

fn refused<T>(result: Result<T, Error>) -> Result<Option<T>, String> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => remedy(&error.to_string()).map(|()| None),
    }
}

/// Of a file of tensors that may share bytes.
pub(crate) fn of_tensors(input: &[u8]) -> u64 {
    64 * MIB + LIMIT + 16 * input.len() as u64
}

fn read_all(file: Result<TensorFile, Error>) -> Result<(), String> {
    let Some(file) = refused(file)? else { return Ok(()) };
    file.aliases();
    let Some(archive) = refused(file.read_all())? else { return Ok(()) };
    let wrong = |t: &&HostTensor| t.shape.iter().try_fold(t.dtype.size(), |n, &s| n.checked_mul(s)) != Some(t.bytes.len());
    archive.tensors.values().find(wrong).map_or(Ok(()), |t| Err(format!("{:?} with {} bytes is accepted", t.shape, t.bytes.len())))
}

pub(crate) fn read_tensors(input: &[u8]) -> Result<(), String> {
    read_all(TensorFile::from_bytes_at_most(input.to_vec(), "fuzzed", LIMIT))
}

/// An index beside its parts.
pub(crate) fn read_index(input: &[u8]) -> Result<(), String> {
    let prepare = |folder: &Folder| {
        INDEXED.iter().try_for_each(|(file, names)| {
            let tensor = HostTensor { dtype: DType::U8, shape: vec![3], bytes: vec![1; 3] };
            let tensors = names.iter().map(|name| ((*name).to_owned(), tensor.clone())).collect();
            folder.write(file, &bytes_of(&Archive { tensors, ..Archive::default() }))
        })
    };
    let path = INDEX.with(|slot| kept(slot, "index", prepare))?.join("model.safetensors.index.json");
    std::fs::write(&path, input).map_err(|error| error.to_string())?;
    read_all(TensorFile::open_at_most(path, LIMIT))
}

const TABLES: [&str; 3] = [
    "x,k,ok,y\n1,a,yes,0.5\n2.5,\"b,\"\"c\",no,1\n,a,yes,2e3\n-4,NA,no,3\n",
    "x;y\r\n1;2\r\n3;4\r\n",
    "day,text,y\n2024-01-31,\"two\nlines\",1e308\n2024-02-30,\u{feff}x,-0\n,,nan\n",
];

pub(crate) fn csv(rng: &mut Rng) -> Vec<u8> {
    let table = *rng.pick(&TABLES);
    let long = (0..rng.below(60)).fold("x,k,y\n".to_owned(), |text, at| format!("{text}{at},{},{}\n", at % 3, at * at));
    let text = mutate::text(if rng.once_in(4) { &long } else { table }, rng).into_bytes();
    if rng.once_in(2) { changed(text, rng) } else { text }
}

/// A table, what is made of it, and its schema as a file has it.
pub(crate) fn read_csv(input: &[u8]) -> Result<(), String> {
    let options = CsvOptions { delimiter: if input.contains(&b';') { b';' } else { b',' }, ..CsvOptions::default() };
    let Some(csv) = refused(Csv::from_bytes(input, "fuzzed.csv", &options))? else { return Ok(()) };
    for options in [TableOptions::new(), TableOptions::new().target("y"), TableOptions::new().target("k").nan_is_missing()] {
        let Some(schema) = refused(TableSchema::fit(&csv, &options))? else { continue };
        let features = schema.features(&csv).map_err(|error| format!("what was fitted is not encoded: {error}"))?;
        let mut numbers = features.bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes));
        if features.shape != [csv.n_rows(), schema.n_features()] || !numbers.all(f32::is_finite) {
            return Err(format!("features {:?}, not all finite", features.shape));
        }
        let again = schema.to_json().and_then(|json| TableSchema::from_json(&json, "its own"));
        let again = again.and_then(|schema| schema.features(&csv)).map_err(|error| format!("its own JSON: {error}"))?;
        if again != features {
            return Err("its own JSON encodes otherwise".to_owned());
        }
    }
    Ok(())
}

/// The JSON of a schema or a vocabulary, as a model's file has it.
pub(crate) fn schema(rng: &mut Rng) -> Vec<u8> {
    let fitted = Csv::from_bytes(TABLES[0].as_bytes(), "seed.csv", &CsvOptions::default())
        .and_then(|csv| TableSchema::fit(&csv, &TableOptions::new().target("y"))?.to_json());
    let words = TokenVocabulary::fit(["a b c a"], unigrad::data::Unit::Word, 1, 9).to_json();
    let text = if rng.below(4) > 0 { fitted } else { words }.unwrap_or_default();
    mutate::text(&text, rng).into_bytes()
}

pub(crate) fn read_schema(input: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(input);
    refused(TokenVocabulary::from_json(&text, "fuzzed"))?;
    if let Some(schema) = refused(TableSchema::from_json(&text, "fuzzed"))? {
        let csv = Csv::from_bytes(TABLES[0].as_bytes(), "seed.csv", &CsvOptions::default()).map_err(|error| error.to_string())?;
        refused(schema.features(&csv))?;
        refused(schema.targets(&csv))?;
    }
    Ok(())
}

const CONFIGURATIONS: [&str; 2] = [
    r#"data = "digits"
[network]
layers = ["flatten", { dense = { units = 32 } }, "relu", { residual = { layers = [{ dense = { units = 32 } }] } }, "output"]
[loss.cross_entropy]
label_smoothing = 0.1
[optimizer.adamw]
lr = 2e-3
betas = [0.9, 0.99]
[schedule.cosine]
warmup = 20
[train]
max_epochs = 3
validation_split = 0.2
early_stopping = { metric = "val_loss", patience = 3 }
"#,
    r#"device = "cpu"
[data.csv]
file = "table.csv"
target = "y"
[network]
input = [1, 8, 8]
layers = [{ conv2d = { channels = 4, kernel = [3, 3], padding = "same" } }, "batch_norm", { max_pool2d = { kernel = 2 } }, "flatten", { name = "head", dropout = { p = 0.5 } }, "output"]
optimizer = "sgd"
schedule = { step = { every = 2, gamma = 0.5, unit = "epoch" } }
"#,
];

pub(crate) fn configuration(rng: &mut Rng) -> Vec<u8> {
    let text = mutate::text(CONFIGURATIONS[rng.below(2)], rng).into_bytes();
    if rng.once_in(3) { changed(text, rng) } else { text }
}

pub(crate) fn read_configuration(input: &[u8]) -> Result<(), String> {
    refused(RunConfig::parse(&String::from_utf8_lossy(input), "fuzzed.toml")).map(|_| ())
}

/// Small pictures in all formats that are read, with the ends of their names.
fn pictures() -> &'static [(&'static str, Vec<u8>)] {
    static FILES: OnceLock<Vec<(&str, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let pixels: Vec<u8> = (0..24 * 20 * 8u32).map(|x| (x * 7 % 251) as u8).collect();
        let colours =
            [(ExtendedColorType::L8, 1), (ExtendedColorType::Rgb8, 3), (ExtendedColorType::Rgba8, 4), (ExtendedColorType::La16, 4)];
        let mut files = Vec::new();
        for (colour, size) in colours {
            let raw = &pixels[..24 * 20 * size];
            let mut png = Vec::new();
            if image::ImageEncoder::write_image(codecs::png::PngEncoder::new(&mut png), raw, 24, 20, colour).is_ok() {
                files.push(("png", png));
            }
            let mut jpeg = Vec::new();
            if codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 60).encode(raw, 24, 20, colour).is_ok() {
                files.push(("jpg", jpeg));
            }
            let mut webp = Vec::new();
            if codecs::webp::WebPEncoder::new_lossless(&mut webp).encode(raw, 24, 20, colour).is_ok() {
                files.push(("webp", webp));
            }
        }
        files
    })
}

/// Makes the checksums of a PNG's chunks right again, so that what is changed is read.
fn seal(png: &mut [u8]) {
    let mut at = 8;
    while let Some(size) = png.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let Some(end) = (at + 8).checked_add(u32::from_be_bytes(*size) as usize).filter(|end| end + 4 <= png.len()) else { return };
        let mut crc = Crc::new();
        crc.update(&png[at + 4..end]);
        png[end..end + 4].copy_from_slice(&crc.sum().to_be_bytes());
        at = end + 4;
    }
}

/// Many pixels of one colour in few bytes: as many as are decoded, and more.
fn flat(rng: &mut Rng) -> Vec<u8> {
    let side = *rng.pick(&[512u32, 1023, 1024, 1025, 3000]);
    let (row, mut png) = (vec![200; (side * side) as usize], Vec::new());
    // Into memory: it takes everything.
    let _ = image::ImageEncoder::write_image(codecs::png::PngEncoder::new(&mut png), &row, side, side, ExtendedColorType::L8);
    png
}

pub(crate) fn picture(rng: &mut Rng) -> Vec<u8> {
    if rng.once_in(100) {
        let file = flat(rng);
        return if rng.once_in(2) { changed(file, rng) } else { file };
    }
    let files = pictures();
    let (end, file) = &files[rng.below(files.len())];
    let mut bytes = changed(file.clone(), rng);
    if *end == "png" && rng.below(4) > 0 {
        seal(&mut bytes);
    }
    bytes
}

/// 16 bytes for each pixel that is decoded, as much for the decoder, and as much for the tensor.
pub(crate) fn of_picture(input: &[u8]) -> u64 {
    64 * MIB + 3 * 16 * PIXELS + 16 * input.len() as u64
}

/// As a file of a folder, through a loader onto a device.
pub(crate) fn read_picture(input: &[u8]) -> Result<(), String> {
    let prepare = |folder: &Folder| std::fs::create_dir_all(folder.0.join("class")).map_err(|error| error.to_string());
    let folder = IMAGES.with(|slot| kept(slot, "images", prepare))?;
    // Formats are told by the content: the name says nothing.
    std::fs::write(folder.join("class/1.png"), input).map_err(|error| error.to_string())?;
    let device = Device::open("cpu").map_err(|error| error.to_string())?;
    let options = DecodeOptions { channels: Channels::Converted(3), max_pixels: PIXELS, ..DecodeOptions::default() };
    let images = ImageFolder::open(&folder).map_err(|error| error.to_string())?.options(options);
    let loader = Loader::new(images.samples(ToFloat), 1, 0).workers(0);
    for batch in loader.batches(0, 0, &device).map_err(|error| error.to_string())? {
        let Some(batch) = refused(batch)? else { return Ok(()) };
        let shape = batch.input.dims().map_err(|error| error.to_string())?;
        if shape.len() != 4 || shape[1] != 3 || (shape[2] * shape[3]) as u64 > PIXELS {
            return Err(format!("a picture of shape {shape:?} is accepted"));
        }
    }
    Ok(())
}

/// A network's file, whole.
fn network_file() -> &'static Archive {
    static FILE: OnceLock<Archive> = OnceLock::new();
    FILE.get_or_init(|| {
        let save = || -> Result<Archive, String> {
            let device = Device::open("cpu").map_err(|error| error.to_string())?;
            let network = Network::with_input([2, 9, 9])
                .layer(LayerKind::Conv2d(ConvSettings::new(4, 3).padding([1, 1])))
                .batch_norm()
                .residual(|block| block.layer(LayerKind::Conv2d(ConvSettings::new(4, [3, 1]).same())).relu())
                .layer(LayerKind::Flatten { start: 2, end: -1 })
                .sinusoidal_encoding()
                .transformer_encoder(TransformerSettings::new(3).hidden(5))
                .gru(3)
                .last()
                .dense(3)
                .seed(7)
                .build_on(&device);
            let folder = Folder::new("network")?;
            let path = folder.0.join("network.safetensors");
            network.and_then(|network| network.save(&path)).map_err(|error| error.to_string())?;
            Archive::load(&path).map_err(|error| error.to_string())
        };
        save().unwrap_or_default()
    })
}

pub(crate) fn network(rng: &mut Rng) -> Vec<u8> {
    let mut archive = network_file().clone();
    if rng.below(3) > 0 {
        // Its architecture, in a file that is right.
        for text in archive.metadata.values_mut() {
            *text = mutate::text(text, rng);
        }
        return bytes_of(&archive);
    }
    let file = bytes_of(&archive);
    let size = file.first_chunk::<8>().map_or(0, |size| u64::from_le_bytes(*size) as usize);
    match file.get(8..).and_then(|rest| rest.split_at_checked(size)) {
        Some((header, data)) if rng.once_in(2) => framed(&mutate::text(&String::from_utf8_lossy(header), rng), data),
        _ => changed(file, rng),
    }
}

pub(crate) fn read_network(input: &[u8]) -> Result<(), String> {
    let device = Device::open("cpu").map_err(|error| error.to_string())?;
    let path = std::path::Path::new("fuzzed.safetensors");
    let Some(archive) = refused(Archive::from_bytes(input, path))? else { return Ok(()) };
    refused(Network::from_archive(archive, path, &device)).map(|_| ())
}
