"""The plain way to read HTK lattices: line by line, `split` and tuples. What the fast reader is measured against."""

from __future__ import annotations

Node = tuple[float, str]
Link = tuple[int, int, str, float, float, float]


def read(text: str) -> tuple[dict[str, str], list[Node], list[Link]]:
    """Header fields, nodes (time, word) and links (start, end, word, acoustic, language, posterior) of a lattice."""
    header: dict[str, str] = {}
    nodes: list[Node] = []
    links: list[Link] = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        fields = {}
        for field in line.split():
            name, _, value = field.partition("=")
            fields[name] = value
        if "J" in fields:
            scores = float(fields.get("a", 0)), float(fields.get("l", 0)), float(fields.get("p", 1))
            links.append((int(fields["S"]), int(fields["E"]), fields.get("W", ""), *scores))
        elif "I" in fields:
            nodes.append((float(fields["t"]), fields.get("W", "")))
        else:
            header.update(fields)
    return header, nodes, links
