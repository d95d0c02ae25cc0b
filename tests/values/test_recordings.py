import copy
import json

import pytest

from gdnbench.values.recordings import RecordedPair, Recording, RecordingError, WholeCampaign, from_json
from gdnbench.values.verdicts import Verdict

PAIR = RecordedPair(0.01, (10.0, 10.2), (10.1, 10.3))
OTHER = RecordedPair(0.02, (10.0, 10.4), (10.1, 10.3))
WHOLE = Recording(
    "pr51913.after",
    "16q1s1k",
    "host_time",
    ({"control": PAIR, "+2%": PAIR, "+5%": OTHER},) * 2,
    {"machine": "two cores"},
    (2.5, 2.6),
    (WholeCampaign("+2%", 10, Verdict.REGRESSED, 1.02, 25.0),),
)


def test_a_recording_survives_json():
    assert from_json(json.loads(json.dumps(WHOLE.to_json()))) == WHOLE
    assert WHOLE.handicaps == ("+2%", "+5%")


def test_a_before_side_that_several_comparisons_share_is_written_once():
    written = WHOLE.to_json()["launches"][0]
    assert "before" not in written["+2%"]
    assert written["+5%"]["before"] == [10.0, 10.4]


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (["schema"], 99, "schema 1"),
        (["launches"], None, "damaged"),
        (["launches", 1], {}, "launch 2 lacks a comparison"),
        (["launches", 1, "control", "before"], [], "launch 2, control: a time"),
        (["launches", 1, "control", "before"], [0.0], "launch 2, control: a time"),
        (["launches", 0, "+2%", "log_ratio"], float("nan"), "launch 1, +2%: the ratio"),
        (["launches", 0, "+2%", "log_ratio"], "much", "damaged"),
        (["launches", 0, "+2%", "log_ratio"], 1e9, "launch 1, +2%: the ratio"),
        (["launches", 0, "+2%", "log_ratio"], 10**400, "damaged"),
        (["launches", 0, "+2%", "after"], [1e300], "launch 1, +2%: a time"),
        (["environment"], [], "damaged"),
        (["environment", "machine"], "two\ncores", "not printable"),
        (["variant"], "x" * 501, "too long"),
        (["seconds"], [2.5], "its seconds"),
        (["seconds", 0], float("nan"), "its seconds"),
        (["whole", 0, "verdict"], "fine", "damaged"),
        (["whole", 0, "ratio"], 0, "damaged"),
        (["whole", 0, "launches"], "many", "damaged"),
    ],
)
def test_a_damaged_recording_is_refused_in_one_line(path, value, says):
    data = copy.deepcopy(WHOLE.to_json())
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(RecordingError) as error:
        from_json(data)
    assert says in str(error.value) and "\n" not in str(error.value)


def test_something_else_is_no_recording():
    with pytest.raises(RecordingError, match="not a recording"):
        from_json([1, 2])
