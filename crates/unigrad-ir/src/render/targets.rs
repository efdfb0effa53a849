//! Devices that a machine without them can render and compile for.

use crate::{Dialect, FragmentShape, Target};
use unigrad_scalar::DType;

fn shape([m, n, k]: [u8; 3], input: DType) -> FragmentShape {
    FragmentShape { m, n, k, input, sum: DType::F32 }
}

/// One target for each generation of devices whose texts differ, as a driver would describe it: what programs are compiled for where no such
/// device is. Architectures have the compilers' names; those of Metal and WebGPU are empty.
pub fn offline_targets() -> Vec<Target> {
    let base = Target { shared_bytes: 64 << 10, compute_units: 80, max_buffers: 256, fragments: Vec::new(), ..Target::interpreter() };
    let cuda = |arch: &str, shared_bytes, fragments| Target {
        dialect: Dialect::Cuda,
        arch: arch.to_owned(),
        shared_bytes,
        fragments,
        ..base.clone()
    };
    let f16 = shape([16, 16, 16], DType::F16);
    let ampere = vec![f16, shape([16, 16, 16], DType::BF16), shape([16, 16, 8], DType::F32)];
    let hip = |arch: &str, subgroup, fragments| Target {
        dialect: Dialect::Hip,
        arch: arch.to_owned(),
        subgroup: Some(subgroup),
        fragments,
        ..base.clone()
    };
    let halves = vec![f16, shape([16, 16, 16], DType::BF16)];
    vec![
        cuda("sm_75", 64 << 10, vec![f16]),
        cuda("sm_80", 163 << 10, ampere.clone()),
        cuda("sm_90", 227 << 10, ampere.clone()),
        cuda("sm_100", 227 << 10, ampere),
        hip("gfx90a", 64, [halves.clone(), vec![shape([16, 16, 4], DType::F32)]].concat()),
        hip("gfx1100", 32, halves),
        Target {
            dialect: Dialect::Msl,
            shared_bytes: 32 << 10,
            max_buffers: 28,
            f64: false,
            atomic_i64: false,
            tables: false,
            fragments: [DType::F16, DType::BF16, DType::F32].map(|input| shape([8, 8, 8], input)).to_vec(),
            ..base
        },
        // What WebGPU promises everywhere.
        Target {
            dialect: Dialect::Wgsl,
            max_threads: 256,
            max_grid: [65_535; 3],
            shared_bytes: 16 << 10,
            subgroup: None,
            max_buffers: 8,
            f64: false,
            i64: false,
            f16: false,
            atomic_i64: false,
            tables: false,
            ..Target::interpreter()
        },
    ]
}
