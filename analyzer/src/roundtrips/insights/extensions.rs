//! Extensions that are queried one after the other: QueryExtension and version requests. A client can pipeline all
//! queries, as xcb_prefetch_extension_data does.

use x11prof_protocol::Symbol;

use super::{AvoidableTrips, Context, Finding, Groups, Insight, Names, Saving};
use crate::round_trips::CompletedRequest;

#[derive(Debug, Default)]
struct Queries {
    queries: u64,
    versions: u64,
    waits: AvoidableTrips,
    names: Names,
}

/// Counts the extension queries of each client.
#[derive(Debug, Default)]
pub(super) struct ExtensionQueries(Groups<(), Queries>);

/// True for a request that negotiates an extension's version.
fn is_version(name: Symbol) -> bool {
    name.as_str().split_once(':').is_some_and(|(_, request)| {
        matches!(
            request,
            "QueryVersion" | "XIQueryVersion" | "GetExtensionVersion" | "UseExtension"
        )
    })
}

impl Insight for ExtensionQueries {
    fn answered(&mut self, answer: &CompletedRequest<'_>, _: &Context<'_>) {
        let name = answer.question.name;
        let query = name.as_str() == "QueryExtension";
        if !answer.how.is_round_trip() || !(query || is_version(name)) {
            return;
        }
        if let Some(queries) = self.0.of(answer.client, ()) {
            queries.queries += u64::from(query);
            queries.versions += u64::from(!query);
            queries.waits.add(answer);
            queries.names.add(name);
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let found = |(client, (), queries): (_, _, &Queries)| {
            let count = queries.queries + queries.versions;
            // The names have to precede the versions, whose requests need the extensions' opcodes.
            let least = u64::from(queries.queries > 0) + u64::from(queries.versions > 0);
            let saved = count.saturating_sub(least);
            (saved >= 2).then(|| Finding {
                kind: "extensions",
                client,
                request: Symbol::new("QueryExtension"),
                count,
                action: format!(
                    "Query all extensions at once (xcb_prefetch_extension_data), then their versions: {count} \
                     round trips become {least}"
                ),
                why: format!("the client waited for {} one by one", queries.names.list()),
                saves: Saving {
                    round_trips: saved,
                    nanos: queries.waits.nanos / count * saved,
                    // The first of each stays.
                    waits: queries.waits.requests.get(least as usize..).unwrap_or_default().to_vec(),
                    ..Saving::default()
                },
            })
        };
        self.0.all().filter_map(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::ExtensionQueries;
    use crate::roundtrips::insights::testing::findings;
    use crate::testing::*;

    fn query_extension(name: &[u8; 4]) -> Vec<u8> {
        request(98, 0, &[4, u32::from_le_bytes(*name)])
    }

    #[test]
    fn extension_queries_can_be_pipelined() {
        let mut trace = Synthetic::new();
        for (number, name) in (1..).zip([b"AAAA", b"BBBB", b"CCCC"]) {
            trace.wait(10).client_sends(&[query_extension(name)]);
            trace.wait(50).server_sends(&[reply(number)]);
        }
        let found = findings(&trace, ExtensionQueries::default());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].count, found[0].saves.round_trips), (3, 2));
        // Clients that pipeline their queries get no advice.
        let mut trace = Synthetic::new();
        trace.client_sends(&[query_extension(b"AAAA"), query_extension(b"BBBB")]);
        trace.wait(50).server_sends(&[reply(1), reply(2)]);
        assert_eq!(findings(&trace, ExtensionQueries::default()), []);
    }
}
