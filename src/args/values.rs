//! The values of options: named formats, and parsers for values.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, ValueEnum};
use x11prof_analyzer::{By, NetworkModel, Scale, Thresholds, TimeSourceOption, emulated};
use x11prof_cost_model::Network;
use x11prof_proxy::{Rewrite, ServerKind};
use x11prof_trace::EmulatedNetwork;

/// The output format of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for a terminal
    Text,
    /// JSON, with a version number
    Json,
}

/// The formats of `export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A network capture for Wireshark, which decodes X11
    #[value(alias = "wireshark")]
    Pcapng,
    /// A timeline of messages, server runs and episodes for ui.perfetto.dev
    Perfetto,
    /// A timeline of messages, server runs and episodes for profiler.firefox.com
    Firefox,
    /// Server time and bytes by client, window and request for `go tool pprof` and speedscope
    Pprof,
    /// Server time as collapsed stacks in microseconds for flame graphs and speedscope
    Collapsed,
    /// Tables of one or many sessions for DuckDB, Spark and `issues` (docs/REFERENCE.md)
    Parquet,
}

/// The output format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Text for a terminal
    Text,
    /// JSON, with a version number
    Json,
    /// CSV: the main table
    Csv,
    /// All formats in one JSON document, for the crate `audit`
    #[value(hide = true)]
    All,
}

/// The output format of a table, and the file to write the table to.
#[derive(Debug, Args)]
pub(crate) struct TableArguments {
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// The output format of a report about episodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EpisodesFormat {
    /// Text for a terminal
    Text,
    /// JSON, with a version number
    Json,
    /// CSV: the main table
    Csv,
    /// With --events: your own events as XML, in the format of Reiss
    Xml,
    /// All formats in one JSON document, for the crate `audit`
    #[value(hide = true)]
    All,
}

/// The output format of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Text for a terminal
    Text,
    /// JSON, with a version number
    Json,
    /// CSV: the main table
    Csv,
    /// One HTML page, with episodes, statistics and resources
    Html,
    /// All formats except HTML in one JSON document, for the crate `audit`
    #[value(hide = true)]
    All,
}

/// The output format of the differences between two servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DivergeFormat {
    /// Text for a terminal
    Text,
    /// JSON, with a version number
    Json,
    /// One HTML page, with both streams of messages around the first difference
    Html,
}

/// The keys by which times are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupBy {
    /// The request
    Request,
    /// The client
    Client,
    /// The window that a request acts on
    Window,
    /// The window or pixmap that a request acts on
    Drawable,
    /// The property, selection or message type of a request
    Atom,
    /// The function that sent the request, waited or ran (record --stacks)
    Function,
    /// The source line that sent the request
    Line,
    /// The program or library that sent the request, waited or ran
    Library,
    /// The call stack that sent the request
    Stack,
}

impl GroupBy {
    /// Converts the key to the analyzer's value. `None` for requests, which every report contains.
    pub(crate) fn by(self) -> Option<By> {
        match self {
            GroupBy::Request => None,
            GroupBy::Client => Some(By::Client),
            GroupBy::Window => Some(By::Window),
            GroupBy::Drawable => Some(By::Drawable),
            GroupBy::Atom => Some(By::Atom),
            GroupBy::Function => Some(By::Function),
            GroupBy::Line => Some(By::Line),
            GroupBy::Library => Some(By::Library),
            GroupBy::Stack => Some(By::Stack),
        }
    }
}

/// The level between client and request in exported sums of server time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportBy {
    /// The window that a request acts on
    Window,
    /// The call stack that sent the request or ran (record --stacks=requests, cpu)
    Stack,
}

impl ExportBy {
    /// Converts the level to the analyzer's value.
    pub(crate) fn by(self) -> By {
        match self {
            ExportBy::Window => By::Window,
            ExportBy::Stack => By::Stack,
        }
    }
}

/// The kinds of call stacks that `record --stacks` captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StacksOf {
    /// Waits for replies; a sample delays the reply, so only some short waits are sampled
    Waits,
    /// Each request, captured by a library that the program loads
    Requests,
    /// The running program, every 2 ms of CPU time
    Cpu,
}

/// The default name of the trace file.
pub(crate) const DEFAULT_TRACE: &str = "x11prof.mcap";

/// A clap value parser that also suggests names for shell completions.
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

/// Parses the name of a cost table. Any text is accepted; completions suggest the built-in names.
pub(super) const PARAMETERS: Offering<String> = Offering {
    parse: |text| Ok(text.to_owned()),
    names: || {
        x11prof_cost_model::built_in()
            .iter()
            .map(|known| known.name)
            .collect()
    },
};

/// Parses a network. Any valid network is accepted; completions suggest the presets.
pub(super) const NETWORK: Offering<Network> = Offering {
    parse: |text| Network::parse(text).map_err(|error| error.to_string()),
    names: || Network::presets().chain(["none"]).collect(),
};

/// Parses a network to emulate: any valid network, or FILE,RTT with the file of a link whose speed varies (mahimahi).
pub(super) const EMULATED: Offering<EmulatedNetwork> = Offering {
    parse: |text| {
        let error = match Network::parse(text) {
            Ok(network) => return Ok(emulated(&network)),
            Err(error) => error,
        };
        let (file, rest) = text.split_once(',').unwrap_or((text, ""));
        if !Path::new(file).exists() {
            return Err(format!(
                "{error}\nor FILE,RTT for a link of varying speed (mahimahi)"
            ));
        }
        let lines = crate::text_file::text(Path::new(file), "link of varying speed");
        let lines = lines.map_err(|error| error.message().to_owned())?;
        let times = EmulatedNetwork::parse_opportunities(&lines);
        let times = times.map_err(|why| format!("{file}: {why}"))?;
        let network = Network::parse(&format!("none,{rest}")).map_err(|error| error.to_string())?;
        Ok(EmulatedNetwork {
            bytes_per_second: EmulatedNetwork::mean_speed(&times),
            opportunities_ms: times,
            ..emulated(&network)
        })
    },
    names: NETWORK.names,
};

/// Parses the model by which network times are estimated.
pub(super) const NETWORK_MODEL: Offering<NetworkModel> = Offering {
    parse: |text| match text {
        "simulated" => Ok(NetworkModel::Simulated),
        "paper" => Ok(NetworkModel::Paper),
        _ => Err("expected simulated or paper".to_owned()),
    },
    names: || vec!["simulated", "paper"],
};

/// Parses the name of a kind of private server.
pub(super) const SERVER: Offering<ServerKind> = Offering {
    parse: server_kind,
    names: || ServerKind::names().collect(),
};

pub(super) fn scale(text: &str) -> Result<Scale, String> {
    Scale::parse(text).map_err(|error| error.to_string())
}

pub(super) fn thresholds(text: &str) -> Result<Thresholds, String> {
    Thresholds::parse(text).map_err(|error| error.to_string())
}

/// Parses a time in a recording, in seconds after its start.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds >= 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err("expected a number of seconds, 0 or more".to_owned()),
    }
}

pub(super) fn milliseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        // The limit of one day keeps sums finite.
        Ok(ms) if ms > 0.0 && ms <= 86_400_000.0 => Ok(ms),
        _ => Err("expected milliseconds above 0, up to 86400000".to_owned()),
    }
}

fn server_kind(text: &str) -> Result<ServerKind, String> {
    ServerKind::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = ServerKind::names().collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Maximum length of a label in bytes.
const LONGEST_LABEL: usize = 1000;

/// Parses a session label, `NAME=VALUE`.
pub(super) fn label(text: &str) -> Result<(String, String), String> {
    if text.len() > LONGEST_LABEL {
        return Err(format!("longer than {LONGEST_LABEL} bytes"));
    }
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

/// The time source of a report's server times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeSourceChoice {
    /// The best source in the recording
    Auto,
    /// Each request timed in the server (record --server, x11prof server)
    Timed,
    /// The server's CPU time from the kernel, attributed by the cost table
    Attributed,
    /// The cost table alone
    Modelled,
}

impl TimeSourceChoice {
    pub(crate) fn wanted(self) -> TimeSourceOption {
        match self {
            TimeSourceChoice::Auto => TimeSourceOption::Auto,
            TimeSourceChoice::Timed => TimeSourceOption::Timed,
            TimeSourceChoice::Attributed => TimeSourceOption::Measured,
            TimeSourceChoice::Modelled => TimeSourceOption::Model,
        }
    }
}
