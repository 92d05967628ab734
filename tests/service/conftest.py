"""A server of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Thread

import pytest
from starlette.applications import Starlette

from wordtrust.service.loopback import listening, server

Serve = Callable[[Starlette], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves an application until the test ends, and gives its address, without a slash at its end."""
    running = []

    def begin(application: Starlette) -> str:
        made, listener = server(application), listening()
        thread = Thread(target=made.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        running.append((made, thread, listener))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield begin
    for made, thread, listener in running:
        made.should_exit = True
        thread.join(10)
        listener.close()
