//! Lines of blank-separated words with their places: what host files and topology files are made of.

use std::ops::Range;

/// A word and its place in the file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'f> {
    /// The word.
    pub(super) text: &'f str,
    start: usize,
}

impl<'f> Word<'f> {
    /// Its place in the file.
    pub(super) fn span(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// `KEY=VALUE` in two; none where it has no `=`.
    pub(super) fn split(&self) -> Option<(Word<'f>, Word<'f>)> {
        let (key, value) = self.text.split_once('=')?;
        Some((Word { text: key, start: self.start }, Word { text: value, start: self.start + key.len() + 1 }))
    }
}

/// The words of every line that has some; `#` begins a comment.
pub(super) fn lines(source: &str) -> impl Iterator<Item = Vec<Word<'_>>> {
    source.lines().filter_map(move |line| {
        let start = line.as_ptr() as usize - source.as_ptr() as usize;
        let said = line.split('#').next().unwrap_or_default();
        let words = said
            .split_whitespace()
            .map(|text| Word { text, start: start + (text.as_ptr() as usize - line.as_ptr() as usize) });
        let words = words.collect::<Vec<_>>();
        (!words.is_empty()).then_some(words)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_where_they_stand() {
        let source = "# head\n a  key=v=1 # rest\n\nb";
        let lines = lines(source).collect::<Vec<_>>();
        assert_eq!(lines.len(), 2);
        let (key, value) = lines[0][1].split().unwrap();
        assert_eq!((key.text, value.text), ("key", "v=1"));
        assert_eq!(&source[value.span()], "v=1");
        assert_eq!(&source[lines[1][0].span()], "b");
        assert_eq!(lines[1][0].split(), None);
    }
}
