//! The constructors that a pickle of tensors calls: dictionaries, tensors, arrays.
//!
//! In: a known name and its arguments. Out: the value that they stand for.
//! Always: sizes are checked to be sizes, and to be few, before they are copied. A tensor is compared with its storage later, when that is known.
//! Never: runs anything of the file's; hooks, states and subclasses are refused or have no meaning here.

use super::{
    globals::{self, Global, Refused},
    pickle::Machine,
    values::{Bytes, Node, Stored, Value, View},
};
use crate::{
    error::Result,
    formats::{
        layout::{self, MAX_AXES},
        npy,
    },
};
use unigrad_tensor::DType;

/// Calls within a call: a tensor's type calls what makes the tensor.
const MAX_CALLS: usize = 4;

impl Machine<'_> {
    /// What calling a known name gives.
    pub(super) fn call(&mut self, callee: Value, arguments: &[Value]) -> Result<Value> {
        self.call_within(callee, arguments, MAX_CALLS)
    }

    fn call_within(&mut self, callee: Value, arguments: &[Value], left: usize) -> Result<Value> {
        let Some(Node::Global(global)) = self.node(callee) else { return Err(self.wrong("calls what is no function")) };
        let global = *global;
        let unlike =
            |machine: &Self| machine.wrong(format!("calls {global:?} with {} arguments that do not belong to it", arguments.len()));
        match (global, arguments) {
            (Global::Dict, []) | (Global::DefaultDict, [] | [_]) => self.make(Node::Dict(Vec::new())),
            (Global::Dict, [items]) | (Global::DefaultDict, [_, items]) => {
                let pairs = self.pairs(*items).ok_or_else(|| unlike(self))?;
                self.spend(pairs.len())?;
                self.make(Node::Dict(pairs))
            }
            (Global::List | Global::Set | Global::Tuple, []) => self.make(sequence(global, Vec::new())),
            (Global::List | Global::Set | Global::Tuple, [items]) => {
                let n = self.items(*items).ok_or_else(|| unlike(self))?.len();
                self.spend(n)?;
                let items = self.items(*items).ok_or_else(|| unlike(self))?.to_vec();
                self.make(sequence(global, items))
            }
            // A size is its tuple.
            (Global::Size, [items]) if self.tuple(*items).is_some() => Ok(*items),
            (Global::Size, []) => self.make(Node::Tuple(Vec::new())),
            (Global::Bytearray, [bytes]) if self.bytes_of(*bytes).is_some() => Ok(*bytes),
            (Global::Bytearray, []) => self.make(Node::Bytes(Bytes::Here(0..0))),
            (Global::Bytearray, [text, _]) | (Global::Encode, [text, _]) => self.encoded(*text, arguments[1]),
            (Global::Device, [kind]) if self.text(*kind).is_some() => Ok(*kind),
            (Global::Device, [kind, Value::Int(ordinal)]) => {
                let text = self.text(*kind).filter(|kind| kind.len() < 64).map(|kind| format!("{kind}:{ordinal}"));
                let text = text.ok_or_else(|| unlike(self))?;
                self.make(Node::Word(text.into()))
            }
            (Global::RebuildTensor, [storage, offset, shape, strides])
            | (Global::RebuildTensor2, [storage, offset, shape, strides, ..])
            | (Global::RebuildTensor3, [storage, offset, shape, strides, _, _]) => self.tensor(*storage, *offset, *shape, *strides, None),
            (Global::RebuildTensor3, [storage, offset, shape, strides, _, _, dtype, ..]) => {
                self.tensor(*storage, *offset, *shape, *strides, Some(*dtype))
            }
            (Global::RebuildParameter | Global::Tensor, [tensor, ..]) if matches!(self.node(*tensor), Some(Node::Tensor(_))) => Ok(*tensor),
            (Global::RebuildFromType, [function, kind, given, _]) => {
                let is_tensor = matches!(self.node(*kind), Some(Node::Global(Global::Tensor)));
                let given = self.tuple(*given).filter(|given| is_tensor && given.len() <= 8 && left > 0).map(<[Value]>::to_vec);
                let given = given.ok_or_else(|| unlike(self))?;
                self.call_within(*function, &given, left - 1)
            }
            (Global::ArrayType, [name, ..]) => {
                let name = self.text(*name).ok_or_else(|| unlike(self))?;
                match npy::dtype(name) {
                    Some((dtype, big)) => self.make(Node::ArrayType(dtype, big)),
                    None => {
                        let shown: String = name.chars().take(40).collect();
                        let refused = Refused {
                            cause: format!("an array of type {shown}, which is not known here"),
                            help: npy::dtype_help(name).to_owned(),
                        };
                        Err(self.refuse(refused))
                    }
                }
            }
            (Global::ArrayKind(dtype), _) => self.make(Node::ArrayType(dtype, false)),
            (Global::ArrayScalar, [kind, bytes]) => {
                let Some(Node::ArrayType(dtype, big)) = self.node(*kind) else { return Err(unlike(self)) };
                let (dtype, big) = (*dtype, *big);
                self.inside(*bytes, dtype, big, Vec::new(), false)
            }
            (Global::ArrayRebuild, [kind, _, _]) if matches!(self.node(*kind), Some(Node::Global(Global::Array))) => self.make(Node::Array),
            (Global::ArrayBuffer, [bytes, kind, shape, order]) => {
                let fortran = match self.text(*order) {
                    Some("C") => false,
                    Some("F") => true,
                    _ => return Err(unlike(self)),
                };
                let (Some(Node::ArrayType(dtype, big)), Some(shape)) = (self.node(*kind), self.sizes(*shape)) else {
                    return Err(unlike(self));
                };
                let (dtype, big) = (*dtype, *big);
                self.inside(*bytes, dtype, big, shape, fortran)
            }
            _ => Err(unlike(self)),
        }
    }

    /// A list's, tuple's or set's values.
    fn items(&self, value: Value) -> Option<&[Value]> {
        match self.node(value)? {
            Node::List(items) | Node::Tuple(items) | Node::Set(items) => Some(items),
            _ => None,
        }
    }

    /// Keys and values, from a dictionary or a list of pairs.
    fn pairs(&self, value: Value) -> Option<Vec<(Value, Value)>> {
        if let Node::Dict(pairs) = self.node(value)? {
            return Some(pairs.clone());
        }
        let pair = |value: &Value| match self.items(*value) {
            Some([key, value]) => Some((*key, *value)),
            _ => None,
        };
        self.items(value)?.iter().map(pair).collect()
    }

    /// The bytes that a text of the first 256 characters stands for.
    fn encoded(&mut self, text: Value, encoding: Value) -> Result<Value> {
        let Value::Node(at) = text else { return Err(self.wrong("encodes what is no text")) };
        // Once, however often it is asked for.
        if let Some(bytes) = self.encoded.get(&at) {
            return Ok(*bytes);
        }
        let Some("latin1" | "latin-1") = self.text(encoding) else { return Err(self.wrong("encodes a text in an unknown encoding")) };
        let bytes = self.text(text).and_then(|text| text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect::<Option<Vec<u8>>>());
        let bytes = bytes.ok_or_else(|| self.wrong("encodes what is no text of bytes"))?;
        let value = self.make(Node::Bytes(Bytes::Decoded(bytes.into())))?;
        self.encoded.insert(at, value);
        Ok(value)
    }

    fn sizes(&self, value: Value) -> Option<Vec<usize>> {
        let sizes = self.items(value).filter(|sizes| sizes.len() <= MAX_AXES)?;
        let size = |size: &Value| match size {
            Value::Int(size) => usize::try_from(*size).ok(),
            _ => None,
        };
        sizes.iter().map(size).collect()
    }

    fn tensor(&mut self, storage: Value, offset: Value, shape: Value, strides: Value, dtype: Option<Value>) -> Result<Value> {
        let of_storage = match self.node(storage) {
            Some(Node::Storage(at)) => self.storages.get(*at as usize).map(|stored| (*at, stored)),
            _ => None,
        };
        let Some((storage, stored)) = of_storage else { return Err(self.wrong("a tensor of what is no storage")) };
        let named = match dtype.map(|dtype| self.node(dtype)) {
            None => None,
            Some(Some(Node::Global(Global::TorchType(name)))) => globals::torch_dtype(name),
            Some(_) => return Err(self.wrong("a tensor of an unknown type")),
        };
        let of_storage = match stored {
            Stored::Keyed { dtype, .. } => *dtype,
            Stored::Inside(..) => None,
        };
        let Some(dtype) = named.or(of_storage) else { return Err(self.wrong("a tensor without a type")) };
        let sizes = (self.sizes(shape), self.sizes(strides));
        let (Some(shape), Some(strides), Value::Int(offset)) = (sizes.0, sizes.1, offset) else {
            return Err(self.wrong(format!("a tensor of sizes and strides that are no more than {MAX_AXES} numbers from 0 on")));
        };
        let offset = usize::try_from(offset).map_err(|_| self.wrong("a tensor that begins before its storage"))?;
        self.make(Node::Tensor(Box::new(View { storage, dtype, shape, strides, offset })))
    }

    /// An array whose bytes are in the pickle.
    fn inside(&mut self, bytes: Value, dtype: DType, big: bool, shape: Vec<usize>, fortran: bool) -> Result<Value> {
        let needed = layout::n_bytes(dtype, &shape);
        let found = self.bytes_of(bytes).filter(|(_, n)| Some(*n as u64) == needed).map(|(bytes, _)| bytes.clone());
        let Some(bytes) = found else {
            return Err(self.wrong(format!("an array of {dtype} and shape {shape:?} with too few or too many bytes")));
        };
        self.storages.push(Stored::Inside(bytes, big));
        let storage = self.storages.len() as u32 - 1;
        let strides = layout::in_order(&shape, fortran);
        self.make(Node::Tensor(Box::new(View { storage, dtype, shape, strides, offset: 0 })))
    }

    /// Gives an object its state: NumPy's types and arrays have one that counts.
    pub(super) fn set_state(&mut self, object: Value, state: Value) -> Result<()> {
        let items = self.tuple(state).map(|items| items.get(..items.len().min(9)).unwrap_or_default().to_vec());
        match (self.node(object), items.as_deref()) {
            (Some(Node::ArrayType(dtype, _)), Some([_, order, ..])) => {
                let dtype = *dtype;
                let big = match self.text(*order) {
                    Some("<" | "|" | "=") => false,
                    Some(">") => true,
                    _ => return Err(self.wrong("an array type of an unknown order of bytes")),
                };
                self.replace(object, Node::ArrayType(dtype, big));
                Ok(())
            }
            (Some(Node::Array), Some([_, shape, kind, Value::Bool(fortran), bytes])) => {
                let (Some(shape), Some(Node::ArrayType(dtype, big))) = (self.sizes(*shape), self.node(*kind)) else {
                    return Err(self.wrong("an array without sizes or type"));
                };
                let (dtype, big) = (*dtype, *big);
                let array = self.inside(*bytes, dtype, big, shape, *fortran)?;
                if let Some(node) = self.node(array).cloned() {
                    self.replace(object, node);
                }
                Ok(())
            }
            // Attributes: what PyTorch keeps beside a dictionary of tensors is the version of its layers.
            (Some(Node::Dict(_)), None) if matches!(self.node(state), Some(Node::Dict(_))) => Ok(()),
            _ => Err(self.wrong("sets the state of an object that has none")),
        }
    }

    /// What `('storage', type, key, device, numel)` refers to.
    pub(super) fn storage(&mut self, id: Value) -> Result<Value> {
        let items = self.tuple(id).unwrap_or_default();
        let (first, others) = (items.first().and_then(|first| self.text(*first)), items.get(1..));
        let (Some("storage"), Some([kind, key, _, Value::Int(numel), view @ ..])) = (first, others) else {
            let what = first.unwrap_or("an object of an unknown kind").chars().take(40).collect::<String>();
            let cause = format!("contains code: a reference to {what} of PyTorch's; it was not run");
            return Err(self.refuse(Refused { cause, help: "in PyTorch, save `model.state_dict()`, which holds tensors only".to_owned() }));
        };
        if !matches!(view, [] | [Value::None]) {
            let help = "load it in PyTorch and save it again: newer versions write no such views".to_owned();
            return Err(
                self.refuse(Refused { cause: "contains a view of a storage as old versions of PyTorch wrote them".to_owned(), help })
            );
        }
        let dtype = match self.node(*kind) {
            Some(Node::Global(Global::Storage(dtype))) => Some(*dtype),
            Some(Node::Global(Global::UntypedStorage)) => None,
            _ => return Err(self.wrong("a storage of an unknown type")),
        };
        let (Some(key), Ok(numel)) = (self.text(*key), u64::try_from(*numel)) else {
            return Err(self.wrong("a storage without a key or a size"));
        };
        if let Some(known) = self.by_key.get(key) {
            let known = *known;
            let same =
                matches!(self.storages.get(known as usize), Some(Stored::Keyed { dtype: d, numel: n, .. }) if (*d, *n) == (dtype, numel));
            return if same { self.make(Node::Storage(known)) } else { Err(self.wrong("two storages with one key")) };
        }
        if key.len() > 255 {
            return Err(self.wrong("a storage with a key of more than 255 bytes"));
        }
        let key = key.to_owned();
        let at = self.storages.len() as u32;
        self.by_key.insert(key.clone(), at);
        self.storages.push(Stored::Keyed { key, dtype, numel });
        self.make(Node::Storage(at))
    }
}

fn sequence(kind: Global, items: Vec<Value>) -> Node {
    match kind {
        Global::Set => Node::Set(items),
        Global::Tuple => Node::Tuple(items),
        _ => Node::List(items),
    }
}
