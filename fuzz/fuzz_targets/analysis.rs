//! Input: the messages of a client and its server after the setup, one message per read, and context switches. Runs
//! every analysis with the parameters of two servers: one without and one with deferred screen updates.
#![no_main]

use std::sync::LazyLock;

use x11prof_analyzer::{
    Comparison, EpisodeOptions, Episodes, EpisodesReport, FRAME_MS, GrabReport, Pipeline, Profile,
    ProfileReport, ResourceReport, Resources, Stalls, StallsReport, Statistics, StatisticsReport,
    TraceSummary,
};
use x11prof_audit::{Pages, audit};
use x11prof_cost_model::{Network, ServerParameters, Substitutions, built_in};
use x11prof_trace::{
    Block, ConnectionId, Control, CpuTime, Direction, ExtensionOpcodes, Opened, Record, Server,
    Switch, SwitchKind, Timestamp,
};

/// The synthetic server and its client.
const SERVER_PID: u32 = 10;
const CLIENT_PID: u32 = 20;
/// The recorded server's root window, its visual, and the client's first resource id.
const ROOT: u32 = 0x100;
const VISUAL: u32 = 0x102;
const BASE: u32 = 0x20_0000;

/// Extensions in the order of their opcodes, from 128.
const EXTENSIONS: [&str; 20] = [
    "RENDER",
    "MIT-SHM",
    "XFIXES",
    "Composite",
    "DAMAGE",
    "Present",
    "XInputExtension",
    "SHAPE",
    "RANDR",
    "SYNC",
    "XTEST",
    "XKEYBOARD",
    "BIG-REQUESTS",
    "DRI3",
    "X-Resource",
    "GLX",
    "XVideo",
    "DOUBLE-BUFFER",
    "XINERAMA",
    "RECORD",
];

/// Parameters of an Xvfb and of an Xvnc, with only one in eight costs, because each execution builds tables
/// of them.
static PARAMETERS: LazyLock<Vec<ServerParameters>> = LazyLock::new(|| {
    let wanted = |name: &str| ["xvfb-24", "xvnc"].contains(&name);
    let servers = built_in().iter().filter(|server| wanted(server.name));
    let few = |mut parameters: ServerParameters| {
        let mut number = 0;
        parameters.requests.retain(|_| {
            number += 1;
            number % 8 == 1
        });
        parameters
    };
    servers
        .map(|server| few(server.parameters().expect("built in")))
        .collect()
});
static SUBSTITUTIONS: LazyLock<Substitutions> = LazyLock::new(Substitutions::default);

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let records = records(bytes);
    let summary = observed(&records, Pipeline::new(), |_| {});
    let profiles: Vec<ProfileReport> = PARAMETERS
        .iter()
        .map(|parameters| {
            let mut profile = Profile::new(parameters, &SUBSTITUTIONS);
            observed(&records, Pipeline::new(), |observation| {
                profile.observe(observation)
            });
            ProfileReport::new("fuzz", &summary, &profile, &Network::NONE)
        })
        .collect();
    for report in &profiles {
        let (low, high) = (report.total.low_ms, report.total.high_ms);
        assert!(low <= high, "{low:?} {high:?}");
        assert!(report.total.server_ms.is_finite());
    }
    drop(Comparison::new(&profiles));

    let mut statistics = Statistics::new(Vec::new());
    let mut resources = Resources::default();
    let mut stalls = Stalls::new(&PARAMETERS[0], &SUBSTITUTIONS, FRAME_MS);
    let mut episodes = Episodes::new(&EpisodeOptions::default());
    observed(&records, Pipeline::new(), |observation| {
        statistics.observe(observation);
        resources.observe(observation);
        stalls.observe(observation);
        episodes.observe(observation);
    });
    let statistics = StatisticsReport::new("fuzz", &statistics, false);
    drop(ResourceReport::new(&resources, &summary));
    let page = x11prof_views::Page::default();
    drop(x11prof_views::stalls::grabs(
        &GrabReport::new(stalls.grabs(), &summary),
        &page,
    ));
    drop(x11prof_views::stalls::text(
        &StallsReport::new(&stalls, &summary),
        &page,
    ));
    let episodes = EpisodesReport::new("fuzz", &summary, &episodes.finish());

    // All pages must be consistent, whatever was recorded. The clocks of a synthetic recording do not match its
    // context switches.
    let is_clock = |record: &Record| matches!(record, Record::Control(_, Control::CpuTime(_)));
    if records.iter().any(is_clock) {
        return;
    }
    let mut pages = Pages::default();
    add(&mut pages, "report", &profiles[0]);
    add(&mut pages, "episodes", &episodes);
    add(&mut pages, "stats", &statistics);
    let audit = audit(&pages);
    assert!(audit.violations.is_empty(), "{audit}");
});

/// Adds a report as JSON.
fn add(pages: &mut Pages, name: &str, report: &impl serde::Serialize) {
    let json = serde_json::to_string(report).expect("a report is JSON");
    pages.add(name, "json", &json).expect("JSON is read");
}

/// Feeds `records` to `pipeline`, and the resulting observations to `on`.
fn observed(
    records: &[Record],
    mut pipeline: Pipeline,
    mut on: impl FnMut(&x11prof_analyzer::Observation<'_>),
) -> TraceSummary {
    let mut summary = TraceSummary::default();
    pipeline.run_records(records.iter().cloned(), |observation| {
        summary.observe(observation);
        on(observation);
    });
    summary
}

/// A recording of one client with the messages in `bytes`.
fn records(bytes: &[u8]) -> Vec<Record> {
    let mut recording = Recording::begun();
    for (server, read) in x11prof_proxy::fuzzing::reads(bytes) {
        match (server, read) {
            (_, []) => recording.later(1),
            (true, [first, second, third, _]) => recording.ran(*first, *second, *third),
            (true, read) => recording.server_says(read),
            (false, read) => recording.client_says(read),
        }
    }
    recording.control(Control::Ended { exit_status: None });
    recording.records
}

/// A recording under construction.
struct Recording {
    records: Vec<Record>,
    now: u64,
    offsets: [u64; 2],
    requests: u16,
}

impl Recording {
    /// A recording whose client has just connected.
    fn begun() -> Recording {
        let mut recording = Recording {
            records: Vec::new(),
            now: 1_000_000_000,
            offsets: [0; 2],
            requests: 0,
        };
        recording.control(Control::Server(Server {
            display: ":1".to_owned(),
            vendor: "Test".to_owned(),
            depth: 24,
            screen: (640, 480),
            pid: Some(SERVER_PID),
            ..Server::default()
        }));
        let extensions = EXTENSIONS
            .iter()
            .zip(0..)
            .map(|(name, at)| ExtensionOpcodes {
                name: (*name).to_owned(),
                major: 128 + at,
                first_event: 64 + 3 * at,
                first_error: 128 + 5 * at,
            });
        recording.control(Control::Extensions {
            extensions: extensions.collect(),
        });
        recording.control(Control::Opened(Opened {
            connection: ConnectionId(1),
            transport: "unix".to_owned(),
            pid: Some(CLIENT_PID),
            name: Some("xtex".to_owned()),
            command: Vec::new(),
            started_ns: None,
        }));
        recording.block(
            Direction::ToServer,
            vec![b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        );
        recording.block(Direction::ToClient, server_setup());
        recording
    }

    fn control(&mut self, control: Control) {
        let time = Timestamp::from_nanos(self.now);
        self.records.push(Record::Control(time, control));
    }

    fn later(&mut self, milliseconds: u64) {
        self.now += milliseconds * 1_000_000;
    }

    /// A context switch of the server, the client or another process, sometimes with their CPU clocks.
    fn ran(&mut self, who: u8, kind: u8, later: u8) {
        self.now += u64::from(later) * 3_000;
        let pid = [SERVER_PID, CLIENT_PID, 30][usize::from(who % 3)];
        let kinds = [SwitchKind::In, SwitchKind::Blocked, SwitchKind::Preempted];
        self.records.push(Record::Schedule(vec![Switch {
            time: Timestamp::from_nanos(self.now),
            pid,
            tid: pid,
            cpu: u16::from(who >> 6),
            kind: kinds[usize::from(kind % 3)],
        }]));
        if kind > 200 {
            self.control(Control::CpuTime(CpuTime {
                pid,
                cpu_ns: self.now / 2,
                voluntary_switches: None,
                involuntary_switches: None,
            }));
        }
    }

    /// A request with arbitrary bytes and a correct length.
    fn client_says(&mut self, read: &[u8]) {
        let mut request = read.to_vec();
        let units = (request.len() / 4) as u16;
        if let Some(length) = request.get_mut(2..4) {
            length.copy_from_slice(&units.to_le_bytes());
        }
        request.truncate(usize::from(units) * 4);
        if !request.is_empty() {
            self.requests = self.requests.wrapping_add(1);
            self.block(Direction::ToServer, request);
        }
    }

    /// An event, an error, or a reply to the last request.
    fn server_says(&mut self, read: &[u8]) {
        let mut message = read.to_vec();
        message.resize(message.len().next_multiple_of(4).max(32), 0);
        let carries = message[0] == 1 || message[0] & 0x7F == 35;
        if !carries {
            message.truncate(32);
        } else {
            let units = (message.len() / 4 - 8) as u32;
            message[4..8].copy_from_slice(&units.to_le_bytes());
        }
        message[2..4].copy_from_slice(&self.requests.to_le_bytes());
        self.block(Direction::ToClient, message);
    }

    fn block(&mut self, direction: Direction, bytes: Vec<u8>) {
        self.now += 2_000;
        let offset = &mut self.offsets[usize::from(direction == Direction::ToClient)];
        let block = Block {
            time: Timestamp::from_nanos(self.now),
            connection: ConnectionId(1),
            direction,
            offset: *offset,
            wire_len: bytes.len() as u32,
            fds: 0,
            gaps: Vec::new(),
            bytes: bytes.into(),
        };
        *offset += u64::from(block.wire_len);
        self.records.push(Record::Block(block));
    }
}

/// A setup reply with one 640×480 screen of 24 bits with one visual.
fn server_setup() -> Vec<u8> {
    let words = |words: &[u32]| {
        words
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    [
        vec![1, 0, 11, 0, 0, 0, 26, 0],
        words(&[1, BASE, 0x1F_FFFF, 256]),
        // No vendor, requests of up to 65535 units, one screen, one pixmap format.
        vec![0, 0, 0xFF, 0xFF, 1, 1, 0, 0, 32, 32, 8, 255, 0, 0, 0, 0],
        vec![24, 32, 32, 0, 0, 0, 0, 0],
        words(&[
            ROOT,
            0x101,
            1,
            0,
            0,
            640 | 480 << 16,
            0,
            1 | 1 << 16,
            VISUAL,
        ]),
        vec![0, 0, 24, 1],
        vec![24, 0, 1, 0, 0, 0, 0, 0],
        words(&[VISUAL]),
        vec![4, 8, 0, 1],
        words(&[0xFF_0000, 0xFF00, 0xFF, 0]),
    ]
    .concat()
}
