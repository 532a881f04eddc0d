"""The wire protocol of Google's models on Vertex AI: that of the generative AI, at other addresses and credentials.

With an API key requests go to the express endpoint; without one they are authorized by the application default
credentials, for a project and a location. Source: providers, section 8.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from piolet.llm.errors import RequestError
from piolet.llm.handoff import word_id
from piolet.llm.model import Context, Model, StreamOptions
from piolet.llm.protocols import WireProtocol, WireRequest
from piolet.llm.protocols.google_generative_ai import request_body
from piolet.llm.protocols.google_generative_ai_stream import GenerativeAiBuilder

_version = re.compile(r"/v\d+[a-z0-9]*$")


def build_request(model: Model, context: Context, options: StreamOptions) -> WireRequest:
    """Return the request for one answer."""
    location = options.variable("GOOGLE_CLOUD_LOCATION")
    scope = ""
    headers: dict[str, str | None] = {}
    if options.api_key:
        headers["x-goog-api-key"] = options.api_key
        location = "global"
    else:
        project = options.variable("GOOGLE_CLOUD_PROJECT") or options.variable("GCLOUD_PROJECT")
        if not project or not location:
            raise RequestError(
                "Vertex AI needs GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, or an API key in GOOGLE_CLOUD_API_KEY"
            )
        scope = f"projects/{quote(project, safe='')}/locations/{quote(location, safe='')}/"
    url = (
        f"{_base_url(model, location)}/{scope}publishers/google/models/{quote(model.id)}:streamGenerateContent?alt=sse"
    )
    return WireRequest(url, request_body(model, context, options), headers)


def _base_url(model: Model, location: str) -> str:
    """Return the address with the version of the API; the location ``global`` has no host of its own."""
    base = model.base_url.rstrip("/").replace("{location}-", "" if location == "global" else f"{location}-")
    return base if _version.search(base) else f"{base}/v1"


async def sign(
    model: Model, options: StreamOptions, url: str, headers: Mapping[str, str], body: bytes
) -> Mapping[str, str]:
    """Return the bearer token of the application default credentials, unless the request has other credentials."""
    if options.api_key or "authorization" in headers:
        return {}
    from piolet.llm.protocols.google_credentials import access_headers

    return await access_headers(options)


PROTOCOL = WireProtocol(
    build_request=build_request, builder=GenerativeAiBuilder, id_rule=lambda model: word_id(64), sign=sign
)
