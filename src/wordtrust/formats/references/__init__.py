"""What was really said.

references    `References` by utterance: read from tables, Kaldi's text, STM, TRN and NLP files
reference     one of them: words, or segments with times and alternatives
stm           NIST's segment time marked files
nist_text     their notation: alternatives, optional words, fragments
glm           NIST's rules for words that count as the same
"""

from .reference import Reference
from .references import References, read_references, renamed, with_references

__all__ = ["Reference", "References", "read_references", "renamed", "with_references"]
