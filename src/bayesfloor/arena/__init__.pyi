from .arena import ORACLE as ORACLE
from .arena import default_estimators as default_estimators
from .arena import installed_rivals as installed_rivals
from .arena import run as run
from .leaderboard import ArenaResult as ArenaResult
from .metrics import MetricBoard as MetricBoard
from .metrics import run_metrics as run_metrics
from .rivals import soft_label_rivals as soft_label_rivals
