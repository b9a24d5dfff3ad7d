"""Objects of a file that are no trees: ``file["some/object"]``.

Numbers, text, lists and maps come as Python's own. Any other object is an :class:`Object`: a mapping of its
members; those of a few classes can do more: :class:`Histogram`, :class:`Profile`, :class:`Axis`,
:class:`Graph`, :class:`Parameter`.
"""

from .axis import Axis
from .classes import String
from .graph import Graph, Parameter
from .histogram import Histogram
from .instance import Instance, Object
from .profile import Profile

__all__ = ["Axis", "Graph", "Histogram", "Instance", "Object", "Parameter", "Profile", "String"]
