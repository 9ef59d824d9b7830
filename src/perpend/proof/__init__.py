"""proof: gates, publish, receipt, signature, statements, attempts, leaks; audit; claims."""
