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

    def _shown(self) -> dict[str, str]:
        """Facts to show: never a cell."""
        facts = {name: self.data.get(name) for name in ("id", "state", "name", "method", "rows", "flags", "release_id")}
        facts["columns"] = [each["name"] for each in self.data.get("columns") or ()]
        shown = {name: ", ".join(map(str, each)) if isinstance(each, list) else each for name, each in facts.items()}
        return {name: str(each) for name, each in shown.items() if each not in (None, "")}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {' '.join(f'{name}={each!r}' for name, each in self._shown().items())}>"

    def _repr_html_(self) -> str:
        import html

        rows = (f"<tr><th>{name}</th><td>{html.escape(each)}</td></tr>" for name, each in self._shown().items())
        return f"<table><caption>{type(self).__name__}</caption>{''.join(rows)}</table>"


def inputs(*about: "Handle[Any] | str", one: bool = False) -> dict[str, Any]:
    """The fields that name what a method works on: datasets and releases are told apart by their ids."""
    fields: dict[str, Any] = {}
    for each in about:
        name = each if isinstance(each, str) else each.id
        fields.setdefault("dataset_id" if name.startswith("ds_") else "release_id", []).append(each)
    return {name if one else f"{name}s": given[0] if one else given for name, given in fields.items()}


def specification(method: str, about: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a method's request, with the orders that the categories of an uploaded frame have."""
    orders = getattr(about.get("dataset_id"), "ordinal", {})
    ordered = set(options.get("quasi_identifiers") or ()) - set(options.get("nominal") or {})
    ordinal = {name: order for name, order in orders.items() if name in ordered} | dict(options.get("ordinal") or {})
    known = {name: each for name, each in about.items() if each is not None}
    return {**known, **options, **({"ordinal": ordinal} if ordinal else {}), "method": method}
