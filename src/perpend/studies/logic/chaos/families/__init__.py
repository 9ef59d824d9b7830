"""The chaos-logic items: from the frozen facts to questions, one module a kind of question."""
