//! Windows that come, go and change among many siblings, over other windows, and as large ones: what
//! each of these adds to the same for a small window of few siblings.

use x11rb_protocol::protocol::xproto::{
    Circulate, CirculateWindowRequest, MapSubwindowsRequest, MapWindowRequest, StackMode, Window,
};

use super::windows::{
    CHANGES, ChangingWindow, Ground, PLACE, SIDE, cell, child_at, children, create, map, parents,
    phase, side_for, unmap,
};
use crate::error::MeasureError;
use crate::server::client::{ARENA, Client};
use crate::server::wire::core;
use crate::workloads::loads::Loads;

/// Siblings of a window among many, and windows under one that covers them: as many as a panel of
/// buttons or an icon view of a toolkit has windows.
const CROWD: u16 = 64;
/// How far windows down a diagonal are apart, in pixels: none shares a row of pixels with another.
const STEP: u16 = 3;
/// Side of a large window, in pixels.
const LARGE: u16 = 100;
/// Windows that hide each other in part: how many, of what side, how far apart. Two, many that
/// hide few each, and some that hide many each; and none.
const CASCADES: [(u16, u16, u16); 4] = [(2, 8, 3), (CROWD, 4, 1), (16, 30, 3), (0, 0, 0)];

/// Adds the loads.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    among(client, loads)?;
    staggered(client, loads)?;
    over(client, loads)?;
    large(client, loads)?;
    for cascade in CASCADES {
        circulation(client, loads, cascade)?;
    }
    Ok(())
}

/// This many parents at most, full of mapped children; those, and the children in order.
fn crowds(
    client: &mut Client,
    ground: Ground,
    most: u16,
) -> Result<(Vec<Window>, Vec<Window>), MeasureError> {
    let homes = parents(client, ground, CROWD, most)?;
    let (ids, born) = children(client, &homes, CROWD);
    for request in born {
        client.send_bytes(&request)?;
    }
    for window in &homes {
        client.send(MapSubwindowsRequest { window: *window })?;
    }
    Ok((homes, ids))
}

/// Beside many siblings. As programs do they come and go one after the other: what is seen of the
/// parent is in more pieces then than where one goes and comes by itself.
fn among(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let ground = Ground::new(client, true)?;
    let (_, ids) = crowds(client, ground, 1)?;
    let actors = (0..).zip(ids).map(|(place, id)| ChangingWindow {
        id,
        at: child_at(place, CROWD),
        side: SIDE,
    });
    all_go_and_come(loads, ground, &actors.collect::<Vec<_>>());
    Ok(())
}

/// Loads in which mapped windows are all unmapped and then mapped again, and changed.
fn all_go_and_come(loads: &mut Loads, ground: Ground, actors: &[ChangingWindow]) {
    let each =
        |request: fn(&Window) -> Vec<u8>| phase(actors.iter().map(|window| request(&window.id)));
    loads.push(ground.load([each(unmap), each(map)]));
    ground.change(loads, actors, StackMode::ABOVE);
}

/// Beside as many of which no two are in line: what is seen of the parent is in more pieces.
fn staggered(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let ground = Ground::new(client, true)?;
    let all = (0..CROWD).map(|index| (ground.window, diagonal(index * STEP)));
    let actors = grown(client, all, STEP - 1)?;
    all_go_and_come(loads, ground, &actors);
    Ok(())
}

/// Over many others.
fn over(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let ground = Ground::new(client, true)?;
    let (homes, _) = crowds(client, ground, u16::MAX)?;
    let side = side_for(CROWD) - PLACE;
    let actors = grown(client, homes.into_iter().map(|home| (home, (0, 0))), side)?;
    come_and_go(loads, ground, &actors, StackMode::BELOW);
    Ok(())
}

/// Large, beside few.
fn large(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let ground = Ground::new(client, true)?;
    let place = ARENA / 2;
    let all = (0..4).map(|at| (ground.window, cell(at, place, ARENA)));
    let actors = grown(client, all, LARGE)?;
    come_and_go(loads, ground, &actors, StackMode::ABOVE);
    Ok(())
}

/// A mapped window in each of these parents.
fn grown(
    client: &mut Client,
    all: impl Iterator<Item = (Window, (i16, i16))>,
    side: u16,
) -> Result<Vec<ChangingWindow>, MeasureError> {
    let mut actors = Vec::new();
    for (home, at) in all {
        let id = client.id();
        client.send_bytes(&create(id, home, at, side))?;
        client.send(MapWindowRequest { window: id })?;
        actors.push(ChangingWindow { id, at, side });
    }
    Ok(actors)
}

/// Loads in which mapped windows are unmapped and mapped again, and changed. There are too few of
/// them to unmap all before the first is mapped: the end of a batch would outweigh them.
fn come_and_go(loads: &mut Loads, ground: Ground, actors: &[ChangingWindow], lowest: StackMode) {
    let turns = (0..CHANGES).flat_map(|_| actors);
    let mut phase = phase(turns.flat_map(|window| [unmap(&window.id), map(&window.id)]));
    phase.kinds = 2;
    loads.push(ground.load([phase]));
    ground.change(loads, actors, lowest);
}

/// The lowest of some windows of that side, which lie down a diagonal, is
/// raised: each hides the one before.
fn circulation(
    client: &mut Client,
    loads: &mut Loads,
    (count, side, apart): (u16, u16, u16),
) -> Result<(), MeasureError> {
    let ground = Ground::new(client, true)?;
    let parents = parents(client, ground, CROWD, 1)?;
    let Some(&window) = parents.first() else {
        return Ok(());
    };
    let places = (0..count).map(|index| (window, diagonal(index * apart)));
    grown(client, places, side)?;
    let raise_lowest = core(CirculateWindowRequest {
        direction: Circulate::RAISE_LOWEST,
        window,
    });
    let unit = (0..CHANGES * CHANGES).map(|_| raise_lowest.clone());
    loads.push(ground.load([phase(unit)]));
    Ok(())
}

fn diagonal(at: u16) -> (i16, i16) {
    (at.cast_signed(), at.cast_signed())
}
