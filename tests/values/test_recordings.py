import copy
import json

import pytest

from gdnbench.values.recordings import RecordedPair, Recording, RecordingError, from_json

PAIR = RecordedPair(0.01, (10.0, 10.2), (10.1, 10.3))
WHOLE = Recording(
    "pr51913.after", "16q1s1k", "host_time", ({"control": PAIR, "+2%": PAIR},) * 2, {"machine": "two cores"}
)


def test_a_recording_survives_json():
    assert from_json(json.loads(json.dumps(WHOLE.to_json()))) == WHOLE
    assert WHOLE.handicaps == ("+2%",)


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
        (["environment"], [], "damaged"),
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
