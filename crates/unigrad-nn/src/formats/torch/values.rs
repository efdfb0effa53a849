//! What a pickle has made: values, and the nodes that they refer to.
//!
//! In: one value or node per opcode. Out: a graph that may share parts and contain itself.
//! Always: a value is small and copied freely; a node lies in one list, so nothing recurses, not even when it is dropped.
//! Never: holds anything that could be called, apart from the names in [`super::globals`].

use super::globals::Global;
use std::{ops::Range, sync::Arc};
use unigrad_tensor::DType;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// By its place in the list of nodes.
    Node(u32),
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Text in the pickle, which was checked to be UTF-8.
    Str(Range<u32>),
    /// Text that was spelled with escapes.
    Text(Box<str>),
    /// An integer beyond 64 bits, in decimal digits.
    Long(Box<str>),
    Bytes(Bytes),
    Tuple(Vec<Value>),
    List(Vec<Value>),
    Set(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    Global(Global),
    /// By its place in the list of storages.
    Storage(u32),
    Tensor(Box<View>),
    /// A dtype of NumPy's, and whether the high byte comes first.
    ArrayType(DType, bool),
    /// An array of NumPy's whose state follows.
    Array,
    /// A thing that is known by a word: a dtype, a device.
    Word(Box<str>),
}

/// Bytes in the pickle, or those that an encoded text stands for.
#[derive(Clone, Debug)]
pub(super) enum Bytes {
    Here(Range<u32>),
    Decoded(Arc<[u8]>),
}

/// A tensor: a view of a storage, not yet compared with it.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// By its place in the list of storages.
    pub(super) storage: u32,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
    pub(super) offset: usize,
}

/// The bytes that tensors view.
#[derive(Clone, Debug)]
pub(super) enum Stored {
    /// By its key in the file. Of an untyped one the number counts bytes.
    Keyed { key: String, dtype: Option<DType>, numel: u64 },
    /// In the pickle itself, and whether high bytes come first.
    Inside(Bytes, bool),
}

/// A pickle that was read.
#[derive(Debug)]
pub(super) struct Loaded {
    /// Its bytes, which texts and bytes point into.
    pub(super) pickle: Arc<[u8]>,
    pub(super) nodes: Vec<Node>,
    pub(super) storages: Vec<Stored>,
    pub(super) root: Value,
    /// Where it ended.
    pub(super) end: usize,
}

impl Loaded {
    pub(super) fn node(&self, value: Value) -> Option<&Node> {
        match value {
            Value::Node(at) => self.nodes.get(at as usize),
            _ => None,
        }
    }

    /// A value's text, if it is one.
    pub(super) fn text(&self, value: Value) -> Option<&str> {
        text_of(self.node(value)?, &self.pickle)
    }

    pub(super) fn bytes<'a>(&'a self, bytes: &'a Bytes) -> &'a [u8] {
        match bytes {
            Bytes::Here(range) => part(&self.pickle, range),
            Bytes::Decoded(bytes) => bytes,
        }
    }
}

pub(super) fn part<'a>(pickle: &'a [u8], range: &Range<u32>) -> &'a [u8] {
    pickle.get(range.start as usize..range.end as usize).unwrap_or_default()
}

pub(super) fn text_of<'a>(node: &'a Node, pickle: &'a [u8]) -> Option<&'a str> {
    match node {
        Node::Str(range) => str::from_utf8(part(pickle, range)).ok(),
        Node::Text(text) => Some(text),
        _ => None,
    }
}
