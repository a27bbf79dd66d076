from __future__ import annotations

from seance_tools.state import dues
from tests.state.bench import Bench


def test_of_what_is_due_the_earliest_counts(bench: Bench) -> None:
    assert dues.next_due(bench.tables) is None
    bench.call("agent.hook", agent="claude", event="prompt-submit", workspace_id=1, surface_id=1)
    silence = dues.next_due(bench.tables)
    assert silence == 1060.0
    bench.call("workspace.set_status", workspace_id=1, key="k", value="x", ttl_ms=1500)
    assert dues.next_due(bench.tables) == 1001.5
    dues.expire(bench.tables, 1001.5)
    assert bench.tables.get("status", 1, "k") is None
    assert dues.next_due(bench.tables) == silence
    dues.expire(bench.tables, 1060.0)
    assert bench.only("agent")["quiet_seconds"] == 60


def test_of_changes_only_their_own_rows_count(bench: Bench) -> None:
    bench.call("workspace.set_status", workspace_id=1, key="early", value="x", ttl_ms=1000)
    bench.tables.take_changes()
    bench.call("workspace.set_status", workspace_id=1, key="late", value="x", ttl_ms=2000)
    bench.call("workspace.set_status", workspace_id=1, key="never", value="x")
    assert dues.next_due_of(bench.tables, bench.tables.take_changes()) == 1002.0
    bench.call("workspace.clear_status", workspace_id=1, key="late")
    assert dues.next_due_of(bench.tables, bench.tables.take_changes()) is None
    bench.call("agent.hook", agent="claude", event="prompt-submit", workspace_id=1, surface_id=1)
    assert dues.next_due_of(bench.tables, bench.tables.take_changes()) == 1060.0
