# SPDX-License-Identifier: LGPL-2.1-or-later
"""hashbelt: belts of /dev/hashbelt as mappings, cached functions, locks and events.

    import hashbelt

    with hashbelt.open("sessions") as belt:
        belt.set("alice", b"token", ttl=60)
        belt["alice"]

Times are seconds, as int or float, or a timedelta. A failed call raises a subclass of
hashbelt.Error, which is an OSError, with a sentence about the problem and the next step.
"""

from . import _abi as abi
from ._backend import backend
from ._time import BELT, KEEP
from .belt import Belt, Entry, create, destroy
from .belt import open_belt as open  # pylint: disable=redefined-builtin
from .errors import (Changed, Error, Exists, FillFailed, FillTimeout, Full, LockLost, LockTimeout,
                     Missing, NoBelt, NoDevice, NoEvents, NotAllowed, NotNumber, SumTooLarge,
                     TooLarge)
from .events import Event, Events, Reason
from .fill import Cached
from .lock import Lock
from .request import Cause, Completion
from .serializer import JSON, Bytes, Pickle, Serializer

__version__ = abi.VERSION

__all__ = [
    "BELT", "Belt", "Bytes", "Cached", "Cause", "Changed", "Completion", "Entry", "Error", "Event",
    "Events", "Exists", "FillFailed", "FillTimeout", "Full", "JSON", "KEEP", "Lock", "LockLost",
    "LockTimeout", "Missing", "NoBelt", "NoDevice", "NoEvents", "NotAllowed", "NotNumber", "Pickle",
    "Reason", "Serializer", "SumTooLarge", "TooLarge", "abi", "backend", "create", "destroy",
    "open",
]
