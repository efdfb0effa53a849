//! Stages of two operands in shared memory, filled by asynchronous copies of 16 bytes: what inner loops in CUDA C++ have in common.
//!
//! A stage holds 64 elements of `k` of both operands, in the layout of 128-byte swizzles: where an operand runs along `k`, lane `x` has 128 bytes
//! at `128 x`; else blocks of 64 lanes have 128 bytes per `k`. In both, the 16-byte pieces of line `x` are exchanged by XOR with `x % 8`, so
//! that eight lines' equal pieces lie in different banks. What lies beyond the operands is zero.

use super::made::{COMMIT, Pieces, Spread, put};
use std::fmt::Write;
use unigrad_ir::{Dialect, Place, Raw, Target};
use unigrad_scalar::DType;

/// Elements of `k` in a stage: 128 bytes of a half type.
pub(in crate::lower) const BK: u32 = 64;
/// Rows of a tile.
pub(in crate::lower) const BM: u32 = 128;
/// Threads of a workgroup.
pub(in crate::lower) const THREADS: u32 = 256;

/// The number of an NVIDIA architecture, 90 for `sm_90`, where its own words may be used.
pub(super) fn architecture(target: &Target) -> Option<u32> {
    if target.dialect != Dialect::Cuda || !target.own_words || target.max_threads < THREADS {
        return None;
    }
    target.arch.strip_prefix("sm_")?.parse().ok()
}

/// An operand of the loop.
#[derive(Clone, Debug)]
pub(in crate::lower) struct Operand {
    /// Whether neighbours along `k` are neighbours in memory; else neighbouring lanes are.
    pub(in crate::lower) k_major: bool,
    /// Whether its elements are not copied: the threads make them, and put them into the stage ([`Loop::put`]).
    pub(in crate::lower) made: bool,
    /// Lanes of a tile: rows of `a`, columns of `b`; a multiple of 64.
    pub(in crate::lower) tile: u32,
    /// Lanes there are.
    pub(in crate::lower) lanes: u64,
    /// Dimensions of the lanes, outermost first: size, and elements from one to the next. Multiples of 8 all but a unit stride.
    pub(in crate::lower) dims: Dims,
    /// Dimensions of `k`, likewise: heads by features, batch by time, taps by channels.
    pub(in crate::lower) k: Dims,
}

type Dims = Vec<(u64, i64)>;

/// Bytes of the offset of the element `x`, as C.
fn offset(dims: &Dims, x: &str) -> String {
    let mut text = String::from("0ll");
    let mut below = 1;
    for (at, (size, stride)) in dims.iter().enumerate().rev() {
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
    pub(super) fn stage_bytes(&self) -> u32 {
        (self.a.tile + self.b.tile) * BK * 2
    }

    /// Where `b` begins in a stage.
    pub(super) fn b_at(&self) -> u32 {
        self.a.tile * BK * 2
    }

    /// Bytes of shared memory: the stages, aligned to what swizzles need.
    pub(in crate::lower) fn shared_bytes(&self) -> u32 {
        self.stages * self.stage_bytes() + 1024
    }

    /// Sums that a thread holds.
    pub(in crate::lower) fn sums(&self) -> u32 {
        BM * self.b.tile / THREADS
    }

    /// Stages that are multiplied.
    pub(in crate::lower) fn n_stages(&self) -> u64 {
        self.part.min(self.k).div_ceil(BK.into())
    }

    pub(super) fn half(&self) -> &'static str {
        if self.dtype == DType::F16 { "f16" } else { "bf16" }
    }

    /// What copies need before the kernel.
    pub(super) fn copy_prelude() -> &'static str {
        r#"static __device__ __forceinline__ void ug_copy16(unsigned to, const char* from, bool there) {
  int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" :: "r"(to), "l"(from), "r"(bytes) : "memory");
}
"#
    }

    /// Declares `tid`, `smem` (the stages' address) and `copy()`, which begins the next stage's copies; `made_to` is that stage then. For places and values
    /// see `statement`.
    pub(super) fn setup(&self) -> String {
        let a = self.a.setup("a", "{p0}", "{v0}", "{v2}", 0);
        let b = self.b.setup("b", "{p1}", "{v1}", "{v3}", self.b_at());
        let (copy_a, copy_b) = (self.a.copy("a", self.k), self.b.copy("b", self.k));
        let stage = self.stage_bytes();
        let (declare, keep) = if self.a.made || self.b.made { (", made_to = 0", "    made_to = to;\n") } else { ("", "") };
        format!(
            r#"  const unsigned tid = threadIdx.x;
  const unsigned smem = ((unsigned)__cvta_generic_to_shared({{p2}}) + 1023u) & ~1023u;
{a}
{b}
  unsigned k_next = {{v4}}, to = 0{declare};
  auto copy = [&]() {{{{
{keep}{copy_a}
{copy_b}
    k_next += {BK}u; to += {stage}u; if (to == {all}u) to = 0;
  }}}};
"#,
            all = stage * self.stages
        )
    }

    /// The whole loop as one text.
    pub(super) fn whole(&self, pieces: &Pieces) -> String {
        let Pieces { setup, before, after, end, ahead } = pieces;
        let n_stages = self.n_stages();
        format!(
            r#"{{{{
{setup}  #pragma unroll
  for (int s = 0; s < {ahead}; ++s) {{{{
    if (s < {n_stages}) copy();
    {COMMIT}
  }}}}
  #pragma unroll 1
  for (int tile = 0; tile < {n_stages}; ++tile) {{{{
{before}    if (tile + {ahead} < {n_stages}) copy();
    {COMMIT}
{after}  }}}}
{end}}}}}"#
        )
    }

    /// A statement that puts the elements of a thread, vectors of 8 by [`Operand::spread`] in their order, into the stage of the last `copy`.
    pub(in crate::lower) fn put(&self, a: bool, made: Place) -> Raw {
        let (name, operand) = if a { ("a", &self.a) } else { ("b", &self.b) };
        put(&format!("{name}_to"), &operand.spread(), operand.copy_step(), made)
    }
}

impl Operand {
    /// Where the pieces of a thread are.
    pub(in crate::lower) fn spread(&self) -> Spread {
        let across = if self.k_major { BK / 8 } else { self.tile / 8 };
        let (k_major, tile, lanes) = (self.k_major, self.tile, self.lanes);
        Spread { k_major, tile, lanes, each: 8, pieces: self.copies(), across, step: THREADS / across, threads: THREADS }
    }

    /// Bytes of a stage from piece to piece of a thread.
    fn copy_step(&self) -> u32 {
        self.spread().step * 128
    }

    /// Bytes between blocks of 64 lanes, where lanes are neighbours in memory.
    pub(super) fn lanes_step(&self) -> u32 {
        if self.k_major { 16 } else { 64 * BK * 2 }
    }

    /// Bytes between one instruction's `k` and the next's.
    pub(super) fn k_step(&self) -> u32 {
        if self.k_major { 32 } else { 16 * 128 }
    }

    /// Copies of 16 bytes per thread and stage.
    fn copies(&self) -> u32 {
        self.tile * BK / 8 / THREADS
    }

    /// Bytes from one `k` to the next in all of a stage, if that is one number.
    fn k_bytes(&self) -> Option<i64> {
        match self.k.as_slice() {
            [(_, stride)] => Some(stride * 2),
            // Stages begin at multiples of their length.
            [.., (size, stride)] if size.is_multiple_of(BK.into()) => Some(stride * 2),
            _ => None,
        }
    }

    /// Addresses that stay the same.
    fn setup(&self, name: &str, place: &str, first: &str, base: &str, at: u32) -> String {
        let Spread { pieces: copies, across, step, .. } = self.spread();
        if self.k_major {
            // Eight threads copy the 128 bytes of one lane.
            let to = format!(
                "  const unsigned {name}_chunk = tid % {across}u, {name}_lane = tid / {across}u;\n  \
                 const unsigned {name}_to = smem + {at}u + {name}_lane * 128u + (({name}_chunk ^ ({name}_lane & 7u)) << 4);"
            );
            if self.made {
                return to;
            }
            let lane = format!("({first} + {name}_lane + {step}u * i)");
            format!(
                "{to}\n  const char* {name}_from[{copies}]; bool {name}_there[{copies}];\n  #pragma unroll\n  for (unsigned i = 0; i < {copies}u; ++i) {{{{\n    \
                 {name}_there[i] = {lane} < {lanes}u;\n    \
                 const unsigned x = {name}_there[i] ? {lane} : 0u;\n    \
                 {name}_from[i] = (const char*){place} + (long long){base} * 2ll + {offset};\n  }}}}",
                lanes = self.lanes,
                offset = offset(&self.dims, "x"),
            )
        } else {
            // The threads of a row of `k` copy neighbouring lanes.
            let to = format!(
                "  const unsigned {name}_lane = tid % {across}u * 8u, {name}_k = tid / {across}u;\n  \
                 const unsigned {name}_to = smem + {at}u + ({name}_lane >> 6) * {block}u + {name}_k * 128u + (((({name}_lane >> 3) & 7u) ^ ({name}_k & 7u)) << 4);",
                block = 64 * BK * 2,
            );
            if self.made {
                return to;
            }
            format!(
                "{to}\n  const bool {name}_there = {first} + {name}_lane < {lanes}u;\n  \
                 const unsigned {name}_x = {name}_there ? {first} + {name}_lane : 0u;\n  \
                 const char* {name}_from = (const char*){place} + (long long){base} * 2ll + {offset};",
                lanes = self.lanes,
                offset = offset(&self.dims, &format!("{name}_x")),
            )
        }
    }

    /// Copies the stage that begins at `k_next` to `to`.
    fn copy(&self, name: &str, k: u64) -> String {
        if self.made {
            return String::new();
        }
        let (copies, step) = (self.copies(), self.copy_step());
        if self.k_major {
            // A piece is a run of 8: sizes of the innermost dimension are multiples of it.
            let ahead = offset(&self.k, "k");
            return format!(
                "    {{{{ const unsigned k = k_next + {name}_chunk * 8u; const bool there = k < {k}u; const long long ahead = there ? {ahead} : 0ll;\n    \
                 #pragma unroll\n    \
                 for (int i = 0; i < {copies}; ++i) ug_copy16({name}_to + to + i * {step}u, {name}_from[i] + ahead, there && {name}_there[i]); }}}}"
            );
        }
        let rows = self.spread().step;
        match self.k_bytes() {
            Some(k_bytes) => format!(
                "    {{{{ const char* at = {name}_from + {first} + (long long){name}_k * {k_bytes}ll;\n    #pragma unroll\n    \
                 for (int i = 0; i < {copies}; ++i) {{{{ const bool there = {name}_there && k_next + {name}_k + i * {rows}u < {k}u;\n      \
                 ug_copy16({name}_to + to + i * {step}u, there ? at + (long long)i * {slow}ll : {name}_from, there); }}}} }}}}",
                first = offset(&self.k, "k_next"),
                slow = i64::from(rows) * k_bytes,
            ),
            None => format!(
                "    #pragma unroll\n    \
                 for (int i = 0; i < {copies}; ++i) {{{{ const unsigned k = k_next + {name}_k + i * {rows}u; const bool there = {name}_there && k < {k}u;\n      \
                 ug_copy16({name}_to + to + i * {step}u, there ? {name}_from + {at} : {name}_from, there); }}}}",
                at = offset(&self.k, "k"),
            ),
        }
    }
}
