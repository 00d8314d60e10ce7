0 graph models/tiny.yaml --set dtype=bf16 --set d_k=8 --explain
