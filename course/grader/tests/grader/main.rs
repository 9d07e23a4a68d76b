//! The grader from a teacher's view: grades, exams, and what students get.
mod bugs;
mod exam;
mod export;
mod hints;
mod kernels;
mod mutations;
mod recorded;
mod support;
