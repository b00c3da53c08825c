//! How fast this machine is, in two seconds: a few loads that every calibration has at its beginning and
//! its end as well, and what sleeps cost. Beside another machine's file it tells how that is brought
//! to this one.

use std::time::Duration;

use x11prof_cost_model::{FORMAT, Measured, Micros, ServerParameters, TransportCosts};

use crate::error::MeasureError;
use crate::plan::{Pin, Plan};
use crate::probes::late_work::{DRAWINGS, drawing};
use crate::probes::references::References;
use crate::probes::wakeups::Rest;
use crate::sampling::live::LiveServer;
use crate::server::client::Stage;
use crate::server::connection::RawConnection;
use crate::server::identity;
use crate::server::process::Pinned;
use crate::server::target::Target;

/// Passes over the sleeps of up to that length, of somewhat less than half a second each.
const PASSES: usize = 3;
const LONGEST: Duration = Duration::from_millis(10);

/// A parameter file of the server `target` without requests: `references` of its method, and
/// `after_sleep` of its transport. All else of the transport is 0.
///
/// # Errors
///
/// Where the display cannot be reached or refuses, and where the server goes away.
pub fn probe(target: &Target, pin: Option<Pin>) -> Result<ServerParameters, MeasureError> {
    let raw = RawConnection::open(target)?;
    // Where pinning is not permitted it is measured as it is.
    let pinned = match (raw.pid, pin) {
        (Some(pid), Some(pin)) => Pinned::new(pid, pin).ok(),
        _ => None,
    };
    let mut stage = Stage::new(raw)?;
    let mut rest = Rest::new(&mut stage)?;
    let drawing = drawing(&mut stage)?;
    let references = References::new(&mut stage)?;
    stage.synchronise()?;
    let plan = Plan {
        quick: true,
        ..Plan::default()
    };
    let mut parameters = ServerParameters {
        format: FORMAT,
        server: identity::server(&stage, target),
        host: identity::host(&stage),
        method: identity::method(&plan, pinned.is_some(), &["a probe".to_owned()]),
        ..ServerParameters::default()
    };
    let Stage {
        raw, window, kept, ..
    } = stage;
    let mut server = LiveServer::new(raw, window, pin.filter(|_| pinned.is_some()));
    let mut measured = || {
        server.watch(&drawing, DRAWINGS)?;
        let start = references.look(&mut server, &plan)?;
        let sleeps = rest.sleeps_of_now(&mut server, target, (PASSES, LONGEST))?;
        let end = references.look(&mut server, &plan)?;
        Ok::<_, std::io::Error>((references.compare(&start, &end), sleeps))
    };
    let measured = measured();
    drop((pinned, kept));
    let (references, sleeps) = measured?;
    parameters.method.references = references;
    let nothing = Measured {
        cpu_us: Some(Micros::ZERO),
        ..Measured::default()
    };
    parameters.transport = Some(TransportCosts {
        wakeup: nothing,
        byte_read: nothing,
        reply: nothing,
        event: nothing,
        after_sleep: sleeps,
        ..TransportCosts::default()
    });
    Ok(parameters)
}
