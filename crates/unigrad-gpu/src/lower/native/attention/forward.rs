//! The forward pass: a block of queries.

use super::{KEYS, QUERIES, Scores, raw};
use unigrad_ir::{Dialect, Place, Raw, Value};

/// Where keys and values in pages lie.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Pages {
    /// Positions of a page, pages that there are, pages of a sequence: at least 1 each.
    pub(in crate::lower) size: usize,
    pub(in crate::lower) count: usize,
    pub(in crate::lower) per_sequence: usize,
    /// Elements from page to page, of keys and of values; multiples of 16 bytes.
    pub(in crate::lower) strides: [i64; 2],
}

/// What is known when the program is made.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Forward {
    pub(in crate::lower) scores: Scores,
    /// Elements from position to position of q, k, v and the output; multiples of 16 bytes, the output's of 2 elements.
    pub(in crate::lower) strides: [i64; 4],
    pub(in crate::lower) pages: Option<Pages>,
}

/// Places of the statement: `q`, `k`, `v`, the output, the logarithms, shared memory.
/// Values: the head's first element of `q`, `k`, `v` and the output; its first logarithm; the first query; the keys to go over, from and to;
/// the offset of queries. With pages, the head's first element in the first page, and beside these the table and where the sequence's row begins in it.
impl Forward {
    pub(in crate::lower) fn statement(&self, values: [Value; 9], places: [Place; 6], table: Option<(Place, Value)>) -> Raw {
        Raw {
            texts: vec![(Dialect::Cuda, raw(&self.fill(FORWARD)))],
            preludes: self.scores.element.preludes(),
            values: values.into_iter().chain(table.map(|(_, row)| row)).collect(),
            places: places.into_iter().chain(table.map(|(table, _)| table)).collect(),
        }
    }

    fn fill(&self, text: &str) -> String {
        let [q, k, v, y] = self.strides.map(|n| self.scores.element.stride(n));
        let constants = [
            ("@PAGES@", self.pages.as_ref().map_or_else(String::new, Pages::lookup)),
            ("@KROW@", self.row(&k, 0)),
            ("@VROW@", self.row(&v, 1)),
            ("@BM@", QUERIES.to_string()),
            ("@BN@", KEYS.to_string()),
            ("@QS@", q),
            ("@YS@", y),
        ];
        self.scores.fill(text, ["row", "column"], &constants)
    }

    /// Bytes from the head's first element to a row, of keys (0) or of values (1).
    fn row(&self, stride: &str, side: usize) -> String {
        let Some(pages) = self.pages else { return format!("row * (long long){stride}") };
        format!("page(row) * {}ll + row % {} * (long long){stride}", self.scores.element.stride(pages.strides[side]), pages.size)
    }
}

impl Pages {
    /// The page of a row. Whatever the table says, it is one that there is.
    fn lookup(&self) -> String {
        let Pages { size, count, per_sequence, .. } = *self;
        let [last_of_sequence, last] = [per_sequence, count].map(|n| n - 1);
        format!(
            "const int* const table = ($p6$) + $v9$;
  auto page = [&](int row) {{ return (long long)min(max(table[min(row / {size}, {last_of_sequence})], 0), {last}); }};
  "
        )
    }
}

const FORWARD: &str = r#"{
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const int first = (int)$v5$, from = (int)$v6$, to = (int)$v7$, offset = (int)$v8$;
  const char* const qs = (const char*)($p0$) + @E@ * (long long)($v0$);
  const char* const ks = (const char*)($p1$) + @E@ * (long long)($v1$);
  const char* const vs = (const char*)($p2$) + @E@ * (long long)($v2$);
  char* const ys = (char*)($p3$) + @E@ * (long long)($v3$);
  const unsigned q_at = ((unsigned)__cvta_generic_to_shared($p5$) + 127u) & ~127u;
  const unsigned k_at = q_at + @BM@ * @W@, v_at = k_at + @BN@ * @W@;
  const int piece = tid % (@W@ / 16), line = tid / (@W@ / 16);
  @PAGES@// Of queries (0), keys (1) or values (2); a constant where it is asked.
  auto row_at = [&](int side, int row) -> long long {
    return side == 0 ? row * (long long)@QS@ : side == 1 ? @KROW@ : @VROW@;
  };
  auto copy = [&](unsigned at, const char* x, int side, int row0, int rows, int end) {
    #pragma unroll
    for (int i = 0; i < rows / (@T@ / (@W@ / 16)); ++i) {
      const int r = line + i * (@T@ / (@W@ / 16));
      const bool there = row0 + r < end;
      ug_at_copy(at + r * @W@ + ((piece ^ (r & 7)) << 4), x + (there ? row_at(side, row0 + r) + piece * 16 : 0), there);
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
  float sums[2][@D@ / 8][4], most[2][2], totals[2][2];
  #pragma unroll
  for (int m = 0; m < 2; ++m) {
    #pragma unroll
    for (int n = 0; n < @D@ / 8; ++n) { sums[m][n][0] = 0.f; sums[m][n][1] = 0.f; sums[m][n][2] = 0.f; sums[m][n][3] = 0.f; }
    most[m][0] = most[m][1] = __uint_as_float(0xff800000u);
    totals[m][0] = totals[m][1] = 0.f;
  }
  copy(q_at, qs, 0, first, @BM@, @LEN@);
  if (from < to) copy(k_at, ks, 1, from, @BN@, to);
  ug_at_commit();
  // Rows and pieces of matrix loads: a[m16,k16] and v[k16,n16] row by row, k[n16,k16] with its halves of k side by side.
  const int row_a = lane & 15, half_a = lane >> 4, row_b = (lane & 7) + ((lane >> 4) << 3), half_b = (lane >> 3) & 1;
  const int row0 = first + warp * 32 + (lane >> 2);
  #pragma unroll 1
  for (int key = from; key < to; key += @BN@) {
    ug_at_wait();
    if (key == from) round(q_at, @BM@);
    round(k_at, @BN@);
    __syncthreads();
    copy(v_at, vs, 2, key, @BN@, to);
    ug_at_commit();
    float s[2][@BN@ / 8][4];
    #pragma unroll
    for (int m = 0; m < 2; ++m)
      #pragma unroll
      for (int n = 0; n < @BN@ / 8; ++n) { s[m][n][0] = 0.f; s[m][n][1] = 0.f; s[m][n][2] = 0.f; s[m][n][3] = 0.f; }
    #pragma unroll
    for (int k = 0; k < @W@ / 32; ++k) {
      unsigned a[2][4];
      #pragma unroll
      for (int m = 0; m < 2; ++m) {
        const int r = warp * 32 + m * 16 + row_a;
        ug_at_load(a[m], q_at + r * @W@ + (((2 * k + half_a) ^ (r & 7)) << 4));
      }
      #pragma unroll
      for (int n = 0; n < @BN@ / 16; ++n) {
        unsigned b[4];
        const int r = n * 16 + row_b;
        ug_at_load(b, k_at + r * @W@ + (((2 * k + half_b) ^ (r & 7)) << 4));
        #pragma unroll
        for (int m = 0; m < 2; ++m) {
          ug_at_mma_@half@(s[m][2 * n], a[m], b[0], b[1]);
          ug_at_mma_@half@(s[m][2 * n + 1], a[m], b[2], b[3]);
        }
      }
    }
    ug_at_wait();
    round(v_at, @BN@);
    __syncthreads();
    if (key + @BN@ < to) copy(k_at, ks, 1, key + @BN@, @BN@, to);
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
    for (int k = 0; k < @BN@ / (8 * @NB@); ++k) {
      unsigned a[2][4];
      #pragma unroll
      for (int m = 0; m < 2; ++m) ug_at_first_@half@(a[m], s[m][@NB@ * k]);
      #pragma unroll
      for (int n = 0; n < @D@ / 16; ++n) {
        unsigned b[4];
        ug_at_turned_@half@<@W@>(b, v_at + k * (8 * @NB@ * @W@), lane, n);
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
        char* const y = ys + row * (long long)@YS@ + (lane & 3) * (2 * @E@);
        #pragma unroll
        for (int n = 0; n < @D@ / 8; ++n)
          ug_at_store_@half@(y + n * (8 * @E@), sums[m][n][2 * h] * inverse, sums[m][n][2 * h + 1] * inverse);
      }
    }
}"#;
