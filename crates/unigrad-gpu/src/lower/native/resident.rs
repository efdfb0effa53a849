//! Products of a few rows, again and again, with a matrix that stays in registers, on NVIDIA GPUs since Hopper: matrix instructions of warps, or where
//! factors are `f32` multiply-adds.
//!
//! A workgroup has some columns of the matrix. Its warps share out columns and `k`, and each keeps its part from the first product to the last.
//! A thread reads rows of the other operand from device memory, 16 bytes along `k` at a time, as matrix instructions want them in an order of `k` that both operands share:
//! what the four threads of a group read in one go are the factors of two instructions. Registers of the instructions' operands:
//! <https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-fragment-mma-16816-float>.
//!
//! Always: sums are added in an order that sizes alone decide. Rows are read from the second-level cache, or from the first-level cache after a barrier
//! that has emptied it: other workgroups write them between two products.

use super::attention::raw;
use unigrad_ir::{Dialect, Place, Raw, Value};
use unigrad_scalar::DType;

/// Rows of a tile.
pub(in crate::lower) const ROWS: u32 = 16;
/// Warps and threads of a workgroup.
const WARPS: u32 = 8;
pub(in crate::lower) const THREADS: u32 = WARPS * 32;
/// Columns of a matrix instruction.
const ACROSS: u32 = 8;
/// Registers of a thread for all matrices at most; 255 are there.
pub(in crate::lower) const MOST_REGISTERS: u32 = 128;
/// Registers for matrices, sums and rows, beside addresses; and with what is held for a product's epilogue.
const FOR_PRODUCTS: u32 = 216;
const FOR_ALL: u32 = 232;

/// What is multiplied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lower) enum Factors {
    /// `F32`, by multiply-adds.
    Exact,
    /// `F32`, rounded to TF32.
    Tf32,
    /// `F16` or `BF16`.
    Half(DType),
}

impl Factors {
    fn bytes(self) -> u32 {
        match self {
            Factors::Exact | Factors::Tf32 => 4,
            Factors::Half(_) => 2,
        }
    }
}

/// Sizes of a product; distances count elements.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Resident {
    pub(in crate::lower) factors: Factors,
    /// Rows, columns and sums' terms that there are.
    pub(in crate::lower) rows: u32,
    pub(in crate::lower) columns: u32,
    pub(in crate::lower) k: u32,
    /// Of the rows: the first element, from product to product, from row to row; all whole numbers of 16 bytes.
    pub(in crate::lower) first: i64,
    pub(in crate::lower) by_step: i64,
    pub(in crate::lower) by_row: i64,
    /// Of the matrix: the first element, along `k`, from column to column.
    pub(in crate::lower) matrix: [i64; 3],
    /// Columns of a workgroup.
    own: u32,
    /// Warps along columns, and along `k`.
    across: u32,
    pub(in crate::lower) parts: u32,
    /// Registers of a thread that hold other numbers meanwhile.
    held: u32,
}

impl Resident {
    /// A product whose columns so many workgroups share out; `columns`, `k` and distances as above. `None` if `k` cannot be shared out.
    pub(in crate::lower) fn new(
        factors: Factors,
        [rows, columns, k]: [u32; 3],
        [first, by_step, by_row]: [i64; 3],
        matrix: [i64; 3],
        groups: u32,
    ) -> Option<Resident> {
        let per_line = i64::from(16 / factors.bytes());
        if [first, by_step, by_row].iter().any(|n| n % per_line != 0) || rows == 0 || columns == 0 || k == 0 {
            return None;
        }
        // All registers of all workgroups; this also keeps what is counted below within 32 bits.
        if u64::from(columns) * u64::from(k) > 2 * u64::from(MOST_REGISTERS * THREADS * groups) {
            return None;
        }
        let own = columns.div_ceil(groups * ACROSS) * ACROSS;
        let this = Resident { factors, rows, columns, k, first, by_step, by_row, matrix, own, across: 1, parts: WARPS, held: 0 };
        // Each part of `k` reads its part of the rows, each warp across all of them again; parts meet in shared memory.
        let ways = (0..=WARPS.ilog2()).map(|bits| Resident { across: 1 << bits, parts: WARPS >> bits, ..this });
        let fits = |way: &Resident| {
            let block = if factors == Factors::Exact { 4 } else { 64 / factors.bytes() };
            k.is_multiple_of(block * way.parts) && own.is_multiple_of(ACROSS * way.across) && (factors != Factors::Exact || way.across == 1)
        };
        let cost = |way: &Resident| way.across * k * factors.bytes() + 2 * way.parts * own * 4;
        ways.filter(fits).min_by_key(cost)
    }

    /// The same while so many registers of a thread hold other numbers.
    pub(in crate::lower) fn holding(&self, held: u32) -> Resident {
        Resident { held, ..*self }
    }

    /// Columns of a workgroup, some of them perhaps beyond the end.
    pub(in crate::lower) fn own(&self) -> u32 {
        self.own
    }

    /// Columns of a thread's matrix: for multiply-adds each, else tiles of the instruction.
    fn columns_of_thread(&self) -> u32 {
        if self.factors == Factors::Exact { self.own.div_ceil(32) } else { self.own / ACROSS / self.across }
    }

    /// Steps along `k` of a warp: elements for multiply-adds, else what four threads read in one go.
    fn steps(&self) -> u32 {
        let block = if self.factors == Factors::Exact { 1 } else { 64 / self.factors.bytes() };
        self.k / self.parts / block
    }

    /// Registers of a thread for the matrix.
    pub(in crate::lower) fn registers(&self) -> u32 {
        let words = if self.factors == Factors::Exact { 1 } else { 4 };
        self.columns_of_thread() * self.steps() * words
    }

    /// Steps whose rows a thread of matrix instructions reads before it multiplies: as many as there are registers for.
    fn ahead(&self) -> u32 {
        let taken = MOST_REGISTERS + 4 * self.columns_of_thread();
        let free = FOR_PRODUCTS.min(FOR_ALL.saturating_sub(self.held)).saturating_sub(taken);
        (free / 8).clamp(1, self.steps().max(1))
    }

    /// Sums in shared memory: `[parts][ROWS][own]`.
    pub(in crate::lower) fn sums(&self) -> u32 {
        self.parts * ROWS * self.own
    }

    fn fill(&self, number: usize, text: &str) -> String {
        let (ptx, element) = match self.factors {
            Factors::Exact => ("", "float"),
            Factors::Tf32 => ("tf32", "unsigned"),
            Factors::Half(DType::BF16) => ("bf16", "unsigned short"),
            Factors::Half(_) => ("f16", "unsigned short"),
        };
        let per_line = 16 / self.factors.bytes();
        let names: [(&str, String); 21] = [
            ("@W@", format!("ug_matrix{number}")),
            ("@TYPE@", element.to_owned()),
            ("@PTX@", ptx.to_owned()),
            ("@COLUMNS@", self.columns_of_thread().to_string()),
            ("@STEPS@", self.steps().to_string()),
            ("@OWN@", self.own.to_string()),
            ("@ACROSS@", self.across.to_string()),
            ("@ROWS@", self.rows.to_string()),
            ("@ALL@", self.columns.to_string()),
            ("@KPART@", (self.k / self.parts).to_string()),
            ("@LINE@", per_line.to_string()),
            ("@BLOCK@", (4 * per_line).to_string()),
            ("@FIRST@", self.matrix[0].to_string()),
            ("@BYK@", self.matrix[1].to_string()),
            ("@BYCOLUMN@", self.matrix[2].to_string()),
            ("@SIZE@", self.factors.bytes().to_string()),
            ("@AFIRST@", self.first.to_string()),
            ("@BYSTEP@", self.by_step.to_string()),
            ("@BYROW@", self.by_row.to_string()),
            ("@TILE@", ROWS.to_string()),
            ("@AHEAD@", self.ahead().to_string()),
        ];
        names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// Brings the matrix into registers, which stay there to the program's end: as a statement of its outermost block. Value: the workgroup's first
    /// column (`U32`). Place: the matrix. `number` tells matrices of a program apart.
    pub(in crate::lower) fn bring(&self, number: usize, first_column: Value, matrix: Place) -> Raw {
        let text = match self.factors {
            Factors::Exact => BRING,
            Factors::Tf32 => BRING_TF32,
            Factors::Half(_) => BRING_HALVES,
        };
        Raw {
            texts: vec![(Dialect::Cuda, raw(&self.fill(number, text)))],
            preludes: vec![(Dialect::Cuda, PRELUDE.to_owned())],
            values: vec![first_column],
            places: vec![matrix],
        }
    }

    /// Sums of [`ROWS`] rows, as a statement that all threads take part in: to shared memory ([`Resident::sums`]), which all of them have written when it
    /// ends. Values: the first row, the step (`U32`). Places: the rows' operand, shared memory (`F32`).
    pub(in crate::lower) fn multiply(&self, number: usize, values: [Value; 2], places: [Place; 2]) -> Raw {
        let text = if self.factors == Factors::Exact { MULTIPLY } else { MULTIPLY_TILES };
        let prelude = match self.factors {
            Factors::Exact => String::new(),
            Factors::Tf32 => instruction("tf32", "m16n8k8"),
            Factors::Half(DType::BF16) => instruction("bf16", "m16n8k16"),
            Factors::Half(_) => instruction("f16", "m16n8k16"),
        };
        let round = if self.factors == Factors::Tf32 { ROUND } else { "" };
        Raw {
            texts: vec![(Dialect::Cuda, raw(&self.fill(number, &text.replace("@ROUND@", round))))],
            preludes: vec![(Dialect::Cuda, PRELUDE.to_owned()), (Dialect::Cuda, prelude)],
            values: values.to_vec(),
            places: places.to_vec(),
        }
    }
}

/// What the workgroups of a cluster wrote is there for all of them.
pub(in crate::lower) fn meet() -> Raw {
    let text = "asm volatile(\"barrier.cluster.arrive.release; barrier.cluster.wait.acquire;\" ::: \"memory\");";
    Raw { texts: vec![(Dialect::Cuda, raw(text))], preludes: Vec::new(), values: Vec::new(), places: Vec::new() }
}

const PRELUDE: &str = r#"static __device__ __forceinline__ void ug_resident_line(unsigned (&r)[4], const void* from) {
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(from) : "memory");
}
static __device__ __forceinline__ unsigned ug_resident_tf32(unsigned x) {
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(__uint_as_float(x)));
  return r;
}
"#;

fn instruction(element: &str, shape: &str) -> String {
    format!(
        r#"static __device__ __forceinline__ void ug_resident_{element}(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {{
  asm("mma.sync.aligned.{shape}.row.col.f32.{element}.{element}.f32 {{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}}
"#
    )
}

const BRING: &str = r#"float @W@[@STEPS@][@COLUMNS@];
{
  const unsigned lane = threadIdx.x & 31u, k0 = (threadIdx.x >> 5) * @KPART@u;
  #pragma unroll
  for (unsigned k = 0; k < @STEPS@u; ++k) {
    #pragma unroll
    for (unsigned j = 0; j < @COLUMNS@u; ++j) {
      const unsigned own = lane + j * 32u, n = $v0$ + own;
      @W@[k][j] = own < @OWN@u && n < @ALL@u ? $p0$[@FIRST@ll + (long long)(k0 + k) * @BYK@ll + (long long)n * @BYCOLUMN@ll] : 0.0f;
    }
  }
}"#;

const BRING_TF32: &str = r#"unsigned @W@[@STEPS@][@COLUMNS@][4];
{
  const unsigned lane = threadIdx.x & 31u, warp = threadIdx.x >> 5;
  const unsigned k0 = warp / @ACROSS@u * @KPART@u + (lane & 3u) * @LINE@u, n0 = $v0$ + warp % @ACROSS@u * (@COLUMNS@u * 8u) + (lane >> 2);
  #pragma unroll
  for (unsigned b = 0; b < @STEPS@u; ++b) {
    #pragma unroll
    for (unsigned j = 0; j < @COLUMNS@u; ++j) {
      #pragma unroll
      for (unsigned e = 0; e < 4u; ++e) {
        const unsigned n = n0 + j * 8u;
        const float x = n < @ALL@u ? $p0$[@FIRST@ll + (long long)(k0 + b * @BLOCK@u + e) * @BYK@ll + (long long)n * @BYCOLUMN@ll] : 0.0f;
        @W@[b][j][e] = ug_resident_tf32(__float_as_uint(x));
      }
    }
  }
}"#;

const BRING_HALVES: &str = r#"unsigned @W@[@STEPS@][@COLUMNS@][4];
{
  const unsigned lane = threadIdx.x & 31u, warp = threadIdx.x >> 5;
  const unsigned k0 = warp / @ACROSS@u * @KPART@u + (lane & 3u) * @LINE@u, n0 = $v0$ + warp % @ACROSS@u * (@COLUMNS@u * 8u) + (lane >> 2);
  #pragma unroll
  for (unsigned b = 0; b < @STEPS@u; ++b) {
    #pragma unroll
    for (unsigned j = 0; j < @COLUMNS@u; ++j) {
      #pragma unroll
      for (unsigned e = 0; e < 4u; ++e) {
        const unsigned n = n0 + j * 8u;
        const long long at = @FIRST@ll + (long long)(k0 + b * @BLOCK@u + 2u * e) * @BYK@ll + (long long)n * @BYCOLUMN@ll;
        @W@[b][j][e] = n < @ALL@u ? (unsigned)$p0$[at] | (unsigned)$p0$[at + @BYK@ll] << 16 : 0u;
      }
    }
  }
}"#;

const ROUND: &str = r#"
      #pragma unroll
      for (unsigned e = 0; e < 4u; ++e) { x[i][e] = ug_resident_tf32(x[i][e]); y[i][e] = ug_resident_tf32(y[i][e]); }"#;

/// A row beyond the last one is the last one again: its sums are left.
const MULTIPLY_TILES: &str = r#"{
  const unsigned lane = threadIdx.x & 31u, warp = threadIdx.x >> 5, part = warp / @ACROSS@u, place = warp % @ACROSS@u;
  const unsigned r0 = $v0$ + (lane >> 2), r1 = r0 + 8u;
  const char* const rows = (const char*)$p0$ + @SIZE@ll * (@AFIRST@ll + (long long)$v1$ * @BYSTEP@ll + (long long)(part * @KPART@u + (lane & 3u) * @LINE@u));
  const char* const row0 = rows + @SIZE@ll * (long long)(r0 < @ROWS@u ? r0 : @ROWS@u - 1u) * @BYROW@ll;
  const char* const row1 = rows + @SIZE@ll * (long long)(r1 < @ROWS@u ? r1 : @ROWS@u - 1u) * @BYROW@ll;
  float sums[@COLUMNS@][4];
  #pragma unroll
  for (unsigned j = 0; j < @COLUMNS@u; ++j)
    #pragma unroll
    for (unsigned e = 0; e < 4u; ++e) sums[j][e] = 0.0f;
  #pragma unroll
  for (unsigned b0 = 0; b0 < @STEPS@u; b0 += @AHEAD@u) {
    unsigned x[@AHEAD@][4], y[@AHEAD@][4];
    #pragma unroll
    for (unsigned i = 0; i < @AHEAD@u; ++i) {
      if (b0 + i < @STEPS@u) {
        ug_resident_line(x[i], row0 + (b0 + i) * 64u);
        ug_resident_line(y[i], row1 + (b0 + i) * 64u);
      }
    }
    #pragma unroll
    for (unsigned i = 0; i < @AHEAD@u; ++i) {
      if (b0 + i < @STEPS@u) {@ROUND@
        #pragma unroll
        for (unsigned j = 0; j < @COLUMNS@u; ++j) {
          const unsigned (&w)[4] = @W@[b0 + i][j];
          ug_resident_@PTX@(sums[j], x[i][0], y[i][0], x[i][1], y[i][1], w[0], w[1]);
          ug_resident_@PTX@(sums[j], x[i][2], y[i][2], x[i][3], y[i][3], w[2], w[3]);
        }
      }
    }
  }
  float* const to = $p1$ + (part * @TILE@u + (lane >> 2)) * @OWN@u + place * (@COLUMNS@u * 8u) + (lane & 3u) * 2u;
  #pragma unroll
  for (unsigned j = 0; j < @COLUMNS@u; ++j) {
    to[j * 8u] = sums[j][0];
    to[j * 8u + 1u] = sums[j][1];
    to[j * 8u + 8u * @OWN@u] = sums[j][2];
    to[j * 8u + 8u * @OWN@u + 1u] = sums[j][3];
  }
  __syncthreads();
}"#;

const MULTIPLY: &str = r#"{
  const unsigned lane = threadIdx.x & 31u, part = threadIdx.x >> 5;
  const float* const rows = (const float*)$p0$ + (@AFIRST@ll + (long long)$v1$ * @BYSTEP@ll + (long long)(part * @KPART@u));
  #pragma unroll 1
  for (unsigned r = 0; r < @TILE@u; r += 2u) {
    const unsigned r0 = $v0$ + r, r1 = r0 + 1u;
    const float* const row0 = rows + (long long)(r0 < @ROWS@u ? r0 : @ROWS@u - 1u) * @BYROW@ll;
    const float* const row1 = rows + (long long)(r1 < @ROWS@u ? r1 : @ROWS@u - 1u) * @BYROW@ll;
    float sums[2][@COLUMNS@];
    #pragma unroll
    for (unsigned j = 0; j < @COLUMNS@u; ++j) sums[0][j] = sums[1][j] = 0.0f;
    #pragma unroll
    for (unsigned k0 = 0; k0 < @STEPS@u; k0 += 16u) {
      unsigned x[4][4], y[4][4];
      #pragma unroll
      for (unsigned i = 0; i < 4u; ++i) {
        if (k0 + i * 4u < @STEPS@u) {
          ug_resident_line(x[i], row0 + k0 + i * 4u);
          ug_resident_line(y[i], row1 + k0 + i * 4u);
        }
      }
      #pragma unroll
      for (unsigned i = 0; i < 16u; ++i) {
        if (k0 + i < @STEPS@u) {
          #pragma unroll
          for (unsigned j = 0; j < @COLUMNS@u; ++j) {
            sums[0][j] = __fmaf_rn(__uint_as_float(x[i / 4u][i % 4u]), @W@[k0 + i][j], sums[0][j]);
            sums[1][j] = __fmaf_rn(__uint_as_float(y[i / 4u][i % 4u]), @W@[k0 + i][j], sums[1][j]);
          }
        }
      }
    }
    #pragma unroll
    for (unsigned j = 0; j < @COLUMNS@u; ++j) {
      const unsigned own = lane + j * 32u;
      if (own < @OWN@u) {
        $p1$[(part * @TILE@u + r) * @OWN@u + own] = sums[0][j];
        $p1$[(part * @TILE@u + r + 1u) * @OWN@u + own] = sums[1][j];
      }
    }
  }
  __syncthreads();
}"#;
