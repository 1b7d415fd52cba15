"""Pictures and pages of a study."""
