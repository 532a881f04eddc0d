"""Piolet: a coding agent for the terminal, and the agent harness under it.

`create_runtime` is the product without a terminal; `piolet.harness` is the engine without the product.
"""

from piolet._version import __version__

TYPE_CHECKING = False  # as in typing, whose import would cost more than all of this
if TYPE_CHECKING:
    from piolet.app.runtime import create_runtime as create_runtime

__all__ = ["__version__", "create_runtime"]


def __getattr__(name: str) -> object:
    if name == "create_runtime":
        from piolet.app.runtime import create_runtime

        return create_runtime
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
