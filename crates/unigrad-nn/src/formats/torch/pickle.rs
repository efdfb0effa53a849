//! Reads pickles of protocols 0 to 5 as data: an interpreter of their opcodes that executes nothing.
//!
//! In: the bytes of a pickle. Out: values ([`Loaded`]).
//! Always: the names that a pickle refers to are those of [`super::globals`], and what is called is one of the few constructors of [`super::calls`]; anything
//! else ends the reading, with its name. Time and memory are linear in the pickle's length: each opcode makes one value, and what copies is counted.
//! Never: imports, calls, or sets attributes; follows an extension code or a buffer from elsewhere; recurses.
//!
//! The opcodes are those of Python's `pickletools`.

use super::{
    globals::{self, Refused},
    spelling::decimal,
    values::{Bytes, Loaded, Node, Stored, Value, part, text_of},
};
use crate::{
    error::{Error, Result},
    formats::source::Source,
};
use std::{collections::HashMap, sync::Arc};
use unigrad_device::printable;

/// Bytes of pickle that are read: of a thousand layers there are about 200,000.
pub(super) const MAX_PICKLE: u64 = 64 << 20;
/// Nodes beside those that the length allows.
const NODES: usize = 1 << 17;
/// Bytes of an integer.
pub(super) const MAX_LONG: usize = 64;

pub(super) struct Machine<'a> {
    pub(super) source: &'a Source,
    /// What errors call the pickle.
    name: &'a str,
    pub(super) pickle: &'a Arc<[u8]>,
    pub(super) at: usize,
    /// Where the opcode began that is at work.
    pub(super) opcode_at: usize,
    begin: usize,
    pub(super) nodes: Vec<Node>,
    pub(super) stack: Vec<Value>,
    /// Where the stack was when a mark was set.
    pub(super) marks: Vec<usize>,
    pub(super) memo: HashMap<u32, Value>,
    /// Values that were copied.
    copied: usize,
    pub(super) storages: Vec<Stored>,
    pub(super) by_key: HashMap<String, u32>,
    pub(super) encoded: HashMap<u32, Value>,
}

/// Reads one pickle that begins at `at`.
pub(super) fn load(source: &Source, name: &str, pickle: &Arc<[u8]>, at: usize) -> Result<Loaded> {
    let mut machine = Machine {
        source,
        name,
        pickle,
        at,
        opcode_at: at,
        begin: at,
        nodes: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        copied: 0,
        storages: Vec::new(),
        by_key: HashMap::new(),
        encoded: HashMap::new(),
    };
    let root = loop {
        if let Some(root) = machine.step()? {
            break root;
        }
    };
    let Machine { nodes, storages, at: end, .. } = machine;
    Ok(Loaded { pickle: pickle.clone(), nodes, storages, root, end })
}

impl<'a> Machine<'a> {
    /// What is wrong at the opcode that is at work.
    pub(super) fn wrong(&self, cause: impl std::fmt::Display) -> Error {
        self.source.damaged(format!("{}, byte {}: {cause}", self.name, self.opcode_at))
    }

    pub(super) fn refuse(&self, Refused { cause, help }: Refused) -> Error {
        let cause = format!("{}, byte {}: {}", self.name, self.opcode_at, printable(&cause));
        Error::format(self.source.path(), cause, printable(&help))
    }

    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let part = self.at.checked_add(n).and_then(|end| self.pickle.get(self.at..end));
        let part = part.ok_or_else(|| self.wrong(format!("truncated: {n} bytes should follow, and {} do", self.pickle.len() - self.at)))?;
        self.at += n;
        Ok(part)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// A length of 1, 4 or 8 bytes.
    pub(super) fn length(&mut self, width: usize) -> Result<usize> {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(self.take(width)?);
        usize::try_from(u64::from_le_bytes(bytes)).map_err(|_| self.wrong("a length beyond the file"))
    }

    /// The rest of a line.
    pub(super) fn line(&mut self) -> Result<&'a str> {
        let rest = &self.pickle[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| self.wrong("truncated: a line without an end"))?;
        let line = self.take(end)?;
        self.at += 1;
        str::from_utf8(line).map_err(|_| self.wrong("a line that is no UTF-8"))
    }

    /// Counts `n` values that are copied.
    pub(super) fn spend(&mut self, n: usize) -> Result<()> {
        self.copied = self.copied.saturating_add(n);
        match self.copied > NODES + 4 * (self.pickle.len() - self.begin) {
            true => Err(self.wrong("copies the same values again and again")),
            false => Ok(()),
        }
    }

    pub(super) fn make(&mut self, node: Node) -> Result<Value> {
        let most = NODES + (self.pickle.len() - self.begin) / 8;
        if self.nodes.len() >= most {
            return Err(self.wrong(format!("makes more than {most} objects")));
        }
        self.nodes.push(node);
        Ok(Value::Node(self.nodes.len() as u32 - 1))
    }

    pub(super) fn push(&mut self, value: Value) {
        self.stack.push(value);
    }

    pub(super) fn push_node(&mut self, node: Node) -> Result<()> {
        let value = self.make(node)?;
        self.push(value);
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Result<Value> {
        let least = self.marks.last().copied().unwrap_or(0);
        match self.stack.len() > least {
            true => self.stack.pop().ok_or_else(|| self.wrong("takes a value, and there is none")),
            false => Err(self.wrong("takes a value, and there is none")),
        }
    }

    pub(super) fn top(&self) -> Result<Value> {
        let least = self.marks.last().copied().unwrap_or(0);
        self.stack.get(least..).and_then(<[Value]>::last).copied().ok_or_else(|| self.wrong("looks at a value, and there is none"))
    }

    /// What was pushed since the last mark.
    pub(super) fn pop_mark(&mut self) -> Result<Vec<Value>> {
        let at = self.marks.pop().ok_or_else(|| self.wrong("goes back to a mark, and there is none"))?;
        Ok(self.stack.split_off(at))
    }

    pub(super) fn node(&self, value: Value) -> Option<&Node> {
        match value {
            Value::Node(at) => self.nodes.get(at as usize),
            _ => None,
        }
    }

    pub(super) fn node_mut(&mut self, value: Value) -> Option<&mut Node> {
        match value {
            Value::Node(at) => self.nodes.get_mut(at as usize),
            _ => None,
        }
    }

    pub(super) fn text(&self, value: Value) -> Option<&str> {
        text_of(self.node(value)?, self.pickle)
    }

    pub(super) fn tuple(&self, value: Value) -> Option<&[Value]> {
        match self.node(value)? {
            Node::Tuple(values) => Some(values),
            _ => None,
        }
    }

    pub(super) fn string(&mut self, n: usize) -> Result<()> {
        let begin = self.at;
        let text = self.take(n)?;
        if str::from_utf8(text).is_err() {
            return Err(self.wrong("a text that is no UTF-8"));
        }
        self.push_node(Node::Str(begin as u32..self.at as u32))
    }

    /// Text where it is text, else bytes: what Python 2 called a string.
    pub(super) fn old_string(&mut self, n: usize) -> Result<()> {
        let begin = self.at;
        let text = self.take(n)?;
        let range = begin as u32..self.at as u32;
        self.push_node(if str::from_utf8(text).is_ok() { Node::Str(range) } else { Node::Bytes(Bytes::Here(range)) })
    }

    pub(super) fn bytes(&mut self, n: usize) -> Result<()> {
        let begin = self.at;
        self.take(n)?;
        self.push_node(Node::Bytes(Bytes::Here(begin as u32..self.at as u32)))
    }

    /// A little-endian integer in two's complement.
    pub(super) fn long(&mut self, n: usize) -> Result<()> {
        if n > MAX_LONG {
            return Err(self.wrong(format!("an integer of {n} bytes, and at most {MAX_LONG} are read")));
        }
        let bytes = self.take(n)?;
        let negative = bytes.last().is_some_and(|high| *high >= 0x80);
        if n <= 8 {
            let mut wide = [if negative { 0xff } else { 0 }; 8];
            wide[..n].copy_from_slice(bytes);
            self.push(Value::Int(i64::from_le_bytes(wide)));
            return Ok(());
        }
        self.push_node(Node::Long(decimal(bytes, negative).into()))
    }

    pub(super) fn memoize(&mut self, at: u32) -> Result<()> {
        let value = self.top()?;
        self.memo.insert(at, value);
        self.spend(1)
    }

    pub(super) fn recall(&mut self, at: u32) -> Result<()> {
        let value = self.memo.get(&at).copied().ok_or_else(|| self.wrong(format!("takes note {at}, and there is none")))?;
        self.push(value);
        Ok(())
    }

    pub(super) fn set_items(&mut self, items: &[Value]) -> Result<()> {
        let (pairs, rest) = items.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(self.wrong("a key without a value"));
        }
        let dict = self.top()?;
        match self.node_mut(dict) {
            Some(Node::Dict(dict)) => dict.extend(pairs.iter().map(|[key, value]| (*key, *value))),
            _ => return Err(self.wrong("puts items into what is no dictionary")),
        }
        Ok(())
    }

    pub(super) fn append(&mut self, items: &[Value]) -> Result<()> {
        let list = self.top()?;
        match self.node_mut(list) {
            Some(Node::List(list)) => list.extend(items),
            _ => return Err(self.wrong("appends to what is no list")),
        }
        Ok(())
    }

    pub(super) fn global(&mut self, module: &str, name: &str) -> Result<Value> {
        match globals::find(module, name) {
            Ok(global) => self.make(Node::Global(global)),
            Err(refused) => Err(self.refuse(refused)),
        }
    }

    pub(super) fn code(&self, what: &str) -> Error {
        self.refuse(Refused {
            cause: format!("contains code: {what}; it was not run"),
            help: "in PyTorch, save `model.state_dict()`, which holds tensors only".to_owned(),
        })
    }

    /// Bytes that a node stands for.
    pub(super) fn bytes_of(&self, value: Value) -> Option<(&Bytes, usize)> {
        match self.node(value)? {
            Node::Bytes(bytes @ Bytes::Here(range)) => Some((bytes, part(self.pickle, range).len())),
            Node::Bytes(bytes @ Bytes::Decoded(decoded)) => Some((bytes, decoded.len())),
            _ => None,
        }
    }

    pub(super) fn replace(&mut self, value: Value, node: Node) {
        if let Some(old) = self.node_mut(value) {
            *old = node;
        }
    }
}
