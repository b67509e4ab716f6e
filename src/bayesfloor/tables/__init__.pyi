from .table import Column as Column
from .table import Table as Table
from .table import read_table as read_table
from .table import table_from_frame as table_from_frame
