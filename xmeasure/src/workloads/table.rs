//! The loads in table.txt: requests that do not draw, described field by field.

use std::collections::HashMap;

use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire::Major;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Phase, Sync, Workload};

const TABLE: &str = include_str!("table.txt");

/// The ids and numbers that the table refers to, by name.
pub(super) type Variables = HashMap<String, u32>;

/// The variables that follow from the server's setup. `intrusive` is true if requests that a user would notice are
/// measured.
pub(super) fn variables(client: &Client, intrusive: bool) -> Variables {
    let (screen, setup) = (&client.screen, &client.raw.setup);
    let keycodes = setup.max_keycode.saturating_sub(setup.min_keycode);
    let known = [
        ("window", client.window),
        ("arena", client.arena),
        ("unwatched", client.unwatched),
        ("notified", client.notified),
        ("root", screen.root),
        ("depth", screen.root_depth.into()),
        ("visual", screen.root_visual),
        ("colormap", screen.default_colormap),
        ("black", screen.black_pixel),
        ("white", screen.white_pixel),
        ("min_keycode", setup.min_keycode.into()),
        ("keycodes", u32::from(keycodes) + 1),
        ("intrusive", intrusive.into()),
    ];
    known.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Adds the loads of the table to `loads`. Skips a load that refers to a resource or extension that the server does not
/// have.
pub(super) fn add(
    client: &mut Client,
    loads: &mut Loads,
    variables: Variables,
) -> Result<(), MeasureError> {
    let mut table = Table {
        client,
        loads,
        variables,
        major: Some(Major::CORE),
    };
    for line in TABLE.lines() {
        if !line.is_empty() && !line.starts_with('#') {
            table.line(line)?;
        }
    }
    Ok(())
}

/// A parser of the table, which adds the load of each line to `loads`.
struct Table<'a> {
    client: &'a mut Client,
    loads: &'a mut Loads,
    variables: Variables,
    /// The major opcode for the current lines; `None` for an extension that the server lacks.
    major: Option<Major>,
}

impl Table<'_> {
    fn line(&mut self, line: &'static str) -> Result<(), MeasureError> {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        match kind {
            "core" => self.major = Some(Major::CORE),
            "extension" => {
                self.major = self.client.extension(rest)?;
                if self.major.is_none() {
                    self.loads.lacks(rest);
                }
            }
            _ if self.major.is_none() => {}
            "intrusive" if self.variables.get("intrusive") == Some(&1) => self.line(rest)?,
            "intrusive" => {}
            "font" => {
                if let Some(font) = self.client.font(rest)? {
                    self.variables.insert(rest.to_owned(), font);
                }
            }
            "cycle" => {
                let (count, requests) = rest.split_once(' ').unwrap_or_default();
                let ids = self.client.ids(count.parse().unwrap_or(0));
                let mut phases = Vec::new();
                for request in requests.split(" / ") {
                    let Some(all) = self.requests(request, &ids)? else {
                        return Ok(());
                    };
                    phases.push(Phase::new(all, Sync::RoundTrip));
                }
                self.loads.push(Workload::cycle(phases));
            }
            "new" => {
                let (name, request) = rest.split_once(' ').unwrap_or_default();
                let id = self.client.id();
                if let Some(all) = self.requests(request, &[id])? {
                    self.client.send_bytes(&all.concat())?;
                    self.variables.insert(name.to_owned(), id);
                }
            }
            "pair" => {
                let (there, back) = rest.split_once(" / ").unwrap_or_default();
                let (there, back) = (self.requests(there, &[0])?, self.requests(back, &[0])?);
                if let Some((there, back)) = there.zip(back) {
                    self.loads.pair(there.concat(), back.concat());
                }
            }
            _ => self.single(kind, rest)?,
        }
        Ok(())
    }

    /// Parses a line with a single request that creates no resource.
    fn single(&mut self, kind: &str, rest: &'static str) -> Result<(), MeasureError> {
        let (number, drawn) = rest.split_once(' ').unwrap_or_default();
        let asks = rest.split(' ').take_while(|part| is_asked(part)).count();
        let request = match kind {
            "drawn" => drawn,
            "ask" => rest.splitn(asks + 1, ' ').last().unwrap_or_default(),
            _ => rest,
        };
        let Some(bytes) = self.requests(request, &[0])? else {
            return Ok(());
        };
        let bytes = bytes.concat();
        match kind {
            "plain" => self.loads.plain(bytes),
            "costly" => self.loads.costly(bytes),
            "drawn" => {
                let work = number.parse().unwrap_or(0);
                let load = Workload::varied(Sync::ReadBack, work, |_| bytes.clone());
                self.loads.push(load);
            }
            "send" => self.client.send_bytes(&bytes)?,
            "ask" => {
                let reply = self.client.ask_bytes(&bytes)?;
                for asked in rest.split(' ').take(asks) {
                    let (name, place) = asked.split_once('=').unwrap_or_default();
                    if let Some(value) = reply.as_deref().and_then(|reply| taken(reply, place)) {
                        self.variables.insert(name.to_owned(), value);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The bytes of a request for each of `ids`; `None` if the request names a variable that the server lacks.
    fn requests(
        &mut self,
        request: &'static str,
        ids: &[u32],
    ) -> Result<Option<Vec<Vec<u8>>>, MeasureError> {
        let mut all = Vec::new();
        for (index, id) in (0..).zip(ids) {
            let mut fields = split(request).into_iter();
            let opcode = fields.next().unwrap_or_default();
            let (opcode, data) = opcode.split_once('=').unwrap_or((opcode, "0"));
            let (is_core, opcode) = match opcode.strip_prefix('c') {
                Some(opcode) => (true, opcode),
                None => (self.major.is_some_and(|major| major.0 == 0), opcode),
            };
            let opcode: u8 = opcode.parse().unwrap_or(0);
            let Some(data) = self.number(data, index, *id)? else {
                return Ok(None);
            };
            let mut bytes = match (is_core, self.major) {
                (true, _) | (_, None) => vec![opcode, data as u8, 0, 0],
                (false, Some(major)) => vec![major.0, opcode, 0, 0],
            };
            for field in fields.skip(1) {
                let (field, times) = match field.rsplit_once('*') {
                    Some((field, times)) if !times.ends_with('"') => (field, times),
                    _ => (field, "1"),
                };
                let Some(part) = self.field(field, index, *id)? else {
                    return Ok(None);
                };
                bytes.extend(part.repeat(times.parse().unwrap_or(1)));
            }
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            let words = (bytes.len() / 4) as u16;
            if let Some(length) = bytes.get_mut(2..4) {
                length.copy_from_slice(&words.to_ne_bytes());
            }
            all.push(bytes);
        }
        Ok(Some(all))
    }

    fn field(&mut self, field: &str, index: u32, id: u32) -> Result<Option<Vec<u8>>, MeasureError> {
        if let Some(text) = field.strip_prefix('"') {
            return Ok(Some(text.trim_end_matches('"').replace("\\0", "\0").into()));
        }
        let (field, width) = field.rsplit_once(':').unwrap_or((field, "4"));
        let number = self.number(field, index, id)?;
        Ok(number.map(|number| match width {
            "1" => vec![number as u8],
            "2" => (number as u16).to_ne_bytes().into(),
            _ => number.to_ne_bytes().into(),
        }))
    }

    /// The value of a field; `None` for a variable that the server lacks.
    fn number(&mut self, field: &str, index: u32, id: u32) -> Result<Option<u32>, MeasureError> {
        if let Some(name) = field.strip_prefix('$') {
            return Ok(self.variables.get(name).copied());
        }
        if let Some(name) = field.strip_prefix("atom(") {
            let name = name.trim_end_matches(')').replace('#', &index.to_string());
            return Ok(Some(self.client.atom(&name)?));
        }
        if let Some(of_index) = field.strip_prefix('#') {
            let (of_index, more) = of_index.split_once('+').unwrap_or((of_index, "0"));
            let (divided, by) = of_index.split_at(1);
            let (by, more): (u32, u32) = (by.parse().unwrap_or(1), more.parse().unwrap_or(0));
            return Ok(Some(
                if divided == "%" {
                    index % by
                } else {
                    index / by
                } + more,
            ));
        }
        Ok(match field.strip_prefix("0x") {
            _ if field == "@" => Some(id),
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => field.parse().ok(),
        })
    }
}

/// Returns true for a part of the form `name=offset:width`, which names a number in a reply.
fn is_asked(part: &str) -> bool {
    part.split_once('=').is_some_and(|(name, place)| {
        place.contains(':') && name.starts_with(|first: char| first.is_ascii_alphabetic())
    })
}

/// Returns the number at a position in a reply: `offset:width`, or `32+4*16:4` for the position after as many words as
/// the two bytes at offset 16 specify.
fn taken(reply: &[u8], place: &str) -> Option<u32> {
    let (offset, width) = place.split_once(':')?;
    let at = match offset.split_once("+4*") {
        Some((start, count)) => {
            let count = number_at(reply, count.parse().ok()?, "2")?;
            start.parse::<usize>().ok()? + 4 * count as usize
        }
        None => offset.parse().ok()?,
    };
    number_at(reply, at, width)
}

/// Returns the number of the given width at the offset `at`.
fn number_at(bytes: &[u8], at: usize, width: &str) -> Option<u32> {
    let bytes = bytes.get(at..)?;
    match width {
        "1" => bytes.first().map(|byte| u32::from(*byte)),
        "2" => bytes
            .first_chunk()
            .map(|two| u32::from(u16::from_ne_bytes(*two))),
        _ => bytes.first_chunk().map(|four| u32::from_ne_bytes(*four)),
    }
}

/// Splits a request into words. Text in quotes or parentheses belongs to one word.
fn split(request: &str) -> Vec<&str> {
    let (mut words, mut start, mut within) = (Vec::new(), 0, false);
    for (at, character) in request.char_indices() {
        match character {
            '"' => within = !within,
            '(' => within = true,
            ')' => within = false,
            ' ' if !within => {
                words.push(&request[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&request[start..]);
    words
}

#[cfg(test)]
mod tests {
    use super::{TABLE, Table, split, taken, variables};
    use crate::server::wire::Major;
    use crate::simulated::connected;
    use crate::workloads::loads::Loads;

    /// The bytes of a core request for one resource, 7.
    fn bytes(request: &'static str) -> Vec<u8> {
        let made = connected(|client| {
            let (variables, mut loads) = (variables(client, true), Loads::default());
            let mut table = Table {
                client,
                loads: &mut loads,
                variables,
                major: Some(Major::CORE),
            };
            table.requests(request, &[7]).unwrap().unwrap().concat()
        });
        made.2
    }

    #[test]
    fn fields_follow_the_header_and_requests_are_padded() {
        let words = |number: u16| number.to_ne_bytes();
        let name = bytes("16 InternAtom 5:2 0:2 \"ab cd\"");
        assert_eq!(name[..4], [16, 0, words(4)[0], words(4)[1]]);
        assert_eq!(name[8..], *b"ab cd\0\0\0");
        let pixmap = bytes("53=$depth CreatePixmap @ 1 16:2*2");
        assert_eq!((pixmap[1], pixmap.len()), (24, 16));
        assert_eq!(pixmap[4..8], 7_u32.to_ne_bytes());
        assert_eq!(pixmap[12..], [words(16), words(16)].concat());
        assert_eq!(bytes("34=#%3+24 UngrabKey #/3:2 0:2")[..2], [34, 24]);
        let atom = bytes("17 GetAtomName atom(SOME NAME)");
        assert_eq!(atom[4..8], 100_u32.to_ne_bytes());
    }

    #[test]
    fn reply_fields_after_lists_are_read() {
        let mut reply = vec![0; 48];
        reply[16..18].copy_from_slice(&2_u16.to_ne_bytes());
        reply[40..44].copy_from_slice(&9_u32.to_ne_bytes());
        assert_eq!(taken(&reply, "32+4*16:4"), Some(9));
        assert_eq!(taken(&reply, "16:2"), Some(2));
        assert_eq!(taken(&reply, "46:4"), None);
    }

    #[test]
    fn requests_have_the_name_given_in_the_table() {
        // A simulated server has no extensions, so only the core protocol's lines are read.
        let (mut client, _, loads) = connected(|client| {
            let mut loads = Loads::default();
            let known = variables(client, true);
            super::add(client, &mut loads, known).unwrap();
            loads
        });
        let mut made = Vec::new();
        for load in &loads.all {
            let described = client.tracker.describe(load).into_iter().flatten();
            made.extend(described.map(|operation| operation.request.as_str()));
        }
        let core = TABLE.split("\nextension").next().unwrap_or_default();
        let lines = core.lines().filter(|line| !line.starts_with('#'));
        for request in lines.flat_map(|line| line.split(" / ")) {
            let words: Vec<&str> = split(request);
            let is_load = ["plain", "costly", "cycle", "pair"].contains(&words[0]);
            let name = words
                .iter()
                .find(|word| word.starts_with(char::is_uppercase));
            if let (true, Some(name)) = (is_load, name)
                && !["QueryFont", "QueryTextExtents", "CreateGlyphCursor"].contains(name)
            {
                assert!(made.contains(name), "{request}: {made:?}");
            }
        }
    }
}
