"""The real control plane for tests: etcd, kube-apiserver and, on request, Kubernetes' own scheduler and controllers."""

from bayplan.testing.control_plane.api import Api, Obj
from bayplan.testing.control_plane.binaries import Binaries, find_binaries
from bayplan.testing.control_plane.history import Event, History
from bayplan.testing.control_plane.plane import ControlPlane
from bayplan.testing.control_plane.processes import Process
from bayplan.testing.control_plane.users import CertificateUser, ServiceAccount
from bayplan.testing.control_plane.waiting import wait_ready, wait_until

__all__ = [
    "Api",
    "Binaries",
    "CertificateUser",
    "ControlPlane",
    "Event",
    "History",
    "Obj",
    "Process",
    "ServiceAccount",
    "find_binaries",
    "wait_ready",
    "wait_until",
]
