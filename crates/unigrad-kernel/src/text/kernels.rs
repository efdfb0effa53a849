//! Kernels of all kinds as text. Only regions are read back.

use crate::{
    Arg, Attention, AttentionGrad, Contract, Crossed, Custom, Grouped, Joined, Kernel, Layout4, MaxPool, Region, Scan, Scatter,
    ScatterBase, Summed, TopK,
};
use std::fmt::{self, Display, Write};

impl Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kernel::Region(k) => k.fmt(f),
            Kernel::Grouped(k) => k.fmt(f),
            Kernel::Joined(k) => k.fmt(f),
            Kernel::Crossed(k) => k.fmt(f),
            Kernel::Contract(k) => k.fmt(f),
            Kernel::Summed(k) => k.fmt(f),
            Kernel::Attention(k) => k.fmt(f),
            Kernel::AttentionGrad(k) => k.fmt(f),
            Kernel::Scan(k) => k.fmt(f),
            Kernel::Scatter(k) => k.fmt(f),
            Kernel::ArgSort(k) => {
                let order = if k.descending { "descending" } else { "ascending" };
                writeln!(f, "argsort {} [{}, {}, {}] {order}", k.dtype, k.outer, k.len, k.inner)
            }
            Kernel::TopK(k) => k.fmt(f),
            Kernel::MaxPool(k) => k.fmt(f),
            Kernel::Custom(k) => k.fmt(f),
        }
    }
}

fn buffers(f: &mut fmt::Formatter<'_>, args: &[Arg]) -> fmt::Result {
    args.iter().enumerate().try_for_each(|(at, arg)| writeln!(f, "    a{at}: {arg}"))
}

/// The body once, and the extent of each instance.
impl Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "grouped lens {:?} {{", self.lens)?;
        self.region.write(f, 1)?;
        f.write_str("}\n")
    }
}

/// Each part, one after the other.
impl Display for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "joined {} parts", self.parts.len())?;
        self.parts.iter().try_for_each(|part| part.fmt(f))
    }
}

/// The rows, then each of the columns with what its arguments are among the kernel's.
impl Display for Crossed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "crossed {{")?;
        for (region, places, _) in self.parts() {
            writeln!(f, "    args {places:?}")?;
            Region::write(region, f, 1)?;
        }
        f.write_str("}\n")
    }
}

/// Each list of dimensions with its strides in `a`, `b` and `c`, outermost first.
impl Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lens = (self.batch_len(), self.m_len(), self.n_len(), self.k_len());
        let sums = if self.tf32 { " of tf32" } else { "" };
        writeln!(f, "contract {} of {}x{}x{} in {}{sums} {{", lens.0, lens.1, lens.2, lens.3, self.compute_dtype())?;
        self.batch.iter().try_for_each(|d| writeln!(f, "    batch {}: a {}, b {}, c {}", d.size, d.a, d.b, d.c))?;
        self.m.iter().try_for_each(|d| writeln!(f, "    m {}: a {}, c {}", d.size, d.a, d.c))?;
        self.n.iter().try_for_each(|d| writeln!(f, "    n {}: b {}, c {}", d.size, d.b, d.c))?;
        self.k.iter().try_for_each(|d| writeln!(f, "    k {}: a {}, b {}", d.size, d.a, d.b))?;
        for (name, operand, offset, prologue) in
            [("a", self.a, self.a_offset, &self.prologues[0]), ("b", self.b, self.b_offset, &self.prologues[1])]
        {
            writeln!(f, "    {name}: {operand} from {offset}")?;
            if let Some(region) = prologue {
                Region::write(region, f, 1)?;
            }
        }
        match &self.epilogue {
            Some(region) => {
                writeln!(f, "    acc: {}", self.c.dtype)?;
                Region::write(region, f, 1)?;
            }
            None => writeln!(f, "    c: {}", self.c)?,
        }
        f.write_str("}\n")
    }
}

/// The product, then the sums with what their arguments are among the kernel's.
impl Display for Summed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "contract.sums {{")?;
        self.product.fmt(f)?;
        writeln!(f, "    args {:?}", self.places())?;
        Region::write(&self.sums.region, f, 1)?;
        f.write_str("}\n")
    }
}

/// `4 + [64, 8, 1, 0]`: the offset and the strides of batch, head, position and feature.
impl Display for Layout4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} + {:?}", self.offset, self.strides)
    }
}

fn attention(f: &mut fmt::Formatter<'_>, kind: &str, k: &Attention) -> fmt::Result {
    write!(f, "{kind} {} batch {} heads {} of {} ", k.dtype, k.batch, k.heads, k.kv_heads)?;
    write!(f, "q {}x{} k {} v {} scale {:?}", k.q_len, k.qk_dim, k.k_len, k.v_dim, f64::from_bits(k.spec.scale_bits))?;
    if k.spec.causal {
        f.write_str(" causal")?;
    }
    if let Some(window) = k.spec.window {
        write!(f, " window {window}")?;
    }
    if k.tf32 {
        f.write_str(" of tf32")?;
    }
    if let Some(dropout) = k.spec.dropout {
        write!(f, " keep {:?}", f32::from_bits(dropout.keep_bits))?;
    }
    if k.spec.positions.is_tensor() {
        f.write_str(" positions")?;
    }
    if let Some(pages) = k.pages {
        write!(f, " pages {} of {}", pages.count, pages.size)?;
    }
    f.write_str(" {\n")?;
    for (name, at) in [("q", k.q), ("k", k.k), ("v", k.v), ("out", k.out)] {
        writeln!(f, "    {name}: {at}")?;
    }
    k.bias.map_or(Ok(()), |(at, _)| writeln!(f, "    bias: {at}"))
}

impl Display for Attention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        attention(f, "attention", self)?;
        buffers(f, &self.args())?;
        f.write_str("}\n")
    }
}

impl Display for AttentionGrad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        attention(f, "attention.grad", &self.forward)?;
        for (name, at) in [("dout", self.dout), ("dq", self.dq), ("dk", self.dk), ("dv", self.dv)] {
            writeln!(f, "    {name}: {at}")?;
        }
        buffers(f, &self.args())?;
        f.write_str("}\n")
    }
}

impl Display for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.reverse { " reverse" } else { "" };
        writeln!(f, "scan {} {} [{}, {}, {}]{order}", self.op, self.dtype, self.outer, self.len, self.inner)
    }
}

impl Display for TopK {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = if self.largest { "largest" } else { "least" };
        writeln!(f, "topk {} {which} {} of [{}, {}, {}]", self.dtype, self.k, self.outer, self.len, self.inner)
    }
}

impl Display for Scatter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, out) = (&self.shape[..], &self.out_shape[..]);
        write!(f, "scatter {} {} {shape:?} into {out:?} along {} over ", self.mode, self.dtype, self.axis)?;
        match &self.base {
            ScatterBase::Arg => f.write_str("a0")?,
            ScatterBase::Out => f.write_str("itself")?,
            ScatterBase::Fill(value) => f.write_str(&super::region::literal(*value))?,
        }
        writeln!(f, " {{\n    index: {} + {:?}", self.index_offset, &self.index_strides[..])?;
        writeln!(f, "    src: {} + {:?}", self.src_offset, &self.src_strides[..])?;
        buffers(f, &self.args())?;
        f.write_str("}\n")
    }
}

impl Display for MaxPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "max_pool {} {} of {:?} to {:?} {{", self.dtype, self.outer, &self.input[..], &self.output[..])?;
        let spec = &self.spec;
        let settings = [("kernel", &spec.kernel), ("stride", &spec.stride), ("pad", &spec.pad), ("dilation", &spec.dilation)];
        settings.iter().try_for_each(|(name, of)| writeln!(f, "    {name}: {:?}", &of[..]))?;
        f.write_str("}\n")
    }
}

/// Without its texts, which are the user's.
impl Display for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut languages = String::new();
        for (language, text) in &self.program.texts {
            write!(languages, " {language} ({} bytes)", text.len())?;
        }
        let (program, grid) = (&self.program, self.grid);
        writeln!(f, "custom {:?} entry {:?} block {:?} grid {grid:?} in{languages} {{", program.name, program.entry, program.block)?;
        buffers(f, &self.args)?;
        self.scalars.iter().enumerate().try_for_each(|(at, dtype)| writeln!(f, "    s{at}: {dtype}"))?;
        f.write_str("}\n")
    }
}
