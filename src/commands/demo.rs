//! Owns `kpodtrace demo`, and the screen on an input of one's own.
//! It must not draw.

use super::{Failure, Outcome, input};
use crate::cli::{Input, ScreenArgs};

pub(super) fn run(input: &Input, args: &ScreenArgs) -> Result<Outcome, Failure> {
    _ = (input, args);
    Err(Failure::unseen("the screen: it is not built yet", "kpodtrace pods --from PATH"))
}

pub(super) fn screen(input: &Input) -> Result<Outcome, Failure> {
    _ = input::open(input)?;
    Err(Failure::unseen("the screen: it is not built yet", "kpodtrace pods --from PATH"))
}
