x.json
