from .rule import FloorStopping as FloorStopping
from .rule import RowsNeeded as RowsNeeded
from .rule import TrainingRound as TrainingRound
from .rule import first_round_within as first_round_within
from .rule import validation_rows_needed as validation_rows_needed
