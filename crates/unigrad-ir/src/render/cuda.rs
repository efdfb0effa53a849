//! CUDA C++, as NVRTC takes it without any header.
//!
//! Matrix fragments are `wmma` instructions in inline PTX: <https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions>.

use super::{
    RenderError,
    clike::{C_LIKE, FragmentMemory, Fragments, Language, Params, PrefetchWords, Shuffles, Tables, Vectors, Writer},
};
use crate::{AtomicOp, Dialect, Fragment, FragmentRole, FragmentShape, Op, Target, Value};
use unigrad_scalar::DType;

pub(super) const CUDA: Language = Language {
    dialect: Dialect::Cuda,
    // Fused multiply-adds only where the program says so.
    options: &["-fmad=false"],
    function: "static __device__ __forceinline__",
    entry: "extern \"C\" __global__ void __launch_bounds__({i}) {c}{n}",
    params: Params {
        read: "const {t}* __restrict__ {n}",
        write: "{t}* __restrict__ {n}",
        atomic: "{t}* {n}",
        scalar: "const {t} {n}",
        begin: "",
        tables: Tables::Struct("const __grid_constant__ {t} {n}"),
        builtin: "",
    },
    shared: "__shared__ __align__(16) {t} {n}[{i}];",
    shared_limit: 48 << 10,
    shared_dynamic: "extern __shared__ __align__(16) unsigned char ug_shared[];",
    vectors: Vectors::Struct { align: "__align__({i})", array: "{t} v[{n}]" },
    natives: &[("bits", "__float_as_uint", "__double_as_longlong"), ("from_bits", "__uint_as_float", "__longlong_as_double")],
    approx_exp2: "approx_exp2",
    // C's has branches, so that a thread would do those of several elements one after the other.
    lacks: &["tanh"],
    helpers: &[
        // As `1 - 2 / (e^2|x| + 1)`; below 0.6, where that loses digits, a polynomial. Within 3 units in the last place.
        (
            "tanh_f32",
            "$fn f32 $N(f32 x) {
    const f32 a = $fabs(x), square = x * x;
    f32 e, q;
    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(e) : \"f\"(a * 2.88539008f));
    asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(q) : \"f\"(e + 1.0f));
    const f32 far = $copysign($fma(q, -2.0f, 1.0f), x);
    f32 p = $fma(square, 0.015612613f, -0.05221179f);
    p = $fma(square, p, 0.13313116f);
    p = $fma(square, p, -0.33332598f);
    return a < 0.6f ? $fma(square * p, x, x) : far;
}
",
        ),
        // Division has a branch of its own for what is very small or large.
        (
            "ratio_f32",
            "$fn f32 $N(f32 a, f32 b) {
    f32 r;
    asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(b));
    return a * $fma($fma(-b, r, 1.0f), r, r);
}
",
        ),
        ("tanh_f64", "$fn f64 $N(f64 x) {\n    return tanh(x);\n}\n"),
        (
            "approx_exp2",
            "$fn f32 $N(f32 x) {\n    f32 r;\n    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(x));\n    return r;\n}\n",
        ),
        ("f16_to_f32", "$fn f32 $N(u16 x) {\n    f32 r;\n    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(x));\n    return r;\n}\n"),
        ("f32_to_f16", "$fn u16 $N(f32 x) {\n    u16 r;\n    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(x));\n    return r;\n}\n"),
    ],
    helpers_for: SINCE_SM_80,
    wait: |target| if compute_capability(target) >= 90 { WAIT } else { &[] },
    at_once: true,
    cluster: "__cluster_dims__({i}, 1, 1) ",
    tensor_map: Some([TENSOR_MAP, "const __grid_constant__ ug_tensor_map ug_map{i}"]),
    prefetch: Some(PrefetchWords { line: 128, text: PREFETCH }),
    atomics: &[
        (AtomicOp::Add, "atomicAdd(({t}*)({p}), {v})", "="),
        (AtomicOp::Max, "atomicMax(({t}*)({p}), {v})", "="),
        (AtomicOp::Min, "atomicMin(({t}*)({p}), {v})", "="),
        (AtomicOp::And, "atomicAnd(({t}*)({p}), {v})", "="),
        (AtomicOp::Or, "atomicOr(({t}*)({p}), {v})", "="),
        (AtomicOp::Xor, "atomicXor(({t}*)({p}), {v})", "="),
        (AtomicOp::Exchange, "atomicExch(({t}*)({p}), {v})", "="),
    ],
    compare_exchange: ["atomicCAS(({t}*)({p}), {e}, {v})", "="],
    atomic_add_f32: "atomicAdd({p}, {v})",
    shuffles: Some(Shuffles {
        xor: "__shfl_xor_sync(0xffffffffu, {v}, {n})",
        down: "__shfl_down_sync(0xffffffffu, {v}, {n})",
        up: "__shfl_up_sync(0xffffffffu, {v}, {n})",
        index: "__shfl_sync(0xffffffffu, {v}, {n})",
    }),
    fragments: Some(Fragments { declare, fill, load, store, multiply }),
    ..C_LIKE
};

/// What newer hardware has instructions for.
pub(super) const SINCE_SM_80: fn(&Target) -> &'static [(&'static str, &'static str)] =
    |target| if compute_capability(target) >= 80 { SM_80 } else { &[] };

/// What compute capability 8.0 has an instruction for.
const SM_80: &[(&str, &str)] = &[
    ("f32_to_bf16", "$fn u16 $N(f32 x) {\n    u16 r;\n    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(x));\n    return r;\n}\n"),
    (
        "max_f32",
        "$fn f32 $N(f32 a, f32 b) {\n    f32 r;\n    asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n    return r;\n}\n",
    ),
    (
        "min_f32",
        "$fn f32 $N(f32 a, f32 b) {\n    f32 r;\n    asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n    return r;\n}\n",
    ),
];

/// Programmatic dependent launch: the program ahead has ended and its memory is there; see "griddepcontrol" in the specification of PTX. No program lets
/// the next one begin before its own groups have ended: groups that come while others run are not spread over the device, so that a program of
/// few groups had two or more of them on one multiprocessor, and none on others (a network of three layers took 0.130 ms a step instead of 0.094).
const WAIT: &[&str] = &["asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");"];

/// As large as the driver's `CUtensorMap`, and aligned as it.
const TENSOR_MAP: &str = "struct __align__(64) ug_tensor_map { u64 words[16]; };\n";

/// Brings memory to the second-level cache, which all writes pass: so it may be asked for before the program ahead has written it.
const PREFETCH: &str = "for (u32 i = threadIdx.x; i < {all}; i += {threads}) { const u64 row = (u64)blockIdx.x * {rows} + i / {lines}; \
    if (row < {count}) asm volatile(\"prefetch.global.L2 [%0];\" :: \"l\"((const char*){p} + row * {pitch} + i % {lines} * {line})); }";

/// 90 for `sm_90` and `sm_90a`.
fn compute_capability(target: &Target) -> u32 {
    let digits: String = target.arch.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// 32-bit registers of a fragment, and its element type in PTX. `None` where `wmma` has no such shape.
fn registers(fragment: Fragment) -> Option<(usize, &'static str)> {
    let FragmentShape { m, n, k, input, sum } = fragment.shape;
    let is_tile = matches!((m, n, k), (16, 16, 16) | (8, 32, 16) | (32, 8, 16));
    let whole = match (input, sum) {
        (DType::F16, DType::F32 | DType::F16) | (DType::BF16, DType::F32) => is_tile,
        (DType::F32, DType::F32) => (m, n, k) == (16, 16, 8),
        _ => false,
    };
    let (rows, columns) = fragment.size();
    // Fragments of `f16` factors hold every element twice.
    Some(match (whole, fragment.role, fragment.dtype()) {
        (false, ..) => return None,
        (_, FragmentRole::C, DType::F32) => (8, "f32"),
        (_, FragmentRole::C, _) => (4, "f16"),
        (_, _, DType::F16) => (8, "f16"),
        (_, _, DType::BF16) => (rows * columns / 64, "bf16"),
        _ => (rows * columns / 32, "tf32"),
    })
}

fn shape_name(shape: FragmentShape) -> String {
    format!("m{}n{}k{}", shape.m, shape.n, shape.k)
}

fn role_name(role: FragmentRole) -> &'static str {
    match role {
        FragmentRole::A => "a",
        FragmentRole::B => "b",
        FragmentRole::C => "c",
    }
}

fn no_words(writer: &Writer<'_>, at: Value, fragment: Fragment) -> RenderError {
    RenderError {
        dialect: writer.target.dialect,
        program: writer.program.name.clone(),
        at: Some(at),
        cause: format!("wmma of {} {} on {}", shape_name(fragment.shape), fragment.shape.input, writer.target.arch),
        help: "use m16n16k16 of f16 (sm_70) or bf16 (sm_80), or m16n16k8 of f32 (sm_80)".to_owned(),
    }
}

/// [`registers`] of a value.
fn registers_of(writer: &Writer<'_>, at: Value, fragment: Fragment) -> Result<(usize, &'static str), RenderError> {
    registers(fragment).ok_or_else(|| no_words(writer, at, fragment))
}

pub(super) fn declare(writer: &mut Writer<'_>, at: Value, fragment: Fragment) -> Result<String, RenderError> {
    let needed = if fragment.shape.input == DType::F16 { 70 } else { 80 };
    if compute_capability(writer.target) < needed {
        return Err(no_words(writer, at, fragment));
    }
    let (count, element) = registers_of(writer, at, fragment)?;
    let name = format!("ug_{}_{}_{element}", role_name(fragment.role), shape_name(fragment.shape));
    let register = if element == "f32" { "f32" } else { "u32" };
    writer.prelude(&name, format!("typedef struct {{ {register} r[{count}]; }} {name};\n"));
    Ok(name)
}

/// `{%0, %1, …}` from the `first` operand on.
fn operands(first: usize, count: usize) -> String {
    let list: Vec<String> = (first..first + count).map(|i| format!("%{i}")).collect();
    format!("{{{}}}", list.join(", "))
}

/// `"=f"(x.r[0]), …`
fn constraints((count, element): (usize, &str), name: &str, output: &str) -> String {
    let letter = if element == "f32" { "f" } else { "r" };
    let list: Vec<String> = (0..count).map(|i| format!("\"{output}{letter}\"({name}.r[{i}])")).collect();
    list.join(", ")
}

pub(super) fn fill(writer: &mut Writer<'_>, (at, fragment): (Value, Fragment), to: &str, value: &str) -> Result<String, RenderError> {
    let (count, element) = registers_of(writer, at, fragment)?;
    let word = match element {
        "f32" => value.to_owned(),
        "tf32" => writer.bits(value, DType::F32),
        _ => format!("(u32){value} * 0x10001u"),
    };
    let words: Vec<String> = (0..count).map(|i| format!("{to}.r[{i}] = {word};")).collect();
    Ok(words.join(" "))
}

/// The address operand and the state space that go with it.
fn address(writer: &Writer<'_>, memory: &FragmentMemory) -> (&'static str, String) {
    let pointer = &memory.pointer;
    match (writer.target.dialect, memory.shared) {
        (Dialect::Cuda, true) => (".shared", format!("\"r\"((u32)__cvta_generic_to_shared({pointer}))")),
        (Dialect::Cuda, false) => (".global", format!("\"l\"(__cvta_generic_to_global({pointer}))")),
        // Pointers are of their space already.
        (_, true) => (".shared", format!("\"r\"((u32)(u64)({pointer}))")),
        (_, false) => (".global", format!("\"l\"((u64)({pointer}))")),
    }
}

pub(super) fn load(
    writer: &mut Writer<'_>,
    (at, fragment): (Value, Fragment),
    to: &str,
    memory: &FragmentMemory,
) -> Result<String, RenderError> {
    let (count, element) = registers_of(writer, at, fragment)?;
    let (space, pointer) = address(writer, memory);
    let layout = if memory.transposed { "col" } else { "row" };
    let (role, shape) = (role_name(fragment.role), shape_name(fragment.shape));
    let mut text = format!(
        "asm volatile(\"wmma.load.{role}.sync.aligned.{layout}.{shape}{space}.{element} {}, [%{count}], %{};\" : {} : {pointer}, \"r\"((u32){}) : \"memory\");",
        operands(0, count),
        count + 1,
        constraints((count, element), to, "="),
        memory.stride,
    );
    if element == "tf32" {
        for i in 0..count {
            let register = format!("{to}.r[{i}]");
            let number = writer.float_of_bits(&register, DType::F32);
            text.push_str(&format!(" asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"({register}) : \"f\"({number}));"));
        }
    }
    Ok(text)
}

pub(super) fn store(
    writer: &mut Writer<'_>,
    (at, fragment): (Value, Fragment),
    value: &str,
    memory: &FragmentMemory,
) -> Result<String, RenderError> {
    let (count, element) = registers_of(writer, at, fragment)?;
    let (space, pointer) = address(writer, memory);
    Ok(format!(
        "asm volatile(\"wmma.store.d.sync.aligned.row.{}{space}.{element} [%0], {}, %{};\" : : {pointer}, {}, \"r\"((u32){}) : \"memory\");",
        shape_name(fragment.shape),
        operands(1, count),
        count + 1,
        constraints((count, element), value, ""),
        memory.stride,
    ))
}

pub(super) fn multiply(writer: &mut Writer<'_>, at: Value, [to, a, b, c]: [&str; 4]) -> Result<String, RenderError> {
    let (Op::FragmentMma(left, right, _), crate::Type::Fragment(sum)) = (&writer.program.insts[at.index()].op, writer.program.ty(at))
    else {
        let (dialect, program) = (writer.target.dialect, writer.program.name.clone());
        let (cause, help) = ("a product of fragments that is none".to_owned(), "validate the program first".to_owned());
        return Err(RenderError { dialect, program, at: Some(at), cause, help });
    };
    let of = |role| registers_of(writer, at, Fragment { shape: sum.shape, role });
    let (sums, first, second) = (of(FragmentRole::C)?, of(FragmentRole::A)?, of(FragmentRole::B)?);
    let counts = [sums.0, first.0, second.0];
    let layout = |value: Value| if writer.is_transposed(value) { "col" } else { "row" };
    let sum_type = sum.shape.sum.name();
    let types = match sum.shape.input {
        DType::F16 => format!("{sum_type}.{sum_type}"),
        DType::BF16 => "f32.bf16.bf16.f32".to_owned(),
        DType::F32 => "f32.tf32.tf32.f32".to_owned(),
        DType::Bool
        | DType::U8
        | DType::I8
        | DType::U16
        | DType::I16
        | DType::U32
        | DType::I32
        | DType::U64
        | DType::I64
        | DType::F64
        | DType::F8E4M3
        | DType::F8E5M2 => return Err(no_words(writer, at, sum)),
    };
    let starts = [0, counts[0], counts[0] + counts[1], counts[0] + counts[1] + counts[2]];
    Ok(format!(
        "asm(\"wmma.mma.sync.aligned.{}.{}.{}.{types} {}, {}, {}, {};\" : {} : {}, {}, {});",
        layout(*left),
        layout(*right),
        shape_name(sum.shape),
        operands(starts[0], counts[0]),
        operands(starts[1], counts[1]),
        operands(starts[2], counts[2]),
        operands(starts[3], counts[0]),
        constraints(sums, to, "="),
        constraints(first, a, ""),
        constraints(second, b, ""),
        constraints(sums, c, ""),
    ))
}
