//! Computes the entries of a parameter file from samples.

use std::collections::BTreeMap;

use x11prof_cost_model::{AttributeValue, Measured, Micros, Point, RequestCosts};
use x11prof_session::{Effect, Operation, Value};

use crate::fit::samples::Sample;
use crate::sampling::rounding::measured;
use crate::sampling::statistics::Estimate;

/// Groups the samples into entries of a parameter file: one for each request and set of attributes, in order.
pub(crate) fn entries(samples: &[Sample]) -> Vec<RequestCosts> {
    let mut tables: BTreeMap<(&'static str, BTreeMap<String, AttributeValue>), Vec<&Sample>> =
        BTreeMap::new();
    for sample in samples {
        let key = (
            sample.operation.request.as_str(),
            attributes(&sample.operation),
        );
        tables.entry(key).or_default().push(sample);
    }
    tables
        .into_iter()
        .filter_map(|((name, attributes), samples)| {
            let points = points(&samples);
            // A request that does work is never cheaper than one that does none.
            let fixed = fixed(&samples).map(|fixed| capped(fixed, points.first()));
            (!points.is_empty()).then(|| RequestCosts {
                name: name.to_owned(),
                attributes,
                fixed,
                points,
            })
        })
        .collect()
}

/// The attributes of an operation in the form of a parameter file.
pub(crate) fn attributes(operation: &Operation) -> BTreeMap<String, AttributeValue> {
    let value = |value| match value {
        Value::Name(name) => AttributeValue::Name(name.to_string()),
        Value::Number(number) => AttributeValue::Number(number),
    };
    operation
        .attributes
        .iter()
        .map(|(name, of)| (name.to_string(), value(of)))
        .collect()
}

/// Returns the points of a cost curve: the samples with one item or without items, ordered by size. A request without
/// items has size 0. If two samples have the same size, the first sample is used.
fn points(samples: &[&Sample]) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for sample in samples {
        if sample.operation.effect == Effect::Nothing {
            continue;
        }
        let size = match sample.operation.items.as_slice() {
            [] => 0.0,
            [size] => *size,
            _ => continue,
        };
        let Some(Measured {
            cpu_us,
            wall_us,
            spread,
        }) = measured(sample.cpu, sample.wall)
        else {
            continue;
        };
        if points.iter().all(|point| point.size != size) {
            points.push(Point {
                size,
                cpu_us,
                wall_us,
                per_second: None,
                spread,
                cold: sample.cold,
            });
        }
    }
    points.sort_by(|a, b| a.size.total_cmp(&b.size));
    points
}

/// Returns the fixed part of a request's cost. For a request without items, the fixed part is the whole cost. Otherwise
/// the function computes it from a request with one item and a request with n items of the same size: T(1) − (T(n) −
/// T(1)) / (n − 1). If one of the two is missing, the fixed part is the cost of the request on a window that is not
/// viewable, which does no work.
fn fixed(samples: &[&Sample]) -> Option<Measured> {
    let idle = |sample: &&&Sample| sample.operation.effect == Effect::Nothing;
    let bare = samples
        .iter()
        .find(|sample| sample.operation.items.is_empty() && !idle(sample));
    if let Some(bare) = bare {
        return measured(bare.cpu, bare.wall);
    }
    samples
        .iter()
        .find_map(|several| from_items(several, samples))
        .or_else(|| {
            let idle = samples.iter().find(idle)?;
            measured(idle.cpu, idle.wall)
        })
}

/// Limits `fixed` to the cost of the smallest size, on each clock.
fn capped(fixed: Measured, smallest: Option<&Point>) -> Measured {
    let cap = |time: Option<Micros>, limit: Option<Micros>| match (time, limit) {
        (Some(time), Some(limit)) => Some(Micros(time.0.min(limit.0))),
        (time, _) => time,
    };
    let Some(smallest) = smallest else {
        return fixed;
    };
    Measured {
        cpu_us: cap(fixed.cpu_us, smallest.cpu_us),
        wall_us: cap(fixed.wall_us, smallest.wall_us),
        spread: fixed.spread,
    }
}

fn from_items(several: &Sample, samples: &[&Sample]) -> Option<Measured> {
    let items = &several.operation.items;
    let (size, n) = (*items.first()?, items.len());
    if n < 2
        || items.iter().any(|item| *item != size)
        || several.operation.effect == Effect::Nothing
    {
        return None;
    }
    let one = samples.iter().find(|sample| {
        sample.operation.items == [size] && sample.operation.effect != Effect::Nothing
    })?;
    let part = |one: Option<Estimate>, several: Option<Estimate>| {
        let (one, several) = (one?, several?);
        let others = n as f64 - 1.0;
        let centre = one.centre - (several.centre - one.centre) / others;
        // Independent errors add in squares; the error of T(1) enters n / (n − 1) times.
        let half_width = one
            .half_width
            .zip(several.half_width)
            .map(|(one, several)| (one * (others + 1.0) / others).hypot(several / others));
        Some(Estimate {
            centre: centre.clamp(0.0, one.centre.max(0.0)),
            half_width,
        })
    };
    measured(part(one.cpu, several.cpu), part(one.wall, several.wall))
}

#[cfg(test)]
mod tests {
    use super::entries;
    use crate::fit::samples::Sample;
    use crate::sampling::statistics::Estimate;
    use x11prof_cost_model::Micros;
    use x11prof_session::{Effect, Operation, Value};

    fn value(micros: Option<Micros>) -> f64 {
        micros.map_or(f64::NAN, |micros| micros.0)
    }

    fn sample(items: &[f64], gxmode: &str, time: f64) -> Sample {
        let mut operation = Operation::new("PolyFillRectangle".into());
        operation
            .attributes
            .set("gxmode".into(), Value::parse(gxmode));
        operation.items = items.to_vec();
        Sample {
            operation,
            cpu: Some(Estimate {
                centre: time,
                half_width: Some(0.1),
            }),
            wall: None,
            cold: None,
        }
    }

    #[test]
    fn fixed_cost_is_independent_of_item_count() {
        // The fixed cost is 0.3 µs, and a pixel costs 0.02 µs.
        let samples = [
            sample(&[100.0], "GXcopy", 2.3),
            sample(&[10.0], "GXcopy", 0.5),
            sample(&[100.0; 5], "GXcopy", 10.3),
            sample(&[100.0], "GXxor", 7.0),
        ];
        let tables = entries(&samples);
        assert_eq!(tables.len(), 2);
        let copy = &tables[0];
        assert_eq!(
            copy.points
                .iter()
                .map(|point| point.size)
                .collect::<Vec<_>>(),
            [10.0, 100.0]
        );
        assert!((value(copy.fixed.unwrap().cpu_us) - 0.3).abs() < 1e-9);
        assert_eq!(copy.points[1].spread, Some(0.043));
        assert_eq!(tables[1].fixed, None);
    }

    #[test]
    fn no_op_request_gives_the_fixed_cost_only() {
        let mut idle = sample(&[50.0], "GXcopy", 0.05);
        idle.operation.effect = Effect::Nothing;
        let tables = entries(&[idle, sample(&[100.0], "GXcopy", 2.0)]);
        assert_eq!(tables[0].points.len(), 1);
        assert_eq!(value(tables[0].fixed.unwrap().cpu_us), 0.05);
    }

    #[test]
    fn noise_does_not_yield_negative_costs() {
        let tables = entries(&[sample(&[], "GXcopy", -0.001)]);
        assert_eq!(value(tables[0].points[0].cpu_us), 0.0);
        assert_eq!(tables[0].points[0].spread, None);
        assert_eq!(value(tables[0].fixed.unwrap().cpu_us), 0.0);
    }
}
