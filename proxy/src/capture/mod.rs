//! Captures what the kernel and the processes report: context switches, call stacks, and the times of the server's
//! handlers.

pub(crate) mod blocked_objects;
pub(crate) mod handler_times;
pub(crate) mod peers;
pub(crate) mod perf;
pub(crate) mod preload;
pub(crate) mod request_stacks;
pub(crate) mod scheduling;
pub(crate) mod stack_numbers;
pub(crate) mod stack_unwinding;
pub(crate) mod wait_stacks;
