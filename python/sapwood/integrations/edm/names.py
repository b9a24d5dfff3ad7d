"""Names of products: what CMSSW makes of type, label, instance and process, and what users write."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import UsageError


@dataclass(frozen=True)
class ProductName:
    """The four parts of a product's branch name ``type_label_instance_process.``; none holds a "_".

    >>> name = ProductName.parse("recoTracks_generalTracks__RECO.")
    >>> name.type, name.label, name.instance, name.process
    ('recoTracks', 'generalTracks', '', 'RECO')
    >>> name.tag, name.branch
    ('generalTracks::RECO', 'recoTracks_generalTracks__RECO.')
    """

    type: str
    """The "friendly" name of the C++ class: ``recoTracks`` for ``std::vector<reco::Track>``."""
    label: str
    """The label of the module that made it."""
    instance: str
    """Tells apart the products of one module; often empty."""
    process: str
    """The process that the module ran in."""

    @classmethod
    def parse(cls, text: str) -> ProductName:
        """The parts of a branch name; the period at its end, or a member after that, may be there or not.

        Raises:
            UsageError: if it is not of this kind.
        """
        found = cls.of_branch(text)
        if found is None:
            raise UsageError(f"{text!r} is not the name of a product: type_label_instance_process.")
        return found

    @classmethod
    def of_branch(cls, text: str) -> ProductName | None:
        """The same, but None if the name is of another kind."""
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
        """As an input tag is written: ``label:instance:process``."""
        return f"{self.label}:{self.instance}:{self.process}"

    def __str__(self) -> str:
        return self.branch


def plain_class(class_name: str) -> str:
    """A C++ class as its name is compared: without wrapper, ``std::`` and spaces.

    >>> plain_class("edm::Wrapper<std::vector<pat::Muon> >")
    'vector<pat::Muon>'
    """
    return wrapped_class(class_name).replace("std::", "").replace(" ", "")


def wrapped_class(class_name: str) -> str:
    """The C++ class that an ``edm::Wrapper`` is around; another class is left as it is.

    >>> wrapped_class("edm::Wrapper<vector<pat::Muon> >")
    'vector<pat::Muon>'
    """
    match = re.fullmatch(r"\s*edm::Wrapper\s*<(.*)>\s*", class_name)
    return match[1].strip() if match else class_name
