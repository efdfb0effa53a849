//! Metal Shading Language.
//!
//! There is no 64-bit float, and the library has neither `erf` nor `expm1` nor `log1p`. The host must compile without fast math.

use super::{
    RenderError,
    clike::{C_LIKE, FragmentMemory, Fragments, Language, Params, Shuffles, Spaces, Tables, Writer},
};
use crate::{AtomicOp, Dialect, Fragment, Value};
use unigrad_scalar::DType;

pub(super) const MSL: Language = Language {
    dialect: Dialect::Msl,
    header: "#include <metal_stdlib>
using namespace metal;
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
typedef atomic_uint ug_atomic_u32;
typedef atomic_int ug_atomic_i32;
",
    types: &[
        (DType::U8, "uchar"),
        (DType::I8, "char"),
        (DType::U16, "ushort"),
        (DType::I16, "short"),
        (DType::U32, "uint"),
        (DType::I32, "int"),
        (DType::U64, "ulong"),
        (DType::I64, "long"),
        (DType::F32, "float"),
    ],
    entry: "[[kernel, max_total_threads_per_threadgroup({i})]] void {n}",
    params: Params {
        read: "const device {t}* {n} [[buffer({i})]]",
        write: "device {t}* {n} [[buffer({i})]]",
        atomic: "device {t}* {n} [[buffer({i})]]",
        scalar: "constant {t}& {n} [[buffer({i})]]",
        begin: "",
        tables: Tables::None,
        builtin: "uint3 ug_thread [[thread_position_in_threadgroup]], uint3 ug_group [[threadgroup_position_in_grid]], \
                  uint3 ug_groups [[threadgroups_per_grid]]",
    },
    spaces: Spaces { global: "device ", shared: "threadgroup ", private: "thread " },
    shared: "alignas(16) threadgroup {t} {n}[{i}];",
    thread: "ug_thread.{a}",
    group: "ug_group.{a}",
    group_count: "ug_groups.{a}",
    barrier: "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);",
    unroll: "#pragma clang loop unroll(full)",
    math: ["{n}", "{n}"],
    natives: &[
        ("bits", "as_type<u32>", ""),
        ("from_bits", "as_type<f32>", ""),
        ("exp", "precise::exp", ""),
        ("exp2", "precise::exp2", ""),
        ("log", "precise::log", ""),
        ("log2", "precise::log2", ""),
        ("sin", "precise::sin", ""),
        ("cos", "precise::cos", ""),
        ("tan", "precise::tan", ""),
        ("asin", "precise::asin", ""),
        ("acos", "precise::acos", ""),
        ("atan", "precise::atan", ""),
        ("atan2", "precise::atan2", ""),
        ("sinh", "precise::sinh", ""),
        ("cosh", "precise::cosh", ""),
        ("tanh", "precise::tanh", ""),
        ("sqrt", "precise::sqrt", ""),
        ("pow", "precise::pow", ""),
    ],
    // Its `fmod` rounds.
    lacks: &["erf", "erfc", "expm1", "log1p", "fmod"],
    helpers: &[
        ("f16_to_f32", "$fn f32 $N(u16 x) {\n    return (f32)as_type<half>(x);\n}\n"),
        ("f32_to_f16", "$fn u16 $N(f32 x) {\n    return as_type<u16>((half)x);\n}\n"),
        // Bits, because a host may have asked for fast math after all.
        ("max_f32", "$fn f32 $N(f32 a, f32 b) {\n    return a > b || $isnan(a) ? a : b;\n}\n"),
        ("min_f32", "$fn f32 $N(f32 a, f32 b) {\n    return a < b || $isnan(a) ? a : b;\n}\n"),
        ("cas_device", CAS_DEVICE),
        ("cas_threadgroup", CAS_THREADGROUP),
    ],
    atomics: &[
        (AtomicOp::Add, "atomic_fetch_add_explicit(({s}ug_atomic_{t}*)({p}), {v}, memory_order_relaxed)", ""),
        (AtomicOp::Max, "atomic_fetch_max_explicit(({s}ug_atomic_{t}*)({p}), {v}, memory_order_relaxed)", ""),
        (AtomicOp::Min, "atomic_fetch_min_explicit(({s}ug_atomic_{t}*)({p}), {v}, memory_order_relaxed)", ""),
        (AtomicOp::And, "atomic_fetch_and_explicit(({s}ug_atomic_{t}*)({p}), {v}, memory_order_relaxed)", ""),
        (AtomicOp::Or, "atomic_fetch_or_explicit(({s}ug_atomic_{t}*)({p}), {v}, memory_order_relaxed)", ""),
        (AtomicOp::Xor, "atomic_fetch_xor_explicit(({s}ug_atomic_{t}*)({p}), {v}, memory_order_relaxed)", ""),
        (AtomicOp::Exchange, "atomic_exchange_explicit(({s}ug_atomic_{t}*)({p}), {v}, memory_order_relaxed)", ""),
    ],
    compare_exchange: ["$cas(({s}ug_atomic_{t}*)({p}), {e}, {v})", ""],
    atomic_load: "atomic_load_explicit(({s}ug_atomic_{t}*)({p}), memory_order_relaxed)",
    atomic_store: "atomic_store_explicit(({s}ug_atomic_{t}*)({p}), {v}, memory_order_relaxed)",
    shuffles: Some(Shuffles {
        xor: "simd_shuffle_xor({v}, (ushort){n})",
        down: "simd_shuffle_down({v}, (ushort){n})",
        up: "simd_shuffle_up({v}, (ushort){n})",
        index: "simd_shuffle({v}, (ushort){n})",
    }),
    fragments: Some(Fragments { declare, fill, load, store, multiply }),
    ..C_LIKE
};

/// The weak form may fail for no reason; then it is tried again.
const CAS_DEVICE: &str = "$fn $T $N(device ug_atomic_$T* p, $T expected, $T value) {
    $T seen = expected;
    while (!atomic_compare_exchange_weak_explicit(p, &seen, value, memory_order_relaxed, memory_order_relaxed)) {
        if (seen != expected) return seen;
    }
    return expected;
}
";
const CAS_THREADGROUP: &str = "$fn $T $N(threadgroup ug_atomic_$T* p, $T expected, $T value) {
    $T seen = expected;
    while (!atomic_compare_exchange_weak_explicit(p, &seen, value, memory_order_relaxed, memory_order_relaxed)) {
        if (seen != expected) return seen;
    }
    return expected;
}
";

fn element(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "half",
        DType::BF16 => "bfloat",
        // Only floats of up to 32 bits come here: see `declare`.
        DType::Bool
        | DType::U8
        | DType::I8
        | DType::U16
        | DType::I16
        | DType::U32
        | DType::I32
        | DType::U64
        | DType::I64
        | DType::F32
        | DType::F64
        | DType::F8E4M3
        | DType::F8E5M2 => "float",
    }
}

fn declare(writer: &mut Writer<'_>, at: Value, fragment: Fragment) -> Result<String, RenderError> {
    let shape = fragment.shape;
    let known = (shape.m, shape.n, shape.k) == (8, 8, 8)
        && matches!(shape.input, DType::F16 | DType::BF16 | DType::F32)
        && matches!(shape.sum, DType::F32 | DType::F16);
    if known {
        return Ok(format!("simdgroup_matrix<{}, 8, 8>", element(fragment.dtype())));
    }
    Err(RenderError {
        dialect: Dialect::Msl,
        program: writer.program.name.clone(),
        at: Some(at),
        cause: format!("a matrix fragment {}x{}x{} of {}", shape.m, shape.n, shape.k, shape.input),
        help: "use 8x8x8 of f16, bf16 or f32".to_owned(),
    })
}

fn fill(_: &mut Writer<'_>, (_, fragment): (Value, Fragment), to: &str, value: &str) -> Result<String, RenderError> {
    let element = element(fragment.dtype());
    let value = if fragment.dtype() == DType::F32 { value.to_owned() } else { format!("as_type<{element}>({value})") };
    Ok(format!("{to} = make_filled_simdgroup_matrix<{element}, 8, 8>({value});"))
}

fn space(memory: &FragmentMemory) -> &'static str {
    if memory.shared { "threadgroup" } else { "device" }
}

fn load(_: &mut Writer<'_>, (_, fragment): (Value, Fragment), to: &str, memory: &FragmentMemory) -> Result<String, RenderError> {
    let FragmentMemory { pointer, stride, transposed, .. } = memory;
    let (space, element) = (space(memory), element(fragment.dtype()));
    Ok(format!("simdgroup_load({to}, (const {space} {element}*)({pointer}), (ulong){stride}, ulong2(0, 0), {transposed});"))
}

fn store(_: &mut Writer<'_>, (_, fragment): (Value, Fragment), value: &str, memory: &FragmentMemory) -> Result<String, RenderError> {
    let FragmentMemory { pointer, stride, .. } = memory;
    let (space, element) = (space(memory), element(fragment.dtype()));
    Ok(format!("simdgroup_store({value}, ({space} {element}*)({pointer}), (ulong){stride}, ulong2(0, 0), false);"))
}

fn multiply(_: &mut Writer<'_>, _: Value, [to, a, b, c]: [&str; 4]) -> Result<String, RenderError> {
    Ok(format!("simdgroup_multiply_accumulate({to}, {a}, {b}, {c});"))
}
