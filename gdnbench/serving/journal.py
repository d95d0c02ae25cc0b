"""A server campaign on disk: as `campaign.journal` has it."""

from __future__ import annotations

from gdnbench.campaign.journal import CampaignJournal
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import ServeLaunch


class ServeJournal(CampaignJournal[ServePlan, ServeLaunch]):
    """Of a campaign in live servers. Its waits are nanoseconds per build, under the name `build`."""

    plan_class = ServePlan
    launch_class = ServeLaunch
