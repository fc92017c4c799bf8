"""Adapters for the Sluice rate limiter. The README of each adapter is beside its code."""

from sluice_client.aio import AsyncClient
from sluice_client.check import Client, Decision

__all__ = ["AsyncClient", "Client", "Decision"]
