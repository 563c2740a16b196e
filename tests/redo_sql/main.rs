//! The parser of redo texts: written cases, random rows, and malformed texts.

mod any;
mod cases;
mod fuzz;
mod large;
mod lenient;
mod model;
mod properties;
mod random;
mod reference;
mod reference_values;
mod render;
