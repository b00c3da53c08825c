//! Windows that come, go and change among many siblings, over other windows, and as large ones: what
//! each of these adds to the same for a small window of few siblings.

use x11rb_protocol::protocol::xproto::{
    Circulate, CirculateWindowRequest, MapSubwindowsRequest, MapWindowRequest, StackMode, Window,
};

use super::windows::{
    Actor, CHANGES, Ground, PLACE, SIDE, cell, child_at, children, create, destroy, map, parents,
    phase, side_for, unmap,
};
use crate::error::MeasureError;
use crate::loads::Loads;
use crate::stage::{ARENA, Stage};
use crate::wire::core;

/// Siblings of a window among many, and windows under one that covers them: as many as a panel of
/// buttons or an icon view of a toolkit has windows.
const CROWD: u16 = 64;
/// How many of them stand in a row.
const ROW: u16 = 8;
/// Of those, every so many-th changes.
const EVERY: usize = 16;
/// Side of a large window, in pixels.
const LARGE: u16 = 100;
/// Windows that hide each other in part.
const STACK: i16 = 16;

/// Adds the loads.
pub(super) fn add(stage: &mut Stage, loads: &mut Loads) -> Result<(), MeasureError> {
    among(stage, loads)?;
    over(stage, loads)?;
    large(stage, loads)?;
    circulation(stage, loads, 2, 0)?;
    circulation(stage, loads, 2, CROWD - ROW)?;
    circulation(stage, loads, STACK, 0)?;
    circulation(stage, loads, 0, 0)
}

/// A window and its parent.
type Child = (Window, Actor);

/// Parents full of mapped children; those, and the children in order.
fn crowds(stage: &mut Stage, ground: Ground) -> Result<(Vec<Window>, Vec<Window>), MeasureError> {
    let homes = parents(stage, ground, CROWD, u16::MAX)?;
    let (ids, born) = children(stage, &homes, CROWD);
    for request in born {
        stage.send_bytes(&request)?;
    }
    for window in &homes {
        stage.send(MapSubwindowsRequest { window: *window })?;
    }
    Ok((homes, ids))
}

/// Beside many siblings.
fn among(stage: &mut Stage, loads: &mut Loads) -> Result<(), MeasureError> {
    let ground = Ground::new(stage, true)?;
    let (homes, ids) = crowds(stage, ground)?;
    let places = homes
        .iter()
        .flat_map(|home| (0..CROWD).map(|at| (*home, at)));
    let all = ids.iter().zip(places).step_by(EVERY);
    let actors: Vec<Child> = all
        .map(|(id, (home, place))| {
            let at = child_at(place, CROWD);
            (
                home,
                Actor {
                    id: *id,
                    at,
                    side: SIDE,
                },
            )
        })
        .collect();
    come_and_go(loads, ground, &actors, StackMode::ABOVE);
    Ok(())
}

/// Over many others.
fn over(stage: &mut Stage, loads: &mut Loads) -> Result<(), MeasureError> {
    let ground = Ground::new(stage, true)?;
    let (homes, _) = crowds(stage, ground)?;
    let side = side_for(CROWD) - PLACE;
    let actors = grown(stage, homes.into_iter().map(|home| (home, (0, 0))), side)?;
    come_and_go(loads, ground, &actors, StackMode::BELOW);
    Ok(())
}

/// Large, beside few.
fn large(stage: &mut Stage, loads: &mut Loads) -> Result<(), MeasureError> {
    let ground = Ground::new(stage, true)?;
    let place = ARENA / 2;
    let all = (0..4).map(|it| (ground.window, cell(it, place, ARENA)));
    let actors = grown(stage, all, LARGE)?;
    come_and_go(loads, ground, &actors, StackMode::ABOVE);
    Ok(())
}

/// A mapped window in each of these parents.
fn grown(
    stage: &mut Stage,
    all: impl Iterator<Item = (Window, (i16, i16))>,
    side: u16,
) -> Result<Vec<Child>, MeasureError> {
    let mut actors = Vec::new();
    for (home, at) in all {
        let id = stage.id();
        stage.send_bytes(&create(id, home, at, side))?;
        stage.send(MapWindowRequest { window: id })?;
        actors.push((home, Actor { id, at, side }));
    }
    Ok(actors)
}

/// Loads in which mapped windows are unmapped and mapped, destroyed and made again, and changed.
fn come_and_go(loads: &mut Loads, ground: Ground, all: &[Child], lowest: StackMode) {
    let each = |request: &dyn Fn(&Child) -> Vec<u8>| phase(all.iter().map(request));
    let (map, unmap) = (|it: &Child| map(&it.1.id), |it: &Child| unmap(&it.1.id));
    let destroy = |it: &Child| destroy(&it.1.id);
    let born = |(home, Actor { id, at, side }): &Child| create(*id, *home, *at, *side);
    loads.push(ground.load([each(&unmap), each(&map)]));
    loads.push(ground.load([each(&destroy), each(&born), each(&map)]));
    let actors: Vec<Actor> = all.iter().map(|it| it.1).collect();
    ground.change(loads, &actors, lowest);
}

/// The lowest of so many windows that hide each other is raised, beside others that hide none.
fn circulation(
    stage: &mut Stage,
    loads: &mut Loads,
    stacked: i16,
    others: u16,
) -> Result<(), MeasureError> {
    let ground = Ground::new(stage, true)?;
    let parents = parents(stage, ground, CROWD, 1)?;
    let Some(&window) = parents.first() else {
        return Ok(());
    };
    let (beside, born) = children(stage, &parents, others);
    for request in born.into_iter().chain(beside.iter().map(map)) {
        stage.send_bytes(&request)?;
    }
    // In a row that the others leave, half a window beside each other.
    let row = if others == 0 {
        0
    } else {
        side_for(CROWD) - PLACE
    };
    for index in 0..stacked {
        let id = stage.id();
        let (x, y) = (index % 2 * 4 + index / 2, index / 2 + row.cast_signed());
        stage.send_bytes(&create(id, window, (x, y), SIDE))?;
        stage.send(MapWindowRequest { window: id })?;
    }
    let raise_lowest = core(CirculateWindowRequest {
        direction: Circulate::RAISE_LOWEST,
        window,
    });
    let unit = (0..CHANGES * CHANGES).map(|_| raise_lowest.clone());
    loads.push(ground.load([phase(unit)]));
    Ok(())
}
