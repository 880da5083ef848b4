# SPDX-License-Identifier: Apache-2.0
"""Methods of compression in Python, with the names of GRACE's classes. infold.compress has them."""

import inspect
import io
import pickle
import struct

import torch


class Compressor:
    """The base of your own methods, with the names of GRACE's Compressor. One object compresses one
    parameter at one rank.

        class Half(infold.compress.Compressor):
            def compress(self, tensor, name):
                return [tensor.half()], tensor.shape

            def decompress(self, tensors, context):
                return tensors[0].float().view(context)

        infold.compress.add("half", Half)
        infold.compress.hook("half").register(model)

    compress() gets a copy of the gradient, in float32 on the CPU. It returns a list of tensors,
    which travel, and a context, which stays at the rank. Each rank gets the tensors of all ranks,
    of any sizes, and calls decompress() with its own context. The mean of the results is the
    gradient.

    A failed step is made again, so compress() should not change anything that later steps depend
    on. A memory, such as "residual", keeps what was not sent. For random numbers, use
    self.generator, which is seeded for each step, so that no global state changes and runs can be
    repeated.
    """

    generator: torch.Generator

    def __init__(self, average=True, tensors_size_are_same=True):
        """Takes GRACE's arguments. Sizes may always differ."""
        del tensors_size_are_same
        if not average:
            raise ValueError("infold: average is False; results of all ranks are averaged")

    def compress(self, tensor, name):
        raise NotImplementedError

    def decompress(self, tensors, context):
        raise NotImplementedError


class NumpyCompressor(Compressor):
    """The same with numpy's arrays instead of tensors: compress() gets an array and returns a list
    of arrays; decompress() gets a list and returns an array. self.generator is a
    numpy.random.Generator.

        class Half(infold.compress.NumpyCompressor):
            def compress(self, array, name):
                return [array.astype(numpy.float16)], array.shape

            def decompress(self, arrays, context):
                return arrays[0].astype(numpy.float32).reshape(context)
    """


class Memory:
    """The base of your own memories for your own methods, with the names of GRACE's Memory.

        class Residual(infold.compress.Memory):
            def __init__(self):
                self.residuals = {}

            def compensate(self, tensor, name):
                return tensor + self.residuals.get(name, 0)

            def update(self, tensor, name, compressor, tensor_compressed, ctx):
                self.residuals[name] = tensor - compressor.decompress(tensor_compressed, ctx)

        infold.compress.add("half", Half, memory=Residual)

    One object belongs to one parameter at one rank. It remembers its attributes: tensors, numbers,
    texts, and dicts and lists of these. They are saved after each step and restored before the next
    one, so that a failed step does not change anything, and a hook's state_dict() includes them.
    """

    def compensate(self, tensor, name):
        raise NotImplementedError

    def update(self, tensor, name, compressor, tensor_compressed, ctx):
        raise NotImplementedError


class _OfOneParameter:
    """The object that the extension calls. The extension knows only tensors."""

    def __init__(self, compressor, make_memory):
        self.compressor = compressor
        self.make_memory = make_memory
        self.has_memory = make_memory is not None
        self.context = None

    def encode(self, tensor, seed, state):
        """Returns the tensors that travel, and the state after a step that succeeds."""
        self.compressor.generator = self.generator_of(seed)
        with torch.no_grad():
            given = self.given(tensor)
            if not self.has_memory:
                code, self.context = self.compressor.compress(given, _NAME)
                return [self.tensor_of(each) for each in code], state
            memory = self.make_memory()
            vars(memory).update(_attributes_of(state))
            given = memory.compensate(given, _NAME)
            code, self.context = self.compressor.compress(given, _NAME)
            memory.update(given, _NAME, self.compressor, code, self.context)
            kept = _state_of(vars(memory))
            if state.numel() == 0:
                _check(kept, memory)
            return [self.tensor_of(each) for each in code], kept

    def decode(self, tensors):
        with torch.no_grad():
            code = [self.given(each) for each in tensors]
            return self.tensor_of(self.compressor.decompress(code, self.context))

    def generator_of(self, seed):
        return torch.Generator().manual_seed(seed)

    def given(self, tensor):
        return tensor

    def tensor_of(self, made):
        if not isinstance(made, torch.Tensor):
            raise TypeError(
                f"{type(made)} is not a tensor; methods with numpy's arrays derive from "
                "infold.compress.NumpyCompressor"
            )
        return made.detach().cpu().contiguous()


class _OfOneParameterInNumpy(_OfOneParameter):
    def generator_of(self, seed):
        return _numpy().random.default_rng(seed)

    def given(self, tensor):
        return tensor.numpy()

    def tensor_of(self, made):
        return torch.from_numpy(_numpy().array(made, order="C"))


# An object belongs to one parameter, so all parameters can have the same name inside it.
_NAME = "gradient"


def _numpy():
    import numpy

    return numpy


def _state_of(attributes):
    """The attributes as float32, like all states: the number of bytes, and the bytes."""
    file = io.BytesIO()
    torch.save(attributes, file)
    data = struct.pack("<Q", file.tell()) + file.getvalue()
    return torch.frombuffer(bytearray(data + b"\0" * (-len(data) % 4)), dtype=torch.float32)


def _attributes_of(state):
    if state.numel() == 0:
        return {}
    data = state.numpy().tobytes()
    [count] = struct.unpack_from("<Q", data)
    return torch.load(io.BytesIO(data[8 : 8 + count]), weights_only=True)


def is_state(state):
    """Whether this is a whole state of a memory."""
    try:
        _attributes_of(state)
    except Exception:  # noqa: BLE001  torch.load() raises many kinds
        return False
    return True


def _check(state, memory):
    """Refuses attributes in the first step that the second step could not read."""
    try:
        _attributes_of(state)
    except pickle.UnpicklingError as error:
        raise TypeError(
            f"attributes of {type(memory).__name__} have to be tensors, numbers, texts, and dicts "
            f"and lists of these: {error}"
        ) from None


def add(name, method, bias="contractive", memory=None):
    """Makes a class like Compressor a method of this name. Call it at every rank. Numbers among the
    arguments of the class's constructor are settings, whose defaults are the usual values.

    `bias` says what is known of the error, to choose a memory: "none" (only rounding), "unbiased"
    (the mean over random numbers is the gradient), "contractive" (the error is smaller than the
    gradient), "direction" (only the direction has a meaning) or "unknown".

    `memory` is a class like Memory, or another callable without arguments that makes one. The
    method then always has this memory.
    """
    from infold import _c

    if hasattr(method, "aggregate"):
        raise TypeError(
            f"infold: {name}: aggregate() is not called; results of all ranks are averaged"
        )
    is_numpy = inspect.isclass(method) and issubclass(method, NumpyCompressor)
    if memory is not None and is_numpy:
        raise TypeError(f"infold: {name}: a memory is for methods with torch's tensors")
    settings = _settings_of(name, method)
    is_whole = {each for each, usual in settings.items() if isinstance(usual, int)}
    made = _OfOneParameterInNumpy if is_numpy else _OfOneParameter

    def make(sides, given):
        del sides
        return made(
            method(
                **{each: int(value) if each in is_whole else value for each, value in given.items()}
            ),
            memory,
        )

    # A residual next to the method's own memory would count twice what was not sent.
    _c.add_method(name, bias if memory is None else "unknown", settings, make)


def _settings_of(name, method):
    settings = {}
    if getattr(method, "__init__", None) is Compressor.__init__:
        return settings
    for each in inspect.signature(method).parameters.values():
        if isinstance(each.default, bool) or not isinstance(each.default, (int, float)):
            raise TypeError(
                f"infold: {name}: the argument {each.name} needs a number as its default"
            )
        settings[each.name] = each.default
    return settings
