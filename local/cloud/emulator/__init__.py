"""A small AWS on this machine, without Docker: LocalStack's community edition, with what it leaves out or does otherwise
than AWS, in as far as the stack of infra/ meets it. Each module mends one matter and says in its first lines what differs;
what is not mended is listed in cloud.go.

    python -m emulator --port 4566 --home FOLDER --dynamodb FOLDER

serves until it is killed, and its functions with it if their process group is. FOLDER/logs gets the functions' logs.
"""
