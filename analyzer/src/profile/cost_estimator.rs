//! Estimates the costs of a trace's observations with the server model.

use x11prof_cost_model::{Micros, ServerParameters, Substitutions};
use x11prof_server_model::{Charge, ClientId, ServerModel, Time, Traffic};
use x11prof_trace::{ConnectionId, Control, Direction, Timestamp};

use crate::pipeline::Observation;

/// Estimates the costs of a trace's observations on one server.
pub struct CostEstimator {
    model: ServerModel,
}

impl CostEstimator {
    /// Creates an estimator with the costs of the server that `parameters` describe.
    pub fn new(parameters: &ServerParameters, substitutions: &Substitutions) -> CostEstimator {
        CostEstimator {
            model: ServerModel::new(parameters, substitutions),
        }
    }

    /// True if the server's transport costs are known; otherwise transport counts as zero time.
    pub fn knows_transport(&self) -> bool {
        self.model.knows_transport()
    }

    /// The estimated cost of the last request; zero without cost data.
    pub(crate) fn last_cost(&self) -> Micros {
        self.model.last_cost()
    }

    /// Processes the next observation, and passes its charges to `on`.
    #[inline]
    pub fn observe(&mut self, observation: &Observation<'_>, mut on: impl FnMut(&Charge<'_>)) {
        let CostEstimator { model } = self;
        match observation {
            Observation::BlockStart(block) => {
                let (client, time) = (client(block.connection), time(block.time));
                match block.direction {
                    Direction::ToServer => model.batch(client, time, &mut on),
                    Direction::ToClient => model.wrote(time),
                }
            }
            Observation::Message(seen) => {
                let traffic = Traffic {
                    client: client(seen.connection),
                    time: time(seen.time),
                    message: seen.message,
                    times: seen.times,
                    operation: seen.operation,
                    session: seen.session,
                };
                model.message(&traffic, &mut on);
            }
            Observation::Control(_, Control::Closed { connection, .. }) => {
                model.closed(client(*connection));
            }
            _ => {}
        }
    }
}

fn client(connection: ConnectionId) -> ClientId {
    ClientId(connection.0)
}

fn time(time: Timestamp) -> Time {
    Time::from_nanos(time.as_nanos())
}
