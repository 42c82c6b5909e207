"""What a certificate says of how a release was made: words and numbers that nothing has, and what no file shows.

Statistics are held against those that were requested, flags against what raises them. What decides how boxes were
searched for, and flags about the data, are listed for the reader: no file shows them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from surebox_verify.certificate import Certificate
from surebox_verify.disclosure import agrees, days_of, value_disclosure
from surebox_verify.released.boxes import ReleasedBoxes, meaning_of
from surebox_verify.released.naming import may_be_merged

_WORDS: Final[Mapping[str, frozenset[str]]] = {
    "method": frozenset({"boxes", "uncertain", "condensation", "swaps"}),
    "bounds": frozenset({"cells", "grid", "tight"}),
    "box_means": frozenset({"none", "rounded", "exact"}),
    "missing_policy": frozenset({"refuse", "drop", "pattern"}),
    "objective": frozenset({"bias_aware", "paper"}),
    "partition": frozenset({"optimal", "fast", "mondrian"}),
    "rare_records": frozenset({"keep", "mark", "suppress", "weigh"}),
    "released_weights": frozenset({"box", "row"}),
    "density": frozenset({"gaussian", "uniform"}),
    "scales": frozenset({"common", "levels", "shared", "per_record"}),
    "axes": frozenset({"global", "local", "rotated"}),
}
#: Least and greatest number that each may be.
_NUMBERS: Final[Mapping[str, tuple[float, float]]] = {
    "alpha": (0.0, 1.0), "confidence": (0.0, 1.0), "ddof": (0, 1), "k": (1, float("inf")), "l": (1, float("inf")),
    "max_suppressed": (0.0, 1.0), "min_records_at_bound": (1, float("inf")), "t": (0.0, 1.0),
    "unlisted_column_weight": (0.0, float("inf")), "mean_interval_in_boxes": (0.0, float("inf")),
    "p_percent": (0.0, float("inf")), "suppress_share": (0.0, 1.0),
}  # fmt: skip
_WHOLE: Final = frozenset({"ddof", "l", "min_records_at_bound"})
#: What decides how boxes were searched for, or is about records that the file does not have.
_SEARCH: Final = (
    "partition", "objective", "confidence", "unlisted_column_weight", "missing_policy", "min_records_at_bound",
    "mean_interval_in_boxes", "p_percent", "max_suppressed",
)  # fmt: skip
#: The same of releases without boxes.
_NOISE: Final = ("density", "min_scale", "scaling_units", "suppress_share", "cell_size", "k_column", "search")
_DEMANDS: Final = ("l", "t", "alpha")
_BY_COLUMN: Final = (
    "domains", "merged_as", "min_separation", "min_width", "nominal", "ordinal", "spikes", "t_distance",
    "value_step",
)  # fmt: skip
_NOT_KEPT: Final = frozenset({"suppress", "weigh"})
_OF_VALUES: Final = frozenset({"share", "crosstab", "domain_mean"})
_SAME: Final = ("kind", "of", "p", "at", "interval")
#: Flags that follow from parameters, or are compared by the method; and those that are about the data.
_OF_THE_FILE: Final = frozenset({
    "kept-columns-not-counted", "rare-records-suppressed", "tight-bounds", "grid-bounds", "means-inside-boxes",
    "survey-weights", "scales-per-record", "zero-scale", "regions-swapped", "records-not-anonymous", "weighed",
    "groups-of-one",
})  # fmt: skip
_OF_THE_DATA: Final = frozenset({
    "reproducible", "codebook-from-data", "outer-bounds-from-data", "types-from-data", "repeated-release",
    "composition-accepted", "protection-failed", "declared-data", "new-version",
})  # fmt: skip
_OUTER: Final = "outer-bounds-from-data"


@dataclass(frozen=True)
class Parameters:
    """What is said of how a release was made.

    Attributes
    ----------
    certificate : it says so.
    boxes : of the release, where it has some and they can be read.
    """

    certificate: Certificate
    boxes: ReleasedBoxes | None

    @property
    def said(self) -> Mapping[str, Any]:
        """The parameters."""
        return self.certificate.parameters

    def unknown(self) -> Iterator[str]:
        """Words that this version does not know: what they claim is not checked."""
        for name, words in _WORDS.items():
            if self.said.get(name) is not None and self.said[name] not in words:
                yield f"parameters: this version does not know what `{name}: {self.said[name]}` means"
        for flag in sorted((self.certificate.flags or frozenset()) - _OF_THE_FILE - _OF_THE_DATA):
            yield f"flags: this version does not know what {flag!r} means"

    def problems(self) -> Iterator[str]:
        """Numbers that nothing has, demands about nothing, and statistics that were not requested."""
        for name, (least, most) in _NUMBERS.items():
            value = self.said.get(name)
            if value is None:
                continue
            number = isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
            if not number or (name in _WHOLE and value != int(value)):
                yield f"parameters: no release has `{name}` of {value}"
        for name in _BY_COLUMN:
            if self.said.get(name) is not None and not isinstance(self.said[name], Mapping):
                yield f"parameters: `{name}` says nothing of any column"
        demands = [name for name in _DEMANDS if self.said.get(name) is not None]
        if demands and not (self.said.get("sensitive") or self.said.get("min_separation")):
            yield f"{demands[0]}: {self.said[demands[0]]} published, of no column"
        if self.said.get("method") == "boxes":
            yield from self._wrong_counts()
            yield from self._wrong_statistics()
            yield from self._wrong_outer()
            yield from self._wrong_disclosure()
            yield from self._wrong_words()

    def _wrong_counts(self) -> Iterator[str]:
        """Counts of persons that are published as a column of theirs, or stated beside persons with several rows."""
        name, exact = self.said.get("frequency_column"), self.said.get("frequencies_are_exact")
        if name is None:
            if exact:
                yield "frequencies_are_exact: published, and no `frequency_column` has counts"
            return
        if not isinstance(name, str):
            yield f"frequency_column: {name} published, which names no column"
        elif name in {*(self.said.get("quasi_identifiers") or ()), *(self.said.get("keep") or ())}:
            yield f"frequency_column: {name!r} published, which is a column of the persons too"
        if self.said.get("person_column") is not None:
            yield "frequency_column: published beside `person_column`, and a person has one row or several"

    def _wrong_statistics(self) -> Iterator[str]:
        """Published statistics that are none of the requested ones, or say what such statistics have not."""
        requested, published = self.said.get("statistics"), self.certificate.statistics
        for each in published:
            core = each.get("core")
            if self.said.get("rare_records") != "mark" and core is not None:
                yield "statistics: one about a core published, no core is marked"
            empty = [one.get("domain_may_be_empty") for one in (each, core) if isinstance(one, Mapping)]
            if each.get("kind") != "domain_mean" and empty != [None] * len(empty):
                yield "statistics: `domain_may_be_empty` published of one without a domain"
            terms = each.get("terms")
            if terms is not None and (each.get("kind") != "regression" or not isinstance(terms, list)):
                yield "statistics: `terms` published of one that has none"
        if requested is None:
            return
        names = {str(each) for each in self.said.get("quasi_identifiers") or ()}
        if any(not any(_is_of(each, one, names) for one in requested) for each in published):
            yield "statistics: one published that the parameters do not list"

    def _wrong_outer(self) -> Iterator[str]:
        """Whether outer bounds come from the data follows from the domains that are declared."""
        flags, said = self.certificate.flags, self.said
        if flags is None or self.boxes is None or said.get("base_release_id") or said.get("previous_release_id"):
            return
        domains, orders = said.get("domains") or {}, said.get("ordinal") or {}
        open_ended = [name for name in self.boxes.numeric if domains.get(name) is None and name not in orders]
        if (bool(open_ended) and said.get("bounds") != "tight") != (_OUTER in flags):
            yield f"flags: {_OUTER!r} is {'' if _OUTER in flags else 'not '}published, and not as `domains` say"

    def _wrong_disclosure(self) -> Iterator[str]:
        """Yield shares of values given away that are not those of the boxes."""
        published, boxes = self.said.get("value_disclosure"), self.boxes
        if published is None or boxes is None:
            return
        columns = self.certificate.columns
        meaning = meaning_of(self.said, columns)
        again = value_disclosure(boxes, meaning, boxes.numeric, boxes.nominal, days_of(columns))
        if not isinstance(published, Mapping) or set(again) != set(published):
            yield "value_disclosure: published of other columns than the boxes have"
            return
        for name, shown in again.items():
            for figure, number in asdict(shown).items():
                claimed = published[name].get(figure) if isinstance(published[name], Mapping) else None
                if not agrees(claimed, number):
                    yield f"value_disclosure: {figure} {claimed} of {name!r} published, the file has {number}"

    def _wrong_words(self) -> Iterator[str]:
        """Words for values that a codebook does not list: of one that was declared, or a word that is none."""
        words, said = self.said.get("merged_as"), self.said
        if not isinstance(words, Mapping):
            return
        declared = said.get("nominal") if isinstance(said.get("nominal"), Mapping) else {}
        for name, word in words.items():
            one = (declared or {}).get(name) or {}
            lists_all = bool(one.get("values") or one.get("hierarchy"))
            if lists_all or not may_be_merged(word) or (self.boxes is not None and name not in self.boxes.nominal):
                yield f"merged_as: {word!r} of {name!r} published, which no codebook has in the place of rare values"
        flags = self.certificate.flags
        if words and flags is not None and "codebook-from-data" not in flags:
            yield "flags: 'codebook-from-data' is not published, and not as `merged_as` says"

    def beyond_the_file(self) -> Iterator[str]:
        """What is said and no file shows."""
        if self.said.get("method") == "boxes":
            yield from self._beyond_boxes()
            yield from self._beyond_counts()
        elif names := [f"`{name}`" for name in _NOISE if self.said.get(name) is not None]:
            yield f"that the rows follow from {', '.join(names)}"
        of_the_data = sorted((self.certificate.flags or frozenset()) & _OF_THE_DATA - {_OUTER})
        if of_the_data:
            yield f"flags about the data and what was published of them: {', '.join(of_the_data)}"

    def _beyond_boxes(self) -> Iterator[str]:
        said = self.said
        if names := [f"`{name}`" for name in _SEARCH if said.get(name) is not None]:
            yield f"how boxes were searched for, and which records took part: {', '.join(names)}"
        left_out = said.get("rare_records") in _NOT_KEPT
        if left_out:
            yield "which boxes were left out, and how many records they had"
        made_from = [said[name] for name in ("base_release_id", "previous_release_id") if said.get(name) is not None]
        if made_from:
            yield f"that the boxes are those of {made_from[0]}"
        if said.get("domains") and (said.get("bounds") != "cells" or left_out or made_from):
            yield "that `domains` reach as far as they say, beyond the bounds of the file"
        if said.get("min_width"):
            yield "that no other `min_width` was demanded where all boxes are wider"
        if said.get("value_step") and said.get("bounds") == "grid":
            yield "that values are multiples of their `value_step`"
        if kept := said.get("keep"):
            yield f"that the values of {', '.join(map(repr, kept))} are those of the records: they stand as they are"
        if said.get("survey_weight_column") is not None:
            yield f"that weights are those of the column {said['survey_weight_column']!r}"
        if said.get("sensitive") and not any(said.get(name) is not None for name in _DEMANDS):
            yield f"`sensitive` of {', '.join(map(repr, said['sensitive']))}: nothing is demanded of it"

    def _beyond_counts(self) -> Iterator[str]:
        """The persons of the original, where a column counted them."""
        if (name := self.said.get("frequency_column")) is not None:
            exact = ", which are exact by the owner's word" if self.said.get("frequencies_are_exact") else ""
            yield f"that each row is one person, as many as the counts of {name!r} in the original{exact}"


def _is_of(published: Mapping[str, Any], requested: Mapping[str, Any], names: Collection[str]) -> bool:
    """Whether a published statistic is a requested one, or of one without values that of one of them.

    A statistic of kept columns, or of an interval, steers no cut: its weight is 0 where none was requested.
    """
    weight = requested.get("weight")
    if weight is None:
        weight = float(requested.get("interval") is None and set(requested.get("of") or ()).issubset(names))
    open_values = requested.get("values") is None and requested.get("kind") in _OF_VALUES
    return (
        all(_plain(published.get(name)) == _plain(requested.get(name)) for name in _SAME)
        and (open_values or _plain(published.get("values")) == _plain(requested.get("values")))
        and published.get("weight") == weight
    )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
