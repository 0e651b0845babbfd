"""All that is known of a cluster, table by table. ``cluster.Cluster`` writes them and keeps them consistent; views read them."""

from __future__ import annotations

from bayplan.cluster.accounts import Accounts
from bayplan.cluster.budgets import Budgets
from bayplan.cluster.counts import Counts
from bayplan.cluster.gangs import Gangs
from bayplan.cluster.journal import Journal
from bayplan.cluster.kin import KinTable, ShapeTable
from bayplan.cluster.namespaces import Namespaces
from bayplan.cluster.nodes import NodeTable
from bayplan.cluster.nominations import Nominations
from bayplan.cluster.pods import PodTable
from bayplan.cluster.ports import PortTable
from bayplan.cluster.promised_rows import Promises
from bayplan.cluster.quotas import Quotas
from bayplan.cluster.scheduling_policies import SchedulingPolicies
from bayplan.cluster.storage import Storage
from bayplan.cluster.workloads import Workloads
from bayplan.model.policy import PriorityClass


class Tables:
    """One of each."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.nodes = NodeTable(self.journal)
        self.pods = PodTable()
        self.kins = KinTable()
        self.shapes = ShapeTable()
        self.ports = PortTable()
        self.namespaces = Namespaces()
        self.counts = Counts(self.nodes, self.pods, self.journal, self.namespaces)
        self.workloads = Workloads(self.journal)
        self.storage = Storage(self.journal)
        self.budgets = Budgets(self.journal)
        self.nominations = Nominations(self.journal)
        self.promises = Promises(self.nominations, self.nodes, self.journal)
        self.accounts = Accounts(self.pods)
        self.quotas = Quotas(self.journal, self.accounts)
        #: By name; watched where a plugin asks for them.
        self.priority_classes: dict[str, PriorityClass] = {}
        self.policies = SchedulingPolicies()
        self.gangs = Gangs()
