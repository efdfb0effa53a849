//! Products of half types on NVIDIA Hopper: warpgroup matrix instructions on operands in shared memory, which asynchronous copies bring there.
//!
//! Each of two warpgroups has 64 rows of a tile of 128 rows; a stage holds 64 elements of `k` of both operands, in the layout of 128-byte
//! swizzles. Stage `t` is multiplied while those up to `t + stages - 2` are on their way. One barrier per stage: it follows the wait for the
//! copies of stage `t`, and the wait of all warpgroups for the multiplication of stage `t - 2`, whose memory the next copies overwrite.

use std::fmt::Write;
use unigrad_ir::{Dialect, Place, Raw, Target, Value};
use unigrad_scalar::DType;

/// Elements of `k` in a stage: 128 bytes of a half type.
pub(in crate::lower) const BK: u32 = 64;
/// Rows of a tile.
pub(in crate::lower) const BM: u32 = 128;
/// Threads of a workgroup.
pub(in crate::lower) const THREADS: u32 = 256;

/// Whether a target has these instructions.
pub(in crate::lower) fn available(target: &Target) -> bool {
    target.dialect == Dialect::Cuda && target.arch == "sm_90" && target.max_threads >= THREADS
}

/// An operand of the loop.
#[derive(Clone, Debug)]
pub(in crate::lower) struct Operand {
    /// Whether neighbours along `k` are neighbours in memory; else neighbouring lanes are.
    pub(in crate::lower) k_major: bool,
    /// Lanes of a tile: rows of `a`, columns of `b`; a multiple of 64.
    pub(in crate::lower) tile: u32,
    /// Lanes there are.
    pub(in crate::lower) lanes: u64,
    /// Dimensions of the lanes, outermost first: size, and elements from one to the next. Multiples of 8 all but a unit stride.
    pub(in crate::lower) dims: Vec<(u64, i64)>,
    /// Elements from one `k` to the next.
    pub(in crate::lower) k_stride: i64,
}

/// Sizes of the loop.
#[derive(Clone, Debug)]
pub(in crate::lower) struct Loop {
    pub(in crate::lower) dtype: DType,
    pub(in crate::lower) a: Operand,
    pub(in crate::lower) b: Operand,
    /// Length of the sums.
    pub(in crate::lower) k: u64,
    /// Elements of `k` of one part.
    pub(in crate::lower) part: u64,
    /// Stages in shared memory, at least 3.
    pub(in crate::lower) stages: u32,
}

impl Loop {
    fn stage_bytes(&self) -> u32 {
        (self.a.tile + self.b.tile) * BK * 2
    }

    /// Bytes of shared memory: the stages, aligned to what swizzles need.
    pub(in crate::lower) fn shared_bytes(&self) -> u32 {
        self.stages * self.stage_bytes() + 1024
    }

    /// Sums that a thread holds: `4 * j + {0, 1}` are columns `8 * j + 2 * (lane % 4) + {0, 1}` of row `16 * warp + lane / 4`, and
    /// `4 * j + {2, 3}` those of the row 8 further.
    pub(in crate::lower) fn sums(&self) -> u32 {
        self.b.tile / 2
    }

    /// The loop as a statement. Places: `a`, `b`, shared memory, the array of sums (floats). Values: the tile's first row and first column, the
    /// batch item's first element of `a` and of `b`, the part's first `k`.
    pub(in crate::lower) fn statement(&self, values: [Value; 5], places: [Place; 4]) -> Raw {
        Raw {
            texts: vec![(Dialect::Cuda, self.text())],
            preludes: vec![(Dialect::Cuda, self.prelude())],
            values: values.to_vec(),
            places: places.to_vec(),
        }
    }

    /// A statement that writes the sums to shared memory, row by row, `ld` elements apart.
    pub(in crate::lower) fn write_sums(&self, shared: Place, sums: Place, ld: u32) -> Raw {
        let texts = vec![(Dialect::Cuda, self.write_text(ld))];
        Raw { texts, preludes: Vec::new(), values: Vec::new(), places: vec![shared, sums] }
    }

    fn prelude(&self) -> String {
        let n = self.b.tile;
        let sums = self.sums();
        let half = if self.dtype == DType::F16 { "f16" } else { "bf16" };
        let registers = (0..sums).map(|i| format!("%{i}")).collect::<Vec<_>>().join(", ");
        let operands = (0..sums).map(|i| format!("\"+f\"(d[{i}])")).collect::<Vec<_>>().join(", ");
        let (a, b, scale) = (sums, sums + 1, sums + 2);
        let (ta, tb) = (u32::from(!self.a.k_major), u32::from(!self.b.k_major));
        format!(
            r#"static __device__ __forceinline__ void ug_copy16(unsigned to, const char* from, bool there) {{
  int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" :: "r"(to), "l"(from), "r"(bytes) : "memory");
}}
static __device__ __forceinline__ unsigned long long ug_matrix(unsigned at, unsigned lanes_step, unsigned step) {{
  return (unsigned long long)((at & 0x3ffff) >> 4) | (unsigned long long)(lanes_step >> 4) << 16 | (unsigned long long)(step >> 4) << 32 | 1ull << 62;
}}
static __device__ __forceinline__ void ug_multiply(float* d, unsigned long long a, unsigned long long b, int add) {{
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{scale}, 0; wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{half}.{half} {{{registers}}}, %{a}, %{b}, p, 1, 1, {ta}, {tb}; }}"
    : {operands} : "l"(a), "l"(b), "r"(add));
}}
"#
        )
    }

    fn text(&self) -> String {
        let mut t = String::new();
        let stages = self.stages;
        let ahead = stages - 2;
        let n_tiles = self.part.min(self.k).div_ceil(BK.into());
        let a_bytes = self.a.tile * BK * 2;
        // Writing to a string cannot fail.
        let mut line = |text: String| {
            let _ = writeln!(t, "{text}");
        };
        line("{{".into());
        line("  const unsigned tid = threadIdx.x;".into());
        line("  const unsigned wg = __shfl_sync(0xffffffffu, tid >> 7, 0);".into());
        line("  const unsigned smem = ((unsigned)__cvta_generic_to_shared({p2}) + 1023u) & ~1023u;".into());
        for (which, operand, place, first, base, at) in
            [("a", &self.a, "{p0}", "{v0}", "{v2}", 0), ("b", &self.b, "{p1}", "{v1}", "{v3}", a_bytes)]
        {
            line(operand.setup(which, place, first, base, at));
        }
        line("  unsigned k_next = {v4}, to = 0;".into());
        line("  auto copy = [&]() {{".into());
        line(self.a.copy("a", self.k));
        line(self.b.copy("b", self.k));
        line(format!("    k_next += {BK}u; to += {}u; if (to == {}u) to = 0;", self.stage_bytes(), self.stage_bytes() * stages));
        line("  }};".into());
        line(format!(
            "  #pragma unroll\n  for (int s = 0; s < {ahead}; ++s) {{{{ if (s < {n_tiles}) copy(); asm volatile(\"cp.async.commit_group;\" ::: \"memory\"); }}}}"
        ));
        line("  unsigned from = 0;".into());
        line(format!("  #pragma unroll 1\n  for (int tile = 0; tile < {n_tiles}; ++tile) {{{{"));
        line(format!("    asm volatile(\"cp.async.wait_group {};\" ::: \"memory\");", ahead - 1));
        line("    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");".into());
        line("    __syncthreads();".into());
        line("    asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");".into());
        let (a_step, b_step) = (self.a.k_step(), self.b.k_step());
        line(format!("    const unsigned long long da = ug_matrix(smem + from + wg * {}u, {}u, 1024u);", 64 * BK * 2, self.a.lanes_step()));
        line(format!("    const unsigned long long db = ug_matrix(smem + from + {a_bytes}u, {}u, 1024u);", self.b.lanes_step()));
        for kk in 0..BK / 16 {
            let add = if kk == 0 { "tile != 0" } else { "1" };
            line(format!("    ug_multiply({{p3}}, da + {}ull, db + {}ull, {add});", kk * a_step / 16, kk * b_step / 16));
        }
        line("    asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");".into());
        line(format!("    if (tile + {ahead} < {n_tiles}) copy();"));
        line("    asm volatile(\"cp.async.commit_group;\" ::: \"memory\");".into());
        line("    asm volatile(\"wgmma.wait_group.sync.aligned 1;\" ::: \"memory\");".into());
        line(format!("    from += {}u; if (from == {}u) from = 0;", self.stage_bytes(), self.stage_bytes() * stages));
        line("  }}".into());
        line("  asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");".into());
        line("  asm volatile(\"cp.async.wait_all;\" ::: \"memory\");".into());
        line("  __syncthreads();".into());
        line("}}".into());
        t
    }

    fn write_text(&self, ld: u32) -> String {
        format!(
            "{{{{\n  const unsigned lane = threadIdx.x & 31u;\n  float* to = {{p0}} + ((threadIdx.x >> 5) * 16u + (lane >> 2)) * {ld}u + (lane & 3u) * 2u;\n  #pragma unroll\n  \
             for (int j = 0; j < {}; ++j) {{{{\n    *(float2*)(to + 8 * j) = make_float2({{p1}}[4 * j], {{p1}}[4 * j + 1]);\n    *(float2*)(to + 8 * j + {}) = make_float2({{p1}}[4 * j + 2], {{p1}}[4 * j + 3]);\n  }}}}\n}}}}",
            self.b.tile / 8,
            8 * ld
        )
    }
}

impl Operand {
    /// Bytes between blocks of 64 lanes, where lanes are neighbours in memory.
    fn lanes_step(&self) -> u32 {
        if self.k_major { 16 } else { 64 * BK * 2 }
    }

    /// Bytes between one instruction's `k` and the next's.
    fn k_step(&self) -> u32 {
        if self.k_major { 32 } else { 16 * 128 }
    }

    /// Copies of 16 bytes per thread and stage.
    fn copies(&self) -> u32 {
        self.tile * BK / 8 / THREADS
    }

    /// Bytes of the offset of lane `x`, as C.
    fn offset(&self, x: &str) -> String {
        let mut text = String::from("0ll");
        let mut below = 1;
        for (at, (size, stride)) in self.dims.iter().enumerate().rev() {
            let index = match (at, below) {
                (0, 1) => x.to_owned(),
                (0, below) => format!("({x}) / {below}u"),
                (_, 1) => format!("({x}) % {size}u"),
                (_, below) => format!("({x}) / {below}u % {size}u"),
            };
            let _ = write!(text, " + (long long)({index}) * {}ll", stride * 2);
            below *= size;
        }
        text
    }

    /// Addresses that stay the same.
    fn setup(&self, name: &str, place: &str, first: &str, base: &str, at: u32) -> String {
        let k_bytes = self.k_stride * 2;
        if self.k_major {
            // Eight threads copy the 128 bytes of one lane.
            let copies = self.copies();
            let lane = format!("({first} + {name}_lane + {}u * i)", THREADS / 8);
            format!(
                "  const unsigned {name}_chunk = tid & 7u, {name}_lane = tid >> 3;\n  \
                 const unsigned {name}_to = smem + {at}u + {name}_lane * 128u + (({name}_chunk ^ ({name}_lane & 7u)) << 4);\n  \
                 const char* {name}_from[{copies}]; bool {name}_there[{copies}];\n  #pragma unroll\n  for (unsigned i = 0; i < {copies}u; ++i) {{{{\n    \
                 {name}_there[i] = {lane} < {lanes}u;\n    \
                 const unsigned x = {name}_there[i] ? {lane} : 0u;\n    \
                 {name}_from[i] = (const char*){place} + ((long long){base} + {name}_chunk * 8u) * 2ll + {offset};\n  }}}}",
                lanes = self.lanes,
                offset = self.offset("x"),
            )
        } else {
            // The threads of a row of `k` copy neighbouring lanes.
            let across = self.tile / 8;
            format!(
                "  const unsigned {name}_lane = tid % {across}u * 8u, {name}_k = tid / {across}u;\n  \
                 const unsigned {name}_to = smem + {at}u + ({name}_lane >> 6) * {block}u + {name}_k * 128u + (((({name}_lane >> 3) & 7u) ^ ({name}_k & 7u)) << 4);\n  \
                 const bool {name}_there = {first} + {name}_lane < {lanes}u;\n  \
                 const unsigned {name}_x = {name}_there ? {first} + {name}_lane : 0u;\n  \
                 const char* {name}_from = (const char*){place} + (long long){base} * 2ll + (long long){name}_k * {k_bytes}ll + {offset};",
                block = 64 * BK * 2,
                lanes = self.lanes,
                offset = self.offset(&format!("{name}_x")),
            )
        }
    }

    /// Copies the stage that begins at `k_next` to `to`.
    fn copy(&self, name: &str, k: u64) -> String {
        let (copies, k_bytes) = (self.copies(), self.k_stride * 2);
        if self.k_major {
            let step = THREADS / 8 * 128;
            format!(
                "    {{{{ const bool there = k_next + {name}_chunk * 8u < {k}u; const long long ahead = there ? (long long)k_next * 2ll : 0ll;\n    #pragma unroll\n    \
                 for (int i = 0; i < {copies}; ++i) ug_copy16({name}_to + to + i * {step}u, {name}_from[i] + ahead, there && {name}_there[i]); }}}}"
            )
        } else {
            let rows = THREADS / (self.tile / 8);
            format!(
                "    {{{{ const char* at = {name}_from + (long long)k_next * {k_bytes}ll;\n    #pragma unroll\n    \
                 for (int i = 0; i < {copies}; ++i) {{{{ const bool there = {name}_there && k_next + {name}_k + i * {rows}u < {k}u;\n      \
                 ug_copy16({name}_to + to + i * {step}u, there ? at + (long long)i * {slow}ll : {name}_from, there); }}}} }}}}",
                step = rows * 128,
                slow = i64::from(rows) * k_bytes,
            )
        }
    }
}
