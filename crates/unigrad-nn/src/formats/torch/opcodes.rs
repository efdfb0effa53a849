//! The opcodes of pickles, one by one.
//!
//! In: a machine at an opcode. Out: the machine after it.
//! Always: an opcode that would call, import or refer to something outside goes through the machine's few constructors, or is refused.
//! Never: leaves the pickle's bytes.

use super::{
    pickle::{MAX_LONG, Machine},
    spelling::{is_integer, unescaped, unquoted},
    values::{Node, Value},
};
use crate::error::Result;

impl Machine<'_> {
    /// Runs one opcode; gives the value at the end.
    pub(super) fn step(&mut self) -> Result<Option<Value>> {
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
}
