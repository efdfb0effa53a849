//! The gradients of attention on NVIDIA Hopper: warpgroup matrix instructions, whose first operand is in shared memory for scores and their changes, and
//! in registers for what these are multiplied with.
//!
//! Rows and columns are as in [`super::attention::Backward`]. A warpgroup has 64 rows: one makes a workgroup where registers let a compute unit have
//! three of them, which then multiply while others do not; of 128 features two do, and share columns. Blocks of columns pass by, the next one being copied while
//! one is multiplied. A product's result lies in registers as the next one's operand does, so scores never leave them. While changes are multiplied,
//! probabilities are made of scores; while these are multiplied, changes of scores are. Tensors lie in panels of 64 features, in the layout of 128-byte
//! swizzles, which both kinds of products read, the second ones along features:
//! <https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions>.

/// Columns of a block.
pub(super) const COLUMNS: u32 = 64;

/// Threads of a workgroup, its rows, and how many workgroups a compute unit should have.
pub(super) const fn group(features: u32) -> (u32, u32, u32) {
    if features > 64 { (256, 128, 1) } else { (128, 64, 3) }
}

/// Bytes of shared memory: rows, two blocks of columns, logarithms and deltas of their queries, and what aligning takes.
pub(super) const fn shared_bytes(features: u32) -> u32 {
    let (_, rows, _) = group(features);
    (2 * rows + 4 * COLUMNS) * features * 2 + 2 * 2 * COLUMNS * 4 + 1024
}

/// What stands before the kernel, after the prelude of all attention.
pub(super) fn prelude(features: u32, half: &str) -> String {
    let list = |n: u32| (0..n).map(|i| format!("%{i}")).collect::<Vec<_>>().join(", ");
    let operands = |n: u32| (0..n).map(|i| format!("\"+f\"(d[{i}])")).collect::<Vec<_>>().join(", ");
    let (scores, sums) = (COLUMNS / 2, features / 2);
    format!(
        r#"static __device__ __forceinline__ unsigned long long ug_at_matrix(unsigned at, unsigned lanes_step) {{
  return (unsigned long long)((at & 0x3ffff) >> 4) | (unsigned long long)(lanes_step >> 4) << 16 | (unsigned long long)(1024u >> 4) << 32 | 1ull << 62;
}}
static __device__ __forceinline__ void ug_at_scores(float* d, unsigned long long a, unsigned long long b, int add) {{
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{s2}, 0; wgmma.mma_async.sync.aligned.m64n{COLUMNS}k16.f32.{half}.{half} {{{scores_list}}}, %{s0}, %{s1}, p, 1, 1, 0, 0; }}"
    : {scores_operands} : "l"(a), "l"(b), "r"(add));
}}
static __device__ __forceinline__ void ug_at_sums(float* d, const unsigned* a, unsigned long long b) {{
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n{features}k16.f32.{half}.{half} {{{sums_list}}}, {{%{t0}, %{t1}, %{t2}, %{t3}}}, %{t4}, p, 1, 1, 1; }}"
    : {sums_operands} : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}}
static __device__ __forceinline__ void ug_at_copy4(unsigned to, const float* from, bool there) {{
  int bytes = there ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(to), "l"(from), "r"(bytes) : "memory");
}}
template <int n> static __device__ __forceinline__ void ug_at_keep(float* d) {{
  #pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+f"(d[i]) :: "memory");
}}
static __device__ __forceinline__ void ug_at_begin() {{ asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }}
static __device__ __forceinline__ void ug_at_end() {{ asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }}
template <int n> static __device__ __forceinline__ void ug_at_until() {{ asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory"); }}
"#,
        s0 = scores,
        s1 = scores + 1,
        s2 = scores + 2,
        scores_list = list(scores),
        scores_operands = operands(scores),
        t0 = sums,
        t1 = sums + 1,
        t2 = sums + 2,
        t3 = sums + 3,
        t4 = sums + 4,
        sums_list = list(sums),
        sums_operands = operands(sums),
    )
}

/// The loop, with names of numbers between `@`, values and places between `$`.
pub(super) const TEXT: &str = r#"{
  const int tid = threadIdx.x, lane = tid & 31, wg = __shfl_sync(0xffffffffu, tid >> 7, 0);
  const int first = (int)$v7$, from = (int)$v8$, to = (int)$v9$, offset = (int)$v10$, keys = (int)$v11$;
  const char* const r0 = (const char*)($p0$) + 2 * (long long)($v0$);
  const char* const r1 = (const char*)($p1$) + 2 * (long long)($v1$);
  const char* const c0 = (const char*)($p2$) + 2 * (long long)($v2$);
  const char* const c1 = (const char*)($p3$) + 2 * (long long)($v3$);
  char* const g0 = (char*)($p6$) + 2 * (long long)($v4$);
  char* const g1 = (char*)($p7$) + 2 * (long long)($v5$);
  const float* const logs = ($p4$) + $v6$;
  const float* const deltas = ($p5$) + $v6$;
  const unsigned r0_at = ((unsigned)__cvta_generic_to_shared($p8$) + 1023u) & ~1023u;
  const unsigned r1_at = r0_at + @BM@ * @D@ * 2, c_at = r1_at + @BM@ * @D@ * 2, l_at = c_at + 4 * @BN@ * @D@ * 2;
  const int piece = tid % (@D@ / 8), line = tid / (@D@ / 8);
  auto copy = [&](unsigned at, const char* x, long long stride, int row0, int rows, int end) {
    #pragma unroll
    for (int i = 0; i < rows / (@T@ / (@D@ / 8)); ++i) {
      const int r = line + i * (@T@ / (@D@ / 8));
      const bool there = row0 + r < end;
      ug_at_copy(at + (piece >> 3) * (rows * 128) + r * 128 + (((piece & 7) ^ (r & 7)) << 4), x + (there ? (row0 + r) * stride + piece * 16 : 0), there);
    }
  };
  float sums[1 + @BY_KEY@][@D@ / 2];
  #pragma unroll
  for (int g = 0; g < 1 + @BY_KEY@; ++g)
    #pragma unroll
    for (int i = 0; i < @D@ / 2; ++i) sums[g][i] = 0.f;
  const int warp_row = first + (tid >> 5) * 16, row0 = warp_row + (lane >> 2);
  // A query's logarithm, in powers of two; one that saw nothing has exp(x - inf).
  auto power = [&](float x) { return x == __uint_as_float(0xff800000u) ? __uint_as_float(0x7f800000u) : x * 1.44269504088896341f; };
  float row_log[2] = {0.f, 0.f}, row_delta[2] = {0.f, 0.f};
  if (!@BY_KEY@) {
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = row0 + h * 8;
      row_log[h] = power(row < @ROWS@ ? logs[row] : __uint_as_float(0xff800000u));
      row_delta[h] = row < @ROWS@ ? deltas[row] : 0.f;
    }
  }
  copy(r0_at, r0, @R0@, first, @BM@, @ROWS@);
  copy(r1_at, r1, @R1@, first, @BM@, @ROWS@);
  const int blocks = from < to ? (to - from + @BN@ - 1) / @BN@ : 0, steps = blocks * @HEADS@;
  int next_block = 0;
  const char *n0 = c0, *n1 = c1;
  const float* saved = (tid / @BN@ ? deltas : logs) + tid % @BN@;
  auto copy_next = [&](int stage) {
    const unsigned at = c_at + stage * (2 * @BN@ * @D@ * 2);
    const int column0 = from + next_block * @BN@;
    copy(at, n0, @C0@, column0, @BN@, to);
    copy(at + @BN@ * @D@ * 2, n1, @C1@, column0, @BN@, to);
    if (@BY_KEY@ && tid < 2 * @BN@) {
      const bool there = column0 + tid % @BN@ < to;
      ug_at_copy4(l_at + (stage * 2 * @BN@ + tid) * 4, saved + (there ? column0 : 0), there);
    }
    if (++next_block == blocks) { next_block = 0; n0 += @H0@; n1 += @H1@; saved += @LEN@; }
  };
  if (steps > 0) copy_next(0);
  ug_at_commit();
  const unsigned long long a0 = ug_at_matrix(r0_at + wg * 8192, 16), a1 = ug_at_matrix(r1_at + wg * 8192, 16);
  int block = 0;
  #pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    ug_at_wait();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (step + 1 < steps) copy_next((step + 1) & 1);
    ug_at_commit();
    const unsigned c0_at = c_at + (step & 1) * (2 * @BN@ * @D@ * 2), c1_at = c0_at + @BN@ * @D@ * 2;
    const unsigned long long b0 = ug_at_matrix(c0_at, 16), b1 = ug_at_matrix(c1_at, 16);
    const int column0 = from + block * @BN@;
    float s[@BN@ / 2], ds[@BN@ / 2];
    #pragma unroll
    for (int i = 0; i < @BN@ / 2; ++i) { s[i] = 0.f; ds[i] = 0.f; }
    ug_at_keep<@BN@ / 2>(s);
    ug_at_keep<@BN@ / 2>(ds);
    ug_at_begin();
    // Addresses in descriptors count 16 bytes.
    #pragma unroll
    for (int k = 0; k < @D@ / 16; ++k)
      ug_at_scores(s, a0 + (k >> 2) * (@BM@ * 8) + (k & 3) * 2, b0 + (k >> 2) * (@BN@ * 8) + (k & 3) * 2, k > 0);
    ug_at_end();
    #pragma unroll
    for (int k = 0; k < @D@ / 16; ++k)
      ug_at_scores(ds, a1 + (k >> 2) * (@BM@ * 8) + (k & 3) * 2, b1 + (k >> 2) * (@BN@ * 8) + (k & 3) * 2, k > 0);
    ug_at_end();
    ug_at_until<1>();
    ug_at_keep<@BN@ / 2>(s);
    const bool cut = column0 + @BN@ > to || (@BY_KEY@
      ? warp_row + 15 >= keys || (@CAUSAL@ && warp_row + 15 > column0 + offset) || (@WINDOW@ && warp_row <= column0 + @BN@ - 1 + offset - @WIDTH@)
      : (@CAUSAL@ && column0 + @BN@ - 1 > warp_row + offset) || (@WINDOW@ && column0 <= warp_row + 15 + offset - @WIDTH@));
    const unsigned logs_at = l_at + (step & 1) * (2 * @BN@ * 4) + (lane & 3) * 8;
    unsigned p[@BN@ / 16][4];
    #pragma unroll
    for (int n = 0; n < @BN@ / 8; ++n) {
      float log[2] = {row_log[0], row_log[1]};
      if (@BY_KEY@) {
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(log[0]), "=f"(log[1]) : "r"(logs_at + n * 32) : "memory");
        log[0] = power(log[0]); log[1] = power(log[1]);
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i)
        s[n * 4 + i] = ug_at_exp2(__fmaf_rn(s[n * 4 + i], @SCALE2@, -log[@BY_KEY@ ? i & 1 : i >> 1]));
    }
    if (cut) {
      #pragma unroll
      for (int n = 0; n < @BN@ / 8; ++n)
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int column = column0 + n * 8 + (lane & 3) * 2 + (i & 1), row = row0 + (i >> 1) * 8;
          const int query = @BY_KEY@ ? column : row, key = @BY_KEY@ ? row : column;
          if (column >= to || key >= keys || @FUTURE@ || @PAST@) s[n * 4 + i] = -0.f;
        }
    }
    if (@BY_KEY@) {
      #pragma unroll
      for (int k = 0; k < @BN@ / 16; ++k)
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int at = (2 * k + (i >> 1)) * 4 + (i & 1) * 2;
          p[k][i] = ug_at_pack_@half@(s[at], s[at + 1]);
        }
      ug_at_keep<@D@ / 2>(sums[@BY_KEY@]);
      ug_at_begin();
      #pragma unroll
      for (int k = 0; k < @BN@ / 16; ++k) ug_at_sums(sums[@BY_KEY@], p[k], ug_at_matrix(c1_at, @BN@ * 128) + k * 128);
      ug_at_end();
      ug_at_until<1>();
    } else {
      ug_at_until<0>();
    }
    ug_at_keep<@BN@ / 2>(ds);
    unsigned q[@BN@ / 16][4];
    #pragma unroll
    for (int n = 0; n < @BN@ / 8; ++n) {
      float delta[2] = {row_delta[0], row_delta[1]};
      if (@BY_KEY@)
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(delta[0]), "=f"(delta[1]) : "r"(logs_at + @BN@ * 4 + n * 32) : "memory");
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float change = s[n * 4 + i] * (ds[n * 4 + i] - delta[@BY_KEY@ ? i & 1 : i >> 1]);
        // What is hidden, -0, has no change, whatever was multiplied.
        ds[n * 4 + i] = __float_as_uint(s[n * 4 + i]) == 0x80000000u ? 0.f : change;
      }
    }
    #pragma unroll
    for (int k = 0; k < @BN@ / 16; ++k)
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = (2 * k + (i >> 1)) * 4 + (i & 1) * 2;
        q[k][i] = ug_at_pack_@half@(ds[at], ds[at + 1]);
      }
    ug_at_keep<@D@ / 2>(sums[0]);
    ug_at_begin();
    #pragma unroll
    for (int k = 0; k < @BN@ / 16; ++k) ug_at_sums(sums[0], q[k], ug_at_matrix(c0_at, @BN@ * 128) + k * 128);
    ug_at_end();
    ug_at_until<0>();
    #pragma unroll
    for (int g = 0; g < 1 + @BY_KEY@; ++g) ug_at_keep<@D@ / 2>(sums[g]);
    if (++block == blocks) block = 0;
  }
  ug_at_wait();
  #pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = row0 + h * 8;
    if (row < @ROWS@) {
      #pragma unroll
      for (int n = 0; n < @D@ / 8; ++n) {
        const int at = n * 4 + 2 * h;
        *(unsigned*)(g0 + row * (long long)@G0@ + (lane & 3) * 4 + n * 16) = ug_at_pack_@half@(sums[0][at] * @SCALE@, sums[0][at + 1] * @SCALE@);
        if (@BY_KEY@)
          *(unsigned*)(g1 + row * (long long)@G1@ + (lane & 3) * 4 + n * 16) = ug_at_pack_@half@(sums[@BY_KEY@][at], sums[@BY_KEY@][at + 1]);
      }
    }
  }
}"#;
