//! Columns of the pod table by name, and sorting by one of them.

use std::cmp::{Ordering, Reverse};

use super::Row;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// All, from left to right.
    pub const ALL: [Column; 10] = [Name, Ready, Status, Pipeline, Stage, InStage, Restarts, Age, Next, Why];

    /// The name in `--sort` and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Name => "name",
            Ready => "ready",
            Status => "status",
            Pipeline => "pipeline",
            Stage => "stage",
            InStage => "in-stage",
            Restarts => "restarts",
            Age => "age",
            Next => "next",
            Why => "why",
        }
    }

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

    /// The column of that name.
    ///
    /// # Errors
    /// Names the accepted values.
    pub fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|c| c.name() == name);
        found.ok_or_else(|| format!("unknown column {name:?} (available: {})", Self::ALL.map(Self::name).join(", ")))
    }

    /// The largest comes first, unless reversed.
    pub fn is_largest_first(self) -> bool {
        matches!(self, InStage | Restarts)
    }
}

/// Name of the order by severity, worst first.
pub const SEVERITY: &str = "severity";

/// The order of rows: by severity, worst first, or by a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sort {
    /// The column; None for severity.
    pub by: Option<Column>,
    /// In reverse order.
    pub reversed: bool,
}

impl Sort {
    /// [`SEVERITY`] or a column's name, with `-` before it for the reverse order.
    ///
    /// # Errors
    /// Names the accepted values.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (reversed, name) = text.strip_prefix('-').map_or((false, text), |name| (true, name));
        match name {
            SEVERITY | "trouble" => Ok(Self { by: None, reversed }),
            name => match Column::parse(name) {
                Ok(by) => Ok(Self { by: Some(by), reversed }),
                Err(why) => Err(format!("{}, {SEVERITY})", why.trim_end_matches(')'))),
            },
        }
    }

    /// The name that `parse` reads.
    pub fn name(self) -> String {
        let name = self.by.map_or(SEVERITY, Column::name);
        if self.reversed { format!("-{name}") } else { name.to_owned() }
    }

    /// Largest value first.
    pub fn is_descending(self) -> bool {
        self.by.is_some_and(Column::is_largest_first) != self.reversed
    }

    /// The order of two rows. Unknown values come last in both directions; equal rows keep the order by health.
    pub fn compare(self, a: &Row, b: &Row) -> Ordering {
        let Some(by) = self.by else {
            return if self.reversed { a.health.cmp(&b.health) } else { Ordering::Equal };
        };
        let known = |row: &Row| match by {
            InStage => row.in_stage_for.is_some(),
            Age => row.created.is_some(),
            Next => row.next_at.is_some(),
            Why => !row.why.is_empty(),
            Ready => row.missing_and_ready().is_some(),
            _ => true,
        };
        let ready_order = |row: &Row| row.missing_and_ready().map(|(missing, ready)| (Reverse(missing), ready));
        let order = match by {
            Name => (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)),
            // By what is missing: of two that lack as much, the one with less is worse.
            Ready => ready_order(a).cmp(&ready_order(b)),
            Status => a.status.cmp(&b.status),
            Pipeline | Stage => a.stage.cmp(&b.stage),
            InStage => a.in_stage_for.cmp(&b.in_stage_for),
            Restarts => a.restarts_so_far.cmp(&b.restarts_so_far),
            // The youngest first: what came last is what has changed.
            Age => b.created.cmp(&a.created),
            Next => a.next_at.cmp(&b.next_at),
            Why => a.why.cmp(&b.why),
        };
        let order = if self.is_descending() { order.reverse() } else { order };
        known(b).cmp(&known(a)).then(order)
    }
}
