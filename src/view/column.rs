//! Owns which columns a table of pods can have, by name, and the order of rows by one of them.
//! It must not format a cell: a row has it.

use std::cmp::Ordering;

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

    /// As it is written in `--sort` and in the configuration.
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
    /// The names there are.
    pub fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|c| c.name() == name);
        found.ok_or_else(|| format!("no column {name:?}; they are {}", Self::ALL.map(Self::name).join(", ")))
    }

    /// The largest comes first, unless reversed: what is longest and most often is looked for.
    pub fn is_largest_first(self) -> bool {
        matches!(self, InStage | Restarts)
    }
}

/// The order of rows: trouble first, or by a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sort {
    /// The column; None for trouble first.
    pub by: Option<Column>,
    /// The other way round.
    pub reversed: bool,
}

impl Sort {
    /// `trouble` or a column's name, with `-` before it for the other way round.
    ///
    /// # Errors
    /// The names there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (reversed, name) = text.strip_prefix('-').map_or((false, text), |name| (true, name));
        match name {
            "trouble" => Ok(Self { by: None, reversed }),
            name => match Column::parse(name) {
                Ok(by) => Ok(Self { by: Some(by), reversed }),
                Err(why) => Err(format!("{why}, trouble")),
            },
        }
    }

    /// As it is read.
    pub fn name(self) -> String {
        let name = self.by.map_or("trouble", Column::name);
        if self.reversed { format!("-{name}") } else { name.to_owned() }
    }

    /// Largest first, as it is now.
    pub fn is_descending(self) -> bool {
        self.by.is_some_and(Column::is_largest_first) != self.reversed
    }

    /// The order of two rows. What is unknown comes last, either way; equal ones keep the order of trouble.
    pub fn compare(self, a: &Row, b: &Row) -> Ordering {
        let Some(by) = self.by else {
            return if self.reversed { a.health.cmp(&b.health) } else { Ordering::Equal };
        };
        let known = |row: &Row| match by {
            InStage => row.in_stage_for.is_some(),
            Age => row.created.is_some(),
            Next => row.next_at.is_some(),
            Why => !row.why.is_empty(),
            _ => true,
        };
        let order = match by {
            Name => (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)),
            // By what is missing: of two that lack as much, the one with less is worse.
            Ready => (b.missing(), a.ready_of.0).cmp(&(a.missing(), b.ready_of.0)),
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
