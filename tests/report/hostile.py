"""An evidence report in which everything that comes from outside is hostile."""

from __future__ import annotations

from dataclasses import replace

from test_html_evidence import whole

from gdn_impl.catalog import Claim
from gdnbench.report.evidence import ClaimFinding, EqualityFinding, Evidence
from gdnbench.values.accuracy import Flip
from gdnbench.values.serving import Fault
from gdnbench.values.verdicts import Caveat

TEXTS = (
    "<script>document.title = 'taken'</script><img src=x onerror=alert(1)>\"'><b>",
    "![p](https://e.example/p.png) [l](javascript:alert(1)) <https://e.example> https://e.example/x www.e.example",
    "fixes #1, closes vllm-project/vllm#2 and GH-3, resolves https://github.com/a/b/issues/4, cc @you a@e.example",
    "**bold** __bold__ _slanted_ ~~struck~~ `code` | cell | \\| cell \\`x\\` \\[l\\](u)",
    "# head", "## head", "- item", "+ item", "7. item", "12) item", "> quote", "---", "===", "    code", "```", "~~~",
    "&lt;script&gt; &#64;you &commat;x &#35;1",
    "\x1b[31mred\x1b]0;title\x07\x00",
    "\u202edlrow\u202c \u2066x\u2069 \u200b\ufeff",
    "$\\frac{1}$ $x$ 5$",
    "first\n# second\r\n- third\u2028fourth",
)  # fmt: skip


def report(text: str) -> Evidence:
    """Evidence with this text wherever a machine, a server, a model or a person may have put it."""
    plain = whole()
    caveat = Caveat("hostile", text, text)
    assert plain.server is not None and plain.accuracy is not None
    server = replace(
        plain.server,
        identity=replace(plain.server.identity, flags=(text,), preset=text, workload={"dataset": {"name": text}}),
        warnings=(caveat,),
        invalid=(Fault("failed", text),),
    )
    accuracy = replace(
        plain.accuracy,
        task=text,
        rows=tuple(replace(row, filter=text, metric=text, reason=text) for row in plain.accuracy.rows),
        flips=(Flip(text, "lost", text, text, text, text, text),),
        warnings=(caveat,),
        invalid=(Fault("hostile", text),),
    )
    return replace(
        plain,
        equality=(EqualityFinding("build", 19, 200, 1, (text,), False),),
        claims=(ClaimFinding(Claim(text, "x", text, 1.0, 2.0, 1, text), "measured elsewhere", text),),
        environment={"torch": text, text: text},
        warnings=(caveat,),
        server=server,
        accuracy=accuracy,
    )
