"""What the measures of a table state, one sentence each, for a reader who has not met them."""

from typing import Final

MEANING: Final = {
    "k": "At least `k` records (people) could be a person's, for anyone who knows that person's quasi-identifiers.",
    "classes": "Records that agree in all quasi-identifiers are one class; no one can distinguish them by these.",
    "unique": "Records that no other one resembles: anyone who knows these facts of a person finds the record.",
    "value_disclosure": "Cells that leave one value, or values close together, give it away whoever the record is of.",
    "alpha": "In the worst class so large a share of the records has one sensitive value: a guess is right as often.",
    "l_diversity": "Every class leaves so many sensitive values to choose from: counted, weighed by how even they are, "
    "and by how far the most frequent one exceeds the rare ones.",
    "t_closeness": "The distance between the values of a sensitive column in a class and in the whole table: 0 is no "
    "difference.",
    "delta_disclosure": "The logarithm by which a class changes how likely a sensitive value is, up or down.",
    "beta": "By what factor, less one, a class makes a sensitive value more likely than in the whole table.",
    "risk": "The chance that a record is matched to its person: by one who knows the person is in it (prosecutor), by "
    "one who looks for anyone (journalist), and on average over all records (marketer).",
    "population_k": "The people of the whole population that the worst class represents.",
    "population_uniques": "How many people are alone with these facts in the whole population, by two estimates.",
    "sample_uniques": "The smallest sets of columns that single records out: what one would have to know of a person.",
    "special_uniques": "Records that few columns single out score high; DIS is the chance that a match of such a "
    "record is right.",
    "quasi_identifier_risks": "What each quasi-identifier adds: the records that are no longer singled out without it.",
    "utility": "What anonymizing cost: how large classes are, and how much of each cell is left open, as far as "
    "intervals, sets and stars state it. A word counts as a single value, though it may be the class of a hierarchy.",
    "regions": "The people who live in the smallest region that the table distinguishes.",
    "sums": "Cells of a table of sums from which a contributor could compute another's share.",
    "demands": "The requirements, the measurements of it, and whether that suffices.",
}
