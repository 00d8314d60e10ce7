"""Makes defaults.json: keys that transformers gives the configs of this folder
beside those that are in them, as save_pretrained() of an older release writes
them all.

    python defaults.py CONFIG      adds those of this Python's transformers

CONFIG is config.json or config4.json, in the form of this release. A row is a
key, its value, and the folders that get it; all: "*". `generation` has the keys
of generation_config.json.
"""
import json
import pathlib
import sys

import transformers

HERE = pathlib.Path(__file__).parent
OUT = HERE / "defaults.json"
# max_length is 20, more than the rows that these small models take
LEFT_OUT = {"max_length"}


def added(folder, name):
    """The keys that the class has and the file lacks."""
    text = folder / name
    words = json.loads(text.read_text()) if text.exists() else None
    kind = words and words.get("model_type")
    if kind not in transformers.CONFIG_MAPPING:
        return None
    full = transformers.CONFIG_MAPPING[kind].from_dict(words).to_dict()
    return {k: v for k, v in full.items()
            if k not in words and k not in LEFT_OUT}


def short(words):
    return json.dumps(words, separators=(",", ":"))


def main():
    name = sys.argv[1]
    folders = {f.name: added(f, name) for f in sorted(HERE.iterdir())
               if f.is_dir()}
    folders = {f: keys for f, keys in folders.items() if keys is not None}
    rows = {}
    for folder, keys in folders.items():
        for key, value in keys.items():
            rows.setdefault((key, json.dumps(value)), []).append(folder)
    lines = [short([key, json.loads(value),
                    "*" if len(of) == len(folders) else of])
             for (key, value), of in sorted(rows.items())]
    # the other release's rows stay
    kept = json.loads(OUT.read_text()) if OUT.exists() else {}
    kept[name] = {"transformers": transformers.__version__,
                  "generation": {
                      k: v for k, v in
                      transformers.GenerationConfig().to_dict().items()
                      if k not in LEFT_OUT},
                  "folders": sorted(folders),
                  "rows": [json.loads(line) for line in lines]}
    text = ",\n".join(
        f'"{n}":{{"transformers":"{v["transformers"]}",\n"generation":'
        f'{short(v["generation"])},\n"folders":'
        f'{short(v["folders"])},\n"rows":[\n'
        + ",\n".join(short(r) for r in v["rows"])
        + "]}" for n, v in sorted(kept.items()))
    OUT.write_text("{" + text + "}\n")


if __name__ == "__main__":
    main()
