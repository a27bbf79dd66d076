"""The bench as a fixture."""

from __future__ import annotations

import pytest

from tests.state.bench import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()
