0 fields --format=json
