//! NPY files: one array with a header in Python's words.
//!
//! In: a file's first bytes. Out: the array's dtype, shape, order and place; and files as `numpy.save` writes them.
//! Always: versions 1 to 3, both orders of bytes and of axes; the header says exactly as many bytes as the file has.
//! Never: reads arrays of Python objects, which are pickles.
//!
//! The format is that of NumPy's `numpy.lib.format`.

use super::{
    layout::{self, Layout},
    source::Source,
};
use crate::{
    archive::HostTensor,
    error::{Error, Result},
};
use std::path::Path;
use unigrad_device::printable;
use unigrad_tensor::DType;

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes of a header's text; NumPy itself trusts no more than 10,000.
const MAX_HEADER: u64 = 1 << 16;
/// Enough to see any header whole.
pub(super) const HEAD: u64 = 12 + MAX_HEADER;
/// NumPy aligns data to this.
const ALIGN: usize = 64;

/// How NumPy calls the dtypes that both have.
const KINDS: [(DType, &str); 12] = [
    (DType::Bool, "b1"),
    (DType::U8, "u1"),
    (DType::I8, "i1"),
    (DType::U16, "u2"),
    (DType::I16, "i2"),
    (DType::U32, "u4"),
    (DType::I32, "i4"),
    (DType::U64, "u8"),
    (DType::I64, "i8"),
    (DType::F16, "f2"),
    (DType::F32, "f4"),
    (DType::F64, "f8"),
];

/// An array, as its header says: from the data on, which follow the header.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) layout: Layout,
    pub(super) big_endian: bool,
}

/// A dtype in NumPy's words (`<f4`), and whether its high byte is first.
pub(super) fn dtype(text: &str) -> Option<(DType, bool)> {
    let order = text.chars().next().filter(|order| "<>=|".contains(*order));
    let kind = if order.is_some() { &text[1..] } else { text };
    let kind = if kind == "?" { "b1" } else { kind };
    let (dtype, _) = KINDS.iter().find(|(_, name)| *name == kind)?;
    Some((*dtype, order == Some('>')))
}

/// What helps where a dtype is not known.
pub(super) fn dtype_help(text: &str) -> &'static str {
    match text.trim_start_matches(['<', '>', '=', '|']).chars().next() {
        Some('O') => "it holds pickled Python objects, which may be code: save numbers, with `array.astype(numpy.float32)`",
        Some('c') => "save real and imaginary parts as two arrays",
        Some('V') => "in NumPy, convert it with `array.astype(numpy.float32)` first (it may be a bfloat16 or a structured type)",
        _ => "in NumPy, convert it to a float, integer or bool type first, with `array.astype`",
    }
}

/// Reads the header in a file's first bytes ([`HEAD`] of them, if there are as many); `len` is how many the file has.
pub(super) fn header(head: &[u8], len: u64, source: &Source, name: &str) -> Result<Header> {
    let wrong = |cause: String| source.damaged(format!("{name}{}{cause}", if name.is_empty() { "" } else { ": " }));
    let Some(version) = head.strip_prefix(MAGIC).and_then(|rest| rest.first_chunk::<2>()) else {
        return Err(wrong("this is not an NPY file".to_owned()));
    };
    let after = &head[MAGIC.len() + 2..];
    let (size, at) = match (version, after) {
        ([1, _], [a, b, ..]) => (u64::from(u16::from_le_bytes([*a, *b])), 10),
        ([2 | 3, _], [a, b, c, d, ..]) => (u64::from(u32::from_le_bytes([*a, *b, *c, *d])), 12),
        ([1..=3, _], _) => return Err(wrong(format!("truncated: an NPY header in {len} bytes"))),
        ([major, minor], _) => return Err(wrong(format!("is an NPY file of version {major}.{minor}, and 1 to 3 are read"))),
    };
    if size > MAX_HEADER {
        return Err(wrong(format!("the NPY header has {size} bytes, and at most {MAX_HEADER} are read")));
    }
    let begin = at as u64 + size;
    let text = head
        .get(at..begin as usize)
        .ok_or_else(|| wrong(format!("truncated: the NPY header ends at {begin}, and {len} bytes are there")))?;
    let text = String::from_utf8_lossy(text);
    let Literal { descr, fortran, shape } =
        literal(&text).ok_or_else(|| wrong(format!("the NPY header is damaged: {}", shortened(&text))))?;
    let Some((dtype, big_endian)) = dtype(&descr) else {
        let cause =
            format!("{name}{}is an array of type {}, which is not known here", if name.is_empty() { "" } else { ": " }, shortened(&descr));
        return Err(Error::format(source.path(), cause, dtype_help(&descr)));
    };
    let there = len.saturating_sub(begin);
    let needed = layout::n_bytes(dtype, &shape);
    if needed != Some(there) {
        let needed = needed.map_or_else(|| "more bytes than a file can have".to_owned(), |n| format!("{n} bytes"));
        let what = if needed.starts_with("more") || layout::n_bytes(dtype, &shape) > Some(there) { "truncated" } else { "oversized" };
        return Err(wrong(format!("{what}: {dtype} of shape {shape:?} needs {needed} of data, and there are {there}")));
    }
    if shape.len() > layout::MAX_AXES {
        return Err(wrong(format!("has {} axes, and at most {} are read", shape.len(), layout::MAX_AXES)));
    }
    let strides = layout::in_order(&shape, fortran);
    Ok(Header { layout: Layout { dtype, shape, strides, offset: begin }, big_endian })
}

fn shortened(text: &str) -> String {
    let text = printable(text.trim());
    let start: String = text.chars().take(120).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}

/// What a header's dictionary says.
struct Literal {
    descr: String,
    fortran: bool,
    shape: Vec<usize>,
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, with the three keys in any order.
fn literal(text: &str) -> Option<Literal> {
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    let mut rest = text.trim().strip_prefix('{')?.trim_start();
    loop {
        if let Some(end) = rest.strip_prefix('}') {
            let complete = end.trim().is_empty();
            return complete.then_some(Literal { descr: descr?, fortran: fortran?, shape: shape? });
        }
        let (key, after) = quoted(rest)?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        let after = match key {
            "descr" if descr.is_none() => {
                let (text, after) = match value.starts_with(['[', '(']) {
                    // A structured type: named, and refused, as a whole.
                    true => value.split_at(value.rfind(']').map_or(value.len(), |end| end + 1)),
                    false => quoted(value)?,
                };
                descr = Some(text.to_owned());
                after
            }
            "fortran_order" if fortran.is_none() => {
                let (yes, no) = (value.strip_prefix("True"), value.strip_prefix("False"));
                fortran = Some(yes.is_some());
                yes.or(no)?
            }
            "shape" if shape.is_none() => {
                let (inside, after) = value.strip_prefix('(')?.split_once(')')?;
                let sizes = inside.trim().trim_end_matches(',');
                // `3L` is how Python 2 wrote it.
                let size = |text: &str| text.trim().trim_end_matches('L').parse::<usize>().ok();
                shape = Some(if sizes.is_empty() { Vec::new() } else { sizes.split(',').map(size).collect::<Option<Vec<_>>>()? });
                after
            }
            _ => return None,
        };
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if after.starts_with('}') => after,
            None => return None,
        };
    }
}

/// A string in quotes, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let mark = text.chars().next().filter(|mark| matches!(mark, '\'' | '"'))?;
    text[1..].split_once(mark)
}

/// The header that `numpy.save` writes before a tensor's bytes.
pub(super) fn written(tensor: &HostTensor, name: &str, path: &Path) -> Result<Vec<u8>> {
    let HostTensor { dtype, shape, bytes } = tensor;
    let cannot = |cause: String, help: &str| Err(Error::format(path, format!("{} cannot be saved: {cause}", printable(name)), help));
    let Some((_, kind)) = KINDS.iter().find(|(ours, _)| ours == dtype) else {
        return cannot(format!("NumPy has no type {dtype}"), "cast it to f32 first, or save a safetensors file");
    };
    if layout::n_bytes(*dtype, shape) != Some(bytes.len() as u64) || shape.len() > layout::MAX_AXES {
        return cannot(
            format!("{dtype} of shape {shape:?} with {} bytes", bytes.len()),
            "give it as many bytes as its shape and type have",
        );
    }
    let order = if dtype.size() == 1 { '|' } else { '<' };
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let sizes = if sizes.len() == 1 { format!("{},", sizes[0]) } else { sizes.join(", ") };
    let mut text = format!("{{'descr': '{order}{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // NumPy leaves room for the axis that an array may be appended to along.
    let room = shape.first().map_or(0, |first| 21usize.saturating_sub(first.to_string().len()));
    text.push_str(&" ".repeat(room));
    // At most 255 sizes of 20 digits: the length fits into version 1's 16 bits.
    let header = MAGIC.len() + 4;
    let padding = ALIGN - (header + text.len() + 1) % ALIGN;
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend((text.len() as u16).to_le_bytes());
    header.extend(text.into_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_of_all_writers_are_read_and_others_are_not() {
        let read = |text: &str| literal(text).map(|l| (l.descr, l.fortran, l.shape));
        let wanted = Some(("<f4".to_owned(), true, vec![3, 4]));
        assert_eq!(read("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }   \n"), wanted);
        assert_eq!(read("{\"shape\":(3L,4L),\"fortran_order\":True,\"descr\":\"<f4\"}"), wanted);
        assert_eq!(read("{'descr': '|b1', 'fortran_order': False, 'shape': ()}").unwrap().2, Vec::<usize>::new());
        assert_eq!(read("{'descr': '|b1', 'fortran_order': False, 'shape': (5,)}").unwrap().2, [5]);
        assert_eq!(read("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (5,)}").unwrap().0, "[('a', '<f4')]");
        for damaged in [
            "",
            "{",
            "{}",
            "{'descr': '<f4', 'fortran_order': True}",
            "{'descr': '<f4', 'fortran_order': 1, 'shape': ()}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (1,,2)}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (99999999999999999999,)}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (1,)} more",
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': True, 'shape': (1,)}",
            "{'descr': '<f4' 'fortran_order': True, 'shape': (1,)}",
        ] {
            assert_eq!(read(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn data_begin_at_a_multiple_of_64() {
        for axes in [0, 1, 2, 5, layout::MAX_AXES] {
            let tensor = HostTensor { dtype: DType::F32, shape: vec![1; axes], bytes: vec![0; 4] };
            let header_bytes = written(&tensor, "x", Path::new("x")).unwrap();
            assert_eq!(header_bytes.len() % ALIGN, 0);
            let file = [&header_bytes[..], &tensor.bytes].concat();
            let source = Source::of_bytes(file.clone(), Path::new("x"));
            let header = header(&file, file.len() as u64, &source, "").unwrap();
            assert_eq!((header.layout.shape, header.layout.offset), (tensor.shape, header_bytes.len() as u64));
        }
    }
}
