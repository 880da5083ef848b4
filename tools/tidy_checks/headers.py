# SPDX-License-Identifier: Apache-2.0
"""Checks that code includes the standard headers that it uses. Builds precompile the most frequent
ones for all sources (cmake/module.cmake), so no compiler notices that an include of them is
missing."""

import functools
import re

from tidy_checks.layers import includes
from tidy_checks.repo import Finding, check

# {header: the names that it is included for}. Names that several headers have are left out.
_USES = {
    "algorithm": r"(ranges::)?(sort|stable_sort|find_if|find|any_of|all_of|none_of|count_if|count"
    r"|copy_n|copy|fill_n|fill|min|max|clamp|reverse|rotate|lower_bound|upper_bound|transform"
    r"|generate|remove_if|unique|equal|mismatch|max_element|min_element|nth_element|shuffle"
    r"|for_each|is_sorted)(?=[(<])",
    "array": r"(array|to_array)\b",
    "atomic": r"(atomic|atomic_\w+|memory_order\w*)\b",
    "chrono": r"chrono::",
    "cmath": r"(sqrt|pow|exp|exp2|log|log2|log10|log1p|isnan|isinf|isfinite|floor|ceil|round|lround"
    r"|llround|nearbyint|fabs|ldexp|frexp|nextafter|signbit|copysign|trunc|fma|fmod)\(",
    "cstring": r"(memcpy|memset|memmove|memcmp|strlen|strcmp|strncmp|strchr|strerror)\(",
    "functional": r"(function<|ref\(|cref\(|invoke\(|hash<)",
    "map": r"(map|multimap)<",
    "memory": r"(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared|enable_shared_from_this)\b",
    "optional": r"(optional|nullopt|make_optional)\b",
    "span": r"(span|as_bytes|as_writable_bytes|dynamic_extent)\b",
    "string": r"(string|to_string|stoi|stoul|stoull|stod)\b",
    "string_view": r"string_view\b",
    "thread": r"(thread|jthread|this_thread)\b",
    "utility": r"(move|forward|exchange|pair|make_pair|swap)\b",
    "variant": r"(variant|get_if|holds_alternative|visit|monostate)\b",
    "vector": r"vector<",
}
_PATTERNS = {header: re.compile(r"\bstd::" + uses) for header, uses in _USES.items()}
_STANDARD = re.compile(r"^\s*#\s*include\s+<([a-z_]+)>", re.MULTILINE)
# {header: other headers that have its names as well, by the standard}.
_ALSO_IN = {"string_view": {"string"}}


@check("std-headers", "code includes the standard headers that it uses, or its own headers do")
def standard_headers(repo):
    @functools.cache
    def own_headers(path):
        targets = {target for _, _, target in includes(repo, path)}
        return {target for target in targets if target and repo.exists(target)}

    @functools.cache
    def own_standard_headers(path):
        return set(_STANDARD.findall(repo.text(path)))

    def included(path):
        reached, ahead = {path}, own_headers(path)
        while ahead:
            reached |= ahead
            ahead = set().union(*map(own_headers, ahead)) - reached
        return set().union(*map(own_standard_headers, reached))

    for path in repo.cpp():
        if path.endswith(".c"):
            continue
        code, headers = repo.code(path), included(path)
        for header, pattern in _PATTERNS.items():
            if (use := pattern.search(code)) is None:
                continue
            if not headers & ({header} | _ALSO_IN.get(header, set())):
                line = code.count("\n", 0, use.start()) + 1
                yield Finding(path, line, f"{use.group()} is of <{header}>, which is not included")
