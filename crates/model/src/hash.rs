//! sha256, the one hash that locks are written with.

use std::fmt;
use std::str::FromStr;

use sha2::Digest as _;

/// A sha256 of a file's bytes. Written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256(pub [u8; 32]);

/// Text that is not a sha256: not 64 hex digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a sha256 (64 hex digits)")]
pub struct HashError(pub String);

impl Sha256 {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }
}

impl FromStr for Sha256 {
    type Err = HashError;

    /// Reads 64 hex digits of either case.
    fn from_str(text: &str) -> Result<Self, HashError> {
        let digits = text.as_bytes();
        let mut bytes = [0_u8; 32];
        if digits.len() != 64 {
            return Err(HashError(text.to_owned()));
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let (Some(high), Some(low)) = (hex_digit(pair[0]), hex_digit(pair[1])) else {
                return Err(HashError(text.to_owned()));
            };
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A lock has thousands of these: all digits at once, not byte by byte through the formatter.
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
        let digits: String = self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
        f.write_str(&digits)
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_refuses_the_rest() {
        let hash = Sha256::of(b"");
        assert_eq!(hash.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hash.to_string().to_uppercase().parse(), Ok(hash));
        for bad in ["", "e3", &"g".repeat(64), &"é".repeat(32)] {
            assert!(bad.parse::<Sha256>().is_err(), "{bad}");
        }
    }
}
