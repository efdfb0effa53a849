//! Sums of products of a matrix with few vectors, of half types, on NVIDIA GPUs since Ampere: matrix instructions of warps.
//!
//! The warps of a workgroup take turns along `k`. Each copies its part of the rows, and of the vectors, to shared memory of its own, asynchronously and
//! several turns ahead, so that no warp waits for another; in the end each has sums of all the workgroup's rows. Registers of the instructions' operands:
//! <https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-fragment-mma-16816-float>.

use super::copies::architecture;
use unigrad_ir::{Dialect, Place, Raw, Target, Value};
use unigrad_scalar::DType;

/// Rows of the matrix, and vectors, of an instruction.
pub(in crate::lower) const ROWS: u32 = 16;
pub(in crate::lower) const VECTORS: u32 = 8;
/// Warps of a workgroup.
pub(in crate::lower) const WARPS: u32 = 4;

/// Elements along `k` of a warp's turn. Longer ones leave room for fewer turns at once.
pub(in crate::lower) const STEP: u32 = 64;

/// Whether a target has these instructions.
pub(in crate::lower) fn available(target: &Target) -> bool {
    architecture(target).is_some_and(|arch| arch >= 80)
}

/// Sizes of a workgroup's work.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Narrow {
    pub(in crate::lower) dtype: DType,
    /// Instructions along rows, and along vectors.
    pub(in crate::lower) down: u32,
    pub(in crate::lower) across: u32,
    /// Turns that have room in shared memory.
    pub(in crate::lower) stages: u32,
    /// Rows and vectors that there are; elements from one to the next.
    pub(in crate::lower) rows: u64,
    pub(in crate::lower) vectors: u32,
    pub(in crate::lower) row_stride: i64,
    pub(in crate::lower) vector_stride: i64,
}

impl Narrow {
    /// Rows and vectors of a workgroup, some of them perhaps beyond the end.
    pub(in crate::lower) fn size(&self) -> [u32; 2] {
        [self.down * ROWS, self.across * VECTORS]
    }

    /// Bytes from line to line of a stage: an odd number of 16, so that eight lines lie in different banks.
    fn pitch(&self) -> u32 {
        STEP * 2 + 16
    }

    fn stage_bytes(&self) -> u32 {
        let [rows, vectors] = self.size();
        (rows + vectors) * self.pitch()
    }

    /// Bytes of shared memory: stages, later sums.
    pub(in crate::lower) fn shared_bytes(&self) -> u32 {
        let [rows, vectors] = self.size();
        WARPS * (self.stages * self.stage_bytes()).max(rows * vectors * 4)
    }

    /// The sums of each warp, as a statement: to `[WARPS][vectors][rows]` in shared memory, which all threads have written when it ends. Values: the first
    /// row (`U32`); where the matrix and the vectors begin; the first `k` and the end of `k` (`U32`). Places: the matrix, the vectors, shared memory (`F32`).
    pub(in crate::lower) fn statement(&self, values: [Value; 5], places: [Place; 3]) -> Raw {
        let half = if self.dtype == DType::BF16 { "bf16" } else { "f16" };
        let prelude = format!(
            r#"static __device__ __forceinline__ void ug_line(unsigned to, const unsigned short* from, unsigned bytes) {{
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(from), "r"(bytes) : "memory");
}}
static __device__ __forceinline__ void ug_four(unsigned (&r)[4], unsigned at) {{
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%0, %1, %2, %3}}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}}
static __device__ __forceinline__ void ug_narrow(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {{
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.{half}.{half}.f32 {{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}}
"#
        );
        Raw {
            texts: vec![(Dialect::Cuda, self.text())],
            preludes: vec![(Dialect::Cuda, prelude)],
            values: values.to_vec(),
            places: places.to_vec(),
        }
    }

    fn text(&self) -> String {
        let Narrow { down, across, stages, rows, vectors, row_stride, vector_stride, .. } = self;
        let [group_rows, group_vectors] = self.size();
        // Threads for a line of 16 bytes each, and lines that a warp copies at once.
        let pieces = STEP / 8;
        let lines = 32 / pieces;
        format!(
            r#"{{{{
  const unsigned lane = threadIdx.x & 31u, warp = threadIdx.x >> 5;
  const unsigned smem = (unsigned)__cvta_generic_to_shared({{p2}}) + warp * {warp_bytes}u;
  const unsigned line = lane / {pieces}u, piece = lane % {pieces}u * 8u;
  const unsigned short* row[{row_copies}];
  #pragma unroll
  for (unsigned i = 0; i < {row_copies}u; ++i) {{{{
    const unsigned at = {{v0}} + i * {lines}u + line;
    row[i] = (const unsigned short*){{p0}} + (long long){{v1}} + (long long)(at < {rows}u ? at : {last_row}u) * {row_stride}ll + piece;
  }}}}
  const unsigned short* const vector = (const unsigned short*){{p1}} + (long long){{v2}} + piece;
  const unsigned to = smem + line * {pitch}u + piece * 2u;
  const unsigned first = {{v3}}, end = {{v4}}, turns = end > first ? (end - first + {last_of_step}u) / {step}u : 0u;
  auto copy = [&](unsigned turn, unsigned stage) {{{{
    const unsigned k = first + turn * {step}u, at = to + stage * {stage_bytes}u;
    const unsigned bytes = k + piece < end ? 16u : 0u, from = bytes ? k : 0u;
    #pragma unroll
    for (unsigned i = 0; i < {row_copies}u; ++i) ug_line(at + i * {copied}u, row[i] + from, bytes);
    #pragma unroll
    for (unsigned j = 0; j < {vector_copies}u; ++j) {{{{
      const unsigned n = j * {lines}u + line;
      const bool is = n < {vectors}u;
      ug_line(at + {vectors_at}u + j * {copied}u, vector + (is ? (long long)n * {vector_stride}ll + from : 0ll), is ? bytes : 0u);
    }}}}
  }}}};
  float sums[{down}][{across}][4];
  #pragma unroll
  for (unsigned i = 0; i < {down}u; ++i)
    #pragma unroll
    for (unsigned j = 0; j < {across}u; ++j)
      #pragma unroll
      for (unsigned e = 0; e < 4u; ++e) sums[i][j][e] = 0.0f;
  #pragma unroll
  for (unsigned s = 0; s < {ahead}u; ++s) {{{{
    if (warp + s * {warps}u < turns) copy(warp + s * {warps}u, s);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }}}}
  const unsigned rows_at = smem + (lane & 15u) * {pitch}u + (lane >> 4) * 16u, vectors_at = smem + {vectors_at}u + (lane & 7u) * {pitch}u + (lane >> 3) * 16u;
  unsigned stage = 0, next = {ahead}u;
  #pragma unroll 1
  for (unsigned turn = warp; turn < turns; turn += {warps}u) {{{{
    asm volatile("cp.async.wait_group {pending};" ::: "memory");
    __syncwarp();
    if (turn + {ahead_turns}u < turns) copy(turn + {ahead_turns}u, next);
    asm volatile("cp.async.commit_group;" ::: "memory");
    const unsigned at = stage * {stage_bytes}u;
    #pragma unroll
    for (unsigned kk = 0; kk < {step}u; kk += 32u) {{{{
      unsigned y[{across}][4];
      #pragma unroll
      for (unsigned j = 0; j < {across}u; ++j) ug_four(y[j], vectors_at + at + j * {eight}u + kk * 2u);
      #pragma unroll
      for (unsigned part = 0; part < 2u; ++part) {{{{
        #pragma unroll
        for (unsigned i = 0; i < {down}u; ++i) {{{{
          unsigned x[4];
          ug_four(x, rows_at + at + i * {sixteen}u + kk * 2u + part * 32u);
          #pragma unroll
          for (unsigned j = 0; j < {across}u; ++j) ug_narrow(sums[i][j], x, y[j][part * 2u], y[j][part * 2u + 1u]);
        }}}}
      }}}}
    }}}}
    stage = stage + 1u == {stages}u ? 0u : stage + 1u;
    next = next + 1u == {stages}u ? 0u : next + 1u;
  }}}}
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  float* const sum = {{p2}} + warp * {group}u + (lane >> 2);
  #pragma unroll
  for (unsigned i = 0; i < {down}u; ++i) {{{{
    #pragma unroll
    for (unsigned j = 0; j < {across}u; ++j) {{{{
      #pragma unroll
      for (unsigned e = 0; e < 4u; ++e) sum[(j * 8u + (lane & 3u) * 2u + (e & 1u)) * {group_rows}u + i * 16u + (e >> 1) * 8u] = sums[i][j][e];
    }}}}
  }}}}
  __syncthreads();
}}}}"#,
            warp_bytes = stages * self.stage_bytes(),
            row_copies = group_rows / lines,
            vector_copies = group_vectors / lines,
            last_row = rows.saturating_sub(1),
            pitch = self.pitch(),
            step = STEP,
            last_of_step = STEP - 1,
            stage_bytes = self.stage_bytes(),
            copied = lines * self.pitch(),
            vectors_at = group_rows * self.pitch(),
            warps = WARPS,
            ahead = stages - 1,
            ahead_turns = (stages - 1) * WARPS,
            pending = stages - 2,
            eight = 8 * self.pitch(),
            sixteen = 16 * self.pitch(),
            group = group_rows * group_vectors,
        )
    }
}
