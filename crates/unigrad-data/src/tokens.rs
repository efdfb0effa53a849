//! Words and characters as tokens: vocabularies that are learned and saved, texts as sequences, long texts as windows.
//!
//! In: texts. Out: sequences of token numbers (`I64`), with a class each, or with the tokens that follow.
//! Always: token 0 is padding, token 1 stands for what the vocabulary does not have. The same texts give the same vocabulary.

use crate::{
    Csv,
    combine::beyond,
    dataset::{Dataset, Sample},
    host,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};
use unigrad_nn::{Error, Result, files, random::Rng};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A run of letters and digits, or a single other character that is no space; lower case.
    Word,
    /// A character (Unicode scalar value).
    Character,
}

impl Unit {
    /// The tokens of a text.
    ///
    /// ```
    /// use unigrad_data::Unit;
    /// assert_eq!(Unit::Word.split("Don't stop!"), ["don", "'", "t", "stop", "!"]);
    /// assert_eq!(Unit::Character.split("Öl"), ["Ö", "l"]);
    /// ```
    pub fn split(self, text: &str) -> Vec<String> {
        match self {
            Unit::Character => text.chars().map(String::from).collect(),
            Unit::Word => {
                let mut words: Vec<String> = Vec::new();
                let mut inside = false;
                for c in text.chars() {
                    let part = c.is_alphanumeric() || c == '_';
                    match words.last_mut().filter(|_| part && inside) {
                        Some(word) => word.extend(c.to_lowercase()),
                        None if c.is_whitespace() => {}
                        None => words.push(c.to_lowercase().collect()),
                    }
                    inside = part;
                }
                words
            }
        }
    }
}

/// Tokens and their numbers.
///
/// ```
/// use unigrad_data::{TokenVocabulary, Unit};
/// let vocabulary = TokenVocabulary::fit(["the cat", "the dog"], Unit::Word, 1, 1000);
/// assert_eq!(vocabulary.encode("the bird, the cat"), [2, 1, 1, 2, 3]);
/// assert_eq!(vocabulary.decode(&[2, 4]), "the dog");
/// let again = TokenVocabulary::from_json(&vocabulary.to_json()?, "model.safetensors")?;
/// assert_eq!(again, vocabulary);
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenVocabulary {
    unit: Unit,
    /// From token 2 on.
    tokens: Vec<String>,
    numbers: HashMap<String, i64>,
}

/// Padding and unknown.
const SPECIAL: usize = 2;

#[derive(Serialize, Deserialize)]
struct Saved {
    unit: Unit,
    tokens: Vec<String>,
}

impl TokenVocabulary {
    /// The token that fills the ends of sequences.
    pub const PADDING: i64 = 0;
    /// The token for what is not in the vocabulary.
    pub const UNKNOWN: i64 = 1;

    /// Of the tokens that come up at least `at_least` times, the most frequent first (equally frequent ones in alphabetical order), at most `at_most`.
    pub fn fit<'a>(texts: impl IntoIterator<Item = &'a str>, unit: Unit, at_least: usize, at_most: usize) -> TokenVocabulary {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        texts.into_iter().flat_map(|text| unit.split(text)).for_each(|token| *counts.entry(token).or_default() += 1);
        let mut tokens: Vec<(String, usize)> = counts.into_iter().filter(|(_, count)| *count >= at_least).collect();
        // Stable: equals stay in alphabetical order.
        tokens.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        tokens.truncate(at_most);
        TokenVocabulary::of(unit, tokens.into_iter().map(|(token, _)| token).collect())
    }

    fn of(unit: Unit, tokens: Vec<String>) -> TokenVocabulary {
        let numbers = tokens.iter().cloned().zip(SPECIAL as i64..).collect();
        TokenVocabulary { unit, tokens, numbers }
    }

    /// Tokens, padding and unknown among them.
    pub fn len(&self) -> usize {
        self.tokens.len() + SPECIAL
    }

    /// Whether there are none besides padding and unknown.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The numbers of a text's tokens.
    pub fn encode(&self, text: &str) -> Vec<i64> {
        self.unit.split(text).iter().map(|token| self.numbers.get(token).copied().unwrap_or(Self::UNKNOWN)).collect()
    }

    /// What a token is.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The first token of a text that is not in the vocabulary, and which of the text's tokens it is.
    pub fn first_unknown(&self, text: &str) -> Option<(usize, String)> {
        self.unit.split(text).into_iter().enumerate().find(|(_, token)| !self.numbers.contains_key(token))
    }

    /// The text of tokens: words with spaces between. Padding is left out, and what is unknown is `<unk>`.
    pub fn decode(&self, tokens: &[i64]) -> String {
        let text = |token: &i64| {
            let known = usize::try_from(*token - SPECIAL as i64).ok().and_then(|at| self.tokens.get(at));
            known.map_or("<unk>", String::as_str)
        };
        let texts: Vec<&str> = tokens.iter().filter(|token| **token != Self::PADDING).map(text).collect();
        texts.join(if self.unit == Unit::Word { " " } else { "" })
    }

    /// As JSON: for a model's metadata.
    pub fn to_json(&self) -> Result<String> {
        let saved = Saved { unit: self.unit, tokens: self.tokens.clone() };
        serde_json::to_string(&saved).map_err(|error| Error::Internal(format!("a vocabulary as JSON: {error}")))
    }

    /// From JSON; `path` is what errors name.
    pub fn from_json(text: &str, path: impl AsRef<Path>) -> Result<TokenVocabulary> {
        const HELP: &str = "use a model that was saved with its vocabulary";
        let path = path.as_ref();
        let saved: Saved = serde_json::from_str(text).map_err(|error| {
            let cause = format!("is no vocabulary: {}", unigrad_device::printable(&error.to_string()));
            Error::format(path, cause, HELP)
        })?;
        let vocabulary = TokenVocabulary::of(saved.unit, saved.tokens);
        if vocabulary.numbers.len() != vocabulary.tokens.len() {
            return Err(Error::format(path, "the vocabulary has a token twice", HELP));
        }
        Ok(vocabulary)
    }
}

/// Texts with a class each, as sequences of tokens of different lengths: for [`PadSequences`](crate::PadSequences) and [`Buckets`](crate::Buckets).
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledTexts {
    sequences: Vec<Vec<i64>>,
    classes: Vec<i64>,
}

impl LabelledTexts {
    /// Texts in the tokens of a vocabulary, each cut after `at_most` of them. An error if a text has none, or its class is below 0.
    pub fn new(texts: &[(impl AsRef<str>, i64)], vocabulary: &TokenVocabulary, at_most: usize) -> Result<LabelledTexts> {
        let mut sequences = Vec::with_capacity(texts.len());
        for (at, (text, class)) in texts.iter().enumerate() {
            if *class < 0 {
                return Err(Error::argument(format!("text {at} has class {class}"), "number classes from 0 on"));
            }
            let mut tokens = vocabulary.encode(text.as_ref());
            tokens.truncate(at_most);
            if tokens.is_empty() {
                return Err(Error::argument(format!("text {at} has no tokens"), "leave it out, or allow more than 0 tokens"));
            }
            sequences.push(tokens);
        }
        Ok(LabelledTexts { sequences, classes: texts.iter().map(|(_, class)| *class).collect() })
    }

    /// Tokens of each text.
    pub fn lengths(&self) -> Vec<usize> {
        self.sequences.iter().map(Vec::len).collect()
    }

    /// The class of each text: for samplers and splits.
    pub fn labels(&self) -> Vec<usize> {
        self.classes.iter().map(|class| *class as usize).collect()
    }
}

impl Dataset for LabelledTexts {
    type Item = Sample;

    fn len(&self) -> usize {
        self.sequences.len()
    }

    fn get(&self, index: usize, _: &mut Rng) -> Result<Sample> {
        let (Some(tokens), Some(class)) = (self.sequences.get(index), self.classes.get(index)) else {
            return Err(beyond(index, self.sequences.len()));
        };
        Ok(Sample { input: host::of(tokens, vec![tokens.len()]), target: host::of(&[*class], Vec::new()) })
    }
}

/// Texts and their labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextTable {
    /// Each text with the number of its class.
    pub texts: Vec<(String, i64)>,
    /// The classes, in the order of their numbers.
    pub classes: Vec<String>,
}

/// Texts and labels from two columns of a table. Classes are in alphabetical order.
pub fn texts_of_table(table: &Csv, text: &str, label: &str) -> Result<TextTable> {
    let (text, label) = (table.column(text)?, table.column(label)?);
    let mut classes: Vec<String> = (0..table.n_rows()).map(|row| table.cell(row, label).to_owned()).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut texts = Vec::with_capacity(table.n_rows());
    for row in 0..table.n_rows() {
        let name = table.cell(row, label);
        if name.is_empty() {
            let cause = format!("line {}: the text has no label", table.line(row));
            return Err(Error::format(table.path(), cause, "correct the line, or leave it out"));
        }
        let class = classes.binary_search_by(|class| class.as_str().cmp(name));
        let class = class.map_err(|_| Error::Internal(format!("the label {name} is not among the labels")))?;
        texts.push((table.cell(row, text).to_owned(), class as i64));
    }
    Ok(TextTable { texts, classes })
}

/// The lines of a text file that have more than spaces, as UTF-8, of at most [`Text::MAX_BYTES`](crate::Text::MAX_BYTES).
pub fn lines_of_file(path: impl AsRef<Path>) -> Result<Vec<String>> {
    let path = path.as_ref();
    let bytes = files::read_at_most(path, crate::Text::MAX_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes().iter().take(good).filter(|byte| **byte == b'\n').count();
        Error::format(path, format!("line {line}: no UTF-8 from byte {good} of the file on"), "save the file as UTF-8")
    })?;
    lines_of_text(&text, path)
}

/// The lines of a text that have more than spaces; `path` is what an error names.
pub fn lines_of_text(text: &str, path: impl AsRef<Path>) -> Result<Vec<String>> {
    let lines: Vec<String> = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if lines.is_empty() {
        return Err(Error::format(path.as_ref(), "the file has no text", "name a file with text"));
    }
    Ok(lines)
}

/// A long text as windows of `context` tokens, each with the tokens that follow: for language models.
///
/// ```
/// use unigrad_data::{Dataset, TokenWindows, array};
/// use unigrad_nn::random::Rng;
/// let windows = TokenWindows::new((0..8).collect(), 3, 2)?;
/// assert_eq!(windows.len(), 3);
/// let sample = windows.get(1, &mut Rng::new(0, 0))?;
/// assert_eq!((sample.input, sample.target), (array(&[2i64, 3, 4], &[3])?, array(&[3i64, 4, 5], &[3])?));
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenWindows {
    tokens: Vec<i64>,
    context: usize,
    stride: usize,
}

impl TokenWindows {
    /// Windows that begin `stride` tokens apart. An error if not one fits.
    pub fn new(tokens: Vec<i64>, context: usize, stride: usize) -> Result<TokenWindows> {
        if context == 0 || stride == 0 || tokens.len() <= context {
            let cause = format!("windows of {context} tokens, {stride} apart, in a text of {}", tokens.len());
            return Err(Error::argument(cause, "use a longer text or a smaller context, and numbers above 0"));
        }
        Ok(TokenWindows { tokens, context, stride })
    }
}

impl Dataset for TokenWindows {
    type Item = Sample;

    fn len(&self) -> usize {
        (self.tokens.len() - 1 - self.context) / self.stride + 1
    }

    fn get(&self, index: usize, _: &mut Rng) -> Result<Sample> {
        let window = index.checked_mul(self.stride).and_then(|begin| self.tokens.get(begin..)?.get(..=self.context));
        let window = window.ok_or_else(|| beyond(index, self.len()))?;
        let of = |tokens: &[i64]| host::of(tokens, vec![self.context]);
        Ok(Sample { input: of(&window[..self.context]), target: of(&window[1..]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CsvOptions;

    #[test]
    fn vocabularies_have_the_frequent_tokens_first() -> Result<()> {
        let vocabulary = TokenVocabulary::fit(["b a", "B c", "b a d"], Unit::Word, 1, 3);
        assert_eq!((vocabulary.len(), vocabulary.encode("b a c d")), (5, vec![2, 3, 4, 1]));
        assert_eq!(vocabulary.decode(&[0, 2, 1, 99, -5, 0]), "b <unk> <unk> <unk>");
        assert_eq!(TokenVocabulary::fit(["aab"], Unit::Character, 2, 9).encode("ab"), [2, 1]);
        assert!(TokenVocabulary::fit([], Unit::Word, 1, 3).is_empty());
        assert!(TokenVocabulary::from_json(r#"{"unit":"word","tokens":["a","a"]}"#, "v").is_err());
        assert!(TokenVocabulary::from_json("{}", "v").is_err());
        // What a file says is shown, but does not command a terminal.
        let error = TokenVocabulary::from_json("{\"unit\":\"\\u001b[2J\",\"tokens\":[]}", "v").unwrap_err().to_string();
        assert!(error.contains("[2J") && !error.contains('\u{1b}'), "{error:?}");
        Ok(())
    }

    #[test]
    fn texts_come_from_tables_and_files() -> Result<()> {
        let table = Csv::from_bytes(b"text,kind\ngood film,+\nbad,-\n", "t.csv", &CsvOptions::default())?;
        let TextTable { texts, classes } = texts_of_table(&table, "text", "kind")?;
        assert_eq!((texts[0].1, classes), (0, vec!["+".to_owned(), "-".to_owned()]));
        let vocabulary = TokenVocabulary::fit(texts.iter().map(|text| text.0.as_str()), Unit::Word, 1, 9);
        let data = LabelledTexts::new(&texts, &vocabulary, 5)?;
        assert_eq!((data.len(), data.lengths(), data.labels()), (2, vec![2, 1], vec![0, 1]));
        assert!(LabelledTexts::new(&[("good", -1)], &vocabulary, 5).is_err());
        assert!(data.get(2, &mut Rng::new(0, 0)).is_err() && LabelledTexts::new(&[(" ", 0)], &vocabulary, 5).is_err());
        let path = std::env::temp_dir().join(format!("unigrad-lines-{}", std::process::id()));
        std::fs::write(&path, b"one\n\n two \r\nthree").map_err(|e| Error::write(&path, e))?;
        assert_eq!(lines_of_file(&path)?, ["one", "two", "three"]);
        std::fs::write(&path, b"one\ntwo\xff").map_err(|e| Error::write(&path, e))?;
        assert!(lines_of_file(&path).unwrap_err().to_string().contains("line 2: no UTF-8 from byte 7"));
        std::fs::write(&path, b" \n").map_err(|e| Error::write(&path, e))?;
        assert!(lines_of_file(&path).is_err());
        std::fs::remove_file(&path).map_err(|e| Error::write(&path, e))?;
        Ok(())
    }

    #[test]
    fn windows_cover_the_text() -> Result<()> {
        for (n, context, stride, wanted) in [(4, 3, 1, 1), (5, 3, 1, 2), (5, 3, 2, 1), (6, 3, 2, 2), (100, 10, 10, 9), (101, 10, 10, 10)] {
            let windows = TokenWindows::new((0..n).collect(), context, stride)?;
            assert_eq!(windows.len(), wanted, "{n} {context} {stride}");
            assert!(windows.get(wanted - 1, &mut Rng::new(0, 0)).is_ok() && windows.get(wanted + stride, &mut Rng::new(0, 0)).is_err());
        }
        assert!(TokenWindows::new(vec![1, 2, 3], 3, 1).is_err() && TokenWindows::new(vec![1, 2, 3], 0, 1).is_err());
        Ok(())
    }
}
