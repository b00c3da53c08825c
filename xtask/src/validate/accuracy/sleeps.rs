//! What sleeps cost in the minutes of a truth. Where others share the machine's caches it changes
//! from one minute to the next, and the truths of programs that mostly wait go with it: beside each
//! it is measured, and the recording priced with that in place of the parameter file's.

use std::fs;
use std::path::Path;

use x11prof_cost_model::{AfterSleep, Micros};
use x11prof_proxy::{PrivateServer, ServerKind};
use x11prof_xmeasure::{Pin, Target, after_sleep};

use super::table::{Rounds, median};
use super::truth::{self, Alone, CPU};
use super::workloads::WORKLOADS;
use super::{parameters, read};

/// Passes over the sleeps before a truth, and behind it; each is of somewhat more than a second.
const PASSES: usize = 2;
/// The sleep that a minute is told by, in microseconds: frames and repeated keys are as far apart.
const TOLD_BY: f64 = 30_000.0;

/// One truth, and what its recording is estimated at.
pub(super) struct Minute {
    pub(super) workload: &'static str,
    pub(super) server: &'static str,
    pub(super) truth_ms: f64,
    /// With the parameter file.
    pub(super) estimate_ms: f64,
    /// With the sleeps that were measured beside the truth.
    pub(super) estimate_of_now_ms: f64,
    sleeps: Vec<AfterSleep>,
}

impl Minute {
    /// A wakeup of the server behind 30 ms, in microseconds.
    pub(super) fn wakeup_us(&self) -> f64 {
        let told = self.sleeps.iter().find(|it| it.asleep_us.0 == TOLD_BY);
        told.map_or(f64::NAN, |it| it.wakeup_us.0)
    }

    /// The estimate over the truth.
    pub(super) fn ratio(&self) -> f64 {
        self.estimate_ms / self.truth_ms
    }

    /// The same with the sleeps of its minutes.
    pub(super) fn ratio_of_now(&self) -> f64 {
        self.estimate_of_now_ms / self.truth_ms
    }
}

/// A truth, with what sleeps cost a server of that kind before and behind.
pub(super) fn beside(
    kind: ServerKind,
    truth: impl FnOnce() -> Result<Alone, String>,
) -> Result<Alone, String> {
    let before = measured(kind)?;
    let alone = truth()?;
    let behind = measured(kind)?;
    let sleeps = before.iter().zip(&behind);
    Ok(Alone {
        sleeps: sleeps.map(|(a, b)| between(a, b)).collect(),
        ..alone
    })
}

/// On a server of its own: what is made and freed for it would change what the truth's server has.
fn measured(kind: ServerKind) -> Result<Vec<AfterSleep>, String> {
    let server = PrivateServer::start_unseen(kind).map_err(|error| error.to_string())?;
    let target =
        Target::display(server.display().to_string()).with_cookie(server.cookie().as_bytes());
    let pin = CPU.parse().ok().map(|both| Pin { both, other: None });
    after_sleep(&target, pin, PASSES).map_err(|error| format!("sleeps of {kind}: {error}"))
}

fn between(a: &AfterSleep, b: &AfterSleep) -> AfterSleep {
    let mean = |a: Micros, b: Micros| Micros((a.0 + b.0) / 2.0);
    let both = |a: Option<Micros>, b: Option<Micros>| Some(mean(a?, b?));
    AfterSleep {
        asleep_us: a.asleep_us,
        wakeup_us: mean(a.wakeup_us, b.wakeup_us),
        first_us: mean(a.first_us, b.first_us),
        connection_us: mean(a.connection_us, b.connection_us),
        megapixel_us: both(a.megapixel_us, b.megapixel_us),
        close_megapixel_us: both(a.close_megapixel_us, b.close_megapixel_us),
        spread: None,
    }
}

/// Every truth that has such figures, its row's last recording priced with them.
pub(super) fn minutes(rows: &[Rounds], folder: &Path) -> Result<Vec<Minute>, String> {
    let scratch = folder.join("minute.toml");
    let mut all = Vec::new();
    for row in rows {
        let Some((kind, workload)) = row
            .kind()
            .zip(WORKLOADS.iter().find(|it| it.name == row.workload))
        else {
            continue;
        };
        let trace = truth::trace(folder, workload, kind);
        let mut told = row
            .alone
            .iter()
            .filter(|it| !it.sleeps.is_empty())
            .peekable();
        if told.peek().is_none() {
            continue;
        }
        let estimate_ms = truth::price(&trace, &parameters(kind))?.estimate_ms;
        for alone in told {
            put(&parameters(kind), &alone.sleeps, &scratch)?;
            all.push(Minute {
                workload: row.workload,
                server: row.server,
                truth_ms: alone.server_ms,
                estimate_ms,
                estimate_of_now_ms: truth::price(&trace, &scratch)?.estimate_ms,
                sleeps: alone.sleeps.clone(),
            });
        }
    }
    // It is there only where something was priced.
    let _ = fs::remove_file(&scratch);
    Ok(all)
}

/// Writes the parameters of `file` into another, with these sleeps in place of its own of the same
/// lengths. The shortest, of turns, is the file's.
fn put(file: &Path, sleeps: &[AfterSleep], into: &Path) -> Result<(), String> {
    let mut parameters = read(file)?;
    if let Some(transport) = &mut parameters.transport {
        for point in &mut transport.after_sleep {
            let of_now = sleeps.iter().find(|it| it.asleep_us == point.asleep_us);
            *point = of_now.copied().unwrap_or(*point);
        }
    }
    fs::write(into, parameters.to_toml()).map_err(|error| format!("{}: {error}", into.display()))
}

/// Prints each, and what they come to.
pub(super) fn summary(minutes: &[Minute]) {
    if minutes.is_empty() {
        return;
    }
    println!("programs that mostly wait, with the sleeps of each truth's own minutes:");
    for it in minutes {
        println!(
            "{:<22} {:<12} a wakeup {:>5.1} µs  truth {:>6.1} ms  {:.3}  of these minutes {:.3}",
            it.workload,
            it.server,
            it.wakeup_us(),
            it.truth_ms,
            it.ratio(),
            it.ratio_of_now(),
        );
    }
    let error =
        |of: fn(&Minute) -> f64| 100.0 * median(minutes.iter().map(|it| (of(it) - 1.0).abs()));
    println!(
        "  median |error| {:.1} %, with the sleeps of these minutes {:.1} %",
        error(Minute::ratio),
        error(Minute::ratio_of_now),
    );
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{AfterSleep, Micros};

    use super::between;

    #[test]
    fn between_two_measurements_is_their_mean() {
        let of = |wakeup: f64, cold: Option<f64>| AfterSleep {
            asleep_us: Micros(30_000.0),
            wakeup_us: Micros(wakeup),
            megapixel_us: cold.map(Micros),
            ..AfterSleep::default()
        };
        let both = between(&of(20.0, Some(100.0)), &of(40.0, Some(200.0)));
        assert_eq!(both, of(30.0, Some(150.0)));
        assert_eq!(
            between(&of(1.0, None), &of(1.0, Some(2.0))).megapixel_us,
            None
        );
    }
}
