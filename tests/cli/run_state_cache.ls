half
state
