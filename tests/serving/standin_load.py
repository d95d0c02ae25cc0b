"""Speaks the load generator's protocol and sends nothing. STANDIN_LOAD says how it behaves."""

from __future__ import annotations

import json
import os
import sys
import time

BEHAVIOUR = os.environ.get("STANDIN_LOAD", "well")
REPLY = {
    "duration_s": 2.0,
    "sent": 2,
    "completed": 2,
    "failed": 0,
    "empty": 0,
    "input_tokens": 9,
    "output_tokens": 16,
    "figures": {"output_throughput": 8.0},
    "samples": {"ttft": [10.0, 11.0]},
    "acceptance": {"drafts": 4, "draft_tokens": 8, "accepted": 6},
    "prompts": "00",
    "texts": "11",
    "errors": [],
}

print("import of the benchmark", file=sys.stderr, flush=True)
for line in sys.stdin:
    [(name, arguments)] = json.loads(line).items()
    if name == "prepare":
        reply: dict[str, object] = {"result": {"key": arguments["key"], "prompts": arguments["prompts"]}}
    elif BEHAVIOUR == "dies":
        os.abort()
    elif BEHAVIOUR == "hangs":
        time.sleep(100)
    elif BEHAVIOUR == "fails":
        reply = {"error": "ValueError: nothing to send", "exit_code": None}
    elif BEHAVIOUR == "short":
        reply = {"result": {**REPLY, "output_tokens": 3}}
    else:
        reply = {"result": REPLY}
    print(json.dumps(reply), flush=True)
