0 help graph
