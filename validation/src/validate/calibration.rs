//! Calibrates a running server, for comparisons.

use x11prof_cost_model::ServerParameters;
use x11prof_proxy::{DisplayName, ServerLink};
use x11prof_session::{Operation, Value};
use x11prof_xmeasure::{Plan, Target, measure};

use super::reported;
use crate::bench::x_server::XServer;

/// The costs of a server, measured according to `plan`.
pub(super) fn calibrate(server: &XServer, plan: &Plan) -> Result<ServerParameters, String> {
    eprintln!("measuring {}", server.display());
    let name = DisplayName::parse(&server.display()).map_err(reported)?;
    let target = Target::new(ServerLink::new(name, None)).map_err(reported)?;
    measure(&target, plan, None, &mut |_| {}).map_err(reported)
}

/// Parses an operation such as `PolyText8 fontname=6x13`.
pub(super) fn operation(text: &str) -> Operation {
    let mut words = text.split_whitespace();
    let mut operation = Operation::new(words.next().unwrap_or_default().into());
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        operation.attributes.set(name.into(), Value::parse(value));
    }
    operation
}
