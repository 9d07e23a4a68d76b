//! The book's pages and directives, in one test program, since linking one for each file would take longer.
mod answers;
mod book;
mod claims;
mod common;
mod directives;
mod words;
