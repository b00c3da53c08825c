//! A server with known costs, for tests. The probes must measure these costs.

mod modelled;
mod peer;
mod server;

use x11prof_cost_model::{Clock, ServerParameters};

pub(crate) use self::peer::connected;
pub(crate) use self::server::{Quirks, Simulated};

use crate::error::MeasureError;
use crate::plan::{Plan, Progress};
use crate::probes::{Probe, Run};
use crate::progress::Meter;
use crate::server::client::Client;

/// The known costs of the simulated server: times on one clock, linear in the size.
pub(crate) fn truth() -> ServerParameters {
    ServerParameters::from_toml(include_str!("simulated/truth.toml")).unwrap()
}

/// The parameters that the probe `P` measures on a simulated server with the costs `truth`.
pub(crate) fn calibrated<P: Probe>(truth: &ServerParameters, plan: &Plan) -> ServerParameters {
    let prepare = |client: &mut Client| P::prepare(client, plan);
    let mut parameters = ServerParameters {
        transport: truth.transport.clone(),
        ..ServerParameters::default()
    };
    let measured = with_server(truth, plan, prepare, |mut probe, run| {
        probe.begin(run)?;
        probe.measure(run)?;
        probe.fit(&run.plan, &mut run.tracker, &mut parameters);
        Ok(())
    });
    measured.unwrap();
    parameters
}

/// Prepares a load with `prepare`, and runs `measure` on a simulated server with the costs `truth`.
pub(crate) fn with_server<T, R>(
    truth: &ServerParameters,
    plan: &Plan,
    prepare: impl FnOnce(&mut Client) -> Result<T, MeasureError>,
    measure: impl FnOnce(T, &mut Run<'_>) -> Result<R, MeasureError>,
) -> Result<R, MeasureError> {
    let (client, tracker, prepared) = connected(prepare);
    let mut server = Simulated::new(truth, &client, tracker);
    let mut ignored = |_: Progress<'_>| {};
    let mut run = Run {
        server: &mut server,
        plan: plan.clone(),
        tracker: client.tracker,
        progress: Meter::new(Vec::new(), &mut ignored),
    };
    measure(prepared?, &mut run)
}

/// The clocks agree: the simulated server has its processor to itself.
#[test]
fn simulated_parameters_all_have_cpu_times() {
    let truth = truth();
    assert!(truth.requests.iter().all(|entry| {
        let points = entry.points.iter();
        points.clone().count() > 0 && points.clone().all(|point| point.time(Clock::Cpu).is_some())
    }));
}
