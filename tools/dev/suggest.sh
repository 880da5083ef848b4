# SPDX-License-Identifier: Apache-2.0
#
# Sourced by ./dev: finds the word that was most likely meant.

# Prints the number of letters to leave out, add or change, or to swap with the next one, to turn $1
# into $2.
distance() {
    local a=$1 b=$2 i j cost best changed
    local -A of
    for ((i = 0; i <= ${#a}; i++)); do
        for ((j = 0; j <= ${#b}; j++)); do
            if ((i == 0 || j == 0)); then
                of[$i,$j]=$((i + j))
                continue
            fi
            [[ ${a:i-1:1} == "${b:j-1:1}" ]] && cost=0 || cost=1
            best=$((of[$((i - 1)),$j] + 1))
            ((of[$i,$((j - 1))] + 1 < best)) && best=$((of[$i,$((j - 1))] + 1))
            changed=$((of[$((i - 1)),$((j - 1))] + cost))
            ((changed < best)) && best=$changed
            if ((i > 1 && j > 1 && of[$((i - 2)),$((j - 2))] + 1 < best)) &&
                [[ ${a:i-1:1} == "${b:j-2:1}" && ${a:i-2:1} == "${b:j-1:1}" ]]; then
                best=$((of[$((i - 2)),$((j - 2))] + 1))
            fi
            of[$i,$j]=$best
        done
    done
    echo "${of[${#a},${#b}]}"
}

# Prints "; did you mean X?" if a word after the first one differs from $1 by at most two letters
# and a third of them, which is the rule of the program infold.
did_you_mean() {
    local typed=$1 word far found='' limit=$((${#1} / 3 < 2 ? ${#1} / 3 + 1 : 3))
    for word in "${@:2}"; do
        far=$(distance "$typed" "$word")
        if ((far < limit)); then
            limit=$far
            found=$word
        fi
    done
    [[ -z $found ]] || echo "; did you mean $found?"
}
