"""Views of a run packet by packet: its packets, series and pictures of them, and a report."""
