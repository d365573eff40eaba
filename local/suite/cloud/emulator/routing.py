"""Compiles a service's routes one at a time. LocalStack builds a service's router with the first request to it, and werkzeug
compiles each rule through Python's syntax trees. CPython 3.11 cannot do that in two threads at once: it raises "AST
constructor recursion depth mismatch", and the request ends in a 500.
"""

import threading

from werkzeug.routing import Rule


def patch() -> None:
    compiled, turn = Rule.compile, threading.Lock()

    def compile_alone(rule: Rule) -> None:
        with turn:
            compiled(rule)

    Rule.compile = compile_alone
