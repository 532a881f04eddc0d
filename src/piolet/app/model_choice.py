"""Which model and thinking level a session starts with (the command line specification, section 5)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from piolet.app.options import RuntimeOptions
from piolet.app.settings import Settings
from piolet.harness.session.context import SessionContext
from piolet.llm.messages import THINKING_LEVELS, ThinkingLevel
from piolet.llm.model import Model
from piolet.llm.models import Models
from piolet.llm.patterns import Choice, Scope, ScopedModel, resolve_choice, resolve_scope
from piolet.llm.provider_table import BUILTIN_PROVIDERS


class NoSuchModel(Exception):
    """The model that was asked for cannot be used; the text says what was looked for and what to do."""


class Start(Struct, frozen=True):
    """What a session starts with. `model` is None if there is none to choose; `scope`: the models to cycle through."""

    model: Model | None
    thinking: ThinkingLevel
    scope: Sequence[ScopedModel]
    warnings: Sequence[str]


def choose_start(options: RuntimeOptions, settings: Settings, models: Models, context: SessionContext) -> Start:
    """Choose by the command line, the scope, the session's record, the settings, then what has credentials.

    Raises `NoSuchModel` for ``--model`` and ``--provider`` that name nothing.
    """
    choice = _asked_for(options, models)
    warnings = [choice.warning.text] if choice.warning else []
    scope = choose_scope(options, settings, models)
    warnings += [warning.text for warning in scope.warnings]
    model, level = choice.model, choice.thinking
    fresh = not any(entry.type == "message" for entry in context.entries)
    recorded: ThinkingLevel | None = None
    if model is None and fresh and scope.models:
        scoped = _default_in(scope.models, settings) or scope.models[0]
        model, level = scoped.model, scoped.thinking
    if not fresh:
        recorded = _level(context.thinking_level)
        if model is None and context.model is not None:
            model = _usable(models, context.model.provider, context.model.model_id)
            if model is None:
                warnings.append(
                    f"Could not restore model {context.model.provider}/{context.model.model_id}; another one is used"
                )
    if model is None:
        model = _usable(models, settings.default_provider, settings.default_model) or models.start_default()
    thinking = options.thinking or level or recorded or start_level(settings, model)
    return Start(model, thinking, scope.models, warnings)


def start_level(settings: Settings, model: Model | None) -> ThinkingLevel:
    """Return the level that sessions with `model` begin with when nothing else says one."""
    own = settings.model_thinking_levels.get(model.key) if model else None
    return _level(own) or _level(settings.default_thinking_level) or "medium"


def choose_scope(options: RuntimeOptions, settings: Settings, models: Models) -> Scope:
    """Return the models to cycle through, by the command line or the settings; none means all."""
    patterns = options.models if options.models is not None else settings.enabled_models
    return resolve_scope(patterns, models.get_available()) if patterns else Scope([], [])


def _asked_for(options: RuntimeOptions, models: Models) -> Choice:
    if options.model is None:
        return Choice()
    provider, _, rest = options.model.partition("/")
    exact = models.find(options.provider or provider, options.model if options.provider else rest)
    if exact is not None:  # what scripts write: no need to read the whole catalogue
        return Choice(exact)
    choice = resolve_choice(
        options.model,
        models.get_all(),
        (lambda name: True) if options.api_key else models.has_configured_auth,
        provider=options.provider,
        thinking_given=options.thinking is not None,
        default_models={id: entry.default_model for id, entry in BUILTIN_PROVIDERS.items() if entry.default_model},
    )
    if choice.error is not None:
        name = options.provider or provider
        if name in models.providers() and not models.provider_models(name):
            raise NoSuchModel(
                f'Model "{options.model}" not found. The provider "{name}" has no models yet: name them in '
                "models.json, or run: piolet update --models"
            )
        from piolet.llm.local_servers import PORTS

        if name in PORTS and name not in models.providers() and not options.offline:
            raise NoSuchModel(
                f'Model "{options.model}" not found. No {name} server with models answers at '
                f"http://127.0.0.1:{PORTS[name]}: start it, or give its address in models.json"
            )
        unread = f"{models.error}. " if models.error else ""
        raise NoSuchModel(unread + choice.error.text)
    return choice


def _default_in(scope: Sequence[ScopedModel], settings: Settings) -> ScopedModel | None:
    wanted = (settings.default_provider, settings.default_model)
    return next((scoped for scoped in scope if (scoped.model.provider, scoped.model.id) == wanted), None)


def _usable(models: Models, provider: str | None, model_id: str | None) -> Model | None:
    if not provider or not model_id or not models.has_configured_auth(provider):
        return None
    found = models.find(provider, model_id)
    return found if found is not None and models.can_be_asked(found) else None


def _level(value: str | None) -> ThinkingLevel | None:
    return next((level for level in THINKING_LEVELS if level == value), None)
