3 score models/tiny.yaml --ids --march=generic --format=json
