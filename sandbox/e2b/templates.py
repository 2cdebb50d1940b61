"""Which template of the cloud an image name stands for, and what a template gives: rules IMAGE=TEMPLATE."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from sandbox.errors import UnsupportedTaskError
from sandbox.image.bases import LIBRARY_IMAGE, Base, BaseMap, canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_TEMPLATES = (f"{LIBRARY_IMAGE}=base",)


@dataclass(frozen=True, slots=True)
class TemplateMap:
    """Which template an image name stands for.

    Attributes:
        entries: Name, or pattern with `*`, and template; exact names beat patterns, then the first match wins.
        otherwise: The template of images that no rule names; "" for none.
    """

    entries: tuple[tuple[str, str], ...] = ()
    otherwise: str = ""

    @classmethod
    def parse(cls, rules: Sequence[str], otherwise: str = "") -> Self:
        """Reads rules of the form IMAGE=TEMPLATE.

        Raises:
            ValueError: A rule is of another form.
        """
        entries = []
        for rule in rules:
            image, equals, template = rule.rpartition("=")
            if not equals or not image or not template:
                raise ValueError(f"--base {rule}: expected IMAGE=TEMPLATE, a template's name or id")
            entries.append((canonical(image), template))
        return cls(tuple(entries), otherwise)

    def as_bases(self) -> BaseMap:
        """The same names for `recipe_of`, which asks only whether a name is listed."""
        return BaseMap(tuple((name, Base("host")) for name, _ in self.entries))

    def resolve(self, image: str) -> str:
        """The template of an image name.

        Raises:
            UnsupportedTaskError: None is listed; says how to list one.
        """
        name = canonical(image)
        exact = next((template for rule, template in self.entries if rule == name), None)
        found = exact or next(
            (template for rule, template in self.entries if fnmatch.fnmatchcase(name, rule)), self.otherwise
        )
        if not found:
            raise UnsupportedTaskError(
                f"the image {image} is not mapped to a template: give the template by --base {image}=TEMPLATE, or "
                "one for all images by the option template=TEMPLATE"
            )
        return found
