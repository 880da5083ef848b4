# SPDX-License-Identifier: Apache-2.0
"""libinfold.so and its C functions (include/infold/infold.h), which work with every version of
Python. The structs and numbers here are the same as in the header. ctypes releases the
interpreter's lock during each call, so that other threads of the program can run."""

import ctypes
import pathlib

from infold.errors import error_of

ABI_VERSION = 3
OK, CANCELLED, PENDING = 0, 7, 10

TYPES = ("f32", "f16", "bf16", "f64", "i8", "u8", "i32", "i64")
REDUCTIONS = ("sum", "average", "min", "max", "or")
WIRES = ("automatic", "bfp32", "bfp16", "bfp8", "fixed32", "native", "digits")
PRIORITIES = ("automatic", "urgent", "background")
LAYOUTS = ("dense", "blocks", "automatic")
SITES = ("automatic", "switches", "workers", "mixed")
SHARED_MEMORY = ("auto", "off", "always")

_int, _long, _size, _text, _pointer = (
    ctypes.c_int32,
    ctypes.c_int64,
    ctypes.c_size_t,
    ctypes.c_char_p,
    ctypes.c_void_p,
)


class LocalGroupOptions(ctypes.Structure):
    _fields_ = [
        ("struct_bytes", _size),
        ("world", _int),
        ("rack_size", _int),
        ("mtu_bytes", _int),
        ("wire", _int),
        ("deadline_ns", _long),
        ("loss", ctypes.c_double),
        ("duplication", ctypes.c_double),
        ("reordering", ctypes.c_double),
        ("seed", ctypes.c_uint64),
    ]


class JoinOptions(ctypes.Structure):
    _fields_ = [
        ("struct_bytes", _size),
        ("switches", ctypes.POINTER(_text)),
        ("switch_count", _size),
        ("rendezvous", _text),
        ("job", _text),
        ("address", _text),
        ("host", _text),
        ("rank", _int),
        ("world", _int),
        ("sites", _int),
        ("switch_weight", _int),
        ("worker_weight", _int),
        ("mtu_bytes", _int),
        ("offload", _int),
        ("drivers", _int),
        ("shared_memory", _int),
        ("verify", _int),
        ("rejoin", _int),
        ("wire", _int),
        ("deadline_ns", _long),
        ("stop", _pointer),
    ]


class CallOptions(ctypes.Structure):
    _fields_ = [
        ("struct_bytes", _size),
        ("op", _int),
        ("wire", _int),
        ("priority", _int),
        ("layout", _int),
        ("keep_input", _int),
        ("deadline_ns", _long),
    ]


_OPTIONS, _HANDLE = ctypes.POINTER(CallOptions), ctypes.POINTER(_pointer)
_SIGNATURES = {
    "infold_abi_version": (ctypes.c_uint32, []),
    "infold_code_name": (_text, [_int]),
    "infold_error_message": (_text, []),
    "infold_error_rank": (_int, []),
    "infold_local_group_options_default": (LocalGroupOptions, []),
    "infold_local_group_create": (_int, [ctypes.POINTER(LocalGroupOptions), _HANDLE]),
    "infold_join_options_default": (JoinOptions, []),
    "infold_join": (_int, [ctypes.POINTER(JoinOptions), _HANDLE]),
    "infold_stop_create": (_int, [_HANDLE]),
    "infold_stop_request": (None, [_pointer]),
    "infold_stop_destroy": (None, [_pointer]),
    "infold_communicator_destroy": (None, [_pointer]),
    "infold_rank": (_int, [_pointer]),
    "infold_world": (_int, [_pointer]),
    "infold_interface": (_text, [_pointer]),
    "infold_call_options_default": (CallOptions, []),
    "infold_all_reduce": (_int, [_pointer, _pointer, _pointer, _size, _int, _OPTIONS, _HANDLE]),
    "infold_reduce": (_int, [_pointer, _pointer, _pointer, _size, _int, _int, _OPTIONS, _HANDLE]),
    "infold_broadcast": (_int, [_pointer, _pointer, _size, _int, _int, _OPTIONS, _HANDLE]),
    "infold_all_gather": (_int, [_pointer, _pointer, _pointer, _size, _int, _OPTIONS, _HANDLE]),
    "infold_reduce_scatter": (_int, [_pointer, _pointer, _pointer, _size, _int, _OPTIONS, _HANDLE]),
    "infold_barrier": (_int, [_pointer, _OPTIONS, _HANDLE]),
    "infold_wait_for": (_int, [_pointer, _long, ctypes.POINTER(_int)]),
    "infold_test": (_int, [_pointer]),
    "infold_cancel": (None, [_pointer]),
    "infold_handle_destroy": (None, [_pointer]),
}


def _load():
    path = pathlib.Path(__file__).with_name("libinfold.so")
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    version = library.infold_abi_version()
    if version != ABI_VERSION:
        raise ImportError(
            f"infold: {path} has version {version} of the C functions, and the "
            f"package needs {ABI_VERSION}: install the package again"
        )
    return library


library = _load()


def check(code):
    """Raises the error of this thread's last call, so call it in the thread of the call."""
    if code != OK:
        raise error_of(
            library.infold_code_name(code).decode(),
            library.infold_error_message().decode(errors="replace"),
            library.infold_error_rank(),
        )


def number_of(name, allowed, option):
    """The C number of a name. `allowed` has the names in the order of the header's enum."""
    if name not in allowed:
        raise ValueError(f"infold: {option} is {name!r}; allowed: {', '.join(allowed)}")
    return allowed.index(name)


def nanoseconds(seconds, option):
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"infold: {option} is {seconds!r}; allowed: seconds")
    if not 0 < seconds <= 1e9:  # thirty years; a NaN also fails the comparison
        raise ValueError(
            f"infold: {option} is {seconds!r}; allowed: more than 0 seconds, up to 1e9"
        )
    return int(seconds * 1e9)
