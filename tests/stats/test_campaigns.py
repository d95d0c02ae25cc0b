import json
import math

import numpy as np
import pytest

from gdnbench.stats.campaigns import calibrate
from gdnbench.values.recordings import RecordedPair, Recording, RecordingError


def recording(launches=60, spread=0.006, levels=0.08, blocks=10, bias=0.0, seed=0) -> Recording:
    """A machine whose speed differs from launch to launch far more than the sides do within one."""
    rng = np.random.default_rng(seed)
    recorded = []
    for _ in range(launches):
        level = 20 * math.exp(rng.normal(0, levels))
        launch = {}
        for name, effect in (("control", 0.0), ("+2%", math.log(1.02)), ("+5%", math.log(1.05))):
            before = level * np.exp(rng.normal(0, 0.02, blocks))
            own = effect + bias + rng.normal(0, spread)
            after = level * np.exp(own + rng.normal(0, 0.02, blocks))
            launch[name] = RecordedPair(own, tuple(before.tolist()), tuple(after.tolist()))
        recorded.append(launch)
    return Recording("pr51913.after", "16q1s1k", "host_time", tuple(recorded), {})


@pytest.fixture(scope="module")
def quiet():
    return calibrate(recording(), launches=9, campaigns=400)


def test_identical_code_raises_no_alarm_and_handicaps_are_found(quiet):
    assert quiet.false_alarm_rate == quiet.false_alarm_rate_as_recorded == 0.0
    assert quiet.false_alarm_upper == pytest.approx(1 - 0.05 ** (1 / 400))
    assert quiet.power["+2%"] >= 0.95 and quiet.power["+5%"] == 1.0
    assert quiet.windows == 6


def test_the_smallest_detectable_effect_is_found_in_four_of_five_campaigns(quiet):
    assert 0.01 < quiet.smallest_detectable < 0.02


def test_rules_that_pool_the_values_cry_wolf_where_sides_have_launches_of_their_own(quiet):
    assert quiet.peers["pyperf"].false_alarm_rate_apart > 0.3
    assert quiet.peers["benchstat"].false_alarm_rate_apart > 0.3
    assert quiet.peers["asv 1.1"].power_apart["+2%"] < 0.3
    assert quiet.peers["asv 1.02"].false_alarm_rate_apart > quiet.peers["asv 1.1"].false_alarm_rate_apart


def test_a_loud_machine_is_seen_to_be_loud():
    loud = calibrate(recording(spread=0.05), launches=6, campaigns=400)
    assert 0 < loud.false_alarm_rate <= 0.06
    assert loud.false_alarm_rate < loud.false_alarm_upper < 0.1
    assert loud.power["+2%"] < 0.5
    assert loud.smallest_detectable > 0.05


def test_a_harness_that_favours_one_side_shows_in_the_windows_as_recorded():
    skewed = calibrate(recording(bias=0.03), launches=9, campaigns=200)
    assert skewed.false_alarm_rate_as_recorded == 1.0
    assert skewed.false_alarm_rate < 0.05


def test_the_same_seed_gives_the_same_answer():
    whole = recording(spread=0.03)
    first, again, other = (calibrate(whole, launches=6, campaigns=60, seed=seed) for seed in (0, 0, 1))
    assert first == again != other


def test_campaigns_too_short_for_a_verdict_never_alarm():
    short = calibrate(recording(launches=12), launches=5, campaigns=50)
    assert (short.false_alarm_rate, short.power["+5%"], short.smallest_detectable) == (0.0, 0.0, None)


def test_a_recording_of_one_campaign_has_no_sides_apart():
    one = calibrate(recording(launches=9), launches=9, campaigns=20)
    assert one.windows == 1
    assert one.peers["asv 1.1"].false_alarm_rate_apart is None
    assert one.peers["asv 1.1"].power_apart == {"+2%": None, "+5%": None}


def test_a_recording_that_is_too_short_is_refused():
    with pytest.raises(RecordingError, match="holds 3 launches; campaigns of 6"):
        calibrate(recording(launches=3), launches=6)


def test_only_step_times_can_be_calibrated():
    whole = recording(launches=6)
    for metric in ("syncs", "nonsense"):
        with pytest.raises(RecordingError, match="no step time"):
            calibrate(Recording("x", "y", metric, whole.launches, {}), launches=6)


def test_the_printed_object_has_the_promised_keys(quiet):
    printed = json.loads(json.dumps(quiet.to_json(seconds_per_campaign=31.5), allow_nan=False))
    promised = "false_alarm_rate false_alarm_upper power smallest_detectable campaigns seconds_per_campaign peers"
    assert list(printed)[:7] == promised.split()
    assert set(printed["power"]) == {"+2%", "+5%"}
    assert set(printed["peers"]) == {"asv 1.1", "asv 1.02", "pyperf", "benchstat"}
