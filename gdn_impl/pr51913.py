"""51913: computed-token lengths only where a prefill reads them. vLLM 0.27.0 -> 0.28.0."""

from __future__ import annotations

from gdn_impl.batch import CommonMetadata
from gdn_impl.builder import GDNBuilder


class Before(GDNBuilder):
    """Every step derives the lengths first, on the device; a decode step throws them away."""


class After(Before):
    """Only the prefill branch asks for them."""

    def look_ahead(self, common: CommonMetadata) -> None:
        pass
