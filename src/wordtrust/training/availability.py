"""Whether this machine can train: asked before the work begins, and without importing torch at start-up."""

from __future__ import annotations

from ..base.errors import OptionError


def require_torch(otherwise: str) -> None:
    """Raise an `OptionError` that says how to install torch, or what to do `otherwise`."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise OptionError(f"training needs torch: pip install 'wordtrust[train]' ({error}); {otherwise}") from None


def has_gpu(device: str) -> bool:
    """Whether this device (`cpu`, `cuda`, `cuda:1`, `auto`) is a GPU."""
    import torch

    return device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
