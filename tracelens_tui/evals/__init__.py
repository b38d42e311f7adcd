"""Generated traces with planted bottlenecks, for the demo and for judging the triage."""
