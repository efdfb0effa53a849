//! Products of half types on NVIDIA Hopper: warpgroup matrix instructions on operands in shared memory.
//!
//! Each of two warpgroups has 64 rows of a tile. Stage `t` is multiplied while those up to `t + stages - 2` are on their way. One barrier per
//! stage: it follows the wait for the copies of stage `t`, and the wait of all warpgroups for the multiplication of stage `t - 2`, whose memory
//! the next copies overwrite. The instructions and their operands' layouts: <https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions>.

use super::copies::{BK, Loop, architecture};
use super::made::{Pieces, Statements};
use std::fmt::Write;
use unigrad_ir::{Dialect, Place, Raw, Target, Value};

/// Whether a target has these instructions.
pub(in crate::lower) fn available(target: &Target) -> bool {
    architecture(target) == Some(90)
}

/// The loop as a statement. Places: `a`, `b`, shared memory, the array of sums (floats). Values: the tile's first row and first column, the
/// batch item's first element of `a` and of `b`, the part's first `k`.
pub(in crate::lower) fn statement(l: &Loop, values: [Value; 5], places: [Place; 4]) -> Raw {
    Raw {
        texts: vec![(Dialect::Cuda, l.whole(&pieces(l)))],
        preludes: preludes(l).map(|text| (Dialect::Cuda, text)).to_vec(),
        values: values.to_vec(),
        places: places.to_vec(),
    }
}

/// The loop as statements, for operands that the threads make.
pub(in crate::lower) fn statements(l: &Loop, values: [Value; 5], places: [Place; 4]) -> Statements {
    Statements::new(pieces(l), &preludes(l), values, places)
}

fn preludes(l: &Loop) -> [String; 3] {
    [Loop::copy_prelude().to_owned(), MATRIX.to_owned(), prelude(l)]
}

/// Describes a matrix in shared memory to an instruction.
pub(super) const MATRIX: &str = r#"static __device__ __forceinline__ unsigned long long ug_matrix(unsigned at, unsigned lanes_step, unsigned step) {
  return (unsigned long long)((at & 0x3ffff) >> 4) | (unsigned long long)(lanes_step >> 4) << 16 | (unsigned long long)(step >> 4) << 32 | 1ull << 62;
}
"#;

fn prelude(l: &Loop) -> String {
    let (n, sums, half) = (l.b.tile, l.sums(), l.half());
    let registers = (0..sums).map(|i| format!("%{i}")).collect::<Vec<_>>().join(", ");
    let operands = (0..sums).map(|i| format!("\"+f\"(d[{i}])")).collect::<Vec<_>>().join(", ");
    let (a, b, scale) = (sums, sums + 1, sums + 2);
    let (ta, tb) = (u32::from(!l.a.k_major), u32::from(!l.b.k_major));
    format!(
        r#"static __device__ __forceinline__ void ug_multiply(float* d, unsigned long long a, unsigned long long b, int add) {{
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{scale}, 0; wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{half}.{half} {{{registers}}}, %{a}, %{b}, p, 1, 1, {ta}, {tb}; }}"
    : {operands} : "l"(a), "l"(b), "r"(add));
}}
"#
    )
}

fn pieces(l: &Loop) -> Pieces {
    let (stages, stage) = (l.stages, l.stage_bytes());
    let ahead = stages - 2;
    let mut multiplications = String::new();
    for kk in 0..BK / 16 {
        let add = if kk == 0 { "started" } else { "1" };
        // Addresses in descriptors count 16 bytes. Writing to a string cannot fail.
        let _ = writeln!(
            multiplications,
            "    ug_multiply({{p3}}, da + {}ull, db + {}ull, {add});",
            kk * l.a.k_step() / 16,
            kk * l.b.k_step() / 16
        );
    }
    let before = format!(
        r#"    asm volatile("cp.async.wait_group {pending};" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    const unsigned long long da = ug_matrix(smem + from + wg * {half_tile}u, {a_lanes}u, 1024u);
    const unsigned long long db = ug_matrix(smem + from + {b_at}u, {b_lanes}u, 1024u);
{multiplications}    started = 1;
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
"#,
        pending = ahead - 1,
        half_tile = 64 * BK * 2,
        a_lanes = l.a.lanes_step(),
        b_at = l.b_at(),
        b_lanes = l.b.lanes_step(),
    );
    let after = format!(
        r#"    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    from += {stage}u; if (from == {all}u) from = 0;
"#,
        all = stage * stages,
    );
    let end = r#"  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
"#;
    let setup =
        format!("{}  const unsigned wg = __shfl_sync(0xffffffffu, tid >> 7, 0);\n  unsigned from = 0; int started = 0;\n", l.setup());
    Pieces { setup, before, after, end: end.to_owned(), ahead }
}

/// A statement that writes the sums of a tile of so many columns to shared memory, row by row, `ld` elements apart: sum `4 * j + {0, 1}` is in columns
/// `8 * j + 2 * (lane % 4) + {0, 1}` of row `16 * warp + lane / 4`, and `4 * j + {2, 3}` in those of the row 8 further.
pub(in crate::lower) fn write_sums(columns: u32, shared: Place, sums: Place, ld: u32) -> Raw {
    let text = format!(
        r#"{{{{
  const unsigned lane = threadIdx.x & 31u;
  float* to = {{p0}} + ((threadIdx.x >> 5) * 16u + (lane >> 2)) * {ld}u + (lane & 3u) * 2u;
  #pragma unroll
  for (int j = 0; j < {blocks}; ++j) {{{{
    *(float2*)(to + 8 * j) = make_float2({{p1}}[4 * j], {{p1}}[4 * j + 1]);
    *(float2*)(to + 8 * j + {below}) = make_float2({{p1}}[4 * j + 2], {{p1}}[4 * j + 3]);
  }}}}
}}}}"#,
        blocks = columns / 8,
        below = 8 * ld
    );
    Raw { texts: vec![(Dialect::Cuda, text)], preludes: Vec::new(), values: Vec::new(), places: vec![shared, sums] }
}
