"""How the routes of a service are compiled: one at a time. LocalStack makes a service's router with the first request for it,
and werkzeug compiles each rule through Python's syntax trees, which CPython 3.11 cannot do in two threads at once: it
ends in "AST constructor recursion depth mismatch", and the request in a 500.
"""

import threading

from werkzeug.routing import Rule


def mend() -> None:
    compiled, turn = Rule.compile, threading.Lock()

    def compile_alone(rule: Rule) -> None:
        with turn:
            compiled(rule)

    Rule.compile = compile_alone
