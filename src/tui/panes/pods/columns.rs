//! Column widths of the table. They depend on the widest values, so scrolling moves no column.

use crate::view::Column;
use Column::{Age, InStage, Name, Next, Pipeline, Ready, Restarts, Stage, Status, Why};

/// Smallest width, cells.
fn least(column: Column) -> usize {
    match column {
        Name => 18,
        Ready => 5,
        Status | Pipeline => 12,
        Stage => 11,
        InStage => 8,
        Restarts => 13,
        Age => 6,
        Next => 17,
        Why => 20,
    }
}

/// Visible at every width.
const ALWAYS: [Column; 5] = [Name, Ready, Status, Pipeline, InStage];
/// Added in this order while they fit.
const IF_ROOM: [Column; 5] = [Stage, Why, Next, Age, Restarts];
/// Widths of name and status before optional columns are added.
const COMFORT: (usize, usize) = (24, 17);

/// The `wanted` columns that fit in `cells` cells, in their order, with one space between them. `widest` are the widths of
/// the longest name and STATUS.
pub fn columns(cells: usize, widest: (usize, usize), wanted: &[Column]) -> Vec<(Column, usize)> {
    let wants = |c: &&Column| wanted.contains(c);
    let mut chosen: Vec<(Column, usize)> = ALWAYS.iter().filter(wants).map(|&c| (c, least(c))).collect();
    let mut left = cells.saturating_sub(chosen.iter().map(|(_, w)| w + 1).sum::<usize>().saturating_sub(1));
    for &column in IF_ROOM.iter().filter(wants) {
        let need = least(column) + 1;
        if need > left {
            break;
        }
        left -= need;
        chosen.push((column, least(column)));
        if column == Stage {
            grow(&mut chosen, Status, COMFORT.1, &mut left);
            grow(&mut chosen, Name, COMFORT.0, &mut left);
        }
    }
    grow(&mut chosen, Status, widest.1.min(20), &mut left);
    grow(&mut chosen, Why, 30, &mut left);
    grow(&mut chosen, Name, widest.0.min(40), &mut left);
    grow(&mut chosen, Next, 21, &mut left);
    // `<unknown>`
    grow(&mut chosen, Age, 9, &mut left);
    grow(&mut chosen, Status, widest.1.min(26), &mut left);
    grow(&mut chosen, Why, 80, &mut left);
    grow(&mut chosen, Name, widest.0.min(100), &mut left);
    grow(&mut chosen, Why, usize::MAX, &mut left);
    chosen.sort_by_key(|(c, _)| wanted.iter().position(|w| w == c));
    chosen
}

fn grow(chosen: &mut [(Column, usize)], column: Column, to: usize, left: &mut usize) {
    if let Some((_, width)) = chosen.iter_mut().find(|(c, _)| *c == column) {
        let more = to.saturating_sub(*width).min(*left);
        *width += more;
        *left -= more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_and_more_room_never_takes_one_away() {
        let mut before = 0;
        for cells in 59..400 {
            let chosen = columns(cells, (60, 30), &Column::ALL);
            let used = chosen.iter().map(|(_, w)| w + 1).sum::<usize>() - 1;
            assert!(used <= cells, "{cells}: {chosen:?}");
            assert!(chosen.len() >= before, "{cells}");
            before = chosen.len();
        }
        let names = |cells| columns(cells, (60, 30), &Column::ALL).into_iter().map(|(c, _)| c).collect::<Vec<_>>();
        assert_eq!(names(79), [Name, Ready, Status, Pipeline, Stage, InStage]);
        assert_eq!(names(159).len(), 10);
        let own = |cells| columns(cells, (60, 30), &[Why, Age, Name]).into_iter().map(|(c, _)| c).collect::<Vec<_>>();
        assert_eq!((own(159), own(59)), (vec![Why, Age, Name], vec![Why, Age, Name]), "which, and in which order");
        assert!(columns(159, (60, 30), &[]).is_empty());
    }
}
