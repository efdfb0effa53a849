//! A tape: nodes as numbers, in levels, for a machine that computes each level side by side.
//!
//! In: nodes, each behind what it is made from; for a way back, what arrives at each from outside. Out: words and numbers for a machine, and what
//! the same tape gives on the host.
//! Always: what an entry is made from stands in a lower level; what nodes are made from and is not among them is an entry of level 0. An entry
//! collects its gradient from those made of it, so that nothing is added to by two.

use crate::{Function, Node, Op};
use std::collections::HashMap;

/// What is known in the words of an entry.
pub(crate) mod code {
    pub(crate) const GIVEN: u32 = 0;
    pub(crate) const ADD: u32 = 1;
    pub(crate) const MUL: u32 = 2;
    pub(crate) const POW: u32 = 3;
    pub(crate) const POW_OF: u32 = 4;
    pub(crate) const LINEAR: u32 = 5;
    pub(crate) const LINEAR_RELU: u32 = 6;
    /// The first function; the others follow in the order of [`crate::Function::ALL`].
    pub(crate) const CALL: u32 = 7;
    /// Added where the value is there already.
    pub(crate) const READY: u32 = 16;
    /// No other factor.
    pub(crate) const NONE: u32 = u32::MAX;
}

/// Nodes as numbers.
pub struct Tape<'a> {
    n: usize,
    n_levels: usize,
    /// Steps of the program's loops over entries, users and terms.
    n_steps: usize,
    has_way_back: bool,
    words: Vec<u32>,
    numbers: Vec<f64>,
    /// The entry of each node.
    entries: Vec<usize>,
    outside: Vec<(&'a Node, usize)>,
}

/// A user of an entry: that entry, and the entry whose value is a factor of its slope.
type Use = (u32, u32);

impl<'a> Tape<'a> {
    /// A tape of these nodes; with what arrives at each, one with a way back.
    pub(crate) fn new(nodes: &[&'a Node], arriving: Option<&[f64]>) -> Tape<'a> {
        let mut known: HashMap<*const Node, usize> = HashMap::with_capacity(nodes.len());
        known.extend(nodes.iter().enumerate().map(|(at, node)| (std::ptr::from_ref(*node), at)));
        let mut outside: Vec<&Node> = Vec::new();
        let mut level = vec![0_u32; nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            let mut own = 0;
            for child in node.op.children() {
                let found = *known.entry(std::sync::Arc::as_ptr(child)).or_insert_with(|| {
                    outside.push(child);
                    nodes.len() + outside.len() - 1
                });
                own = own.max(1 + level.get(found).copied().unwrap_or(0)); // DEFAULT: what is outside is of level 0
            }
            level[at] = own;
        }
        let n = nodes.len() + outside.len();
        level.resize(n, 0);
        let n_levels = level.iter().max().map_or(0, |most| *most as usize + 1);
        // Entries sorted by level.
        let mut starts = vec![0_u32; n_levels + 1];
        level.iter().for_each(|level| starts[*level as usize + 1] += 1);
        for at in 0..n_levels {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let entry: Vec<usize> = level
            .iter()
            .map(|level| {
                next[*level as usize] += 1;
                next[*level as usize] as usize - 1
            })
            .collect();
        let outside: Vec<(&Node, usize)> = outside.into_iter().zip(&entry[nodes.len()..]).map(|(node, entry)| (node, *entry)).collect();
        let entries = entry[..nodes.len()].to_vec();
        let mut tape =
            Tape { n, n_levels, n_steps: 0, has_way_back: arriving.is_some(), words: Vec::new(), numbers: Vec::new(), entries, outside };
        let at = |node: &Node| known.get(&std::ptr::from_ref(node)).map_or(code::NONE, |at| entry[*at] as u32);
        tape.write(nodes, &starts, arriving, at);
        tape
    }

    /// Words: a code, two operands for each entry; where its users begin, and their end; where each level begins, and their end; users; terms.
    /// Numbers: for each entry its value, its constant, and what arrives at it.
    fn write(&mut self, nodes: &[&Node], starts: &[u32], arriving: Option<&[f64]>, at: impl Fn(&Node) -> u32) {
        let n = self.n;
        let mut ops = vec![[code::GIVEN, 0, 0]; n];
        let mut numbers = vec![0.0; n * (2 + usize::from(arriving.is_some()))];
        let (mut terms, mut term_starts): (Vec<u32>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut n_products = 0;
        let mut users: Vec<(u32, Use)> = Vec::new();
        for (outside, entry) in &self.outside {
            numbers[*entry] = outside.raw();
        }
        for (node, entry) in nodes.iter().zip(&self.entries) {
            let own = *entry as u32;
            let mut used = |of: u32, factor: u32| {
                if arriving.is_some() {
                    users.push((of, (own, factor)));
                }
            };
            let words = match &node.op {
                Op::Leaf => [code::GIVEN, 0, 0],
                Op::Move(a) => {
                    used(at(a), code::NONE);
                    [code::GIVEN, 0, 0]
                }
                Op::Add(a, b) => {
                    used(at(a), code::NONE);
                    used(at(b), code::NONE);
                    [code::ADD, at(a), at(b)]
                }
                Op::Mul(a, b) => {
                    used(at(a), at(b));
                    used(at(b), at(a));
                    [code::MUL, at(a), at(b)]
                }
                Op::Pow(a, exponent, _) => {
                    numbers[n + entry] = *exponent;
                    used(at(a), code::NONE);
                    [code::POW, at(a), 0]
                }
                Op::PowOf(base, a) => {
                    numbers[n + entry] = *base;
                    used(at(a), code::NONE);
                    [code::POW_OF, at(a), 0]
                }
                Op::Call(function, a) => {
                    used(at(a), code::NONE);
                    [code::CALL + *function as u32, at(a), 0]
                }
                Op::Neuron { weights, inputs, relu } => {
                    let first = terms.len() as u32;
                    term_starts.push(*entry);
                    if let Some((bias, weights)) = weights.split_last() {
                        n_products += if node.is_ready() { 0 } else { weights.len() };
                        terms.push(at(bias));
                        used(at(bias), code::NONE);
                        for (w, x) in weights.iter().zip(inputs.iter()) {
                            terms.extend([at(w), at(x)]);
                            used(at(w), at(x));
                            used(at(x), at(w));
                        }
                    }
                    [if *relu { code::LINEAR_RELU } else { code::LINEAR }, first, terms.len() as u32]
                }
            };
            ops[*entry] = words;
            if node.is_ready() {
                ops[*entry][0] |= code::READY;
                numbers[*entry] = node.raw();
            }
        }
        if let Some(arriving) = arriving {
            self.entries.iter().zip(arriving).for_each(|(entry, arriving)| numbers[2 * n + entry] = *arriving);
        }
        // Users by what they use.
        let mut begins = vec![0_u32; n + 1];
        users.iter().for_each(|(of, _)| begins[*of as usize + 1] += 1);
        for at in 0..n {
            begins[at + 1] += begins[at];
        }
        let mut next = begins.clone();
        let mut sorted = vec![(0, 0); users.len()];
        // The last user first, as a walk back meets them.
        for (of, by) in users.into_iter().rev() {
            let place = &mut next[of as usize];
            sorted[*place as usize] = by;
            *place += 1;
        }
        let first_user = (4 * n + 1 + starts.len()) as u32;
        let first_term = first_user + 2 * sorted.len() as u32;
        self.n_steps = n * (1 + usize::from(arriving.is_some())) + sorted.len() + n_products;
        for entry in term_starts {
            ops[entry][1] += first_term;
            ops[entry][2] += first_term;
        }
        let mut words = Vec::with_capacity(first_term as usize + terms.len());
        (0..3).for_each(|part| words.extend(ops.iter().map(|words| words[part])));
        words.extend(begins.iter().map(|begin| first_user + 2 * begin));
        words.extend(starts);
        words.extend(sorted.into_iter().flat_map(|(by, factor)| [by, factor]));
        words.extend(terms);
        (self.words, self.numbers) = (words, numbers);
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Nodes that it was made of.
    pub fn n_nodes(&self) -> usize {
        self.entries.len()
    }

    /// The steps that all threads of [`kernel`](crate::kernel) count together when it is done.
    pub fn n_steps(&self) -> usize {
        self.n_steps
    }

    /// Levels.
    pub fn n_levels(&self) -> usize {
        self.n_levels
    }

    /// Whether it has a way back.
    pub fn has_way_back(&self) -> bool {
        self.has_way_back
    }

    /// What [`kernel`](crate::kernel) reads first.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// What it reads second.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// How many numbers a run gives.
    pub fn n_results(&self) -> usize {
        self.n * (1 + usize::from(self.has_way_back))
    }

    /// The entries of the nodes, in their order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = usize> {
        self.entries.iter().copied()
    }

    /// What nodes are made from that is not among them.
    pub(crate) fn outside(&self) -> impl Iterator<Item = (&'a Node, usize)> {
        self.outside.iter().copied()
    }

    /// Computes it on the host: values, then gradients if there is a way back.
    pub fn run(&self) -> Vec<f64> {
        let (n, words, numbers) = (self.n, &self.words, &self.numbers);
        let mut results = vec![0.0_f64; self.n_results()];
        let mut slopes = vec![1.0; n];
        for i in 0..n {
            let (op, a, b) = (words[i], words[n + i] as usize, words[2 * n + i] as usize);
            let (kind, constant) = (op % code::READY, numbers[n + i]);
            let value = |at: usize| results[at];
            let y = if op >= code::READY || kind == code::GIVEN {
                numbers[i]
            } else {
                match kind {
                    code::ADD => value(a) + value(b),
                    code::MUL => value(a) * value(b),
                    code::POW => value(a).powf(constant),
                    code::POW_OF => constant.powf(value(a)),
                    code::LINEAR | code::LINEAR_RELU => {
                        let terms = &words[a..b];
                        let bias = terms.first().map_or(0.0, |at| value(*at as usize));
                        let sum = terms.iter().skip(1).collect::<Vec<_>>();
                        let sum = sum.chunks_exact(2).fold(bias, |sum, wx| sum + value(*wx[0] as usize) * value(*wx[1] as usize));
                        if kind == code::LINEAR_RELU { Function::Relu.of(sum) } else { sum }
                    }
                    call => Function::ALL.get((call - code::CALL) as usize).map_or(f64::NAN, |function| function.of(value(a))),
                }
            };
            slopes[i] = match kind {
                code::GIVEN | code::ADD | code::MUL | code::LINEAR => 1.0,
                code::POW => constant * value(a).powf(constant - 1.0),
                code::POW_OF => y * constant.ln(),
                code::LINEAR_RELU => Function::Relu.slope(y, y),
                call => Function::ALL.get((call - code::CALL) as usize).map_or(f64::NAN, |function| function.slope(value(a), y)),
            };
            results[i] = y;
        }
        if self.has_way_back {
            for i in (0..n).rev() {
                let users = &words[words[3 * n + i] as usize..words[3 * n + i + 1] as usize];
                let share = |user: &[u32]| {
                    let factor = if user[1] == code::NONE { 1.0 } else { results[user[1] as usize] };
                    (factor * slopes[user[0] as usize]) * results[n + user[0] as usize]
                };
                results[n + i] = users.chunks_exact(2).fold(numbers[2 * n + i], |sum, user| sum + share(user));
            }
        }
        results
    }
}
