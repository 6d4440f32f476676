//! Owns how each stage is recognised.
use super::place::Place;
use crate::model::PodFacts;
pub struct Steps<'a> {
    facts: &'a PodFacts,
    minor: u32,
}
impl<'a> Steps<'a> {
    pub fn new(facts: &'a PodFacts, minor: u32) -> Self {
        Self { facts, minor }
    }
    pub fn place(self) -> Place {
        let _ = (self.facts, self.minor);
        unimplemented!()
    }
}
