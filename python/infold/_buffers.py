# SPDX-License-Identifier: Apache-2.0
"""Tensors through the buffer protocol: numpy's arrays, array.array, bytearray, memoryview, and all
other objects that support it. The memory cannot move until the Buffer is released."""

import ctypes
import sys

_WRITABLE, _FORMAT, _C_CONTIGUOUS = 0x1, 0x4, 0x20 | 0x10 | 0x8
# Format characters of the module struct. l has 8 bytes on the systems that infold runs on.
_FORMATS = {
    "f": "f32",
    "e": "f16",
    "d": "f64",
    "b": "i8",
    "B": "u8",
    "i": "i32",
    "l": "i64",
    "q": "i64",
}
_NATIVE = "@=<" if sys.byteorder == "little" else "@=>"
_ALLOWED = (
    'float16, float32, float64, int8, uint8, int32, int64, and bfloat16 as uint16 with dtype="bf16"'
)


class _PyBuffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


_get = ctypes.pythonapi.PyObject_GetBuffer
_get.restype, _get.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
_release = ctypes.pythonapi.PyBuffer_Release
_release.restype, _release.argtypes = None, [ctypes.c_void_p]


class Buffer:
    """The address, type and element count of an object's memory."""

    def __init__(self, tensor, name, dtype=None, writable=False):
        self._view = _PyBuffer()
        self._held = False
        flags = _FORMAT | _C_CONTIGUOUS | (_WRITABLE if writable else 0)
        try:
            _get(tensor, ctypes.byref(self._view), flags)
        except (BufferError, TypeError, ValueError) as error:
            raise TypeError(
                f"infold: {name}: {error}; allowed: contiguous"
                f"{' writable' if writable else ''} memory with the buffer protocol, "
                "such as a numpy array"
            ) from None
        self._held = True
        try:
            self.type = self._type_of(name, dtype)
        except TypeError:
            self.release()
            raise
        self.address = self._view.buf
        self.elements = self._view.len // self._view.itemsize

    def _type_of(self, name, dtype):
        spelling = (self._view.format or b"B").decode()
        plain = spelling.lstrip(_NATIVE) if len(spelling) > 1 else spelling
        if dtype == "bf16" and plain == "H":
            return "bf16"
        if dtype not in (None, "bf16"):
            raise TypeError(f'infold: dtype is {dtype!r}; allowed: "bf16", for uint16')
        if dtype == "bf16" or plain not in _FORMATS:
            raise TypeError(
                f"infold: {name} has elements of format '{spelling}'; allowed: {_ALLOWED}"
            )
        return _FORMATS[plain]

    def release(self):
        """May be called repeatedly."""
        if self._held:
            self._held = False
            _release(ctypes.byref(self._view))

    __del__ = release
