"""``bayplan new-plugin NAME``: a package with a plugin in it, whose own tests pass."""

from __future__ import annotations

from pathlib import Path

import click

from bayplan.errors import BayplanError


@click.command("new-plugin", short_help="Start a package with a plugin in it.")
@click.argument("name")
@click.option(
    "--directory",
    default=".",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the package's folder is made. [default: here]",
)
def new_plugin(*, name: str, directory: Path) -> None:
    """Make a package for the plugin NAME: plugin, test, configuration, examples, README.

    RackPower and rack-power are the same name: the plugin is called RackPower, its folder rack-power.
    """
    from bayplan.kit.new_plugin import names_of, write

    try:
        names = names_of(name)
        written = write(names, directory)
    except BayplanError as error:
        raise click.ClickException(str(error)) from error
    except FileExistsError as error:
        message = f"{error.filename} is there already: choose another name, or remove it"
        raise click.ClickException(message) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error
    for path in written:
        click.echo(path.relative_to(directory))
    folder = directory / names.project
    click.echo(
        f"\nThe plugin is {folder / 'src' / names.module / 'plugin.py'}. From {folder}:\n"
        f"  python -m pytest\n"
        f"  bayplan lint-plugin src/{names.module}/plugin.py\n"
        f"  bayplan check-config config.yaml --plugin-dir src/{names.module}"
    )
