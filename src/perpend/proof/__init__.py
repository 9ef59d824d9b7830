"""proof: gates, publish, receipt, signature, attempts, leaks; audit; claims."""
