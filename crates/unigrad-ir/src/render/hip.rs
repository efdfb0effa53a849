//! HIP C++, as hiprtc takes it; and clang without any header or library of ROCm, because the text names the compiler's builtins itself.
//!
//! Matrix fragments are MFMA on gfx9 (a wave is 64 threads) and WMMA on gfx11 (32 threads). Which thread holds which element is in AMD's
//! "matrix instruction calculator"; loads and stores go element by element.

use super::{
    RenderError,
    clike::{C_LIKE, FragmentMemory, Fragments, Language, Params, Shuffles, Tables, Vectors, Writer},
};
use crate::{AtomicOp, Dialect, Fragment, FragmentRole, FragmentShape, Target, Value};
use unigrad_scalar::DType;

pub(super) const HIP: Language = Language {
    dialect: Dialect::Hip,
    header: "#pragma clang fp contract(off)\n",
    function: "static __attribute__((device, always_inline)) inline",
    entry: "extern \"C\" __attribute__((global, amdgpu_flat_work_group_size({i}, {i}))) void {n}",
    params: Params {
        read: "const {t}* __restrict__ {n}",
        write: "{t}* __restrict__ {n}",
        atomic: "{t}* {n}",
        scalar: "const {t} {n}",
        begin: "",
        tables: Tables::Struct("const {t} {n}"),
        builtin: "",
    },
    shared: "__attribute__((shared, aligned(16))) {t} {n}[{i}];",
    // Clang keeps arrays of structs with arrays in memory, those of vectors in registers.
    vectors: Vectors::Struct { align: "__attribute__((aligned({i})))", array: "{t} v __attribute__((vector_size({i})))" },
    thread: "__builtin_amdgcn_workitem_id_{a}()",
    group: "__builtin_amdgcn_workgroup_id_{a}()",
    group_count: "__builtin_amdgcn_grid_size_{a}() / {b}u",
    barrier: "__builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\"); __builtin_amdgcn_s_barrier(); \
              __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");",
    math: ["__ocml_{n}_f32", "__ocml_{n}_f64"],
    math_declare: "extern \"C\" __attribute__((device, const)) {t} {n}({p});\n",
    natives: &[
        ("fabs", "__builtin_fabsf", "__builtin_fabs"),
        ("floor", "__builtin_floorf", "__builtin_floor"),
        ("ceil", "__builtin_ceilf", "__builtin_ceil"),
        ("rint", "__builtin_rintf", "__builtin_rint"),
        ("trunc", "__builtin_truncf", "__builtin_trunc"),
        ("fma", "__builtin_fmaf", "__builtin_fma"),
        ("copysign", "__builtin_copysignf", "__builtin_copysign"),
    ],
    helpers: &[
        ("bits", "$fn $U $N($T x) {\n    return __builtin_bit_cast($U, x);\n}\n"),
        ("from_bits", "$fn $T $N($U x) {\n    return __builtin_bit_cast($T, x);\n}\n"),
        ("f16_to_f32", "$fn f32 $N(u16 x) {\n    return (f32)__builtin_bit_cast(_Float16, x);\n}\n"),
        ("f32_to_f16", "$fn u16 $N(f32 x) {\n    return __builtin_bit_cast(u16, (_Float16)x);\n}\n"),
        ("lane", "$fn u32 $N() {\n    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));\n}\n"),
        ("shuffle", "$fn u32 $N(u32 x, u32 lane) {\n    return (u32)__builtin_amdgcn_ds_bpermute((i32)(lane << 2), (i32)x);\n}\n"),
        (
            "cas",
            "$fn $T $N($T* p, $T expected, $T value) {
    __hip_atomic_compare_exchange_strong(p, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    return expected;
}
",
        ),
    ],
    atomics: &[
        (AtomicOp::Add, "__hip_atomic_fetch_add(({t}*)({p}), {v}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)", "="),
        (AtomicOp::Max, "__hip_atomic_fetch_max(({t}*)({p}), {v}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)", "="),
        (AtomicOp::Min, "__hip_atomic_fetch_min(({t}*)({p}), {v}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)", "="),
        (AtomicOp::And, "__hip_atomic_fetch_and(({t}*)({p}), {v}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)", "="),
        (AtomicOp::Or, "__hip_atomic_fetch_or(({t}*)({p}), {v}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)", "="),
        (AtomicOp::Xor, "__hip_atomic_fetch_xor(({t}*)({p}), {v}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)", "="),
        (AtomicOp::Exchange, "__hip_atomic_exchange(({t}*)({p}), {v}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)", "="),
    ],
    compare_exchange: ["$cas(({t}*)({p}), {e}, {v})", "="],
    atomic_add_f32: "__hip_atomic_fetch_add({p}, {v}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
    atomic_load: "__hip_atomic_load(({t}*)({p}), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
    atomic_store: "__hip_atomic_store(({t}*)({p}), {v}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
    shuffles: Some(Shuffles {
        xor: "$shuffle({v}, $lane() ^ {n})",
        down: "$shuffle({v}, $lane() + {n})",
        up: "$shuffle({v}, $lane() - {n})",
        index: "$shuffle({v}, {n})",
    }),
    fragments: Some(Fragments { declare, fill, load, store, multiply }),
    ..C_LIKE
};

/// The family of matrix instructions.
#[derive(Clone, Copy, PartialEq)]
enum Matrix {
    /// 64 threads; each holds 4 elements next to each other along k (1 of `f32`).
    Mfma,
    /// 32 threads; each half holds all of the factors.
    Wmma,
}

fn family(target: &Target, shape: FragmentShape) -> Option<Matrix> {
    let FragmentShape { m: 16, n: 16, k, input, sum: DType::F32 } = shape else { return None };
    let arch = target.arch.split(':').next().unwrap_or_default();
    let (mfma, wmma) = (arch.starts_with("gfx90") || arch.starts_with("gfx94") || arch.starts_with("gfx95"), arch.starts_with("gfx11"));
    match (input, k) {
        (DType::F16, 16) if mfma && arch != "gfx900" && arch != "gfx906" => Some(Matrix::Mfma),
        (DType::BF16, 16) if mfma && !matches!(arch, "gfx900" | "gfx906" | "gfx908") => Some(Matrix::Mfma),
        (DType::F32, 4) if mfma && arch != "gfx900" && arch != "gfx906" => Some(Matrix::Mfma),
        (DType::F16 | DType::BF16, 16) if wmma => Some(Matrix::Wmma),
        _ => None,
    }
}

/// Elements that a thread holds.
fn held(matrix: Matrix, fragment: Fragment) -> usize {
    match (matrix, fragment.role, fragment.shape.input) {
        (Matrix::Mfma, FragmentRole::C, _) => 4,
        (Matrix::Mfma, _, DType::F32) => 1,
        (Matrix::Mfma, ..) => 4,
        (Matrix::Wmma, FragmentRole::C, _) => 8,
        (Matrix::Wmma, ..) => 16,
    }
}

/// Row and column of a thread's element `j`; `l` is its lane.
fn position(matrix: Matrix, fragment: Fragment, j: usize) -> (String, String) {
    let across = "l % 16u".to_owned();
    let along = match (matrix, fragment.role) {
        (Matrix::Mfma, _) => format!("{}u * (l / 16u) + {j}u", held(matrix, fragment)),
        (Matrix::Wmma, FragmentRole::C) => format!("{}u + l / 16u", 2 * j),
        (Matrix::Wmma, _) => format!("{j}u"),
    };
    if fragment.role == FragmentRole::A { (across, along) } else { (along, across) }
}

/// [`family`] of a value.
fn family_of(writer: &Writer<'_>, at: Value, shape: FragmentShape) -> Result<Matrix, RenderError> {
    family(writer.target, shape).ok_or_else(|| RenderError {
        dialect: Dialect::Hip,
        program: writer.program.name.clone(),
        at: Some(at),
        cause: format!("a matrix instruction {}x{}x{} of {} on {}", shape.m, shape.n, shape.k, shape.input, writer.target.arch),
        help: "use 16x16x16 of f16 or bf16 (gfx90a, gfx94x, gfx11), or 16x16x4 of f32 (gfx90a, gfx94x)".to_owned(),
    })
}

fn declare(writer: &mut Writer<'_>, at: Value, fragment: Fragment) -> Result<String, RenderError> {
    let matrix = family_of(writer, at, fragment.shape)?;
    let element = if fragment.dtype() == DType::F32 { "f32" } else { "u16" };
    let count = held(matrix, fragment);
    let name = format!("ug_fragment_{element}x{count}");
    writer.prelude(&name, format!("struct {name} {{ {element} r[{count}]; }};\n"));
    Ok(name)
}

fn fill(writer: &mut Writer<'_>, (at, fragment): (Value, Fragment), to: &str, value: &str) -> Result<String, RenderError> {
    let count = held(family_of(writer, at, fragment.shape)?, fragment);
    let words: Vec<String> = (0..count).map(|j| format!("{to}.r[{j}] = {value};")).collect();
    Ok(words.join(" "))
}

/// Statements between `name.r[j]` and the element's place in memory.
fn each(
    writer: &mut Writer<'_>,
    (at, fragment): (Value, Fragment),
    memory: &FragmentMemory,
    element: impl Fn(usize, String) -> String,
) -> Result<String, RenderError> {
    let matrix = family_of(writer, at, fragment.shape)?;
    let lane = writer.function("lane", DType::U32);
    let moves: Vec<String> = (0..held(matrix, fragment))
        .map(|j| {
            let (row, column) = position(matrix, fragment, j);
            let (far, near) = if memory.transposed { (column, row) } else { (row, column) };
            element(j, format!("({})[({far}) * {} + {near}]", memory.pointer, memory.stride))
        })
        .collect();
    Ok(format!("{{ const u32 l = {lane}(); {} }}", moves.join(" ")))
}

fn load(writer: &mut Writer<'_>, fragment: (Value, Fragment), to: &str, memory: &FragmentMemory) -> Result<String, RenderError> {
    each(writer, fragment, memory, |j, place| format!("{to}.r[{j}] = {place};"))
}

fn store(writer: &mut Writer<'_>, fragment: (Value, Fragment), value: &str, memory: &FragmentMemory) -> Result<String, RenderError> {
    each(writer, fragment, memory, |j, place| format!("{place} = {value}.r[{j}];"))
}

fn multiply(writer: &mut Writer<'_>, at: Value, [to, a, b, c]: [&str; 4]) -> Result<String, RenderError> {
    let crate::Type::Fragment(sum) = writer.program.ty(at) else {
        let (cause, help) = ("a product of fragments that is none".to_owned(), "validate the program first".to_owned());
        return Err(RenderError { dialect: Dialect::Hip, program: writer.program.name.clone(), at: Some(at), cause, help });
    };
    let matrix = family_of(writer, at, sum.shape)?;
    let count = held(matrix, Fragment { shape: sum.shape, role: FragmentRole::A });
    let (element, builtin) = match (matrix, sum.shape.input) {
        (Matrix::Mfma, DType::F16) => ("_Float16", "mfma_f32_16x16x16f16"),
        (Matrix::Mfma, DType::BF16) => ("short", "mfma_f32_16x16x16bf16_1k"),
        (Matrix::Mfma, _) => ("float", "mfma_f32_16x16x4f32"),
        (Matrix::Wmma, DType::F16) => ("_Float16", "wmma_f32_16x16x16_f16_w32"),
        (Matrix::Wmma, _) => ("short", "wmma_f32_16x16x16_bf16_w32"),
    };
    let sums = held(matrix, sum);
    let mut vector = |element: &str, count: usize| {
        let name = format!("ug_{element}_{count}");
        writer.prelude(&name, format!("typedef {element} {name} __attribute__((ext_vector_type({count})));\n"));
        name
    };
    let sum_vector = vector("float", sums);
    let factors = if count == 1 {
        format!("{a}.r[0], {b}.r[0]")
    } else {
        let factor = vector(element, count);
        format!("__builtin_bit_cast({factor}, {a}), __builtin_bit_cast({factor}, {b})")
    };
    let flags = if matrix == Matrix::Mfma { ", 0, 0, 0" } else { "" };
    let ty = format!("ug_fragment_f32x{sums}");
    Ok(format!("{to} = __builtin_bit_cast({ty}, __builtin_amdgcn_{builtin}({factors}, __builtin_bit_cast({sum_vector}, {c}){flags}));"))
}
