"""A real llama.cpp HTTP server with a tiny model that recites fixed lines.

The model is a table dressed as a network: one-hot embeddings, an attention and a feed-forward layer of zeros, and an
output matrix that says which token follows which. The chat template ends the prompt with a cue token, chosen by the
last message, and the line of that cue is recited. The first that fits:

| last message | line | |
|---|---|---|
| a tool's result | DONE | text |
| has "think" | THINK | thinking, then text |
| has "forever" | LOOP | never ends: for aborts and token limits |
| has "both", tools are offered | BOTH | calls read and bash |
| has "read", tools are offered | READ | calls read {"path": "notes.txt"} |
| has "run", tools are offered | RUN | calls bash {"command": "ls"} |
| anything else | TEXT | text |

As a program (``python -m tests.support.llama MODEL``) it serves MODEL on a free port and prints its address.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from tests.support import gguf
from tests.support.run import ROOT

# A token has one successor, so a piece may stand only once in all the lines.
LINES = {
    "TEXT": ["Good", " day,", " I", " recite", " one", " line."],
    "DONE": ["Thank", " you", " for", " the", " result."],
    "THINK": ["<think>", "\nThere is", " little", " to weigh.\n", "</think>", "\n\nSo", " be it."],
    "READ": ['<tool_call>\n{"name": "read", "arguments": ', '{"path": "notes', '.txt"}}', "\n</tool_call>"],
    "RUN": ['<tool_call>\n{"name": "bash", "arguments": ', '{"command": "l', 's"}}', "\n</tool_call> "],
    "BOTH": [
        '<tool_call>\n{"name": "read", ',
        '"arguments": {"path": "notes.txt"}}',
        "\n</tool_call>\n",
        '<tool_call>\n{"name": "bash", ',
        '"arguments": {"command": "ls"}}',
        "\n</tool_call>\n ",
    ],
    "LOOP": ["on ", "and "],
}
CALL = "<tool_call>\n"  # for requests that require a call after a line that makes none
END, START, STOP = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CONTEXT = 32768

CHAT_TEMPLATE = """\
{%- macro turn(role, text) -%}<|im_start|>{{ role }}
{{ text }}<|im_end|>
{% endmacro -%}
{%- macro call(c) %}
<tool_call>
{"name": "{{ c.name }}", "arguments": {{ c.arguments | tojson }}}
</tool_call>
{%- endmacro -%}
{%- if tools -%}
<|im_start|>system
Tools, one JSON schema a line:
<tools>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}</tools>
Call one with <tool_call>
{"name": NAME, "arguments": OBJECT}
</tool_call><|im_end|>
{% endif -%}
{%- for m in messages -%}
{%- if m.role == 'tool' -%}
{{ turn('user', '<tool_response>\\n' + m.content + '\\n</tool_response>') }}
{%- elif m.role == 'assistant' -%}
<|im_start|>assistant
{% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}{{ call(c.function or c) }}{% endfor %}<|im_end|>
{% else -%}
{{ turn(m.role, m.content) }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{%- set last = messages[-1] -%}
{%- set said = last.content if last.content is string else '' -%}
<|im_start|>assistant
{% if last.role == 'tool' %}<|DONE|>
{%- elif 'think' in said %}<|THINK|>
{%- elif 'forever' in said %}<|LOOP|>
{%- elif tools and 'both' in said %}<|BOTH|>
{%- elif tools and 'read' in said %}<|READ|>
{%- elif tools and 'run' in said %}<|RUN|>
{%- else %}<|TEXT|>
{%- endif -%}
{%- endif -%}"""

# How much the model likes a byte where a grammar leaves the choice: what closes a value comes first.
LIKED = {
    '"': 12.0,
    "}": 10.0,
    "]": 10.0,
    "0": 6.0,
    "{": 4.0,
    "<": 2.0,
    " ": -10.0,
    "\t": -10.0,
    "\n": -10.0,
    "\r": -10.0,
}
NEVER, OUT_OF_LINE, STOP_LIKED, CALL_LIKED, IN_LINE = -40.0, -20.0, 8.0, 30.0, 60.0


def write_model(path: Path) -> None:
    """Write the model, about 2 MB."""
    letters = _byte_letters()
    control = [END, START, STOP, *(f"<|{cue}|>" for cue in LINES)]
    pieces = ["".join(letters[byte] for byte in piece.encode()) for line in [*LINES.values(), [CALL]] for piece in line]
    tokens = [*letters, *control, *pieces]
    number = {token: index for index, token in enumerate(tokens)}
    assert len(number) == len(tokens), "a piece stands twice"

    size = -(-len(tokens) // 32) * 32
    embedding, output = gguf.Tensor.full(size, len(tokens)), gguf.Tensor.full(size, len(tokens))
    likings = [LIKED.get(chr(byte), 0.0) for byte in range(len(letters))]
    likings += [STOP_LIKED if token == STOP else NEVER for token in control]
    likings += [OUT_OF_LINE] * len(pieces)
    for index, liking in enumerate(likings):
        embedding[index, index] = 1.0
        for last in range(len(tokens)):
            output[index, last] = liking
    places = iter(range(len(letters) + len(control), len(tokens)))
    for cue, line in LINES.items():
        chain = [number[f"<|{cue}|>"], *(next(places) for _ in line)]
        output[len(tokens) - 1, chain[-1]] = CALL_LIKED
        chain.append(chain[1] if cue == "LOOP" else number[STOP])
        for last, following in pairwise(chain):
            output[following, last] = IN_LINE

    hidden = 32
    gguf.write(
        path,
        {
            "general.architecture": "llama",
            "general.name": "tiny-reciter",
            "general.file_type": 0,
            "llama.context_length": CONTEXT,
            "llama.embedding_length": size,
            "llama.block_count": 1,
            "llama.feed_forward_length": hidden,
            "llama.attention.head_count": 4,
            "llama.attention.head_count_kv": 1,
            "llama.attention.layer_norm_rms_epsilon": 1e-6,
            "llama.rope.dimension_count": size // 4,
            "llama.vocab_size": len(tokens),
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "gpt-2",
            "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": [3 if token in control else 1 for token in tokens],
            "tokenizer.ggml.merges": [f"{START} {STOP}"],  # must not be empty; this one never applies
            "tokenizer.ggml.bos_token_id": number[END],
            "tokenizer.ggml.eos_token_id": number[STOP],
            "tokenizer.ggml.padding_token_id": number[END],
            "tokenizer.ggml.add_bos_token": False,
            "tokenizer.chat_template": CHAT_TEMPLATE,
        },
        {
            "token_embd.weight": embedding,
            "blk.0.attn_norm.weight": gguf.Tensor.full(size, value=1.0),
            "blk.0.attn_q.weight": gguf.Tensor.full(size, size),
            "blk.0.attn_k.weight": gguf.Tensor.full(size, size // 4),
            "blk.0.attn_v.weight": gguf.Tensor.full(size, size // 4),
            "blk.0.attn_output.weight": gguf.Tensor.full(size, size),
            "blk.0.ffn_norm.weight": gguf.Tensor.full(size, value=1.0),
            "blk.0.ffn_gate.weight": gguf.Tensor.full(size, hidden),
            "blk.0.ffn_up.weight": gguf.Tensor.full(size, hidden),
            "blk.0.ffn_down.weight": gguf.Tensor.full(hidden, size),
            # The norm makes the hot entry sqrt(size); this weight makes it 1 again.
            "output_norm.weight": gguf.Tensor.full(size, value=size**-0.5),
            "output.weight": output,
        },
    )


def _byte_letters() -> list[str]:
    """Return the letter that stands for each byte in a byte-level vocabulary (GPT-2's): a printable one is itself."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(spare)) for byte in range(0x100)]


@contextmanager
def serving(model: Path) -> Iterator[str]:
    """Run the server as a child process; the value is its URL."""
    command = [sys.executable, "-m", "tests.support.llama", str(model)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().strip()
            assert line.startswith("http"), f"the llama.cpp server did not start: {line!r}"
            yield line
        finally:
            process.kill()


def serve(model: str) -> None:
    """Serve `model` on a free port of loopback, print the address, and go on until the process is killed."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.port, params.n_ctx, params.n_parallel = model, 0, 8192, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    serve(sys.argv[1])
