# SPDX-License-Identifier: Apache-2.0
"""The errors of infold.Communicator. PyTorch's process groups raise torch's own errors."""


class Error(RuntimeError):
    """A call failed, or joining failed.

    code  one of aborted, cancelled, deadline_exceeded, invalid_argument, mismatch, out_of_range,
          resource_exhausted, unavailable or unsupported
    rank  the rank to look at, or None
    """

    def __init__(self, message, code, rank=None):
        super().__init__(message)
        self.code = code
        self.rank = rank

    def __reduce__(self):
        return type(self), (str(self), self.code, self.rank)


class DeadlineExceeded(Error, TimeoutError):
    """The deadline passed. The message names the missing rank or switch."""


class InvalidArgument(Error, ValueError):
    """An argument was refused. The message names it and the allowed values."""


_CLASSES = {
    "deadline_exceeded": DeadlineExceeded,
    "invalid_argument": InvalidArgument,
    "out_of_range": InvalidArgument,
    "unsupported": InvalidArgument,
}


def error_of(code, message, rank):
    return _CLASSES.get(code, Error)(f"infold: {message}", code, rank if rank >= 0 else None)
