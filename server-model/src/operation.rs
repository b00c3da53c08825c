//! Operation: a request's fixed part, and f(size) for each of its items.

use x11prof_cost_model::{Cost, CostTable, OperationCost, ServerParameters, Substitutions};
use x11prof_session::Operation;

/// The costs of requests.
pub(crate) struct Operations(CostTable);

impl Operations {
    pub(crate) fn new(parameters: &ServerParameters, substitutions: &Substitutions) -> Operations {
        Operations(CostTable::new(parameters, substitutions))
    }

    /// The cost of `operation`, and the cost of its fixed part.
    #[inline]
    pub(crate) fn look_up(&mut self, operation: &Operation) -> (&OperationCost, Cost) {
        self.0.look_up(operation)
    }
}
