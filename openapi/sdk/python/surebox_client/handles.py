"""What the client knows of a dataset, a job or a release without asking: what handles of both kinds share."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

D = TypeVar("D", bound=Mapping[str, Any])


class Handle(Generic[D]):
    """Something that the service has; `data` is what it last said of it, with whatever fields came since."""

    def __init__(self, data: D) -> None:
        self.data = data

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.data["id"])

    @property
    def state(self) -> str:
        """Its state; more may come."""
        return str(self.data["state"])

    def __getitem__(self, field: str) -> Any:
        return self.data[field]

    def _facts(self) -> dict[str, Any]:
        """Facts to show: never a cell."""
        columns = self.data.get("columns")
        facts = {name: self.data.get(name) for name in ("id", "state", "name", "method", "rows", "flags", "release_id")}
        return facts | {"columns": ", ".join(each["name"] for each in columns) if columns else None}

    def _shown(self) -> dict[str, str]:
        listed = {
            name: ", ".join(map(str, each)) if isinstance(each, list) else each for name, each in self._facts().items()
        }
        return {name: str(each) for name, each in listed.items() if each not in (None, "")}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {' '.join(f'{name}={each!r}' for name, each in self._shown().items())}>"

    def _repr_html_(self) -> str:
        import html

        rows = (f"<tr><th>{name}</th><td>{html.escape(each)}</td></tr>" for name, each in self._shown().items())
        return f"<table><caption>{type(self).__name__}</caption>{''.join(rows)}</table>"


def named(about: "Handle[Any] | str") -> str:
    """The id of a handle, or an id as it is."""
    return about if isinstance(about, str) else about.id


def inputs(*about: "Handle[Any] | str", one: bool = False) -> dict[str, Any]:
    """The fields that name what a method works on: datasets and releases are told apart by their ids."""
    fields: dict[str, Any] = {}
    for each in map(named, about):
        fields.setdefault("dataset_id" if each.startswith("ds_") else "release_id", []).append(each)
    return {name: ids[0] for name, ids in fields.items()} if one else {f"{name}s": ids for name, ids in fields.items()}


def with_orders(orders: Mapping[str, list[Any]], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a method with the orders that the categories of the uploaded frame have."""
    named = {name: order for name, order in orders.items() if name in (options.get("quasi_identifiers") or ())}
    nominal = options.get("nominal") or {}
    ordinal = {name: order for name, order in named.items() if name not in nominal} | dict(options.get("ordinal") or {})
    return {**options, **({"ordinal": ordinal} if ordinal else {})}
