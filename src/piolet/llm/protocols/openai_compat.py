"""What servers that speak OpenAI's chat completions do differently: flags, with defaults by provider id or address.

Source: providers, section 5.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, ValidationError, convert

from piolet.llm.errors import RequestError
from piolet.llm.model import Model

ThinkingFormat: TypeAlias = Literal[
    "openai",
    "openrouter",
    "deepseek",
    "together",
    "baseten",
    "zai",
    "qwen",
    "qwen-chat-template",
    "chat-template",
    "string-thinking",
    "ant-ling",
]


class CompletionsCompat(Struct, frozen=True, rename="camel"):
    """The flags of one model, complete. The defaults are those of OpenAI's own service for a custom provider."""

    supports_store: bool = True
    supports_developer_role: bool = False
    supports_reasoning_effort: bool = True
    supports_usage_in_streaming: bool = True
    supports_finish_reason: bool = True
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False
    requires_non_null_assistant_content: bool = False
    requires_tools_with_tool_history: bool = False
    requires_thinking_as_text: bool = False
    requires_reasoning_content_on_assistant_messages: bool = False
    thinking_format: ThinkingFormat = "openai"
    chat_template_kwargs: dict[str, Any] = {}
    chat_template_args: dict[str, Any] = {}
    thinking_token_budget_field: str | None = None
    supports_thinking_token_budget: bool = False
    supports_strict_mode: bool = False
    supports_openai_grammar_tools: bool = False
    cache_control_format: Literal["anthropic"] | None = None
    send_session_affinity_headers: bool = False
    session_affinity_format: Literal["openrouter", "openai", "openai-nosession"] = "openai"
    prompt_cache_key_mode: Literal["auto", "enabled", "disabled"] = "auto"
    supports_long_cache_retention: bool = True
    zai_tool_stream: bool = False
    open_router_routing: dict[str, Any] | None = None
    vercel_gateway_routing: dict[str, Any] | None = None
    vllm_priority: int | None = None


def compat_of(model: Model) -> CompletionsCompat:
    """Return the flags of `model`: its own where it has them, else the defaults of its provider."""
    given = {key: value for key, value in (model.compat or {}).items() if value is not None}
    if "supportsOpenAIGrammarTools" in given:
        given["supportsOpenaiGrammarTools"] = given["supportsOpenAIGrammarTools"]
    try:
        return convert({**_defaults(model), **given}, CompletionsCompat)
    except ValidationError as error:
        raise RequestError(f"The compat flags of {model.key} are not valid: {error}") from error


_HOSTS: Mapping[str, tuple[str, ...]] = {
    "openai": ("api.openai.com",),
    "openrouter": ("openrouter.ai",),
    "nvidia": ("integrate.api.nvidia.com",),
    "cerebras": ("cerebras.ai",),
    "xai": ("api.x.ai",),
    "together": ("together.ai", "together.xyz"),
    "chutes": ("chutes.ai",),
    "deepseek": ("deepseek.com",),
    "zai": ("api.z.ai", "bigmodel.cn"),
    "moonshot": ("moonshot.ai", "moonshot.cn"),
    "opencode": ("opencode.ai",),
    "cloudflare-ai-gateway": ("gateway.ai.cloudflare.com",),
    "cloudflare-workers-ai": ("api.cloudflare.com",),
    "ant-ling": ("ant-ling.com",),
}
_IDS: Mapping[str, str] = {
    "zai-coding-cn": "zai",
    "moonshotai": "moonshot",
    "moonshotai-cn": "moonshot",
    "opencode-go": "opencode",
}


def _kind(model: Model) -> str:
    """Return whose service `model` is at, by the provider's id or else its host; "" for an unknown one."""
    provider = _IDS.get(model.provider, model.provider)
    if provider in _HOSTS:
        return provider
    for kind, hosts in _HOSTS.items():
        if any(f".{model.host}".endswith(f".{known}") for known in hosts):
            return kind
    return ""


_NO_STORE = frozenset(_HOSTS) - {"openai", "openrouter"}
_NO_EFFORT = {"xai", "zai", "moonshot", "together", "cloudflare-ai-gateway", "nvidia", "ant-ling"}
_MAX_TOKENS = {"chutes", "deepseek", "moonshot", "cloudflare-ai-gateway", "together", "nvidia", "ant-ling", "zai"}
_NO_LONG_RETENTION = {"together", "cloudflare-ai-gateway", "cloudflare-workers-ai", "nvidia", "ant-ling"}
_THINKING: Mapping[str, ThinkingFormat] = {
    "openrouter": "openrouter",
    "deepseek": "deepseek",
    "together": "together",
    "zai": "zai",
    "ant-ling": "ant-ling",
}


def _defaults(model: Model) -> dict[str, Any]:
    kind = _kind(model)
    claude_on_openrouter = kind == "openrouter" and model.id.startswith("anthropic/")
    return {
        "supportsStore": kind not in _NO_STORE,
        "supportsDeveloperRole": kind == "openai",
        "supportsReasoningEffort": kind not in _NO_EFFORT,
        "maxTokensField": "max_tokens" if kind in _MAX_TOKENS else "max_completion_tokens",
        "requiresReasoningContentOnAssistantMessages": kind == "deepseek",
        "thinkingFormat": _THINKING.get(kind, "openai"),
        "cacheControlFormat": "anthropic" if claude_on_openrouter else None,
        "sendSessionAffinityHeaders": kind == "openrouter",
        "sessionAffinityFormat": "openrouter" if kind == "openrouter" else "openai",
        "supportsLongCacheRetention": kind not in _NO_LONG_RETENTION,
    }


def keeps_prompt_cache_key(model: Model) -> bool:
    """Return whether `model` is at OpenAI's own address, which takes a prompt cache key always."""
    return model.host == "api.openai.com"
