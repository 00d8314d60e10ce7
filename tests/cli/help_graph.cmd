help graph
