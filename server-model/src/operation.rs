//! The term "operation" of the model: the cost of a request's fixed part, and of each of its items by its size.

use x11prof_cost_model::{Cost, CostTable, OperationCost, ServerParameters, Substitutions};
use x11prof_session::Operation;

/// Looks up the costs of operations.
pub(crate) struct Operations(CostTable);

impl Operations {
    pub(crate) fn new(parameters: &ServerParameters, substitutions: &Substitutions) -> Operations {
        Operations(CostTable::new(parameters, substitutions))
    }

    /// The cost of an operation on the server, and the cost of its fixed part alone.
    #[inline]
    pub(crate) fn look_up(&mut self, operation: &Operation) -> (&OperationCost, Cost) {
        self.0.look_up(operation)
    }
}
