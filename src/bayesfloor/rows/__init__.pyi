from .dataset import Dataset as Dataset
from .dataset import validate as validate
