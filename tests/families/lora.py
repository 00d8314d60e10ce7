"""Makes lora/: an adapter of tests/families/llama as the package peft saves it,
and what transformers computes with it merged.

    make families-golden                    with the folders beside it
"""
import json
import pathlib
import sys

import peft
import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import decoders  # noqa: E402
import golden  # noqa: E402

OUT = golden.HERE / "lora"


def main():
    transformers.logging.set_verbosity_error()
    family = next(f for f in decoders.FAMILIES if f.name == "llama")
    base = golden.load(family, golden.HERE / family.name)
    words = peft.LoraConfig(
        r=3, lora_alpha=5, use_rslora=True, task_type="CAUSAL_LM",
        alpha_pattern={"down_proj": 7}, modules_to_save=["lm_head"],
        target_modules=["q_proj", "v_proj", "down_proj", "embed_tokens"])
    model = peft.get_peft_model(base, words)
    g = golden.generator(family, "adapter")
    with torch.no_grad():
        for name, x in sorted(model.state_dict(keep_vars=True).items()):
            if "lora_" in name or "modules_to_save" in name:
                x.copy_(0.2 * torch.randn(x.shape, generator=g))
    model.save_pretrained(OUT)
    (OUT / "README.md").unlink(missing_ok=True)
    base = golden.load(family, golden.HERE / family.name)
    merged = peft.PeftModel.from_pretrained(base, OUT).merge_and_unload()
    (OUT / "expected.json").write_text(
        golden.compact(family.record(family, merged.eval())))
    config = json.loads((OUT / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "llama"
    (OUT / "adapter_config.json").write_text(
        json.dumps(config, indent=1, sort_keys=True) + "\n")
    print("lora", golden.size_of(OUT))


if __name__ == "__main__":
    main()
