"""Studies of services: two pools of NPUs, one that reads prompts and one that answers."""
