//! Products of half types on NVIDIA GPUs since Ampere: matrix instructions of warps, whose operands are loaded from shared memory by `ldmatrix`.
//!
//! The eight warps have blocks of 64 x 32 of a tile of 128 columns, of 32 x 32 of one of 64. Stage `t` is multiplied while those up to
//! `t + stages - 1` are on their way; one barrier per stage. Registers of the instructions' operands:
//! <https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-fragment-mma-16816-float>.

use super::copies::{BK, Loop, Operand, architecture};
use super::made::{Pieces, Statements};
use std::fmt::Write;
use unigrad_ir::{Dialect, Place, Raw, Target, Value};

/// Whether a target has these instructions.
pub(in crate::lower) fn available(target: &Target) -> bool {
    architecture(target).is_some_and(|arch| arch >= 80)
}

/// Warps across, rows and columns of a warp's block.
fn blocks(l: &Loop) -> (u32, u32, u32) {
    if l.b.tile == 128 { (4, 64, 32) } else { (2, 32, 32) }
}

/// The loop as a statement; see [`super::wgmma::statement`].
pub(in crate::lower) fn statement(l: &Loop, values: [Value; 5], places: [Place; 4]) -> Raw {
    Raw {
        texts: vec![(Dialect::Cuda, l.whole(&pieces(l)))],
        preludes: vec![(Dialect::Cuda, Loop::copy_prelude().to_owned()), (Dialect::Cuda, prelude(l))],
        values: values.to_vec(),
        places: places.to_vec(),
    }
}

/// The loop as statements, for operands that the threads make.
pub(in crate::lower) fn statements(l: &Loop, values: [Value; 5], places: [Place; 4]) -> Statements {
    Statements::new(pieces(l), &[Loop::copy_prelude().to_owned(), prelude(l)], values, places)
}

fn prelude(l: &Loop) -> String {
    let half = l.half();
    format!(
        r#"static __device__ __forceinline__ void ug_load(unsigned (&r)[4], unsigned at) {{
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%0, %1, %2, %3}}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}}
static __device__ __forceinline__ void ug_load_turned(unsigned (&r)[4], unsigned at) {{
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{%0, %1, %2, %3}}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}}
static __device__ __forceinline__ void ug_multiply(float* d, const unsigned (&a)[4], unsigned b0, unsigned b1) {{
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.{half}.{half}.f32 {{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}}
"#
    )
}

/// Declares the address of the 16 x 16 elements from lane `16 i` of the warp's block and `k` `16 kk` on, less the stage's: `NAME_of(i, kk)`.
/// The four 8 x 8 matrices of one load follow each other along lanes first if `lanes_first`, else along `k`.
fn address(o: &Operand, name: &str, warp_lane: &str, at: u32, lanes_first: bool) -> String {
    let (lane_part, k_part) = if lanes_first { ("(lane >> 3 & 1u)", "(lane >> 4)") } else { ("(lane >> 4)", "(lane >> 3 & 1u)") };
    if o.k_major {
        format!(
            "  const unsigned {name}_line = smem + {at}u + ({warp_lane} + (lane & 7u) + {lane_part} * 8u) * 128u;\n  \
             auto {name}_of = [&](unsigned i, unsigned kk) {{{{ return {name}_line + i * 2048u + (((kk * 2u + {k_part}) ^ (lane & 7u)) << 4); }}}};\n"
        )
    } else {
        format!(
            "  const unsigned {name}_line = smem + {at}u + ((lane & 7u) + {k_part} * 8u) * 128u;\n  \
             auto {name}_of = [&](unsigned i, unsigned kk) {{{{ const unsigned x = {warp_lane} + i * 16u + {lane_part} * 8u;\n    \
             return {name}_line + kk * 2048u + (x >> 6) * {block}u + (((x >> 3 & 7u) ^ (lane & 7u)) << 4); }}}};\n",
            block = 64 * BK * 2
        )
    }
}

fn pieces(l: &Loop) -> Pieces {
    let (stages, stage) = (l.stages, l.stage_bytes());
    let ahead = stages - 1;
    let (across, rows, columns) = blocks(l);
    let (n_rows, n_columns) = (rows / 16, columns / 16);
    let load = |o: &Operand| if o.k_major { "ug_load" } else { "ug_load_turned" };
    let mut setup = l.setup();
    // Writing to a string cannot fail.
    let _ = writeln!(setup, "  const unsigned lane = tid & 31u, warp = tid >> 5;");
    let _ = writeln!(setup, "  const unsigned warp_row = warp / {across}u * {rows}u, warp_column = warp % {across}u * {columns}u;");
    setup += &address(&l.a, "a", "warp_row", 0, true);
    setup += &address(&l.b, "b", "warp_column", l.b_at(), false);
    let _ = writeln!(setup, "  #pragma unroll\n  for (int i = 0; i < {}; ++i) {{p3}}[i] = 0.0f;\n  unsigned from = 0;", l.sums());
    let before = format!("    asm volatile(\"cp.async.wait_group {};\" ::: \"memory\");\n    __syncthreads();\n", ahead - 1);
    let after = format!(
        r#"    #pragma unroll
    for (unsigned kk = 0; kk < {depth}u; ++kk) {{{{
      unsigned x[{n_rows}][4], y[{n_columns}][4];
      #pragma unroll
      for (unsigned i = 0; i < {n_rows}u; ++i) {load_a}(x[i], from + a_of(i, kk));
      #pragma unroll
      for (unsigned j = 0; j < {n_columns}u; ++j) {load_b}(y[j], from + b_of(j, kk));
      #pragma unroll
      for (unsigned i = 0; i < {n_rows}u; ++i) {{{{
        #pragma unroll
        for (unsigned j = 0; j < {n_columns}u; ++j) {{{{
          ug_multiply({{p3}} + (i * {n_columns}u + j) * 8u, x[i], y[j][0], y[j][1]);
          ug_multiply({{p3}} + (i * {n_columns}u + j) * 8u + 4u, x[i], y[j][2], y[j][3]);
        }}}}
      }}}}
    }}}}
    from += {stage}u; if (from == {all}u) from = 0;
"#,
        depth = BK / 16,
        all = stage * stages,
        load_a = load(&l.a),
        load_b = load(&l.b),
    );
    let end = "  asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n  __syncthreads();\n".to_owned();
    Pieces { setup, before, after, end, ahead }
}

/// A statement that writes the sums to shared memory, row by row, `ld` elements apart.
pub(in crate::lower) fn write_sums(l: &Loop, shared: Place, sums: Place, ld: u32) -> Raw {
    let (across, rows, columns) = blocks(l);
    let (n_rows, n_blocks) = (rows / 16, columns / 8);
    let text = format!(
        r#"{{{{
  const unsigned lane = threadIdx.x & 31u, warp = threadIdx.x >> 5;
  float* to = {{p0}} + (warp / {across}u * {rows}u + (lane >> 2)) * {ld}u + warp % {across}u * {columns}u + (lane & 3u) * 2u;
  #pragma unroll
  for (int i = 0; i < {n_rows}; ++i) {{{{
    #pragma unroll
    for (int j = 0; j < {n_blocks}; ++j) {{{{
      const int at = (i * {n_blocks} + j) * 4;
      *(float2*)(to + i * {step} + 8 * j) = make_float2({{p1}}[at], {{p1}}[at + 1]);
      *(float2*)(to + i * {step} + {below} + 8 * j) = make_float2({{p1}}[at + 2], {{p1}}[at + 3]);
    }}}}
  }}}}
}}}}"#,
        step = 16 * ld,
        below = 8 * ld
    );
    Raw { texts: vec![(Dialect::Cuda, text)], preludes: Vec::new(), values: Vec::new(), places: vec![shared, sums] }
}
