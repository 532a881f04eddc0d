"""Floor 2: turn the crank. ``run_loop`` (a function, no state) and ``Agent`` (state, queues, one run at a time)."""
