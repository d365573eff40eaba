"""A small AWS on this machine, without Docker: LocalStack's community edition, with fixes where it omits what the stack of
infra/ uses, or differs from AWS in it. Each module fixes one gap and says in its first lines what differs; cloud.go lists the
gaps that remain.

    python -m emulator --port 4566 --home FOLDER --dynamodb FOLDER

serves until it is killed. Kill its process group to end the functions too. The functions' logs go to FOLDER/logs.
"""
