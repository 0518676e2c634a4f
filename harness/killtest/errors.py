"""The exceptions that leave a module of killtest.

KilltestError
├── UsageError         the user can fix it: one line, exit code 2
├── HarnessFailure     we failed, not the subject: the trial becomes UNKNOWN
│   └── Refused        the warden or the site answered that it can't do what it was asked
└── StoreError         the subject's store can't be read: `unreadable_store`
    └── QueryError     the manifest asks the store for what it does not have
"""


class KilltestError(Exception):
    """Anything that killtest raises on purpose."""


class UsageError(KilltestError):
    """Something the user can fix; shown as one line, exit code 2."""


class HarnessFailure(KilltestError):
    """A part of killtest itself failed (site died, warden silent, wait ran out): UNKNOWN, never the subject's bug."""


class Refused(HarnessFailure):
    """The warden or the site answered that it can't do what it was asked to; the message says why."""


class StoreError(KilltestError):
    """The store that a subject left behind can't be read; the message says which file and why."""


class QueryError(StoreError):
    """The manifest asks the store for what it does not have: no column `key`, a query that is no SQL."""
