"""The built-in tools. They act through an environment only, never on this machine itself."""

from piolet.harness.tools.registry import DEFAULT_TOOLS as DEFAULT_TOOLS
from piolet.harness.tools.registry import built_in_tools as built_in_tools
