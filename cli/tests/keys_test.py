#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A switch with keys: who may join, what tokens permit, and that nothing shows a token.

Usage: keys_test.py INFOLD
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

from mistakes import BARE, SECONDS, check, run_each

SPEC_RANK = pathlib.Path(__file__).resolve().parents[2] / "examples" / "spec_worker" / "rank.py"
SUM = (
    "bench",
    "allreduce",
    "--bytes",
    "4KiB",
    "--iterations",
    "2",
    "--warmup-iterations",
    "1",
    "--check",
)


class Switch:
    """A switch on loopback, whose output and log are kept."""

    def __init__(self, infold, folder, *words):
        self.state = pathlib.Path(folder) / "state"
        self.log_path = pathlib.Path(folder) / "switch.log"
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [
                    infold,
                    *("switch", "--listen", "127.0.0.1:0", "--slots", "600", "--json"),
                    *("--keys", "--state", str(self.state), "--log-level", "debug", *words),
                ],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=BARE,
            )
        line = self.process.stdout.readline()
        check(line, f"the switch says: {self.log()}")
        self.said = json.loads(line)
        self.join_string = self.said["keys"]["join_string"]

    def log(self):
        return self.log_path.read_text(encoding="utf-8")

    def place(self):
        return self.join_string.partition("#")[0]

    def reload(self):
        """Sends SIGHUP, and waits until the log says that it was heard."""
        before = self.log().count("settings_")
        self.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + SECONDS
        while self.log().count("settings_") == before:
            check(self.process.poll() is None, "SIGHUP ended the switch")
            check(time.monotonic() < end, "the switch does not hear SIGHUP")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=SECONDS)
        check(self.process.returncode == 0, f"the switch ended with {self.process.returncode}")
        return out


@contextlib.contextmanager
def switch(infold, folder, *words):
    own = Switch(infold, folder, *words)
    try:
        yield own
    finally:
        own.process.kill()
        own.process.communicate()


def start_rank(infold, folder, string, rank, world, words=SUM, **variables):
    """Starts a rank of ours, which gets its string in a file."""
    path = pathlib.Path(folder) / f"join-{rank}.txt"
    path.write_text(string + "\n", encoding="utf-8")
    path.chmod(0o600)
    return subprocess.Popen(
        [infold, *words, "--rank", str(rank), "--ranks", str(world), "--deadline", "20"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={
            **BARE,
            "INFOLD_SWITCHES": f"@{path}",
            "INFOLD_LOG": "debug",
            "INFOLD_SHARED_MEMORY": "off",
            "INFOLD_JOB": "job",
            **variables,
        },
    )


def ranks(infold, folder, strings, world=2, **variables):
    """Lets ranks join with these strings. Returns the statuses and all that they have said."""
    started = [
        start_rank(infold, folder, strings[rank % len(strings)], rank, world, **variables)
        for rank in range(world)
    ]
    said = "".join(each.communicate(timeout=SECONDS)[0] for each in started)
    return [each.returncode for each in started], said


def infold_says(infold, *words):
    done = subprocess.run(
        [infold, *words], env=BARE, check=False, text=True, capture_output=True, timeout=SECONDS
    )
    check(done.returncode == 0, f"{words}: {done.stderr}")
    return done.stdout


def token_new(infold, own, *words):
    made = json.loads(
        infold_says(
            infold,
            *("token", "new", "--state", str(own.state), "--at", own.place(), "--json", *words),
        )
    )
    return made["id"], made["join_string"]


def ranks_join_with_the_string_that_the_switch_prints(infold, folder):
    with switch(infold, folder) as own:
        statuses, said = ranks(infold, folder, [own.join_string])
        check(statuses == [0, 0], said)


def a_restart_changes_nothing(infold, folder):
    with switch(infold, folder) as own:
        before = own.join_string.partition("#")[2]
        own.stop()
    with switch(infold, folder) as own:
        check(own.join_string.partition("#")[2] == before, "another string after a restart")
        shown = infold_says(infold, "token", "show", "--state", str(own.state), "--at", own.place())
        check(shown == own.join_string + "\n", "token show shows another string")


def others_are_refused(infold, folder):
    with switch(infold, folder) as own:
        statuses, said = ranks(infold, folder, [own.place()], world=1)
        check(statuses == [1] and "uses keys" in said, said)
        _, other_job = token_new(infold, own, "--job", "other")
        statuses, said = ranks(infold, folder, [other_job], world=1)
        check(statuses == [1] and "for a job of another name" in said, said)
        _, few = token_new(infold, own, "--ranks", "1")
        statuses, said = ranks(infold, folder, [few], world=2)
        check(statuses == [1, 1] and "the token is for 1 ranks" in said, said)
        check(own.log().count("join_refused") >= 3, own.log())


def a_narrow_token_is_enough(infold, folder):
    with switch(infold, folder) as own:
        words = ("--job", "job", "--ranks", "2", "--slots", "64", "--ttl", "8h")
        _, narrow = token_new(infold, own, *words)
        statuses, said = ranks(infold, folder, [narrow])
        check(statuses == [0, 0], said)


def revoked_tokens_and_old_secrets_end_with_sighup(infold, folder):
    with switch(infold, folder) as own:
        name, token = token_new(infold, own)
        infold_says(infold, "token", "revoke", name, "--state", str(own.state))
        own.reload()
        statuses, said = ranks(infold, folder, [token], world=1)
        check(statuses == [1] and "the token was revoked" in said, said)
        _, token = token_new(infold, own)
        for renewal, expected in ((1, [0, 0]), (2, [1, 1])):
            infold_says(infold, "token", "secret", "--renew", "--state", str(own.state))
            own.reload()
            statuses, said = ranks(infold, folder, [token])
            check(statuses == expected, f"after {renewal} renewals: {said}")
        check("not made with a secret of this switch" in said, said)


def what_cannot_be_read_changes_nothing(infold, folder):
    """A switch that reads a broken file after SIGHUP goes on with what it has."""
    with switch(infold, folder) as own:
        (own.state / "tokens").chmod(0o644)
        own.reload()
        check("settings_unread" in own.log() and "other users have access" in own.log(), own.log())
        statuses, said = ranks(infold, folder, [own.join_string])
        check(statuses == [0, 0], said)


def sighup_never_ends_a_switch_without_keys(infold, folder):
    log_path = pathlib.Path(folder) / "plain.log"
    with open(log_path, "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [infold, "switch", "--listen", "127.0.0.1:0", "--slots", "600", "--json"],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=BARE,
        )
    try:
        check(json.loads(process.stdout.readline())["keys"] is None, "keys on loopback")
        process.send_signal(signal.SIGHUP)
        end = time.monotonic() + SECONDS
        while "settings_read" not in log_path.read_text(encoding="utf-8"):
            check(process.poll() is None, "SIGHUP ended the switch")
            check(time.monotonic() < end, "the switch does not hear SIGHUP")
    finally:
        process.kill()
        process.communicate()


def off_loopback_keys_are_the_default(infold, folder):
    words = (infold, "switch", "--listen", "0.0.0.0:0", "--slots", "600", "--json")
    for more, has_keys in (
        (("--state", str(pathlib.Path(folder) / "state")), True),
        (("--insecure",), False),
    ):
        process = subprocess.Popen(
            [*words, *more], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=BARE
        )
        said = json.loads(process.stdout.readline())
        process.kill()
        process.communicate()
        check((said["keys"] is not None) == has_keys, said)


def a_rank_from_the_specification_joins(infold, folder):
    """The rank of examples/spec_worker has nothing but Python's own ssl."""
    sizes = ("--bytes", "4,65536", "--iterations", "3", "--check")
    with switch(infold, folder) as own:
        _, narrow = token_new(infold, own, "--job", "default", "--ranks", "2")
        words = ("bench", "allreduce", *sizes)
        ours = start_rank(infold, folder, narrow, 0, 2, words, INFOLD_JOB="default")
        spec = [sys.executable, str(SPEC_RANK), "--switch", narrow, "--rank", "1", "--ranks", "2"]
        done = subprocess.run(
            [*spec, "--elements", "1,16384", "--iterations", "3"],
            env=BARE,
            check=False,
            text=True,
            capture_output=True,
            timeout=SECONDS,
        )
        said, _ = ours.communicate(timeout=SECONDS)
        check(ours.returncode == 0, said)
        check(done.returncode == 0 and done.stdout.count("ok") == 2, done.stdout + done.stderr)


def tokens_are_never_shown(infold, folder):
    """Looks for the token in all that a switch, its ranks and its commands say, except for the
    string to join with."""
    with switch(infold, folder, "--metrics", "127.0.0.1:0") as own:
        name, narrow = token_new(infold, own, "--job", "job", "--ranks", "2")
        shown = ""
        for strings in ([own.join_string], [narrow], [narrow + "A"], [narrow[:-1]]):
            shown += ranks(infold, folder, strings)[1]
        shown += ranks(infold, folder, [narrow], world=2, INFOLD_JOB="another")[1]
        infold_says(infold, "token", "revoke", name, "--state", str(own.state))
        own.reload()
        shown += ranks(infold, folder, [narrow])[1]
        page = f"http://{own.said['metrics']}/metrics"
        with urllib.request.urlopen(page, timeout=SECONDS) as answer:
            shown += answer.read().decode()
        shown += infold_says(infold, "token", "list", "--state", str(own.state))
        shown += infold_says(infold, "token", "secret", "--state", str(own.state))
        shown += own.stop() + own.log()
        shown += (own.state / "tokens").read_text(encoding="utf-8")
        secrets = (own.state / "secrets").read_text(encoding="utf-8").split()[4:]
        for string in (own.join_string, narrow):
            secrets.append(string.partition(".")[2].rpartition(".")[2])
        check(len(shown) > 2000, "nothing was said")
        for secret in secrets:
            for part in (secret[:12], secret[-12:]):
                check(len(part) < 12 or part not in shown, f"a token is shown: {shown}")


def a_string_on_the_command_line_gets_a_warning(infold, folder):
    with switch(infold, folder) as own:
        done = subprocess.run(
            [infold, *SUM, "--rank", "0", "--ranks", "1", "--switch", own.join_string],
            env=BARE,
            check=False,
            text=True,
            capture_output=True,
            timeout=SECONDS,
        )
        check("--switch has a token, which 'ps' shows" in done.stderr, done.stderr)
        check(own.join_string.partition("#")[2] not in done.stdout + done.stderr, "it is shown")
        del folder


def a_directory_for_others_is_refused(infold, folder):
    state = pathlib.Path(folder) / "open"
    state.mkdir(mode=0o755)
    state.chmod(0o755)
    words = ("switch", "--listen", "127.0.0.1:0", "--keys", "--state", str(state))
    done = subprocess.run(
        [infold, *words], env=BARE, check=False, text=True, capture_output=True, timeout=SECONDS
    )
    check(done.returncode == 1 and f"chmod 700 {state}" in done.stderr, done.stderr)


def main():
    os.umask(0o022)
    return run_each(
        (
            ranks_join_with_the_string_that_the_switch_prints,
            a_restart_changes_nothing,
            others_are_refused,
            a_narrow_token_is_enough,
            revoked_tokens_and_old_secrets_end_with_sighup,
            what_cannot_be_read_changes_nothing,
            sighup_never_ends_a_switch_without_keys,
            off_loopback_keys_are_the_default,
            a_rank_from_the_specification_joins,
            tokens_are_never_shown,
            a_string_on_the_command_line_gets_a_warning,
            a_directory_for_others_is_refused,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
