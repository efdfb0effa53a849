//! Attention of half types on NVIDIA tensor cores (compute capability 8.0 and newer): a block of queries forward, a block of queries or keys
//! backward.
//!
//! Forward, a workgroup of four warps has 128 queries, a warp 32 of them. Keys and values come in blocks of [`KEYS`] by asynchronous copies: values are
//! on their way while scores are multiplied, the next keys while values are. Scores, probabilities and sums stay in registers; the layout of a
//! product's result is that of the next one's operand. Backward, a warp has 16 rows: queries for `dq`, keys for `dk` and `dv`; blocks of the
//! other side pass by, the next one being copied while one is multiplied, and probabilities are made again from the saved logarithms. Rows in shared memory are stored with their 16-byte pieces swapped (piece `c` of row
//! `r` at `c ^ (r % 8)`), so that neither copies nor matrix loads meet in a bank.

use unigrad_ir::{Dialect, Place, Raw, Target, Value};
use unigrad_scalar::DType;

/// Threads of a workgroup.
pub(in crate::lower) const THREADS: u32 = 128;
/// Queries of a workgroup.
pub(in crate::lower) const QUERIES: u32 = 128;
/// Keys of a block.
pub(in crate::lower) const KEYS: u32 = 64;

/// Whether a target has these instructions, and the memory.
pub(in crate::lower) fn available(target: &Target, features: usize) -> bool {
    let capability = target.arch.strip_prefix("sm_").and_then(|n| n.trim_end_matches(char::is_alphabetic).parse::<u32>().ok());
    target.dialect == Dialect::Cuda
        && target.own_words
        && capability.is_some_and(|n| n >= 80)
        && target.max_threads >= THREADS
        && target.shared_bytes >= shared_bytes(features as u32) as usize
}

/// Bytes of shared memory.
pub(in crate::lower) fn shared_bytes(features: u32) -> u32 {
    (QUERIES + 2 * KEYS) * features * 2 + 128
}

/// What is known when the program is made.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Forward {
    pub(in crate::lower) dtype: DType,
    /// Features of queries, keys and values alike: 64 or 128.
    pub(in crate::lower) features: u32,
    pub(in crate::lower) q_len: usize,
    pub(in crate::lower) scale: f64,
    pub(in crate::lower) causal: bool,
    pub(in crate::lower) window: Option<i64>,
    /// Elements from position to position of q, k, v and the output; multiples of 8, the output's of 2.
    pub(in crate::lower) strides: [i64; 4],
}

/// Places of the statement: `q`, `k`, `v`, the output, the logarithms, shared memory.
/// Values: the head's first element of `q`, `k`, `v` and the output; its first logarithm; the first query; the keys to go over, from and to;
/// the offset of queries.
impl Forward {
    pub(in crate::lower) fn statement(&self, values: [Value; 9], places: [Place; 6]) -> Raw {
        Raw {
            texts: vec![(Dialect::Cuda, self.text())],
            preludes: vec![(Dialect::Cuda, self.fill(PRELUDE))],
            values: values.to_vec(),
            places: places.to_vec(),
        }
    }

    fn fill(&self, text: &str) -> String {
        let half = if self.dtype == DType::F16 { "f16" } else { "bf16" };
        let scale = (self.scale * std::f64::consts::LOG2_E) as f32;
        let window = self.window.map_or("false".to_owned(), |window| format!("column <= row + offset - {window}"));
        let causal = if self.causal { "column > row + offset" } else { "false" };
        let [q, k, v, y] = self.strides.map(|n| (2 * n).to_string());
        let constants = [
            ("@half@", half.to_owned()),
            ("@D@", self.features.to_string()),
            ("@BM@", QUERIES.to_string()),
            ("@BN@", KEYS.to_string()),
            ("@T@", THREADS.to_string()),
            ("@LEN@", self.q_len.to_string()),
            ("@SCALE2@", format!("__uint_as_float({}u)", scale.to_bits())),
            ("@SCALE@", format!("__uint_as_float({}u)", (self.scale as f32).to_bits())),
            ("@FUTURE@", causal.to_owned()),
            ("@PAST@", window),
            ("@CAUSAL@", u32::from(self.causal).to_string()),
            ("@WINDOW@", u32::from(self.window.is_some()).to_string()),
            ("@WIDTH@", self.window.unwrap_or(0).to_string()),
            ("@QS@", q),
            ("@KS@", k),
            ("@VS@", v),
            ("@YS@", y),
        ];
        constants.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    fn text(&self) -> String {
        raw(&self.fill(FORWARD))
    }
}

/// Rows of a workgroup in the backward passes.
pub(in crate::lower) const ROWS: u32 = 64;

/// One of the two backward passes. Rows are queries (with `q` and `dout`) and columns keys (with `k` and `v`), or the other way round.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Backward {
    pub(in crate::lower) dtype: DType,
    /// Features of queries, keys and values alike: 64 or 128.
    pub(in crate::lower) features: u32,
    /// Whether rows are keys.
    pub(in crate::lower) by_key: bool,
    /// Rows of a head that there are.
    pub(in crate::lower) rows: usize,
    /// Query heads that pass by.
    pub(in crate::lower) heads: usize,
    pub(in crate::lower) q_len: usize,
    pub(in crate::lower) scale: f64,
    pub(in crate::lower) causal: bool,
    pub(in crate::lower) window: Option<i64>,
    /// Elements from position to position: of both tensors of rows, both of columns, and the gradients (`dq`, or `dk` and `dv`).
    pub(in crate::lower) strides: [i64; 6],
    /// Elements from query head to query head of both tensors of columns.
    pub(in crate::lower) head_strides: [i64; 2],
}

impl Backward {
    /// Columns of a block: as many as registers allow.
    fn columns(&self) -> u32 {
        if self.by_key && self.features == 128 { 32 } else { 64 }
    }

    /// Bytes of shared memory: rows, two blocks of columns, and what is saved of their queries.
    pub(in crate::lower) fn shared_bytes(&self) -> u32 {
        (2 * ROWS + 4 * self.columns()) * self.features * 2 + 128
    }

    /// Places: both tensors of rows, both of columns, the logarithms, the deltas, the gradients (twice the same for `dq`), shared memory.
    /// Values: first elements of the four tensors and of the gradients; of the logarithms; the first row; the columns to go over, from and to;
    /// the offset of queries; how many keys count.
    pub(in crate::lower) fn statement(&self, values: [Value; 12], places: [Place; 9]) -> Raw {
        Raw {
            texts: vec![(Dialect::Cuda, raw(&self.fill(BACKWARD)))],
            preludes: vec![(Dialect::Cuda, self.fill(PRELUDE))],
            values: values.to_vec(),
            places: places.to_vec(),
        }
    }

    /// A text with the numbers in place of their names.
    pub(super) fn fill(&self, text: &str) -> String {
        let half = if self.dtype == DType::F16 { "f16" } else { "bf16" };
        let future = if self.causal { "key > query + offset" } else { "false" };
        let past = self.window.map_or("false".to_owned(), |window| format!("key <= query + offset - {window}"));
        let [r0, r1, c0, c1, g0, g1] = self.strides.map(|n| (2 * n).to_string());
        let [h0, h1] = self.head_strides.map(|n| (2 * n).to_string());
        let scale = (self.scale * std::f64::consts::LOG2_E) as f32;
        let constants = [
            ("@half@", half.to_owned()),
            ("@D@", self.features.to_string()),
            ("@BN@", self.columns().to_string()),
            ("@T@", THREADS.to_string()),
            ("@CAUSAL@", u32::from(self.causal).to_string()),
            ("@WINDOW@", u32::from(self.window.is_some()).to_string()),
            ("@WIDTH@", self.window.unwrap_or(0).to_string()),
            ("@ROWS@", self.rows.to_string()),
            ("@BY_KEY@", u32::from(self.by_key).to_string()),
            ("@HEADS@", self.heads.to_string()),
            ("@LEN@", self.q_len.to_string()),
            ("@SCALE2@", format!("__uint_as_float({}u)", scale.to_bits())),
            ("@SCALE@", format!("__uint_as_float({}u)", (self.scale as f32).to_bits())),
            ("@FUTURE@", future.to_owned()),
            ("@PAST@", past),
            ("@R0@", r0),
            ("@R1@", r1),
            ("@C0@", c0),
            ("@C1@", c1),
            ("@G0@", g0),
            ("@G1@", g1),
            ("@H0@", h0),
            ("@H1@", h1),
        ];
        constants.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }
}

/// `$v0$` is a value, `$p0$` a place, braces are braces.
pub(super) fn raw(text: &str) -> String {
    let text = text.replace('{', "{{").replace('}', "}}");
    text.split('$').enumerate().map(|(i, part)| if i % 2 == 1 { format!("{{{part}}}") } else { part.to_owned() }).collect()
}

pub(super) const PRELUDE: &str = r#"static __device__ __forceinline__ void ug_at_copy(unsigned to, const char* from, bool there) {
  int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(from), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void ug_at_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
static __device__ __forceinline__ void ug_at_wait() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }
static __device__ __forceinline__ void ug_at_load(unsigned* r, unsigned at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
static __device__ __forceinline__ void ug_at_load_t(unsigned* r, unsigned at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
static __device__ __forceinline__ void ug_at_mma_@half@(float* c, const unsigned* a, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.@half@.@half@.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
static __device__ __forceinline__ unsigned ug_at_pack_@half@(float low, float high) {
  unsigned r;
  asm("cvt.rn.@half@x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
static __device__ __forceinline__ float ug_at_exp2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
"#;

const FORWARD: &str = r#"{
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const int first = (int)$v5$, from = (int)$v6$, to = (int)$v7$, offset = (int)$v8$;
  const char* const qs = (const char*)($p0$) + 2 * (long long)($v0$);
  const char* const ks = (const char*)($p1$) + 2 * (long long)($v1$);
  const char* const vs = (const char*)($p2$) + 2 * (long long)($v2$);
  char* const ys = (char*)($p3$) + 2 * (long long)($v3$);
  const unsigned q_at = ((unsigned)__cvta_generic_to_shared($p5$) + 127u) & ~127u;
  const unsigned k_at = q_at + @BM@ * @D@ * 2, v_at = k_at + @BN@ * @D@ * 2;
  const int piece = tid % (@D@ / 8), line = tid / (@D@ / 8);
  auto copy = [&](unsigned at, const char* x, long long stride, int row0, int rows, int end) {
    #pragma unroll
    for (int i = 0; i < rows / (@T@ / (@D@ / 8)); ++i) {
      const int r = line + i * (@T@ / (@D@ / 8));
      const bool there = row0 + r < end;
      ug_at_copy(at + r * (@D@ * 2) + ((piece ^ (r & 7)) << 4), x + (there ? (row0 + r) * stride + piece * 16 : 0), there);
    }
  };
  float sums[2][@D@ / 8][4], most[2][2], totals[2][2];
  #pragma unroll
  for (int m = 0; m < 2; ++m) {
    #pragma unroll
    for (int n = 0; n < @D@ / 8; ++n) { sums[m][n][0] = 0.f; sums[m][n][1] = 0.f; sums[m][n][2] = 0.f; sums[m][n][3] = 0.f; }
    most[m][0] = most[m][1] = __uint_as_float(0xff800000u);
    totals[m][0] = totals[m][1] = 0.f;
  }
  copy(q_at, qs, @QS@, first, @BM@, @LEN@);
  if (from < to) copy(k_at, ks, @KS@, from, @BN@, to);
  ug_at_commit();
  // Rows and pieces of matrix loads: a[m16,k16] and v[k16,n16] row by row, k[n16,k16] with its halves of k side by side.
  const int row_a = lane & 15, half_a = lane >> 4, row_b = (lane & 7) + ((lane >> 4) << 3), half_b = (lane >> 3) & 1;
  const int row0 = first + warp * 32 + (lane >> 2);
  #pragma unroll 1
  for (int key = from; key < to; key += @BN@) {
    ug_at_wait();
    __syncthreads();
    copy(v_at, vs, @VS@, key, @BN@, to);
    ug_at_commit();
    float s[2][@BN@ / 8][4];
    #pragma unroll
    for (int m = 0; m < 2; ++m)
      #pragma unroll
      for (int n = 0; n < @BN@ / 8; ++n) { s[m][n][0] = 0.f; s[m][n][1] = 0.f; s[m][n][2] = 0.f; s[m][n][3] = 0.f; }
    #pragma unroll
    for (int k = 0; k < @D@ / 16; ++k) {
      unsigned a[2][4];
      #pragma unroll
      for (int m = 0; m < 2; ++m) {
        const int r = warp * 32 + m * 16 + row_a;
        ug_at_load(a[m], q_at + r * (@D@ * 2) + (((2 * k + half_a) ^ (r & 7)) << 4));
      }
      #pragma unroll
      for (int n = 0; n < @BN@ / 16; ++n) {
        unsigned b[4];
        const int r = n * 16 + row_b;
        ug_at_load(b, k_at + r * (@D@ * 2) + (((2 * k + half_b) ^ (r & 7)) << 4));
        #pragma unroll
        for (int m = 0; m < 2; ++m) {
          ug_at_mma_@half@(s[m][2 * n], a[m], b[0], b[1]);
          ug_at_mma_@half@(s[m][2 * n + 1], a[m], b[2], b[3]);
        }
      }
    }
    ug_at_wait();
    __syncthreads();
    if (key + @BN@ < to) copy(k_at, ks, @KS@, key + @BN@, @BN@, to);
    ug_at_commit();
    const bool cut = key + @BN@ > to || (@CAUSAL@ && key + @BN@ - 1 > first + warp * 32 + offset)
      || (@WINDOW@ && key <= first + warp * 32 + 31 + offset - @WIDTH@);
    if (cut) {
      #pragma unroll
      for (int m = 0; m < 2; ++m)
        #pragma unroll
        for (int n = 0; n < @BN@ / 8; ++n)
          #pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int row = row0 + m * 16 + (i >> 1) * 8, column = key + n * 8 + (lane & 3) * 2 + (i & 1);
            if (column >= to || @FUTURE@ || @PAST@) s[m][n][i] = __uint_as_float(0xff800000u);
          }
    }
    #pragma unroll
    for (int m = 0; m < 2; ++m)
      #pragma unroll
      for (int h = 0; h < 2; ++h) {
        float here = most[m][h];
        #pragma unroll
        for (int n = 0; n < @BN@ / 8; ++n) here = fmaxf(here, fmaxf(s[m][n][2 * h], s[m][n][2 * h + 1]));
        here = fmaxf(here, __shfl_xor_sync(0xffffffffu, here, 1));
        here = fmaxf(here, __shfl_xor_sync(0xffffffffu, here, 2));
        // Where nothing is visible yet the greatest is -inf, and -inf - -inf would be NaN.
        const float shift = here == __uint_as_float(0xff800000u) ? 0.f : here * @SCALE2@;
        const float factor = ug_at_exp2(__fmaf_rn(most[m][h], @SCALE2@, -shift));
        most[m][h] = here;
        float total = 0.f;
        #pragma unroll
        for (int n = 0; n < @BN@ / 8; ++n)
          #pragma unroll
          for (int i = 2 * h; i < 2 * h + 2; ++i) {
            s[m][n][i] = ug_at_exp2(__fmaf_rn(s[m][n][i], @SCALE2@, -shift));
            total += s[m][n][i];
          }
        totals[m][h] = __fmaf_rn(totals[m][h], factor, total);
        #pragma unroll
        for (int n = 0; n < @D@ / 8; ++n) { sums[m][n][2 * h] *= factor; sums[m][n][2 * h + 1] *= factor; }
      }
    #pragma unroll
    for (int k = 0; k < @BN@ / 16; ++k) {
      unsigned a[2][4];
      #pragma unroll
      for (int m = 0; m < 2; ++m) {
        a[m][0] = ug_at_pack_@half@(s[m][2 * k][0], s[m][2 * k][1]);
        a[m][1] = ug_at_pack_@half@(s[m][2 * k][2], s[m][2 * k][3]);
        a[m][2] = ug_at_pack_@half@(s[m][2 * k + 1][0], s[m][2 * k + 1][1]);
        a[m][3] = ug_at_pack_@half@(s[m][2 * k + 1][2], s[m][2 * k + 1][3]);
      }
      #pragma unroll
      for (int n = 0; n < @D@ / 16; ++n) {
        unsigned b[4];
        const int r = k * 16 + row_a;
        ug_at_load_t(b, v_at + r * (@D@ * 2) + (((2 * n + half_a) ^ (r & 7)) << 4));
        #pragma unroll
        for (int m = 0; m < 2; ++m) {
          ug_at_mma_@half@(sums[m][2 * n], a[m], b[0], b[1]);
          ug_at_mma_@half@(sums[m][2 * n + 1], a[m], b[2], b[3]);
        }
      }
    }
  }
  ug_at_wait();
  #pragma unroll
  for (int m = 0; m < 2; ++m)
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
      float total = totals[m][h];
      total += __shfl_xor_sync(0xffffffffu, total, 1);
      total += __shfl_xor_sync(0xffffffffu, total, 2);
      const int row = row0 + m * 16 + h * 8;
      const float inverse = total == 0.f ? 0.f : 1.f / total;
      if (row < @LEN@) {
        if ((lane & 3) == 0)
          ($p4$)[$v4$ + row] = total == 0.f ? __uint_as_float(0xff800000u) : __fmaf_rn(most[m][h], @SCALE@, logf(total));
        char* const y = ys + row * (long long)@YS@ + (lane & 3) * 4;
        #pragma unroll
        for (int n = 0; n < @D@ / 8; ++n)
          *(unsigned*)(y + n * 16) = ug_at_pack_@half@(sums[m][n][2 * h] * inverse, sums[m][n][2 * h + 1] * inverse);
      }
    }
}"#;

const BACKWARD: &str = r#"{
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const int first = (int)$v7$, from = (int)$v8$, to = (int)$v9$, offset = (int)$v10$, keys = (int)$v11$;
  const char* const r0 = (const char*)($p0$) + 2 * (long long)($v0$);
  const char* const r1 = (const char*)($p1$) + 2 * (long long)($v1$);
  const char* c0 = (const char*)($p2$) + 2 * (long long)($v2$);
  const char* c1 = (const char*)($p3$) + 2 * (long long)($v3$);
  char* const g0 = (char*)($p6$) + 2 * (long long)($v4$);
  char* const g1 = (char*)($p7$) + 2 * (long long)($v5$);
  const float* logs = ($p4$) + $v6$;
  const float* deltas = ($p5$) + $v6$;
  const unsigned r0_at = ((unsigned)__cvta_generic_to_shared($p8$) + 127u) & ~127u;
  const unsigned r1_at = r0_at + 64 * @D@ * 2, c_at = r1_at + 64 * @D@ * 2;
  const int piece = tid % (@D@ / 8), line = tid / (@D@ / 8);
  auto copy = [&](unsigned at, const char* x, long long stride, int row0, int rows, int end) {
    #pragma unroll
    for (int i = 0; i < rows / (@T@ / (@D@ / 8)); ++i) {
      const int r = line + i * (@T@ / (@D@ / 8));
      const bool there = row0 + r < end;
      ug_at_copy(at + r * (@D@ * 2) + ((piece ^ (r & 7)) << 4), x + (there ? (row0 + r) * stride + piece * 16 : 0), there);
    }
  };
  float sums[1 + @BY_KEY@][@D@ / 8][4];
  #pragma unroll
  for (int g = 0; g < 1 + @BY_KEY@; ++g)
    #pragma unroll
    for (int n = 0; n < @D@ / 8; ++n) { sums[g][n][0] = 0.f; sums[g][n][1] = 0.f; sums[g][n][2] = 0.f; sums[g][n][3] = 0.f; }
  const int row_a = lane & 15, half_a = lane >> 4, row_b = (lane & 7) + ((lane >> 4) << 3), half_b = (lane >> 3) & 1;
  const int row0 = first + warp * 16 + (lane >> 2);
  // A query's logarithm, in powers of two, and its delta; one that saw nothing has exp(x - inf).
  auto saved = [&](int query, bool there, float& log, float& delta) {
    const float x = there ? logs[query] : __uint_as_float(0xff800000u);
    log = x == __uint_as_float(0xff800000u) ? __uint_as_float(0x7f800000u) : x * 1.44269504088896341f;
    delta = there ? deltas[query] : 0.f;
  };
  float row_log[2], row_delta[2];
  if (!@BY_KEY@) {
    saved(row0, row0 < @ROWS@, row_log[0], row_delta[0]);
    saved(row0 + 8, row0 + 8 < @ROWS@, row_log[1], row_delta[1]);
  }
  copy(r0_at, r0, @R0@, first, 64, @ROWS@);
  copy(r1_at, r1, @R1@, first, 64, @ROWS@);
  const int blocks = from < to ? (to - from + @BN@ - 1) / @BN@ : 0, steps = blocks * @HEADS@;
  int next_block = 0;
  const char *n0 = c0, *n1 = c1;
  auto copy_next = [&](int stage) {
    const unsigned at = c_at + stage * (2 * @BN@ * @D@ * 2);
    copy(at, n0, @C0@, from + next_block * @BN@, @BN@, to);
    copy(at + @BN@ * @D@ * 2, n1, @C1@, from + next_block * @BN@, @BN@, to);
    if (++next_block == blocks) { next_block = 0; n0 += @H0@; n1 += @H1@; }
  };
  if (steps > 0) copy_next(0);
  ug_at_commit();
  int block = 0;
  #pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    ug_at_wait();
    __syncthreads();
    if (step + 1 < steps) copy_next((step + 1) & 1);
    ug_at_commit();
    const unsigned c0_at = c_at + (step & 1) * (2 * @BN@ * @D@ * 2), c1_at = c0_at + @BN@ * @D@ * 2;
    const int column0 = from + block * @BN@;
    float s[@BN@ / 8][4], ds[@BN@ / 8][4];
    #pragma unroll
    for (int n = 0; n < @BN@ / 8; ++n)
      #pragma unroll
      for (int i = 0; i < 4; ++i) { s[n][i] = 0.f; ds[n][i] = 0.f; }
    #pragma unroll
    for (int k = 0; k < @D@ / 16; ++k) {
      unsigned a0[4], a1[4];
      const int ra = warp * 16 + row_a;
      const unsigned to_a = ra * (@D@ * 2) + (((2 * k + half_a) ^ (ra & 7)) << 4);
      ug_at_load(a0, r0_at + to_a);
      ug_at_load(a1, r1_at + to_a);
      #pragma unroll
      for (int n = 0; n < @BN@ / 16; ++n) {
        unsigned b[4];
        const int r = n * 16 + row_b;
        const unsigned to_b = r * (@D@ * 2) + (((2 * k + half_b) ^ (r & 7)) << 4);
        ug_at_load(b, c0_at + to_b);
        ug_at_mma_@half@(s[2 * n], a0, b[0], b[1]);
        ug_at_mma_@half@(s[2 * n + 1], a0, b[2], b[3]);
        ug_at_load(b, c1_at + to_b);
        ug_at_mma_@half@(ds[2 * n], a1, b[0], b[1]);
        ug_at_mma_@half@(ds[2 * n + 1], a1, b[2], b[3]);
      }
    }
    #pragma unroll
    for (int n = 0; n < @BN@ / 8; ++n)
      #pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int column = column0 + n * 8 + (lane & 3) * 2 + j;
        float log, delta;
        if (@BY_KEY@) saved(column, column < to, log, delta);
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int row = row0 + h * 8, i = 2 * h + j;
          const int query = @BY_KEY@ ? column : row, key = @BY_KEY@ ? row : column;
          if (!@BY_KEY@) { log = row_log[h]; delta = row_delta[h]; }
          const bool hidden = column >= to || key >= keys || @FUTURE@ || @PAST@;
          const float p = hidden ? 0.f : ug_at_exp2(__fmaf_rn(s[n][i], @SCALE2@, -log));
          s[n][i] = p;
          ds[n][i] = hidden ? 0.f : p * (ds[n][i] - delta);
        }
      }
    #pragma unroll
    for (int k = 0; k < @BN@ / 16; ++k) {
      unsigned a0[4], a1[4];
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int n = 2 * k + (i >> 1), j = (i & 1) * 2;
        a0[i] = ug_at_pack_@half@(ds[n][j], ds[n][j + 1]);
        if (@BY_KEY@) a1[i] = ug_at_pack_@half@(s[n][j], s[n][j + 1]);
      }
      #pragma unroll
      for (int n = 0; n < @D@ / 16; ++n) {
        unsigned b[4];
        const int r = k * 16 + row_a;
        const unsigned to_b = r * (@D@ * 2) + (((2 * n + half_a) ^ (r & 7)) << 4);
        ug_at_load_t(b, c0_at + to_b);
        ug_at_mma_@half@(sums[0][2 * n], a0, b[0], b[1]);
        ug_at_mma_@half@(sums[0][2 * n + 1], a0, b[2], b[3]);
        if (@BY_KEY@) {
          ug_at_load_t(b, c1_at + to_b);
          ug_at_mma_@half@(sums[@BY_KEY@][2 * n], a1, b[0], b[1]);
          ug_at_mma_@half@(sums[@BY_KEY@][2 * n + 1], a1, b[2], b[3]);
        }
      }
    }
    if (++block == blocks) { block = 0; logs += @LEN@; deltas += @LEN@; }
  }
  ug_at_wait();
  #pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = row0 + h * 8;
    if (row < @ROWS@) {
      #pragma unroll
      for (int n = 0; n < @D@ / 8; ++n) {
        *(unsigned*)(g0 + row * (long long)@G0@ + (lane & 3) * 4 + n * 16) = ug_at_pack_@half@(sums[0][n][2 * h] * @SCALE@, sums[0][n][2 * h + 1] * @SCALE@);
        if (@BY_KEY@)
          *(unsigned*)(g1 + row * (long long)@G1@ + (lane & 3) * 4 + n * 16) = ug_at_pack_@half@(sums[@BY_KEY@][n][2 * h], sums[@BY_KEY@][n][2 * h + 1]);
      }
    }
  }
}"#;
