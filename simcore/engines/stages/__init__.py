"""One NPU for each pipeline stage: its code, its times, its run and its accounts."""
