//! The loads that create, destroy and change windows, by their number and visibility.
//!
//! The windows have siblings, as in dialogs, because the cost of mapping or unmapping grows with the number of windows
//! whose visible parts must be recomputed.

use std::borrow::Cow;

use x11rb_protocol::protocol::xproto::{
    ConfigureWindowAux, ConfigureWindowRequest, CreateWindowAux, CreateWindowRequest,
    DestroySubwindowsRequest, DestroyWindowRequest, MapSubwindowsRequest, MapWindowRequest,
    ReparentWindowRequest, StackMode, UnmapSubwindowsRequest, UnmapWindowRequest, Window,
    WindowClass,
};

use crate::error::MeasureError;
use crate::server::client::{ARENA, Client};
use crate::server::wire::core;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Phase, Sync, Workload};

/// The side of the smallest window, in pixels.
pub(super) const SIDE: u16 = 8;
/// The side in pixels of the cell that a window occupies.
pub(super) const PLACE: u16 = 10;
/// The number of windows side by side in one parent.
const SIBLINGS: u16 = 16;
/// Numbers of children that are mapped or destroyed with their parent: from a dialog to a large window of a toolkit
/// that has no windows for its widgets.
const INFERIORS: [u16; 3] = [4, 16, 64];
/// The number of times that one unit of a load changes and restores a window.
pub(super) const CHANGES: usize = 16;

/// Adds the loads of windows to `loads`.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    single(client, loads, true)?;
    single(client, loads, false)?;
    for inferiors in INFERIORS {
        families(client, loads, inferiors)?;
    }
    for children in [1].into_iter().chain(INFERIORS) {
        subwindows(client, loads, true, children)?;
    }
    subwindows(client, loads, false, 1)?;
    reparented(client, loads, false)?;
    reparented(client, loads, true)?;
    for inferiors in [0].into_iter().chain(INFERIORS) {
        changes(client, loads, true, inferiors)?;
    }
    changes(client, loads, false, 0)
}

/// The parent of the windows of one load. The load raises the parent above its siblings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground {
    pub(super) window: Window,
}

impl Ground {
    /// Creates the parent. The windows in it are visible if `seen` is true.
    pub(super) fn new(client: &mut Client, seen: bool) -> Result<Ground, MeasureError> {
        let window = client.id();
        let parent = if seen { client.arena } else { client.unwatched };
        client.send_bytes(&create(window, parent, (0, 0), ARENA))?;
        client.send(MapWindowRequest { window })?;
        Ok(Ground { window })
    }

    /// Creates a load of these phases, which first raises the parent.
    pub(super) fn load(&self, phases: impl IntoIterator<Item = Phase>) -> Workload {
        let values = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
        let raise = ConfigureWindowRequest {
            window: self.window,
            value_list: Cow::Owned(values),
        };
        Workload::cycle(phases).after(core(raise))
    }
}

/// A window to create: its id, its parent, the number of its cell in the parent, and the side of the cell in pixels.
#[derive(Debug, Clone, Copy)]
struct NewWindow {
    id: Window,
    parent: Window,
    place: u16,
    side: u16,
}

impl NewWindow {
    fn request(&self) -> Vec<u8> {
        let (x, y) = cell(self.place, self.side, ARENA);
        create(self.id, self.parent, (x, y), self.side - (PLACE - SIDE))
    }
}

/// The upper left corner of cell number `place`, in pixels. The cells of side `side` fill a square of side `whole` row
/// by row. Cells that do not fit start again in the first row.
pub(super) fn cell(place: u16, side: u16, whole: u16) -> (i16, i16) {
    let columns = (whole / side.max(1)).max(1);
    let at = |number: u16| (number * side).cast_signed();
    (at(place % columns), at(place / columns % columns))
}

/// The side in pixels of a window that has space for `children` children in a square grid.
pub(super) fn side_for(children: u16) -> u16 {
    let mut columns = 1;
    while columns * columns < children {
        columns += 1;
    }
    columns * PLACE + PLACE - SIDE
}

/// The position of child number `child` in a window that was made for `children` children.
pub(super) fn child_at(child: u16, children: u16) -> (i16, i16) {
    cell(child, PLACE, side_for(children))
}

pub(super) fn create(wid: Window, parent: Window, (x, y): (i16, i16), side: u16) -> Vec<u8> {
    core(CreateWindowRequest {
        wid,
        parent,
        x,
        y,
        width: side,
        height: side,
        class: WindowClass::INPUT_OUTPUT,
        value_list: Cow::Owned(CreateWindowAux::new().background_pixel(0)),
        ..CreateWindowRequest::default()
    })
}

pub(super) fn phase(requests: impl IntoIterator<Item = Vec<u8>>) -> Phase {
    Phase::new(requests, Sync::RoundTrip)
}

pub(super) fn map(window: &Window) -> Vec<u8> {
    core(MapWindowRequest { window: *window })
}

pub(super) fn unmap(window: &Window) -> Vec<u8> {
    core(UnmapWindowRequest { window: *window })
}

fn destroy(window: &Window) -> Vec<u8> {
    core(DestroyWindowRequest { window: *window })
}

/// Creates mapped windows in the parent `ground`, at most `most` and as many as fit, each with space for `children`
/// children. Returns their ids.
pub(super) fn parents(
    client: &mut Client,
    ground: Ground,
    children: u16,
    most: u16,
) -> Result<Vec<Window>, MeasureError> {
    let side = side_for(children);
    let columns = ARENA / side;
    let ids = client.ids(usize::from((columns * columns).clamp(1, most)));
    for (place, id) in (0..).zip(&ids) {
        let parent = ground.window;
        let born = NewWindow {
            id: *id,
            parent,
            place,
            side,
        };
        client.send_bytes(&born.request())?;
        client.send_bytes(&map(id))?;
    }
    Ok(ids)
}

/// The ids of `count` children of each parent, and the requests that create them.
pub(super) fn children(
    client: &mut Client,
    parents: &[Window],
    count: u16,
) -> (Vec<Window>, Vec<Vec<u8>>) {
    let mut all = (Vec::new(), Vec::new());
    for parent in parents {
        for child in 0..count {
            let id = client.id();
            all.0.push(id);
            all.1
                .push(create(id, *parent, child_at(child, count), SIDE));
        }
    }
    all
}

/// Adds loads of single windows among siblings: windows that are destroyed while unmapped, and while mapped. The
/// windows are visible if `seen` is true.
fn single(client: &mut Client, loads: &mut Loads, seen: bool) -> Result<(), MeasureError> {
    let ground = Ground::new(client, seen)?;
    let parents = parents(client, ground, SIBLINGS, u16::MAX)?;
    let (ids, born) = children(client, &parents, SIBLINGS);
    loads.push(ground.load([
        phase(born.clone()),
        phase(ids.iter().map(map)),
        phase(ids.iter().map(unmap)),
        phase(ids.iter().map(destroy)),
    ]));
    loads.push(ground.load([
        phase(born),
        phase(ids.iter().map(map)),
        phase(ids.iter().map(destroy)),
    ]));
    Ok(())
}

/// Adds loads of windows with inferiors, which are mapped and destroyed together with the window.
fn families(client: &mut Client, loads: &mut Loads, inferiors: u16) -> Result<(), MeasureError> {
    let ground = Ground::new(client, true)?;
    let side = side_for(inferiors);
    let columns = ARENA / side;
    let ids = client.ids(usize::from(columns * columns));
    let parent = ground.window;
    let heads = (0..).zip(&ids).map(|(place, id)| NewWindow {
        id: *id,
        parent,
        place,
        side,
    });
    let mut born: Vec<Vec<u8>> = heads.map(|head| head.request()).collect();
    born.extend(children(client, &ids, inferiors).1);
    let map_inferiors = |window: &Window| core(MapSubwindowsRequest { window: *window });
    loads.push(ground.load([
        phase(born.clone()),
        phase(ids.iter().map(map_inferiors)),
        phase(ids.iter().map(map)),
        phase(ids.iter().map(unmap)),
        phase(ids.iter().map(destroy)),
    ]));
    loads.push(ground.load([
        phase(born),
        phase(ids.iter().map(map_inferiors)),
        phase(ids.iter().map(map)),
        phase(ids.iter().map(destroy)),
    ]));
    Ok(())
}

/// Adds loads in which one request maps, unmaps or destroys all children of a parent.
fn subwindows(
    client: &mut Client,
    loads: &mut Loads,
    seen: bool,
    count: u16,
) -> Result<(), MeasureError> {
    let ground = Ground::new(client, seen)?;
    let parents = parents(client, ground, count, 100)?;
    let born = children(client, &parents, count).1;
    let each =
        |request: &dyn Fn(Window) -> Vec<u8>| phase(parents.iter().map(|parent| request(*parent)));
    let map = |window| core(MapSubwindowsRequest { window });
    let unmap = |window| core(UnmapSubwindowsRequest { window });
    let destroy = |window| core(DestroySubwindowsRequest { window });
    loads.push(ground.load([
        phase(born.clone()),
        each(&map),
        each(&unmap),
        each(&destroy),
    ]));
    loads.push(ground.load([phase(born), each(&map), each(&destroy)]));
    Ok(())
}

/// Adds a load of windows that move from one parent to another and back.
fn reparented(client: &mut Client, loads: &mut Loads, mapped: bool) -> Result<(), MeasureError> {
    let ground = Ground::new(client, true)?;
    let homes = parents(client, ground, SIBLINGS, 8)?;
    let (here, there) = homes.split_at(homes.len() / 2);
    let (ids, born) = children(client, here, SIBLINGS);
    for request in born {
        client.send_bytes(&request)?;
    }
    for window in ids.iter().filter(|_| mapped) {
        client.send_bytes(&map(window))?;
    }
    let moved = |homes: &[Window]| -> Vec<Vec<u8>> {
        let places = homes
            .iter()
            .flat_map(|home| (0..SIBLINGS).map(|child| (*home, child_at(child, SIBLINGS))));
        let all = ids.iter().zip(places);
        let request = |(window, (parent, (x, y))): (&Window, _)| {
            core(ReparentWindowRequest {
                window: *window,
                parent,
                x,
                y,
            })
        };
        all.map(request).collect()
    };
    let there_and_back = [moved(there), moved(here)].concat();
    let unit = (0..CHANGES).flat_map(|_| there_and_back.clone());
    loads.push(ground.load([phase(unit)]));
    Ok(())
}

/// Adds a load for each kind of change by ConfigureWindow, on windows that keep their stacking position.
fn changes(
    client: &mut Client,
    loads: &mut Loads,
    seen: bool,
    inferiors: u16,
) -> Result<(), MeasureError> {
    let ground = Ground::new(client, seen)?;
    let ids = if inferiors == 0 {
        let parents = parents(client, ground, SIBLINGS, 1)?;
        let (ids, born) = children(client, &parents, SIBLINGS);
        for request in born {
            client.send_bytes(&request)?;
        }
        for window in &ids {
            client.send(MapWindowRequest { window: *window })?;
        }
        ids
    } else {
        let ids = parents(client, ground, inferiors, SIBLINGS)?;
        for request in children(client, &ids, inferiors).1 {
            client.send_bytes(&request)?;
        }
        for window in &ids {
            client.send(MapSubwindowsRequest { window: *window })?;
        }
        ids
    };
    let of = |place: u16| match inferiors {
        0 => (child_at(place, SIBLINGS), SIDE),
        _ => {
            let side = side_for(inferiors);
            (cell(place, side, ARENA), side - (PLACE - SIDE))
        }
    };
    let actors = (0..).zip(ids).map(|(place, id)| {
        let (at, side) = of(place);
        ChangingWindow { id, at, side }
    });
    ground.change(loads, &actors.collect::<Vec<_>>(), StackMode::ABOVE);
    Ok(())
}

/// A window that a load changes, with its position in its parent and its side, in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangingWindow {
    pub(super) id: Window,
    pub(super) at: (i16, i16),
    pub(super) side: u16,
}

impl Ground {
    /// Adds a load for each kind of change of the windows `actors` and its reversal. Changes of the stacking order go
    /// from the top to `lowest` and back.
    pub(super) fn change(&self, loads: &mut Loads, actors: &[ChangingWindow], lowest: StackMode) {
        type Change<'a> = &'a dyn Fn(ConfigureWindowAux, ChangingWindow, u16) -> ConfigureWindowAux;
        let moved = |values: ConfigureWindowAux,
                     ChangingWindow { at: (x, y), .. }: ChangingWindow,
                     by: u16| {
            let by = by.cast_signed();
            values.x(i32::from(x + by)).y(i32::from(y + by))
        };
        let resized =
            |values: ConfigureWindowAux, ChangingWindow { side, .. }: ChangingWindow, by: u16| {
                let side = u32::from(side + by);
                values.width(side).height(side)
            };
        let both = |values: ConfigureWindowAux,
                    ChangingWindow {
                        at: (x, y), side, ..
                    }: ChangingWindow,
                    by: u16| {
            let side = u32::from(side + by);
            let values = values.x(i32::from(x + by.cast_signed())).y(i32::from(y));
            values.width(side).height(side)
        };
        let border = |values: ConfigureWindowAux, _: ChangingWindow, by: u16| {
            values.border_width(u32::from(by))
        };
        let restacked = |values: ConfigureWindowAux, _: ChangingWindow, by: u16| {
            values.stack_mode(if by == 0 { StackMode::ABOVE } else { lowest })
        };
        let kinds: [Change<'_>; 5] = [&moved, &resized, &both, &border, &restacked];
        for change in kinds {
            let unit = (0..2 * CHANGES).flat_map(|round| {
                let by = u16::from(round % 2 == 0);
                actors.iter().map(move |actor| {
                    core(ConfigureWindowRequest {
                        window: actor.id,
                        value_list: Cow::Owned(change(ConfigureWindowAux::new(), *actor, by)),
                    })
                })
            });
            loads.push(self.load([phase(unit)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PLACE, SIDE, child_at, side_for};

    #[test]
    fn child_windows_have_distinct_positions_in_the_parent() {
        for children in [1, 4, 16, 64] {
            let side = side_for(children) - (PLACE - SIDE);
            let mut places: Vec<_> = (0..children).map(|at| child_at(at, children)).collect();
            let inside = |at: i16| at >= 0 && at.cast_unsigned() + SIDE <= side;
            assert!(places.iter().all(|(x, y)| inside(*x) && inside(*y)));
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), usize::from(children));
        }
    }
}
