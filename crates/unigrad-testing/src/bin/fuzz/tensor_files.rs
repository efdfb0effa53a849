//! Changed files of tensors in others' formats: PyTorch's checkpoints, NPY, NPZ, an index of parts.
//!
//! In: the generator of a case. Out: a file, most often one that is right but for some changes.
//! Always: begins with what other programs wrote (`goldens/formats`); inside an archive whose checksums are right, so that what is changed is read.

use crate::mutate;
use flate2::Crc;
use std::path::Path;
use unigrad_testing::fuzz::Rng;

/// A file that PyTorch or NumPy wrote; empty if it is not there, which the tests would see.
pub(crate) fn golden(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../goldens/formats").join(name)).unwrap_or_default()
}

/// A zip archive with these entries, stored.
pub(crate) fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let mut crc = Crc::new();
        crc.update(content);
        let (n, at) = (content.len() as u32, file.len() as u32);
        let mut common = vec![0, 8, 0, 0, 0, 0, 0, 0];
        common.extend([crc.sum(), n, n].into_iter().flat_map(u32::to_le_bytes));
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        file.extend([b"PK\x03\x04\x14\0", &common[..], name.as_bytes(), content].concat());
        directory.extend([b"PK\x01\x02\x14\0\x14\0", &common[..], &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let (n, at) = (entries.len() as u16, file.len() as u32);
    let end = [n.to_le_bytes(), n.to_le_bytes()].concat();
    let size = (directory.len() as u32).to_le_bytes();
    file.extend([&directory[..], b"PK\x05\x06\0\0\0\0", &end, &size, &at.to_le_bytes(), &[0, 0]].concat());
    file
}

/// What a stored entry of an archive has, if it is there.
fn entry<'a>(file: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let find = |from: usize, what: &[u8]| Some(from + file.get(from..)?.windows(what.len()).position(|window| window == what)?);
    let at = find(0, name.as_bytes())?;
    let size = |offset: usize| Some(usize::from(u16::from_le_bytes(*file.get(at.checked_sub(30)? + offset..)?.first_chunk()?)));
    let begin = at + size(26)? + size(28)?;
    file.get(begin..find(begin, b"PK")?)
}

pub(crate) fn changed(mut bytes: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    mutate::bytes(&mut bytes, rng);
    bytes
}

const PICKLED: [&str; 6] = ["dtypes", "views", "training", "values", "protocol_4", "values_5"];

pub(crate) fn checkpoint_of_torch(rng: &mut Rng) -> Vec<u8> {
    let name = *rng.pick(&PICKLED);
    let file = golden(&format!("{name}.pt"));
    if rng.below(3) == 0 {
        return changed(file, rng);
    }
    // The pickle changes, and the archive around it is right.
    let data: Vec<&[u8]> = (0..).map_while(|i| entry(&file, &format!("{name}/data/{i}"))).collect();
    let pickle = changed(entry(&file, &format!("{name}/data.pkl")).unwrap_or_default().to_vec(), rng);
    let names: Vec<String> = (0..data.len()).map(|i| format!("a/data/{i}")).collect();
    let mut entries: Vec<(&str, &[u8])> = vec![("a/data.pkl", &pickle)];
    entries.extend(names.iter().zip(&data).map(|(name, data)| (name.as_str(), *data)));
    zipped(&entries)
}

pub(crate) fn older_checkpoint(rng: &mut Rng) -> Vec<u8> {
    let name = *rng.pick(&["dtypes_old.pt", "views_old.pt", "training_old.pt", "values_old.pt"]);
    changed(golden(name), rng)
}

pub(crate) fn npz(rng: &mut Rng) -> Vec<u8> {
    match rng.below(4) {
        0 => changed(golden("arrays.npz"), rng),
        1 => changed(golden("arrays_packed.npz"), rng),
        _ => {
            let array = npy(rng);
            zipped(&[("a.npy", &array), ("b.npy", &golden("plain.npy"))])
        }
    }
}

pub(crate) fn npy(rng: &mut Rng) -> Vec<u8> {
    let names = &["plain.npy", "version_1.npy", "version_2.npy", "version_3.npy"];
    let name: &&str = rng.pick(names);
    let file = golden(name);
    if rng.once_in(2) {
        return changed(file, rng);
    }
    // The header's words, with its length kept right.
    let begin = if file.get(6) == Some(&1) { 10 } else { 12 };
    let rest = file.get(begin..).unwrap_or_default();
    let (header, data) = rest.split_at(rest.len().saturating_sub(24));
    let header = mutate::text(&String::from_utf8_lossy(header), rng);
    let n = header.len() as u32;
    [&b"\x93NUMPY\x02\0"[..], &n.to_le_bytes(), header.as_bytes(), data].concat()
}

/// The parts that a right index names, and the tensors of each.
pub(crate) const INDEXED: [(&str, &[&str]); 2] = [("m-1.safetensors", &["a", "b"]), ("m-2.safetensors", &["c"])];

/// An index of two parts that are beside it.
pub(crate) fn index(rng: &mut Rng) -> Vec<u8> {
    let good = r#"{"metadata": {"total_size": 9}, "weight_map": {"a": "m-1.safetensors", "b": "m-1.safetensors", "c": "m-2.safetensors"}}"#;
    let text = mutate::text(good, rng).into_bytes();
    if rng.once_in(3) { changed(text, rng) } else { text }
}

/// Bytes without any meaning, after a beginning that has one.
pub(crate) fn noise(rng: &mut Rng) -> Vec<u8> {
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
