"""Objects of a file other than trees: ``file["some/object"]``.

Numbers, text, lists and maps become Python objects. Any other object is an :class:`Object`, a mapping from
the names of its members to their values. A few classes have more methods: :class:`Histogram`,
:class:`Profile`, :class:`Axis`, :class:`Graph` and :class:`Parameter`.
"""

from .axis import Axis
from .classes import String
from .graph import Graph, Parameter
from .histogram import Histogram
from .instance import Instance, Object
from .profile import Profile

__all__ = ["Axis", "Graph", "Histogram", "Instance", "Object", "Parameter", "Profile", "String"]
