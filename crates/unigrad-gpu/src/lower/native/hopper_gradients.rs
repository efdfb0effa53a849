//! The gradients of attention on NVIDIA Hopper, in one pass: warpgroup matrix instructions, and gradients by queries that workgroups add to one after
//! the other.
//!
//! A workgroup has a block of keys, of which each of two warpgroups has 64, and goes over the blocks of queries that see them. A product's result lies
//! in registers as the first operand of the next one does, so probabilities and changes of scores go from one to the other without memory; changes are
//! also written to shared memory, for the gradients by queries go over the keys of both warpgroups. A third warpgroup gives up its registers and copies
//! queries two blocks ahead. Tensors lie in panels of 64 features, in the layout of 128-byte swizzles, which all products read, along features or across:
//! <https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions>.
//!
//! Each workgroup adds to the sums of a block of queries in its turn: last keys first, which is the order in which workgroups begin, and in which, under a
//! causal mask, they come to a block by themselves. The third warpgroup waits for the turn before it lets the others add, and passes it on when what
//! they added is there, so that no product waits for memory.
//!
//! Always: the sums' order is that of the keys; the workgroup whose turn comes first stores, so that sums need no zeros, and the last one writes the
//! gradient. A workgroup waits only for workgroups before it in the grid.
//! Never: a block of queries that sees no key is left unwritten: the workgroup of the first keys writes its zeros.

use super::attention::{Backward, raw};
use unigrad_ir::{Dialect, Place, Raw, Target, Value};

/// Keys of a workgroup, whose halves two warpgroups have.
pub(in crate::lower) const KEYS: u32 = 128;
/// Threads: two warpgroups that multiply, one that copies.
pub(in crate::lower) const THREADS: u32 = 384;
/// Blocks of queries in shared memory: one that is multiplied, the one before, which another warpgroup may still read, and the next.
const STAGES: u32 = 3;
/// Registers of a thread that multiplies, and of one that copies: multiples of 8, and two of one and one of the other are what three threads begin with.
const REGISTERS: [u32; 2] = [232, 40];

/// Bytes of what the copying warpgroup notes for the others, which have no registers left for it: the sums of the block and its gradient (two
/// addresses), the queries' end, how many keys count, the offset of queries, whose turn it is; the gradients by keys and by values (two addresses),
/// the first key.
const NOTES: u32 = 64;

/// Queries of a block: what registers allow.
pub(in crate::lower) const fn queries(features: u32) -> u32 {
    if features > 64 { 64 } else { 128 }
}

/// Heads whose workgroups begin side by side, of so many blocks of keys each: as many as keep a device busy, so that a head's next workgroup begins when the
/// one before it has gone ahead. More of those that are done sooner. Of 32 blocks each, without a mask, attention's gradients took 4.28 ms on an H100
/// one head after the other, and 3.46 by eight.
pub(in crate::lower) fn heads_at_once(features: u32, blocks: usize, compute_units: u32) -> usize {
    (compute_units * 128 / features) as usize / blocks.max(1)
}

/// Bytes of shared memory: keys and values, blocks of queries and of their outputs' gradients, two blocks of changes of scores, logarithms and deltas,
/// notes, and what aligning takes.
pub(in crate::lower) const fn shared_bytes(features: u32) -> u32 {
    let queries = queries(features);
    2 * KEYS * features * 2 + STAGES * 2 * queries * features * 2 + 2 * KEYS * queries * 2 + STAGES * 2 * queries * 4 + NOTES + 1024
}

/// Whether a target has these instructions, and room.
pub(in crate::lower) fn available(target: &Target, features: u32) -> bool {
    super::wgmma::available(target) && target.max_threads >= THREADS && target.shared_bytes >= shared_bytes(features) as usize
}

/// The pass: rows are keys.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct OnePass {
    pub(in crate::lower) by_key: Backward,
    /// Elements from query head to query head of the gradient by queries, and from position to position.
    pub(in crate::lower) dq: [i64; 2],
}

impl OnePass {
    /// Blocks of queries of a head.
    pub(in crate::lower) fn blocks(&self) -> usize {
        self.by_key.scores.q_len.div_ceil(queries(self.by_key.scores.features) as usize)
    }

    /// Places: keys, values, queries, the outputs' gradients, the logarithms, the deltas, the gradients by keys, by values, shared memory, the gradient by
    /// queries, its sums ([`queries`] by features for each block of each head), its turns (one for each block, 0 at first).
    /// Values: as for [`Backward::statement`], then the first element of the gradient by queries, and the number of the group's first query head.
    pub(in crate::lower) fn statement(&self, values: [Value; 14], places: [Place; 12]) -> Raw {
        let features = self.by_key.scores.features;
        let [by_head, by_position] = self.dq.map(|n| (2 * n).to_string());
        let own = [
            ("@BM@", queries(features).to_string()),
            ("@BN@", KEYS.to_string()),
            ("@STAGES@", STAGES.to_string()),
            ("@MANY_REGISTERS@", REGISTERS[0].to_string()),
            ("@FEW_REGISTERS@", REGISTERS[1].to_string()),
            ("@BLOCKS@", self.blocks().to_string()),
            ("@HQ@", by_head),
            ("@GQ@", by_position),
        ];
        let fill = |text: &str| {
            let text = own.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
            self.by_key.fill(&text)
        };
        let element = self.by_key.scores.element;
        let mut preludes = element.preludes();
        preludes.push((Dialect::Cuda, prelude(features, element.name())));
        Raw { texts: vec![(Dialect::Cuda, raw(&fill(TEXT)))], preludes, values: values.to_vec(), places: places.to_vec() }
    }
}

/// What stands before the kernel, after the prelude of all attention.
fn prelude(features: u32, half: &str) -> String {
    let list = |n: u32| (0..n).map(|i| format!("%{i}")).collect::<Vec<_>>().join(", ");
    let operands = |n: u32| (0..n).map(|i| format!("\"+f\"(d[{i}])")).collect::<Vec<_>>().join(", ");
    let queries = queries(features);
    // Sums of a thread: scores, gradients by keys, gradients by queries.
    let (scores, keys, of_queries) = (queries / 2, features / 2, queries * features / 256);
    let width = of_queries * 2;
    format!(
        r#"static __device__ __forceinline__ unsigned long long ug_at_matrix(unsigned at, unsigned lanes_step) {{
  return (unsigned long long)((at & 0x3ffff) >> 4) | (unsigned long long)(lanes_step >> 4) << 16 | (unsigned long long)(1024u >> 4) << 32 | 1ull << 62;
}}
static __device__ __forceinline__ void ug_at_scores(float* d, unsigned long long a, unsigned long long b, int add) {{
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{s2}, 0; wgmma.mma_async.sync.aligned.m64n{queries}k16.f32.{half}.{half} {{{scores_list}}}, %{s0}, %{s1}, p, 1, 1, 0, 0; }}"
    : {scores_operands} : "l"(a), "l"(b), "r"(add));
}}
static __device__ __forceinline__ void ug_at_by_keys(float* d, const unsigned* a, unsigned long long b) {{
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n{features}k16.f32.{half}.{half} {{{keys_list}}}, {{%{t0}, %{t1}, %{t2}, %{t3}}}, %{t4}, p, 1, 1, 1; }}"
    : {keys_operands} : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}}
static __device__ __forceinline__ void ug_at_by_queries(float* d, unsigned long long a, unsigned long long b, int add) {{
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{u2}, 0; wgmma.mma_async.sync.aligned.m64n{width}k16.f32.{half}.{half} {{{queries_list}}}, %{u0}, %{u1}, p, 1, 1, 1, 1; }}"
    : {queries_operands} : "l"(a), "l"(b), "r"(add));
}}
static __device__ __forceinline__ void ug_at_store(unsigned at, const unsigned* r) {{
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {{%1, %2, %3, %4}};" :: "r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
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
// The thread's number, read anew: what follows from it would take registers through the loop.
static __device__ __forceinline__ int ug_at_thread() {{ int r; asm volatile("mov.u32 %0, %%tid.x;" : "=r"(r)); return r; }}
// What threads wrote to shared memory is there for matrix instructions.
static __device__ __forceinline__ void ug_at_shown() {{ asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }}
static __device__ __forceinline__ void ug_at_meet() {{ asm volatile("bar.sync 0;" ::: "memory"); }}
"#,
        s0 = scores,
        s1 = scores + 1,
        s2 = scores + 2,
        scores_list = list(scores),
        scores_operands = operands(scores),
        t0 = keys,
        t1 = keys + 1,
        t2 = keys + 2,
        t3 = keys + 3,
        t4 = keys + 4,
        keys_list = list(keys),
        keys_operands = operands(keys),
        u0 = of_queries,
        u1 = of_queries + 1,
        u2 = of_queries + 2,
        queries_list = list(of_queries),
        queries_operands = operands(of_queries),
    )
}

/// The loop, with names of numbers between `@`, values and places between `$`.
const TEXT: &str = r#"{
  const int tid = threadIdx.x, lane = tid & 31, within = tid & 127, wg = __shfl_sync(0xffffffffu, tid >> 7, 0);
  const int first = (int)$v7$, from = (int)$v8$ / @BM@ * @BM@, to = (int)$v9$, offset = (int)$v10$, keys = (int)$v11$;
  const int blocks = (int)$v8$ < to ? (to - from + @BM@ - 1) / @BM@ : 0, steps = blocks * @HEADS@, mine = first / @BN@;
  const unsigned k_at = ((unsigned)__cvta_generic_to_shared($p8$) + 1023u) & ~1023u, v_at = k_at + @BN@ * @D@ * 2;
  const unsigned c_at = v_at + @BN@ * @D@ * 2, s_at = c_at + @STAGES@ * 2 * @BM@ * @D@ * 2, l_at = s_at + 2 * @BN@ * @BM@ * 2;
  const unsigned notes = l_at + @STAGES@ * 2 * @BM@ * 4;
  // The first and the last block of keys that a block of queries sees: none, if the last comes before the first.
  auto seen = [&](int query, int& low, int& high) {
    const int end = min(query + @BM@, @LEN@), last = @CAUSAL@ ? min(keys, end + offset) : keys;
    const int least = @WINDOW@ ? max(query + offset + 1 - @WIDTH@, 0) : 0;
    low = least / @BN@;
    high = last > least ? (last - 1) / @BN@ : -1;
  };
  if (wg == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 @FEW_REGISTERS@;");
    const char* const ks = (const char*)($p0$) + 2 * (long long)($v0$);
    const char* const vs = (const char*)($p1$) + 2 * (long long)($v1$);
    const char* n0 = (const char*)($p2$) + 2 * (long long)($v2$);
    const char* n1 = (const char*)($p3$) + 2 * (long long)($v3$);
    const float *logs = ($p4$) + $v6$, *deltas = ($p5$) + $v6$;
    const int piece = within % (@D@ / 8), line = within / (@D@ / 8);
    auto copy = [&](unsigned at, const char* x, long long stride, int row0, int rows, int end) {
      #pragma unroll 4
      for (int i = 0; i < rows / (128 / (@D@ / 8)); ++i) {
        const int r = line + i * (128 / (@D@ / 8));
        const bool there = row0 + r < end;
        ug_at_copy(at + (piece >> 3) * (rows * 128) + r * 128 + (((piece & 7) ^ (r & 7)) << 4), x + (there ? (row0 + r) * stride + piece * 16 : 0), there);
      }
    };
    int next = 0, stage = 0;
    auto copy_next = [&]() {
      const unsigned at = c_at + stage * (2 * @BM@ * @D@ * 2), saved = l_at + (stage * 2 * @BM@ + within) * 4;
      const int query = from + next * @BM@;
      copy(at, n0, @C0@, query, @BM@, to);
      copy(at + @BM@ * @D@ * 2, n1, @C1@, query, @BM@, to);
      if (within < @BM@) {
        const bool there = query + within < to;
        ug_at_copy4(saved, logs + (there ? query + within : 0), there);
        ug_at_copy4(saved + @BM@ * 4, deltas + (there ? query + within : 0), there);
      }
      if (++stage == @STAGES@) stage = 0;
      if (++next == blocks) { next = 0; n0 += @H0@; n1 += @H1@; logs += @LEN@; deltas += @LEN@; }
    };
    // A query's logarithm becomes one of two; one that saw nothing has exp(x - inf).
    auto show = [&](int at) {
      if (within < @BM@) {
        const unsigned saved = l_at + (at * 2 * @BM@ + within) * 4;
        float x;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(saved) : "memory");
        x = x == __uint_as_float(0xff800000u) ? __uint_as_float(0x7f800000u) : x * 1.44269504088896341f;
        asm volatile("st.shared.f32 [%0], %1;" :: "r"(saved), "f"(x) : "memory");
      }
      ug_at_shown();
    };
    copy(k_at, ks, @R0@, first, @BN@, @ROWS@);
    copy(v_at, vs, @R1@, first, @BN@, @ROWS@);
    if (steps > 0) copy_next();
    ug_at_commit();
    if (steps > 1) copy_next();
    ug_at_commit();
    if (within == 0) {
      asm volatile("st.shared.v2.b32 [%0], {%1, %2}; st.shared.b32 [%0 + 8], %3;" :: "r"(notes + 16), "r"(to), "r"(keys), "r"(offset) : "memory");
      const char *const gk = (const char*)($p6$) + 2 * (long long)($v4$), *const gv = (const char*)($p7$) + 2 * (long long)($v5$);
      asm volatile("st.shared.v2.b64 [%0], {%1, %2}; st.shared.b32 [%0 + 16], %3;" :: "r"(notes + 32), "l"(gk), "l"(gv), "r"(first) : "memory");
    }
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    show(0);
    ug_at_meet();
    int block = 0, ready = 1;
    // Turns and sums of the group's first head, and its gradient.
    unsigned* turn = (unsigned*)($p11$) + (long long)($v13$) * @BLOCKS@ + from / @BM@;
    const float* sum = ($p10$) + ((long long)($v13$) * @BLOCKS@ + from / @BM@) * (@BM@ * @D@);
    const char* gq = (const char*)($p9$) + 2 * (long long)($v12$) + from * (long long)@GQ@;
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      int low, high;
      seen(from + block * @BM@, low, high);
      if (within == 0) {
        asm volatile("st.shared.v2.b64 [%0], {%1, %2};" :: "r"(notes), "l"(sum + block * (@BM@ * @D@)), "l"(gq + block * (@BM@ * (long long)@GQ@)) : "memory");
        asm volatile("st.shared.b32 [%0], %1;" :: "r"(notes + 28), "r"((mine == low) | (mine == high) << 1) : "memory");
      }
      ug_at_wait();
      show(ready);
      if (within < 32 && mine < high) {
        unsigned now;
        do { asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(turn + block) : "memory"); } while (now != (unsigned)(high - mine));
      }
      ug_at_meet();
      if (step + 2 < steps) copy_next();
      ug_at_commit();
      if (within < 32) {
        asm volatile("bar.sync 1, 288;" ::: "memory");
        if (within == 0 && mine != low)
          asm volatile("fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(turn + block), "r"((unsigned)(high - mine + 1)) : "memory");
      }
      if (++ready == @STAGES@) ready = 0;
      if (++block == blocks) { block = 0; turn += @BLOCKS@; sum += @BLOCKS@ll * @BM@ * @D@; gq += @HQ@; }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 @MANY_REGISTERS@;");
    if (first == 0) {
      char* const gq = (char*)($p9$) + 2 * (long long)($v12$);
      // Queries that see no key.
      #pragma unroll 1
      for (int at = 0; at < @BLOCKS@ * @HEADS@; ++at) {
        const int query = at % @BLOCKS@ * @BM@;
        int low, high;
        seen(query, low, high);
        if (high < low)
          #pragma unroll 1
          for (int x = tid; x < @BM@ * (@D@ / 2); x += 256) {
            const int row = query + x / (@D@ / 2);
            if (row < @LEN@) *(unsigned*)(gq + at / @BLOCKS@ * (long long)@HQ@ + row * (long long)@GQ@ + x % (@D@ / 2) * 4) = 0;
          }
      }
    }
    float dk[@D@ / 2], dv[@D@ / 2], s[@BM@ / 2], ds[@BM@ / 2], dq[@BM@ * @D@ / 256];
    #pragma unroll
    for (int i = 0; i < @D@ / 2; ++i) { dk[i] = 0.f; dv[i] = 0.f; }
    const int warp_row = first + (tid >> 5) * 16;
    // Blocks that begin before the one or after the other hide some pair of this warp.
    int below = @CAUSAL@ ? warp_row + 15 - offset : -0x7fffffff, above = to - @BM@;
    if (@WINDOW@) above = min(above, warp_row - @BM@ - offset + @WIDTH@);
    if (warp_row + 15 >= keys) below = 0x7fffffff;
    // Addresses in descriptors count 16 bytes.
    auto scores = [&](float* d, unsigned rows, unsigned at) {
      const unsigned long long a = ug_at_matrix(rows + (ug_at_thread() >> 7) * 8192, 16), b = ug_at_matrix(at, 16);
      ug_at_begin();
      #pragma unroll
      for (int k = 0; k < @D@ / 16; ++k)
        ug_at_scores(d, a + (k >> 2) * (@BN@ * 8) + (k & 3) * 2, b + (k >> 2) * (@BM@ * 8) + (k & 3) * 2, k > 0);
      ug_at_end();
    };
    ug_at_meet();
    scores(s, k_at, c_at);
    ug_at_until<0>();
    ug_at_keep<@BM@ / 2>(s);
    int query0 = from, stage = 0;
    #pragma unroll 1
    for (int left = steps; left > 0; --left) {
      const unsigned c0_at = c_at + stage * (2 * @BM@ * @D@ * 2), c1_at = c0_at + @BM@ * @D@ * 2;
      const unsigned logs_at = l_at + stage * (2 * @BM@ * 4) + (ug_at_thread() & 3) * 8;
      if (++stage == @STAGES@) stage = 0;
      scores(ds, v_at, c1_at);
      const bool cut = query0 < below || query0 > above;
      const unsigned changes = s_at + (left & 1) * (@BN@ * @BM@ * 2);
      // Half of the queries is multiplied while probabilities of the other half are made.
      #pragma unroll
      for (int half = 0; half < 2; ++half) {
        #pragma unroll
        for (int n = half * (@BM@ / 16); n < (half + 1) * (@BM@ / 16); ++n) {
          float log[2];
          asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(log[0]), "=f"(log[1]) : "r"(logs_at + n * 32) : "memory");
          #pragma unroll
          for (int i = 0; i < 4; ++i) s[n * 4 + i] = ug_at_exp2(__fmaf_rn(s[n * 4 + i], @SCALE2@, -log[i & 1]));
        }
        if (cut) {
          int to, keys, offset, row0;
          asm volatile("ld.shared.v2.b32 {%0, %1}, [%4]; ld.shared.b32 %2, [%4 + 8]; ld.shared.b32 %3, [%4 + 32];"
            : "=r"(to), "=r"(keys), "=r"(offset), "=r"(row0) : "r"(notes + 16) : "memory");
          const int lane = ug_at_thread() & 31;
          row0 += (ug_at_thread() >> 5) * 16 + (lane >> 2);
          #pragma unroll
          for (int n = half * (@BM@ / 16); n < (half + 1) * (@BM@ / 16); ++n)
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
              const int query = query0 + n * 8 + (lane & 3) * 2 + (i & 1), key = row0 + (i >> 1) * 8;
              if (query >= to || key >= keys || @FUTURE@ || @PAST@) s[n * 4 + i] = -0.f;
            }
        }
        if (half == 0) {
          ug_at_until<0>();
          ug_at_keep<@BM@ / 2>(ds);
        }
        #pragma unroll
        for (int n = half * (@BM@ / 16); n < (half + 1) * (@BM@ / 16); ++n) {
          float delta[2];
          asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(delta[0]), "=f"(delta[1]) : "r"(logs_at + @BM@ * 4 + n * 32) : "memory");
          #pragma unroll
          for (int i = 0; i < 4; ++i) ds[n * 4 + i] = s[n * 4 + i] * (ds[n * 4 + i] - delta[i & 1]);
        }
        if (cut) {
          // What is hidden, -0, has no change, whatever was multiplied.
          #pragma unroll
          for (int i = half * (@BM@ / 4); i < (half + 1) * (@BM@ / 4); ++i)
            if (__float_as_uint(s[i]) == 0x80000000u) ds[i] = 0.f;
        }
        // By key, queries side by side: quarters of the warp have the lines of a matrix of 8 by 8 each.
        const int thread = ug_at_thread(), r = (thread >> 5) * 16 + (thread & 15);
        unsigned p[@BM@ / 32][4], g[@BM@ / 32][4];
        #pragma unroll
        for (int k = 0; k < @BM@ / 32; ++k) {
          #pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int at = half * (@BM@ / 4) + (2 * k + (i >> 1)) * 4 + (i & 1) * 2;
            p[k][i] = ug_at_pack_@half@(s[at], s[at + 1]);
            g[k][i] = ug_at_pack_@half@(ds[at], ds[at + 1]);
          }
          const int c = half * (@BM@ / 16) + 2 * k + (thread >> 4 & 1);
          ug_at_store(changes + (c >> 3) * (@BN@ * 128) + r * 128 + (((c & 7) ^ (r & 7)) << 4), g[k]);
        }
        if (half == 0) {
          ug_at_keep<@D@ / 2>(dv);
          ug_at_keep<@D@ / 2>(dk);
        }
        ug_at_begin();
        #pragma unroll
        for (int k = 0; k < @BM@ / 32; ++k) ug_at_by_keys(dv, p[k], ug_at_matrix(c1_at, @BM@ * 128) + (half * (@BM@ / 32) + k) * 128);
        #pragma unroll
        for (int k = 0; k < @BM@ / 32; ++k) ug_at_by_keys(dk, g[k], ug_at_matrix(c0_at, @BM@ * 128) + (half * (@BM@ / 32) + k) * 128);
        ug_at_end();
      }
      ug_at_shown();
      ug_at_meet();
      // A warpgroup has half of the queries, or half of their features.
      const int wg = ug_at_thread() >> 7;
      const unsigned of_changes = @BM@ == 128 ? changes + wg * (@BN@ * 128) : changes, of_keys = @BM@ == 128 ? k_at : k_at + wg * (@BN@ * 128);
      ug_at_begin();
      #pragma unroll
      for (int k = 0; k < @BN@ / 16; ++k)
        ug_at_by_queries(dq, ug_at_matrix(of_changes, @BN@ * 128) + k * 128, ug_at_matrix(of_keys, @BN@ * 128) + k * 128, k > 0);
      ug_at_end();
      ug_at_until<1>();
      ug_at_keep<@D@ / 2>(dk);
      ug_at_keep<@D@ / 2>(dv);
      // Scores of the next block, while gradients are added up; after the last block, of what lies there: they are not used.
      ug_at_keep<@BM@ / 2>(s);
      scores(s, k_at, c_at + stage * (2 * @BM@ * @D@ * 2));
      ug_at_until<1>();
      ug_at_keep<@BM@ * @D@ / 256>(dq);
      // It was this workgroup's turn before the warpgroups met.
      const int within = ug_at_thread() & 127, lane = within & 31;
      float4* sum;
      char* gq;
      unsigned turn;
      asm volatile("ld.shared.v2.b64 {%0, %1}, [%3]; ld.shared.b32 %2, [%3 + 28];" : "=l"(sum), "=l"(gq), "=r"(turn) : "r"(notes) : "memory");
      sum += wg * (@BM@ * @D@ / 8) + within;
      if (turn & 1) {
        // The last one. A block that only these keys see has no sums.
        if (turn != 3) {
          #pragma unroll
          for (int m = 0; m < @BM@ * @D@ / 1024; ++m) {
            const float4 x = __ldcg(sum + m * 128);
            dq[4 * m] += x.x; dq[4 * m + 1] += x.y; dq[4 * m + 2] += x.z; dq[4 * m + 3] += x.w;
          }
        }
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int row = (@BM@ == 128 ? wg * 64 : 0) + (within >> 5) * 16 + (lane >> 2) + h * 8;
          if (query0 + row < @LEN@) {
            #pragma unroll
            for (int n = 0; n < @BM@ * @D@ / 1024; ++n) {
              const int at = n * 4 + 2 * h;
              *(unsigned*)(gq + row * (long long)@GQ@ + (@BM@ == 128 ? 0 : wg * @D@) + (lane & 3) * 4 + n * 16) = ug_at_pack_@half@(dq[at] * @SCALE@, dq[at + 1] * @SCALE@);
            }
          }
        }
      } else if (turn) {
        #pragma unroll
        for (int m = 0; m < @BM@ * @D@ / 1024; ++m) __stcg(sum + m * 128, make_float4(dq[4 * m], dq[4 * m + 1], dq[4 * m + 2], dq[4 * m + 3]));
      } else {
        #pragma unroll
        for (int m = 0; m < @BM@ * @D@ / 1024; ++m)
          asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" :: "l"(sum + m * 128), "f"(dq[4 * m]), "f"(dq[4 * m + 1]), "f"(dq[4 * m + 2]), "f"(dq[4 * m + 3]) : "memory");
      }
      asm volatile("bar.arrive 1, 288;" ::: "memory");
      ug_at_until<0>();
      ug_at_keep<@BM@ / 2>(s);
      query0 += @BM@;
      if (@HEADS@ > 1 && query0 >= to) query0 = from;
    }
    char *gk, *gv;
    int row0;
    asm volatile("ld.shared.v2.b64 {%0, %1}, [%3]; ld.shared.b32 %2, [%3 + 16];" : "=l"(gk), "=l"(gv), "=r"(row0) : "r"(notes + 32) : "memory");
    const int thread = ug_at_thread();
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = row0 + (thread >> 5) * 16 + (thread >> 2 & 7) + h * 8;
      if (row < @ROWS@) {
        #pragma unroll
        for (int n = 0; n < @D@ / 8; ++n) {
          const int at = n * 4 + 2 * h;
          *(unsigned*)(gk + row * (long long)@G0@ + (thread & 3) * 4 + n * 16) = ug_at_pack_@half@(dk[at] * @SCALE@, dk[at + 1] * @SCALE@);
          *(unsigned*)(gv + row * (long long)@G1@ + (thread & 3) * 4 + n * 16) = ug_at_pack_@half@(dv[at], dv[at + 1]);
        }
      }
    }
  }
}"#;
