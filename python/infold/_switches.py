# SPDX-License-Identifier: Apache-2.0
"""The strings that switches are joined with, "host:port" or "host:port#fingerprint.token", as far
as Python reads them. The keys in them are secret, so nothing that people see may contain them."""


def is_one(text):
    """Whether the text could name a switch, or a file with the names of switches."""
    return isinstance(text, str) and (text.startswith("@") or ":" in text)


def shown(value):
    """The value of the option `switches` without keys, for messages."""
    if isinstance(value, str):
        return value.partition("#")[0]
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    return value


def places(strings):
    """The addresses of all switches, also of those that files name. Raises ValueError."""
    found = []
    for each in strings:
        if not each.startswith("@"):
            found.append(shown(each))
            continue
        try:
            with open(each[1:], encoding="utf-8") as file:
                lines = [line.strip() for line in file if not line.startswith("#")]
        except OSError as error:
            raise ValueError(f"infold: cannot read {each[1:]}: {error.strerror}") from None
        names = [name.strip() for line in lines for name in line.split(",")]
        found += [shown(name) for name in names if name]
    return found
