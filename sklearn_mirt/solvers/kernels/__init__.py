"""What is computed on one block of cells, for one device."""


def get_kernels(device="cpu"):
    """Return the kernels of a device: the one place where a backend is chosen.

    Parameters
    ----------
    device : {"cpu", "cuda"}
        Where blocks are computed.

    Returns
    -------
    kernels : Kernels

    Raises
    ------
    ValueError
        Unknown device.
    RuntimeError
        "cuda" without CuPy or without a device; there is no silent fall-back.
    """
    if device == "cpu":
        from sklearn_mirt.solvers.kernels.cpu import CpuKernels

        return CpuKernels()
    if device == "cuda":
        from sklearn_mirt.solvers.kernels.arrays import cuda_kernels

        return cuda_kernels()
    raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}")
