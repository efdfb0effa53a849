//! Files that were changed at random: an error or a value, never a panic, never more memory than a file is worth.
//!
//! `UNIGRAD_TEST_FULL=1` tries all 20,000; otherwise every eighth. A case is made of its number alone, which failures name.

use image::{ExtendedColorType, ImageEncoder};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    panic::catch_unwind,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};
use unigrad_data::{Channels, Csv, CsvOptions, DecodeOptions, Picture, TableOptions, TableSchema, TokenVocabulary};
use unigrad_nn::random::Rng;

/// Memory in use, and the most that was since the last case began.
struct Counting;
static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work; what is counted beside it changes nothing of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(USED.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static MEMORY: Counting = Counting;

/// A small file, and what reads it.
struct Seed {
    name: &'static str,
    bytes: Vec<u8>,
    read: fn(&[u8]) -> bool,
}

/// Pixels that files may announce here.
const MAX_PIXELS: u64 = 1 << 20;
/// 16 bytes for each of them, and as much again for the decoders' own.
const MAX_MEMORY: usize = 2 * 16 * MAX_PIXELS as usize;

fn picture(bytes: &[u8]) -> bool {
    let options = DecodeOptions { channels: Channels::Converted(3), max_pixels: MAX_PIXELS, ..DecodeOptions::default() };
    let picture = Picture::decode(bytes, "seed", &options);
    if let Ok(picture) = &picture {
        assert_eq!(picture.to_tensor().bytes.len(), 3 * picture.height() * picture.width());
    }
    picture.is_ok()
}

fn table(bytes: &[u8]) -> bool {
    let Ok(csv) = Csv::from_bytes(bytes, "seed.csv", &CsvOptions::default()) else { return false };
    let mut read = false;
    for options in [TableOptions::new(), TableOptions::new().target("y"), TableOptions::new().target("k").nan_is_missing()] {
        let Ok(schema) = TableSchema::fit(&csv, &options) else { continue };
        let features = schema.features(&csv).expect("what was fitted is encoded");
        assert_eq!(features.shape, [csv.n_rows(), schema.n_features()]);
        let finite = features.bytes.chunks_exact(4).all(|x| f32::from_ne_bytes([x[0], x[1], x[2], x[3]]).is_finite());
        assert!(finite);
        let again = TableSchema::from_json(&schema.to_json().expect("a schema is JSON"), "seed").expect("its own JSON is read");
        assert_eq!(again.features(&csv).expect("and encodes"), features);
        assert!(options == TableOptions::new() || schema.targets(&csv).is_ok());
        read = true;
    }
    read
}

fn schema(bytes: &[u8]) -> bool {
    let csv = Csv::from_bytes(TABLE.as_bytes(), "seed.csv", &CsvOptions::default()).expect("the seed is a table");
    let text = String::from_utf8_lossy(bytes);
    let schema = TableSchema::from_json(&text, "seed").inspect(|schema| drop((schema.features(&csv), schema.targets(&csv))));
    schema.is_ok() | TokenVocabulary::from_json(&text, "seed").is_ok()
}

const TABLE: &str = "x,k,ok,y\n1,a,yes,0.5\n2.5,\"b,\"\"c\",no,1\n,a,yes,2e3\n-4,NA,no,3\n";

fn seeds() -> Vec<Seed> {
    let pixels: Vec<u8> = (0..24 * 20 * 4u32).map(|x| (x * 7 % 251) as u8).collect();
    let png = |colour: ExtendedColorType, channels: usize| {
        let mut file = Vec::new();
        let encoder = image::codecs::png::PngEncoder::new(&mut file);
        encoder.write_image(&pixels[..24 * 20 * channels], 24, 20, colour).expect("a picture is written");
        file
    };
    let (mut jpeg, mut grey, mut webp) = (Vec::new(), Vec::new(), Vec::new());
    let (rgb, one) = (&pixels[..24 * 20 * 3], &pixels[..24 * 20]);
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 60).encode(rgb, 24, 20, ExtendedColorType::Rgb8).expect("written");
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut grey, 60).encode(one, 24, 20, ExtendedColorType::L8).expect("written");
    image::codecs::webp::WebPEncoder::new_lossless(&mut webp).encode(rgb, 24, 20, ExtendedColorType::Rgb8).expect("written");
    let fitted = Csv::from_bytes(TABLE.as_bytes(), "seed.csv", &CsvOptions::default())
        .and_then(|csv| TableSchema::fit(&csv, &TableOptions::new().target("y"))?.to_json())
        .expect("the seed is a table");
    let words = TokenVocabulary::fit(["a b c a"], unigrad_data::Unit::Word, 1, 9).to_json().expect("a vocabulary is JSON");
    let crlf = TABLE.replace('\n', "\r\n");
    let long = (0..40).fold("x,k,y\n".to_owned(), |text, at| format!("{text}{at},{},{}\n", at % 3, at * at));
    vec![
        Seed { name: "png rgba", bytes: png(ExtendedColorType::Rgba8, 4), read: picture },
        Seed { name: "png grey", bytes: png(ExtendedColorType::L8, 1), read: picture },
        Seed { name: "png 16 bit", bytes: png(ExtendedColorType::La16, 4), read: picture },
        Seed { name: "jpeg", bytes: jpeg, read: picture },
        Seed { name: "jpeg grey", bytes: grey, read: picture },
        Seed { name: "webp", bytes: webp, read: picture },
        Seed { name: "csv", bytes: TABLE.into(), read: table },
        Seed { name: "csv crlf", bytes: crlf.into(), read: table },
        Seed { name: "csv long", bytes: long.into(), read: table },
        Seed { name: "schema", bytes: fitted.into(), read: schema },
        Seed { name: "vocabulary", bytes: words.into(), read: schema },
    ]
}

/// Changes at random places: bits, bytes, numbers of four bytes, cuts, repetitions.
fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    const BYTES: [u8; 12] = [0, 1, 0x7f, 0x80, 0xff, b',', b'"', b'\n', b'-', b'9', b'{', 0xc3];
    for _ in 0..1 + rng.below(6) {
        if bytes.is_empty() {
            return;
        }
        // Headers are short: half of the changes go there.
        let reach = if rng.below(2) == 0 { bytes.len().min(64) } else { bytes.len() };
        let at = rng.below(reach);
        match rng.below(8) {
            0 | 1 => bytes[at] ^= 1 << rng.below(8),
            2 => bytes[at] = BYTES[rng.below(BYTES.len())],
            3 => bytes.truncate(at),
            4 => bytes.insert(at, BYTES[rng.below(BYTES.len())]),
            5 => drop(bytes.remove(at)),
            6 => {
                let end = at + rng.below((bytes.len() - at).min(200)) + 1;
                let part = bytes[at..end].to_vec();
                let to = rng.below(bytes.len());
                bytes.splice(to..to, part);
            }
            _ => {
                let number = [0, 1, 1 << 15, 1 << 24, u32::MAX >> 1, u32::MAX][rng.below(6)];
                bytes.iter_mut().skip(at).zip(number.to_be_bytes()).for_each(|(byte, new)| *byte = new);
            }
        }
    }
}

/// Makes the checksums of a PNG's chunks right again, so that what is changed is read.
fn seal(png: &mut [u8]) {
    let mut at = 8;
    while let Some(&[a, b, c, d]) = png.get(at..at + 4) {
        let Some(end) = (at + 8).checked_add(u32::from_be_bytes([a, b, c, d]) as usize).filter(|end| end + 4 <= png.len()) else { return };
        let crc = png[at + 4..end].iter().fold(u32::MAX, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
        });
        png[end..end + 4].copy_from_slice(&(!crc).to_be_bytes());
        at = end + 4;
    }
}

#[test]
fn changed_files_are_errors_or_values() {
    const ALL: u64 = 20_000;
    let full = std::env::var("UNIGRAD_TEST_FULL").is_ok_and(|value| !value.is_empty() && value != "0");
    let step = if full { 1 } else { 8 };
    let seeds = seeds();
    for seed in &seeds {
        assert!((seed.read)(&seed.bytes), "{} is not read as it is", seed.name);
    }
    // A decoder that panics is caught where it is called; its words would only fill the output.
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    std::panic::set_hook(Box::new(|_| {
        PANICS.fetch_add(1, Relaxed);
    }));
    let (mut n, mut n_read, mut most) = (0usize, 0usize, 0);
    let mut failed = Vec::new();
    for case in (0..ALL).step_by(step) {
        let seed = &seeds[(case / step as u64) as usize % seeds.len()];
        let mut rng = Rng::new(case, 17);
        let mut bytes = seed.bytes.clone();
        mutate(&mut bytes, &mut rng);
        if seed.name.starts_with("png") && rng.below(4) > 0 {
            seal(&mut bytes);
        }
        let before = USED.load(Relaxed);
        PEAK.store(before, Relaxed);
        let read = catch_unwind(|| (seed.read)(&bytes));
        let used = PEAK.load(Relaxed).saturating_sub(before);
        most = most.max(used);
        n += 1;
        n_read += usize::from(matches!(read, Ok(true)));
        if read.is_err() || used > MAX_MEMORY {
            failed.push(format!("case {case} ({}): {} bytes of memory, panicked: {}", seed.name, used, read.is_err()));
        }
    }
    drop(std::panic::take_hook());
    let caught = PANICS.load(Relaxed);
    println!("{n} of {ALL} changed files: {n_read} still read, {most} bytes at most, {caught} decoders gave up");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(n_read > n / 20 && n_read < n * 9 / 10, "{n_read} of {n} are read: the changes are too rough, or too weak");
}
