//! Records the clients of a separate display: new clients connect to it, and their connections are relayed.

mod accessibility_bus;
mod open_windows;
mod serve;

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::Builder;

use tokio::sync::mpsc;
use tokio::task::LocalSet;
use x11prof_trace::Control;

use crate::capture::handler_times::HandlerTimes;
use crate::capture::request_stacks::{self, RequestStacks};
use crate::display::authority::{self, Cookie};
use crate::display::display_name::{DisplayName, Endpoint};
use crate::display::link;
use crate::display::listener::{self, Claimed};
use crate::display::server_info::{self, DisplayInfo};
use crate::notice::Notice;
use crate::processes::command::CommandLine;
use crate::processes::signals::Signals;
use crate::recorder::images::ImageRequests;
use crate::recording::config::{self, RecordConfig, Recorded, Stacks};
use crate::recording::record_error::RecordError;
use crate::recording::session::{RecordedServer, RecordingSession, SourceOutcome};
use crate::relay::client::Display;
use crate::relay::connections::Connections;
use crate::relay::event_loop;
use crate::relay::network_emulator::SharedLink;
use crate::relay::rewrites::{Opcodes, Rewrite, TriedRewrites};

/// Records the clients that connect to a separate display, until the command and its windows have ended, or until
/// SIGINT or SIGTERM. Calls `on` for each notice.
pub(crate) fn record(
    config: &RecordConfig,
    mut on: impl FnMut(Notice),
) -> Result<Recorded, RecordError> {
    let system = |what| move |source| RecordError::System { what, source };
    // The server runs until the end of the recording.
    let (link, mut private) = config::target(&config.target)?;
    let DisplayInfo {
        server: about,
        extensions,
        link: probed,
    } = server_info::ask_within(&link, config.time, &mut on)?;
    if config.rewrites.contains(&Rewrite::CurrentResources)
        && !server_info::has_current_resources(&link, &extensions)?
    {
        let display = link.name().to_string();
        return Err(RecordError::NoFix { display });
    }
    let images = ImageRequests::of(&extensions);
    let tried = TriedRewrites::new(&config.rewrites, Opcodes::of(&extensions));
    let measured = match config.link {
        true => Some(link::measure(&link, probed.as_ref())?),
        false => probed,
    };
    let mut first = noted(&tried, |_| None);
    first.extend(config.network.clone().map(Control::Network));
    first.extend(measured.map(Control::Link));
    // From here on a signal must not leave the display's files behind.
    let signals = Signals::new().map_err(system("to handle signals"))?;
    let claimed = listener::claim(config.listen, config.tcp.as_deref())?;
    // tokio would panic if it could not open its files.
    let spare = (0..8).map(|_| File::open("/dev/null"));
    spare
        .collect::<Result<Vec<_>, _>>()
        .map_err(system("files"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("an event loop"))?;
    let (notices, heard) = mpsc::unbounded_channel();
    let reported = notices.clone();
    let server = RecordedServer {
        link: &link,
        timer: match &mut private {
            Some(server) => server.time_handlers(),
            None => about.pid.and_then(HandlerTimes::of_server),
        },
        about,
        extensions,
    };
    let names = [&DisplayName::local(claimed.number()), link.name()];
    let tell = move |what| {
        // Nothing receives notices while the recording is being closed.
        let _ = reported.send(Notice::Trouble(what));
    };
    let mut session = RecordingSession::start(config, server, &names, first, tell, &mut on)?;
    let cookie = Cookie::random().map_err(system("a random cookie"))?;
    let authority = session.dir.path().join("Xauthority");
    // The command may also use other displays.
    let others = authority::users_entries();
    authority::write(&authority, Some(claimed.number()), &cookie, &others)
        .map_err(system("an authority file"))?;
    let requests = config.stacks.contains(&Stacks::Requests).then(|| {
        let numbers = Arc::clone(&session.numbers);
        RequestStacks::start(session.dir.path(), numbers, session.sender.clone())
    });
    let requests = requests
        .transpose()
        .map_err(|why| system("stacks of requests")(std::io::Error::other(why)))?;
    let name = served_name(&claimed, link.name());
    let (relays, source) = event_loop::event_source().map_err(system("an event queue"))?;
    let display = Arc::new(Display {
        link,
        cookie,
        any_user: config.any_user,
        refused_other_user: AtomicBool::new(false),
        disk: session.disk(),
        sender: session.sender.clone(),
        scheduling: Arc::clone(&session.scheduling),
        processes: Arc::clone(&session.clients),
        images,
        lines: config.network.clone().map(SharedLink::new),
        tried,
        notices,
        connections: Connections::default(),
        failed_setups: AtomicU32::new(0),
        relays,
        wait_stacks: session.wait_stacks(),
        no_stacks: AtomicBool::new(false),
    });
    let relaying = Arc::clone(&display);
    Builder::new()
        .name("x11prof-relay".to_owned())
        .spawn(move || relaying.relay_all(source))
        .map_err(system("a thread"))?;
    let command = CommandLine {
        time: config.time,
        words: &config.command,
        until_closed: config.until_closed,
        environment: requests.as_ref().map_or(&[], RequestStacks::environment),
        collect: config.collect.as_deref(),
        to_stderr: config.prints_result,
    };
    let listening = LocalSet::new();
    let served = listening.block_on(
        &runtime,
        serve::serve(
            &display,
            &claimed,
            &command,
            &name,
            &authority,
            (heard, signals),
            &mut on,
        ),
    );
    // No more clients are accepted.
    drop(listening);
    // Only if a client is still connected, there may be an accessibility bus, whose helper stays connected.
    // The address on another machine's display may be that of a bus there.
    let is_local = *display.link.name().endpoint() == Endpoint::Local;
    let may_have_bus = private.is_none() && is_local && !display.connections.none_open();
    display.end();
    if let failed @ 2.. = display.failed_setups.load(Ordering::Relaxed) {
        let what = format!("{failed} connections had no valid setup");
        on(Notice::Trouble(what));
    }
    if may_have_bus {
        // If the server does not reply, the address stays.
        let _ = accessibility_bus::remove_address(&display.link, &name);
    }
    session.end_capture(&mut on);
    let connections = display.connections.accepted();
    let read = requests.map(|requests| request_stacks::tell(requests.end(), connections));
    if let Some(what) = read.flatten() {
        on(Notice::Trouble(what));
    }
    let exit_status = served?;
    for control in noted(&display.tried, Some) {
        session.sender.control(crate::clock::now(), control);
    }
    let outcome = SourceOutcome {
        exit_status,
        bytes: display.connections.bytes.load(Ordering::Relaxed),
        connections,
        tried: display.tried.counts(),
        trouble: Vec::new(),
    };
    Ok(session.finish(outcome, &mut on))
}

/// The records of the rewrites, each with the number of requests that it changed, if known.
fn noted(tried: &TriedRewrites, requests: impl Fn(u64) -> Option<u64>) -> Vec<Control> {
    let tried = tried.counts().into_iter();
    tried
        .map(|(rewrite, count)| Control::Tried {
            fix: rewrite.name().to_owned(),
            requests: requests(count),
        })
        .collect()
}

/// The display's name for clients, with the screen number of the real display's name.
fn served_name(claimed: &Claimed, real: &DisplayName) -> String {
    match real.screen() {
        0 => format!(":{}", claimed.number()),
        screen => format!(":{}.{screen}", claimed.number()),
    }
}
