"""Arguments whose premises and rules stand in the question."""
