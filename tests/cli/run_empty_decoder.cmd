run models/tiny.yaml --set kind=decoder --ids
