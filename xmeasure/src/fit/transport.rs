//! The costs of messages in addition to their operations, computed from the readings.

use x11prof_cost_model::{Clock, TransportCosts};

use crate::sampling::job::{BySync, Job, SingleRequest};
use crate::sampling::reading::Reading;
use crate::sampling::readings::{Readings, SingleRequestPair};
use crate::sampling::rounding::measured;
use crate::sampling::statistics::{Estimate, estimate};
use crate::workloads::transport::Longer;
use crate::workloads::workload::Sync;

/// Requests of at least this many bytes are long.
const LONG_REQUEST: f64 = 4096.0;

/// The costs of transport on one clock, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Figures {
    /// The time of a synchronisation including its wakeup; for `Sync::Turns`, the time in addition to the request and
    /// its reply.
    pub(crate) sync: BySync<f64>,
    pub(crate) wakeup: f64,
    pub(crate) byte_read: f64,
    pub(crate) byte_written: f64,
    pub(crate) reply: f64,
    pub(crate) event: f64,
    /// The time of a wakeup while the client continues to send, in microseconds; zero on the wall clock, because a
    /// sender on another processor continues meanwhile.
    pub(crate) wakeup_between: f64,
    /// The number of times that the server sleeps during each synchronisation.
    pub(crate) sleeps: BySync<f64>,
}

impl Figures {
    /// The time of each request in `reading`, in microseconds, without the synchronisation and without wakeups. The
    /// analysis estimates the wakeups of a recording and adds their cost.
    pub(crate) fn each(&self, reading: &Reading, sync: Sync, clock: Clock) -> Option<f64> {
        let syncs = reading.syncs as f64;
        let time = reading.time(clock)? - syncs * self.sync.of(sync);
        let sleeps = match (reading.sleeps, sync) {
            (Some(sleeps), Sync::ReadBack | Sync::RoundTrip) => sleeps as f64,
            // Additional sleeps between long replies are caused by the replies.
            _ => 0.0,
        };
        let between = (sleeps - syncs * self.sleeps.of(sync)).max(0.0);
        let time = time - between * self.wakeup_between;
        Some(time / reading.requests.max(1) as f64)
    }

    /// Returns the time of one request of a phase in the pass number `pass`.
    fn each_of(&self, job: &Job, pass: usize, clock: Clock) -> Option<f64> {
        self.each(job.first().get(pass)?, job.sync()?, clock)
    }

    /// Returns the figures of the pass number `pass`; `None` if the pass is incomplete or lacks this clock.
    fn of_pass(
        readings: &Readings,
        pass: usize,
        clock: Clock,
        cheapest: Cheapest<'_>,
    ) -> Option<Figures> {
        let mut figures = Figures::default();
        for sync in Sync::ALL {
            let reading = readings.syncs.of(sync).get(pass)?;
            let syncs = reading.syncs.max(1) as f64;
            *figures.sync.of_mut(sync) = reading.time(clock)? / syncs;
            *figures.sleeps.of_mut(sync) = reading.sleeps.unwrap_or_default() as f64 / syncs;
        }
        let alone = |alone: &SingleRequest| {
            let reading = alone.readings.get(pass)?;
            Some(reading.time(clock)? / reading.requests.max(1) as f64)
        };
        let SingleRequestPair { nothing, question } = &readings.alone;
        let loads = &readings.transport;
        if clock == Clock::Cpu {
            // A request directly after a reply costs less than a request after a sleep. The difference is the cost of
            // the wakeup.
            let quicker = alone(question)? - figures.sync.turns;
            let awake = figures.each_of(&loads.no_operation, pass, clock)?;
            figures.wakeup_between = (alone(nothing)? - awake - quicker).max(0.0);
        }
        // GetInputFocus is a NoOperation with a reply of 32 bytes.
        let focus = figures.each_of(&loads.input_focus, pass, clock)?;
        figures.sync.turns -= focus;
        let no_operation = figures.each_of(&loads.no_operation, pass, clock)?;
        let a_byte = |longer: &Longer<Job>, short: f64| {
            let more = figures.each_of(&longer.load, pass, clock)? - short;
            Some((more / longer.more_bytes).max(0.0))
        };
        let byte_read = a_byte(cheapest.read, no_operation)?;
        let short = figures.each_of(&loads.short_reply, pass, clock)?;
        let byte_written = a_byte(cheapest.written, short)?;
        (figures.byte_read, figures.byte_written) = (byte_read, byte_written);
        figures.reply = (focus - no_operation - 32.0 * figures.byte_written).max(0.0);
        let notified = figures.each_of(&loads.notified_change, pass, clock)?;
        let unwatched = figures.each_of(&loads.unwatched_change, pass, clock)?;
        figures.event = (notified - unwatched).max(0.0);
        // On the wall clock, waking up and writing are not separable.
        let (woken, among_many) = match clock {
            Clock::Cpu => (nothing, no_operation),
            Clock::Wall => (question, focus),
        };
        figures.wakeup = (alone(woken)? - among_many).max(0.0);
        Some(figures)
    }
}

/// The load of long requests with the lowest cost per byte, and that of long replies. The cost of a load is the centre
/// (see [`estimate`]) of its costs in all passes: the minimum of a single pass may be an outlier.
#[derive(Debug, Clone, Copy)]
struct Cheapest<'a> {
    read: &'a Longer<Job>,
    written: &'a Longer<Job>,
}

impl Cheapest<'_> {
    fn new(readings: &Readings, clock: Clock) -> Option<Cheapest<'_>> {
        let loads = &readings.transport;
        let centre = |readings: &[Reading], per: fn(&Reading) -> u64| {
            let each = readings.iter();
            let each =
                each.filter_map(|reading| Some(reading.time(clock)? / per(reading).max(1) as f64));
            Some(estimate(&each.collect::<Vec<_>>())?.centre)
        };
        let of = |job: &Job| centre(job.first(), |reading| reading.requests);
        let turn = || {
            let turns = centre(&readings.syncs.turns, |reading| reading.syncs)?;
            Some(turns - of(&loads.input_focus)?)
        };
        let turn = turn().unwrap_or(0.0);
        let each = |job: &Job| match job.sync()? {
            // Several requests can share a turn. The longer the replies, the fewer requests share a turn.
            Sync::Turns => {
                let turns = centre(job.first(), |reading| reading.requests)?
                    / centre(job.first(), |reading| reading.syncs)?;
                Some(of(job)? - turn * turns)
            }
            _ => of(job),
        };
        let cheapest = |short: &Job, all: &'_ [Longer<Job>]| {
            let short = each(short).unwrap_or(0.0);
            let a_byte = |longer: &Longer<Job>| {
                each(&longer.load).map(|time| (time - short) / longer.more_bytes)
            };
            let known = all.iter().enumerate();
            let known = known.filter_map(|(at, longer)| Some((at, a_byte(longer)?)));
            let least = known.min_by(|one, other| one.1.total_cmp(&other.1));
            least.map_or(0, |(at, _)| at)
        };
        let read = cheapest(&loads.no_operation, &loads.long_no_operations);
        let written = cheapest(&loads.short_reply, &loads.long_replies);
        Some(Cheapest {
            read: loads.long_no_operations.get(read)?,
            written: loads.long_replies.get(written)?,
        })
    }
}

/// The transport costs of a server on one clock: the centre of each cost, and the costs in each pass.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transport {
    pub(crate) centre: Figures,
    passes: Vec<Figures>,
}

/// The transport costs on the CPU clock and on the wall clock; `None` for a clock that cannot be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct BothClocks {
    pub(crate) cpu: Option<Transport>,
    pub(crate) wall: Option<Transport>,
}

impl BothClocks {
    /// Computes the costs on both clocks. If a load of long requests costs less per byte than a long NoOperation, the
    /// load determines the cost of a byte.
    pub(crate) fn new(readings: &Readings) -> BothClocks {
        let [cpu, wall] = [Clock::Cpu, Clock::Wall].map(|clock| {
            let mut transport = Transport::new(readings, clock)?;
            transport.cap_byte_read(readings, clock);
            Some(transport)
        });
        BothClocks { cpu, wall }
    }

    /// The transport costs in the form of the parameter file; `None` if no clock can be read.
    pub(crate) fn costs(&self) -> Option<TransportCosts> {
        let both = |field: fn(&Figures) -> Option<f64>| {
            let of = |clock: &Option<Transport>| clock.as_ref()?.estimate(field);
            measured(of(&self.cpu), of(&self.wall))
        };
        Some(TransportCosts {
            wakeup: both(|figures| Some(figures.wakeup))?,
            byte_read: both(|figures| Some(figures.byte_read))?,
            reply: both(|figures| Some(figures.reply))?,
            byte_written: both(|figures| Some(figures.byte_written)),
            event: both(|figures| Some(figures.event))?,
            ..TransportCosts::default()
        })
    }
}

impl Transport {
    fn cap_byte_read(&mut self, readings: &Readings, clock: Clock) {
        let mut least = self.centre.byte_read;
        for job in readings.jobs() {
            let phases = job.load.phases.iter().zip(&job.readings);
            for (phase, all) in phases.filter(|(phase, _)| phase.bytes_each() >= LONG_REQUEST) {
                let each = all
                    .iter()
                    .filter_map(|reading| self.centre.each(reading, phase.sync, clock));
                if let Some(each) = estimate(&each.collect::<Vec<_>>()) {
                    least = least.min((each.centre / phase.bytes_each()).max(0.0));
                }
            }
        }
        let factor = least / self.centre.byte_read.max(f64::MIN_POSITIVE);
        for figures in self.passes.iter_mut().chain([&mut self.centre]) {
            figures.byte_read *= factor.min(1.0);
        }
    }

    /// Computes the costs from the readings; `None` if no pass is complete or the clock cannot be read.
    fn new(readings: &Readings, clock: Clock) -> Option<Transport> {
        let count = readings.syncs.read_back.len();
        let cheapest = Cheapest::new(readings, clock)?;
        let passes: Vec<Figures> = (0..count)
            .filter_map(|pass| Figures::of_pass(readings, pass, clock, cheapest))
            .collect();
        let centre = |field: &dyn Fn(&Figures) -> f64| {
            estimate(&passes.iter().map(field).collect::<Vec<_>>()).map(|estimate| estimate.centre)
        };
        let mut figures = Figures {
            wakeup: centre(&|figures| figures.wakeup)?,
            byte_read: centre(&|figures| figures.byte_read)?,
            byte_written: centre(&|figures| figures.byte_written)?,
            reply: centre(&|figures| figures.reply)?,
            event: centre(&|figures| figures.event)?,
            wakeup_between: centre(&|figures| figures.wakeup_between)?,
            ..Figures::default()
        };
        for sync in Sync::ALL {
            *figures.sync.of_mut(sync) = centre(&|figures| *figures.sync.of(sync))?;
            *figures.sleeps.of_mut(sync) = centre(&|figures| *figures.sleeps.of(sync))?;
        }
        Some(Transport {
            centre: figures,
            passes,
        })
    }

    fn estimate(&self, field: impl Fn(&Figures) -> Option<f64>) -> Option<Estimate> {
        estimate(&self.passes.iter().filter_map(field).collect::<Vec<_>>())
    }
}
