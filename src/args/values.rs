//! The values of options: formats by name, and parsers of values.

use std::path::PathBuf;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, ValueEnum};
use x11prof_analyzer::{BasisOption, By, Scale, Thresholds};
use x11prof_cost_model::Network;
use x11prof_proxy::{Rewrite, ServerKind};

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs; versioned
    Json,
}

/// The formats of `export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A network capture, which Wireshark's X11 dissector decodes
    Pcapng,
    /// A timeline of messages, the server's runs and episodes, for ui.perfetto.dev
    Perfetto,
    /// A timeline of messages, the server's runs and episodes, for profiler.firefox.com
    Firefox,
    /// The server's time and bytes by client, window and request, for `go tool pprof` and speedscope
    Pprof,
    /// The server's time as stacks, a line each, in microseconds, for speedscope and flame graphs
    Collapsed,
    /// Tables of one or many sessions for DuckDB, Spark and `issues` (docs/REFERENCE.md)
    Parquet,
}

/// The form of a result that is a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// For people
    Text,
    /// For programs; versioned
    Json,
    /// For spreadsheets: the main table
    Csv,
}

/// The form and the place of a table.
#[derive(Debug, Args)]
pub(crate) struct TableArguments {
    /// The form of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// The form of a result about episodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EpisodesFormat {
    /// For people
    Text,
    /// For programs; versioned
    Json,
    /// For spreadsheets: the main table
    Csv,
    /// With --events: your own events, in Reiss's form
    Xml,
}

/// The form of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// For programs; versioned
    Json,
    /// For spreadsheets: the main table
    Csv,
    /// One page for a browser, with episodes, statistics and resources
    Html,
}

/// The groups that times are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupBy {
    /// The kind of request
    Request,
    /// The client
    Client,
    /// The window that a request acts on
    Window,
    /// The window or pixmap that a request acts on
    Drawable,
    /// The property, selection or message type of a request
    Atom,
    /// The program's function that made the request, or that ran (record --stacks=requests, cpu)
    Function,
    /// The line of the program's source that made the request
    Line,
    /// The function with its callers
    Stack,
}

impl GroupBy {
    /// The analyzer's word for it; none for the requests, which it has always.
    pub(crate) fn by(self) -> Option<By> {
        match self {
            GroupBy::Request => None,
            GroupBy::Client => Some(By::Client),
            GroupBy::Window => Some(By::Window),
            GroupBy::Drawable => Some(By::Drawable),
            GroupBy::Atom => Some(By::Atom),
            GroupBy::Function => Some(By::Function),
            GroupBy::Line => Some(By::Line),
            GroupBy::Stack => Some(By::Stack),
        }
    }
}

/// The names between client and request in exported sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportBy {
    /// The window that a request acts on
    Window,
    /// The program's functions that made the request or ran (record --stacks=requests, =cpu)
    Stack,
}

impl ExportBy {
    /// The analyzer's word for it.
    pub(crate) fn by(self) -> By {
        match self {
            ExportBy::Window => By::Window,
            ExportBy::Stack => By::Stack,
        }
    }
}

/// The moments of a program at which its stack is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StacksOf {
    /// Each wait for a reply, while the recorder holds the reply
    Waits,
    /// Each request, by a library that the program loads
    Requests,
    /// Every other millisecond in which it runs, where the kernel permits samples (perf_event_paranoid 2 or less)
    Cpu,
}

/// The trace where the user names none.
pub(crate) const DEFAULT_TRACE: &str = "x11prof.mcap";

/// A parser of values, and the names that completions offer.
#[derive(Debug, Clone)]
pub(super) struct Offering<T> {
    parse: fn(&str) -> Result<T, String>,
    names: fn() -> Vec<&'static str>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Offering<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<T, clap::Error> {
        self.parse.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = (self.names)().into_iter();
        Some(Box::new(names.map(PossibleValue::new)))
    }
}

/// Parameter files: any text, and the names of those that come with the program.
pub(super) const PARAMETERS: Offering<String> = Offering {
    parse: |text| Ok(text.to_owned()),
    names: || {
        x11prof_cost_model::built_in()
            .iter()
            .map(|known| known.name)
            .collect()
    },
};

/// Networks: any text that is one, and the names of some.
pub(super) const NETWORK: Offering<Network> = Offering {
    parse: |text| Network::parse(text).map_err(|error| error.to_string()),
    names: || Network::presets().chain(["none"]).collect(),
};

/// Kinds of private servers by name.
pub(super) const SERVER: Offering<ServerKind> = Offering {
    parse: server_kind,
    names: || ServerKind::names().collect(),
};

pub(super) fn scale(text: &str) -> Result<Scale, String> {
    Scale::parse(text).map_err(|error| error.to_string())
}

pub(super) fn grain(text: &str) -> Result<(String, u64), String> {
    let expected = "expected NAME=N with N from 1 on, such as PutImage=16";
    let (name, grain) = text.rsplit_once('=').ok_or(expected)?;
    match grain.parse() {
        Ok(grain) if grain > 0 => Ok((name.to_owned(), grain)),
        _ => Err(expected.to_owned()),
    }
}

pub(super) fn thresholds(text: &str) -> Result<Thresholds, String> {
    Thresholds::parse(text).map_err(|error| error.to_string())
}

/// A point of a recording, in seconds after its start.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds >= 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err("expected a number of seconds from 0 on".to_owned()),
    }
}

/// A percentage above 0, with or without its sign.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    match text
        .strip_suffix('%')
        .unwrap_or(text)
        .trim_end()
        .parse::<f64>()
    {
        Ok(percent) if percent > 0.0 && percent.is_finite() => Ok(percent),
        _ => Err("expected a percentage above 0, such as 5%".to_owned()),
    }
}

pub(super) fn milliseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ms) if ms > 0.0 && ms.is_finite() => Ok(ms),
        _ => Err("expected a number of milliseconds above 0".to_owned()),
    }
}

fn server_kind(text: &str) -> Result<ServerKind, String> {
    ServerKind::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = ServerKind::names().collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// A label of a session.
pub(super) fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("expected NAME=TEXT, such as version=1.2".to_owned()),
    }
}

pub(super) fn rewrite(text: &str) -> Result<Rewrite, String> {
    Rewrite::from_name(text).ok_or_else(|| {
        let names = Rewrite::ALL.map(Rewrite::name);
        format!("expected one of {}", names.join(", "))
    })
}

/// Where server times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BasisChoice {
    /// Measured where it can be
    Auto,
    /// The handlers of the recorded server, which x11prof started: each request's own time
    Timed,
    /// The kernel's clock of the recorded server; prices only divide it
    Measured,
    /// Prices alone
    Model,
}

impl BasisChoice {
    pub(crate) fn wanted(self) -> BasisOption {
        match self {
            BasisChoice::Auto => BasisOption::Auto,
            BasisChoice::Timed => BasisOption::Timed,
            BasisChoice::Measured => BasisOption::Measured,
            BasisChoice::Model => BasisOption::Model,
        }
    }
}
