"""Where a model of Azure OpenAI is: address and deployment, from the provider's variables.

Source: providers, section 6.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from piolet.llm.errors import RequestError
from piolet.llm.model import Model, StreamOptions

_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".ai.azure.com")


def is_azure(model: Model) -> bool:
    """Return whether `model` is one of the provider Azure, under its present id or the older one."""
    return model.provider in ("azure", "azure-openai-responses")


def azure_base_url(model: Model, options: StreamOptions) -> str:
    """Return the base URL: of AZURE_OPENAI_BASE_URL, else of AZURE_OPENAI_RESOURCE_NAME, else of the model.

    Azure's own hosts are completed to their ``/openai/v1``. `RequestError` if nothing names an address.
    """
    given = options.variable("AZURE_OPENAI_BASE_URL")
    resource = options.variable("AZURE_OPENAI_RESOURCE_NAME")
    if not given:
        given = f"https://{resource}.openai.azure.com" if resource else model.base_url
    if not given:
        raise RequestError(
            "The address of Azure OpenAI is not known: set AZURE_OPENAI_RESOURCE_NAME or AZURE_OPENAI_BASE_URL, or "
            f'"baseUrl" of the provider "{model.provider}" in models.json'
        )
    try:
        parts = urlsplit(given.strip())
    except ValueError:
        return given
    path = parts.path.rstrip("/")
    if (parts.hostname or "").endswith(_HOSTS) and path in ("", "/openai", "/openai/v1/responses"):
        return f"{parts.scheme}://{parts.netloc}/openai/v1"
    return given.strip().rstrip("/")


def deployment(model: Model, options: StreamOptions) -> str:
    """Return the name of the deployment of `model`: AZURE_OPENAI_DEPLOYMENT_NAME_MAP (``id=name,…``), else its id."""
    for entry in options.variable("AZURE_OPENAI_DEPLOYMENT_NAME_MAP").split(","):
        model_id, _, name = entry.partition("=")
        if model_id.strip() == model.id and name.strip():
            return name.strip()
    return model.id
