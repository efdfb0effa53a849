//! Choices that were made by time.

/// A device, some of whose work is done in the way that was fastest when it was tried. Ways may differ in the last bits of results.
pub trait Choices: Send + Sync {
    /// What was chosen: what for, and what.
    fn choices(&self) -> Vec<(String, String)>;
    /// Chooses the same for work that is prepared from now on. What is not known, or is no way of doing it, is left out.
    fn choose(&self, choices: &[(String, String)]);
}
