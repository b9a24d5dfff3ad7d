//! Statistics of values, for decisions without reading them.

/// The exact minimum and maximum of some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Extremes {
    /// Signed integers.
    Signed(i64, i64),
    /// Unsigned integers, and booleans.
    Unsigned(u64, u64),
    /// Floating-point numbers, without NaN.
    Float(f64, f64),
}

/// Statistics of the values of a column in some entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// Number of values in all entries together.
    pub count: u64,
    /// Number of values that are NaN.
    pub nans: u64,
    /// The minimum and maximum of the others; none if there are no others.
    pub extremes: Option<Extremes>,
}
