# SPDX-License-Identifier: BSD-2-Clause
"""From a template and its data to one HTML file that needs nothing else.

Styles and scripts are put into the page; values are escaped by the template engine. The page is
forbidden by its own policy to load anything, so that what it shows cannot depend on a network.
"""

from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from hyperperiod.report.numbers import duration, percent, times, whole

_TEMPLATES: Final = Environment(
    loader=PackageLoader("hyperperiod.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(duration=duration, percent=percent, whole=whole)
_TEMPLATES.globals.update(times=times)
_TEMPLATES.policies["json.dumps_kwargs"] = {"sort_keys": False}


def fill(template: str, **values: Any) -> str:
    """The text of a template, such as a picture that stands in a page or alone."""
    return _TEMPLATES.get_template(template).render(values)


def render(path: Path, template: str, **values: Any) -> None:
    """Writes a page made from the template with these values to `path`."""
    path.write_text(fill(template, **values), encoding="utf-8")
