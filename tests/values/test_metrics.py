import math

import pytest

from gdnbench.values.metrics import COST_METRICS, HOST_TIME, METRICS, SERVING_METRICS, STEP_METRICS, Metric


def test_every_metric_is_found_by_its_tag_and_has_an_own_one():
    assert len(METRICS) == len(STEP_METRICS) + len(COST_METRICS) + len(SERVING_METRICS)
    assert METRICS["host_time"] is HOST_TIME


def test_the_percent_floor_rules_where_it_is_the_larger():
    assert HOST_TIME.log_floor(1000.0) == pytest.approx(math.log(1.01))


def test_the_floor_in_microseconds_rules_where_it_is_the_larger():
    # Around 2 us, a pair that differs by exactly 0.2 us: 1.90256 and 2.10256, geometric mean 2.
    low = math.sqrt(4 + 0.01) - 0.1
    assert HOST_TIME.log_floor(2.0) == pytest.approx(math.log((low + 0.2) / low))


def test_better_follows_the_direction():
    throughput = Metric("tok", "tokens per second", "tok/s", "sampled", direction="higher")
    assert HOST_TIME.is_better(-0.1) and not HOST_TIME.is_better(0.1)
    assert throughput.is_better(0.1) and not throughput.is_better(-0.1)


def test_host_operations_are_the_only_cost_that_never_decides():
    assert [metric.tag for metric in COST_METRICS if metric.burden == "none"] == ["host_ops"]
