4 run models/tiny.yaml --records TMP/none
