"""Starts the emulator: settings, then LocalStack with what is mended."""

import argparse
import sys
from pathlib import Path

from emulator import settings


def main() -> int:
    options = argparse.ArgumentParser(prog="emulator")
    options.add_argument("--port", type=int, required=True, help="of 127.0.0.1")
    options.add_argument("--home", required=True, help="folder for everything that is written")
    options.add_argument("--dynamodb", required=True, help="folder of DynamoDB Local's jars")
    chosen = options.parse_args()
    settings.apply(chosen.port, chosen.home)

    from emulator import addresses, authorizer, dynamodb, functions, resources, responses, routing, streams
    from localstack.runtime.main import main as serve

    routing.mend()
    addresses.mend()
    dynamodb.mend(chosen.dynamodb)
    functions.mend(Path(chosen.home, "logs"))
    authorizer.mend()
    responses.mend()
    resources.mend()
    streams.mend()
    return serve()


if __name__ == "__main__":
    sys.exit(main())
