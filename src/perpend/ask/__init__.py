"""ask: plan, render, ask, append: tasks, conditions, the runner, its budget and its progress."""
