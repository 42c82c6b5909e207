"""Conditional requests (RFC 9110, section 13): artifacts never change, so their checksum is their entity tag."""


def etag_of(sha256: str) -> str:
    """The strong entity tag of an artifact."""
    return f'"{sha256}"'


def is_fresh(if_none_match: str | None, sha256: str) -> bool:
    """Whether the client knows these bytes already; tags are compared weakly, as `If-None-Match` demands."""
    if if_none_match is None:
        return False
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in tags or etag_of(sha256) in tags
