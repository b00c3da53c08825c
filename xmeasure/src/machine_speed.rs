//! Measures the speed of this machine in two seconds: a few loads that every calibration has at its beginning and its
//! end as well, and the costs of sleeps. Beside another machine's file, the speed scales that file's prices to this
//! machine.

use std::io;
use std::time::Duration;

use x11prof_cost_model::{AfterSleep, Measured, Micros, ServerParameters, TransportCosts};

use crate::error::MeasureError;
use crate::plan::{Pin, Plan, Progress};
use crate::probes::late_work;
use crate::probes::references::References;
use crate::probes::wakeups::Wakeups;
use crate::probes::{Probe, Run};
use crate::progress::Meter;
use crate::sampling::live::LiveServer;
use crate::server::client::Client;
use crate::server::connection::RawConnection;
use crate::server::identity;
use crate::server::process::Pinned;
use crate::server::target::Target;

/// Passes over the sleeps of up to that length, of somewhat less than half a second each.
const PASSES: usize = 3;
const LONGEST: Duration = Duration::from_millis(10);

/// A parameter file of the server `target` without requests: `references` of its method, and `after_sleep` of its
/// transport. The rest of the transport is 0.
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
    let mut wakeups = Wakeups::prepare(&mut client, &plan)?;
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
    let mut measured = || {
        run.server.find_late_work(&drawing)?;
        references.begin(&mut run)?;
        let sleeps = wakeups.sleeps_of_now(run.server, PASSES, LONGEST)?;
        references.measure(&mut run)?;
        Ok::<_, io::Error>(sleeps)
    };
    let measured = measured();
    drop((pinned, segments));
    parameters.method.references = references.compared();
    parameters.transport = Some(only_sleeps(measured?));
    Ok(parameters)
}

/// A transport of nothing but sleeps.
fn only_sleeps(after_sleep: Vec<AfterSleep>) -> TransportCosts {
    let nothing = Measured {
        cpu_us: Some(Micros::ZERO),
        ..Measured::default()
    };
    TransportCosts {
        wakeup: nothing,
        byte_read: nothing,
        reply: nothing,
        event: nothing,
        after_sleep,
        ..TransportCosts::default()
    }
}
