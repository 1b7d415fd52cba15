"""Views of a run packet by packet: traces, series, pictures, a report, and circles of waits."""
