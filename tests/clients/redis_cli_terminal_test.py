"""redis-cli on a terminal, typed into through tmux: the hints that appear while one types."""

import os
import subprocess
import unittest
import uuid

from iris_server import REFERENCE, Server, wait_until


class Terminal:
    """A terminal of its own (a tmux server of its own) in which redis-cli runs."""

    def __init__(self, port, *options):
        self.name = f"iris-test-{uuid.uuid4().hex[:12]}"
        words = " ".join(["redis-cli", "-p", str(port), *options])
        # No history or settings of whoever runs the tests.
        command = f"env REDISCLI_HISTFILE=/dev/null REDISCLI_RCFILE=/dev/null {words}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50", command)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")

    def tmux(self, *arguments):
        environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        environment.pop("TMUX", None)
        return subprocess.run(
            ["tmux", "-L", self.name, *arguments],
            env=environment, capture_output=True, text=True, timeout=20,
        ).stdout

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def press(self, key):
        self.tmux("send-keys", key)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, text):
        return wait_until(lambda: text in self.screen(), 20)


class TerminalTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Server())

    def expect(self, terminal, text):
        self.assertTrue(terminal.shows(text), f"{text!r} is not on the screen:\n{terminal.screen()}")

    def test_hints_appear_for_each_command_as_one_types(self):
        hints = {
            "expire ": "expire key seconds [NX|XX|GT|LT]",
            "rename ": "rename key newkey",
            "scan ": "scan cursor [MATCH pattern] [COUNT count] [TYPE type]",
            "del ": "del key [key ...]",
            "config set ": "config set parameter value",
        }
        if not REFERENCE:
            hints["bf.reserve "] = "bf.reserve key error_rate capacity [EXPANSION expansion]"
            hints["bf.madd "] = "bf.madd key item [item ...]"
            hints["bf.exists "] = "bf.exists key item"
        for typed, shown in hints.items():
            with self.subTest(typed), Terminal(self.server.port) as terminal:
                self.expect(terminal, f"127.0.0.1:{self.server.port}>")
                terminal.type(typed)
                self.expect(terminal, shown)

    def test_what_is_typed_already_leaves_the_hint(self):
        with Terminal(self.server.port) as terminal:
            self.expect(terminal, ">")
            terminal.type("expire mykey 10 ")
            self.expect(terminal, "expire mykey 10 [NX|XX|GT|LT]")

    def test_tab_completes_a_command(self):
        with Terminal(self.server.port) as terminal:
            self.expect(terminal, ">")
            terminal.type("renamen")
            terminal.press("Tab")
            self.expect(terminal, "RENAMENX")

    def test_help_is_shown(self):
        with Terminal(self.server.port) as terminal:
            self.expect(terminal, ">")
            terminal.type("help persist")
            terminal.press("Enter")
            self.expect(terminal, "summary:")
            self.expect(terminal, "since:")

    def test_a_session(self):
        for options in ([], ["-3"]):
            with self.subTest(options), Terminal(self.server.port, *options) as terminal:
                self.expect(terminal, ">")
                terminal.type("ping")
                terminal.press("Enter")
                self.expect(terminal, "PONG")
                terminal.type("select 3")
                terminal.press("Enter")
                self.expect(terminal, f"127.0.0.1:{self.server.port}[3]>")
                terminal.type("multi")
                terminal.press("Enter")
                self.expect(terminal, "[3](TX)>")
                terminal.type("exec")
                terminal.press("Enter")
                self.expect(terminal, "(empty array)")

    def test_it_reconnects(self):
        with Terminal(self.server.port) as terminal:
            self.expect(terminal, ">")
            terminal.type("client kill type normal skipme no")
            terminal.press("Enter")
            self.expect(terminal, "(integer) 1")
            terminal.type("ping")
            terminal.press("Enter")
            self.expect(terminal, "not connected>")
            terminal.type("echo back-again")
            terminal.press("Enter")
            self.expect(terminal, '"back-again"')


if __name__ == "__main__":
    unittest.main()
