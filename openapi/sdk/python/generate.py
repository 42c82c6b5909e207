"""Writes what of the Python client follows from something else.

Of openapi/openapi.json the types and a function a method; of what is awaited the same without `await` (`blocking.py`,
`blocking_driver.py`); of surebox-verify the grammar of statistics. Bounds are left out, for the generator makes a
numbered type of each bounded one. Each method has its keyword arguments beside its body: the same fields without
`method`, and without those that name what it works on.
"""

import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any, Final

DOCUMENT: Final = Path(__file__).parents[2] / "openapi.json"
PACKAGE: Final = Path(__file__).parent / "surebox_client"
GRAMMAR: Final = Path(__file__).parents[3] / "verify" / "surebox_verify" / "released" / "grammar.py"
_BOUNDS: Final = (
    "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
)  # fmt: skip
_REFERENCE: Final = "#/components/schemas/"
_BLOCKING: Final = {
    r"\bAsyncIterator, Iterator\b": "Iterator",
    r"\basync (def|for|with)\b": r"\1",
    r"\bawait ": "",
    r"\bAsync(\w+)": r"\1",
    r"__a(enter|exit)__": r"__\1__",
    r"\ba(close|read|iter_bytes|next)\b": r"\1",
    r"\basyncio\b": "time",
    r"surebox_client\.driver": "surebox_client.blocking_driver",
    r"_generated\.async_methods": "_generated.methods",
}
_METHODS_HEAD: Final = '''"""A function a method: written by `make sdk` from openapi/openapi.json, never edited."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

from surebox_client.handles import Handle, inputs

if TYPE_CHECKING:
    from surebox_client._generated import types

J = TypeVar("J")


class AsyncMethods(Generic[J]):
    """What a client has for each method, which makes a job."""

    async def _job(self, path: str, method: str, about: Mapping[str, Any], options: Mapping[str, Any]) -> J:
        raise NotImplementedError
'''
#: Parameters of an upload that the client has in a form of its own.
_WORDS: Final = "x-extensible-enum"
_OWN: Final = ("name", "tag", "type")
_HEAD: Final = '"""Types of answers and bodies: written by `make sdk` from openapi/openapi.json, never edited."""'


def plain(node: Any, *, named: bool = False) -> Any:
    """A part of the document without bounds; in `properties` and `schemas` keys are names."""
    if isinstance(node, dict):
        kept = {key: value for key, value in node.items() if named or key not in _BOUNDS}
        return {key: plain(value, named=key in ("properties", "schemas")) for key, value in kept.items()}
    return [plain(each) for each in node] if isinstance(node, list) else node


def words(node: Any) -> Any:
    """A part of the document in which a text that lists words is one of them, or any other."""
    if isinstance(node, list):
        return [words(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: words(value) for key, value in node.items()}
    if (known := made.pop(_WORDS, None)) is not None:
        made["anyOf"] = [{"type": made.pop("type"), "enum": known}, {"type": "string"}]
    return made


def options(request: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments of a method: what it works on may be given by position, a statistic in words."""
    fields = {name: schema for name, schema in request["properties"].items() if name != "method"}
    if "statistics" in fields:
        words = [{"$ref": f"{_REFERENCE}Statistic"}, {"type": "string"}]
        fields["statistics"] = {"anyOf": [{"type": "array", "items": {"anyOf": words}}, {"type": "null"}]}
    required = [name for name in request["required"] if name in fields and not name.endswith(("_id", "_ids"))]
    title = request["title"].replace("Request", "Options")
    return {**request, "properties": fields, "required": required, "title": title}


def document() -> dict[str, Any]:
    """The document as the generator is given it."""
    whole: dict[str, Any] = words(plain(json.loads(DOCUMENT.read_text(encoding="utf-8"))))
    schemas = whole["components"]["schemas"]
    for name in ("AnonymizationRequest", "AuditRequest"):
        for reference in schemas[name]["discriminator"]["mapping"].values():
            method = options(schemas[reference.removeprefix(_REFERENCE)])
            schemas[method["title"]] = method
    reading = [each for each in whole["paths"]["/v1/datasets"]["post"]["parameters"] if each["in"] == "query"]
    fields = {each["name"]: each["schema"] for each in reading if each["name"] not in _OWN}
    schemas["UploadOptions"] = {"type": "object", "title": "UploadOptions", "properties": fields}
    return whole


def types() -> str:
    """The module."""
    from datamodel_code_generator import generate
    from datamodel_code_generator.config import GenerateConfig
    from datamodel_code_generator.enums import DataModelType, InputFileType
    from datamodel_code_generator.format import Formatter, PythonVersion
    from datamodel_code_generator.parser import LiteralType

    made = generate(
        json.dumps(document()),
        config=GenerateConfig(
            input_file_type=InputFileType.OpenAPI,
            output_model_type=DataModelType.TypingTypedDict,
            target_python_version=PythonVersion.PY_311,
            use_annotated=True,
            use_standard_collections=True,
            use_union_operator=True,
            use_closed_typed_dict=False,
            enum_field_as_literal=LiteralType.All,
            disable_timestamp=True,
            custom_file_header=_HEAD,
            formatters=[Formatter.BLACK, Formatter.ISORT],
        ),
    )
    return str(made)


def methods() -> str:
    """A function a method, awaited: what it works on comes first, its options are keywords."""
    schemas = json.loads(DOCUMENT.read_text(encoding="utf-8"))["components"]["schemas"]
    lines = [_METHODS_HEAD]
    for path, name in {"/v1/anonymizations": "AnonymizationRequest", "/v1/audits": "AuditRequest"}.items():
        for method, reference in schemas[name]["discriminator"]["mapping"].items():
            request = schemas[reference.removeprefix(_REFERENCE)]
            about, fields = about_of(request)
            options_of = request["title"].replace("Request", "Options")
            lines += [
                f"    async def {method}(",
                f'        self, {", ".join(about)}, **options: "Unpack[types.{options_of}]"',
                "    ) -> J:",
                f'        """{request["description"].splitlines()[0]}"""',
                f'        return await self._job("{path}", "{method}", {fields}, options)',
                "",
            ]
    return "\n".join(lines).rstrip() + "\n"


def about_of(request: dict[str, Any]) -> tuple[list[str], str]:
    """The parameters that name what a method works on, and the fields of the request that they become."""
    has = request["properties"].keys()
    if "auxiliary_dataset_id" in request["required"]:
        pair = '{"auxiliary_dataset_id": auxiliary, "target_dataset_id": target}'
        one = "Handle[types.Dataset] | str"
        return [f'auxiliary: "{one}"', f'target: "{one} | None" = None', "/"], pair
    several = "release_ids" in has and "release_id" not in has
    ending = "_ids" if several else "_id"
    kinds = [kind for kind in ("Dataset", "Release") if f"{kind.lower()}{ending}" in has]
    annotation = " | ".join([*(f"Handle[types.{kind}]" for kind in kinds), "str"])
    if several:
        return [f'*about: "{annotation}"'], "inputs(*about)"
    return [f'about: "{annotation}"', "/"], "inputs(about, one=True)"


def blocking(awaited: str) -> str:
    """A module that blocks: the one that is awaited, without what awaits."""
    text = awaited.partition('"""\n')[2]
    for asynchronous, plainly in _BLOCKING.items():
        text = re.sub(asynchronous, plainly, text)
    return f'"""Without `await`: written by `make sdk`, never edited."""\n{text}'


def modules() -> dict[str, str]:
    """Each module that is written, by its place in the package."""
    read = {name: (PACKAGE / f"{name}.py").read_text(encoding="utf-8") for name in ("asynchronous", "driver")}
    return {
        "_generated/types.py": types(),
        "_generated/async_methods.py": methods(),
        "_generated/methods.py": blocking(methods()),
        "blocking_driver.py": blocking(read["driver"]),
        "_generated/statistics.py": GRAMMAR.read_text(encoding="utf-8"),
        "blocking.py": blocking(read["asynchronous"]),
    }


def write(*, check: bool) -> int:
    """Write all; with `check` compare them with those that are there, and name which differ."""
    status = 0
    for name, text in modules().items():
        path = PACKAGE / name
        if not check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.stdout.write(f"{path} does not follow from the document: make sdk\n")
            status = 1
    return status


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(write(check="--check" in sys.argv[1:]))
