//! The state that all panes share: which one is open, input mode, messages, theme. Actions are in `act`, drawing in `layout`.

use crate::container_log::{LogCommand, LogUpdate};
use crate::tui::Options;
use crate::tui::input::{InputMode, StatusMessage};
use crate::tui::keys::Context;
use crate::tui::keys::keymap::Keymap;
use crate::tui::pane_table::PaneId;
use crate::tui::panes::Panes;
use crate::tui::panes::pods::PodsPane;
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::Theme;
use crate::tui::widgets::scroll::View;
use crate::view::NodeView;

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    /// The open pane.
    pub pane: PaneId,
    /// The state of every pane.
    pub panes: Panes,
    /// The node at one instant; None until the feed delivers.
    pub screen: Option<ScreenState>,
    /// What keys do now.
    pub mode: InputMode,
    /// The help covers the pane.
    pub help: bool,
    /// First visible line of the help.
    pub help_scroll: usize,
    /// The screen does not follow the feed.
    pub paused: bool,
    /// Credentials in messages and logs are visible.
    pub secrets: bool,
    /// The visible part of what scrolls, in the last frame.
    pub view: View,
    /// Width and height of the last frame, cells.
    pub size: (u16, u16),
    /// The message in the footer.
    pub message: Option<StatusMessage>,
    /// Colors and glyphs.
    pub theme: Theme,
    /// The key bindings.
    pub keymap: Keymap,
    /// The next frame copies what is selected in it.
    pub(super) copying: bool,
    /// Text for the clipboard.
    pub(super) copied: Option<String>,
    /// Commands for the log reader.
    pub(super) log_commands: Vec<LogCommand>,
}

impl App {
    /// The Pods pane, without data.
    pub fn new(theme: Theme, options: &Options) -> Self {
        Self {
            pane: PaneId::Pods,
            panes: Panes { pods: PodsPane::new(options), ..Panes::default() },
            screen: None,
            mode: InputMode::Keys,
            help: false,
            help_scroll: 0,
            paused: false,
            secrets: false,
            view: View::default(),
            size: (0, 0),
            message: None,
            theme,
            keymap: options.keymap.clone(),
            copying: false,
            copied: None,
            log_commands: Vec::new(),
        }
    }

    /// Shows a new state of the node, unless the screen is paused.
    pub fn show(&mut self, node: NodeView, title: &str) {
        if self.paused && self.screen.is_some() {
            return;
        }
        let mut screen = ScreenState::new(node, title);
        self.panes.update(&mut screen);
        self.screen = Some(screen);
    }

    /// The key context.
    pub fn context(&self) -> Context {
        match self.mode {
            _ if self.help => Context::Help,
            InputMode::Filter => Context::FilterInput,
            InputMode::Command(_) => Context::CommandInput,
            InputMode::Keys => self.pane_context(),
        }
    }

    /// The key context of the pane below help and input line.
    pub fn pane_context(&self) -> Context {
        self.panes.get(self.pane).context()
    }

    /// Returns the text for the clipboard once.
    pub fn take_copied(&mut self) -> Option<String> {
        self.copied.take()
    }

    /// Returns the commands for the log reader once.
    pub fn take_log_commands(&mut self) -> Vec<LogCommand> {
        std::mem::take(&mut self.log_commands)
    }

    /// The open log takes updates. While the screen is paused it takes the first lines only.
    pub fn reads_log(&self) -> bool {
        self.panes.pod.log.as_ref().is_some_and(|log| {
            let is_empty = log.lines.is_empty() && log.unavailable.is_empty();
            !self.paused || is_empty
        })
    }

    /// Applies an update of the open log.
    pub fn apply_log_update(&mut self, update: LogUpdate) {
        if let Some(log) = &mut self.panes.pod.log {
            log.apply(update);
        }
    }

    /// Shows a message in the footer.
    pub(super) fn show_message(&mut self, text: impl Into<String>, is_error: bool) {
        self.message = Some(StatusMessage { text: text.into(), is_error });
    }
}
