"""Which prompts a server is asked: data sets, their manifests, and the choice that vLLM's benchmark makes."""

from gdnbench.workloads.selection import Request
from gdnbench.workloads.workload import Workload, choose

__all__ = ["Request", "Workload", "choose"]
