"""The table of programs: attnc and its peers, in f32 and in fewer bits.

A program of fewer bits is one of f32 told otherwise: `of` names that one, and
what it loses is counted against it. Where the CPU has AMX, those whose products
are of integers or in bf16 are measured twice: without it, and with it as
NAME-amx."""
from typing import NamedTuple


class Program(NamedTuple):
    module: str                  # of this folder
    variant: str                 # what its prepare() is told
    name: str                    # what people call it
    colour: str = ""             # in the charts
    format: str = "f32"          # of the weights of products
    products: str = "f32"        # what these compute in
    of: str = ""                 # itself in f32
    amx: bool = False            # may use AMX; else it is denied that


F32 = {
    "attnc": Program("peer_attnc", "", "attnc", "#1f2430"),
    "attnc-ids": Program("peer_attnc", "ids", "attnc, from ids", "#5a6480"),
    "onnxruntime": Program("peer_onnxruntime", "", "ONNX Runtime", "#4e79a7"),
    "openvino": Program("peer_openvino", "", "OpenVINO", "#76b7b2"),
    "torch": Program("peer_torch", "eager", "PyTorch", "#f28e2b"),
    "torch-nested": Program("peer_torch", "nested", "PyTorch, nested",
                            "#e8a866"),
    "torch-compile": Program("peer_torch", "compile", "torch.compile",
                             "#c0672a"),
    "fasttextembed": Program("peer_fasttextembed", "",
                             "fasttextembed, bge-small, 12 layers", "#edc948"),
    "iree": Program("peer_iree", "", "IREE", "#59a14f"),
    "tinygrad": Program("peer_tinygrad", "", "tinygrad", "#b07aa1"),
    "ctranslate2": Program("peer_ctranslate2", "float32", "CTranslate2",
                           "#4e79a7"),
    "llamacpp": Program("peer_llamacpp", "", "llama.cpp", "#e15759"),
    "llamacpp-f32": Program("peer_llamacpp", "f32", "llama.cpp, f32 throughout",
                            "#ef9a9b"),
    "plain": Program("peer_plain", "-O3", "plain C, -O3", "#9c9c9c"),
    "plain-fast": Program("peer_plain", "-O3 -ffast-math",
                          "plain C, -O3 -ffast-math", "#bdbdbd"),
}

# In attnc the fields of the spec; int4 alone leaves logits and tables in int8.
INT4 = "dtype.default=int4,dtype.logits=int4,dtype.embedding=int4"
BLOCKS = "int8, blocks of 32"
FEWER = {                        # of, variant, format, products
    "attnc-bf16": ("attnc", "dtype=bf16", "bf16", "f32"),
    "attnc-bf16-dp": ("attnc", "dtype=bf16,arithmetic=bf16_dp", "bf16", "bf16"),
    "attnc-bf16-blocks": ("attnc", "dtype=bf16,arithmetic=bf16_amx", "bf16",
                          "bf16"),
    "attnc-int8-f32": ("attnc", "dtype=int8", "int8", "f32"),
    "attnc-int8": ("attnc", "dtype=int8,arithmetic=int8", "int8", "int8"),
    "attnc-int8-int15": ("attnc", "dtype=int8,arithmetic=int15", "int8",
                         "int15"),
    "attnc-int4-f32": ("attnc", "dtype=int4", "int4, logits int8", "f32"),
    "attnc-int4": ("attnc", "dtype=int4,arithmetic=int8", "int4, logits int8",
                   "int8"),
    "attnc-int4-all-f32": ("attnc", INT4, "int4", "f32"),
    "attnc-int4-all": ("attnc", INT4 + ",arithmetic=int8", "int4", "int8"),
    "openvino-bf16": ("openvino", "bf16", "bf16", "bf16"),
    "torch-bf16": ("torch", "eager-bf16", "bf16", "bf16"),
    "torch-compile-bf16": ("torch-compile", "compile-bf16", "bf16", "bf16"),
    "onnxruntime-int8": ("onnxruntime", "int8", "int8", "int8"),
    "openvino-int8": ("openvino", "int8", "int8", "int8, scales from samples"),
    "openvino-int8-weights": ("openvino", "int8-weights", "int8",
                              "int8, groups of 128 or 256"),
    "ctranslate2-int8": ("ctranslate2", "int8", "int8", "int8"),
    "llamacpp-q8_0": ("llamacpp", "q8_0", "q8_0", BLOCKS),
    "llamacpp-q4_0": ("llamacpp", "q4_0", "q4_0, logits q6_K", BLOCKS),
    "llamacpp-q4_0-all": ("llamacpp", "q4_0-all", "q4_0", BLOCKS),
}


def fewer(of, variant, form, products):
    return F32[of]._replace(variant=variant, format=form, products=products,
                            of=of)


PROGRAMS = {**F32, **{name: fewer(*row) for name, row in FEWER.items()}}
PROGRAMS.update({name + "-amx": program._replace(amx=True)
                 for name, program in PROGRAMS.items()
                 if program.products.startswith(("int", "bf16")) and
                 "bf16_dp" not in program.variant})


def measured(names, amx):
    """What is prepared and timed so that these can be: each after itself in
    f32, and with AMX after those without. attnc comes first."""
    found = {"attnc": None}
    for name in names:
        found[PROGRAMS[name].of or name] = None
        found[name] = None
        if amx and name + "-amx" in PROGRAMS:
            found[name + "-amx"] = None
    return list(found)
