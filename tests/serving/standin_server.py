"""A small real HTTP server in place of vLLM's, and one more process below it. STANDIN says how it behaves."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BEHAVIOUR = os.environ.get("STANDIN", "well")

METRICS = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="served"} 0.0
vllm:num_requests_waiting{engine="0",model_name="served"} 0.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 7.0
vllm:prefix_cache_queries_total{engine="0"} 100.0
vllm:prefix_cache_queries_created{engine="0"} 1.7959928180176184e+09
vllm:prefix_cache_hits_total{engine="0"} 40.0
vllm:request_success_total{engine="0",finished_reason="stop"} 3.0
vllm:request_success_total{engine="0",finished_reason="length"} 2.0
vllm:prompt_tokens_total{engine="0"} 33.0
vllm:generation_tokens_total{engine="0"} 12.0
vllm:generation_tokens_total{engine="1"} 3.0
"""


class Handler(BaseHTTPRequestHandler):
    broken = False

    def do_GET(self) -> None:
        if self.path == "/break":
            Handler.broken = True
            threading.Timer(1.0, os._exit, [0]).start()
        if self.path == "/v1/models":
            keys = () if BEHAVIOUR == "stranger" else (f"Bearer {os.environ['VLLM_API_KEY']}",)
            self.answer(200 if self.headers["Authorization"] in keys else 401, "")
        elif self.path == "/metrics":
            self.answer(200, METRICS)
        else:
            self.answer(503 if Handler.broken else 200, "")

    def answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    if BEHAVIOUR == "crash":
        print(os.environ["STANDIN_LOG"], file=sys.stderr)
        sys.exit(1)
    if BEHAVIOUR == "never":
        print("about to wait", flush=True)
        time.sleep(100)
    subprocess.Popen([sys.executable, "-c", "import os, time; os.setsid(); time.sleep(100)"])
    port = int(sys.argv[sys.argv.index("--port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


main()
