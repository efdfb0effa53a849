//! How pickles spell texts and integers.
//!
//! In: the text or the bytes of one. Out: the text that it stands for, or nothing where it is ill-formed.

pub(super) fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The decimal digits of a little-endian integer in two's complement.
pub(super) fn decimal(bytes: &[u8], negative: bool) -> String {
    let mut magnitude = bytes.to_vec();
    if negative {
        let mut carry = true;
        for byte in &mut magnitude {
            let (inverted, more) = (!*byte).overflowing_add(u8::from(carry));
            (*byte, carry) = (inverted, more);
        }
    }
    // In groups of nine digits, the lowest first.
    let mut groups: Vec<u32> = vec![0];
    for byte in magnitude.iter().rev() {
        let mut carry = u64::from(*byte);
        for group in &mut groups {
            let wide = u64::from(*group) * 256 + carry;
            (*group, carry) = ((wide % 1_000_000_000) as u32, wide / 1_000_000_000);
        }
        if carry > 0 {
            groups.push(carry as u32);
        }
    }
    let mut text = if negative { "-".to_owned() } else { String::new() };
    let (highest, others) = groups.split_last().map_or((0, &[][..]), |(highest, others)| (*highest, others));
    text.push_str(&highest.to_string());
    others.iter().rev().for_each(|group| text.push_str(&format!("{group:09}")));
    text
}

/// Text in quotes, with Python's escapes.
pub(super) fn unquoted(line: &str) -> Option<String> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| matches!(mark, '\'' | '"'))?;
    let inside = line.strip_prefix(mark)?.strip_suffix(mark)?;
    unescaped(inside, "\\'\"nrtxabfv0")
}

/// Text with those of Python's escapes that `known` has.
pub(super) fn unescaped(text: &str, known: &str) -> Option<String> {
    let mut spelled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        spelled.push_str(&rest[..at]);
        let escape = rest[at + 1..].chars().next();
        let Some(escape) = escape.filter(|escape| known.contains(*escape)) else {
            // In raw text a backslash that begins nothing is a backslash.
            if known != "uU" {
                return None;
            }
            spelled.push('\\');
            rest = &rest[at + 1..];
            continue;
        };
        let n_digits = match escape {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        // The escape is one ASCII character.
        let digits = rest.get(at + 2..at + 2 + n_digits)?;
        spelled.push(match escape {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'v' => '\x0b',
            '0' => '\0',
            'x' | 'u' | 'U' => char::from_u32(u32::from_str_radix(digits, 16).ok()?)?,
            mark => mark,
        });
        rest = &rest[at + 2 + n_digits..];
    }
    spelled.push_str(rest);
    Some(spelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_width_are_spelled() {
        for number in [0i128, 1, -1, 255, 256, -256, i128::MAX, i128::MIN, 1_000_000_000, -1_000_000_000_000_000_000_000] {
            assert_eq!(decimal(&number.to_le_bytes(), number < 0), number.to_string());
        }
        let power = [[0; 16].as_slice(), &[1]].concat();
        assert_eq!(decimal(&power, false), "340282366920938463463374607431768211456");
        assert_eq!(decimal(&[0xff; 20], true), "-1");
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(unquoted(r"'a\x41\n\\\''").as_deref(), Some("aA\n\\'"));
        assert_eq!(unescaped(r"a\u0041\U0001f600\n", "uU").as_deref(), Some("aA😀\\n"));
        for wrong in ["", "'", "'a", "a'", r"'\x4'", r"'\q'", r"'\'"] {
            assert_eq!(unquoted(wrong), None, "{wrong}");
        }
        assert_eq!(unescaped(r"\ud800", "uU"), None);
        assert_eq!(unescaped(r"\u00e", "uU"), None);
        assert_eq!(unescaped(r"\u00äx", "uU"), None);
    }
}
