//! A small Llama that writes greedily, one token a step, with keys and values kept on the device; and what a token takes, beside plain loops.
//!
//! `cargo run --release --example llama_decode [MODEL.bin [TOKENIZER.bin]] [--tokens N] [--only KIND]` reads files of `llama2.c` (a header of seven
//! integers, then `f32` weights). Without one it makes a tiny network of random weights. Three ways compute the same tokens, which is checked: loops over
//! slices, the step recorded once and replayed (`unigrad::replay`; the position is an argument), and the step recorded for each token. KIND is one of
//! `replayed`, `recorded`, `batch` and `prefill`: what a profiler needs.

use std::time::Instant;
use unigrad::{prelude::*, replay, tensor::RopeLayout};

type Run<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const EPS: f32 = 1e-5;
/// The token that begins a text.
const BEGIN: usize = 1;
/// Scores differ by so much at most, as sums in another order do.
const NEAR: f32 = 1e-4;
/// Tokens that are written.
const TOKENS: usize = 200;
const BATCH: usize = 4;
const PREFILL: usize = 64;

/// Sizes of a network, in the order of a file's header.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    width: usize,
    hidden: usize,
    layers: usize,
    heads: usize,
    groups: usize,
    words: usize,
    context: usize,
}

impl Sizes {
    fn features(&self) -> usize {
        self.width / self.heads
    }

    /// Features of all keys of a token.
    fn keys(&self) -> usize {
        self.groups * self.features()
    }
}

/// Weights as a file has them: matrices by rows of results, layer after layer.
struct Weights {
    sizes: Sizes,
    embedding: Vec<f32>,
    norm1: Vec<f32>,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    out: Vec<f32>,
    norm2: Vec<f32>,
    gate: Vec<f32>,
    down: Vec<f32>,
    up: Vec<f32>,
    norm: Vec<f32>,
    head: Vec<f32>,
}

impl Weights {
    /// Asks `next` for each tensor in turn, in the order of a file.
    fn of(sizes: Sizes, shares_head: bool, mut next: impl FnMut(usize) -> Run<Vec<f32>>) -> Run<Weights> {
        let Sizes { width, hidden, layers, words, context, .. } = sizes;
        let (embedding, norm1) = (next(words * width)?, next(layers * width)?);
        let (q, k, v) = (next(layers * width * width)?, next(layers * width * sizes.keys())?, next(layers * width * sizes.keys())?);
        let (out, norm2) = (next(layers * width * width)?, next(layers * width)?);
        let (gate, down, up) = (next(layers * hidden * width)?, next(layers * width * hidden)?, next(layers * hidden * width)?);
        let norm = next(width)?;
        // Tables of rotations, which are computed instead.
        next(context * sizes.features())?;
        let head = if shares_head { embedding.clone() } else { next(words * width)? };
        Ok(Weights { sizes, embedding, norm1, q, k, v, out, norm2, gate, down, up, norm, head })
    }

    fn read(path: &str) -> Run<Weights> {
        let bytes = std::fs::read(path)?;
        let mut at = 0usize;
        let mut take = |n: usize| {
            let part = n.checked_mul(4).and_then(|n| bytes.get(at..at.checked_add(n)?));
            at += part.map_or(0, <[u8]>::len);
            part.ok_or_else(|| format!("{path} ends before its weights do"))
        };
        let mut header = [0i32; 7];
        for (number, bytes) in header.iter_mut().zip(take(7)?.chunks_exact(4)) {
            *number = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        // A classifier of its own is told by a negative number of words.
        let [width, hidden, layers, heads, groups, words, context] = header.map(|number| number.unsigned_abs() as usize);
        let sizes = Sizes { width, hidden, layers, heads, groups, words, context };
        let is_whole = |a: usize, b: usize| b > 0 && a.is_multiple_of(b);
        let fits = is_whole(width, heads) && is_whole(heads, groups) && sizes.features() > 0 && is_whole(sizes.features(), 2);
        let are_sizes = header.iter().enumerate().all(|(at, number)| (*number > 0 || at == 5) && number.unsigned_abs() <= 1 << 20);
        // Keys and values of all positions, in floats: what is larger is no model for this program.
        let cache = [layers, context, width].iter().try_fold(2usize, |all, n| all.checked_mul(*n)).filter(|floats| *floats <= 1 << 30);
        if !fits || !are_sizes || words <= BEGIN || cache.is_none() {
            return Err(format!("{path} is no model: {sizes:?}").into());
        }
        Weights::of(sizes, header[5] > 0, |n| {
            let floats = take(n)?.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
            Ok(floats.collect())
        })
    }

    fn random() -> Run<Weights> {
        let sizes = Sizes { width: 48, hidden: 100, layers: 2, heads: 6, groups: 3, words: 97, context: 96 };
        let mut state = 1u64;
        Weights::of(sizes, false, |n| {
            let mut draw = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((state >> 40) as f32 / (1 << 24) as f32 - 0.5) * 0.6
            };
            Ok((0..n).map(|_| draw()).collect())
        })
    }
}

/// A token by loops over slices, on one thread.
struct Loops<'a> {
    of: &'a Weights,
    /// By layer and position.
    keys: Vec<f32>,
    values: Vec<f32>,
    /// Sines and cosines by position.
    rotations: Vec<(f32, f32)>,
}

/// `y = w x`, `w` by rows.
fn product(y: &mut [f32], w: &[f32], x: &[f32]) {
    for (y, row) in y.iter_mut().zip(w.chunks_exact(x.len())) {
        *y = row.iter().zip(x).map(|(w, x)| w * x).sum();
    }
}

fn normalized(x: &[f32], weight: &[f32]) -> Vec<f32> {
    let scale = 1.0 / (x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32 + EPS).sqrt();
    x.iter().zip(weight).map(|(x, weight)| x * scale * weight).collect()
}

fn add(x: &mut [f32], y: &[f32]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

/// Rotates the pairs of each head by the same angles.
fn rotate(x: &mut [f32], rotations: &[(f32, f32)]) {
    for (pair, (sin, cos)) in x.chunks_exact_mut(2).zip(rotations.iter().cycle()) {
        (pair[0], pair[1]) = (pair[0] * cos - pair[1] * sin, pair[0] * sin + pair[1] * cos);
    }
}

impl<'a> Loops<'a> {
    fn new(of: &'a Weights) -> Loops<'a> {
        let cache = vec![0.0; of.sizes.layers * of.sizes.context * of.sizes.keys()];
        let features = of.sizes.features();
        let angles = (0..of.sizes.context).flat_map(|position| (0..features / 2).map(move |i| (position, i)));
        let rotation = |(position, i): (usize, usize)| (position as f32 * 10000f32.powf(-((2 * i) as f32) / features as f32)).sin_cos();
        Loops { of, keys: cache.clone(), values: cache, rotations: angles.map(rotation).collect() }
    }

    /// Scores of the next token.
    fn step(&mut self, token: usize, position: usize) -> Vec<f32> {
        let Weights { sizes, .. } = self.of;
        let Sizes { width, hidden, layers, heads, groups, words, context } = *sizes;
        let (features, n_keys) = (sizes.features(), sizes.keys());
        let mut x = self.of.embedding[token * width..][..width].to_vec();
        let (mut q, mut mixed, mut y) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
        let (mut gate, mut up, mut scores) = (vec![0.0; hidden], vec![0.0; hidden], vec![0.0; position + 1]);
        for layer in 0..layers {
            let part = |all: &'a [f32], size: usize| &all[layer * size..][..size];
            let h = normalized(&x, part(&self.of.norm1, width));
            let cache = layer * context * n_keys;
            let key = &mut self.keys[cache + position * n_keys..][..n_keys];
            product(&mut q, part(&self.of.q, width * width), &h);
            product(key, part(&self.of.k, width * n_keys), &h);
            product(&mut self.values[cache + position * n_keys..][..n_keys], part(&self.of.v, width * n_keys), &h);
            let rotations = &self.rotations[position * features / 2..][..features / 2];
            rotate(&mut q, rotations);
            rotate(key, rotations);
            for head in 0..heads {
                let at = cache + head / (heads / groups) * features;
                let query = &q[head * features..][..features];
                for (j, score) in scores.iter_mut().enumerate() {
                    let key = &self.keys[at + j * n_keys..][..features];
                    *score = query.iter().zip(key).map(|(q, k)| q * k).sum::<f32>() / (features as f32).sqrt();
                }
                let greatest = scores.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
                scores.iter_mut().for_each(|score| *score = (*score - greatest).exp());
                let sum: f32 = scores.iter().sum();
                let mixed = &mut mixed[head * features..][..features];
                mixed.fill(0.0);
                for (j, score) in scores.iter().enumerate() {
                    let value = &self.values[at + j * n_keys..][..features];
                    mixed.iter_mut().zip(value).for_each(|(mixed, value)| *mixed += score / sum * value);
                }
            }
            product(&mut y, part(&self.of.out, width * width), &mixed);
            add(&mut x, &y);
            let h = normalized(&x, part(&self.of.norm2, width));
            product(&mut gate, part(&self.of.gate, hidden * width), &h);
            product(&mut up, part(&self.of.up, hidden * width), &h);
            gate.iter_mut().zip(&up).for_each(|(gate, up)| *gate = *gate / (1.0 + (-*gate).exp()) * up);
            product(&mut y, part(&self.of.down, width * hidden), &gate);
            add(&mut x, &y);
        }
        let mut scores = vec![0.0; words];
        product(&mut scores, &self.of.head, &normalized(&x, &self.of.norm));
        scores
    }
}

struct Block {
    norm1: Tensor,
    norm2: Tensor,
    /// Queries, keys and values of a token by one product.
    qkv: Tensor,
    out: Tensor,
    /// The gate and what it is multiplied with, by one product.
    gate_up: Tensor,
    down: Tensor,
    /// `[batch, groups, context, features]`.
    keys: Tensor,
    values: Tensor,
}

struct Llama {
    sizes: Sizes,
    embedding: Tensor,
    blocks: Vec<Block>,
    norm: Tensor,
    head: Tensor,
    /// Cosines and sines of all positions, `[context, features / 2]`.
    rotations: [Tensor; 2],
}

impl Llama {
    fn new(of: &Weights, batch: usize, device: &Device) -> Result<Llama> {
        let sizes = of.sizes;
        let Sizes { width, hidden, context, groups, .. } = sizes;
        let tensor = |x: &[f32], columns: usize| Tensor::from_slice(x, [x.len() / columns, columns], device).realize();
        let vector = |x: &[f32]| Tensor::from_slice(x, [x.len()], device).realize();
        let block = |layer: usize| {
            let part = |x: &'_ [f32], size: usize| x[layer * size..][..size].to_vec();
            let qkv = [part(&of.q, width * width), part(&of.k, width * sizes.keys()), part(&of.v, width * sizes.keys())].concat();
            let gate_up = [part(&of.gate, hidden * width), part(&of.up, hidden * width)].concat();
            let cache = || Tensor::zeros([batch, groups, context, sizes.features()], DType::F32, device).realize();
            Ok(Block {
                norm1: vector(&part(&of.norm1, width))?,
                norm2: vector(&part(&of.norm2, width))?,
                qkv: tensor(&qkv, width)?,
                out: tensor(&part(&of.out, width * width), width)?,
                gate_up: tensor(&gate_up, width)?,
                down: tensor(&part(&of.down, hidden * width), hidden)?,
                keys: cache()?,
                values: cache()?,
            })
        };
        let (cos, sin) = Tensor::rope_tables(&Tensor::arange(0.0, context as f64, 1.0, DType::I64, device), sizes.features(), 10000.0);
        Ok(Llama {
            sizes,
            embedding: tensor(&of.embedding, width)?,
            blocks: (0..sizes.layers).map(block).collect::<Result<_>>()?,
            norm: vector(&of.norm)?,
            head: tensor(&of.head, width)?,
            rotations: [cos.realize()?, sin.realize()?],
        })
    }

    /// Scores of what follows the last of the tokens `[batch, length]`, which are at `position` and after, and the likeliest, `[batch, 1]`.
    fn step(&self, tokens: &Tensor, position: &Tensor) -> Result<Vec<Tensor>> {
        let Sizes { width, hidden, heads, groups, .. } = self.sizes;
        let (features, keys) = (self.sizes.features(), self.sizes.keys());
        let length = tokens.dims()?[1];
        let [cos, sin] = [&self.rotations[0], &self.rotations[1]].map(|table| table.dyn_slice(0, position, length));
        let options = AttentionOptions { causal: true, q_offset: Some(position.into()), ..AttentionOptions::default() };
        let mut x = self.embedding.embedding(tokens);
        for block in &self.blocks {
            let qkv = x.rms_norm(Some(&block.norm1), f64::from(EPS)).linear(&block.qkv, None);
            let part = |from: usize, n: usize| qkv.narrow(2, from, n * features).unflatten(2, [n as i64, features as i64]).transpose(1, 2);
            let rotated = |x: Tensor| x.rope(&cos, &sin, RopeLayout::Interleaved);
            let (q, k, v) = (rotated(part(0, heads)), rotated(part(width, groups)), part(width + keys, groups));
            block.keys.assign(&block.keys.dyn_update(2, &k, position))?;
            block.values.assign(&block.values.dyn_update(2, &v, position))?;
            let mixed = q.attention(&block.keys, &block.values, &options).transpose(1, 2).flatten(2, 3);
            x = x + mixed.linear(&block.out, None);
            let gate_up = x.rms_norm(Some(&block.norm2), f64::from(EPS)).linear(&block.gate_up, None);
            let gated = gate_up.narrow(2, 0, hidden).silu() * gate_up.narrow(2, hidden, hidden);
            x = x + gated.linear(&block.down, None);
        }
        let last = x.narrow(1, length - 1, 1).rms_norm(Some(&self.norm), f64::from(EPS));
        let scores = last.linear(&self.head, None).squeeze(1);
        Ok(vec![scores.clone(), scores.argmax_keepdim(1)])
    }
}

/// Tokens, their scores, and microseconds of each.
#[derive(Default)]
struct Written {
    tokens: Vec<usize>,
    scores: Vec<Vec<f32>>,
    times: Vec<f64>,
}

impl Written {
    /// Writes from the begin on: `step` is given a token and its position, and gives the next one; `scores` are asked for outside of the time.
    fn by(n: usize, mut step: impl FnMut(usize, usize) -> Run<(usize, Vec<f32>, f64)>) -> Run<Written> {
        let mut written = Written::default();
        let mut token = BEGIN;
        for position in 0..n {
            let (next, scores, time) = step(token, position)?;
            token = next;
            written.tokens.push(token);
            written.scores.push(scores);
            written.times.push(time);
        }
        Ok(written)
    }

    fn median(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }

    /// How far the scores are from others', if the tokens are the same.
    fn difference(&self, other: &Written) -> Run<f32> {
        if let Some(at) = (0..self.tokens.len()).find(|at| self.tokens[*at] != other.tokens[*at]) {
            return Err(format!("token {at} is {} and not {}", self.tokens[at], other.tokens[at]).into());
        }
        let far = farthest(self.scores.iter().flatten(), other.scores.iter().flatten());
        if far <= NEAR { Ok(far) } else { Err(format!("scores differ by {far}").into()) }
    }
}

/// The greatest difference; NaN where one is.
fn farthest<'a>(a: impl Iterator<Item = &'a f32>, b: impl Iterator<Item = &'a f32>) -> f32 {
    a.zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, |far, next| if next > far || next.is_nan() { next } else { far })
}

/// Microseconds of a call, and what it gives.
fn timed<T>(f: impl FnOnce() -> Run<T>) -> Run<(T, f64)> {
    let begun = Instant::now();
    let result = f()?;
    Ok((result, begun.elapsed().as_secs_f64() * 1e6))
}

/// Writes by a step on the device; the likeliest token stays there and is read as well, as a program that prints it does.
fn write(n: usize, batch: usize, device: &Device, mut step: impl FnMut(&Tensor, &Tensor) -> Result<Vec<Tensor>>) -> Run<Written> {
    let mut tokens = Tensor::from_slice(&vec![BEGIN as i64; batch], [batch, 1], device).realize()?;
    Written::by(n, |_, position| {
        let ((next, scores), time) = timed(|| {
            let mut results = step(&tokens, &Tensor::scalar(position as f64, DType::I64, device))?;
            tokens = results.swap_remove(1);
            Ok((tokens.to_vec::<i64>()?[0] as usize, results.swap_remove(0)))
        })?;
        Ok((next, scores.to_vec()?, time))
    })
}

/// The pieces of a tokenizer's file: after the length of the longest, a score, a length and bytes of each.
fn pieces(path: &str) -> Run<Vec<String>> {
    let bytes = std::fs::read(path)?;
    let (mut pieces, mut at) = (Vec::new(), 4usize);
    while let Some(length) = bytes.get(at + 4..at + 8) {
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let piece = bytes.get(at + 8..at + 8 + length).ok_or_else(|| format!("{path} ends within a piece"))?;
        let piece = String::from_utf8_lossy(piece).into_owned();
        let byte = piece.strip_prefix("<0x").and_then(|rest| u8::from_str_radix(rest.strip_suffix('>')?, 16).ok());
        pieces.push(byte.map_or(piece, |byte| String::from(char::from(byte))));
        at += 8 + length;
    }
    Ok(pieces)
}

fn main() -> Run<()> {
    let (mut files, mut n, mut only) = (Vec::new(), TOKENS, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--tokens" => n = arguments.next().ok_or("--tokens N")?.parse()?,
            "--only" => only = arguments.next(),
            _ => files.push(argument),
        }
    }
    let runs = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let weights = match files.first() {
        Some(path) if std::path::Path::new(path).exists() => Weights::read(path)?,
        Some(path) => {
            println!("SKIPPED: {path}, which is not there; random weights instead");
            Weights::random()?
        }
        None => {
            println!("SKIPPED: a trained model, since no file is given; random weights instead");
            Weights::random()?
        }
    };
    let device = Device::best()?;
    let n = n.clamp(1, weights.sizes.context);
    println!("{:?} on {device}", weights.sizes);

    let mut loops = Loops::new(&weights);
    let by_loops = Written::by(n, |token, position| {
        let (scores, time) = timed(|| Ok(loops.step(token, position)))?;
        let best = (1..scores.len()).fold(0, |best, i| if scores[i] > scores[best] { i } else { best });
        Ok((best, scores, time))
    })?;
    if let Some(path) = files.get(1) {
        let pieces = pieces(path)?;
        // The text ends where another would begin.
        let text = by_loops.tokens.iter().take_while(|token| **token > BEGIN + 1).filter_map(|token| pieces.get(*token));
        println!("{}", text.map(String::as_str).collect::<String>().trim());
    }
    let loops = by_loops.median();
    println!("loops: {loops:.1} us a token");
    let tell = |name: &str, written: &Written| -> Run<()> {
        let (time, far) = (written.median(), written.difference(&by_loops)?);
        println!("{name}: {time:.1} us a token, {:.2} of the loops; the same {n} tokens, scores within {far:.1e}", time / loops);
        Ok(())
    };
    if runs("replayed") {
        let model = Llama::new(&weights, 1, &device)?;
        let mut step = replay(|inputs: &[Tensor]| model.step(&inputs[0], &inputs[1]));
        tell("replayed", &write(n, 1, &device, |tokens, position| step.call(&[tokens, position]))?)?;
        if n > 8 && step.n_replayed() == 0 {
            return Err("no call was replayed".into());
        }
    }
    if runs("recorded") {
        let model = Llama::new(&weights, 1, &device)?;
        let step = |tokens: &Tensor, position: &Tensor| -> Result<Vec<Tensor>> {
            let results = model.step(tokens, position)?;
            Tensor::realize_all(&results.iter().collect::<Vec<_>>())?;
            Ok(results)
        };
        tell("recorded for each token", &write(n, 1, &device, step)?)?;
    }
    if runs("batch") {
        let model = Llama::new(&weights, BATCH, &device)?;
        let mut step = replay(|inputs: &[Tensor]| model.step(&inputs[0], &inputs[1]));
        let written = write(n, BATCH, &device, |tokens, position| step.call(&[tokens, position]))?;
        println!("replayed, {BATCH} sequences: {:.1} us a step", written.median());
    }
    if runs("prefill") {
        let length = PREFILL.min(n);
        let given: Vec<i64> =
            std::iter::once(BEGIN).chain(by_loops.tokens.iter().copied()).take(length).map(|token| token as i64).collect();
        let model = Llama::new(&weights, 1, &device)?;
        let (tokens, position) = (Tensor::from_slice(&given, [1, length], &device).realize()?, Tensor::scalar(0.0, DType::I64, &device));
        let mut step = replay(|inputs: &[Tensor]| model.step(&inputs[0], &inputs[1]));
        let mut times = Written::default();
        for _ in 0..30 {
            let (scores, time) = timed(|| Ok(step.call(&[&tokens, &position])?.swap_remove(0).to_vec::<f32>()?))?;
            let far = farthest(scores.iter(), by_loops.scores[length - 1].iter());
            if far.is_nan() || far > NEAR {
                return Err(format!("scores after {length} tokens at once differ by {far}").into());
            }
            times.times.push(time);
        }
        println!("replayed, {length} tokens at once: {:.1} us", times.median());
    }
    Ok(())
}
