"""`python -m whyperf`."""

from whyperf.cli.main import command

if __name__ == "__main__":
    command()
