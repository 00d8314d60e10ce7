graph.txt
