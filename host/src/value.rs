//! What reading one fact of a host can give: the fact, its absence, or the reason why there is none.

/// A fact of a host. An unknown is never a zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<T> {
    /// Read and understood.
    Known(T),
    /// The host has no such thing: the file does not exist.
    Absent,
    /// The thing exists, but the question makes no sense for it (the speed of a link that is down, the node of a
    /// virtual device).
    NotApplicable(String),
    /// It is there and could not be read or understood; the text says what was tried and what came back.
    Unreadable(String),
}

impl<T> Value<T> {
    /// The fact, if it is known.
    pub fn known(self) -> Option<T> {
        match self {
            Value::Known(value) => Some(value),
            Value::Absent | Value::NotApplicable(_) | Value::Unreadable(_) => None,
        }
    }

    /// The same value by reference.
    pub fn as_ref(&self) -> Value<&T> {
        match self {
            Value::Known(value) => Value::Known(value),
            Value::Absent => Value::Absent,
            Value::NotApplicable(why) => Value::NotApplicable(why.clone()),
            Value::Unreadable(why) => Value::Unreadable(why.clone()),
        }
    }

    /// Changes a known fact, and leaves the reason for an unknown one alone.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Value<U> {
        self.and_then(|value| Value::Known(change(value)))
    }

    /// Draws a further value from a known fact.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Value<U>) -> Value<U> {
        match self {
            Value::Known(value) => next(value),
            Value::Absent => Value::Absent,
            Value::NotApplicable(why) => Value::NotApplicable(why),
            Value::Unreadable(why) => Value::Unreadable(why),
        }
    }

    /// Parses a known text; what does not parse is unreadable, with the parser's reason.
    pub fn parse<U, E: std::fmt::Display>(self, parser: impl FnOnce(T) -> Result<U, E>) -> Value<U> {
        self.and_then(|value| match parser(value) {
            Ok(parsed) => Value::Known(parsed),
            Err(why) => Value::Unreadable(why.to_string()),
        })
    }

    /// Why there is no fact, in words; none for a known one.
    pub fn why_unknown(&self) -> Option<&str> {
        match self {
            Value::Known(_) => None,
            Value::Absent => Some("not present on this host"),
            Value::NotApplicable(why) | Value::Unreadable(why) => Some(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_keeps_its_reason_through_map_and_parse() {
        let value: Value<String> = Value::Unreadable("permission denied".into());
        let parsed = value.map(|text| text + "!").parse(|text| text.parse::<u32>());
        assert_eq!(parsed.why_unknown(), Some("permission denied"));
        assert_eq!(parsed.known(), None);
    }

    #[test]
    fn a_text_that_does_not_parse_is_unreadable_not_zero() {
        let parsed = Value::Known("N/A (no PMA)".to_owned()).parse(|text| text.parse::<u64>());
        assert!(matches!(parsed, Value::Unreadable(_)), "{parsed:?}");
    }
}
