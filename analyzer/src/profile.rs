//! The execution profile: charges added up by request name, beside the transport's.

use std::collections::HashMap;
use std::io;

use x11prof_cost_model::{Basis, Clock, Cost, ServerParameters, Substitutions};
use x11prof_protocol::Symbol;
use x11prof_trace::{Reader, TraceError};

use crate::facts::Facts;
use crate::pipeline::{Observation, Pipeline};
use crate::pricing::{Blocking, Charge, Pricer, TransportPart};
use crate::warnings::Warnings;

/// What one kind of request adds up to.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// How many.
    pub count: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// How many are charged the network's latency.
    pub blocking: u64,
    /// How many failed.
    pub failed: u64,
    /// The server's time for the operations.
    pub server: Cost,
    /// The server's time for their transport, which is part of the transport's line.
    pub transport: Cost,
    /// How many were priced as measured.
    pub exact: u64,
    /// How many between or beyond measured sizes.
    pub interpolated: u64,
    /// How many with another attribute's value standing in.
    pub substituted: u64,
    /// How many have no price.
    pub unpriced: u64,
}

impl Line {
    fn priced(&mut self, basis: Basis) {
        *match basis {
            Basis::Exact => &mut self.exact,
            Basis::Interpolated => &mut self.interpolated,
            Basis::Substituted => &mut self.substituted,
            Basis::Unpriced => &mut self.unpriced,
        } += 1;
    }
}

/// What one part of transport adds up to.
#[derive(Debug, Clone, Copy, Default)]
pub struct TransportLine {
    /// How many.
    pub count: u64,
    /// Bytes on the wire that are not a request's.
    pub bytes: u64,
    /// The server's time.
    pub server: Cost,
}

/// The profile of one trace on one server.
pub struct Profile {
    server: String,
    pricer: Pricer,
    blocking: Blocking,
    lines: HashMap<Symbol, Line>,
    transport: [TransportLine; 6],
    warnings: Warnings,
    clocks: Clocks,
}

/// Requests priced on each of the server's clocks.
#[derive(Default)]
struct Clocks {
    cpu: u64,
    wall: u64,
}

impl Profile {
    /// A profile of nothing, on the server that `parameters` describe.
    pub fn new(
        parameters: &ServerParameters,
        substitutions: &Substitutions,
        blocking: Blocking,
    ) -> Profile {
        Profile {
            server: parameters.server.name.clone(),
            pricer: Pricer::new(parameters, substitutions, blocking),
            blocking,
            lines: HashMap::new(),
            transport: [TransportLine::default(); 6],
            warnings: Warnings::default(),
            clocks: Clocks::default(),
        }
    }

    /// Takes the next observation of a pass.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        let Profile {
            pricer,
            lines,
            transport,
            warnings,
            clocks,
            ..
        } = self;
        pricer.observe(observation, |charge| match charge {
            Charge::Request {
                operation,
                bytes,
                price,
                blocking,
                ..
            } => {
                let line = lines.entry(operation.request).or_default();
                line.count += 1;
                line.bytes = line.bytes.saturating_add(*bytes);
                line.blocking += u64::from(*blocking);
                line.server += price.server;
                line.priced(price.basis);
                match price.clock {
                    Some(Clock::Cpu) => clocks.cpu += 1,
                    Some(Clock::Wall) => clocks.wall += 1,
                    None => {}
                }
                for doubt in &price.doubts {
                    warnings.doubt(operation.request, doubt);
                }
            }
            Charge::Failed {
                request,
                correction,
                ..
            } => {
                let line = lines.entry(*request).or_default();
                line.failed += 1;
                match correction {
                    Some((was, now)) => {
                        line.server.time = line.server.time - was.time + now.time;
                        line.server.low = line.server.low - was.low + now.low;
                        line.server.high = line.server.high - was.high + now.high;
                    }
                    None => warnings.uncorrected(*request),
                }
            }
            Charge::Pipelined { request, .. } => {
                let line = lines.entry(*request).or_default();
                line.blocking = line.blocking.saturating_sub(1);
            }
            Charge::Transport {
                part,
                bytes,
                server,
                request,
                ..
            } => {
                let entry = &mut transport[index(*part)];
                entry.count += 1;
                entry.bytes = entry.bytes.saturating_add(*bytes);
                entry.server += *server;
                if let Some(request) = request {
                    lines.entry(*request).or_default().transport += *server;
                }
            }
            Charge::Blame {
                request, server, ..
            } => {
                lines.entry(*request).or_default().transport += *server;
            }
        });
    }

    /// The name of the server in its parameters.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// How the network's latency is charged.
    pub fn blocking(&self) -> Blocking {
        self.blocking
    }

    /// The clock that the server's times are on, the one of most requests where they differ.
    /// `None` where nothing was priced.
    pub fn clock(&self) -> Option<Clock> {
        match (self.clocks.cpu, self.clocks.wall) {
            (0, 0) => None,
            (cpu, wall) if cpu >= wall => Some(Clock::Cpu),
            _ => Some(Clock::Wall),
        }
    }

    /// How many requests were priced on the other clock than `clock` names.
    pub fn on_other_clock(&self) -> u64 {
        self.clocks.cpu.min(self.clocks.wall)
    }

    /// Whether the server's transport costs are known; else transport counts as no time there.
    pub fn knows_transport(&self) -> bool {
        self.pricer.knows_transport()
    }

    /// The lines, in no order.
    pub fn lines(&self) -> impl Iterator<Item = (Symbol, &Line)> {
        self.lines.iter().map(|(name, line)| (*name, line))
    }

    /// The line of `request`.
    pub fn line(&self, request: Symbol) -> Option<&Line> {
        self.lines.get(&request)
    }

    /// What a part of transport adds up to.
    pub fn transport(&self, part: TransportPart) -> TransportLine {
        self.transport[index(part)]
    }

    /// What there is to know about the prices.
    pub fn warnings(&self) -> &Warnings {
        &self.warnings
    }
}

/// Runs all `profiles` over what `reader` has, in one pass, and says what the trace told of
/// itself. On an error they hold what came before it.
pub fn profile_trace<R: io::Read>(
    reader: &mut Reader<R>,
    profiles: &mut [Profile],
) -> Result<Facts, TraceError> {
    let mut facts = Facts::default();
    Pipeline::new().run(reader, |observation| {
        facts.observe(observation);
        for profile in profiles.iter_mut() {
            profile.observe(observation);
        }
    })?;
    Ok(facts)
}

fn index(part: TransportPart) -> usize {
    match part {
        TransportPart::Wakeup => 0,
        TransportPart::Read => 1,
        TransportPart::Reply => 2,
        TransportPart::Event => 3,
        TransportPart::Error => 4,
        TransportPart::Setup => 5,
    }
}
