//! CPU activity: the one reader of the kernel's context switches. `threads` says what each thread does, of
//! which the pipeline has one (`watched`); the other files put that together for those who ask: how long
//! clients and server ran, and when both did (`figures`), the runs of the server (`server_runs`, and
//! `run_times` for timelines), when it was ready and did
//! not run (`server_ready`), how many threads could run (`runnable`), when a process last stopped or rested
//! (`processes`), and what ran since a clock was read (`since_reading`); `delays` has the bounds that they
//! share. Episodes ask `threads` what the threads of each client do.

pub(crate) mod delays;
pub(crate) mod figures;
pub(crate) mod processes;
pub(crate) mod run_times;
pub(crate) mod runnable;
pub(crate) mod server_ready;
pub(crate) mod server_runs;
pub(crate) mod share;
pub(crate) mod since_reading;
pub(crate) mod threads;
pub(crate) mod watched;
