state
