//! Remarks on the limitations of a valid parameter file.

use crate::{Clock, Method, RequestCosts, ServerParameters};

/// A spread above this causes a remark; the goal of a measurement is 0.03.
const WIDE: f64 = 0.1;

/// Remarks on the limitations of a valid parameter file, as sentences.
pub fn review(parameters: &ServerParameters) -> Vec<String> {
    let mut remarks = Vec::new();
    if parameters.transport.is_none() {
        remarks.push("no transport costs: wakeups, reading and replies count as no time".into());
    }
    let server = &parameters.server;
    if server.executable.is_none() && server.vendor.is_none() {
        remarks.push("no executable and no vendor: this file matches no recording".into());
    }
    remarks.extend(review_method(&parameters.method));
    let mut count = |what: &str, is: &dyn Fn(&RequestCosts) -> bool| {
        let found: Vec<String> = parameters
            .requests
            .iter()
            .filter(|costs| is(costs))
            .map(|costs| [costs.name.clone(), costs.attribute_set().to_string()].join(" "))
            .collect();
        if let Some(first) = found.first() {
            remarks.push(format!(
                "{} entries {what}, such as {}",
                found.len(),
                first.trim_end()
            ));
        }
    };
    count("have a point whose spread is over 10 %", &|costs| {
        costs
            .points
            .iter()
            .any(|measured| measured.spread.is_some_and(|spread| spread > WIDE))
    });
    count("have a point of no time", &|costs| {
        let clock = costs.clock(Clock::Cpu).unwrap_or(Clock::Wall);
        costs
            .points
            .iter()
            .any(|point| point.time(clock).is_some_and(|time| time.0 == 0.0))
    });
    count(
        "cost less at a greater size by more than their spreads",
        &falls,
    );
    remarks
}

/// Remarks on the limitations of a calibration, as sentences: the loads that were not measured within the time limit,
/// and disturbances.
pub fn review_method(method: &Method) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(first) = method.unmeasured.first() {
        remarks.push(format!(
            "time ran out before all of {} requests was measured, such as {first}; calibrate \
             again when the machine is idle",
            method.unmeasured.len()
        ));
    }
    remarks.extend(method.warnings.iter().cloned());
    remarks
}

fn falls(costs: &RequestCosts) -> bool {
    let clock = costs.clock(Clock::Cpu).unwrap_or(Clock::Wall);
    costs.points.windows(2).any(|pair| {
        let [one, other] = pair else {
            return false;
        };
        let (one, other) = (one.cost(clock), other.cost(clock));
        one.zip(other)
            .is_some_and(|(one, other)| one.low.0 > other.high.0)
    })
}

#[cfg(test)]
mod tests {
    use super::{review, review_method};
    use crate::ServerParameters;

    #[test]
    fn unmeasured_requests_are_reported() {
        let text = "format = 1\n[server]\nname = \"t\"\nvendor = \"v\"\n[method]\nunmeasured = [\"A\", \"B\"]\n\
                    warnings = [\"busy\"]\n";
        let parameters = ServerParameters::from_toml(text).unwrap();
        let remarks = review_method(&parameters.method);
        assert!(
            remarks[0].contains("of 2 requests was measured, such as A"),
            "{remarks:?}"
        );
        assert_eq!(remarks[1], "busy");
        assert_eq!(
            ServerParameters::from_toml(&parameters.to_toml()).unwrap(),
            parameters
        );
    }

    #[test]
    fn remarks_name_an_example_entry() {
        let text = "format = 1\n[server]\nname = \"t\"\nvendor = \"v\"\n[[request]]\nname = \"A\"\n\
                    points = [{ size = 1, cpu_us = 2, spread = 0.2 }, { size = 2, cpu_us = 1 }]\n";
        let remarks = review(&ServerParameters::from_toml(text).unwrap());
        assert_eq!(remarks.len(), 3, "{remarks:?}");
        assert!(
            remarks[1].contains("1 entries have a point whose spread") && remarks[1].ends_with('A')
        );
        assert!(remarks[2].contains("less at a greater size"));
    }
}
