"""Starts the emulator: applies the settings, patches LocalStack, and serves."""

import argparse
import sys
from pathlib import Path

from emulator import settings


def main() -> int:
    options = argparse.ArgumentParser(prog="emulator")
    options.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    options.add_argument("--home", required=True, help="folder for all files")
    options.add_argument("--dynamodb", required=True, help="folder of DynamoDB Local's jars")
    chosen = options.parse_args()
    settings.apply(chosen.port, chosen.home)

    from emulator import addresses, authorizer, dynamodb, functions, resources, responses, rights, routing, streams
    from localstack.runtime.main import main as serve

    routing.patch()
    dynamodb.patch(chosen.dynamodb)
    functions.patch(Path(chosen.home, "logs"))
    authorizer.patch()
    responses.patch()
    resources.patch()
    addresses.patch(f"http://127.0.0.1:{chosen.port}")  # after resources, which unwraps what this one wraps
    streams.patch()
    rights.patch(Path(chosen.home))
    return serve()


if __name__ == "__main__":
    sys.exit(main())
