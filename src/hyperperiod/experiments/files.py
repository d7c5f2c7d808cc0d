# SPDX-License-Identifier: BSD-2-Clause
"""The files in `experiments/`: one per experiment of a paper."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hyperperiod.model import InputError, Problem
from hyperperiod.model.load import explain, read_text
from hyperperiod.model.values import FROM_FILE


class Part(BaseModel):
    """What all parts of an experiment share: frozen, no unknown keys, fields by either name."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True
    )


Described = TypeVar("Described", bound=Part)


def read_experiment(path: Path, kind: type[Described]) -> Described:
    """The experiment in a file; InputError for one that is wrong."""
    try:
        document = tomllib.loads(read_text(str(path)), parse_float=Decimal)
        return kind.model_validate(document, context=FROM_FILE, by_alias=True, by_name=False)
    except tomllib.TOMLDecodeError as error:
        raise InputError(str(path), None, "", str(error), "TOML 1.0") from None
    except ValidationError as error:
        problems = [Problem(str(path), None, *complaint) for complaint in explain(error)]
        raise InputError.of(problems) from None
