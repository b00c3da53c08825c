//! The loads in the files of `table`, which describe requests field by field. The head of `table/core.txt` explains
//! the lines.

mod expression;
mod reply;
mod request;
mod scope;
#[cfg(test)]
mod tests;
mod variables;

use std::collections::HashMap;

use self::reply::{found, is_asked, taken};
use self::scope::{Scope, Stop, split};
pub(super) use self::variables::variables;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::server::wire::Major;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Phase, Sync, Workload};

const TABLES: [&str; 5] = [
    include_str!("table/drawing.txt"),
    include_str!("table/windows.txt"),
    include_str!("table/core.txt"),
    include_str!("table/render.txt"),
    include_str!("table/extensions.txt"),
];

/// The number of pixels whose drawing takes about as long as an expensive request.
const COSTLY: usize = 62_500;

/// Adds the loads of the tables to `loads`. Skips a load that refers to a resource or extension that the server does
/// not have.
pub(super) fn add(
    client: &mut Client,
    plan: &Plan,
    loads: &mut Loads,
    variables: HashMap<String, String>,
) -> Result<(), MeasureError> {
    let scope = Scope::new(client, variables);
    let mut table = Table::new(scope, plan, loads);
    for text in TABLES {
        table.block(&lines(text))?;
    }
    Ok(())
}

/// The lines of a table except comments. A backslash at the end of a line continues the line.
fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_comment = line.trim().is_empty() || line.trim().starts_with('#');
        match lines.last_mut().filter(|last| last.ends_with('\\')) {
            _ if is_comment => {}
            Some(last) => {
                last.pop();
                last.push_str(line.trim());
            }
            None => lines.push(line.to_owned()),
        }
    }
    lines
}

/// A parser of the tables, which adds the load of each line to `loads`.
struct Table<'a> {
    scope: Scope<'a>,
    plan: &'a Plan,
    loads: &'a mut Loads,
    /// The lines that refer to something that the server lacks.
    #[cfg(test)]
    skipped: Vec<String>,
}

impl<'a> Table<'a> {
    fn new(scope: Scope<'a>, plan: &'a Plan, loads: &'a mut Loads) -> Table<'a> {
        Table {
            scope,
            plan,
            loads,
            #[cfg(test)]
            skipped: Vec::new(),
        }
    }

    /// Runs statements. The lines after a statement that are indented more than the statement belong to it.
    fn block(&mut self, mut lines: &[String]) -> Result<(), MeasureError> {
        let indent = |line: &str| line.len() - line.trim_start().len();
        while let [line, rest @ ..] = lines {
            let inner = rest.iter().take_while(|next| indent(next) > indent(line));
            let (inner, rest) = rest.split_at(inner.count());
            match self.statement(line.trim_start(), inner) {
                Ok(()) => {}
                Err(Stop::Lacking) => {
                    #[cfg(test)]
                    self.skipped.push(line.clone());
                }
                Err(Stop::Failed(error)) => return Err(error),
            }
            lines = rest;
        }
        Ok(())
    }

    /// Runs one statement. `inner` are the lines that belong to it.
    fn statement(&mut self, line: &str, inner: &[String]) -> Result<(), Stop> {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words = split(rest);
        match (kind, words.as_slice()) {
            ("core", _) => self.scope.extension = (String::new(), Some(Major::CORE)),
            ("extension", _) => {
                let major = self.scope.client.extension(rest)?;
                self.scope.extension = (rest.to_owned(), major);
                if major.is_none() {
                    self.loads.lacks(rest);
                }
            }
            _ if self.scope.extension.1.is_none() => {}
            ("if", [condition]) if self.scope.number(condition)? != 0 => self.block(inner)?,
            ("for", [names, values @ ..]) => {
                let values = values.iter().map(|value| (*value).to_owned()).collect();
                self.repeat(names, values, inner)?;
            }
            ("sizes", [names, values @ ..]) => {
                let values = self.sizes(names, values)?;
                self.repeat(names, values, inner)?;
            }
            ("let", [name, ..]) => {
                let value = rest.split_once(' ').map_or("", |(_, value)| value);
                self.set(name, value);
            }
            ("font", [variable, name]) => {
                let name = self.scope.substituted(name)?;
                self.scope.variables.remove(*variable);
                match self.scope.client.font(&name)? {
                    Some(font) => self.set(variable, font),
                    None => self.loads.lacks(format!("font {name}")),
                }
            }
            ("new", [name, request @ ..]) => self.create(name, request)?,
            ("send", request) => {
                for request in self.requests(request, 1, &[])? {
                    self.scope.client.send_bytes(&request)?;
                }
            }
            ("ask", words) => self.ask(words)?,
            ("find", [target, step, words @ ..]) => self.find(target, step, words)?,
            ("cycle", [count, ..]) => {
                let phases = rest.split_once(' ').map_or("", |(_, phases)| phases);
                self.cycle(count, phases)?;
            }
            ("pair", _) => {
                let (there, back) = rest.split_once(" / ").unwrap_or_default();
                let there = self.scope.request(&split(there))?.bytes(0, 0);
                let back = self.scope.request(&split(back))?.bytes(0, 0);
                self.loads.push(Workload::alternating(&there, &back));
            }
            ("plain", request) => self.load(Sync::RoundTrip, 0, request)?,
            ("costly", request) => self.load(Sync::RoundTrip, COSTLY, request)?,
            ("read", [pixels, request @ ..]) => {
                let pixels = self.scope.number(pixels)?;
                self.load(Sync::RoundTrip, pixels as usize, request)?;
            }
            ("draw", [pixels, request @ ..]) => {
                let pixels = self.scope.number(pixels)?;
                self.load(Sync::ReadBack, pixels as usize, request)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: impl ToString) {
        self.scope
            .variables
            .insert(name.to_owned(), value.to_string());
    }

    /// Runs the statements `inner` for each of `values`. Several names and the parts of each value are separated by
    /// commas.
    fn repeat(
        &mut self,
        names: &str,
        values: Vec<String>,
        inner: &[String],
    ) -> Result<(), MeasureError> {
        for value in values {
            for (name, value) in names.split(',').zip(value.split(',')) {
                self.set(name, value);
            }
            self.block(inner)?;
        }
        Ok(())
    }

    /// Returns the values to measure. For one name, a size, they are the sizes of the plan. For two names, a size and a
    /// number of items, they are pairs: each size of the plan with one item, and the pairs in `values`.
    fn sizes(&mut self, names: &str, values: &[&str]) -> Result<Vec<String>, Stop> {
        let mut sizes = Vec::new();
        for value in values.iter().filter(|value| !value.contains(',')) {
            sizes.push(self.scope.number(value)? as u16);
        }
        let one = if names.contains(',') { ",1" } else { "" };
        let sizes = self.plan.sizes(&sizes).into_iter();
        let pairs = values.iter().filter(|value| value.contains(','));
        Ok(sizes
            .map(|size| format!("{size}{one}"))
            .chain(pairs.map(|pair| (*pair).to_owned()))
            .collect())
    }

    /// Creates resources: `NAME` or `NAME*COUNT`, and the request for each of them, if there is one.
    fn create(&mut self, name: &str, request: &[&str]) -> Result<(), Stop> {
        let (name, count) = name.split_once('*').unwrap_or((name, "1"));
        let (name, count) = (self.scope.substituted(name)?, self.scope.number(count)?);
        let ids = self.scope.client.ids(count as usize);
        self.scope.variables.remove(&name);
        let first = ids.first().copied().unwrap_or(0);
        if !request.is_empty() {
            // A template may contain the name of the new resource.
            self.set(&name, first);
            let requests = self.requests(request, count, &ids);
            self.scope.variables.remove(&name);
            for request in requests? {
                self.scope.client.send_bytes(&request)?;
            }
        }
        self.set(&name, first);
        Ok(())
    }

    /// The requests of a phase. The phase may begin with a number of requests and a colon; otherwise there are `count`
    /// requests. Request number n is for the resource number n of `ids`.
    fn requests(&mut self, phase: &[&str], count: i64, ids: &[u32]) -> Result<Vec<Vec<u8>>, Stop> {
        let (count, request) = match phase {
            [first, request @ ..] if first.ends_with(':') => {
                (self.scope.number(first.trim_end_matches(':'))?, request)
            }
            _ => (count, phase),
        };
        let request = self.scope.request(request)?;
        let ids = ids.iter().copied().chain(std::iter::repeat(0));
        Ok((0..count)
            .zip(ids)
            .map(|(number, id)| request.bytes(number, id))
            .collect())
    }

    /// Adds a load that repeats a request, if the plan contains the request. `pixels` is the approximate work of the
    /// request.
    fn load(&mut self, sync: Sync, pixels: usize, request: &[&str]) -> Result<(), Stop> {
        let request = self.scope.request(request)?;
        if self.plan.wants(&request.name) {
            let load = Workload::varied(sync, pixels, |index| request.bytes(index as i64, 0));
            self.loads.push(load);
        }
        Ok(())
    }

    /// Adds a load of phases, which are separated by slashes, and creates `count` resources for it.
    fn cycle(&mut self, count: &str, phases: &str) -> Result<(), Stop> {
        let count = self.scope.number(count)?;
        let ids = self.scope.client.ids(count as usize);
        let mut load = Workload::cycle([]);
        for phase in phases.split(" / ").map(split) {
            if let ["before:", request @ ..] = phase.as_slice() {
                load.before = self.requests(request, 1, &[])?.concat();
            } else {
                let requests = self.requests(&phase, count, &ids)?;
                load.phases.push(Phase::new(requests, Sync::RoundTrip));
            }
        }
        self.loads.push(load);
        Ok(())
    }

    /// Sends a request, and sets variables to numbers in the reply.
    fn ask(&mut self, words: &[&str]) -> Result<(), Stop> {
        let count = words.iter().take_while(|word| is_asked(word)).count();
        let (asked, request) = words.split_at(count);
        let reply = self.reply(request)?;
        for (name, place) in asked.iter().filter_map(|word| word.split_once('=')) {
            if let Some(value) = taken(&reply, place) {
                self.set(name, value);
            }
        }
        Ok(())
    }

    /// Sends a request and returns its reply.
    fn reply(&mut self, request: &[&str]) -> Result<Vec<u8>, Stop> {
        let request = self.scope.request(request)?.bytes(0, 0);
        self.scope.client.ask_bytes(&request)?.ok_or(Stop::Lacking)
    }

    /// Searches the reply to a request for the conditions `O:W=VALUE`, at positions that are `step` bytes apart, and
    /// sets a variable: `target` is the variable's name and its place relative to the position.
    fn find(&mut self, target: &str, step: &str, words: &[&str]) -> Result<(), Stop> {
        let count = words.iter().take_while(|word| word.contains(':')).count();
        let (conditions, request) = words.split_at(count);
        let (name, place) = target.split_once('=').unwrap_or_default();
        let step = self.scope.number(step)?;
        let mut expected = Vec::new();
        for condition in conditions {
            let (place, value) = condition.split_once('=').unwrap_or_default();
            expected.push((place, self.scope.number(value)? as u32));
        }
        let reply = self.reply(request)?;
        let found = found(&reply, step, &expected, place);
        self.set(name, found.ok_or(Stop::Lacking)?);
        Ok(())
    }
}
