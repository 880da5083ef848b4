# SPDX-License-Identifier: Apache-2.0
"""The ways for gradients to travel that measure.py compares."""

from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

import infold


def bf16(group, bucket):
    """Wraps PyTorch's hook, because DDP accepts that hook under its own name only with NCCL."""
    return default_hooks.bf16_compress_hook(group, bucket)


def _compress(*words, **settings):
    return lambda rate: infold.compress.hook(*words, **settings)


RATIOS = (0.003, 0.01, 0.03, 0.1, 0.3)  # the ratios that steering is compared with
# Each entry makes a hook for a given learning rate. Without a hook, gradients travel as f32 and the
# sum is exact.
HOOKS = {
    "f32": None,
    "none": _compress("none"),
    "bf16": lambda rate: bf16,
    "bfp16": lambda rate: infold.hooks.wire("bfp16"),
    "bfp8": lambda rate: infold.hooks.wire("bfp8"),
    "shared8": _compress("shared", bits=8),
    "thc4": _compress("thc", bits=4, memory="residual"),
    # Lanes hold the sum of all ranks' codes. With 8 ranks that takes 8 bits for codes of 4, and 5.3
    # bits for codes of 2.
    "thc2": _compress("thc", bits=2, memory="residual"),
    "sign": lambda rate: infold.compress.hook(
        "scaledsign", memory="ef-sign", memory_settings={"rate": rate}
    ),
    "topk": _compress("topk", ratio=0.01, memory="residual"),
    "sidco": _compress("sidco", ratio=0.01, memory="residual"),
    "powersgd": _compress("powersgd", rank=4, memory="residual"),
    "steering": _compress("topk", memory="residual", steering={"setting": "ratio"}),
    **{f"topk{ratio}": _compress("topk", ratio=ratio, memory="residual") for ratio in RATIOS},
}


def register(way, model, rate):
    """Registers the way on a DistributedDataParallel. Returns the hook, or None."""
    if HOOKS[way] is None:
        return None
    hook = HOOKS[way](rate)
    if isinstance(hook, infold.compress.hook):
        return hook.register(model)
    model.register_comm_hook(None, hook)
    return hook
