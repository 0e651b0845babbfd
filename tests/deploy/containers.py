"""A pod of the chart's Deployment, as a process: there are no kubelets here that would start its container.

The command line is the container's own, and what its pod would mount lies in a folder as a kubelet lays it out. What only a pod
has is replaced: the paths of the mounts, and the login, which stands in a kubeconfig.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bayplan.testing.control_plane import Obj
from tests.deploy.chart import Rendered


def command(chart: Rendered, name: str, folder: Path, login: Path) -> list[str]:
    """What starts the scheduler of this name, with its volumes below ``folder``."""
    template = chart.one("Deployment", name)["spec"]["template"]["spec"]
    (container,) = template["containers"]
    words = [str(word) for word in container["args"]]
    for volume in template["volumes"]:
        if "configMap" not in volume:
            continue
        (mount,) = (m for m in container["volumeMounts"] if m["name"] == volume["name"])
        place = folder / volume["name"]
        lay_out(volume["configMap"], chart.one("ConfigMap", volume["configMap"]["name"]), place)
        words = [word.replace(mount["mountPath"], str(place)) for word in words]
    return [sys.executable, "-m", "bayplan", *words, f"--kubeconfig={login}"]


def lay_out(volume: Obj, config_map: Obj, place: Path) -> None:
    """Write the volume's files into a folder that a link leads to, as a kubelet does to swap them all at once."""
    data: dict[str, str] = config_map["data"]
    items = volume.get("items") or [{"key": key, "path": key} for key in data]
    number = len(list(place.glob("..[0-9]*"))) if place.exists() else 0
    version = place / f"..{number}"
    for item in items:
        file = version / item["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(data[item["key"]], encoding="utf-8")
    _link(place / "..data", version.name)
    for top in {Path(item["path"]).parts[0] for item in items}:
        _link(place / top, f"..data/{top}")


def _link(link: Path, target: str) -> None:
    """Make a link, or let it lead elsewhere in one step."""
    fresh = link.with_name(f"{link.name}.new")
    fresh.symlink_to(target)
    os.replace(fresh, link)
