//! The stacks of requests and of running clients, as samples and markers of the Firefox Profiler.

use std::collections::HashMap;

use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerHandle, Profile, StackHandle,
    ThreadHandle, Timestamp as ProfileTime,
};
use x11prof_analyzer::StackNames;

/// The requests and CPU samples that have stacks. The names of the functions are only known after the whole recording
/// has been read.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    requests: Vec<(ThreadHandle, MarkerHandle, ProfileTime, u32)>,
    runs: Vec<Run>,
}

/// A CPU sample of a client.
#[derive(Debug)]
struct Run {
    thread: ThreadHandle,
    at: ProfileTime,
    stack: u32,
    ran: CpuDelta,
}

impl Stacks {
    /// Adds the stack of a request, which already has a marker.
    pub(super) fn request(
        &mut self,
        thread: ThreadHandle,
        marker: MarkerHandle,
        at: ProfileTime,
        stack: u32,
    ) {
        self.requests.push((thread, marker, at, stack));
    }

    /// Adds a sample of a running client; `nanos` is its CPU time in nanoseconds.
    pub(super) fn run(&mut self, thread: ThreadHandle, at: ProfileTime, stack: u32, nanos: u64) {
        let ran = CpuDelta::from_nanos(nanos);
        self.runs.push(Run {
            thread,
            at,
            stack,
            ran,
        });
    }

    /// Sets the stack of each marker, and adds the samples of the profile. The samples are the CPU samples of clients;
    /// without CPU samples, each request is a sample.
    pub(super) fn write(self, profile: &mut Profile, names: &StackNames) {
        let mut known = Known {
            handles: HashMap::new(),
            names,
        };
        for (thread, marker, at, number) in self.requests {
            let stack = known.stack(profile, thread, number);
            profile.set_marker_stack(thread, marker, stack);
            if self.runs.is_empty() && stack.is_some() {
                profile.add_sample(thread, at, stack, CpuDelta::ZERO, 1);
            }
        }
        for run in self.runs {
            let stack = known.stack(profile, run.thread, run.stack);
            profile.add_sample(run.thread, run.at, stack, run.ran, 1);
        }
    }
}

/// The call stacks of each thread that are already in the profile.
struct Known<'a> {
    handles: HashMap<(ThreadHandle, u32), Option<StackHandle>>,
    names: &'a StackNames,
}

impl Known<'_> {
    fn stack(
        &mut self,
        profile: &mut Profile,
        thread: ThreadHandle,
        number: u32,
    ) -> Option<StackHandle> {
        let names = self.names;
        *self.handles.entry((thread, number)).or_insert_with(|| {
            let functions = names.of(number)?.iter().rev();
            let frames: Vec<FrameInfo> = functions
                .map(|function| FrameInfo {
                    frame: Frame::Label(profile.intern_string(function)),
                    category_pair: CategoryHandle::OTHER.into(),
                    flags: FrameFlags::empty(),
                })
                .collect();
            profile.intern_stack_frames(thread, frames.into_iter())
        })
    }
}
