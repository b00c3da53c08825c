//! What messages cost beside the operations in them, from loads made for that.

use x11prof_cost_model::{Clock, Measured, Micros, TransportCosts};
use x11rb_protocol::protocol::xproto::{
    AtomEnum, ChangePropertyRequest, GetInputFocusRequest, GetPropertyRequest, PropMode,
};

use crate::error::MeasureError;
use crate::plan::Pin;
use crate::sampling::sampler::{Lone, Place, Reading, Readings};
use crate::sampling::statistics::{Estimate, estimate};
use crate::server::client::Stage;
use crate::server::wire;
use crate::workloads::workload::{Sync, Workload};

/// Words of long NoOperations, up to the longest that needs no BIG-REQUESTS. A server reads a
/// long request straight into a buffer of its size. What a byte costs depends on what lies in
/// the caches; the least of these is taken, and whatever a request costs more for how it is read
/// stays in its own price.
const LONG: [u16; 3] = [4096, 16384, u16::MAX];
/// Bytes from which on a request is long.
const MANY_BYTES: f64 = 4096.0;
/// Bytes of long replies. The least that a byte of them costs more than one of a short reply is
/// taken, as for reading.
const LONG_REPLIES: [u32; 3] = [2048, 16384, 131_072];

/// The loads that transport costs come from; they stand first in the list of all loads.
const NO_OPERATION: usize = 0;
const LONG_NO_OPERATIONS: usize = 1;
const INPUT_FOCUS: usize = 4;
const SHORT_REPLY: usize = 5;
const LONG_REPLY_LOADS: usize = 6;
const SILENT_CHANGE: usize = 9;
const TOLD_CHANGE: usize = 10;

/// How the end of a load of one phase is told.
fn sync_of(loads: &[Workload], load: usize) -> Option<Sync> {
    Some(loads.get(load)?.phases.first()?.sync)
}

/// Requests measured alone; those of another place follow after these.
const LONE_KINDS: usize = 2;

/// The loads and the lone requests that transport costs come from.
pub(crate) fn loads(
    stage: &mut Stage,
    pin: Option<Pin>,
) -> Result<(Vec<Workload>, Vec<Lone>), MeasureError> {
    let property = stage.atom("X11PROF_TRANSPORT")?;
    let change = |window, length: u32| {
        wire::core(ChangePropertyRequest {
            mode: PropMode::REPLACE,
            window,
            property,
            type_: AtomEnum::STRING.into(),
            format: 8,
            data_len: length,
            data: vec![b'x'; length as usize].into(),
        })
    };
    stage.send_bytes(&change(stage.window, LONG_REPLIES[2]))?;
    let get = |bytes: u32| {
        let request = wire::core(GetPropertyRequest {
            delete: false,
            window: stage.window,
            property,
            type_: AtomEnum::STRING.into(),
            long_offset: 0,
            long_length: bytes / 4,
        });
        Workload::answered(&request)
    };
    let (silent, told) = (change(stage.silent, 4), change(stage.told, 4));
    let focus = wire::core(GetInputFocusRequest);
    let repeated = |bytes: &[u8]| Workload::repeated(bytes, Sync::RoundTrip);
    let loads = vec![
        repeated(&wire::no_operation(1)),
        repeated(&wire::no_operation(LONG[0])),
        repeated(&wire::no_operation(LONG[1])),
        repeated(&wire::no_operation(LONG[2])),
        repeated(&focus),
        get(4),
        get(LONG_REPLIES[0]),
        get(LONG_REPLIES[1]),
        get(LONG_REPLIES[2]),
        repeated(&silent),
        repeated(&told),
    ];
    let mut lone = Vec::new();
    let places: &[Place] = if pin.is_some_and(|pin| pin.other.is_some()) {
        &[Place::Usual, Place::Other]
    } else {
        &[Place::Usual]
    };
    for &place in places {
        for (request, answered) in [(wire::no_operation(1), false), (focus.clone(), true)] {
            lone.push(Lone {
                request,
                answered,
                place,
            });
        }
    }
    Ok((loads, lone))
}

/// Transport costs on one clock, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Figures {
    /// One synchronisation with the wakeup before it, by kind; of a turn, what it takes beyond its
    /// request and its reply.
    pub(crate) sync: [f64; Sync::ALL.len()],
    pub(crate) wakeup: f64,
    pub(crate) wakeup_other: Option<f64>,
    pub(crate) byte_read: f64,
    pub(crate) byte_written: f64,
    pub(crate) reply: f64,
    pub(crate) event: f64,
    /// One write of a client's output.
    pub(crate) flush: f64,
    /// One wakeup of a server that waits for a client which is at work; none on the wall, where a
    /// sender on another processor goes on meanwhile.
    pub(crate) wakeup_between: f64,
    /// How often the server went to sleep in each synchronisation, by kind.
    pub(crate) sleeps: [f64; Sync::ALL.len()],
}

impl Figures {
    /// What is left of `reading` for each request when the synchronisation is taken off, and the
    /// wakeups: the one with it, and those within a batch whose bytes are still being sent. A
    /// recording is charged with the wakeups that are forecast for it.
    pub(crate) fn each(&self, reading: &Reading, sync: Sync, clock: Clock) -> Option<f64> {
        let syncs = reading.syncs as f64;
        let time = reading.time(clock)? - syncs * self.sync[sync as usize];
        let sleeps = match (reading.sleeps, sync) {
            (Some(sleeps), Sync::ReadBack | Sync::RoundTrip) => sleeps as f64,
            // A server that sleeps more often between longer answers does so for their sake.
            _ => 0.0,
        };
        let between = (sleeps - syncs * self.sleeps[sync as usize]).max(0.0);
        let time = time - between * self.wakeup_between;
        Some(time / reading.requests.max(1) as f64)
    }

    /// The figures of one pass; `None` where it did not get that far, or lacks this clock.
    fn of_pass(
        readings: &Readings,
        loads: &[Workload],
        pass: usize,
        clock: Clock,
        lengths: Lengths,
    ) -> Option<Figures> {
        let mut figures = Figures::default();
        let each_sync = figures.sync.iter_mut().zip(&mut figures.sleeps);
        for ((sync, sleeps), all) in each_sync.zip(&readings.syncs) {
            let reading = all.get(pass)?;
            let syncs = reading.syncs.max(1) as f64;
            *sync = reading.time(clock)? / syncs;
            *sleeps = reading.sleeps.unwrap_or_default() as f64 / syncs;
        }
        let lone = |kind: usize, place: usize| {
            let reading = readings.lone.get(place * LONE_KINDS + kind)?.get(pass)?;
            Some(reading.time(clock)? / reading.requests.max(1) as f64)
        };
        let each = |figures: &Figures, load: usize| {
            let reading = readings.loads.get(load)?.first()?.get(pass)?;
            figures.each(reading, sync_of(loads, load)?, clock)
        };
        if clock == Clock::Cpu {
            // What a question behind an answer costs less than one after a sleep is the wakeup's.
            let quicker = lone(1, 0)? - figures.sync[Sync::Turns as usize];
            let awake = each(&figures, NO_OPERATION)?;
            figures.wakeup_between = (lone(0, 0)? - awake - quicker).max(0.0);
        }
        // GetInputFocus is a NoOperation with a reply of 32 bytes.
        let focus = each(&figures, INPUT_FOCUS)?;
        figures.sync[Sync::Turns as usize] -= focus;
        let no_operation = each(&figures, NO_OPERATION)?;
        let longer = each(&figures, LONG_NO_OPERATIONS + lengths.read)? - no_operation;
        figures.byte_read = (longer / Lengths::read_more(lengths.read)).max(0.0);
        let short = each(&figures, SHORT_REPLY)?;
        let longer = each(&figures, LONG_REPLY_LOADS + lengths.written)? - short;
        figures.byte_written = (longer / Lengths::written_more(lengths.written)).max(0.0);
        figures.reply = (focus - no_operation - 32.0 * figures.byte_written).max(0.0);
        figures.event = (each(&figures, TOLD_CHANGE)? - each(&figures, SILENT_CHANGE)?).max(0.0);
        match clock {
            Clock::Cpu => {
                figures.wakeup = (lone(0, 0)? - no_operation).max(0.0);
                figures.wakeup_other = lone(0, 1).map(|other| (other - no_operation).max(0.0));
                let reply = lone(1, 0)? - lone(0, 0)? - 32.0 * figures.byte_written;
                figures.flush = (reply - figures.reply).max(0.0);
            }
            Clock::Wall => {
                // Seen from outside, waking up and writing are one time.
                figures.wakeup = (lone(1, 0)? - focus).max(0.0);
                figures.wakeup_other = lone(1, 1).map(|other| (other - focus).max(0.0));
            }
        }
        Some(figures)
    }
}

/// Which of the lengths, read and written, a byte costs least at: by the middle of all passes, for
/// the least of single passes would be the least of their noise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Lengths {
    read: usize,
    written: usize,
}

impl Lengths {
    fn new(readings: &Readings, all_loads: &[Workload], clock: Clock) -> Lengths {
        let centre = |readings: &[Reading], per: fn(&Reading) -> u64| {
            let each = readings.iter();
            let each = each.filter_map(|it| Some(it.time(clock)? / per(it).max(1) as f64));
            Some(estimate(&each.collect::<Vec<_>>())?.centre)
        };
        let of = |load: usize| centre(readings.loads.get(load)?.first()?, |it| it.requests);
        let turn = || {
            let all = readings.syncs.get(Sync::Turns as usize)?;
            Some(centre(all, |it| it.syncs)? - of(INPUT_FOCUS)?)
        };
        let turn = turn().unwrap_or(0.0);
        let each = |load: usize| match sync_of(all_loads, load)? {
            // Several requests share a turn, the fewer the longer the replies.
            Sync::Turns => {
                let all = readings.loads.get(load)?.first()?;
                let turns = centre(all, |it| it.requests)? / centre(all, |it| it.syncs)?;
                Some(of(load)? - turn * turns)
            }
            _ => of(load),
        };
        let cheapest = |base: usize, loads: usize, more: fn(usize) -> f64| {
            let base = each(base).unwrap_or(0.0);
            let a_byte = |at: usize| each(loads + at).map(|time| (time - base) / more(at));
            let all = (0..LONG.len()).filter_map(|at| Some((at, a_byte(at)?)));
            all.min_by(|one, other| one.1.total_cmp(&other.1))
                .map_or(0, |(at, _)| at)
        };
        Lengths {
            read: cheapest(NO_OPERATION, LONG_NO_OPERATIONS, Lengths::read_more),
            written: cheapest(SHORT_REPLY, LONG_REPLY_LOADS, Lengths::written_more),
        }
    }

    /// How many bytes more a long NoOperation has than a short one.
    fn read_more(at: usize) -> f64 {
        f64::from(LONG.get(at).copied().unwrap_or(u16::MAX)) * 4.0 - 4.0
    }

    /// How many bytes more a long reply has than a short one.
    fn written_more(at: usize) -> f64 {
        f64::from(LONG_REPLIES.get(at).copied().unwrap_or(u32::MAX)) - 4.0
    }
}

/// The transport costs of a server on one clock: the centre of each figure, and all passes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transport {
    pub(crate) centre: Figures,
    passes: Vec<Figures>,
}

impl Transport {
    /// On both clocks. A byte read costs no more than the bytes of any load: one that is cheaper
    /// by the byte than a NoOperation says that it does not. Seen from the wall, the sender's copying and the server's reading run at
    /// once and cannot be told apart; so the wall's price of a byte is the processor's, where
    /// that is known, and what the sender takes longer stays with the requests.
    pub(crate) fn both(
        readings: &Readings,
        loads: &[Workload],
    ) -> (Option<Transport>, Option<Transport>) {
        let [mut cpu, mut wall] = [Clock::Cpu, Clock::Wall].map(|clock| {
            let mut transport = Transport::new(readings, loads, clock)?;
            transport.cap_byte_read(readings, loads, clock);
            Some(transport)
        });
        if let (Some(cpu), Some(wall)) = (&mut cpu, &mut wall) {
            for wall in wall.passes.iter_mut().chain([&mut wall.centre]) {
                wall.byte_read = cpu.centre.byte_read;
                wall.byte_written = cpu.centre.byte_written;
            }
        }
        (cpu, wall)
    }

    fn cap_byte_read(&mut self, readings: &Readings, loads: &[Workload], clock: Clock) {
        let mut least = self.centre.byte_read;
        for (load, all) in loads.iter().zip(&readings.loads) {
            let long = load.phases.iter().zip(all);
            for (phase, all) in long.filter(|(it, _)| it.bytes_each() >= MANY_BYTES) {
                let each = all
                    .iter()
                    .filter_map(|it| self.centre.each(it, phase.sync, clock));
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

    /// From what was read; `None` where not one pass is whole or the clock cannot be read.
    fn new(readings: &Readings, loads: &[Workload], clock: Clock) -> Option<Transport> {
        let count = readings.syncs.first()?.len();
        let lengths = Lengths::new(readings, loads, clock);
        let passes: Vec<Figures> = (0..count)
            .filter_map(|pass| Figures::of_pass(readings, loads, pass, clock, lengths))
            .collect();
        let centre = |field: fn(&Figures) -> f64| {
            estimate(&passes.iter().map(field).collect::<Vec<_>>()).map(|e| e.centre)
        };
        let centre = Figures {
            sync: [
                centre(|f| f.sync[0])?,
                centre(|f| f.sync[1])?,
                centre(|f| f.sync[2])?,
            ],
            wakeup: centre(|f| f.wakeup)?,
            wakeup_other: None,
            byte_read: centre(|f| f.byte_read)?,
            byte_written: centre(|f| f.byte_written)?,
            reply: centre(|f| f.reply)?,
            event: centre(|f| f.event)?,
            flush: centre(|f| f.flush)?,
            wakeup_between: centre(|f| f.wakeup_between)?,
            sleeps: [
                centre(|f| f.sleeps[0])?,
                centre(|f| f.sleeps[1])?,
                centre(|f| f.sleeps[2])?,
            ],
        };
        Some(Transport { centre, passes })
    }

    fn estimate(&self, field: impl Fn(&Figures) -> Option<f64>) -> Option<Estimate> {
        estimate(&self.passes.iter().filter_map(field).collect::<Vec<_>>())
    }
}

/// The transport costs as the file has them.
pub(crate) fn costs(cpu: Option<&Transport>, wall: Option<&Transport>) -> Option<TransportCosts> {
    let both = |field: fn(&Figures) -> Option<f64>| {
        let [cpu, wall] = [cpu, wall].map(|clock| clock.and_then(|clock| clock.estimate(field)));
        measured(cpu, wall)
    };
    Some(TransportCosts {
        wakeup: both(|f| Some(f.wakeup))?,
        wakeup_other_cpu: both(|f| f.wakeup_other),
        byte_read: both(|f| Some(f.byte_read))?,
        reply: both(|f| Some(f.reply))?,
        flush: both(|f| Some(f.flush)),
        byte_written: both(|f| Some(f.byte_written)),
        event: both(|f| Some(f.event))?,
        after_sleep: Vec::new(),
        after_work: Vec::new(),
        deferred: None,
    })
}

/// Estimates on the two clocks as a file's figure; the spread is the processor time's where there
/// is one, as prices are.
pub(crate) fn measured(cpu: Option<Estimate>, wall: Option<Estimate>) -> Option<Measured> {
    let first = cpu.or(wall)?;
    let time = |estimate: Estimate| Micros(rounded(estimate.centre.max(0.0), 5));
    Some(Measured {
        cpu_us: cpu.map(time),
        wall_us: wall.map(time),
        spread: first.spread().map(|spread| rounded(spread, 2)),
    })
}

/// `number` with so many significant digits: more would be noise, and a burden to readers.
pub(crate) fn rounded(number: f64, digits: i32) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    let unit = 10_f64.powi(digits - 1 - number.abs().log10().floor() as i32);
    (number * unit).round() / unit
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn digits_are_significant_ones() {
        assert_eq!(rounded(7.225_909_717, 5), 7.2259);
        assert_eq!(rounded(0.000_075_409_92, 5), 0.000_075_41);
        assert_eq!(rounded(1234.5678, 2), 1200.0);
        assert_eq!(rounded(0.0, 5), 0.0);
    }
}
