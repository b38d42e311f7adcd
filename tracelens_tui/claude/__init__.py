"""Claude as the analyst: one bounded conversation per sub-agent, held to the evidence of the run directory."""
