//! Texts that a language model goes on writing.
//!
//! In: a model file that learned which token follows, the beginning of a text. Out: the text, token after token.
//! Always: the same file, beginning, settings and seed give the same text. A beginning with what the model does not know, a network that looks at what
//! comes after a token, and scores that are not finite are errors.
//! Never: writes padding, or what stands for unknown tokens.

use super::{LossSpec, Network, VOCABULARY};
use serde::{Deserialize, Serialize};
use std::path::Path;
use unigrad_data::{TokenVocabulary, Unit, Vocabulary};
use unigrad_nn::{
    Archive, Error, Layer, Module, Result,
    models::{Gpt, GptConfig, Sampling},
    random::Rng,
};
use unigrad_tensor::{Device, Tensor, no_grad};

/// The string of a model file that says the sizes and the vocabulary of a [`Gpt`].
pub const GPT: &str = "unigrad.gpt";

/// What a file says of a [`Gpt`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GptForm {
    /// The bytes that it knows, in order.
    pub bytes: Vec<u8>,
    /// The longest sequence.
    pub ctx: usize,
    /// Blocks.
    pub layers: usize,
    /// Heads of a block.
    pub heads: usize,
    /// Features.
    pub dim: usize,
}

impl GptForm {
    /// Of a model and its vocabulary.
    pub fn of(model: &Gpt, vocabulary: &Vocabulary) -> GptForm {
        let GptConfig { ctx, layers, heads, dim, .. } = model.config();
        GptForm { bytes: vocabulary.bytes().to_vec(), ctx, layers, heads, dim }
    }

    /// Replaces the file at `path` with the model's weights and this.
    pub fn save(&self, model: &Gpt, path: impl AsRef<Path>) -> Result<()> {
        let mut archive = model.to_archive()?;
        let text = serde_json::to_string(self).map_err(|e| Error::Internal(format!("a model that is no JSON: {e}")))?;
        archive.metadata.insert(GPT.to_owned(), text);
        archive.save(path.as_ref())
    }
}

/// How a text is continued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generation {
    /// Tokens that are written.
    pub max_tokens: usize,
    /// How each is chosen.
    pub sampling: Sampling,
    /// Where random numbers begin.
    pub seed: u64,
}

impl Default for Generation {
    /// 200 tokens at a temperature of 0.8.
    fn default() -> Generation {
        Generation { max_tokens: 200, sampling: Sampling { temperature: 0.8, ..Sampling::default() }, seed: 0 }
    }
}

/// A text that was continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The beginning with what follows.
    pub text: String,
    /// What follows.
    pub continuation: String,
}

enum Model {
    Network(Box<Network>, TokenVocabulary),
    Gpt(Box<Gpt>, Vocabulary, Device),
}

/// A language model with its vocabulary.
pub struct Writer {
    model: Model,
    context: usize,
}

/// Sizes of a file's model: none that is larger than its weights can be is followed.
const MAX_SIZE: usize = 1 << 20;

fn gpt(archive: &Archive, text: &str, path: &Path, device: &Device) -> Result<Writer> {
    let wrong = |cause: String| Error::format(path, cause, "use a model file as `unigrad train gpt` wrote it");
    let form: GptForm =
        serde_json::from_str(text).map_err(|e| wrong(format!("its sizes are damaged: {}", unigrad_device::printable(&e.to_string()))))?;
    let vocab = form.bytes.len();
    let sizes = [vocab, form.ctx, form.layers, form.heads, form.dim];
    // Each block has tensors of its own, and the tables have a row for each token and position.
    let rows = |name: &str, n: usize| archive.tensors.get(name).is_some_and(|table| table.shape == [n, form.dim]);
    let fits = rows("wte.weight", vocab) && rows("wpe.weight", form.ctx) && form.layers <= archive.tensors.len();
    if sizes.iter().any(|n| !(1..=MAX_SIZE).contains(n)) || !form.bytes.is_sorted_by(|a, b| a < b) || !fits {
        return Err(wrong("says sizes or a vocabulary that its weights do not have".to_owned()));
    }
    let config = GptConfig { vocab, ctx: form.ctx, layers: form.layers, heads: form.heads, dim: form.dim };
    let mut model = Gpt::new(config, device)?;
    model.load_state_dict(&archive.tensors)?;
    model.eval();
    Ok(Writer { model: Model::Gpt(Box::new(model), Vocabulary::from_bytes(&form.bytes), *device), context: form.ctx })
}

impl Writer {
    /// Whether a file holds a language model.
    pub fn is_in(archive: &Archive) -> bool {
        archive.metadata.contains_key(GPT) || archive.metadata.contains_key(VOCABULARY) && !archive.metadata.contains_key(super::TEXTS)
    }

    /// Reads a model file that `unigrad train gpt`, or `unigrad train config` with a text, wrote.
    pub fn load(path: impl AsRef<Path>, device: &Device) -> Result<Writer> {
        let path = path.as_ref();
        Writer::from_archive(Archive::load(path)?, path, device)
    }

    /// The model of a file's content; `path` is what errors name.
    pub fn from_archive(archive: Archive, path: &Path, device: &Device) -> Result<Writer> {
        if let Some(text) = archive.metadata.get(GPT) {
            return gpt(&archive, text, path, device);
        }
        let network = Network::from_archive(archive, path, device)?;
        let wrong = |cause: String, help: &str| Err(Error::format(path, cause, help));
        let Some(vocabulary) = network.metadata(VOCABULARY) else {
            return wrong("is no language model: it has no vocabulary".to_owned(), "use a model that was trained on a text");
        };
        let vocabulary = TokenVocabulary::from_json(vocabulary, path)?;
        let (input, output) = (network.input_shape().to_vec(), network.output_shape().to_vec());
        let writes = matches!(network.architecture().loss, LossSpec::TokenCrossEntropy { .. });
        let [context] = input[..] else {
            return wrong(format!("takes inputs {input:?}, and texts are lists of tokens"), "use a model that was trained on a text");
        };
        if !writes || output != [context, vocabulary.len()] {
            let cause = format!("gives {output:?}, which is no score of each of {} tokens at each of {context} places", vocabulary.len());
            return wrong(cause, "use a model that was trained with the loss `token_cross_entropy`");
        }
        if vocabulary.is_empty() {
            return wrong("has an empty vocabulary".to_owned(), "train it on a text");
        }
        let mut writer = Writer { model: Model::Network(Box::new(network), vocabulary), context };
        if writer.looks_ahead()? {
            return wrong(
                "its layers look at what comes after a token, which is not there yet while a text is written".to_owned(),
                "train it with `causal = true`, and recurrent layers in one direction",
            );
        }
        Ok(writer)
    }

    /// Tokens that it sees at once.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Whether the scores of a token depend on the one after it.
    fn looks_ahead(&mut self) -> Result<bool> {
        let Model::Network(network, vocabulary) = &mut self.model else { return Ok(false) };
        let (n, known) = (self.context, vocabulary.len() as i64);
        if n < 2 {
            return Ok(false);
        }
        let first: Vec<i64> = (0..n as i64).map(|at| at * 7 % known).collect();
        let mut other = first.clone();
        if let Some(last) = other.last_mut() {
            *last = (*last + 1) % known;
        }
        let scores = network.predict(&(&[first, other].concat()[..], [2, n]))?;
        let before = scores.narrow(1, 0, n - 1);
        let apart = (before.select(0, 0) - before.select(0, 1)).abs().max(());
        let size = before.abs().max(()).to_f64()?;
        Ok(apart.to_f64()? > 1e-5 * size)
    }

    /// The numbers of a text's tokens; what the model does not know is an error.
    fn encode(&self, text: &str) -> Result<Vec<i64>> {
        let unknown = |at: usize, what: String| {
            let cause =
                format!("the beginning has {} at place {}, which the model has never seen", unigrad_device::printable(&what), at + 1);
            Err(Error::argument(cause, "use only what stands in the text that it was trained on"))
        };
        let tokens: Vec<i64> = match &self.model {
            Model::Network(_, vocabulary) => match vocabulary.first_unknown(text) {
                Some((at, token)) if vocabulary.unit() == Unit::Word => return unknown(at, format!("the word `{token}`")),
                Some((at, token)) => return unknown(at, format!("the character '{token}'")),
                None => vocabulary.encode(text),
            },
            Model::Gpt(_, vocabulary, _) => match vocabulary.encode(text.as_bytes()) {
                Some(tokens) => tokens.into_iter().map(i64::from).collect(),
                None => {
                    let known = |c: &char| vocabulary.encode(c.encode_utf8(&mut [0; 4]).as_bytes()).is_some();
                    let first = text.chars().enumerate().find(|(_, c)| !known(c));
                    let (at, c) = first.unwrap_or((0, char::REPLACEMENT_CHARACTER));
                    return unknown(at, format!("the character '{c}'"));
                }
            },
        };
        if tokens.is_empty() {
            return Err(Error::argument("the beginning of the text is empty", "begin with a character or a word at least"));
        }
        Ok(tokens)
    }

    fn decode(&self, tokens: &[i64]) -> String {
        match &self.model {
            Model::Network(_, vocabulary) => vocabulary.decode(tokens),
            Model::Gpt(_, vocabulary, _) => vocabulary.decode(&tokens.iter().map(|token| *token as usize).collect::<Vec<_>>()),
        }
    }

    /// The scores of what may follow.
    fn scores(&mut self, tokens: &[i64]) -> Result<Vec<f32>> {
        let seen = &tokens[tokens.len().saturating_sub(self.context)..];
        // The window always has the full length, so that every token runs the same plan; what follows the last token is not looked at.
        let mut window = seen.to_vec();
        window.resize(self.context, 0);
        let (all, device) = match &mut self.model {
            Model::Network(network, _) => (network.predict(&(&window[..], [1, self.context]))?, *network.device()),
            Model::Gpt(model, _, device) => (no_grad(|| model.forward(&Tensor::from_slice(&window, [1, self.context], device))), *device),
        };
        let last = Tensor::from_slice(&[seen.len() as i64 - 1], [1], &device);
        let mut scores = no_grad(|| all.index_select(1, &last)).cast(unigrad_tensor::DType::F32).to_vec::<f32>()?;
        if let Some(at) = scores.iter().position(|score| !score.is_finite()) {
            let cause = format!("the model's score of token {at} is {}", scores[at]);
            return Err(Error::argument(cause, "train it anew: its training has diverged"));
        }
        if let Model::Network(..) = self.model {
            for special in [TokenVocabulary::PADDING, TokenVocabulary::UNKNOWN] {
                scores.get_mut(special as usize).into_iter().for_each(|score| *score = f32::NEG_INFINITY);
            }
        }
        Ok(scores)
    }

    /// Goes on writing after `beginning`.
    pub fn write(&mut self, beginning: &str, generation: &Generation) -> Result<Written> {
        generation.sampling.check()?;
        let mut tokens = self.encode(beginning)?;
        let n = tokens.len();
        let mut rng = Rng::new(generation.seed, 0);
        for _ in 0..generation.max_tokens {
            let scores = self.scores(&tokens)?;
            tokens.push(generation.sampling.choose(&scores, &mut rng) as i64);
        }
        let continuation = self.decode(&tokens[n..]);
        let words = matches!(&self.model, Model::Network(_, vocabulary) if vocabulary.unit() == Unit::Word);
        let between = if words && !continuation.is_empty() { " " } else { "" };
        Ok(Written { text: format!("{beginning}{between}{continuation}"), continuation })
    }
}
