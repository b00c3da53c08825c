//! Runs a micro-benchmark under `record`, driven by xdotool, and pairs its own measurements with the recorded
//! episodes.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use x11prof_trace::{Reader, Record};

use super::kernel::Kernel;
use super::toolkits::Toolkit;
use crate::harness::examples::example;
use crate::harness::{Disturbance, Finished, Place, Recording, Server, needs, quiet, until};

/// LiLa's Table 1.
pub(crate) const BENCHMARKS: [&str; 11] = [
    "keyboard",
    "motion",
    "button",
    "painting",
    "timer",
    "menu",
    "combo-box",
    "two-frames",
    "non-modal-dialog",
    "modal-dialog",
    "built-in-dialog",
];

/// The largest difference, in milliseconds, between the start of a handling by the handler's clock and by the
/// analysis.
const NEAR_MS: f64 = 4.0;

/// A program without work for this many milliseconds is idle.
const IDLE_MS: f64 = 75.0;

/// Input is repeated if nothing has happened after this time.
const AGAIN_AFTER: Duration = Duration::from_secs(20);

/// A handling as the client measured it; times are milliseconds since the start of the trace.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    pub(crate) action: String,
    pub(crate) asked_ms: Option<f64>,
    pub(crate) begin_ms: f64,
    pub(crate) latency_ms: f64,
    pub(crate) computed_ms: f64,
    pub(crate) slept_ms: f64,
    pub(crate) waited_ms: f64,
    pub(crate) round_trips: u64,
    /// Voluntary context switches of its thread, counted by the kernel.
    pub(crate) switches: u64,
    /// Milliseconds on the run queue, by the kernel's clock: the thread was preempted, or woken and not yet
    /// running.
    pub(crate) queued_ms: f64,
    /// Milliseconds of CPU that another thread of the program used for this handling.
    pub(crate) beside_ms: f64,
    /// The toolkit's own times; `None` if the toolkit measures none.
    pub(crate) toolkit: Option<InToolkit>,
}

/// A handling as its toolkit measures it, including the toolkit's work before and after the handler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InToolkit {
    pub(crate) begin_ms: f64,
    pub(crate) end_ms: f64,
    /// True if the toolkit's time starts at the event's server time (in the middle of that millisecond), false if
    /// it starts at the dispatch.
    pub(crate) from_event: bool,
}

impl InToolkit {
    pub(crate) fn latency_ms(&self) -> f64 {
        self.end_ms - self.begin_ms
    }
}

impl Truth {
    pub(crate) fn end_ms(&self) -> f64 {
        self.begin_ms + self.latency_ms
    }
}

/// An episode of the analysis.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub(crate) client: u64,
    pub(crate) unsure: bool,
    pub(crate) landmark: String,
    pub(crate) trigger: String,
    pub(crate) start_ms: f64,
    pub(crate) latency_ms: f64,
    pub(crate) waiting_ms: f64,
    pub(crate) client_ms: f64,
    pub(crate) off_cpu_ms: f64,
    /// The part on the run queue, in milliseconds.
    pub(crate) processor_ms: f64,
    pub(crate) server_ms: f64,
    pub(crate) network_ms: f64,
    pub(crate) round_trips: u64,
    pub(crate) culprit: String,
}

impl Episode {
    pub(crate) fn end_ms(&self) -> f64 {
        self.start_ms + self.latency_ms
    }

    /// The time at which the client starts to handle the event. A handler does not see the wait before that.
    pub(crate) fn handled_ms(&self) -> f64 {
        self.start_ms + self.waiting_ms
    }

    /// The largest part, if the client had always had a processor when it was runnable.
    pub(crate) fn culprit(&self) -> &'static str {
        let parts = [
            ("waiting", self.waiting_ms),
            ("client", self.client_ms + self.processor_ms),
            ("off_cpu", self.off_cpu_ms - self.processor_ms),
            ("server", self.server_ms + self.network_ms),
        ];
        let largest = parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        largest.map_or("", |(name, _)| name)
    }

    /// The sum of the parts.
    pub(crate) fn parts_ms(&self) -> f64 {
        self.waiting_ms + self.client_ms + self.off_cpu_ms + self.server_ms + self.network_ms
    }
}

/// A handling with a requested duration, and its episode.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) truth: Truth,
    pub(crate) episode: Episode,
}

impl Pair {
    /// The length of the handling by the analysis, in milliseconds.
    pub(crate) fn ours_ms(&self) -> f64 {
        self.episode.latency_ms - self.episode.waiting_ms
    }

    /// The difference from the toolkit's time for the same interval, or from the handler's time if the toolkit
    /// measures none.
    pub(crate) fn toolkit_error_ms(&self) -> f64 {
        match self.truth.toolkit {
            Some(toolkit) if toolkit.from_event => self.episode.latency_ms - toolkit.latency_ms(),
            Some(toolkit) => self.ours_ms() - toolkit.latency_ms(),
            None => self.error_ms(),
        }
    }

    /// The difference from the handler's time.
    pub(crate) fn error_ms(&self) -> f64 {
        self.ours_ms() - self.truth.latency_ms
    }
}

/// The results of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) benchmark: String,
    pub(crate) truths: Vec<Truth>,
    pub(crate) episodes: Vec<Episode>,
    pub(crate) kernel: Kernel,
    /// The possible error of times because of other load on the machine, in milliseconds.
    pub(crate) disturbed_ms: f64,
}

impl Run {
    /// The handlings with a requested duration, each with its episode.
    ///
    /// # Errors
    /// Returns a description if a handling has no episode.
    pub(crate) fn pairs(&self) -> Result<Vec<Pair>, String> {
        let asked = self.truths.iter().filter(|truth| truth.asked_ms.is_some());
        let pair = |truth: &Truth| {
            Ok(Pair {
                truth: truth.clone(),
                episode: self.episode_of(truth)?,
            })
        };
        asked.map(pair).collect()
    }

    /// Asserts that no episode without the `unsure` flag contains two handlings with a long idle time between them.
    pub(crate) fn has_one_handling_each(&self) {
        for episode in self.episodes.iter().filter(|episode| !episode.unsure) {
            let within = |truth: &&Truth| {
                truth.asked_ms.is_some()
                    && (episode.handled_ms()..episode.end_ms()).contains(&truth.end_ms())
            };
            let within: Vec<&Truth> = self.truths.iter().filter(within).collect();
            for two in within.windows(2) {
                let idle_ms = two[1].begin_ms - two[0].end_ms();
                assert!(
                    idle_ms < IDLE_MS + self.disturbed_ms,
                    "{episode:?}: {two:?}"
                );
            }
        }
    }

    /// Pairs each handling with the episode that shares the most time with it. A toolkit's handler starts after the
    /// toolkit has read and dispatched the event. The first handling is skipped because the program loads and
    /// compiles code in it.
    ///
    /// # Errors
    /// Returns a description if a handling has no episode.
    pub(crate) fn pairs_in_toolkit(&self) -> Result<Vec<Pair>, String> {
        let shared = |truth: &Truth, episode: &Episode| {
            truth.end_ms().min(episode.end_ms()) - truth.begin_ms.max(episode.handled_ms())
        };
        let pair = |truth: &Truth| {
            let by = |a: &&Episode, b: &&Episode| shared(truth, a).total_cmp(&shared(truth, b));
            match self.episodes.iter().max_by(by) {
                Some(episode) if shared(truth, episode) > 0.0 => Ok(Pair {
                    truth: truth.clone(),
                    episode: episode.clone(),
                }),
                _ => Err(format!("{}: no episode: {truth:?}", self.benchmark)),
            }
        };
        let asked = self.truths.iter().filter(|truth| truth.asked_ms.is_some());
        asked.skip(1).map(pair).collect()
    }

    /// The episode whose handling begins nearest to this handling.
    fn episode_of(&self, truth: &Truth) -> Result<Episode, String> {
        let distance = |episode: &Episode| (episode.handled_ms() - truth.begin_ms).abs();
        let near = self
            .episodes
            .iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)));
        match near {
            Some(episode) if distance(episode) <= NEAR_MS + self.disturbed_ms => {
                Ok(episode.clone())
            }
            near => Err(format!(
                "{}: no episode begins where this handling did: {truth:?}; the nearest: {near:?}",
                self.benchmark
            )),
        }
    }
}

/// Runs a benchmark on `server`; its handlers do `work` for each of these times in turn.
pub(crate) fn run(server: &Server, benchmark: &str, work: &str, times_ms: &[u64]) -> Run {
    run_in(Toolkit::None, server, benchmark, work, times_ms)
}

/// Runs the benchmark as written for a toolkit.
pub(crate) fn run_in(
    toolkit: Toolkit,
    server: &Server,
    benchmark: &str,
    work: &str,
    times_ms: &[u64],
) -> Run {
    needs("xdotool", "xdotool");
    let _quiet = quiet();
    let place = Place::new();
    let (trace, truth) = (place.path("trace.mcap"), place.path("truth"));
    let times: Vec<String> = times_ms.iter().map(u64::to_string).collect();
    // Move the pointer to its position before the client starts.
    xdotool(server, &["mousemove", "90", "90"]);
    let mut recording = Recording::at(&place, &trace, &["--display", &server.display]);
    let lasting = [recording.child.id(), server.pid()];
    let mut disturbance = Disturbance::begin(&lasting);
    let mut client = toolkit
        .program(&recording, &place)
        .args([benchmark, work])
        .arg(&truth)
        .args(&times)
        .stdout(Stdio::piped())
        .spawn()
        .expect("microbench starts");
    let mut window = ready(&mut client);
    if toolkit != Toolkit::None && benchmark == "painting" {
        // A toolkit's named window may be a child of its top-level window.
        let mut search = server.client("xdotool");
        search.args(["search", "--onlyvisible", "--name", "microbench"]);
        let found = Finished::of(&mut search).succeeded();
        window = found.lines().next_back().unwrap_or_default().to_owned();
    }
    // A toolkit's dialog opens immediately, and the benchmark's work runs when it closes.
    let presses = match toolkit {
        Toolkit::Swing | Toolkit::Tk | Toolkit::Gtk if benchmark.ends_with("dialog") => 2,
        _ => 1,
    };
    let presses = times.iter().flat_map(|time| vec![time; presses]);
    let mut person = Command::new(example("microbench"));
    person.args(["person", benchmark]).args(presses);
    let words = Finished::of(&mut person).succeeded();
    let words = words.replace("WINDOW", &window);
    let words: Vec<&str> = words.split_whitespace().collect();
    if !words.is_empty() {
        xdotool(server, &words);
    }
    let all = [lasting[0], lasting[1], client.id()];
    let mut acted = Instant::now();
    let status = until("microbench's end", || {
        disturbance.look(&all);
        let ended = client.try_wait().expect("waiting for a child");
        // On a busy machine a press may arrive before its target window is mapped.
        if ended.is_none() && !words.is_empty() && acted.elapsed() > AGAIN_AFTER {
            Finished::of(server.client("xdotool").args(&words));
            acted = Instant::now();
        }
        ended
    });
    assert!(status.success());
    let disturbed_ms = disturbance.end_ms(&lasting);
    recording.signal(rustix::process::Signal::INT);
    Run {
        disturbed_ms,
        benchmark: format!("{benchmark} {work}"),
        kernel: Kernel::of(&trace),
        truths: truths(&truth, beginning_ns(&trace)),
        episodes: episodes(&place, &trace),
    }
}

/// Runs xdotool on the server, bypassing the recorder.
pub(crate) fn xdotool(server: &Server, words: &[&str]) {
    Finished::of(server.client("xdotool").args(words)).succeeded();
}

/// Waits until the client is ready and returns its window id.
pub(crate) fn ready(client: &mut Child) -> String {
    let stdout = client.stdout.take().expect("a pipe");
    let mut line = String::new();
    BufReader::new(stdout)
        .read_line(&mut line)
        .expect("a line of the client's");
    let window = line.trim().strip_prefix("ready ");
    window
        .unwrap_or_else(|| panic!("the client is ready: {line}"))
        .to_owned()
}

/// The start of the trace in nanoseconds of CLOCK_MONOTONIC; times in results are relative to it.
pub(crate) fn beginning_ns(trace: &Path) -> u64 {
    let file = std::fs::File::open(trace).expect("a trace");
    let mut reader = Reader::new(BufReader::new(file)).expect("a trace");
    match reader.next().expect("a record") {
        Some(Record::Control(time, _)) => time.as_nanos(),
        other => panic!("a trace begins with a control record, not with {other:?}"),
    }
}

fn truths(file: &Path, beginning: u64) -> Vec<Truth> {
    let text = std::fs::read_to_string(file).expect("the client wrote its truth");
    let ms = |value: &Value| value.as_f64().expect("a time") / 1e6;
    let lines = text.lines().map(|line| {
        let truth: Value = serde_json::from_str(line).expect("JSON");
        let since = |name: &str| {
            let time = truth[name].as_u64().expect("a time");
            (time - beginning) as f64 / 1e6
        };
        Truth {
            action: truth["action"].as_str().expect("an action").to_owned(),
            asked_ms: truth["asked_ms"].as_f64(),
            begin_ms: since("begin_ns"),
            latency_ms: since("end_ns") - since("begin_ns"),
            computed_ms: ms(&truth["computed_ns"]),
            slept_ms: ms(&truth["slept_ns"]),
            waited_ms: ms(&truth["waited_ns"]),
            round_trips: truth["round_trips"].as_u64().expect("a number"),
            switches: truth["switches"].as_u64().expect("a number"),
            queued_ms: ms(&truth["queued_ns"]),
            beside_ms: truth["beside_ns"].as_f64().unwrap_or(0.0) / 1e6,
            toolkit: in_toolkit(&truth, beginning),
        }
    });
    lines.collect()
}

/// The toolkit's times of a handling.
fn in_toolkit(truth: &Value, beginning: u64) -> Option<InToolkit> {
    let since = |nanos: u64| (nanos as f64 - beginning as f64) / 1e6;
    let event = truth["event_ms"].as_u64();
    let event = event.map(|millis| millis * 1_000_000 + 500_000);
    Some(InToolkit {
        begin_ms: since(event.or_else(|| truth["toolkit_from_ns"].as_u64())?),
        end_ms: since(truth["toolkit_to_ns"].as_u64()?),
        from_event: event.is_some(),
    })
}

/// The episodes of a trace.
pub(crate) fn episodes(place: &Place, trace: &Path) -> Vec<Episode> {
    let report = place.json(["episodes", "--format", "json", &trace.to_string_lossy()]);
    let episodes = report["episodes"].as_array().expect("episodes");
    let episodes = episodes.iter().map(|episode| {
        let text = |name: &str| episode[name].as_str().unwrap_or("").to_owned();
        let number = |value: &Value| value.as_f64().expect("a number");
        let part = |name: &str| number(&episode["parts"][name]);
        Episode {
            client: episode["client"].as_u64().expect("a number"),
            unsure: !episode["uncertain"].is_null(),
            landmark: text("landmark"),
            trigger: text("trigger"),
            start_ms: number(&episode["start_ms"]),
            latency_ms: number(&episode["latency_ms"]),
            waiting_ms: part("waiting_ms"),
            client_ms: part("client_ms"),
            off_cpu_ms: part("off_cpu_ms"),
            processor_ms: number(&episode["causes"]["processor_ms"]),
            server_ms: part("server_ms"),
            network_ms: part("network_ms"),
            round_trips: episode["round_trips"].as_u64().expect("a number"),
            culprit: text("culprit"),
        }
    });
    episodes.collect()
}
