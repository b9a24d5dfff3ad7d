"""Names of products: the branch names of CMSSW and their parts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import UsageError


@dataclass(frozen=True)
class ProductName:
    """The four parts of the branch name ``type_label_instance_process.``; none contains a "_".

    >>> name = ProductName.parse("recoTracks_generalTracks__RECO.")
    >>> name.type, name.label, name.instance, name.process
    ('recoTracks', 'generalTracks', '', 'RECO')
    >>> name.tag, name.branch
    ('generalTracks::RECO', 'recoTracks_generalTracks__RECO.')
    """

    type: str
    """The "friendly" name of the C++ class: ``recoTracks`` for ``std::vector<reco::Track>``."""
    label: str
    """The label of the module that made the product."""
    instance: str
    """The instance label, which distinguishes products of one module; often empty."""
    process: str
    """The process in which the module ran."""

    @classmethod
    def parse(cls, text: str) -> ProductName:
        """Splits a branch name. The period at its end, and a member after it, are optional.

        Raises:
            UsageError: the text is not such a name.
        """
        found = cls.of_branch(text)
        if found is None:
            raise UsageError(f"{text!r} is not a product name of the form type_label_instance_process.")
        return found

    @classmethod
    def of_branch(cls, text: str) -> ProductName | None:
        """Splits a branch name as :meth:`parse` does; None if it has another form."""
        parts = text.partition(".")[0].split("_")
        if len(parts) != 4 or not (parts[0] and parts[1] and parts[3]):
            return None
        return cls(*parts)

    @property
    def branch(self) -> str:
        """The name of the branch."""
        return f"{self.type}_{self.label}_{self.instance}_{self.process}."

    @property
    def tag(self) -> str:
        """The input tag: ``label:instance:process``."""
        return f"{self.label}:{self.instance}:{self.process}"

    def __str__(self) -> str:
        return self.branch


def plain_class(class_name: str) -> str:
    """Normalizes the name of a C++ class for comparison: without wrapper, ``std::`` and spaces.

    >>> plain_class("edm::Wrapper<std::vector<pat::Muon> >")
    'vector<pat::Muon>'
    """
    return wrapped_class(class_name).replace("std::", "").replace(" ", "")


def wrapped_class(class_name: str) -> str:
    """The C++ class inside an ``edm::Wrapper``; other classes are returned unchanged.

    >>> wrapped_class("edm::Wrapper<vector<pat::Muon> >")
    'vector<pat::Muon>'
    """
    match = re.fullmatch(r"\s*edm::Wrapper\s*<(.*)>\s*", class_name)
    return match[1].strip() if match else class_name
