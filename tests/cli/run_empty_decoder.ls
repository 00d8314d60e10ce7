a.json
