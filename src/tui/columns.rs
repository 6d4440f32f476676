//! Owns which columns the table has at a width, and how wide each is.
//! It must not look at a row: widths come from what is widest, so that scrolling moves nothing sideways.

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Column {
    Name,
    Ready,
    Status,
    Pipeline,
    Stage,
    InStage,
    Restarts,
    Age,
    Next,
    Why,
}

use Column::{Age, InStage, Name, Next, Pipeline, Ready, Restarts, Stage, Status, Why};

impl Column {
    /// Its heading.
    pub fn heading(self) -> &'static str {
        match self {
            Name => "NAMESPACE/POD",
            Ready => "READY",
            Status => "STATUS",
            Pipeline => "PIPELINE",
            Stage => "STAGE",
            InStage => "IN STAGE",
            Restarts => "RESTARTS",
            Age => "AGE",
            Next => "NEXT",
            Why => "WHY",
        }
    }

    fn least(self) -> usize {
        match self {
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
}

/// Always there, from the narrowest screen on.
const ALWAYS: [Column; 5] = [Name, Ready, Status, Pipeline, InStage];
/// Added while there is room, in this order.
const IF_ROOM: [Column; 5] = [Stage, Why, Next, Age, Restarts];
/// From left to right.
const ORDER: [Column; 10] = [Name, Ready, Status, Pipeline, Stage, InStage, Restarts, Age, Next, Why];
/// What the name and the status are given before a column that is not always there.
const COMFORT: (usize, usize) = (24, 17);

/// The columns for `cells` cells, from left to right, with one space between them. `widest` are the widest name and
/// STATUS there are.
pub fn columns(cells: usize, widest: (usize, usize)) -> Vec<(Column, usize)> {
    let mut chosen: Vec<(Column, usize)> = ALWAYS.iter().map(|&c| (c, c.least())).collect();
    let mut left = cells.saturating_sub(chosen.iter().map(|(_, w)| w + 1).sum::<usize>().saturating_sub(1));
    for column in IF_ROOM {
        let need = column.least() + 1;
        if need > left {
            break;
        }
        left -= need;
        chosen.push((column, column.least()));
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
    chosen.sort_by_key(|(c, _)| ORDER.iter().position(|o| o == c));
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
            let chosen = columns(cells, (60, 30));
            let used = chosen.iter().map(|(_, w)| w + 1).sum::<usize>() - 1;
            assert!(used <= cells, "{cells}: {chosen:?}");
            assert!(chosen.len() >= before, "{cells}");
            before = chosen.len();
        }
        let names = |cells| columns(cells, (60, 30)).into_iter().map(|(c, _)| c).collect::<Vec<_>>();
        assert_eq!(names(79), [Name, Ready, Status, Pipeline, Stage, InStage]);
        assert_eq!(names(159).len(), 10);
    }
}
