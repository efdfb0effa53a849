//! Attention on NVIDIA tensor cores (compute capability 8.0 and newer), of half types, and of `F32` where TF32 is allowed: a block of queries
//! forward ([`forward`]), a block of queries or keys backward ([`backward`]).
//!
//! Forward, a workgroup of four warps has 128 queries, a warp 32 of them. Keys and values come in blocks of [`KEYS`] by asynchronous copies: values are
//! on their way while scores are multiplied, the next keys while values are. Scores, probabilities and sums stay in registers; the layout of a
//! product's result is that of the next one's operand. Backward, a warp has 16 rows: queries for `dq`, keys for `dk` and `dv`; blocks of the
//! other side pass by, the next one being copied while one is multiplied, and probabilities are made again from the saved logarithms. Rows in shared memory are stored with their 16-byte pieces swapped (piece `c` of row
//! `r` at `c ^ (r % 8)`), so that neither copies nor matrix loads meet in a bank.
//!
//! The texts are the same for all elements: an instruction takes 32 bytes of a row, 16 halves or 8 numbers of TF32. What differs stands in [`Element::words`].
//! Always: an `F32` is rounded to the nearest TF32, by the thread that copied it; the instructions by themselves would cut it off.

mod backward;
mod forward;

pub(in crate::lower) use backward::{Backward, ROWS};
pub(in crate::lower) use forward::{Forward, Pages};

use unigrad_ir::{Dialect, Target};
use unigrad_scalar::DType;

/// Threads of a workgroup.
pub(in crate::lower) const THREADS: u32 = 128;
/// Queries of a workgroup.
pub(in crate::lower) const QUERIES: u32 = 128;
/// Keys of a block.
pub(in crate::lower) const KEYS: u32 = 64;

/// What the instructions multiply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::lower) enum Element {
    F16,
    BF16,
    TF32,
}

impl Element {
    /// Of tensors of a dtype.
    pub(in crate::lower) fn of(dtype: DType, tf32: bool) -> Option<Element> {
        match dtype {
            DType::F16 => Some(Element::F16),
            DType::BF16 => Some(Element::BF16),
            DType::F32 => tf32.then_some(Element::TF32),
            DType::F64 | DType::F8E4M3 | DType::F8E5M2 | DType::Bool => None,
            DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64 => None,
        }
    }

    /// Its name in PTX.
    pub(super) fn name(self) -> &'static str {
        match self {
            Element::F16 => "f16",
            Element::BF16 => "bf16",
            Element::TF32 => "tf32",
        }
    }

    /// In memory.
    pub(in crate::lower) fn bytes(self) -> u32 {
        if self == Element::TF32 { 4 } else { 2 }
    }

    /// How many are copied at once: 16 bytes.
    pub(in crate::lower) fn copied(self) -> i64 {
        16 / i64::from(self.bytes())
    }

    /// So many elements, in bytes.
    fn stride(self, elements: i64) -> String {
        (elements * i64::from(self.bytes())).to_string()
    }

    /// What a text is preceded by.
    pub(super) fn preludes(self) -> Vec<(Dialect, String)> {
        let words = if self == Element::TF32 { TF32 } else { HALVES };
        [COMMON, words].map(|text| (Dialect::Cuda, text.replace("@half@", self.name()))).to_vec()
    }
}

/// What is known of scores when a program is made.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Scores {
    pub(in crate::lower) element: Element,
    /// Features of queries, keys and values alike: 64 or 128.
    pub(in crate::lower) features: u32,
    pub(in crate::lower) q_len: usize,
    pub(in crate::lower) scale: f64,
    pub(in crate::lower) causal: bool,
    pub(in crate::lower) window: Option<i64>,
}

impl Scores {
    /// A text with numbers in place of their names, in which a query and a key are called so.
    fn fill(&self, text: &str, [query, key]: [&str; 2], constants: &[(&str, String)]) -> String {
        let Scores { element, features, q_len, scale, causal, window } = *self;
        let never = || "false".to_owned();
        let number = |x: f32| format!("__uint_as_float({}u)", x.to_bits());
        let own = [
            ("@half@", element.name().to_owned()),
            ("@D@", features.to_string()),
            ("@W@", (features * element.bytes()).to_string()),
            ("@E@", element.bytes().to_string()),
            // Blocks of 8 rows or columns that an instruction takes at a time.
            ("@NB@", (4 / element.bytes()).to_string()),
            ("@T@", THREADS.to_string()),
            ("@LEN@", q_len.to_string()),
            ("@SCALE2@", number((scale * std::f64::consts::LOG2_E) as f32)),
            ("@SCALE@", number(scale as f32)),
            ("@FUTURE@", if causal { format!("{key} > {query} + offset") } else { never() }),
            ("@PAST@", window.map_or_else(never, |window| format!("{key} <= {query} + offset - {window}"))),
            ("@CAUSAL@", u32::from(causal).to_string()),
            ("@WINDOW@", u32::from(window.is_some()).to_string()),
            ("@WIDTH@", window.unwrap_or(0).to_string()), // DEFAULT: without a window nothing has a width
        ];
        own.iter().chain(constants).fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }
}

/// Whether a target has these instructions, and the memory.
pub(in crate::lower) fn available(target: &Target, element: Element, features: usize) -> bool {
    let capability = target.arch.strip_prefix("sm_").and_then(|n| n.trim_end_matches(char::is_alphabetic).parse::<u32>().ok());
    target.dialect == Dialect::Cuda
        && target.own_words
        && capability.is_some_and(|n| n >= 80)
        && target.max_threads >= THREADS
        && target.shared_bytes >= shared_bytes(element, features as u32) as usize
}

/// Bytes of shared memory forward.
pub(in crate::lower) fn shared_bytes(element: Element, features: u32) -> u32 {
    (QUERIES + 2 * KEYS) * features * element.bytes() + 128
}

/// `$v0$` is a value, `$p0$` a place, braces are braces.
pub(super) fn raw(text: &str) -> String {
    let text = text.replace('{', "{{").replace('}', "}}");
    text.split('$').enumerate().map(|(i, part)| if i % 2 == 1 { format!("{{{part}}}") } else { part.to_owned() }).collect()
}

const COMMON: &str = r#"static __device__ __forceinline__ void ug_at_copy(unsigned to, const char* from, bool there) {
  int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(from), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void ug_at_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
static __device__ __forceinline__ void ug_at_wait() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }
static __device__ __forceinline__ void ug_at_load(unsigned* r, unsigned at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
static __device__ __forceinline__ float ug_at_exp2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
"#;

/// Of an element: a product; what a tile's 16 bytes are rounded to, where they are not elements yet; the first operand made of a result of the product
/// before; the second one, of rows of a tile that are its depth (columns `16 n` and on; `W` bytes a row); two elements stored.
const HALVES: &str = r#"static __device__ __forceinline__ void ug_at_mma_@half@(float* c, const unsigned* a, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.@half@.@half@.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
static __device__ __forceinline__ void ug_at_round_@half@(unsigned) {}
static __device__ __forceinline__ unsigned ug_at_pack_@half@(float low, float high) {
  unsigned r;
  asm("cvt.rn.@half@x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
static __device__ __forceinline__ void ug_at_first_@half@(unsigned* a, const float* s) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) a[i] = ug_at_pack_@half@(s[2 * i], s[2 * i + 1]);
}
static __device__ __forceinline__ void ug_at_load_t(unsigned* r, unsigned at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
template <int W> static __device__ __forceinline__ void ug_at_turned_@half@(unsigned* b, unsigned tile, int lane, int n) {
  ug_at_load_t(b, tile + (lane & 15) * W + (((2 * n + (lane >> 4)) ^ (lane & 7)) << 4));
}
static __device__ __forceinline__ void ug_at_store_@half@(char* to, float low, float high) { *(unsigned*)to = ug_at_pack_@half@(low, high); }
"#;

/// The depth of a second product is in any order, if it is the same for both operands: a result's neighbours are elements `t` and `t + 4` of the first.
const TF32: &str = r#"static __device__ __forceinline__ void ug_at_mma_tf32(float* c, const unsigned* a, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
static __device__ __forceinline__ unsigned ug_at_near(float x) {
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
static __device__ __forceinline__ void ug_at_round_tf32(unsigned at) {
  float x, y, z, w;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "r"(at) : "memory");
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
    :: "r"(at), "r"(ug_at_near(x)), "r"(ug_at_near(y)), "r"(ug_at_near(z)), "r"(ug_at_near(w)) : "memory");
}
static __device__ __forceinline__ void ug_at_first_tf32(unsigned* a, const float* s) {
  a[0] = ug_at_near(s[0]); a[1] = ug_at_near(s[2]); a[2] = ug_at_near(s[1]); a[3] = ug_at_near(s[3]);
}
template <int W> static __device__ __forceinline__ void ug_at_turned_tf32(unsigned* b, unsigned tile, int lane, int n) {
  const int t = lane & 3, g = lane >> 2;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    // Piece `4 n + 2 (i / 2) + g / 4` of row `2 t + i % 2`; the first two parts are constants.
    const int piece = 4 * n + (i & 2), own = (g >> 2) ^ (2 * t + (i & 1));
    const unsigned at = tile + (2 * t + (i & 1)) * W + (piece >> 3) * 128 + ((own ^ (piece & 7)) << 4) + (g & 3) * 4;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(b[i]) : "r"(at) : "memory");
  }
}
static __device__ __forceinline__ void ug_at_store_tf32(char* to, float low, float high) { *(float2*)to = make_float2(low, high); }
"#;
