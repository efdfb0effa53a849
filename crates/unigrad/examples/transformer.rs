//! A transformer tells whether a sentence praises or blames: sentences of different lengths, padded and masked; what decides is two words together.
//!
//! `cargo run --release --example transformer`

use unigrad::{
    data::{Buckets, Dataset, LabelledTexts, Loader, PadSequences, PaddedBatch, TokenVocabulary, Unit},
    nn::{
        AdamW, AttentionMasks, Embedding, LayerNorm, Linear, Schedule, SinusoidalEncoding, TransformerEncoder, TransformerOptions,
        metrics::Accuracy, random::Rng,
    },
    prelude::*,
    train::{Outcome, Supervised, Trainer},
};

const SIZE: usize = 32;

/// "the film was not at all bad": 1 is praise. `not` turns what the last word says, wherever it stands.
fn sentence(rng: &mut Rng) -> (String, i64) {
    const SUBJECTS: [&str; 5] = ["the film", "this long book", "her second play", "the song at the end", "it"];
    const GOOD: [&str; 4] = ["good", "brilliant", "moving", "fun"];
    const BAD: [&str; 4] = ["bad", "dull", "awful", "weak"];
    const FILLERS: [&str; 5] = ["", "really", "at all times", "to me", "as far as i can tell"];
    let (good, negated) = (rng.below(2) == 1, rng.below(3) == 0);
    let word = if good { GOOD } else { BAD }[rng.below(4)];
    let words = [SUBJECTS[rng.below(5)], "was", if negated { "not" } else { "" }, FILLERS[rng.below(5)], FILLERS[rng.below(5)], word];
    (words.join(" "), i64::from(good != negated))
}

#[derive(Module)]
struct Judge {
    embedding: Embedding,
    positions: SinusoidalEncoding,
    encoder: TransformerEncoder,
    head: Linear,
}

impl Judge {
    fn forward(&self, tokens: &Tensor) -> Tensor {
        let padding = tokens.eq(TokenVocabulary::PADDING);
        let x = self.positions.forward(&self.embedding.forward(tokens));
        let x = self.encoder.masked(&x, &AttentionMasks { padding: Some(padding.clone()), ..AttentionMasks::none() });
        // The mean over what is no padding.
        let words = padding.logical_not().cast(DType::F32).unsqueeze(-1);
        self.head.forward(&((x * &words).sum(1) / words.sum(1)))
    }
}

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    let mut rng = Rng::new(3, 0);
    let sentences: Vec<(String, i64)> = (0..1200).map(|_| sentence(&mut rng)).collect();
    let (test, train) = sentences.split_at(200);
    // What is tested is not learned by heart.
    let train: Vec<&(String, i64)> = train.iter().filter(|sentence| !test.contains(sentence)).collect();
    let vocabulary = TokenVocabulary::fit(train.iter().map(|(text, _)| text.as_str()), Unit::Word, 1, 1000);
    let tokens = |texts: Vec<(&str, i64)>| LabelledTexts::new(&texts, &vocabulary, 24);
    let train = tokens(train.iter().map(|(text, class)| (text.as_str(), *class)).collect())?;
    let test = tokens(test.iter().map(|(text, class)| (text.as_str(), *class)).collect())?;
    println!(
        "{} sentences of {} to {} words",
        test.len(),
        test.lengths().iter().min().unwrap_or(&0),
        test.lengths().iter().max().unwrap_or(&0)
    );

    // Sentences of about one length come together; batches are as long as the longest of them, or a little longer: few lengths are few plans.
    let pad = PadSequences { multiple: 8, ..PadSequences::default() };
    let buckets = Buckets::new(&train.lengths(), 32, 1).drop_last();
    let train = Loader::new(train, 32, 1).batch_sampler(buckets).collate(pad);
    let test = Loader::new(test, 50, 1).in_order().collate(pad);

    let options = TransformerOptions { hidden: 64, dropout: 0.0, norm_first: true, ..TransformerOptions::new(SIZE, 4) };
    let model = Judge {
        embedding: Embedding::new(vocabulary.len(), SIZE, &device),
        positions: SinusoidalEncoding::new(SIZE, 64, 0.0, &device),
        encoder: TransformerEncoder::new(2, options, &device).last_norm(LayerNorm::new(SIZE, &device)),
        head: Linear::new(SIZE, 2, &device),
    };
    let optimizer = AdamW::new(model.parameters(), 3e-3)?;
    let mut learner = Supervised::with(model, optimizer, |model: &Judge, batch: &PaddedBatch| {
        let scores = model.forward(&batch.input);
        Ok(Outcome::new(scores.cross_entropy(&batch.target), batch.indices.len()).scored(&scores, &batch.target))
    });
    let schedule = Schedule::linear(230).warmup(20);
    let trainer = Trainer::new(&device).epochs(8).seed(1).schedule(schedule).metric(Accuracy::default);
    let run = trainer.fit(&mut learner, &train, Some(&test))?;
    let accuracy = run.history.last("val_accuracy").unwrap_or(0.0);
    eprintln!("{:.1} % of the sentences that it has not seen are right", 100.0 * accuracy);
    println!("more than nine of ten sentences that it has not seen are right: {}", accuracy > 0.9);
    assert!(accuracy > 0.9);
    Ok(())
}
