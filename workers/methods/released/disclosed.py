"""What a release of boxes gives away of values, from its file."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from surebox_verify.disclosure import ValueDisclosure, days_of, value_disclosure
from surebox_verify.released.boxes import has_means, meaning_of, read_boxes, weight_of


def release_disclosure(
    path: Path,
    parameters: Mapping[str, Any],
    types: Mapping[str, str],
    tolerances: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, ValueDisclosure]:
    """Return what everybody learns of the values of each column that a release was made by.

    Parameters
    ----------
    path
        Its Parquet file.
    parameters
        How it was made, as far as that is public, or the specification of its job.
    types
        Type of each column of its files, by name.
    tolerances
        By column, what is named in place of a tenth of its natural scale.
    """
    names, orders = list(parameters.get("quasi_identifiers", ())), parameters.get("ordinal")
    weight, means = weight_of(parameters, types), has_means(parameters)
    boxes = read_boxes(path, names, weight=weight, orders=orders, means=means)
    meaning = meaning_of(parameters, types)
    shown = value_disclosure(boxes, meaning, boxes.numeric, boxes.nominal, days_of(types), tolerances)
    return {name: shown[name] for name in names}
