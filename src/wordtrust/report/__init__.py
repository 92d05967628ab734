"""One self-contained HTML page about words and their confidences.

    from wordtrust.report import ExampleKeeper, write_report

    keeper = ExampleKeeper()
    evaluation = wt.evaluate("eval.networks", "model", inspect=keeper.add)
    write_report(Path("report.html"), evaluation, title="My recognizer", examples=keeper.examples)

The page needs jinja2, its plots as files for papers need matplotlib: the extra [report].
"""

from .examples import ExampleKeeper, ExampleUtterance
from .page import write_report

__all__ = ["ExampleKeeper", "ExampleUtterance", "write_report"]
