//! Compares an episode's latency with the response on the screen: the time from an XTEST event to the last DAMAGE
//! report, measured by a client that shares no code with x11prof.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::benchmark::{Episode, beginning_ns, episodes};
use super::figures::{median, quantile};
use crate::harness::examples::example;
use crate::harness::{Disturbance, Finished, Place, Recording, Server, quiet, wait};

/// Tolerance for the event's time, which is in whole milliseconds of the server or the event's delivery.
const BEFORE_MS: f64 = 2.0;
/// A server on a busy machine may handle the event late; the next event follows after 120 ms.
const AFTER_MS: f64 = 100.0;

/// The response to an event.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) event: String,
    /// First and last damage of each burst, in milliseconds since the event was sent.
    bursts: Vec<(f64, f64)>,
    /// The episode that began with it.
    pub(crate) episode: Option<Episode>,
}

/// How the drawing on the screen relates to the episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// One burst of drawing, the response: the observed latency and the episode's, in milliseconds.
    Same(f64, f64),
    /// The event changed nothing on the screen.
    DrewNothing,
    /// Several frames: an animation, a blinking cursor, a spinner. The times to the first and to the last frame,
    /// and the episode's latency, in milliseconds.
    SeveralFrames(f64, f64, f64),
    /// Something was drawn, but no episode of the program began with that event.
    NoEpisode,
}

/// How to treat several frames in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Frames {
    /// One drawing that takes the server longer than a frame; the program has no animations.
    OneResponse,
    /// An animation that the event started or that always runs.
    Animation,
}

impl Seen {
    pub(crate) fn meaning(&self, frames: Frames) -> Meaning {
        match (self.bursts.as_slice(), &self.episode) {
            ([], _) => Meaning::DrewNothing,
            (_, None) => Meaning::NoEpisode,
            ([.., (_, last)], Some(episode)) if frames == Frames::OneResponse => {
                Meaning::Same(*last, episode.latency_ms)
            }
            ([(_, last)], Some(episode)) => Meaning::Same(*last, episode.latency_ms),
            ([(_, first), .., (_, last)], Some(episode)) => {
                Meaning::SeveralFrames(*first, *last, episode.latency_ms)
            }
        }
    }
}

/// GTK settings without animations and cursor blinking.
const STILL: &str = "[Settings]\ngtk-enable-animations=0\ngtk-cursor-blink=0\n";

/// Qt settings without cursor blinking. The cursor restarts with each key and is redrawn 27 ms and half a second
/// later, which is no response to the next action.
const STILL_QT: &str = "[KDE]\nCursorBlinkRate=0\n";

/// Records `program` on `server` while the watcher runs `steps`, with or without GTK animations. The second value
/// is the possible error of the times in milliseconds because of other load.
pub(crate) fn watch(
    server: &Server,
    program: &[&str],
    steps: &[String],
    frames: Frames,
) -> (Vec<Seen>, f64) {
    let _quiet = quiet();
    let place = Place::new();
    if frames == Frames::OneResponse {
        let folder = place.path("gtk-3.0");
        std::fs::create_dir(&folder).expect("a folder for settings");
        std::fs::write(folder.join("settings.ini"), STILL).expect("GTK's settings");
    }
    std::fs::write(place.path("kdeglobals"), STILL_QT).expect("Qt's settings");
    let trace = place.path("trace.mcap");
    let mut recording = Recording::at(&place, &trace, &["--display", &server.display]);
    let mut client = start(&mut recording, &place, program);
    let watcher = example("damage_watch");
    let ours = [recording.child.id(), server.pid(), client.id()];
    let disturbance = Disturbance::begin(&ours);
    let mut watcher = server.client(&watcher.to_string_lossy());
    let seen = Finished::of(watcher.args(steps)).succeeded();
    let disturbed_ms = disturbance.end_ms(&ours);
    client.kill().expect("ending the program");
    wait(&mut client, program[0]);
    recording.signal(rustix::process::Signal::INT);
    let seen = with_episodes(&seen, beginning_ns(&trace), &episodes(&place, &trace));
    (seen, disturbed_ms)
}

/// Starts the program on the recorder's display with a separate home folder.
fn start(recording: &mut Recording, place: &Place, program: &[&str]) -> std::process::Child {
    let mut command: Command = recording.client(program[0]);
    command
        .args(&program[1..])
        .env("HOME", place.path("."))
        .env("XDG_CONFIG_HOME", place.path("."))
        // Qt reads kdeglobals there.
        .env("XDG_CURRENT_DESKTOP", "KDE")
        .env("KDE_SESSION_VERSION", "5")
        // No desktop services are available; do not wait for any.
        .env("NO_AT_BRIDGE", "1")
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

fn with_episodes(text: &str, beginning: u64, episodes: &[Episode]) -> Vec<Seen> {
    let ms = |value: &Value| value.as_f64().expect("a time") / 1e6;
    let lines = text.lines().map(|line| {
        let seen: Value = serde_json::from_str(line).expect("JSON");
        let sent = seen["sent_ns"].as_u64().expect("a time");
        let sent_ms = (sent - beginning) as f64 / 1e6;
        let bursts = seen["bursts"].as_array().expect("bursts");
        let begun = episodes.iter().filter(|episode| {
            let after = episode.start_ms - sent_ms;
            episode.trigger == "input" && (-BEFORE_MS..AFTER_MS).contains(&after)
        });
        let distance = |episode: &Episode| (episode.start_ms - sent_ms).abs();
        Seen {
            event: seen["event"].as_str().expect("an event").to_owned(),
            bursts: bursts
                .iter()
                .map(|burst| (ms(&burst[0]), ms(&burst[1])))
                .collect(),
            episode: begun
                .min_by(|a, b| distance(a).total_cmp(&distance(b)))
                .cloned(),
        }
    });
    lines.collect()
}

/// The figures of a program.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    seen_ms: Vec<f64>,
    ours_ms: Vec<f64>,
    differences_ms: Vec<f64>,
    first_frame_ms: Vec<f64>,
    drew_nothing: usize,
    several_frames: usize,
    no_episode: usize,
}

impl Compared {
    pub(crate) fn of(seen: &[Seen], frames: Frames) -> Compared {
        let mut compared = Compared::default();
        for one in seen {
            match one.meaning(frames) {
                Meaning::Same(seen, ours) => {
                    compared.seen_ms.push(seen);
                    compared.ours_ms.push(ours);
                    compared.differences_ms.push((ours - seen).abs());
                }
                Meaning::DrewNothing => compared.drew_nothing += 1,
                Meaning::SeveralFrames(first, _, ours) => {
                    compared.several_frames += 1;
                    compared.first_frame_ms.push((ours - first).abs());
                }
                Meaning::NoEpisode => compared.no_episode += 1,
            }
        }
        compared
    }

    /// The number of events whose drawing and episode agree.
    pub(crate) fn same(&self) -> usize {
        self.differences_ms.len()
    }

    /// The median difference in milliseconds; measured to the first frame if all drawing is animated.
    pub(crate) fn median_ms(&self) -> f64 {
        if self.differences_ms.is_empty() {
            return median(&self.first_frame_ms);
        }
        median(&self.differences_ms)
    }

    pub(crate) fn row(&self, program: &str) -> String {
        format!(
            "| {program} | {} | {:.1} | {:.1} | {:.2} | {:.2} | {} | {} | {} |",
            self.same(),
            median(&self.seen_ms),
            median(&self.ours_ms),
            self.median_ms(),
            quantile(&self.differences_ms, 0.95),
            self.drew_nothing,
            self.several_frames,
            self.no_episode,
        )
    }

    pub(crate) fn json(&self, program: &str) -> Value {
        // Figures without data are null.
        let figure = |value: f64| value.is_finite().then_some(value);
        json!({
            "program": program,
            "same": self.same(),
            "seen_median_ms": figure(median(&self.seen_ms)),
            "ours_median_ms": figure(median(&self.ours_ms)),
            "difference_median_ms": figure(self.median_ms()),
            "difference_p95_ms": figure(quantile(&self.differences_ms, 0.95)),
            "drew_nothing": self.drew_nothing,
            "several_frames": self.several_frames,
            "first_frame_difference_median_ms": figure(median(&self.first_frame_ms)),
            "no_episode": self.no_episode,
        })
    }
}

/// The head of the table of `Compared::row`.
pub(crate) const HEAD: &str = "\
| program | responses | seen, ms | ours, ms | median difference, ms | 95th percentile, ms | drew nothing | several frames | no episode |
|---|---:|---:|---:|---:|---:|---:|---:|---:|";

/// Runs a micro-benchmark that draws without waiting for the server, while the watcher observes the screen.
pub(crate) fn watch_microbench(server: &Server, work: &str, times_ms: &[u64]) -> (Vec<Seen>, f64) {
    let microbench = example("microbench");
    let place = Place::new();
    let truth = place.path("truth");
    let times: Vec<String> = times_ms.iter().map(u64::to_string).collect();
    // One more key than will be pressed, so that the client does not exit.
    let words: Vec<&str> = [path(&microbench), "keyboard", work, path(&truth)]
        .into_iter()
        .chain(times.iter().map(String::as_str))
        .chain(["1"])
        .collect();
    let mut steps = vec!["settle".to_owned(), "move:100,100".to_owned()];
    steps.extend(times.iter().map(|_| "key:38".to_owned()));
    watch(server, &words, &steps, Frames::OneResponse)
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}
