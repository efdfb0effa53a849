//! A kernel in its user's own words.

use crate::Arg;
use unigrad_scalar::DType;

/// One launch of a program that the user wrote, in one or several languages.
///
/// Parameters of the program, in order: a pointer (or binding) per entry of `args`, then a value per entry of `scalars`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Custom {
    /// For plans and messages.
    pub name: String,
    /// The entry point.
    pub entry: String,
    /// Language and text; a driver takes the one it compiles.
    pub texts: Vec<(String, String)>,
    /// Threads of a workgroup.
    pub block: [u32; 3],
    /// Workgroups.
    pub grid: [u32; 3],
    /// The inputs, then the output.
    pub args: Vec<Arg>,
    /// Run-time scalars.
    pub scalars: Vec<DType>,
}

impl Custom {
    /// The text in a language.
    pub fn text(&self, language: &str) -> Option<&str> {
        self.texts.iter().find(|(name, _)| name == language).map(|(_, text)| text.as_str())
    }
}
