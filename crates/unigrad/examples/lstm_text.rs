//! An LSTM learns a text character by character, and then writes: one step at a time, from the state that it is in.
//!
//! `cargo run --release --example lstm_text [FILE] [EPOCHS]`

use unigrad::{
    data::{Loader, TokenVocabulary, TokenWindows, Unit},
    nn::{AdamW, Embedding, Linear, Lstm, metrics::Perplexity},
    prelude::*,
    train::{Clip, Outcome, Supervised, Trainer},
};

/// Characters of a window.
const CONTEXT: usize = 32;

#[derive(Module)]
struct Writer {
    embedding: Embedding,
    lstm: Lstm,
    head: Linear,
}

impl Writer {
    /// Scores of the next character at each place, and the state after the last.
    fn forward(&self, tokens: &Tensor, state: Option<(&Tensor, &Tensor)>) -> (Tensor, (Tensor, Tensor)) {
        let (states, last) = self.lstm.run(&self.embedding.forward(tokens), state);
        (self.head.forward(&states), last)
    }

    /// Continues a text by the likeliest characters.
    fn write(&self, begin: &[i64], n: usize, device: &Device) -> Result<Vec<i64>> {
        no_grad(|| {
            let mut text = begin.to_vec();
            let (mut scores, mut state) = self.forward(&Tensor::from_slice(begin, [1, begin.len()], device), None);
            for _ in 0..n {
                let last = scores.shape()[1] - 1;
                let next = scores.narrow(1, last, 1).argmax(-1).cast(DType::I64);
                Tensor::realize_all(&[&next, &state.0, &state.1])?;
                text.push(next.item()?);
                (scores, state) = self.forward(&next, Some((&state.0, &state.1)));
            }
            Ok(text)
        })
    }
}

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/sonnets.txt");
    let (given, epochs) = (std::env::args().nth(1), std::env::args().nth(2).and_then(|n| n.parse().ok()));
    let path = std::path::Path::new(given.as_deref().unwrap_or(shipped));
    let text = std::fs::read_to_string(path).map_err(|error| Error::read(path, error))?;
    // A few poems are enough to see that it learns.
    let text: String = if given.is_none() { text.chars().take(12_000).collect() } else { text };
    let vocabulary = TokenVocabulary::fit([text.as_str()], Unit::Character, 1, 1000);
    let train = Loader::new(TokenWindows::new(vocabulary.encode(&text), CONTEXT, CONTEXT / 2)?, 16, 1).drop_last();

    let embedding = Embedding::new(vocabulary.len(), 24, &device);
    let model = Writer { embedding, lstm: Lstm::new(24, 96, &device), head: Linear::new(96, vocabulary.len(), &device) };
    let optimizer = AdamW::new(model.parameters(), 1e-2)?;
    let mut learner = Supervised::with(model, optimizer, |model: &Writer, batch: &unigrad::data::Batch| {
        let scores = model.forward(&batch.input, None).0.flatten(0, 1);
        let target = batch.target.flatten_all();
        Ok(Outcome::new(scores.cross_entropy(&target), batch.indices.len()).scored(&scores, &target))
    });
    let run = Trainer::new(&device).epochs(epochs.unwrap_or(4)).seed(1).clip(Clip::Norm(1.0)).metric(Perplexity::default).fit(
        &mut learner,
        &train,
        None,
    )?;

    let perplexity = run.history.get("perplexity").unwrap_or_default();
    let (first, last) = (perplexity.first().copied().unwrap_or(0.0), perplexity.last().copied().unwrap_or(f64::NAN));
    eprintln!("perplexity {first:.1}, then {last:.1}, of {} characters", vocabulary.len());
    let written = learner.model.write(&vocabulary.encode("Shall I "), 120, &device)?;
    eprintln!("{}", vocabulary.decode(&written));
    println!("{} characters are written", written.len());
    println!("of some 60 characters, 12 come into question: {}", last < 12.0);
    assert!(last < 12.0 && last < first);
    Ok(())
}
