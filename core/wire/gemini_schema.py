"""JSON Schema in the dialect that Gemini documents for tools and structured output.

What it does not know is not lost: it is told in the description, where the model reads it.
"""

import json
from collections.abc import Mapping

from core.types import Json

KEYWORDS = frozenset({
    "$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items",
    "prefixItems", "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties",
    "additionalProperties", "required", "propertyOrdering",
})  # fmt: skip
_SILENT = frozenset({"$schema", "$comment", "definitions"})
_OF_SCHEMAS = ("anyOf", "oneOf", "prefixItems")
_BY_NAME = ("properties", "$defs")
_ONE = ("items", "additionalProperties")


def portable_schema(schema: Json) -> Json:
    """The schema with known keywords only, in the order they came. The input is not changed."""
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:  # nothing but definitions may stand beside it
        kept = {"$ref": str(schema["$ref"]).replace("#/definitions/", "#/$defs/")}
        return kept | _named("$defs", schema.get("$defs", schema.get("definitions")))
    made: dict[str, Json] = {}
    told: list[str] = []
    for keyword, value in schema.items():
        if keyword in _BY_NAME:
            made |= _named(keyword, value)
        elif keyword in _OF_SCHEMAS and isinstance(value, list | tuple):
            made[keyword] = [portable_schema(one) for one in value]
        elif keyword in _ONE:
            made[keyword] = portable_schema(value)
        elif keyword in KEYWORDS:
            made[keyword] = value
        elif keyword == "const":
            made["enum"] = [value]
        elif keyword not in _SILENT:
            told.append(f"{keyword}: {json.dumps(value, ensure_ascii=False)}")
    if "definitions" in schema:
        made |= _named("$defs", schema["definitions"])
    if told:
        words = [made["description"]] if made.get("description") else []
        made["description"] = " ".join([*words, f"({'; '.join(told)})"])
    return made


def _named(keyword: str, schemas: Json) -> dict[str, Json]:
    if not isinstance(schemas, Mapping):
        return {}
    return {keyword: {name: portable_schema(one) for name, one in schemas.items()}}
