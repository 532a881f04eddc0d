"""The providers that are built in, as data: where they are, which variables hold their key, their default model.

Sources: providers, section 11; the order is the one in which a start model is looked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

CHAT = "openai-completions"
RESPONSES = "openai-responses"
ANTHROPIC = "anthropic-messages"
GOOGLE = "google-generative-ai"

_CLOUDFLARE = "https://gateway.ai.cloudflare.com/v1/{CLOUDFLARE_ACCOUNT_ID}/{CLOUDFLARE_GATEWAY_ID}"
_QWEN = "https://token-plan.maas.qwencloudapi.com/compatible-mode/v1"
_QWEN_CN = "https://token-plan.maas.qianwenaiapi.com/compatible-mode/v1"


class BuiltinProvider(Struct, frozen=True):
    """One provider.

    `apis`: base URL by wire protocol, the main one first; ``{NAME}`` in a URL stands for a variable. `key_env`: the
    variables that may hold the key, first set wins; those in `bearer_env` hold tokens for ``Authorization: Bearer``.
    `ambient`: each a set of variables that together let the protocol sign requests itself. `needs`: other variables
    without which no address can be made. `key_header`: where the key goes instead, as a bearer token. `foreign`: its
    protocol is not one of ours; an extension may speak it.
    """

    id: str
    name: str
    apis: Mapping[str, str]
    key_env: tuple[str, ...]
    default_model: str
    bearer_env: tuple[str, ...] = ()
    ambient: tuple[tuple[str, ...], ...] = ()
    needs: tuple[str, ...] = ()
    key_header: str | None = None
    session_header: str | None = None
    foreign: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


_TABLE = (
    BuiltinProvider(
        "amazon-bedrock",
        "Amazon Bedrock",
        {"bedrock-converse-stream": "https://bedrock-runtime.us-east-1.amazonaws.com"},
        ("AWS_BEARER_TOKEN_BEDROCK",),
        "us.anthropic.claude-opus-5-5",
        ambient=(
            ("AWS_PROFILE",),
            ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
            ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",),
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI",),
            ("AWS_WEB_IDENTITY_TOKEN_FILE",),
        ),
    ),
    BuiltinProvider(
        "ant-ling", "Ant Ling", {CHAT: "https://api.ant-ling.com/v1"}, ("ANT_LING_API_KEY",), "Ring-2.6-1T"
    ),
    BuiltinProvider(
        "anthropic",
        "Anthropic",
        {ANTHROPIC: "https://api.anthropic.com"},
        ("ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"),
        "claude-opus-5-5",
        bearer_env=("ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"),
    ),
    BuiltinProvider("openai", "OpenAI", {RESPONSES: "https://api.openai.com/v1"}, ("OPENAI_API_KEY",), "gpt-6.2-sol"),
    BuiltinProvider(
        "azure",
        "Azure OpenAI",
        {"azure-openai-responses": "", CHAT: ""},
        ("AZURE_OPENAI_API_KEY",),
        "gpt-6.2-sol",
    ),
    BuiltinProvider(
        "openai-codex",
        "OpenAI Codex",
        {"openai-codex-responses": "https://chatgpt.com/backend-api"},
        (),
        "gpt-6.2-sol",
        foreign=True,
    ),
    BuiltinProvider(
        "radius",
        "Radius",
        {"pi-messages": "https://radius.pi.dev/v1"},
        ("RADIUS_API_KEY",),
        "balanced",
        foreign=True,
    ),
    BuiltinProvider(
        "nvidia",
        "NVIDIA",
        {CHAT: "https://integrate.api.nvidia.com/v1"},
        ("NVIDIA_API_KEY",),
        "nvidia/nemotron-3.5-super-vl-120b-a12b",
        headers={"NVCF-POLL-SECONDS": "3600"},
    ),
    BuiltinProvider(
        "deepseek", "DeepSeek", {CHAT: "https://api.deepseek.com"}, ("DEEPSEEK_API_KEY",), "deepseek-v4-pro"
    ),
    BuiltinProvider(
        "google",
        "Google Gemini",
        {GOOGLE: "https://generativelanguage.googleapis.com/v1beta"},
        ("GEMINI_API_KEY",),
        "gemini-4-argon",
    ),
    BuiltinProvider(
        "google-vertex",
        "Google Vertex AI",
        {"google-vertex": "https://{location}-aiplatform.googleapis.com"},
        ("GOOGLE_CLOUD_API_KEY",),
        "gemini-4-argon",
    ),
    BuiltinProvider(
        "github-copilot",
        "GitHub Copilot",
        {
            CHAT: "https://api.individual.githubcopilot.com",
            RESPONSES: "https://api.individual.githubcopilot.com",
            ANTHROPIC: "https://api.individual.githubcopilot.com",
        },
        ("COPILOT_GITHUB_TOKEN",),
        "gpt-6.1-sol",
    ),
    BuiltinProvider(
        "openrouter",
        "OpenRouter",
        {CHAT: "https://openrouter.ai/api/v1", ANTHROPIC: "https://openrouter.ai/api"},
        ("OPENROUTER_API_KEY",),
        "moonshotai/kimi-k2.7-code",
    ),
    BuiltinProvider(
        "vercel-ai-gateway",
        "Vercel AI Gateway",
        {ANTHROPIC: "https://ai-gateway.vercel.sh"},
        ("AI_GATEWAY_API_KEY",),
        "zai/glm-5.3",
    ),
    BuiltinProvider("xai", "xAI", {RESPONSES: "https://api.x.ai/v1"}, ("XAI_API_KEY",), "grok-4.7"),
    BuiltinProvider("groq", "Groq", {CHAT: "https://api.groq.com/openai/v1"}, ("GROQ_API_KEY",), "openai/gpt-oss-120b"),
    BuiltinProvider(
        "cerebras", "Cerebras", {CHAT: "https://api.cerebras.ai/v1"}, ("CEREBRAS_API_KEY",), "gpt-oss-120b"
    ),
    BuiltinProvider("zai", "Z.ai", {CHAT: "https://api.z.ai/api/coding/paas/v4"}, ("ZAI_API_KEY",), "glm-5.3"),
    BuiltinProvider(
        "zai-coding-cn",
        "Z.ai coding plan (China)",
        {CHAT: "https://open.bigmodel.cn/api/coding/paas/v4"},
        ("ZAI_CODING_CN_API_KEY",),
        "glm-5.3",
    ),
    BuiltinProvider(
        "mistral",
        "Mistral",
        {"mistral-conversations": "https://api.mistral.ai"},
        ("MISTRAL_API_KEY",),
        "devstral-medium-latest",
    ),
    BuiltinProvider(
        "minimax", "MiniMax", {ANTHROPIC: "https://api.minimax.io/anthropic"}, ("MINIMAX_API_KEY",), "MiniMax-M3"
    ),
    BuiltinProvider(
        "minimax-cn",
        "MiniMax (China)",
        {ANTHROPIC: "https://api.minimaxi.com/anthropic"},
        ("MINIMAX_CN_API_KEY",),
        "MiniMax-M3",
    ),
    BuiltinProvider(
        "moonshotai", "Moonshot AI", {CHAT: "https://api.moonshot.ai/v1"}, ("MOONSHOT_API_KEY",), "kimi-k2.7-code"
    ),
    BuiltinProvider(
        "moonshotai-cn",
        "Moonshot AI (China)",
        {CHAT: "https://api.moonshot.cn/v1"},
        ("MOONSHOT_API_KEY",),
        "kimi-k2.7-code",
    ),
    BuiltinProvider(
        "huggingface",
        "Hugging Face",
        {CHAT: "https://router.huggingface.co/v1"},
        ("HF_TOKEN",),
        "moonshotai/Kimi-K2.7-Code",
    ),
    BuiltinProvider(
        "fireworks",
        "Fireworks",
        {CHAT: "https://api.fireworks.ai/inference/v1", ANTHROPIC: "https://api.fireworks.ai/inference"},
        ("FIREWORKS_API_KEY",),
        "accounts/fireworks/models/kimi-k3",
    ),
    BuiltinProvider(
        "together", "Together AI", {CHAT: "https://api.together.ai/v1"}, ("TOGETHER_API_KEY",), "moonshotai/Kimi-K3"
    ),
    BuiltinProvider(
        "baseten", "Baseten", {CHAT: "https://inference.baseten.co/v1"}, ("BASETEN_API_KEY",), "zai-org/GLM-5.3"
    ),
    BuiltinProvider(
        "opencode",
        "OpenCode Zen",
        {
            CHAT: "https://opencode.ai/inference/openai/v1",
            RESPONSES: "https://opencode.ai/inference/openai/v1",
            ANTHROPIC: "https://opencode.ai/inference/anthropic",
            GOOGLE: "https://opencode.ai/inference/google/v1beta",
        },
        ("OPENCODE_API_KEY",),
        "kimi-k2.7-code",
        session_header="x-opencode-session",
    ),
    BuiltinProvider(
        "opencode-go",
        "OpenCode Go",
        {
            CHAT: "https://opencode.ai/inference/go/openai/v1",
            RESPONSES: "https://opencode.ai/inference/go/openai/v1",
            ANTHROPIC: "https://opencode.ai/inference/go/anthropic",
            GOOGLE: "https://opencode.ai/inference/go/google/v1beta",
        },
        ("OPENCODE_API_KEY",),
        "kimi-k3.1-pro",
        session_header="x-opencode-session",
    ),
    BuiltinProvider(
        "kimi-coding", "Kimi for coding", {CHAT: "https://api.kimi.com/coding/v1"}, ("KIMI_API_KEY",), "kimi-for-coding"
    ),
    BuiltinProvider("meta", "Meta", {RESPONSES: "https://api.meta.ai/v1"}, ("META_API_KEY",), "muse-spark-1.3"),
    BuiltinProvider(
        "cloudflare-workers-ai",
        "Cloudflare Workers AI",
        {CHAT: "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1"},
        ("CLOUDFLARE_API_KEY",),
        "@cf/moonshotai/kimi-k2.7-code",
        needs=("CLOUDFLARE_ACCOUNT_ID",),
    ),
    BuiltinProvider(
        "cloudflare-ai-gateway",
        "Cloudflare AI Gateway",
        {CHAT: f"{_CLOUDFLARE}/compat", RESPONSES: f"{_CLOUDFLARE}/openai", ANTHROPIC: f"{_CLOUDFLARE}/anthropic"},
        ("CLOUDFLARE_API_KEY",),
        "workers-ai/@cf/moonshotai/kimi-k2.7-code",
        needs=("CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID"),
        key_header="cf-aig-authorization",
    ),
    BuiltinProvider(
        "qwen-token-plan",
        "Qwen token plan",
        {CHAT: _QWEN},
        ("QWEN_TOKEN_PLAN_TEAM_API_KEY", "QWEN_TOKEN_PLAN_API_KEY"),
        "qwen3.8-max",
    ),
    BuiltinProvider(
        "qwen-token-plan-cn",
        "Qwen token plan (China)",
        {CHAT: _QWEN_CN},
        ("QWEN_TOKEN_PLAN_TEAM_CN_API_KEY", "QWEN_TOKEN_PLAN_CN_API_KEY"),
        "qwen3.8-max",
    ),
    BuiltinProvider(
        "qwen-token-plan-individual",
        "Qwen token plan, individual",
        {CHAT: _QWEN},
        ("QWEN_TOKEN_PLAN_INDIVIDUAL_API_KEY", "QWEN_TOKEN_PLAN_API_KEY"),
        "qwen3.8-max",
    ),
    BuiltinProvider(
        "qwen-token-plan-individual-cn",
        "Qwen token plan, individual (China)",
        {CHAT: _QWEN_CN},
        ("QWEN_TOKEN_PLAN_INDIVIDUAL_CN_API_KEY", "QWEN_TOKEN_PLAN_CN_API_KEY"),
        "qwen3.8-max",
    ),
    BuiltinProvider(
        "xiaomi", "Xiaomi MiMo", {CHAT: "https://api.xiaomimimo.com/v1"}, ("XIAOMI_API_KEY",), "mimo-v2.6-pro"
    ),
    *(
        BuiltinProvider(
            f"xiaomi-token-plan-{region}",
            f"Xiaomi token plan ({region.upper()})",
            {CHAT: f"https://token-plan-{region}.xiaomimimo.com/v1"},
            (f"XIAOMI_TOKEN_PLAN_{region.upper()}_API_KEY",),
            "mimo-v2.6-pro",
        )
        for region in ("cn", "ams", "sgp")
    ),
)

BUILTIN_PROVIDERS: Mapping[str, BuiltinProvider] = {provider.id: provider for provider in _TABLE}
