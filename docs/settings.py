"""Prints docs/reference/settings.md from the settings' own descriptions: `make settings`."""

from collections.abc import Iterator
from typing import get_args

from pydantic import AliasChoices, SecretStr
from pydantic.fields import FieldInfo

from app.settings import Settings

HEAD = """# Settings

Every setting is an environment variable, read once at start. The defaults serve one machine; `surebox serve` without
`DATABASE_URL`, `REDIS_URL` and `STORAGE_URL` fills in the addresses of the servers it starts itself.
This page is written by `make settings`.

| variable | default | meaning |
|---|---|---|
"""


def rows() -> Iterator[str]:
    """One table row per setting, in the order of the class."""
    prefix = str(Settings.model_config["env_prefix"])
    for name, field in Settings.model_fields.items():
        yield f"| {variables(prefix, name, field)} | {default(field)} | {escaped(field)} |"


def variables(prefix: str, name: str, field: FieldInfo) -> str:
    """The customary name first, where there is one."""
    if isinstance(field.validation_alias, AliasChoices):
        return " or ".join(f"`{choice}`" for choice in field.validation_alias.choices)
    return f"`{prefix}{name.upper()}`"


def escaped(field: FieldInfo) -> str:
    """The description, with angle brackets that Markdown does not take for a tag."""
    return str(field.description).replace("<", "&lt;").replace("|", "\\|")


def default(field: FieldInfo) -> str:
    """What holds when the variable is absent."""
    if field.annotation is SecretStr or SecretStr in get_args(field.annotation):
        return "none"
    return "none" if field.default is None else f"`{field.default}`"


if __name__ == "__main__":
    print(HEAD + "\n".join(rows()))
