run models/tiny.yaml --records TMP/none
