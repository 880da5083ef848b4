# SPDX-License-Identifier: Apache-2.0
"""The tasks of the trainings to an accuracy. All data is generated from seeds. Noise, chance or too
few examples keep each task's models from always giving the best answer."""

import dataclasses
import pathlib
import sys
import typing

import torch
from torch import nn
from torch.nn import functional

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "compress"))
import digits


@dataclasses.dataclass
class Task:
    """`batch` draws inputs and labels. Models have the same parameters at all ranks."""

    make_model: typing.Callable
    batch: typing.Callable  # (size, generator)
    size: int  # samples in a rank's batch
    tests: int  # tests at each rank
    make_optimizer: typing.Callable  # takes the parameters
    rate: float  # the learning rate
    loss_of: typing.Callable
    is_right: typing.Callable  # (outputs, labels) -> a bool for each answer
    goal: float  # share of right answers


class Convnet(nn.Sequential):
    """Two convolutions, and two dense layers that have most of the 600 thousand parameters."""

    def __init__(self):
        super().__init__(
            nn.Unflatten(1, (1, digits.SIDE)),
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(32 * (digits.SIDE // 4) ** 2, 512),
            nn.ReLU(),
            nn.Linear(512, 10),
        )

    def forward(self, pictures):
        return super().forward(pictures.unflatten(1, (digits.SIDE, digits.SIDE)))


def wild_digits(size, generator):
    return digits.batch(size, generator, wildness=1.0)


LETTERS = 27  # in the text: a space, and a to z
LENGTH = 48  # letters in a piece of text
WORDS = 64
FOLLOWERS = torch.tensor([0.6, 0.25, 0.1, 0.05])  # how often each follower comes after a word


class Language:
    """Invented words of 2 to 6 letters. Each word has four possible followers, one of which is
    frequent."""

    def __init__(self):
        generator = torch.Generator().manual_seed(7)
        lengths = torch.randint(2, 7, (WORDS,), generator=generator)
        letters = torch.randint(1, LETTERS, (WORDS, 6), generator=generator)
        self.words = [
            [0, *row[:length]]
            for row, length in zip(letters.tolist(), lengths.tolist(), strict=True)
        ]
        self.followers = torch.randint(WORDS, (WORDS, len(FOLLOWERS)), generator=generator)

    def text(self, generator):
        word = int(torch.randint(WORDS, (1,), generator=generator))
        letters = []
        choices = torch.multinomial(FOLLOWERS, LENGTH, replacement=True, generator=generator)
        for choice in choices.tolist():
            letters += self.words[word]
            if len(letters) > LENGTH:
                return letters[: LENGTH + 1]
            word = int(self.followers[word, choice])
        raise AssertionError("each word has a letter at least")

    def batch(self, size, generator):
        texts = torch.tensor([self.text(generator) for _ in range(size)])
        return texts[:, :-1], texts[:, 1:]


class Block(nn.Module):
    HEADS = 4

    def __init__(self, width):
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        parts = self.qkv(self.before_attention(x)).chunk(3, -1)
        q, k, v = (each.unflatten(-1, (self.HEADS, -1)).transpose(1, 2) for each in parts)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mix(seen.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.before_mlp(x))))


class Transformer(nn.Module):
    """Predicts the next letter at each place. It has 640 thousand parameters."""

    def __init__(self, width=160, depth=2):
        super().__init__()
        self.letters = nn.Embedding(LETTERS, width)
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, width))
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))
        self.last = nn.LayerNorm(width)
        self.head = nn.Linear(width, LETTERS)

    def forward(self, letters):
        return self.head(self.last(self.blocks(self.letters(letters) + self.places)))


PEOPLE, OFFERS = 16000, 4000
TRUE_RANK = 2


class Recommender(nn.Module):
    """Has a row of 32 numbers for each person and each offer: 640 thousand parameters."""

    def __init__(self, width=32):
        super().__init__()
        self.people, self.offers = nn.Embedding(PEOPLE, width), nn.Embedding(OFFERS, width)
        for table in (self.people, self.offers):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, pairs):
        return (self.people(pairs[:, 0]) * self.offers(pairs[:, 1])).sum(1)


class Tastes:
    """Draws who likes what: the sign of a product of short vectors, with noise. Some offers are
    popular (Zipf's law)."""

    def __init__(self):
        generator = torch.Generator().manual_seed(7)
        self.people = torch.randn(PEOPLE, TRUE_RANK, generator=generator)
        self.offers = torch.randn(OFFERS, TRUE_RANK, generator=generator)
        self.often = (1 / torch.arange(20, OFFERS + 20)).cumsum(0)

    def batch(self, size, generator):
        person = torch.randint(PEOPLE, (size,), generator=generator)
        drawn = self.often[-1] * torch.rand(size, generator=generator)
        offer = torch.searchsorted(self.often, drawn).clamp_max(OFFERS - 1)
        liking = (self.people[person] * self.offers[offer]).sum(1)
        noise = 0.3 * torch.randn(size, generator=generator)
        return torch.stack([person, offer], 1), (liking + noise > 0).float()


def _is_largest(outputs, labels):
    return outputs.argmax(-1) == labels


def _sgd(parameters, rate):
    return torch.optim.SGD(parameters, lr=rate, momentum=0.9)


def _adam(parameters, rate):
    return torch.optim.Adam(parameters, lr=rate)


def _of_letters(outputs, letters):
    return functional.cross_entropy(outputs.flatten(0, 1), letters.flatten())


TASKS = {
    "convnet": lambda: Task(
        Convnet,
        wild_digits,
        size=32,
        tests=256,
        make_optimizer=_sgd,
        rate=0.05,
        loss_of=functional.cross_entropy,
        is_right=_is_largest,
        goal=0.9,
    ),
    "transformer": lambda: Task(
        Transformer,
        Language().batch,
        size=4,
        tests=16,
        make_optimizer=_adam,
        rate=3e-3,
        loss_of=_of_letters,
        is_right=_is_largest,
        goal=0.8,
    ),
    "recommender": lambda: Task(
        Recommender,
        Tastes().batch,
        size=1024,
        tests=2048,
        make_optimizer=_adam,
        rate=0.02,
        loss_of=functional.binary_cross_entropy_with_logits,
        is_right=lambda outputs, labels: (outputs > 0) == (labels > 0),
        goal=0.85,
    ),
}
