"""``ModelRegistry``: the models as extensions see them, and requests of their own beside the conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from piolet.app.extensions.errors import CompletionFailed
from piolet.base.abort import Aborted, AbortSignal
from piolet.base.ids import now_ms
from piolet.llm.messages import AssistantMessage, Message, TextContent, ThinkingLevel, UserMessage
from piolet.llm.model import Context, Model, StreamOptions, ToolSpec
from piolet.llm.stream import AssistantStream

if TYPE_CHECKING:
    from piolet.llm.credentials.records import AuthStatus, RequestAuth
    from piolet.llm.models import Models, Provider


class ModelRegistry:
    """Looks models up and asks them. Keys are found as for the conversation.

    `check` raises when it must not be used any more.
    """

    def __init__(self, models: Models, check: Callable[[], None]) -> None:
        self._known = models
        self._check = check

    @property
    def _models(self) -> Models:
        self._check()
        return self._known

    def find(self, provider: str, model_id: str) -> Model | None:
        return self._models.find(provider, model_id)

    def get_all(self) -> Sequence[Model]:
        return self._models.get_all()

    def get_available(self) -> Sequence[Model]:
        """The models of the providers that have credentials."""
        return self._models.get_available()

    def get_provider(self, provider: str) -> Provider | None:
        return self._models.get_provider(provider)

    def get_error(self) -> str | None:
        """What is wrong with models.json, in words; None if nothing is."""
        return self._models.error

    def has_configured_auth(self, model: Model | str) -> bool:
        """Whether the provider (of the model) has credentials, as far as that shows without asking for them."""
        return self._models.has_configured_auth(model)

    def is_using_oauth(self, model: Model | str) -> bool:
        return self._models.is_using_oauth(model)

    def get_provider_auth_status(self, provider: str) -> AuthStatus:
        return self._models.auth_status(provider)

    async def get_api_key_and_headers(self, model: Model) -> RequestAuth:
        """Return key, headers and address for a request to `model`. Raises `CredentialError` if there are none."""
        return await self._models.resolve_auth(model)

    def stream(
        self,
        model: Model,
        context: Context | str | Sequence[Message],
        *,
        system_prompt: str | None = None,
        tools: Sequence[ToolSpec] = (),
        signal: AbortSignal | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        reasoning: ThinkingLevel | None = None,
    ) -> AssistantStream:
        """Return one answer of `model` as it comes. `context`: a question, messages, or everything in one record."""
        if isinstance(context, str):
            context = [UserMessage([TextContent(context)], now_ms())]
        if not isinstance(context, Context):
            context = Context(list(context), system_prompt, tools)
        options = StreamOptions(signal=signal, max_tokens=max_tokens, temperature=temperature, reasoning=reasoning)
        return self._models.stream(model, context, options)

    async def complete(
        self,
        model: Model,
        context: Context | str | Sequence[Message],
        *,
        system_prompt: str | None = None,
        tools: Sequence[ToolSpec] = (),
        signal: AbortSignal | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        reasoning: ThinkingLevel | None = None,
    ) -> AssistantMessage:
        """Return the whole answer, as `stream` makes it. Raises `CompletionFailed`, or `Aborted` if `signal` is set."""
        answer = await self.stream(
            model,
            context,
            system_prompt=system_prompt,
            tools=tools,
            signal=signal,
            max_tokens=max_tokens,
            temperature=temperature,
            reasoning=reasoning,
        ).result()
        match answer.stop_reason:
            case "aborted":
                raise Aborted(answer.error_message or "Request was aborted")
            case "error":
                raise CompletionFailed(answer.error_message or f"{model.key} gave no answer")
            case _:
                return answer
