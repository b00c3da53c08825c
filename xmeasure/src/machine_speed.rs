//! Measures the speed of this machine in a second: a few loads that every calibration has at its beginning and its
//! end as well. Beside another machine's file, the speed scales that file's prices to this machine.

use x11prof_cost_model::ServerParameters;

use crate::error::MeasureError;
use crate::plan::{Pin, Plan, Progress};
use crate::probes::late_work;
use crate::probes::references::References;
use crate::probes::{Probe, Run};
use crate::progress::Meter;
use crate::sampling::live::LiveServer;
use crate::server::client::Client;
use crate::server::connection::RawConnection;
use crate::server::identity;
use crate::server::process::Pinned;
use crate::server::target::Target;

/// A parameter file of the server `target` with nothing but the `references` of its method.
///
/// # Errors
///
/// Fails if the display cannot be reached or refuses, and if the server goes away.
pub fn probe(target: &Target, pin: Option<Pin>) -> Result<ServerParameters, MeasureError> {
    let raw = RawConnection::open(target)?;
    // If pinning is not permitted, the server is measured unpinned.
    let pinned = match (raw.pid, pin) {
        (Some(pid), Some(pin)) => Pinned::new(pid, pin).ok(),
        _ => None,
    };
    let plan = Plan {
        quick: true,
        pin: pin.filter(|_| pinned.is_some()),
        ..Plan::default()
    };
    let mut client = Client::new(raw)?;
    let drawing = late_work::drawing(&mut client)?;
    let mut references = References::prepare(&mut client, &plan)?;
    client.synchronise()?;
    let mut parameters = identity::parameters(&client, target);
    parameters.method = identity::method(&plan, &["a probe".to_owned()]);
    let Client {
        raw,
        tracker,
        window,
        segments,
        ..
    } = client;
    let mut server = LiveServer::new(raw, window, plan.pin, target);
    let mut on = |_: Progress<'_>| true;
    let mut run = Run {
        plan,
        progress: Meter::new(Vec::new(), &mut on),
        server: &mut server,
        tracker,
        show: &mut || Ok(()),
    };
    run.server.find_late_work(&drawing)?;
    references.begin(&mut run)?;
    references.measure(&mut run)?;
    drop((pinned, segments));
    parameters.method.references = references.compared();
    Ok(parameters)
}
