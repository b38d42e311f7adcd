"""What is selected, and the way back."""

from dataclasses import dataclass, field

PaneName = str
"""Id of a pane: findings, kernels, tree, time, agents, timeline, report."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The one value that every pane shows a side of; None where nothing of the sort is chosen."""

    finding: str | None = None  # Finding.id
    op: int | None = None  # row of Analysis.ops
    kernel: int | None = None  # row of the kernel table, in its view by kernel
    event: int | None = None  # row of Trace.events


@dataclass(frozen=True, slots=True)
class Place:
    """A stop on the way: a pane and what was selected there."""

    pane: PaneName
    selection: Selection


@dataclass(slots=True)
class JumpList:
    """Places that were left by a jump, the newest last."""

    places: list[Place] = field(default_factory=list)
    limit: int = 100

    def leave(self, place: Place) -> None:
        """Remember the place, unless it is the one remembered last."""
        if not self.places or self.places[-1] != place:
            self.places.append(place)
            del self.places[: -self.limit]

    def back(self) -> Place | None:
        """Return the place left last and forget it; None at the start of the way."""
        return self.places.pop() if self.places else None
