"""The rules analyst's sub-agents, one file each."""
