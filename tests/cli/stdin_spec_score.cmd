3 score - --ids --march=generic
