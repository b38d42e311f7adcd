"""A process that decodes stretches for another: ``python -m tracelens_tui.ingest.worker SOCKET MEMORY SIZE``.

It hears of texts in the shared memory and answers with batches in their place, until the other side goes.
"""

import contextlib
import mmap
import pickle
import sys
from collections.abc import Iterable
from multiprocessing.connection import Connection

from tracelens_tui.ingest.batch import Batch
from tracelens_tui.ingest.decode import FastDecoder, Refused

Task = tuple[bool, list[tuple[int, int]]]
"""Whether floats do for the times, and where in the shared memory each text begins and ends."""

Answer = list[Batch | None]
"""The batch of each text up to the first refused one, for which None stands."""


def answer_to(texts: Iterable[bytes], decoder: FastDecoder) -> Answer:
    """Return what comes of decoding the texts."""
    answer: Answer = []
    try:
        for text in texts:
            answer.append(decoder.decode(text))
    except Refused:
        answer.append(None)
    return answer


def main(socket: int, shared: int, size: int) -> None:
    """Serve until the other side has gone."""
    decoder = FastDecoder(floats=True)
    with Connection(socket) as connection, mmap.mmap(shared, size) as memory, contextlib.suppress(EOFError, OSError):
        while True:
            task: Task = connection.recv()
            decoder.floats, places = task
            texts = (memory[start:end] for start, end in places)
            answer = pickle.dumps(answer_to(texts, decoder), pickle.HIGHEST_PROTOCOL)
            start, end = places[0][0], places[-1][1]
            if len(answer) <= end - start:  # it takes the place of the texts: the other side need not read it at once
                memory[start : start + len(answer)] = answer
                connection.send(len(answer))
            else:
                connection.send(answer)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
