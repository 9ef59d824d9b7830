"""How much memory a process held at most, for code that a test runs in a process of its own."""

from __future__ import annotations

# ru_maxrss of a child begins at what its parent held when it was forked; VmHWM begins anew with the program.
PEAK_KB = r"""
def peak_kb():
    import re, resource
    from pathlib import Path
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
"""
