"""The wire protocol of OpenAI's responses at Azure. `POST {base}/responses?api-version=…`

Source: providers, section 6.
"""

from __future__ import annotations

from urllib.parse import quote

from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.protocols import WireProtocol, WireRequest
from piolet.llm.protocols.azure_openai import azure_base_url, deployment
from piolet.llm.protocols.openai_responses import id_rule, request_body
from piolet.llm.protocols.openai_responses_compat import compat_of
from piolet.llm.protocols.openai_responses_stream import ResponsesBuilder


def build_request(model: Model, context: Context, options: StreamOptions) -> WireRequest:
    """Return the request for one answer."""
    version = options.variable("AZURE_OPENAI_API_VERSION") or "v1"
    url = f"{azure_base_url(model, options)}/responses?api-version={quote(version)}"
    body = request_body(model, context, options, compat_of(model))
    body["model"] = deployment(model, options)
    return WireRequest(url, body, {"api-key": options.api_key} if options.api_key else {})


PROTOCOL = WireProtocol(build_request=build_request, builder=ResponsesBuilder, id_rule=id_rule)
