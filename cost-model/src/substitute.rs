//! Selects the measured entry for a set of attributes: the entry with exactly these attributes, otherwise the entry
//! with the fewest and most preferred substitutions.

use x11prof_session::{Attribute, Attributes, Value, matches};

use crate::items::ItemCosts;
use crate::{Caveat, Substitutions};

/// An entry of a request, with its measured costs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) attributes: Attributes,
    pub(crate) costs: ItemCosts,
}

/// The entries that determine the cost of a set of attributes, by their indexes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resolution {
    pub(crate) entry: usize,
    /// The index of the second entry if a numeric attribute is interpolated between two entries, and the weight of this
    /// entry, from 0 to 1; `None` without interpolation.
    pub(crate) partner: Option<(usize, f64)>,
    /// The entries with other values of the attributes that were substituted or that the operation does not state. The
    /// bounds of the cost include their costs.
    pub(crate) alternatives: Vec<usize>,
    /// The caveats: a `Caveat::Substituted` for each attribute whose value was substituted.
    pub(crate) substitutions: Vec<Caveat>,
}

/// The difference between an entry and the wanted attributes: the numbers of substitutions, ranks of the substitutes,
/// interpolations and ignored attributes, and the sum of the numeric differences. The entry with the smallest
/// difference is selected; of equal entries, the first.
type Misfit = (usize, usize, usize, usize, u64);

struct Fit {
    misfit: Misfit,
    substituted: Vec<(Attribute, Value)>,
    between: Option<(Attribute, usize, f64)>,
}

/// Selects the entry for the attributes `wanted` among `entries`; `None` if the rules allow none of them.
pub(crate) fn resolve(
    entries: &[Entry],
    wanted: &Attributes,
    rules: &Substitutions,
) -> Option<Resolution> {
    let fits = entries.iter().enumerate();
    let fits = fits.filter_map(|(index, entry)| Some((index, fit(entries, entry, wanted, rules)?)));
    let (index, fit) = fits.min_by_key(|(_, fit)| fit.misfit)?;
    let doubt = |&(attribute, to): &(Attribute, Value)| Caveat::Substituted {
        attribute,
        from: wanted.get(attribute),
        to,
    };
    Some(Resolution {
        entry: index,
        partner: fit.between.map(|(_, partner, weight)| (partner, weight)),
        alternatives: alternatives(entries, wanted, index, &fit),
        substitutions: fit.substituted.iter().map(doubt).collect(),
    })
}

/// Compares `entry` with the `wanted` attributes, and finds the necessary substitutions; `None` if `rules` do not
/// permit the substitutions. An attribute that the entry lacks is ignored, because the file does not distinguish its
/// values.
fn fit(
    entries: &[Entry],
    entry: &Entry,
    wanted: &Attributes,
    rules: &Substitutions,
) -> Option<Fit> {
    let mut fit = Fit {
        misfit: Misfit::default(),
        substituted: Vec::new(),
        between: None,
    };
    let (mut preferences, mut distance) = (0, 0);
    for (attribute, has) in entry.attributes.iter() {
        let wants = wanted.get(attribute);
        if wants.is_some_and(|wants| wants == has || is_pattern_of(wants, has)) {
            continue;
        }
        if let (Some(Value::Number(wants)), Value::Number(has)) = (wants, has) {
            distance += u64::from(wants.abs_diff(has));
            if fit.between.is_none() && rules.interpolates(attribute) {
                fit.between = partner(entries, entry, attribute, wants, has);
                if fit.between.is_some() {
                    continue;
                }
            }
        }
        preferences += rules.preference(attribute, wants, has)?;
        fit.substituted.push((attribute, has));
    }
    let undistinguished = wanted
        .iter()
        .filter(|(name, _)| entry.attributes.get(*name).is_none())
        .count();
    let between = usize::from(fit.between.is_some());
    fit.misfit = (
        fit.substituted.len(),
        preferences,
        between,
        undistinguished,
        distance,
    );
    Some(fit)
}

/// Finds an entry to interpolate with: it differs from `entry` only in the number of `attribute`, which is the nearest
/// number beyond `wants` as seen from `has`. Returns the attribute, the index of the entry and its weight; `None` if
/// there is no such entry.
fn partner(
    entries: &[Entry],
    entry: &Entry,
    attribute: Attribute,
    wants: u32,
    has: u32,
) -> Option<(Attribute, usize, f64)> {
    let across = entries.iter().enumerate().filter_map(|(index, other)| {
        let Some(Value::Number(number)) = other.attributes.get(attribute) else {
            return None;
        };
        let beyond = if has < wants {
            number > wants
        } else {
            number < wants
        };
        let like = beyond
            && other.costs.clock == entry.costs.clock
            && same(&entry.attributes, &other.attributes, |name, _| {
                name == attribute
            });
        like.then_some((number, index))
    });
    let (number, index) = across.min_by_key(|(number, _)| number.abs_diff(wants))?;
    let weight = f64::from(wants.abs_diff(has)) / f64::from(number.abs_diff(has));
    Some((attribute, index, weight))
}

/// True if `wants` is a pattern, such as an OpenFont request may contain, and `has` is a name that matches it.
fn is_pattern_of(wants: Value, has: Value) -> bool {
    match (wants, has) {
        (Value::Name(wants), Value::Name(has)) => {
            wants.as_str().contains(['*', '?']) && matches(wants.as_str(), has.as_str())
        }
        _ => false,
    }
}

/// The entries that differ from the selected entry, or from its partner, only in attributes of which the operation's
/// value is unknown: substituted attributes, attributes that the operation does not state, and patterns. A pattern means
/// any of the names that match it.
fn alternatives(entries: &[Entry], wanted: &Attributes, chosen: usize, fit: &Fit) -> Vec<usize> {
    let unknown = |name: Attribute, value: Value| {
        let mut substituted = fit.substituted.iter();
        match wanted.get(name) {
            None => true,
            Some(wants) => {
                is_pattern_of(wants, value) || substituted.any(|(attribute, _)| *attribute == name)
            }
        }
    };
    let partner = fit.between.map(|(_, partner, _)| partner);
    let ends = || {
        [Some(chosen), partner]
            .into_iter()
            .flatten()
            .filter_map(|end| entries.get(end))
    };
    let alternative = |(index, entry): (usize, &Entry)| {
        let like = ends().any(|end| {
            end.costs.clock == entry.costs.clock
                && same(&end.attributes, &entry.attributes, unknown)
        });
        (like && index != chosen && Some(index) != partner).then_some(index)
    };
    entries.iter().enumerate().filter_map(alternative).collect()
}

/// True if two sets are equal except for the attributes and values in `except`.
fn same(one: &Attributes, other: &Attributes, except: impl Fn(Attribute, Value) -> bool) -> bool {
    let rest = |(name, value): &(Attribute, Value)| !except(*name, *value);
    one.iter().filter(rest).eq(other.iter().filter(rest))
}

#[cfg(test)]
mod tests {
    use x11prof_session::{Attributes, Value};

    use super::{Entry, Resolution, resolve};
    use crate::items::ItemCosts;
    use crate::{Caveat, Clock, Micros, Point, RequestCosts, Substitutions};

    fn attributes(text: &str) -> Attributes {
        let mut attributes = Attributes::new();
        for (name, value) in text
            .split_whitespace()
            .filter_map(|part| part.split_once('='))
        {
            attributes.set(name.into(), Value::parse(value));
        }
        attributes
    }

    fn find(entries: &[&str], wanted: &str) -> Option<Resolution> {
        let point = Point {
            size: 0.0,
            wall_us: Some(Micros(1.0)),
            ..Point::default()
        };
        let costs = RequestCosts {
            points: vec![point],
            ..RequestCosts::default()
        };
        let costs = ItemCosts::new(&costs, Clock::Wall).unwrap();
        let entry = |text: &&str| Entry {
            attributes: attributes(text),
            costs: costs.clone(),
        };
        let entries: Vec<Entry> = entries.iter().map(entry).collect();
        resolve(&entries, &attributes(wanted), &Substitutions::default())
    }

    fn substituted(resolution: &Resolution) -> Vec<String> {
        let text = |doubt: &Caveat| match doubt {
            Caveat::Substituted {
                attribute,
                from: Some(from),
                to,
            } => format!("{attribute}:{from}>{to}"),
            Caveat::Substituted {
                attribute,
                from: None,
                to,
            } => format!("{attribute}:>{to}"),
            other => format!("{other:?}"),
        };
        resolution.substitutions.iter().map(text).collect()
    }

    #[test]
    fn matching_entry_is_selected() {
        let found = find(&["gxmode=GXcopy", "gxmode=GXxor"], "gxmode=GXxor depth=24").unwrap();
        assert_eq!((found.entry, found.partner), (1, None));
        assert!(found.substitutions.is_empty() && found.alternatives.is_empty());
    }

    #[test]
    fn entry_without_the_attribute_needs_no_substitution() {
        let found = find(&["", "gxmode=GXxor"], "gxmode=GXand").unwrap();
        assert_eq!(found.entry, 0);
        assert!(found.substitutions.is_empty());
        let found = find(&["", "gxmode=GXxor"], "gxmode=GXxor").unwrap();
        assert_eq!(found.entry, 1);
    }

    #[test]
    fn pattern_means_any_matching_entry() {
        let entries = [
            "loaded=no",
            "loaded=no fontname=a-bold-1",
            "loaded=no fontname=a-bold-2",
            "loaded=no fontname=b",
        ];
        let found = |wanted| {
            let found = find(&entries, wanted).unwrap();
            assert!(found.substitutions.is_empty());
            (found.entry, found.alternatives)
        };
        // It may also be the name of a font without an own entry.
        assert_eq!(found("loaded=no fontname=a-*"), (1, vec![0, 2]));
        assert_eq!(found("loaded=no fontname=?"), (3, vec![0]));
        assert_eq!(found("loaded=no fontname=c*"), (0, Vec::new()));
        assert_eq!(found("loaded=no"), (0, vec![1, 2, 3]));
    }

    #[test]
    fn most_preferred_substitution_wins() {
        let entries = [
            "gxmode=GXcopy fillstyle=FillSolid",
            "gxmode=GXxor fillstyle=FillSolid",
        ];
        let found = find(&entries, "gxmode=GXand fillstyle=FillSolid").unwrap();
        assert_eq!(found.entry, 1);
        assert_eq!(substituted(&found), ["gxmode:GXand>GXxor"]);
        assert_eq!(found.alternatives, [0]);
        let found = find(&entries, "gxmode=GXset fillstyle=FillTiled").unwrap();
        assert_eq!(found.entry, 0);
        assert_eq!(
            substituted(&found),
            ["fillstyle:FillTiled>FillSolid", "gxmode:GXset>GXcopy"]
        );
    }

    #[test]
    fn attribute_missing_from_the_operation_is_substituted() {
        let found = find(&["gxmode=GXand", "gxmode=GXcopy"], "").unwrap();
        assert_eq!(
            (found.entry, substituted(&found)),
            (1, vec!["gxmode:>GXcopy".to_owned()])
        );
    }

    #[test]
    fn line_widths_are_interpolated() {
        let widths = ["linewidth=0", "linewidth=1", "linewidth=10", "linewidth=20"];
        let found = find(&widths, "linewidth=4").unwrap();
        assert_eq!((found.entry, found.partner), (1, Some((2, 3.0 / 9.0))));
        assert!(found.substitutions.is_empty());
        let found = find(&widths, "linewidth=8").unwrap();
        assert_eq!((found.entry, found.partner), (2, Some((1, 2.0 / 9.0))));
    }

    #[test]
    fn line_width_outside_the_range_uses_the_nearest() {
        let found = find(&["linewidth=0", "linewidth=10"], "linewidth=30").unwrap();
        assert_eq!((found.entry, found.partner), (1, None));
        assert_eq!(substituted(&found), ["linewidth:30>10"]);
        assert_eq!(found.alternatives, [0]);
    }

    #[test]
    fn substitution_alternatives_exclude_distant_widths() {
        let entries = [
            "fillstyle=FillSolid linewidth=1",
            "fillstyle=FillSolid linewidth=9",
            "fillstyle=FillSolid linewidth=50",
            "fillstyle=FillTiled linewidth=1",
        ];
        let found = find(&entries, "fillstyle=FillStippled linewidth=2").unwrap();
        // No tiled entry is on the other side of 2, so the solid ones need fewer substitutions.
        assert_eq!((found.entry, found.partner), (0, Some((1, 1.0 / 8.0))));
        assert_eq!(found.alternatives, [3]);
    }

    #[test]
    fn nearest_depth_and_another_font_are_substituted() {
        let found = find(&["depth=1", "depth=16", "depth=32"], "depth=24").unwrap();
        assert_eq!(
            (found.entry, substituted(&found)),
            (1, vec!["depth:24>16".to_owned()])
        );
        let found = find(&["fontname=10x20", "fontname=6x13"], "fontname=9x15").unwrap();
        assert_eq!(found.entry, 1);
        let found = find(&["fontname=10x20", "fontname=cursor"], "fontname=9x15").unwrap();
        assert_eq!(found.entry, 0);
    }
}
