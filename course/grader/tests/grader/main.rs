//! The grader from a teacher's view: grades, exams, and what students get.
mod bugs;
mod cases;
mod exam;
mod export;
mod grading;
mod hints;
mod kernels;
mod mutations;
mod recorded;
mod support;
