//! Products of `F32` rounded to TF32 on NVIDIA Hopper: warpgroup matrix instructions on operands in shared memory.
//!
//! These instructions want both operands along `k`, and cut off what TF32 has no bits for. So nothing is copied: threads load a stage into registers while the two before
//! are multiplied, round it, and store it along `k`, in the layout of 128-byte swizzles: lane `x` has 128 bytes at `128 x`, whose 16-byte pieces are exchanged by XOR with
//! `x % 8`. Where lanes are neighbours in memory, a thread has squares of 4 lanes and 4 `k`, which it turns: eight threads with neighbouring numbers load 128 bytes of one
//! row (where they loaded 32 bytes of four rows each, a product of 4096 took 0.75 ms, bound by the first-level cache), and store to different banks.
//!
//! Three stages: one is multiplied, one is being read by instructions that a warpgroup may still be behind with, one is written. One barrier a stage: before it the
//! stage is written, and every warpgroup has waited for the multiplication two before.
//! The instructions: <https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions>.
//!
//! Always: elements are rounded to nearest, ties away from zero (`cvt.rna`), sums are in `F32`, in an order that sizes alone decide. What lies beyond the operands is zero.
//! Never: takes an operand that has no aligned runs of four elements, or that threads make.

use super::attention::raw;
use super::tf32::{Operand, offset};
use super::wgmma;
use unigrad_ir::{Dialect, Place, Raw, Target, Value};

/// Elements of `k` in a stage: 128 bytes.
pub(in crate::lower) const BK: u32 = super::tf32::BK;
/// Rows of a tile: 64 of each warpgroup.
pub(in crate::lower) const BM: u32 = 128;
/// Threads of a workgroup.
pub(in crate::lower) const THREADS: u32 = 256;
/// Columns of a tile, those that there are loops for.
pub(in crate::lower) const WIDTHS: [u32; 2] = [256, 128];
const STAGES: u32 = 3;
/// Elements of `k` of an instruction.
const DEPTH: u32 = 8;

/// Whether a target has these instructions.
pub(in crate::lower) fn available(target: &Target) -> bool {
    wgmma::available(target)
}

/// Sizes of the loop. Tiles of `a` have [`BM`] lanes, those of `b` one of [`WIDTHS`].
#[derive(Clone, Debug)]
pub(in crate::lower) struct Loop {
    pub(in crate::lower) a: Operand,
    pub(in crate::lower) b: Operand,
    /// Length of the sums, and elements of it in a part: a multiple of [`BK`].
    pub(in crate::lower) k: u64,
    pub(in crate::lower) part: u64,
    /// Whether stages can reach beyond the end of `k`.
    pub(in crate::lower) masked: bool,
}

impl Operand {
    /// Vectors of four elements that a thread holds of a stage.
    fn held(&self) -> u32 {
        self.tile * BK / 4 / THREADS
    }

    /// Declares where the thread's elements are, in memory and in a stage: `place`, `first` and `base` are the operand's memory, first lane and first element.
    fn place_setup(&self, name: &str, first: &str, base: &str, at: u32) -> String {
        let (lanes, held) = (self.lanes, self.held());
        let is_masked = !lanes.is_multiple_of(self.tile.into());
        let there = |lane: &str| if is_masked { format!("{lane} < {lanes}u") } else { "true".to_owned() };
        let whole = |lane: &str| if is_masked { format!("({lane} < {lanes}u ? {lane} : 0u)") } else { lane.to_owned() };
        let (lane, to, n, step) = if self.k_major {
            // Eight threads have the 128 bytes of a lane.
            let lane = format!("const unsigned {name}_k = tid % 8u * 4u, {name}_lane = tid / 8u;\n");
            let to = format!("{at}u + {name}_lane * 128u + ((tid % 8u ^ {name}_lane & 7u) << 4)");
            (lane, to, held, THREADS / 8)
        } else {
            // Eight threads have a row's 128 bytes; their lanes, of squares that are turned, are stored in such an order that no two of them meet in a bank.
            let lane = format!(
                "const unsigned {name}_k = (tid >> 3 & 7u) * 4u, {name}_lane = (tid >> 6) * 32u + (tid & 7u) * 4u;\n\
                 unsigned {name}_line[4];\n#pragma unroll\nfor (unsigned s = 0; s < 4u; ++s) {{\n  const unsigned j = s + (tid >> 1) & 3u;\n  \
                 {name}_line[s] = j * 128u + (((tid >> 3 & 7u) ^ ((tid & 1u) * 4u + j)) << 4);\n}}\n"
            );
            (lane, format!("{at}u + {name}_lane * 128u"), held / 4, BM)
        };
        let at = format!("({first} + {name}_lane + {step}u * i)");
        format!(
            "{lane}const unsigned {name}_to = {to};\n\
             unsigned {name}_from[{n}], {name}_there = 0u;\n\
             #pragma unroll\nfor (unsigned i = 0; i < {n}u; ++i) {{\n  const unsigned x = {at};\n  \
             {name}_from[i] = {base} + {offset};\n  {name}_there |= (unsigned)({there}) << i;\n}}\n\
             float4 {name}_held[{held}];\n",
            there = there("x"),
            offset = offset(&self.dims, &whole("x")),
        )
    }

    /// Loads the thread's elements of the stage that begins at `k_next`.
    fn fetch(&self, name: &str, memory: &str, (k, masked): (u64, bool)) -> String {
        let held = self.held();
        let load = |at: &str, from: &str, is_there: &str| format!("{name}_held[{at}] = ug_tf32_get({memory} + {from}, {is_there});");
        if self.k_major {
            let there = if masked { format!("k_next + {name}_k < {k}u") } else { "true".to_owned() };
            return format!(
                "{{ const bool k_there = {there}; const unsigned ahead = k_there ? {ahead} : 0u;\n\
                 #pragma unroll\nfor (unsigned i = 0; i < {held}u; ++i) {load} }}\n",
                ahead = offset(&self.k, &format!("k_next + {name}_k")),
                load = load("i", &format!("({name}_from[i] + ahead)"), &format!("(k_there && ({name}_there >> i & 1u))")),
            );
        }
        let there = if masked { format!("k < {k}u") } else { "true".to_owned() };
        format!(
            "#pragma unroll\nfor (unsigned r = 0; r < 4u; ++r) {{\n  const unsigned k = k_next + {name}_k + r; const bool k_there = {there}; const unsigned ahead = k_there ? {ahead} : 0u;\n  \
             #pragma unroll\n  for (unsigned i = 0; i < {n}u; ++i) {load}\n}}\n",
            ahead = offset(&self.k, "k"),
            n = held / 4,
            load = load("i * 4u + r", &format!("({name}_from[i] + ahead)"), &format!("(k_there && ({name}_there >> i & 1u))")),
        )
    }

    /// Rounds what was loaded, and stores it to the stage at the byte `to`.
    fn store(&self, name: &str) -> String {
        let held = self.held();
        if self.k_major {
            return format!(
                "#pragma unroll\nfor (unsigned i = 0; i < {held}u; ++i) {{ const float4 x = {name}_held[i]; ug_tf32_put(to + {name}_to + i * {step}u, x.x, x.y, x.z, x.w); }}\n",
                step = THREADS / 8 * 128,
            );
        }
        let lines: String = ["x", "y", "z", "w"]
            .iter()
            .enumerate()
            .map(|(at, lane)| {
                format!("  ug_tf32_put(to + {name}_to + i * {step}u + {name}_line[{at}], x[0].{lane}, x[1].{lane}, x[2].{lane}, x[3].{lane});\n", step = BM * 128)
            })
            .collect();
        format!(
            "#pragma unroll\nfor (unsigned i = 0; i < {n}u; ++i) {{\n  float4 x[4];\n  #pragma unroll\n  for (unsigned r = 0; r < 4u; ++r) x[r] = ug_tf32_turn({name}_held[i * 4u + r], tid);\n{lines}}}\n",
            n = held / 4,
        )
    }
}

impl Loop {
    fn stage_bytes(&self) -> u32 {
        (self.a.tile + self.b.tile) * BK * 4
    }

    /// Elements from row to row of the sums in shared memory.
    pub(in crate::lower) fn ld(&self) -> u32 {
        self.b.tile + 8
    }

    /// Bytes of shared memory: stages, aligned to what swizzles need, later sums.
    pub(in crate::lower) fn shared_bytes(&self) -> u32 {
        (STAGES * self.stage_bytes() + 1024).max(BM * self.ld() * 4)
    }

    /// Sums that a thread holds.
    pub(in crate::lower) fn sums(&self) -> u32 {
        BM * self.b.tile / THREADS
    }

    /// How many workgroups a unit should have room for: one multiplies while the other stores.
    pub(in crate::lower) fn at_once(&self) -> u32 {
        if self.b.tile > BM { 1 } else { 2 }
    }

    fn n_stages(&self) -> u64 {
        self.part.min(self.k).div_ceil(BK.into())
    }

    /// The loop as a statement. Places: `a`, `b`, shared memory, the array of sums (floats). Values (`U32`): the tile's first row and first column, the batch item's
    /// first element of `a` and of `b`, the part's first `k`.
    pub(in crate::lower) fn statement(&self, values: [Value; 5], places: [Place; 4]) -> Raw {
        Raw {
            texts: vec![(Dialect::Cuda, raw(&self.text()))],
            preludes: vec![(Dialect::Cuda, wgmma::MATRIX.to_owned()), (Dialect::Cuda, self.prelude())],
            values: values.to_vec(),
            places: places.to_vec(),
        }
    }

    fn prelude(&self) -> String {
        let (n, sums) = (self.b.tile, self.sums());
        let registers = (0..sums).map(|i| format!("%{i}")).collect::<Vec<_>>().join(", ");
        let operands = (0..sums).map(|i| format!("\"+f\"(d[{i}])")).collect::<Vec<_>>().join(", ");
        let (a, b, scale) = (sums, sums + 1, sums + 2);
        format!(
            r#"static __device__ __forceinline__ float4 ug_tf32_get(const float* from, bool there) {{
  float4 x;
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, %5, 0; mov.f32 %0, 0f00000000; mov.f32 %1, 0f00000000; mov.f32 %2, 0f00000000; mov.f32 %3, 0f00000000; @p ld.global.L1::no_allocate.L2::128B.v4.f32 {{%0, %1, %2, %3}}, [%4]; }}"
    : "=&f"(x.x), "=&f"(x.y), "=&f"(x.z), "=&f"(x.w) : "l"(from), "r"((int)there));
  return x;
}}
static __device__ __forceinline__ float4 ug_tf32_turn(float4 x, unsigned tid) {{
  if (tid & 2u) x = make_float4(x.y, x.z, x.w, x.x);
  if (tid & 4u) x = make_float4(x.z, x.w, x.x, x.y);
  return x;
}}
static __device__ __forceinline__ void ug_tf32_put(unsigned to, float a, float b, float c, float d) {{
  asm volatile("{{ .reg .b32 a, b, c, d; cvt.rna.tf32.f32 a, %1; cvt.rna.tf32.f32 b, %2; cvt.rna.tf32.f32 c, %3; cvt.rna.tf32.f32 d, %4; st.shared.v4.b32 [%0], {{a, b, c, d}}; }}"
    :: "r"(to), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
}}
static __device__ __forceinline__ void ug_tf32_multiply_group(float* d, unsigned long long a, unsigned long long b, int add) {{
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{scale}, 0; wgmma.mma_async.sync.aligned.m64n{n}k8.f32.tf32.tf32 {{{registers}}}, %{a}, %{b}, p, 1, 1; }}"
    : {operands} : "l"(a), "l"(b), "r"(add));
}}
"#
        )
    }

    fn text(&self) -> String {
        let (stage, n_stages, b_at) = (self.stage_bytes(), self.n_stages(), self.a.tile * BK * 4);
        let setup = self.a.place_setup("a", "$v0$", "$v2$", 0) + &self.b.place_setup("b", "$v1$", "$v3$", b_at);
        let reach = (self.k, self.masked);
        let fetch = self.a.fetch("a", "(const float*)$p0$", reach) + &self.b.fetch("b", "(const float*)$p1$", reach);
        let store = self.a.store("a") + &self.b.store("b");
        let multiplications: String = (0..BK / DEPTH)
            .map(|at| {
                let add = if at == 0 { "started" } else { "1" };
                // Addresses in descriptors count 16 bytes.
                let ahead = at * DEPTH * 4 / 16;
                format!("  ug_tf32_multiply_group($p3$, da + {ahead}ull, db + {ahead}ull, {add});\n")
            })
            .collect();
        format!(
            r#"{{
const unsigned tid = threadIdx.x;
const unsigned smem = ((unsigned)__cvta_generic_to_shared($p2$) + 1023u) & ~1023u;
const unsigned wg = __shfl_sync(0xffffffffu, tid >> 7, 0);
unsigned k_next = $v4$;
{setup}auto fetch = [&]() {{
{fetch}k_next += {BK}u;
}};
auto put = [&](unsigned to) {{
{store}asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}};
fetch();
put(smem);
if ({n_stages}u > 1u) fetch();
unsigned from = 0; int started = 0;
#pragma unroll 1
for (unsigned tile = 0; tile < {n_stages}u; ++tile) {{
  __syncthreads();
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  const unsigned long long da = ug_matrix(smem + from + wg * {half_tile}u, 16u, 1024u);
  const unsigned long long db = ug_matrix(smem + from + {b_at}u, 16u, 1024u);
{multiplications}  started = 1;
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  from += {stage}u; if (from == {all}u) from = 0;
  if (tile + 1u < {n_stages}u) put(smem + from);
  if (tile + 2u < {n_stages}u) fetch();
}}
asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
__syncthreads();
}}"#,
            half_tile = 64 * BK * 4,
            all = stage * STAGES,
        )
    }

    /// A statement that writes the sums to shared memory, [`Loop::ld`] elements from row to row. Places: shared memory, the array of sums.
    pub(in crate::lower) fn write_sums(&self, shared: Place, sums: Place) -> Raw {
        wgmma::write_sums(self.b.tile, shared, sums, self.ld())
    }
}
