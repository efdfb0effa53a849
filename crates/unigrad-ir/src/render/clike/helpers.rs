//! Helper functions in C: what an operation needs beyond an expression, and functions that a dialect's library lacks.
//!
//! In: a function's name and the type it is for. Out: the name to call, its text put before the kernel once, after what it calls.
//! Always: infinities, zeros and NaN come out as [`UnaryOp`](unigrad_scalar::UnaryOp) and [`BinaryOp`](unigrad_scalar::BinaryOp) say.
//!
//! In texts, `$T` is the type, `$U` the unsigned type of its size, `$N` the function's own name, `$fn` the
//! qualifiers, `$f` the suffix of a float constant; any other `$name` is a function of the same type, `$name:f32` one of that type.

use super::Writer;
use unigrad_scalar::{DType, Literal, Term, UnaryOp};

/// Functions of C's library, by which the tables' patterns make names.
const C_MATH: &[&str] = &[
    "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sqrt", "erf",
    "erfc", "floor", "ceil", "rint", "trunc", "fabs", "fma", "fmod", "pow", "atan2", "copysign",
];

/// Library of helper functions: name, text.
const HELPERS: &[(&str, &str)] = &[
    // --- floats
    ("isnan_f32", "$fn bool $N($T x) {\n    return ($bits(x) & 0x7fffffffu) > 0x7f800000u;\n}\n"),
    ("isnan_f64", "$fn bool $N($T x) {\n    return ($bits(x) & 0x7fffffffffffffffUL) > 0x7ff0000000000000UL;\n}\n"),
    ("isfinite_f32", "$fn bool $N($T x) {\n    return ($bits(x) & 0x7fffffffu) < 0x7f800000u;\n}\n"),
    ("isfinite_f64", "$fn bool $N($T x) {\n    return ($bits(x) & 0x7fffffffffffffffUL) < 0x7ff0000000000000UL;\n}\n"),
    // Of anything by 1 to 2, or NaN.
    ("ratio", "$fn $T $N($T a, $T b) {\n    return a / b;\n}\n"),
    ("max", "$fn $T $N($T a, $T b) {\n    return a > b || a != a ? a : b;\n}\n"),
    ("min", "$fn $T $N($T a, $T b) {\n    return a < b || a != a ? a : b;\n}\n"),
    ("gelu_f64", "$fn $T $N($T x) {\n    return x < -1e300 ? 0 : 0.5 * x * $erfc(-x * 0.70710678118654752440);\n}\n"),
    // With a = |x|: erfc(a / sqrt 2) = exp(-a^2 / 2) g(q) / (1 + sqrt(2) a), g a polynomial in q = (a - 4) / (a + 4).
    // `rest` is what rounding took from the square; the exponential would magnify it.
    (
        "gelu_f32",
        "$fn f32 $N(f32 x) {
    f32 a = $fabs(x);
    a = a > 14.6f ? 14.6f : a;
    const f32 square = a * a;
    const f32 rest = $fma(a, a, -square);
    const f32 slope = $fma(a, 1.41421356f, 1.0f);
    const f32 inverse = 1.0f / ((a + 4.0f) * slope);
    const f32 q = (a - 4.0f) * (slope * inverse);
    f32 g = -2.111195e-4f;
    g = $fma(g, q, -1.3083099e-4f);
    g = $fma(g, q, 2.1014402e-3f);
    g = $fma(g, q, -1.3932263e-3f);
    g = $fma(g, q, -1.4570376e-2f);
    g = $fma(g, q, 5.777942e-2f);
    g = $fma(g, q, -1.1663759e-1f);
    g = $fma(g, q, 1.402971e-1f);
    g = $fma(g, q, -6.3442267e-2f);
    g = $fma(g, q, -1.3235661e-1f);
    g = $fma(g, q, 1.2569557f);
    f32 e = $exp(-0.5f * square);
    e = $fma(e * rest, -0.5f, e);
    const f32 h = 0.5f * g * ((a + 4.0f) * inverse);
    const f32 r = x < 0.0f ? x * h * e : $fma(-x, h * e, x);
    return x > 1e30f ? x : (x < -1e30f ? 0.0f : r);
}
",
    ),
    // From the remainder, which is exact. The division may have rounded a whole number down.
    (
        "floordiv",
        "$fn $T $N($T a, $T b) {
    if (b == 0) return a / b;
    const $T r = $fmod(a, b);
    const $T q = (a - r) / b - (r != 0 && (r < 0) != (b < 0) ? ($T)1 : ($T)0);
    if (q == 0) return $copysign(($T)0, a / b);
    const $T f = $floor(q);
    return q - f > 0.5$f ? f + 1 : f;
}
",
    ),
    (
        "floorrem",
        "$fn $T $N($T a, $T b) {\n    const $T r = $fmod(a, b);\n    return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n}\n",
    ),
    // --- what some libraries lack
    // exp(r) - 1 for |r| <= ln(2) / 2.
    (
        "expm1_reduced_f32",
        "$fn f32 $N(f32 r) {
    f32 p = 1.9875691e-4f;
    p = $fma(p, r, 1.3982e-3f);
    p = $fma(p, r, 8.333452e-3f);
    p = $fma(p, r, 4.1665796e-2f);
    p = $fma(p, r, 1.6666665e-1f);
    p = $fma(p, r, 5.0000001e-1f);
    return $fma(p, r * r, r);
}
",
    ),
    (
        "expm1_f32",
        "$fn f32 $N(f32 x) {
    const f32 c = x > 90.0f ? 90.0f : (x < -18.0f ? -18.0f : x);
    const f32 n = $rint(c * 1.44269504f);
    const f32 r = $fma(n, 2.1219444e-4f, $fma(n, -0.693359375f, c));
    // Halved, so that 2^128 is not needed.
    const f32 s = $from_bits((u32)((i32)(n != n ? 0.0f : n) + 126) << 23);
    const f32 y = 2.0f * $fma(s, $expm1_reduced(r), s - 0.5f);
    return x > 89.0f ? $from_bits(0x7f800000u) : (x == 0.0f || x != x ? x : y);
}
",
    ),
    // The quotient is what rounding took from `1 + x`, to first order.
    (
        "log1p_f32",
        "$fn f32 $N(f32 x) {
    const f32 u = 1.0f + x;
    const f32 y = $log(u) * (x / (u - 1.0f));
    return u == 1.0f ? x : (u > 3e38f ? $log(x) : y);
}
",
    ),
    // After N. Juffa: near zero a polynomial, elsewhere one minus the exponential of one.
    (
        "erf_f32",
        "$fn f32 $N(f32 x) {
    const f32 t = $fabs(x);
    const f32 s = x * x;
    if (t > 0.9277344f) {
        const f32 c = t > 4.0f ? 4.0f : t;
        f32 p = -1.7285347e-5f;
        p = $fma(p, c, 3.83197e-4f);
        p = $fma(p, c, -3.8839644e-3f);
        p = $fma(p, c, 2.4254622e-2f);
        p = $fma(p, c, -1.0677788e-1f);
        p = $fma(p, c, -6.3484687e-1f);
        p = $fma(p, c, -1.2871741e-1f);
        p = 1.0f - $exp($fma(p, c, -c));
        return x < 0.0f ? -p : p;
    }
    f32 p = -5.9676169e-4f;
    p = $fma(p, s, 4.991192e-3f);
    p = $fma(p, s, -2.6768135e-2f);
    p = $fma(p, s, 1.1281992e-1f);
    p = $fma(p, s, -3.7612533e-1f);
    p = $fma(p, s, 1.2837917e-1f);
    return $fma(p, x, x);
}
",
    ),
    // As gelu's, with a = sqrt(2) x.
    (
        "erfc_f32",
        "$fn f32 $N(f32 x) {
    f32 a = $fabs(x);
    a = a > 10.3f ? 10.3f : a;
    const f32 square = a * a;
    const f32 rest = $fma(a, a, -square);
    const f32 sum = a + 2.8284271f;
    const f32 slope = $fma(a, 2.0f, 1.0f);
    const f32 inverse = 1.0f / (sum * slope);
    const f32 q = (a - 2.8284271f) * (slope * inverse);
    f32 g = -2.111195e-4f;
    g = $fma(g, q, -1.3083099e-4f);
    g = $fma(g, q, 2.1014402e-3f);
    g = $fma(g, q, -1.3932263e-3f);
    g = $fma(g, q, -1.4570376e-2f);
    g = $fma(g, q, 5.777942e-2f);
    g = $fma(g, q, -1.1663759e-1f);
    g = $fma(g, q, 1.402971e-1f);
    g = $fma(g, q, -6.3442267e-2f);
    g = $fma(g, q, -1.3235661e-1f);
    g = $fma(g, q, 1.2569557f);
    g = g * (sum * inverse);
    const f32 tail = $fma(g, -rest, g) * $exp(-square);
    return x != x ? x : (x < 0.0f ? 2.0f - tail : tail);
}
",
    ),
    // Bit by bit, so that nothing rounds.
    (
        "fmod_f32",
        "$fn f32 $N(f32 x, f32 y) {
    const u32 b = $bits(y) & 0x7fffffffu, a = $bits(x) & 0x7fffffffu, sign = $bits(x) & 0x80000000u;
    if (b == 0u || b > 0x7f800000u || a >= 0x7f800000u) return $from_bits(0x7fc00000u);
    if (a < b) return x;
    u32 ea = a >> 23, eb = b >> 23;
    u32 m = ea == 0u ? a : (a & 0x007fffffu) | 0x00800000u;
    const u32 d = eb == 0u ? b : (b & 0x007fffffu) | 0x00800000u;
    ea = ea == 0u ? 1u : ea;
    eb = eb == 0u ? 1u : eb;
    u32 left = ea - eb;
    m %= d;
    while (left > 0u && m != 0u) {
        const u32 step = left < 8u ? left : 8u;
        m = (m << step) % d;
        left -= step;
    }
    while (m != 0u && m < 0x00800000u && eb > 1u) {
        m <<= 1;
        eb -= 1u;
    }
    return $from_bits(sign | (m < 0x00800000u ? 0u : eb << 23) | (m & 0x007fffffu));
}
",
    ),
    // --- conversions
    ("to_i8", "$fn i32 $N($T x) {\n    return x != x ? 0 : (x >= 127.0$f ? 127 : (x <= -128.0$f ? -128 : (i32)x));\n}\n"),
    ("to_u8", "$fn i32 $N($T x) {\n    return !(x > 0) ? 0 : (x >= 255.0$f ? 255 : (i32)x);\n}\n"),
    ("to_i16", "$fn i32 $N($T x) {\n    return x != x ? 0 : (x >= 32767.0$f ? 32767 : (x <= -32768.0$f ? -32768 : (i32)x));\n}\n"),
    ("to_u16", "$fn i32 $N($T x) {\n    return !(x > 0) ? 0 : (x >= 65535.0$f ? 65535 : (i32)x);\n}\n"),
    ("to_u32", "$fn u32 $N($T x) {\n    return !(x > 0) ? 0u : (x >= 4294967296.0$f ? 0xffffffffu : (u32)x);\n}\n"),
    (
        "to_i32",
        "$fn i32 $N($T x) {
    return x != x ? 0 : (x >= 2147483648.0$f ? 2147483647 : (x < -2147483648.0$f ? -2147483647 - 1 : (i32)x));
}
",
    ),
    (
        "to_i64",
        "$fn i64 $N($T x) {
    return x != x ? (i64)0 : (x >= 9223372036854775808.0$f ? (i64)0x7fffffffffffffffUL : (x < -9223372036854775808.0$f ? (i64)0x8000000000000000UL : (i64)x));
}
",
    ),
    (
        "to_u64",
        "$fn u64 $N($T x) {
    return !(x > 0) ? (u64)0 : (x >= 18446744073709551616.0$f ? (u64)0xffffffffffffffffUL : (u64)x);
}
",
    ),
    // Multiplying by a power of two also normalises denormals; infinities and NaN keep the greatest exponent.
    (
        "f16_to_f32",
        "$fn f32 $N(u16 x) {
    const u32 magnitude = ((u32)x & 0x7fffu) << 13;
    const u32 normal = $bits:f32($from_bits:f32(magnitude) * $from_bits:f32(0x77800000u));
    return $from_bits:f32((magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : normal) | ((u32)x & 0x8000u) << 16);
}
",
    ),
    // Denormal results: adding 0.5 lets the adder round at 2^-24.
    (
        "f32_to_f16",
        "$fn u16 $N(f32 x) {
    const u32 magnitude = $bits:f32(x) & 0x7fffffffu;
    const u32 normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    const u32 denormal = $bits:f32($from_bits:f32(magnitude) + 0.5f) - 0x3f000000u;
    const u32 large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const u32 finite = magnitude < 0x38800000u ? denormal : normal;
    return (u16)((($bits:f32(x) >> 16) & 0x8000u) | (magnitude >= 0x477ff000u ? large : finite));
}
",
    ),
    ("bf16_to_f32", "$fn f32 $N(u16 x) {\n    return $from_bits:f32((u32)x << 16);\n}\n"),
    (
        "f32_to_bf16",
        "$fn u16 $N(f32 x) {
    const u32 b = $bits:f32(x);
    return (u16)((b & 0x7fffffffu) > 0x7f800000u ? (b >> 16) | 0x40u : (b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
}
",
    ),
    // --- integers
    ("idiv_signed", "$fn $T $N($T a, $T b) {
    if (b == 0) return 0;
    if (b == -1) return ($T)(($U)0 - ($U)a);
    const $T q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
"),
    ("irem_signed", "$fn $T $N($T a, $T b) {
    if (b == 0 || b == -1) return 0;
    const $T r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
"),
    ("ipow_signed", "$fn $T $N($T a, $T b) {
    if (b < 0) return a == 1 || (a == -1 && (b & 1) == 0) ? 1 : (a == -1 ? -1 : 0);
    $U base = ($U)a, n = ($U)b, r = 1;
    while (n != 0) {
        if ((n & 1) != 0) r *= base;
        base *= base;
        n >>= 1;
    }
    return ($T)r;
}
"),
    ("ipow_unsigned", "$fn $T $N($T base, $T n) {
    $T r = 1;
    while (n != 0) {
        if ((n & 1) != 0) r *= base;
        base *= base;
        n >>= 1;
    }
    return r;
}
"),
];

impl Writer<'_> {
    /// The name by which the function `name` of type `dtype` is called here.
    pub(in crate::render) fn function(&mut self, name: &str, dtype: DType) -> String {
        let language = self.language;
        let wide = usize::from(dtype == DType::F64);
        if let Some((_, f32_name, f64_name)) = language.natives.iter().find(|(n, ..)| *n == name) {
            let native = if wide == 0 { f32_name } else { f64_name };
            if dtype.is_float() && !native.is_empty() {
                return (*native).to_owned();
            }
        }
        if dtype.is_float() && C_MATH.contains(&name) && !language.lacks.contains(&name) {
            let native = language.math[wide].replace("{n}", name);
            if !language.math_declare.is_empty() {
                let t = dtype.name();
                let count = match name {
                    "fma" => 3,
                    "fmod" | "pow" | "atan2" | "copysign" => 2,
                    _ => 1,
                };
                let text = language.math_declare.replace("{t}", t).replace("{n}", &native).replace("{p}", &vec![t; count].join(", "));
                self.prelude(&native, text);
            }
            return native;
        }
        // Conversions say both types.
        let own = if name.contains("_to_") { format!("ug_{name}") } else { format!("ug_{name}_{}", dtype.name()) };
        if !self.has_prelude(&own) {
            match self.helper_text(name, dtype) {
                Some(text) => {
                    let text = self.expand(text, &own, dtype);
                    self.prelude(&own, text);
                }
                None => match self.composed(name, &own, dtype) {
                    Some(text) => self.prelude(&own, text),
                    None => self.refuse(None, format!("no function `{name}` of {dtype}"), "cast to f32 first"),
                },
            }
        }
        own
    }

    /// Looks a helper up: the target's before the dialect's before the library's, each by its name for the type, for the type's class, for all.
    fn helper_text(&self, name: &str, dtype: DType) -> Option<&'static str> {
        let class = match dtype {
            d if d.is_float() => "float",
            d if d.is_signed_int() => "signed",
            _ => "unsigned",
        };
        let names = [format!("{name}_{}", dtype.name()), format!("{name}_{class}"), name.to_owned()];
        let tables = [(self.language.helpers_for)(self.target), self.language.helpers, HELPERS];
        let listed =
            tables.iter().find_map(|table| names.iter().find_map(|n| table.iter().find(|(key, _)| key == n).map(|(_, text)| *text)));
        listed.or_else(|| UnaryOp::ALL.iter().find(|op| op.name() == name)?.c())
    }

    /// The text of a function that is composed of others.
    fn composed(&mut self, name: &str, own: &str, dtype: DType) -> Option<String> {
        let op = UnaryOp::ALL.iter().find(|op| op.name() == name)?;
        let formula = op.form(dtype == DType::F64)?;
        let name = |at: usize| if at == 0 { "x".to_owned() } else { format!("t{at}") };
        let mut text = format!("{} {} {own}({} x) {{\n", self.language.function, dtype.name(), dtype.name());
        for (at, term) in formula.terms().iter().enumerate() {
            let value = match *term {
                Term::Input(_) => continue,
                Term::Constant(value) => {
                    if !value.is_finite() {
                        self.function("from_bits", dtype);
                    }
                    self.literal(Literal::float(dtype, value))
                }
                Term::Unary(op, a) => self.unary_float(None, op, dtype, &name(a)),
                Term::Binary(op, a, b) => {
                    let of = if formula.is_truth(a) { DType::Bool } else { dtype };
                    self.binary_text(None, op, of, &name(a), &name(b), None)
                }
                Term::Select(condition, yes, no) => format!("{} ? {} : {}", name(condition), name(yes), name(no)),
            };
            let ty = if formula.is_truth(at) { "bool" } else { dtype.name() };
            text.push_str(&format!("    const {ty} {} = {value};\n", name(at)));
        }
        text.push_str(&format!("    return {};\n}}\n", name(formula.terms().len() - 1)));
        Some(text)
    }

    /// Fills a helper's text in.
    fn expand(&mut self, text: &str, own: &str, dtype: DType) -> String {
        let mut out = String::with_capacity(text.len());
        let mut parts = text.split('$');
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(part.len());
            let (word, mut rest) = part.split_at(end);
            match word {
                "T" => out.push_str(dtype.name()),
                "U" => out.push_str(unsigned(dtype).name()),
                "N" => out.push_str(own),
                "fn" => out.push_str(self.language.function),
                "f" => out.push_str(if dtype == DType::F64 { "" } else { "f" }),
                function => {
                    let of = if let Some(after) = rest.strip_prefix(":f32") {
                        rest = after;
                        DType::F32
                    } else {
                        dtype
                    };
                    let name = self.function(function, of);
                    out.push_str(&name);
                }
            }
            out.push_str(rest);
        }
        out
    }
}

/// The unsigned integer of the same size.
pub(super) fn unsigned(dtype: DType) -> DType {
    match dtype.size() {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        _ => DType::U64,
    }
}
