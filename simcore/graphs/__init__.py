"""Networks as graphs: families, their structure, routes, files and pictures."""
