"""Workers that evaluate designs: in this process, in others of this machine, on Ray."""
