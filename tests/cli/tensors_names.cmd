0 tensors tests/spec/names-share.yaml --set kind=encoder
