"""The triage: orchestrator, sub-agents, analysts and guardrails."""
