"""The report: rendered by code from findings and tables, validated, exported."""
