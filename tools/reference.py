"""Writes docs/reference from the code: ``make docs``."""

from pathlib import Path

from bayplan.cli import main
from bayplan.kit.reference.pages import reference_pages

FOLDER = Path(__file__).parents[1] / "docs" / "reference"

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in reference_pages(main).items():
        (FOLDER / name).write_text(text, encoding="utf-8")
