"""Floor 4: the product. Runtime, AgentSession, settings, trust, resources, extensions."""
