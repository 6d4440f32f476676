//! Parts of the screen that several panes use.

pub mod cells;
pub mod chosen_step;
pub mod footer;
pub mod header;
pub mod scroll;
pub mod sections;
pub mod sparkline;
pub mod steps;
pub mod tabs;
