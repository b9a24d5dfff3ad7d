//! Read ROOT trees into arrays, fast, from any place.
