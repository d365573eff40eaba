"""A small AWS on this machine, without Docker: LocalStack's community edition with fixes.

LocalStack omits some features that the stack of infra/ uses, and differs from AWS in others. Each module fixes one gap and
describes it in its first lines. cloud.go lists the remaining gaps.

    python -m emulator --port 4566 --home FOLDER --dynamodb FOLDER

serves until the process is killed. Kill the process group to end the functions too. The functions' logs go to FOLDER/logs.
"""
