//! What is known of values without reading them.

/// The least and the greatest value, exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Extremes {
    /// Of signed integers.
    Signed(i64, i64),
    /// Of unsigned integers, and truth values.
    Unsigned(u64, u64),
    /// Of floating-point numbers that are not NaN; neither is NaN.
    Float(f64, f64),
}

/// What is known of the values of a column in some entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// Number of values, of all entries together.
    pub count: u64,
    /// How many of them are not a number (NaN).
    pub nans: u64,
    /// Of those that are numbers; none if there is no such value.
    pub extremes: Option<Extremes>,
}
