//! OpenCL C 1.2 and newer.
//!
//! Each buffer is two arguments: the memory object, and the first element in it as a `ulong`. A launch passes parts of memory objects, and
//! sub-buffers begin only at multiples of the device's address alignment. Each entry of a table is passed like a parameter of its own.

use super::{
    clike::{C_LIKE, Fragments, Language, Params, Shuffles, Spaces, Tables, Vectors},
    cuda::{self, SINCE_SM_80},
};
use crate::{AtomicOp, Dialect, Target};
use unigrad_scalar::DType;

/// A shuffle of `u32` in PTX, of the given mode; the last operand bounds the lanes.
macro_rules! ptx_shuffle {
    ($mode:literal, $bound:literal) => {
        concat!(
            "$fn u32 $N(u32 x, u32 n) {\n    u32 r;\n    asm volatile(\"shfl.sync.",
            $mode,
            ".b32 %0, %1, %2, ",
            $bound,
            ", 0xffffffff;\" : \"=r\"(r) : \"r\"(x), \"r\"(n));\n    return r;\n}\n"
        )
    };
}

const HALVES: &[(&str, &str)] = &[
    ("f16_to_f32", "$fn f32 $N(u16 x) {\n    return vload_half(0, (const __private half*)&x);\n}\n"),
    ("f32_to_f16", "$fn u16 $N(f32 x) {\n    u16 r;\n    vstore_half_rte(x, 0, (__private half*)&r);\n    return r;\n}\n"),
];

pub(super) const OPENCL: Language = Language {
    dialect: Dialect::OpenCl,
    header: "#pragma OPENCL FP_CONTRACT OFF\n",
    options: &["-cl-std=CL1.2"],
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
        (DType::F64, "double"),
    ],
    function: "static",
    entry: "__kernel __attribute__((reqd_work_group_size({x}, {y}, {z}))) void {n}",
    params: Params {
        read: "__global const {t}* restrict {n}, const ulong {n}_first",
        write: "__global {t}* restrict {n}, const ulong {n}_first",
        atomic: "__global {t}* {n}, const ulong {n}_first",
        scalar: "const {t} {n}",
        begin: "{n} += {n}_first;",
        tables: Tables::Arguments {
            read: "__global const {t}* {n}, const ulong {n}_first",
            write: "__global {t}* {n}, const ulong {n}_first",
            begins: "({n} + {n}_first)",
            number: "const {t} {n}",
        },
        builtin: "",
    },
    spaces: Spaces { global: "__global ", shared: "__local ", private: "__private " },
    shared: "__local {t} {n}[{i}] __attribute__((aligned(16)));",
    vectors: Vectors::Native,
    axes: ["0", "1", "2"],
    thread: "(u32)get_local_id({a})",
    group: "(u32)get_group_id({a})",
    group_count: "(u32)get_num_groups({a})",
    barrier: "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    math: ["{n}", "{n}"],
    natives: &[("bits", "as_uint", "as_ulong"), ("from_bits", "as_float", "as_double")],
    helpers: HALVES,
    atomics: &[
        (AtomicOp::Add, "atomic_add((volatile {s}{t}*)({p}), {v})", "atom_add((volatile {s}{t}*)({p}), {v})"),
        (AtomicOp::Max, "atomic_max((volatile {s}{t}*)({p}), {v})", "atom_max((volatile {s}{t}*)({p}), {v})"),
        (AtomicOp::Min, "atomic_min((volatile {s}{t}*)({p}), {v})", "atom_min((volatile {s}{t}*)({p}), {v})"),
        (AtomicOp::And, "atomic_and((volatile {s}{t}*)({p}), {v})", "atom_and((volatile {s}{t}*)({p}), {v})"),
        (AtomicOp::Or, "atomic_or((volatile {s}{t}*)({p}), {v})", "atom_or((volatile {s}{t}*)({p}), {v})"),
        (AtomicOp::Xor, "atomic_xor((volatile {s}{t}*)({p}), {v})", "atom_xor((volatile {s}{t}*)({p}), {v})"),
        (AtomicOp::Exchange, "atomic_xchg((volatile {s}{t}*)({p}), {v})", "atom_xchg((volatile {s}{t}*)({p}), {v})"),
    ],
    compare_exchange: ["atomic_cmpxchg((volatile {s}{t}*)({p}), {e}, {v})", "atom_cmpxchg((volatile {s}{t}*)({p}), {e}, {v})"],
    atomic_64_header: "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n\
                       #pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n",
    f64_header: "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    subgroup_header: "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n\
                      #pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable\n\
                      #pragma OPENCL EXTENSION cl_khr_subgroup_shuffle_relative : enable\n",
    shuffles: Some(Shuffles {
        xor: "sub_group_shuffle_xor({v}, {n})",
        down: "sub_group_shuffle_down({v}, {n})",
        up: "sub_group_shuffle_up({v}, {n})",
        index: "sub_group_shuffle({v}, {n})",
    }),
    ..C_LIKE
};

/// On GPUs whose compiler takes words of PTX (their architecture is `sm_70` or newer, and the driver has tried it): shuffles, which OpenCL C has
/// only as extensions that this vendor does not offer, the conversions that the hardware has, and matrix fragments.
pub(super) const OPENCL_PTX: Language = Language {
    helpers: &[
        HALVES[0],
        HALVES[1],
        ("shuffle_xor", ptx_shuffle!("bfly", "0x1f")),
        ("shuffle_down", ptx_shuffle!("down", "0x1f")),
        ("shuffle_up", ptx_shuffle!("up", "0x0")),
        ("shuffle", ptx_shuffle!("idx", "0x1f")),
    ],
    helpers_for: SINCE_SM_80,
    subgroup_header: "",
    shuffles: Some(Shuffles {
        xor: "$shuffle_xor({v}, {n})",
        down: "$shuffle_down({v}, {n})",
        up: "$shuffle_up({v}, {n})",
        index: "$shuffle({v}, {n})",
    }),
    fragments: Some(Fragments { declare: cuda::declare, fill: cuda::fill, load: cuda::load, store: cuda::store, multiply: cuda::multiply }),
    ..OPENCL
};

/// Whether a target's compiler takes words of PTX.
pub(super) fn takes_ptx(target: &Target) -> bool {
    target.arch.starts_with("sm_") && target.subgroup == Some(32)
}
