"""The Trace (columns), the EventTree (links between CPU and GPU), interval algebra and data quality."""
