//! A fact that was read, or why it could not be known.

use reana_model::Origin;

/// Why something can't be known without running the project's code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: cannot evaluate {}: {reason}", shown(expression))]
pub struct Unknown {
    /// Where the expression stands that could not be evaluated.
    pub origin: Origin,
    /// The expression, on one line and shortened.
    pub expression: String,
    /// What keeps it from being evaluated.
    pub reason: String,
    /// The value comes from a plug-in of setuptools (pbr, setuptools_scm), not from the file itself.
    pub plug_in: bool,
}

/// A fact, or why it is not known. Never a guess.
pub type Fact<T> = Result<T, Unknown>;

/// An expression that has no text (the file ends where one should stand) is named as such.
fn shown(expression: &str) -> String {
    if expression.is_empty() { "the end of the file".to_owned() } else { format!("`{expression}`") }
}
