//! What types of arguments are called in stubs, where they are more than one class of Python's.

use crate::{
    device::PyDevice,
    dtype::PyDType,
    memory_layout::{PyLayout, PyMemoryFormat},
    tensor::PyTensor,
};
use pyo3::{PyTypeInfo, inspect::PyStaticExpr, type_hint_identifier, type_hint_subscript, type_hint_union};

const INT: PyStaticExpr = type_hint_identifier!("builtins", "int");
const FLOAT: PyStaticExpr = type_hint_identifier!("builtins", "float");
const STR: PyStaticExpr = type_hint_identifier!("builtins", "str");
const SEVERAL: PyStaticExpr = type_hint_subscript!(type_hint_identifier!("collections.abc", "Sequence"), INT);
/// Arrays of other libraries.
const BUFFER: PyStaticExpr = type_hint_identifier!("typing_extensions", "Buffer");

/// What an op takes beside a tensor.
pub(crate) const OTHER: PyStaticExpr = type_hint_union!(<PyTensor as PyTypeInfo>::TYPE_HINT, FLOAT, BUFFER);
/// What an op multiplies by.
pub(crate) const FACTOR: PyStaticExpr = type_hint_union!(<PyTensor as PyTypeInfo>::TYPE_HINT, FLOAT);
/// One or several integers.
pub(crate) const INTS: PyStaticExpr = type_hint_union!(INT, SEVERAL);
/// Axes: all, one, or several.
pub(crate) const AXES: PyStaticExpr = type_hint_union!(INT, SEVERAL, type_hint_identifier!("builtins", "None"));
/// A dtype, its name, or a class of Python's or NumPy's.
pub(crate) const DTYPE: PyStaticExpr = type_hint_union!(<PyDType as PyTypeInfo>::TYPE_HINT, STR, type_hint_identifier!("builtins", "type"));
/// A device or its name.
pub(crate) const DEVICE: PyStaticExpr = type_hint_union!(<PyDevice as PyTypeInfo>::TYPE_HINT, STR);
/// How a tensor keeps its elements, or the name of that.
pub(crate) const LAYOUT: PyStaticExpr = type_hint_union!(<PyLayout as PyTypeInfo>::TYPE_HINT, STR);
/// In which order they lie, or the name of that.
pub(crate) const MEMORY_FORMAT: PyStaticExpr = type_hint_union!(<PyMemoryFormat as PyTypeInfo>::TYPE_HINT, STR);
