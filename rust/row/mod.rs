//! Rows: values as the database gives them, and the layouts in which they go downstream.

pub mod value;
