"""The composition root: from options to a scheduler at work."""

from bayplan.app.assembly import Surroundings, assemble
from bayplan.app.options import Lease, Options, Serving
from bayplan.app.process import serve_scheduler

__all__ = ["Lease", "Options", "Serving", "Surroundings", "assemble", "serve_scheduler"]
