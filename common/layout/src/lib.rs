//! Where data lies: banks, phases and padding, as pure functions.
