//! `cargo xtask validate thin FILE…`: removes data from parameter files that no cost needs: points on the line
//! between their neighbours, and wall-clock times next to CPU times.

use x11prof_cost_model::{Clock, Point, RequestCosts, ServerParameters};

use super::reported;

/// The maximum relative deviation of a point from the line between its neighbours, also limited by the point's spread.
/// It also applies to the slopes at both ends, which are used to extrapolate.
const AT_MOST: f64 = 0.03;

/// Thins the files in place.
pub(crate) fn validate(files: &[String]) -> Result<(), String> {
    for file in files {
        let text = std::fs::read_to_string(file).map_err(reported)?;
        let mut parameters = ServerParameters::from_toml(&text).map_err(reported)?;
        let points = |file: &ServerParameters| -> usize {
            file.requests.iter().map(|costs| costs.points.len()).sum()
        };
        let before = points(&parameters);
        parameters.requests.iter_mut().for_each(thin);
        let thinner = parameters.to_toml();
        println!(
            "{file}: {before} points and {} bytes, now {} and {}",
            text.len(),
            points(&parameters),
            thinner.len()
        );
        std::fs::write(file, thinner).map_err(reported)?;
    }
    Ok(())
}

fn thin(costs: &mut RequestCosts) {
    if costs.clock(Clock::Cpu) != Some(Clock::Cpu) {
        return;
    }
    let all = costs.points.clone();
    let mut at = 1;
    while at + 1 < costs.points.len() {
        let mut fewer = costs.points.clone();
        fewer.remove(at);
        match follow(&all, &fewer) {
            true => (costs.points, at) = (fewer, 1),
            false => at += 1,
        }
    }
    for wall in costs.points.iter_mut().map(|point| &mut point.wall_us) {
        *wall = None;
    }
    if let Some(fixed) = &mut costs.fixed {
        fixed.wall_us = None;
    }
}

/// True if all points follow from the reduced set of points.
fn follow(all: &[Point], fewer: &[Point]) -> bool {
    let time = |point: &Point| point.time(Clock::Cpu).unwrap_or_default().0;
    let slope = |one: &Point, other: &Point| (time(other) - time(one)) / (other.size - one.size);
    let on_the_line = all.iter().all(|point| {
        let pair = fewer.windows(2).find(|pair| pair[1].size >= point.size);
        pair.is_none_or(|pair| {
            let line = time(&pair[0]) + slope(&pair[0], &pair[1]) * (point.size - pair[0].size);
            let within = point.spread.unwrap_or(AT_MOST).min(AT_MOST);
            (line - time(point)).abs() <= within * time(point)
        })
    });
    let ends = |points: &[Point]| {
        let last = points.len() - 1;
        [
            slope(&points[0], &points[1]),
            slope(&points[last - 1], &points[last]),
        ]
    };
    let alike = |(one, other): (f64, f64)| (one - other).abs() <= AT_MOST * one.abs();
    on_the_line && ends(all).into_iter().zip(ends(fewer)).all(alike)
}
