//! The backward passes: a block of queries or of keys.

use super::{Element, Scores, raw};
use unigrad_ir::{Dialect, Place, Raw, Value};

/// Rows of a workgroup in the backward passes.
pub(in crate::lower) const ROWS: u32 = 64;

/// One of the two backward passes. Rows are queries (with `q` and `dout`) and columns keys (with `k` and `v`), or the other way round.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Backward {
    pub(in crate::lower) scores: Scores,
    /// Whether rows are keys.
    pub(in crate::lower) by_key: bool,
    /// Rows of a head that there are.
    pub(in crate::lower) rows: usize,
    /// Query heads that pass by.
    pub(in crate::lower) heads: usize,
    /// Elements from position to position: of both tensors of rows, both of columns, and the gradients (`dq`, or `dk` and `dv`).
    pub(in crate::lower) strides: [i64; 6],
    /// Elements from query head to query head of both tensors of columns.
    pub(in crate::lower) head_strides: [i64; 2],
}

impl Backward {
    /// Columns of a block: as many as registers allow, and the memory of a unit.
    fn columns(&self) -> u32 {
        if self.scores.features == 128 && (self.by_key || self.scores.element == Element::TF32) { 32 } else { 64 }
    }

    /// Bytes of shared memory: rows, two blocks of columns, and what is saved of their queries.
    pub(in crate::lower) fn shared_bytes(&self) -> u32 {
        (2 * ROWS + 4 * self.columns()) * self.scores.features * self.scores.element.bytes() + 128
    }

    /// Places: both tensors of rows, both of columns, the logarithms, the deltas, the gradients (twice the same for `dq`), shared memory.
    /// Values: first elements of the four tensors and of the gradients; of the logarithms; the first row; the columns to go over, from and to;
    /// the offset of queries; how many keys count.
    pub(in crate::lower) fn statement(&self, values: [Value; 12], places: [Place; 9]) -> Raw {
        Raw {
            texts: vec![(Dialect::Cuda, raw(&self.fill(BACKWARD)))],
            preludes: self.scores.element.preludes(),
            values: values.to_vec(),
            places: places.to_vec(),
        }
    }

    /// A text with the numbers in place of their names.
    pub(in crate::lower::native) fn fill(&self, text: &str) -> String {
        let [r0, r1, c0, c1, g0, g1] = self.strides.map(|n| self.scores.element.stride(n));
        let [h0, h1] = self.head_strides.map(|n| self.scores.element.stride(n));
        let constants = [
            ("@BN@", self.columns().to_string()),
            ("@ROWS@", self.rows.to_string()),
            ("@BY_KEY@", u32::from(self.by_key).to_string()),
            ("@HEADS@", self.heads.to_string()),
            ("@R0@", r0),
            ("@R1@", r1),
            ("@C0@", c0),
            ("@C1@", c1),
            ("@G0@", g0),
            ("@G1@", g1),
            ("@H0@", h0),
            ("@H1@", h1),
        ];
        self.scores.fill(text, ["query", "key"], &constants)
    }
}

const BACKWARD: &str = r#"{
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const int first = (int)$v7$, from = (int)$v8$, to = (int)$v9$, offset = (int)$v10$, keys = (int)$v11$;
  const char* const r0 = (const char*)($p0$) + @E@ * (long long)($v0$);
  const char* const r1 = (const char*)($p1$) + @E@ * (long long)($v1$);
  const char* c0 = (const char*)($p2$) + @E@ * (long long)($v2$);
  const char* c1 = (const char*)($p3$) + @E@ * (long long)($v3$);
  char* const g0 = (char*)($p6$) + @E@ * (long long)($v4$);
  char* const g1 = (char*)($p7$) + @E@ * (long long)($v5$);
  const float* logs = ($p4$) + $v6$;
  const float* deltas = ($p5$) + $v6$;
  const unsigned r0_at = ((unsigned)__cvta_generic_to_shared($p8$) + 127u) & ~127u;
  const unsigned r1_at = r0_at + 64 * @W@, c_at = r1_at + 64 * @W@;
  const int piece = tid % (@W@ / 16), line = tid / (@W@ / 16);
  auto copy = [&](unsigned at, const char* x, long long stride, int row0, int rows, int end) {
    #pragma unroll
    for (int i = 0; i < rows / (@T@ / (@W@ / 16)); ++i) {
      const int r = line + i * (@T@ / (@W@ / 16));
      const bool there = row0 + r < end;
      ug_at_copy(at + r * @W@ + ((piece ^ (r & 7)) << 4), x + (there ? (row0 + r) * stride + piece * 16 : 0), there);
    }
  };
  // What this thread copied.
  auto round = [&](unsigned at, int rows) {
    #pragma unroll
    for (int i = 0; i < rows / (@T@ / (@W@ / 16)); ++i) {
      const int r = line + i * (@T@ / (@W@ / 16));
      ug_at_round_@half@(at + r * @W@ + ((piece ^ (r & 7)) << 4));
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
    const unsigned at = c_at + stage * (2 * @BN@ * @W@);
    copy(at, n0, @C0@, from + next_block * @BN@, @BN@, to);
    copy(at + @BN@ * @W@, n1, @C1@, from + next_block * @BN@, @BN@, to);
    if (++next_block == blocks) { next_block = 0; n0 += @H0@; n1 += @H1@; }
  };
  if (steps > 0) copy_next(0);
  ug_at_commit();
  int block = 0;
  #pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const unsigned c0_at = c_at + (step & 1) * (2 * @BN@ * @W@), c1_at = c0_at + @BN@ * @W@;
    ug_at_wait();
    if (step == 0) { round(r0_at, 64); round(r1_at, 64); }
    round(c0_at, @BN@);
    round(c1_at, @BN@);
    __syncthreads();
    if (step + 1 < steps) copy_next((step + 1) & 1);
    ug_at_commit();
    const int column0 = from + block * @BN@;
    float s[@BN@ / 8][4], ds[@BN@ / 8][4];
    #pragma unroll
    for (int n = 0; n < @BN@ / 8; ++n)
      #pragma unroll
      for (int i = 0; i < 4; ++i) { s[n][i] = 0.f; ds[n][i] = 0.f; }
    #pragma unroll
    for (int k = 0; k < @W@ / 32; ++k) {
      unsigned a0[4], a1[4];
      const int ra = warp * 16 + row_a;
      const unsigned to_a = ra * @W@ + (((2 * k + half_a) ^ (ra & 7)) << 4);
      ug_at_load(a0, r0_at + to_a);
      ug_at_load(a1, r1_at + to_a);
      #pragma unroll
      for (int n = 0; n < @BN@ / 16; ++n) {
        unsigned b[4];
        const int r = n * 16 + row_b;
        const unsigned to_b = r * @W@ + (((2 * k + half_b) ^ (r & 7)) << 4);
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
    for (int k = 0; k < @BN@ / (8 * @NB@); ++k) {
      unsigned a0[4], a1[4];
      ug_at_first_@half@(a0, ds[@NB@ * k]);
      if (@BY_KEY@) ug_at_first_@half@(a1, s[@NB@ * k]);
      #pragma unroll
      for (int n = 0; n < @D@ / 16; ++n) {
        unsigned b[4];
        ug_at_turned_@half@<@W@>(b, c0_at + k * (8 * @NB@ * @W@), lane, n);
        ug_at_mma_@half@(sums[0][2 * n], a0, b[0], b[1]);
        ug_at_mma_@half@(sums[0][2 * n + 1], a0, b[2], b[3]);
        if (@BY_KEY@) {
          ug_at_turned_@half@<@W@>(b, c1_at + k * (8 * @NB@ * @W@), lane, n);
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
        const int at = (lane & 3) * (2 * @E@) + n * (8 * @E@);
        ug_at_store_@half@(g0 + row * (long long)@G0@ + at, sums[0][n][2 * h] * @SCALE@, sums[0][n][2 * h + 1] * @SCALE@);
        if (@BY_KEY@) ug_at_store_@half@(g1 + row * (long long)@G1@ + at, sums[@BY_KEY@][n][2 * h], sums[@BY_KEY@][n][2 * h + 1]);
      }
    }
  }
}"#;
