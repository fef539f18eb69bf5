"""A mailer in a process of its own, to be killed: `python mailer_process.py LEDGER_URL SMTP_JSON NOW_US`. One pass."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from headwall.ledger.ledger import Ledger
from headwall.notify.mailer import Mailer
from headwall.settings import NotifySettings, SmtpSettings

from support.mail_facts import profiles, registry
from support.set_clock import SetClock

if __name__ == "__main__":
    url, smtp, now = sys.argv[1:]
    settings = SmtpSettings.model_validate_json(smtp)
    Mailer(settings, NotifySettings(), Ledger.open(url), registry(), profiles(), SetClock(int(now))).step()
