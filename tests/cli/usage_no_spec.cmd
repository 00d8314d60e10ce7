2 plan
