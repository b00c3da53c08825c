//! Adding newer measurements to a file.

use crate::{Point, RequestCosts, ServerParameters};

impl ServerParameters {
    /// Takes the transport costs of `newer`, and its fixed parts and points of each request and set of attributes,
    /// which replace those of the same size. All other data of this file stay, including the server's identity.
    pub fn merge(&mut self, newer: ServerParameters) {
        self.transport = newer.transport.or(self.transport.take());
        self.host = newer.host;
        self.method = newer.method;
        for costs in newer.requests {
            let attributes = costs.attribute_set();
            let known = self
                .requests
                .iter_mut()
                .find(|known| known.name == costs.name && known.attribute_set() == attributes);
            match known {
                Some(known) => known.merge(costs),
                None => self.requests.push(costs),
            }
        }
        self.requests.sort_by(|one, other| {
            (&one.name, &one.attributes).cmp(&(&other.name, &other.attributes))
        });
    }
}

impl RequestCosts {
    fn merge(&mut self, newer: RequestCosts) {
        self.fixed = newer.fixed.or(self.fixed.take());
        let replaced = |point: &Point| newer.points.iter().any(|new| new.size == point.size);
        self.points.retain(|point| !replaced(point));
        self.points.extend(newer.points);
        self.points
            .sort_by(|one, other| one.size.total_cmp(&other.size));
    }
}

#[cfg(test)]
mod tests {
    use crate::{Micros, Point, RequestCosts, ServerParameters};

    fn file(entries: &[(&str, &[(f64, f64)])]) -> ServerParameters {
        let requests = entries.iter().map(|(name, points)| RequestCosts {
            name: (*name).into(),
            points: points
                .iter()
                .map(|(size, time)| Point {
                    size: *size,
                    cpu_us: Some(Micros(*time)),
                    ..Point::default()
                })
                .collect(),
            ..RequestCosts::default()
        });
        ServerParameters {
            requests: requests.collect(),
            ..ServerParameters::default()
        }
    }

    #[test]
    fn newer_points_replace_those_of_their_size_and_join_the_others() {
        let mut old = file(&[
            ("PolyLine", &[(1.0, 1.0), (9.0, 2.0)]),
            ("Bell", &[(0.0, 5.0)]),
        ]);
        old.merge(file(&[
            ("PolyLine", &[(4.0, 1.5), (9.0, 3.0)]),
            ("Aa", &[(0.0, 1.0)]),
        ]));
        let expected = file(&[
            ("Aa", &[(0.0, 1.0)]),
            ("Bell", &[(0.0, 5.0)]),
            ("PolyLine", &[(1.0, 1.0), (4.0, 1.5), (9.0, 3.0)]),
        ]);
        assert_eq!(old, expected);
    }
}
