"""report: what Numbers look like: summary, comparison, cases, tables, figures, pages, exports."""
