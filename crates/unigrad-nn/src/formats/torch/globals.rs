//! The names that a pickle may refer to. They are all that is known here: each stands for data, and none for code.
//!
//! In: a module and a name. Out: what they mean, or an error that names them.
//! Never: imports or calls anything.

use unigrad_tensor::DType;

/// A known name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Global {
    Dict,
    DefaultDict,
    List,
    Set,
    Tuple,
    Bytearray,
    /// The function by which older protocols write bytes as text.
    Encode,
    Tensor,
    Size,
    Device,
    TorchType(&'static str),
    Storage(DType),
    UntypedStorage,
    RebuildTensor,
    RebuildTensor2,
    RebuildTensor3,
    RebuildParameter,
    RebuildFromType,
    ArrayType,
    ArrayKind(DType),
    ArrayScalar,
    ArrayRebuild,
    ArrayBuffer,
    Array,
}

/// PyTorch's names of dtypes and of their storages.
pub(super) const TORCH: [(DType, &str, &str); 15] = [
    (DType::Bool, "bool", "BoolStorage"),
    (DType::U8, "uint8", "ByteStorage"),
    (DType::I8, "int8", "CharStorage"),
    (DType::U16, "uint16", ""),
    (DType::I16, "int16", "ShortStorage"),
    (DType::U32, "uint32", ""),
    (DType::I32, "int32", "IntStorage"),
    (DType::U64, "uint64", ""),
    (DType::I64, "int64", "LongStorage"),
    (DType::F16, "float16", "HalfStorage"),
    (DType::BF16, "bfloat16", "BFloat16Storage"),
    (DType::F32, "float32", "FloatStorage"),
    (DType::F64, "float64", "DoubleStorage"),
    (DType::F8E4M3, "float8_e4m3fn", ""),
    (DType::F8E5M2, "float8_e5m2", ""),
];

/// The dtype of PyTorch's name, if both have it.
pub(super) fn torch_dtype(name: &str) -> Option<DType> {
    TORCH.iter().find(|(_, theirs, _)| *theirs == name).map(|(dtype, _, _)| *dtype)
}

/// Names that stand for data which is not read here, and what helps.
const DATA_OF_OTHERS: &[(&str, &str, &str)] = &[
    ("torch._utils", "_rebuild_sparse_tensor", "a sparse tensor: save `tensor.to_dense()`"),
    ("torch._utils", "_rebuild_sparse_csr_tensor", "a sparse tensor: save `tensor.to_dense()`"),
    ("torch._utils", "_rebuild_nested_tensor", "a nested tensor: save its parts, from `tensor.unbind()`"),
    ("torch._utils", "_rebuild_qtensor", "a quantized tensor: save `tensor.dequantize()`"),
    ("torch._utils", "_rebuild_meta_tensor_no_storage", "a tensor on the meta device, which has no values: save it from another device"),
    ("torch", "ComplexFloatStorage", "complex numbers: save `torch.view_as_real(tensor)`"),
    ("torch", "ComplexDoubleStorage", "complex numbers: save `torch.view_as_real(tensor)`"),
    ("torch", "QInt8Storage", "a quantized tensor: save `tensor.dequantize()`"),
    ("torch", "QUInt8Storage", "a quantized tensor: save `tensor.dequantize()`"),
    ("torch", "QInt32Storage", "a quantized tensor: save `tensor.dequantize()`"),
    ("torch", "QUInt4x2Storage", "a quantized tensor: save `tensor.dequantize()`"),
    ("torch", "QUInt2x4Storage", "a quantized tensor: save `tensor.dequantize()`"),
    ("torch.storage", "_load_from_bytes", "a storage that was pickled alone: save the tensors with `torch.save`"),
    ("builtins", "complex", "complex numbers: save real and imaginary parts"),
    ("__builtin__", "complex", "complex numbers: save real and imaginary parts"),
];

/// Why a name is refused, and what helps.
pub(super) struct Refused {
    pub(super) cause: String,
    pub(super) help: String,
}

/// What a name means.
pub(super) fn find(module: &str, name: &str) -> Result<Global, Refused> {
    use Global::*;
    Ok(match (module, name) {
        ("collections", "OrderedDict" | "Counter") | ("builtins" | "__builtin__", "dict") => Dict,
        ("collections", "defaultdict") => DefaultDict,
        ("builtins" | "__builtin__", "list") => List,
        ("builtins" | "__builtin__", "tuple") => Tuple,
        ("builtins" | "__builtin__", "set" | "frozenset") => Set,
        ("builtins" | "__builtin__", "bytearray") => Bytearray,
        ("_codecs", "encode") => Encode,
        ("torch", "Tensor") | ("torch.nn.parameter", "Parameter" | "Buffer") => Tensor,
        ("torch", "Size") => Size,
        ("torch", "device") => Device,
        ("torch.storage", "UntypedStorage") | ("torch", "UntypedStorage") => UntypedStorage,
        ("torch._utils", "_rebuild_tensor") => RebuildTensor,
        ("torch._utils", "_rebuild_tensor_v2") => RebuildTensor2,
        ("torch._utils", "_rebuild_tensor_v3") => RebuildTensor3,
        ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => RebuildParameter,
        ("torch._tensor", "_rebuild_from_type_v2") => RebuildFromType,
        ("numpy", "dtype") => ArrayType,
        ("numpy", "ndarray") => Array,
        ("numpy.core.multiarray" | "numpy._core.multiarray", "scalar") => ArrayScalar,
        ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => ArrayRebuild,
        ("numpy.core.numeric" | "numpy._core.numeric", "_frombuffer") => ArrayBuffer,
        ("numpy.dtypes", name) => ArrayKind(array_kind(name).ok_or_else(|| code(module, name))?),
        ("torch" | "torch.cuda", name) if let Some((dtype, ..)) = TORCH.iter().find(|(_, _, storage)| *storage == name) => Storage(*dtype),
        ("torch", name) if let Some((_, name, _)) = TORCH.iter().find(|(_, theirs, _)| *theirs == name) => TorchType(name),
        _ => return Err(code(module, name)),
    })
}

/// NumPy's classes of dtypes, which its newer versions write.
fn array_kind(name: &str) -> Option<DType> {
    Some(match name {
        "BoolDType" => DType::Bool,
        "UInt8DType" => DType::U8,
        "Int8DType" => DType::I8,
        "UInt16DType" => DType::U16,
        "Int16DType" => DType::I16,
        "UInt32DType" => DType::U32,
        "Int32DType" => DType::I32,
        "UInt64DType" => DType::U64,
        "Int64DType" => DType::I64,
        "Float16DType" => DType::F16,
        "Float32DType" => DType::F32,
        "Float64DType" => DType::F64,
        _ => return None,
    })
}

fn code(module: &str, name: &str) -> Refused {
    if let Some((.., what)) = DATA_OF_OTHERS.iter().find(|(m, n, _)| (*m, *n) == (module, name)) {
        let (what, help) = what.split_once(": ").unwrap_or((what, ""));
        return Refused {
            cause: format!("contains {what} ({module}.{name}), which is not read here"),
            help: format!("in PyTorch, {help}"),
        };
    }
    if module == "torch" && (name.starts_with("float") || name.starts_with("complex") || name.starts_with("q") || name.starts_with("bits"))
    {
        let help = "in PyTorch, convert the tensor with `.to(torch.float32)` first".to_owned();
        return Refused { cause: format!("contains a tensor of type {module}.{name}, which is not known here"), help };
    }
    let is_model = module.starts_with("torch.nn.") || module.starts_with("__main__") || module.starts_with("torchvision.");
    let help = match is_model {
        true => "the file holds a whole model, which is code: in PyTorch, save `model.state_dict()` instead",
        false => {
            "only tensors, numbers, texts and their lists and dictionaries are read; if you trust the file's author, save `model.state_dict()` in PyTorch; if not, \
             keep it away from `torch.load(weights_only=False)`, which would run the code"
        }
    };
    Refused { cause: format!("contains code: {module}.{name}; it was not run"), help: help.to_owned() }
}
