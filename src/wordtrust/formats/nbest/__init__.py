"""N-best lists.

records        JSON, one record per utterance
plain          text, a score and a hypothesis per line
from_python    lists of Python code
lists          what both share: typed lists, arrays of a batch, lattices
"""

from . import plain, records

FORMATS = (records.FORMAT, plain.FORMAT)
