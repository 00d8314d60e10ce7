"""IREE, compiled ahead of time for this CPU from the ONNX model."""
import os
import subprocess
import sys
from importlib import metadata

import numpy as np
from iree import runtime

import export_onnx
import workloads


def version(work):
    return metadata.version("iree-base-runtime")


def compiled(work):
    """Path of the module."""
    tools = os.path.dirname(sys.executable)
    model, code = [os.path.join(work["folder"], "iree." + end)
                   for end in ("mlir", "vmfb")]
    subprocess.run([os.path.join(tools, "iree-import-onnx"),
                    export_onnx.encoder(work), "-o", model], check=True)
    subprocess.run(
        [os.path.join(tools, "iree-compile"), model,
         "--iree-hal-target-device=local",
         "--iree-hal-local-target-device-backends=llvm-cpu",
         "--iree-llvmcpu-target-cpu=host", "--iree-opt-data-tiling",
         "-o", code], check=True)
    return code


def prepare(work, variant):
    feeds, padding = workloads.feeds(work)
    config = runtime.Config("local-sync")
    context = runtime.SystemContext(config=config)
    module = runtime.VmModule.mmap(context.instance, compiled(work))
    context.add_vm_module(module)
    function = context.modules[module.name]["main_graph"]
    ids = runtime.asdevicearray(config.device, feeds["ids"])
    return (lambda: function(ids).to_host(),
            lambda y: workloads.real_rows(np.array(y), padding))
