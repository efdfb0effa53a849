//! What an op is called with: tensors, and attributes by name.
//!
//! In: tensors and attributes as a file, a table of cases or another language has them. Out: what a row of the registry asks for.
//! Always: what is missing or of another kind is an error that names the op and the attribute.

use super::CallError;
use crate::{Axes, Device, Tensor};
use std::fmt;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// An integer, or a truth value as 0 or 1.
    Int(i64),
    /// A number.
    Float(f64),
    /// A name or a text.
    Text(String),
    /// A list of integers.
    Ints(Vec<i64>),
}

impl Attribute {
    fn kind(&self) -> &'static str {
        match self {
            Attribute::Int(_) => "an integer",
            Attribute::Float(_) => "a number",
            Attribute::Text(_) => "a text",
            Attribute::Ints(_) => "a list of integers",
        }
    }
}

macro_rules! attribute_from {
    ($($ty:ty => |$x:ident| $value:expr),* $(,)?) => { $(
        impl From<$ty> for Attribute {
            fn from($x: $ty) -> Attribute {
                $value
            }
        }
    )* };
}
attribute_from!(
    i64 => |x| Attribute::Int(x),
    i32 => |x| Attribute::Int(x.into()),
    bool => |x| Attribute::Int(x.into()),
    f64 => |x| Attribute::Float(x),
    &str => |x| Attribute::Text(x.to_owned()),
    String => |x| Attribute::Text(x),
    Vec<i64> => |x| Attribute::Ints(x),
    &[i64] => |x| Attribute::Ints(x.to_vec()),
);

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Int(x) => write!(f, "{x}"),
            Attribute::Float(x) => write!(f, "{x:?}"),
            Attribute::Text(x) => f.write_str(x),
            Attribute::Ints(list) if list.is_empty() => f.write_str("-"),
            Attribute::Ints(list) => f.write_str(&list.iter().map(i64::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

/// The attributes of a call, by name.
///
/// ```
/// use unigrad_tensor::registry::Attributes;
///
/// let attributes = Attributes::new().with("axis", -1).with("eps", 1e-5);
/// assert_eq!(attributes.to_string(), " axis=-1 eps=1e-5");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(Vec<(String, Attribute)>);

impl Attributes {
    /// None.
    pub fn new() -> Attributes {
        Attributes::default()
    }

    /// With one more; one of the same name is replaced.
    pub fn with(mut self, name: &str, value: impl Into<Attribute>) -> Attributes {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), value.into()));
        self
    }

    /// The attribute of this name.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Attribute)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// A call: what a row of the registry reads.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The op's name, for errors.
    pub op: &'static str,
    /// The tensors.
    pub inputs: &'a [Tensor],
    /// The attributes.
    pub attributes: &'a Attributes,
    /// Where results go that have no inputs.
    pub device: &'a Device,
}

/// Axes of a call, for the methods that take several.
#[derive(Clone)]
pub(super) struct Over(Option<Vec<i64>>);

impl Axes for Over {
    fn axes(self) -> Option<Vec<i64>> {
        self.0
    }
}

/// Some axes, or all.
pub(super) fn over(c: &Call) -> Result<Over, CallError> {
    c.maybe_ints("axes").map(Over)
}

type Got<T> = Result<T, CallError>;

impl<'a> Call<'a> {
    pub(super) fn error(&self, cause: String, help: impl Into<String>) -> CallError {
        CallError { op: self.op, cause, help: help.into() }
    }

    fn missing(&self, name: &str) -> CallError {
        self.error(format!("the attribute `{name}` is missing"), format!("give it: {name}=.."))
    }

    fn other_kind(&self, name: &str, wanted: &str, value: &Attribute) -> CallError {
        self.error(format!("the attribute `{name}` is {} ({value})", value.kind()), format!("it is {wanted} here"))
    }

    /// An input.
    pub(super) fn x(&self, i: usize) -> Got<&'a Tensor> {
        let n = self.inputs.len();
        self.inputs.get(i).ok_or_else(|| self.error(format!("input {i} is missing: there are {n}"), "pass one tensor more"))
    }

    /// An input that may be left out.
    pub(super) fn maybe(&self, i: usize) -> Option<&'a Tensor> {
        self.inputs.get(i)
    }

    /// The inputs from here on.
    pub(super) fn rest(&self, i: usize) -> &'a [Tensor] {
        self.inputs.get(i..).unwrap_or(&[])
    }

    pub(super) fn all(&self) -> Vec<&'a Tensor> {
        self.inputs.iter().collect()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.attributes.get(name).is_some()
    }

    pub(super) fn maybe_int(&self, name: &str) -> Got<Option<i64>> {
        match self.attributes.get(name) {
            None => Ok(None),
            Some(Attribute::Int(value)) => Ok(Some(*value)),
            Some(other) => Err(self.other_kind(name, "an integer", other)),
        }
    }

    pub(super) fn int(&self, name: &str) -> Got<i64> {
        self.maybe_int(name)?.ok_or_else(|| self.missing(name))
    }

    pub(super) fn axis(&self) -> Got<isize> {
        self.axis_of("axis")
    }

    pub(super) fn axis_of(&self, name: &str) -> Got<isize> {
        let axis = self.int(name)?;
        isize::try_from(axis).map_err(|_| self.error(format!("`{name}` is {axis}"), "an axis is a small number"))
    }

    fn as_size(&self, name: &str, value: i64) -> Got<usize> {
        usize::try_from(value).map_err(|_| self.error(format!("`{name}` is {value}"), "a size is 0 or more"))
    }

    pub(super) fn maybe_size(&self, name: &str) -> Got<Option<usize>> {
        self.maybe_int(name)?.map(|value| self.as_size(name, value)).transpose()
    }

    pub(super) fn size(&self, name: &str) -> Got<usize> {
        self.maybe_size(name)?.ok_or_else(|| self.missing(name))
    }

    /// A number, written with or without a point.
    pub(super) fn maybe_float(&self, name: &str) -> Got<Option<f64>> {
        match self.attributes.get(name) {
            None => Ok(None),
            Some(Attribute::Float(value)) => Ok(Some(*value)),
            Some(Attribute::Int(value)) => Ok(Some(*value as f64)),
            Some(other) => Err(self.other_kind(name, "a number", other)),
        }
    }

    pub(super) fn float(&self, name: &str) -> Got<f64> {
        self.maybe_float(name)?.ok_or_else(|| self.missing(name))
    }

    /// Integers; a single one is a list of one.
    pub(super) fn maybe_ints(&self, name: &str) -> Got<Option<Vec<i64>>> {
        match self.attributes.get(name) {
            None => Ok(None),
            Some(Attribute::Ints(list)) => Ok(Some(list.clone())),
            Some(Attribute::Int(value)) => Ok(Some(vec![*value])),
            Some(other) => Err(self.other_kind(name, "a list of integers", other)),
        }
    }

    pub(super) fn ints(&self, name: &str) -> Got<Vec<i64>> {
        self.maybe_ints(name)?.ok_or_else(|| self.missing(name))
    }

    pub(super) fn maybe_sizes(&self, name: &str) -> Got<Option<Vec<usize>>> {
        self.maybe_ints(name)?.map(|list| list.into_iter().map(|value| self.as_size(name, value)).collect()).transpose()
    }

    pub(super) fn sizes(&self, name: &str) -> Got<Vec<usize>> {
        self.maybe_sizes(name)?.ok_or_else(|| self.missing(name))
    }

    /// A truth value; false if it is left out.
    pub(super) fn flag(&self, name: &str) -> Got<bool> {
        match self.maybe_int(name)? {
            None | Some(0) => Ok(false),
            Some(1) => Ok(true),
            Some(other) => Err(self.other_kind(name, "true or false", &Attribute::Int(other))),
        }
    }

    pub(super) fn text(&self, name: &str) -> Got<&'a str> {
        match self.attributes.get(name) {
            None => Err(self.missing(name)),
            Some(Attribute::Text(value)) => Ok(value),
            Some(other) => Err(self.other_kind(name, "a text", other)),
        }
    }

    /// One of several names; the first of them if it is left out.
    pub(super) fn choice<T: Clone>(&self, name: &str, choices: &[(&str, T)]) -> Got<T> {
        let asked = if self.has(name) { Some(self.text(name)?) } else { None };
        let found = choices.iter().find(|(choice, _)| asked.is_none_or(|asked| asked == *choice));
        found.map(|(_, value)| value.clone()).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
            self.error(format!("`{name}` is {}", asked.unwrap_or_default()), format!("choose one of {}", names.join(", ")))
        })
    }
}
