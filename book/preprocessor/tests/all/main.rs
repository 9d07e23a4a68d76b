//! The book's pages and directives. One program, since each file alone would be linked with all of it again.
mod answers;
mod book;
mod claims;
mod common;
mod directives;
mod spelling;
mod words;
