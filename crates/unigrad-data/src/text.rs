//! Text for character models: a vocabulary, text in memory, and text that is read as it is needed.
//!
//! In: a file. Out: windows of tokens with, for each, the token that follows.
//! Always: a token is a position in the sorted list of the bytes that occur; which windows a step gets depends on the seed and the
//! step only. Bytes and not characters: any file is a text, and a model has at most 256 outputs.

use std::{
    fs::File,
    io::{BufReader, Read},
    path::{Path, PathBuf},
};
use unigrad_nn::{Error, Result, files, random::Rng};

/// The bytes that occur, in order; a token is a place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    bytes: Vec<u8>,
}

impl Vocabulary {
    /// Of the bytes that occur in a text.
    pub fn of(text: &[u8]) -> Vocabulary {
        let mut seen = [false; 256];
        text.iter().for_each(|&b| seen[usize::from(b)] = true);
        Vocabulary::from_seen(&seen)
    }

    fn from_seen(seen: &[bool; 256]) -> Vocabulary {
        Vocabulary { bytes: (0..=255u8).filter(|&b| seen[usize::from(b)]).collect() }
    }

    /// Of the bytes that occur in a file, which is read in pieces.
    pub fn of_file(path: impl AsRef<Path>) -> Result<Vocabulary> {
        let path = path.as_ref();
        let mut seen = [false; 256];
        let mut file = File::open(path).map_err(|e| Error::read(path, e))?;
        let mut piece = vec![0; 1 << 16];
        loop {
            match file.read(&mut piece) {
                Ok(0) => return Ok(Vocabulary::from_seen(&seen)),
                Ok(n) => piece[..n].iter().for_each(|&b| seen[usize::from(b)] = true),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::read(path, e)),
            }
        }
    }

    /// From its bytes, as [`Vocabulary::bytes`] gives them.
    pub fn from_bytes(bytes: &[u8]) -> Vocabulary {
        Vocabulary::of(bytes)
    }

    /// The bytes, in order.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The tokens of a text; `None` if it has a byte that is not in the vocabulary.
    pub fn encode(&self, text: &[u8]) -> Option<Vec<u8>> {
        text.iter().map(|b| self.bytes.binary_search(b).ok().map(|i| i as u8)).collect()
    }

    /// The text of tokens; what is not UTF-8, and what is no token, becomes a replacement character.
    pub fn decode(&self, tokens: &[usize]) -> String {
        let bytes: Vec<u8> = tokens.iter().map(|&t| self.bytes.get(t).copied().unwrap_or(0xff)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Windows of one batch.
#[derive(Clone, Debug, PartialEq)]
pub struct TextBatch {
    /// `[n, ctx]` tokens.
    pub inputs: Vec<i64>,
    /// For each, the token that follows.
    pub targets: Vec<i64>,
}

/// A text in memory, one byte a token.
#[derive(Clone, Debug)]
pub struct Text {
    /// Which bytes occur.
    pub vocabulary: Vocabulary,
    /// The tokens.
    pub tokens: Vec<u8>,
}

impl Text {
    /// Bytes that [`Text::read`] reads at most.
    pub const MAX_BYTES: u64 = 4 << 30;

    /// Reads a file of at most [`Text::MAX_BYTES`]; longer ones are for [`StreamingText`], or [`Text::read_at_most`].
    pub fn read(path: impl AsRef<Path>) -> Result<Text> {
        Text::read_at_most(path, Text::MAX_BYTES)
    }

    /// Reads a file of at most `limit` bytes. It takes three times its size in memory while it is read.
    pub fn read_at_most(path: impl AsRef<Path>, limit: u64) -> Result<Text> {
        let path = path.as_ref();
        let bytes = files::read_at_most(path, limit)?;
        if bytes.is_empty() {
            return Err(Error::format(path, "the file is empty", "name a file with text"));
        }
        Ok(Text::from_bytes(&bytes))
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8]) -> Text {
        let vocabulary = Vocabulary::of(bytes);
        let tokens = vocabulary.encode(bytes).unwrap_or_default();
        Text { vocabulary, tokens }
    }

    /// The windows that begin at `starts`; those that would leave the text begin where the last window does.
    pub fn windows(&self, starts: &[usize], ctx: usize) -> TextBatch {
        let last = self.tokens.len().saturating_sub(ctx.saturating_add(1));
        let of = |shift: usize| {
            starts.iter().flat_map(|&s| &self.tokens[s.min(last) + shift..][..ctx]).map(|&t| i64::from(t)).collect::<Vec<i64>>()
        };
        TextBatch { inputs: of(0), targets: of(1) }
    }

    /// Whether a window of `ctx` tokens, and the one after it, fit.
    pub fn check(&self, ctx: usize) -> Result<()> {
        if ctx < self.tokens.len().saturating_sub(1) {
            return Ok(());
        }
        Err(Error::argument(
            format!("the text has {} bytes, too few for a context of {ctx}", self.tokens.len()),
            "use a longer text or a smaller context",
        ))
    }

    /// The windows of a step: uniformly chosen, by seed and step only.
    pub fn batch(&self, seed: u64, step: u64, n: usize, ctx: usize) -> TextBatch {
        let mut rng = Rng::new(seed, step);
        let starts: Vec<usize> = (0..n).map(|_| rng.below(self.tokens.len().saturating_sub(ctx))).collect();
        self.windows(&starts, ctx)
    }
}

/// A text that is read as it is needed: windows follow one another through the file, and after its end from its start.
#[derive(Debug)]
pub struct StreamingText {
    path: PathBuf,
    file: BufReader<File>,
    vocabulary: Vocabulary,
    /// The token that the next window begins with.
    carry: Option<u8>,
    ctx: usize,
}

impl StreamingText {
    /// Opens a file; the vocabulary is gathered by reading it once, in pieces.
    pub fn open(path: impl AsRef<Path>, ctx: usize) -> Result<StreamingText> {
        let path = path.as_ref().to_owned();
        let vocabulary = Vocabulary::of_file(&path)?;
        let file = File::open(&path).map_err(|e| Error::read(&path, e))?;
        let len = file.metadata().map_err(|e| Error::read(&path, e))?.len();
        if len <= (ctx as u64).saturating_add(1) {
            let cause = format!("has {len} bytes, too few for a context of {ctx}");
            return Err(Error::format(&path, cause, "use a longer text or a smaller context"));
        }
        Ok(StreamingText { path, file: BufReader::with_capacity(1 << 16, file), vocabulary, carry: None, ctx })
    }

    /// Which bytes occur.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// The next `n` windows.
    pub fn batch(&mut self, n: usize) -> Result<TextBatch> {
        let mut batch = TextBatch { inputs: Vec::new(), targets: Vec::new() };
        let tokens = n.saturating_mul(self.ctx);
        for side in [&mut batch.inputs, &mut batch.targets] {
            side.try_reserve_exact(tokens).map_err(|_| {
                let cause = format!("{n} windows of {} tokens do not fit into memory", self.ctx);
                Error::argument(cause, "use a smaller batch or a smaller context")
            })?;
        }
        for _ in 0..n {
            let window = self.window()?;
            batch.inputs.extend(window[..self.ctx].iter().map(|&t| i64::from(t)));
            batch.targets.extend(window[1..].iter().map(|&t| i64::from(t)));
        }
        Ok(batch)
    }

    /// `ctx + 1` tokens; the last is the first of the next window.
    fn window(&mut self) -> Result<Vec<u8>> {
        let mut restarted = false;
        loop {
            let mut bytes: Vec<u8> = self.carry.into_iter().collect();
            let wanted = self.ctx + 1 - bytes.len();
            self.file.by_ref().take(wanted as u64).read_to_end(&mut bytes).map_err(|e| Error::read(&self.path, e))?;
            if bytes.len() == self.ctx + 1 {
                self.carry = bytes.last().copied();
                return self.vocabulary.encode(&bytes).ok_or_else(|| self.changed());
            }
            // The rest of the file is shorter than a window: begin again.
            if restarted {
                return Err(self.changed());
            }
            restarted = true;
            self.carry = None;
            std::io::Seek::rewind(&mut self.file).map_err(|e| Error::read(&self.path, e))?;
        }
    }

    fn changed(&self) -> Error {
        Error::format(&self.path, "the file changed while it was read", "let it be until the training is done")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vocabulary_and_windows() {
        let text = Text::from_bytes(b"banana bread");
        assert_eq!(text.vocabulary.bytes(), b" abdenr");
        assert_eq!(text.vocabulary.decode(&[2, 1, 5]), "ban");
        let batch = text.windows(&[0, 100], 3);
        assert_eq!(batch.inputs, [2, 1, 5, 6, 4, 1]);
        assert_eq!(batch.targets, [1, 5, 1, 4, 1, 3]);
        assert_eq!(text.batch(1, 2, 3, 4), text.batch(1, 2, 3, 4));
        assert_ne!(text.batch(1, 2, 8, 4), text.batch(1, 3, 8, 4));
        assert!(text.check(10).is_ok() && text.check(11).is_err() && text.check(usize::MAX).is_err());
    }

    #[test]
    fn streaming_reads_the_file_in_order_and_again() {
        let path = std::env::temp_dir().join(format!("unigrad-stream-{}", std::process::id()));
        std::fs::write(&path, b"abcdefgh").unwrap();
        let mut text = StreamingText::open(&path, 3).unwrap();
        assert_eq!(text.batch(2).unwrap(), TextBatch { inputs: vec![0, 1, 2, 3, 4, 5], targets: vec![1, 2, 3, 4, 5, 6] });
        assert_eq!(text.batch(1).unwrap().inputs, [0, 1, 2], "gh is shorter than a window");
        assert!(StreamingText::open(&path, 7).is_err() && StreamingText::open(&path, usize::MAX).is_err());
        assert!(text.batch(usize::MAX).unwrap_err().to_string().contains("do not fit into memory"));
        assert!(Text::read_at_most(&path, 7).unwrap_err().to_string().contains("has 8 bytes, and at most 7 are read"));
        assert_eq!(Text::read_at_most(&path, 8).unwrap().tokens.len(), 8);
        std::fs::remove_file(path).unwrap();
    }
}
