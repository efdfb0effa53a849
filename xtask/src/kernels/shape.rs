//! What texts have in common: which of them a compiler would treat alike, and which few have every statement of all.
//!
//! In: texts of C-like kernels. Out: their shapes. The shape of a text is the set of its statements, where a literal is any literal, a
//! variable is its type and the kernel's name does not count: what is left of two texts of one shape differs in extents, constants and how
//! often and in which order statements occur.
//! Never: parses. A variable is what the renderers name `v7`, `p0_in`, `s1_tile` or `l2_sum`, and its type stands before it where it is declared.

use std::{
    collections::{BinaryHeap, HashMap, HashSet},
    path::{Path, PathBuf},
};

/// Texts by shape.
#[derive(Default)]
pub(crate) struct Shapes {
    statements: HashMap<String, u32>,
    /// A text of each shape, in order of its first text, and the statements it has.
    all: Vec<(PathBuf, Vec<u32>)>,
    seen: HashSet<Vec<u32>>,
    pub(crate) n_texts: usize,
}

impl Shapes {
    /// Notes a text. `entry` is its kernel's name.
    pub(crate) fn add(&mut self, path: &Path, text: &str, entry: &str) {
        self.n_texts += 1;
        let next = |statements: &HashMap<String, u32>| statements.len() as u32;
        let mut shape: Vec<u32> = Vec::new();
        for statement in statements(text, entry) {
            let new = next(&self.statements);
            shape.push(*self.statements.entry(statement).or_insert(new));
        }
        shape.sort_unstable();
        shape.dedup();
        if self.seen.insert(shape.clone()) {
            self.all.push((path.to_owned(), shape));
        }
    }

    pub(crate) fn n_statements(&self) -> usize {
        self.statements.len()
    }

    /// A text of each shape: first those that add statements which no text before them has, most of them first, then the others, spread
    /// over all; and how many of the first kind there are.
    pub(crate) fn representatives(&self) -> (Vec<PathBuf>, usize) {
        let mut covered = vec![false; self.statements.len()];
        let mut order: Vec<usize> = Vec::new();
        // The first in the order of files among equals.
        let mut heap: BinaryHeap<(usize, std::cmp::Reverse<usize>)> =
            self.all.iter().enumerate().map(|(at, (_, shape))| (shape.len(), std::cmp::Reverse(at))).collect();
        while let Some((gain, std::cmp::Reverse(at))) = heap.pop() {
            let shape = &self.all[at].1;
            let now = shape.iter().filter(|statement| !covered[**statement as usize]).count();
            if now == gain && now > 0 {
                shape.iter().for_each(|statement| covered[*statement as usize] = true);
                order.push(at);
            } else if now > 0 {
                heap.push((now, std::cmp::Reverse(at)));
            }
        }
        let n_first = order.len();
        let chosen: HashSet<usize> = order.iter().copied().collect();
        let rest: Vec<usize> = (0..self.all.len()).filter(|at| !chosen.contains(at)).collect();
        order.extend(spread(rest.len()).into_iter().map(|at| rest[at]));
        (order.into_iter().map(|at| self.all[at].0.clone()).collect(), n_first)
    }
}

/// `0..n` in an order of which every beginning is spread over all.
fn spread(n: usize) -> Vec<usize> {
    let bits = usize::BITS - n.leading_zeros();
    let reversed = (0..1usize << bits).map(|at| if bits == 0 { 0 } else { at.reverse_bits() >> (usize::BITS - bits) });
    reversed.filter(|at| *at < n).collect()
}

/// Whether the renderers would give a variable this name.
fn is_variable(word: &str) -> bool {
    let mut chars = word.chars();
    let named = chars.next().is_some_and(|c| matches!(c, 'v' | 'p' | 's' | 'l'));
    let rest = chars.as_str().trim_start_matches(|c: char| c.is_ascii_digit());
    named && rest.len() < word.len() - 1 && (rest.is_empty() || rest.starts_with('_'))
}

/// The statements of a text, without what does not count. A kernel's parameters are statements too.
fn statements(text: &str, entry: &str) -> Vec<String> {
    let mut types: HashMap<&str, String> = HashMap::new();
    let mut all = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        let is_signature = line.contains(entry);
        let mut statement = String::with_capacity(line.len());
        // Where the declaration begins that may stand here.
        let mut begin = 0;
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let len = if c == '"' {
                string_len(rest)
            } else if c.is_ascii_digit() {
                number_len(rest)
            } else if is_word(c) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else {
                c.len_utf8()
            };
            let (token, after) = rest.split_at(len);
            rest = after;
            if c.is_ascii_digit() {
                statement.push('0');
            } else if token == entry {
                statement.push_str("kernel");
            } else if is_variable(token) {
                let ty = types.entry(token).or_insert_with(|| statement[begin..].trim().to_owned());
                statement.push('<');
                statement.push_str(ty);
                statement.push('>');
            } else {
                statement.push_str(token);
            }
            if matches!(c, '(' | ';' | ',' | '{') {
                if is_signature && c == ',' {
                    all.push(std::mem::take(&mut statement));
                }
                begin = statement.len();
            }
        }
        all.push(statement);
    }
    all
}

fn string_len(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// Digits, letters and points, and the sign of an exponent.
fn number_len(text: &str) -> usize {
    let is_hex = text.starts_with("0x");
    let mut before = ' ';
    let end = text.char_indices().find(|(_, c)| {
        let goes_on = c.is_ascii_alphanumeric() || *c == '.' || (matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !is_hex);
        before = *c;
        !goes_on
    });
    end.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(texts: &[&str]) -> Shapes {
        let mut shapes = Shapes::default();
        texts.iter().enumerate().for_each(|(at, text)| shapes.add(Path::new(&at.to_string()), text, "k_it"));
        shapes
    }

    #[test]
    fn names_numbers_and_order_do_not_count() {
        let a = "void k_it(const f32* p0_x, f32* p1_y) {\nconst u32 v0 = 3u;\nconst u32 v1 = v0 * 0x1fu;\nconst f32 v2 = p0_x[v1] + 1.5e-3f;\n}";
        let b = "void k_it(const f32* p0_z, f32* p1_y) {\nconst u32 v5 = 4u;\nconst f32 v2 = p0_z[v5] + 2.0f;\nconst u32 v1 = v5 * 7u;\n}";
        assert_eq!(shapes(&[a, b]).all.len(), 1);
        // Types, operations and words of assembler do.
        for (from, to) in [("u32 v0", "i32 v0"), ("v0 *", "v0 /"), ("const f32* p0_x", "const u16* p0_x"), ("3u", "f(3u)")] {
            assert_eq!(shapes(&[a, &a.replace(from, to)]).all.len(), 2, "{from}");
        }
        assert_eq!(shapes(&["asm(\"add.u32 1\");", "asm(\"add.u32 2\");"]).all.len(), 2);
    }

    #[test]
    fn representatives_have_every_statement_soon() {
        let (files, n_first) = shapes(&["a();", "b();\nc();", "a();\nb();", "c();\nd();\na();", "e();"]).representatives();
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        assert_eq!((names[0].as_str(), n_first, names.len()), ("3", 3, 5), "{names:?}");
        assert_eq!(names[1..3], ["1", "4"]);
    }

    #[test]
    fn beginnings_are_spread() {
        assert_eq!(spread(5), [0, 4, 2, 1, 3]);
        assert_eq!((spread(0), spread(1)), (vec![], vec![0]));
    }
}
