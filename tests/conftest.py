"""What tests share: where the real data are, and how to skip without them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real runs and judgments beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip(f"real data are not there: {SHARED.relative_to(Path(__file__).parents[2])}")
    return SHARED
