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
const MAX_LONG: usize = 64;

pub(super) struct Machine<'a> {
    pub(super) source: &'a Source,
    /// What errors call the pickle.
    name: &'a str,
    pub(super) pickle: &'a Arc<[u8]>,
    at: usize,
    /// Where the opcode began that is at work.
    opcode_at: usize,
    begin: usize,
    pub(super) nodes: Vec<Node>,
    stack: Vec<Value>,
    /// Where the stack was when a mark was set.
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
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

    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let part = self.at.checked_add(n).and_then(|end| self.pickle.get(self.at..end));
        let part = part.ok_or_else(|| self.wrong(format!("truncated: {n} bytes should follow, and {} do", self.pickle.len() - self.at)))?;
        self.at += n;
        Ok(part)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// A length of 1, 4 or 8 bytes.
    fn length(&mut self, width: usize) -> Result<usize> {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(self.take(width)?);
        usize::try_from(u64::from_le_bytes(bytes)).map_err(|_| self.wrong("a length beyond the file"))
    }

    /// The rest of a line.
    fn line(&mut self) -> Result<&'a str> {
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

    fn push(&mut self, value: Value) {
        self.stack.push(value);
    }

    fn push_node(&mut self, node: Node) -> Result<()> {
        let value = self.make(node)?;
        self.push(value);
        Ok(())
    }

    fn pop(&mut self) -> Result<Value> {
        let least = self.marks.last().copied().unwrap_or(0);
        match self.stack.len() > least {
            true => self.stack.pop().ok_or_else(|| self.wrong("takes a value, and there is none")),
            false => Err(self.wrong("takes a value, and there is none")),
        }
    }

    fn top(&self) -> Result<Value> {
        let least = self.marks.last().copied().unwrap_or(0);
        self.stack.get(least..).and_then(<[Value]>::last).copied().ok_or_else(|| self.wrong("looks at a value, and there is none"))
    }

    /// What was pushed since the last mark.
    fn pop_mark(&mut self) -> Result<Vec<Value>> {
        let at = self.marks.pop().ok_or_else(|| self.wrong("goes back to a mark, and there is none"))?;
        Ok(self.stack.split_off(at))
    }

    pub(super) fn node(&self, value: Value) -> Option<&Node> {
        match value {
            Value::Node(at) => self.nodes.get(at as usize),
            _ => None,
        }
    }

    fn node_mut(&mut self, value: Value) -> Option<&mut Node> {
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

    fn string(&mut self, n: usize) -> Result<()> {
        let begin = self.at;
        let text = self.take(n)?;
        if str::from_utf8(text).is_err() {
            return Err(self.wrong("a text that is no UTF-8"));
        }
        self.push_node(Node::Str(begin as u32..self.at as u32))
    }

    /// Text where it is text, else bytes: what Python 2 called a string.
    fn old_string(&mut self, n: usize) -> Result<()> {
        let begin = self.at;
        let text = self.take(n)?;
        let range = begin as u32..self.at as u32;
        self.push_node(if str::from_utf8(text).is_ok() { Node::Str(range) } else { Node::Bytes(Bytes::Here(range)) })
    }

    fn bytes(&mut self, n: usize) -> Result<()> {
        let begin = self.at;
        self.take(n)?;
        self.push_node(Node::Bytes(Bytes::Here(begin as u32..self.at as u32)))
    }

    /// A little-endian integer in two's complement.
    fn long(&mut self, n: usize) -> Result<()> {
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

    fn memoize(&mut self, at: u32) -> Result<()> {
        let value = self.top()?;
        self.memo.insert(at, value);
        self.spend(1)
    }

    fn recall(&mut self, at: u32) -> Result<()> {
        let value = self.memo.get(&at).copied().ok_or_else(|| self.wrong(format!("takes note {at}, and there is none")))?;
        self.push(value);
        Ok(())
    }

    fn set_items(&mut self, items: &[Value]) -> Result<()> {
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

    fn append(&mut self, items: &[Value]) -> Result<()> {
        let list = self.top()?;
        match self.node_mut(list) {
            Some(Node::List(list)) => list.extend(items),
            _ => return Err(self.wrong("appends to what is no list")),
        }
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str) -> Result<Value> {
        match globals::find(module, name) {
            Ok(global) => self.make(Node::Global(global)),
            Err(refused) => Err(self.refuse(refused)),
        }
    }

    fn code(&self, what: &str) -> Error {
        self.refuse(Refused {
            cause: format!("contains code: {what}; it was not run"),
            help: "in PyTorch, save `model.state_dict()`, which holds tensors only".to_owned(),
        })
    }

    /// Runs one opcode; gives the value at the end.
    fn step(&mut self) -> Result<Option<Value>> {
        self.opcode_at = self.at;
        let [opcode] = self.array()?;
        match opcode {
            b'.' => return self.pop().map(Some),
            0x80 => {
                let [protocol] = self.array()?;
                if protocol > 5 {
                    return Err(self.wrong(format!("pickle protocol {protocol}, and 0 to 5 are read")));
                }
            }
            0x95 => {
                let n = self.length(8)?;
                if n > self.pickle.len() - self.at {
                    return Err(self.wrong(format!("truncated: a frame of {n} bytes, and {} are there", self.pickle.len() - self.at)));
                }
            }
            b'(' => {
                self.marks.push(self.stack.len());
                self.spend(1)?;
            }
            b'0' => {
                // Python's own: above a mark it takes the mark.
                if self.marks.last() == Some(&self.stack.len()) {
                    self.marks.pop();
                } else {
                    self.pop()?;
                }
            }
            b'1' => {
                self.pop_mark()?;
            }
            b'2' => {
                let top = self.top()?;
                self.push(top);
            }
            b'N' => self.push(Value::None),
            0x88 => self.push(Value::Bool(true)),
            0x89 => self.push(Value::Bool(false)),
            b'I' => {
                let value = match self.line()? {
                    "01" => Value::Bool(true),
                    "00" => Value::Bool(false),
                    text => Value::Int(text.trim().parse().map_err(|_| self.wrong("an integer that cannot be read"))?),
                };
                self.push(value);
            }
            b'L' => {
                let text = self.line()?.trim().trim_end_matches('L');
                match text.parse() {
                    Ok(value) => self.push(Value::Int(value)),
                    Err(_) if is_integer(text) && text.len() <= 2 * MAX_LONG => self.push_node(Node::Long(text.into()))?,
                    Err(_) => return Err(self.wrong("an integer that cannot be read")),
                }
            }
            b'J' => {
                let value = i32::from_le_bytes(self.array()?);
                self.push(Value::Int(value.into()));
            }
            b'K' => {
                let [value] = self.array()?;
                self.push(Value::Int(value.into()));
            }
            b'M' => {
                let value = u16::from_le_bytes(self.array()?);
                self.push(Value::Int(value.into()));
            }
            0x8a => {
                let n = self.length(1)?;
                self.long(n)?;
            }
            0x8b => {
                let n = self.length(4)?;
                self.long(n)?;
            }
            b'F' => {
                let value = self.line()?.trim().parse().map_err(|_| self.wrong("a float that cannot be read"))?;
                self.push(Value::Float(value));
            }
            b'G' => {
                let value = f64::from_be_bytes(self.array()?);
                self.push(Value::Float(value));
            }
            b'S' | b'V' => {
                let line = self.line()?;
                let text = if opcode == b'S' { unquoted(line) } else { unescaped(line, "uU") };
                let text = text.ok_or_else(|| self.wrong("a text that cannot be read"))?;
                self.push_node(Node::Text(text.into()))?;
            }
            b'U' | b'T' => {
                let n = self.length(if opcode == b'U' { 1 } else { 4 })?;
                self.old_string(n)?;
            }
            0x8c | b'X' | 0x8d => {
                let n = self.length(if opcode == b'X' {
                    4
                } else if opcode == 0x8c {
                    1
                } else {
                    8
                })?;
                self.string(n)?;
            }
            b'C' | b'B' | 0x8e | 0x96 => {
                let n = self.length(if opcode == b'C' {
                    1
                } else if opcode == b'B' {
                    4
                } else {
                    8
                })?;
                self.bytes(n)?;
            }
            b')' => self.push_node(Node::Tuple(Vec::new()))?,
            b't' => {
                let items = self.pop_mark()?;
                self.push_node(Node::Tuple(items))?;
            }
            0x85..=0x87 => {
                let mut items = (0x85..=opcode).map(|_| self.pop()).collect::<Result<Vec<_>>>()?;
                items.reverse();
                self.push_node(Node::Tuple(items))?;
            }
            b']' => self.push_node(Node::List(Vec::new()))?,
            b'l' => {
                let items = self.pop_mark()?;
                self.push_node(Node::List(items))?;
            }
            b'a' => {
                let item = self.pop()?;
                self.append(&[item])?;
            }
            b'e' => {
                let items = self.pop_mark()?;
                self.append(&items)?;
            }
            b'}' => self.push_node(Node::Dict(Vec::new()))?,
            b'd' => {
                let items = self.pop_mark()?;
                self.push_node(Node::Dict(Vec::new()))?;
                self.set_items(&items)?;
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set_items(&[key, value])?;
            }
            b'u' => {
                let items = self.pop_mark()?;
                self.set_items(&items)?;
            }
            0x8f => self.push_node(Node::Set(Vec::new()))?,
            0x90 => {
                let items = self.pop_mark()?;
                let set = self.top()?;
                match self.node_mut(set) {
                    Some(Node::Set(set)) => set.extend(items),
                    _ => return Err(self.wrong("adds to what is no set")),
                }
            }
            0x91 => {
                let items = self.pop_mark()?;
                self.push_node(Node::Set(items))?;
            }
            b'q' => {
                let [at] = self.array()?;
                self.memoize(at.into())?;
            }
            b'r' => {
                let at = u32::from_le_bytes(self.array()?);
                self.memoize(at)?;
            }
            b'p' => {
                let at = self.line()?.trim().parse().map_err(|_| self.wrong("a note that cannot be read"))?;
                self.memoize(at)?;
            }
            0x94 => self.memoize(self.memo.len() as u32)?,
            b'h' => {
                let [at] = self.array()?;
                self.recall(at.into())?;
            }
            b'j' => {
                let at = u32::from_le_bytes(self.array()?);
                self.recall(at)?;
            }
            b'g' => {
                let at = self.line()?.trim().parse().map_err(|_| self.wrong("a note that cannot be read"))?;
                self.recall(at)?;
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                let value = self.global(module, name)?;
                self.push(value);
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let (module, name) = match (self.text(module), self.text(name)) {
                    (Some(module), Some(name)) => (module.to_owned(), name.to_owned()),
                    _ => return Err(self.code("a name that is made while it is read")),
                };
                let value = self.global(&module, &name)?;
                self.push(value);
            }
            b'i' => {
                let (module, name) = (self.line()?, self.line()?);
                let arguments = self.pop_mark()?;
                let callee = self.global(module, name)?;
                let value = self.call(callee, &arguments)?;
                self.push(value);
            }
            b'o' => {
                let mut arguments = self.pop_mark()?.into_iter();
                let callee = arguments.next().ok_or_else(|| self.wrong("calls nothing"))?;
                let value = self.call(callee, arguments.as_slice())?;
                self.push(value);
            }
            b'R' | 0x81 | 0x92 => {
                if opcode == 0x92 {
                    let named = self.pop()?;
                    if !matches!(self.node(named), Some(Node::Dict(dict)) if dict.is_empty()) {
                        return Err(self.code("a call with named arguments"));
                    }
                }
                let (arguments, callee) = (self.pop()?, self.pop()?);
                let Some(arguments) = self.tuple(arguments) else { return Err(self.wrong("calls with what is no tuple")) };
                // The longest call has eight; a tuple of more is a lie, and not copied.
                let arguments = arguments.get(..arguments.len().min(9)).unwrap_or_default().to_vec();
                let value = self.call(callee, &arguments)?;
                self.push(value);
            }
            b'b' => {
                let (state, object) = (self.pop()?, self.top()?);
                self.set_state(object, state)?;
            }
            b'Q' => {
                let id = self.pop()?;
                let storage = self.storage(id)?;
                self.push(storage);
            }
            b'P' => {
                let id = self.line()?;
                return Err(self.code(&format!("an object of another program, `{id}`")));
            }
            0x82..=0x84 => {
                let code = self.length(match opcode {
                    0x82 => 1,
                    0x83 => 2,
                    _ => 4,
                })?;
                return Err(self.code(&format!("extension {code} of Python's copyreg")));
            }
            0x97 | 0x98 => return Err(self.wrong("refers to a buffer outside of the file")),
            other => return Err(self.wrong(format!("0x{other:02x} is no opcode"))),
        }
        Ok(None)
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

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The decimal digits of a little-endian integer in two's complement.
fn decimal(bytes: &[u8], negative: bool) -> String {
    let mut magnitude = bytes.to_vec();
    if negative {
        let mut carry = true;
        for byte in &mut magnitude {
            let (inverted, more) = (!*byte).overflowing_add(u8::from(carry));
            (*byte, carry) = (inverted, more);
        }
    }
    // In groups of nine digits, the lowest first.
    let mut groups: Vec<u32> = vec![0];
    for byte in magnitude.iter().rev() {
        let mut carry = u64::from(*byte);
        for group in &mut groups {
            let wide = u64::from(*group) * 256 + carry;
            (*group, carry) = ((wide % 1_000_000_000) as u32, wide / 1_000_000_000);
        }
        if carry > 0 {
            groups.push(carry as u32);
        }
    }
    let mut text = if negative { "-".to_owned() } else { String::new() };
    let (highest, others) = groups.split_last().map_or((0, &[][..]), |(highest, others)| (*highest, others));
    text.push_str(&highest.to_string());
    others.iter().rev().for_each(|group| text.push_str(&format!("{group:09}")));
    text
}

/// Text in quotes, with Python's escapes.
fn unquoted(line: &str) -> Option<String> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| matches!(mark, '\'' | '"'))?;
    let inside = line.strip_prefix(mark)?.strip_suffix(mark)?;
    unescaped(inside, "\\'\"nrtxabfv0")
}

/// Text with those of Python's escapes that `known` has.
fn unescaped(text: &str, known: &str) -> Option<String> {
    let mut spelled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        spelled.push_str(&rest[..at]);
        let escape = rest[at + 1..].chars().next();
        let Some(escape) = escape.filter(|escape| known.contains(*escape)) else {
            // In raw text a backslash that begins nothing is a backslash.
            if known != "uU" {
                return None;
            }
            spelled.push('\\');
            rest = &rest[at + 1..];
            continue;
        };
        let n_digits = match escape {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        // The escape is one ASCII character.
        let digits = rest.get(at + 2..at + 2 + n_digits)?;
        spelled.push(match escape {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'v' => '\x0b',
            '0' => '\0',
            'x' | 'u' | 'U' => char::from_u32(u32::from_str_radix(digits, 16).ok()?)?,
            mark => mark,
        });
        rest = &rest[at + 2 + n_digits..];
    }
    spelled.push_str(rest);
    Some(spelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_width_are_spelled() {
        for number in [0i128, 1, -1, 255, 256, -256, i128::MAX, i128::MIN, 1_000_000_000, -1_000_000_000_000_000_000_000] {
            assert_eq!(decimal(&number.to_le_bytes(), number < 0), number.to_string());
        }
        let power = [[0; 16].as_slice(), &[1]].concat();
        assert_eq!(decimal(&power, false), "340282366920938463463374607431768211456");
        assert_eq!(decimal(&[0xff; 20], true), "-1");
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(unquoted(r"'a\x41\n\\\''").as_deref(), Some("aA\n\\'"));
        assert_eq!(unescaped(r"a\u0041\U0001f600\n", "uU").as_deref(), Some("aA😀\\n"));
        for wrong in ["", "'", "'a", "a'", r"'\x4'", r"'\q'", r"'\'"] {
            assert_eq!(unquoted(wrong), None, "{wrong}");
        }
        assert_eq!(unescaped(r"\ud800", "uU"), None);
        assert_eq!(unescaped(r"\u00e", "uU"), None);
        assert_eq!(unescaped(r"\u00äx", "uU"), None);
    }
}
