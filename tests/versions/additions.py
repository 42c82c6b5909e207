"""Changes of an OpenAPI document that break clients of an earlier one: all but additions.

A body that was accepted stays accepted: its fields are there, no other is required, words and bounds are not fewer or
narrower, defaults are the same. An answer stays readable: its fields are there, those that were always there are, and
what was no number or no null does not become one. Answers may have more fields and words, unions by a discriminator
more ways.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Way = Literal["sent", "received"]
Schema = Mapping[str, Any]

_REFERENCE = "#/components/schemas/"
_UNIONS = ("anyOf", "oneOf")
#: Bounds from below and from above: a later body may not be held to a narrower one.
_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_SAME = ("default", "const", "format", "contentEncoding")


@dataclass(frozen=True)
class Comparison:
    """Two documents, and the pairs of schemas that are being compared."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    pairs: set[tuple[str, str, Way]] = field(default_factory=set)

    def breaks(self) -> Iterator[str]:
        """Yield a sentence for each change that is no addition."""
        yield from self._names()
        for path, operations in self.before["paths"].items():
            for method, operation in operations.items():
                where = f"{method.upper()} {path}"
                later = self.after["paths"].get(path, {}).get(method)
                if later is None:
                    yield f"{where} is gone"
                else:
                    yield from self._operation(where, operation, later)

    def _names(self) -> Iterator[str]:
        for kind, named in self.before["components"].items():
            for name in sorted(set(named) - set(self.after["components"].get(kind, ()))):
                yield f"{kind}/{name} is gone"

    def _operation(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"{where} is called otherwise"
        yield from self._parameters(where, old, new)
        if "requestBody" in old:
            yield from self._body(where, old["requestBody"], new.get("requestBody", {}))
        elif new.get("requestBody", {}).get("required"):
            yield f"{where} requires a body"
        for scopes in (set(way.get("bearer", ())) for way in old["security"]):
            if not any(set(way.get("bearer", ())) <= scopes for way in new["security"]):
                yield f"{where} requires other scopes"
        for status, answer in old["responses"].items():
            if status not in new["responses"]:
                yield f"{where} has no {status}"
                continue
            later = new["responses"][status]
            for header in sorted(set(answer.get("headers", ())) - set(later.get("headers", ()))):
                yield f"{where} {status} has no header {header}"
            yield from self._contents(f"{where} {status}", answer, later, "received")

    def _parameters(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        before = {(one["in"], one["name"]): one for one in old.get("parameters", ())}
        after = {(one["in"], one["name"]): one for one in new.get("parameters", ())}
        for key, parameter in before.items():
            place = f"{where} ?{key[1]}"
            if key not in after:
                yield f"{place} is gone"
                continue
            if after[key].get("required", False) and not parameter.get("required", False):
                yield f"{place} is required"
            yield from self._schema(place, parameter["schema"], after[key]["schema"], "sent")
        for key, parameter in after.items():
            if key not in before and parameter.get("required", False):
                yield f"{where} ?{key[1]} is new and required"

    def _body(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        if new.get("required", False) and not old.get("required", False):
            yield f"{where} requires a body"
        yield from self._contents(f"{where} body", old, new, "sent")

    def _contents(self, where: str, old: Schema, new: Schema, way: Way) -> Iterator[str]:
        for media, content in old.get("content", {}).items():
            later = new.get("content", {}).get(media)
            if later is None:
                yield f"{where} is no {media}"
            elif "schema" in content:
                yield from self._schema(where, content["schema"], later.get("schema", {}), way)

    def _schema(self, where: str, old: Schema, new: Schema, way: Way) -> Iterator[str]:
        named = (str(old.get("$ref", "")), str(new.get("$ref", "")), way)
        if named[0] and named[1]:
            if named in self.pairs:
                return
            self.pairs.add(named)
        old, new = self._plain(old, self.before), self._plain(new, self.after)
        yield from self._scalars(where, old, new, way)
        if way == "sent":
            yield from self._limits(where, old, new)
        yield from self._fields(where, old, new, way)
        yield from self._unions(where, old, new, way)
        for key in ("items", "additionalProperties", "propertyNames"):
            if isinstance(old.get(key), Mapping) and isinstance(new.get(key), Mapping):
                yield from self._schema(f"{where}[]", old[key], new[key], way)
        for place, (one, other) in enumerate(zip(old.get("prefixItems", ()), new.get("prefixItems", ()), strict=False)):
            yield from self._schema(f"{where}[{place}]", one, other, way)

    @staticmethod
    def _plain(schema: Schema, document: Mapping[str, Any]) -> Schema:
        """A schema in the place of a reference to it."""
        while "$ref" in schema:
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            named = document["components"]["schemas"].get(schema["$ref"].removeprefix(_REFERENCE), {})
            schema = {**named, **rest}
        return schema

    @staticmethod
    def _scalars(where: str, old: Schema, new: Schema, way: Way) -> Iterator[str]:
        for key in _SAME:
            if old.get(key) != new.get(key):
                yield f"{where}: {key} was {old.get(key)!r} and is {new.get(key)!r}"
        for key in ("enum", "x-extensible-enum"):
            words = new.get(key, () if way == "received" else old.get(key, ()))
            if gone := set(old.get(key, ())) - set(words):
                yield f"{where}: {', '.join(sorted(map(str, gone)))} is gone"
        if "enum" in new and "enum" not in old:
            yield f"{where}: one of few words"
        types = [{one} if isinstance(one, str) else set(one) for one in (old.get("type", ()), new.get("type", ()))]
        wider, narrower = types if way == "received" else types[::-1]
        if wider and narrower - wider:
            yield f"{where}: type was {old.get('type')} and is {new.get('type')}"

    @staticmethod
    def _limits(where: str, old: Schema, new: Schema) -> Iterator[str]:
        if "pattern" in new and new["pattern"] != old.get("pattern"):
            yield f"{where}: pattern was {old.get('pattern')!r} and is {new['pattern']!r}"
        for keys, narrower_than in ((_LEAST, lambda one, other: one > other), (_MOST, lambda one, other: one < other)):
            for key in keys:
                if key in new and (key not in old or narrower_than(new[key], old[key])):
                    yield f"{where}: {key} was {old.get(key)} and is {new[key]}"

    def _fields(self, where: str, old: Schema, new: Schema, way: Way) -> Iterator[str]:
        fields, later = old.get("properties", {}), new.get("properties", {})
        if fields or later:
            required, then = set(old.get("required", ())), set(new.get("required", ()))
            more, fewer = then - required, required - then
            for name in sorted(more if way == "sent" else fewer):
                yield f"{where}.{name} is {'required' if way == 'sent' else 'not always there'}"
        for name, schema in fields.items():
            if name not in later:
                yield f"{where}.{name} is gone"
            else:
                yield from self._schema(f"{where}.{name}", schema, later[name], way)

    def _unions(self, where: str, old: Schema, new: Schema, way: Way) -> Iterator[str]:
        before, after = _ways(old), _ways(new)
        if not before and not after:
            return
        if "discriminator" in old and "discriminator" in new:
            mapping, later = old["discriminator"]["mapping"], new["discriminator"]["mapping"]
            for value, reference in mapping.items():
                if value not in later:
                    yield f"{where} has no {value}"
                else:
                    yield from self._schema(f"{where}({value})", {"$ref": reference}, {"$ref": later[value]}, way)
            return
        covered, by = (before or [old], after or [new]) if way == "sent" else (after or [new], before or [old])
        for one in covered:
            if not any(self._fits(one, other, way) for other in by):
                yield f"{where}: a way of the {'earlier' if way == 'sent' else 'later'} union is none of the other"

    def _fits(self, one: Schema, other: Schema, way: Way) -> bool:
        """Return whether a way of one union is one of the other; pairs that are being compared count as alike."""
        old, new = (one, other) if way == "sent" else (other, one)
        attempt = Comparison(self.before, self.after, set(self.pairs))
        return next(attempt._schema("", old, new, way), None) is None


def _ways(schema: Schema) -> list[Schema]:
    return [way for key in _UNIONS for way in schema.get(key, ())]
