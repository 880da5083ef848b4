# SPDX-License-Identifier: Apache-2.0
"""Models that train in a second on one core, and seeded data for them."""

import hashlib

import torch
import torch._dynamo  # otherwise each rank's first optimiser step would import it
import torch.nn.functional as F
from torch import nn

TOKENS = 32
_ROWS = 500  # rows of each table of the recommender
_TABLES = 4


class Convnet(nn.Sequential):
    """Convolutions with batch normalisation, whose running sums are buffers. All functions are
    smooth, because a kink would turn a difference in the last bit into one in the first bit."""

    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.GELU(),
            nn.AvgPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.GELU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(64, 4),
        )


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        # There is a head for each 8 columns of this rank.
        q, k, v = (
            each(x).unflatten(-1, (-1, 8)).transpose(1, 2) for each in (self.q, self.k, self.v)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        x = x + self.attention(self.before_attention(x))
        return x + self.down(F.gelu(self.up(self.before_mlp(x))))


class Transformer(nn.Module):
    def __init__(self, width=32, depth=2):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, TOKENS)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x.flatten(0, 1))


class Recommender(nn.Module):
    """Nearly all parameters are rows of tables, of which a step uses only a few."""

    def __init__(self, sparse=False):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(_ROWS, 8, sparse=sparse) for _ in range(_TABLES))
        self.mlp = nn.Sequential(nn.Linear(8 * _TABLES, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, ids):
        return self.mlp(torch.cat([table(ids[:, i]) for i, table in enumerate(self.tables)], 1))


MODELS = {"convnet": Convnet, "transformer": Transformer, "recommender": Recommender}


def made(name, **arguments):
    """Makes the model, which is the same at all ranks."""
    torch.manual_seed(7)
    return MODELS[name](**arguments)


def batch(name, rank, step):
    """A rank's part of a step's data: inputs and classes."""
    random = torch.Generator().manual_seed(1000 * step + rank)
    if name == "convnet":
        images = torch.randn(8, 3, 8, 8, generator=random)
        return images, images.mean(1).unflatten(1, (2, 4)).mean((2, 3)).argmax(1)
    if name == "transformer":
        first = torch.randint(TOKENS, (4, 1), generator=random)
        tokens = (first + 5 * torch.arange(13)) % TOKENS
        return tokens[:, :-1], tokens[:, 1:].flatten()
    ids = torch.randint(_ROWS, (32, _TABLES), generator=random)
    return ids, (ids[:, 0] + ids[:, 1]) % 2


def train(model, optimizer, name, rank, steps, first=0):
    """Trains, and returns the loss of each step at this rank."""
    losses = []
    for step in range(first, first + steps):
        inputs, classes = batch(name, rank, step)
        loss = F.cross_entropy(model(inputs), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def digest(model):
    """A digest of all bits of this rank's parameters and buffers."""
    hashed = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        hashed.update(name.encode())
        hashed.update(tensor.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return hashed.hexdigest()
