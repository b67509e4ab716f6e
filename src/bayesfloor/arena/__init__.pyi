from .arena import ORACLE as ORACLE
from .arena import default_estimators as default_estimators
from .arena import installed_rivals as installed_rivals
from .arena import run as run
from .leaderboard import ArenaResult as ArenaResult
from .rivals import soft_label_rivals as soft_label_rivals
