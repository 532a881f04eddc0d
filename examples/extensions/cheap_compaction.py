"""Another, cheaper model writes the summaries; any failure falls back to the built-in compaction.

piolet -e examples/extensions/cheap_compaction.py --summary-model anthropic/claude-haiku-5-5
"""

from __future__ import annotations

from piolet.ext import (
    BeforeCompact,
    CompactDecision,
    CompactionResult,
    ExtensionAPI,
    ExtensionContext,
    conversation_text,
)

ASK = """\
Summarise this conversation for a colleague who takes over. Keep paths, names, numbers and error texts exact. Say what \
was asked, what was decided and why, what is done, what is left."""


def extension(pi: ExtensionAPI) -> None:
    pi.register_flag("summary-model", type="string", default="", description="provider/model that writes summaries")

    @pi.on("session_before_compact")
    async def compact(event: BeforeCompact, ctx: ExtensionContext) -> CompactDecision | None:
        provider, _, name = str(pi.get_flag("summary-model") or "").partition("/")
        model = ctx.model_registry.find(provider, name) if name else None
        if model is None:
            return None
        prepared = event.preparation
        parts = [ASK]
        if event.custom_instructions:
            parts.append(f"Above all: {event.custom_instructions}")
        if prepared.previous_summary:
            parts.append(f"What was before:\n{prepared.previous_summary}")
        parts.append(conversation_text([*prepared.messages_to_summarize, *prepared.turn_prefix_messages]))
        try:
            reply = await ctx.model_registry.complete(model, "\n\n".join(parts), signal=event.signal, max_tokens=4000)
        except Exception as error:
            ctx.ui.notify(f"The summary model failed: {error}", "warning")
            return None
        if not reply.text.strip():
            return None
        proposal = CompactionResult(reply.text, prepared.first_kept_entry_id, prepared.tokens_before, usage=reply.usage)
        return CompactDecision(compaction=proposal)
