from ._ball_counts import ball_counts as ball_counts
from ._nearest import nearest_labels as nearest_labels
from ._spanning_tree import spanning_tree as spanning_tree
