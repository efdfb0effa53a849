//! What is done to good inputs so that they are bad.
//!
//! Always: drawn from the generator that is given, so that a case can be made again.

use unigrad_testing::fuzz::Rng;

/// Numbers at which something changes.
const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    7,
    8,
    127,
    128,
    255,
    256,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 53,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX,
];

pub(crate) fn number(rng: &mut Rng) -> u64 {
    *rng.pick(NUMBERS)
}

/// As a text may have it.
fn written(rng: &mut Rng) -> String {
    match rng.below(8) {
        0 => format!("-{}", number(rng)),
        1 => "1e308".to_owned(),
        2 => "0.5".to_owned(),
        3 => "18446744073709551616".to_owned(),
        4 => "nan".to_owned(),
        _ => number(rng).to_string(),
    }
}

/// Some changes of bytes.
pub(crate) fn bytes(input: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(input.len().max(1));
        match rng.below(9) {
            0 => input.truncate(at),
            1 if !input.is_empty() => input[at] ^= 1 << rng.below(8),
            2 if !input.is_empty() => input[at] = rng.bits() as u8,
            3 => {
                let n = 1 + rng.below(16);
                let new: Vec<u8> = (0..n).map(|_| rng.bits() as u8).collect();
                input.splice(at.min(input.len())..at.min(input.len()), new);
            }
            4 => {
                let end = (at + 1 + rng.below(32)).min(input.len());
                input.drain(at.min(end)..end);
            }
            5 => {
                // A part of it again, somewhere else.
                let end = (at + 1 + rng.below(64)).min(input.len());
                let part = input[at.min(end)..end].to_vec();
                let to = rng.below(input.len() + 1);
                input.splice(to..to, part);
            }
            6 => {
                // A number, in either order of bytes.
                let number = number(rng);
                let width = *rng.pick(&[2, 4, 8]);
                let (low, high) = (number.to_le_bytes(), number.to_be_bytes());
                let new = if rng.once_in(2) { &low[..width] } else { &high[8 - width..] };
                let end = (at + width).min(input.len());
                input.splice(at.min(end)..end, new.iter().copied());
            }
            7 => input.extend((0..rng.below(64)).map(|i| i as u8)),
            _ => {
                let at = at.min(input.len());
                input.rotate_left(at);
            }
        }
    }
}

/// Some changes of a text's words and marks, which reach further than those of bytes do.
pub(crate) fn text(input: &str, rng: &mut Rng) -> String {
    let mut words = words(input);
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(words.len().max(1));
        let other = rng.below(words.len().max(1));
        let is_number = |word: &String| word.starts_with(|c: char| c.is_ascii_digit());
        match rng.below(8) {
            0 | 1 => {
                // A number becomes another.
                let numbers: Vec<usize> = words.iter().enumerate().filter(|(_, word)| is_number(word)).map(|(at, _)| at).collect();
                if !numbers.is_empty() {
                    let at = *rng.pick(&numbers);
                    words[at] = written(rng);
                }
            }
            2 if !words.is_empty() => {
                words.remove(at);
            }
            3 if !words.is_empty() => words.insert(at, words[other].clone()),
            4 if !words.is_empty() => words.swap(at, other),
            5 if !words.is_empty() => words[at] = words[other].clone(),
            6 => {
                // Nested, now and then deeper than any stack.
                let (open, close) = *rng.pick(&[("[", "]"), ("{", "}"), ("(", ")"), ("{\"a\":", "}"), ("if %a { ", "}"), ("-", "")]);
                let depth = if rng.once_in(20) { 50_000 } else { 1 + rng.below(200) };
                words.insert(
                    at.min(words.len()),
                    format!("{}{}", open.repeat(depth), if rng.once_in(2) { close.repeat(depth) } else { String::new() }),
                );
            }
            _ => {
                let end = (at + 1 + rng.below(20)).min(words.len());
                let part = words[at.min(end)..end].to_vec();
                let to = rng.below(words.len() + 1);
                words.splice(to..to, part);
            }
        }
    }
    words.concat()
}

/// The text in pieces: words, numbers, and every mark alone.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in text.chars() {
        let is_word = c.is_alphanumeric() || c == '_' || c == '.';
        match words.last_mut() {
            Some(last) if is_word && in_word => last.push(c),
            _ => words.push(c.to_string()),
        }
        in_word = is_word;
    }
    words
}
