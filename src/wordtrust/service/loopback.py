"""A server for the browser of this machine alone."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..base.errors import OptionError
from ..base.installation import install_command

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

_HOST = "127.0.0.1"
_GRACE = 1  # seconds that open requests have left after Ctrl-C


def require_server() -> None:
    """Refuse if what serves is not installed."""
    for module in ("starlette", "uvicorn"):
        if find_spec(module) is None:
            raise OptionError(f"serving pages needs {module}, not installed here: {install_command('serve')}")


def secret() -> str:
    """A word that nobody can guess."""
    return secrets.token_urlsafe(16)


def serve(
    application: Starlette, token: str, announce: Callable[[str], None], *, port: int = 0, browser: bool = True
) -> None:
    """Answer requests until Ctrl-C; `announce` is told the address."""
    with listening(port) as listener:
        address = f"http://{_HOST}:{listener.getsockname()[1]}/{token}/"
        announce(address)
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        with suppress(KeyboardInterrupt):
            server(application).run(sockets=[listener])


def server(application: Starlette) -> uvicorn.Server:
    """A server that says nothing."""
    import uvicorn

    config = uvicorn.Config(
        application, log_level="error", access_log=False, lifespan="off", timeout_graceful_shutdown=_GRACE
    )
    return uvicorn.Server(config)


def listening(port: int = 0) -> socket.socket:
    """A socket of this machine alone, at this port or at a free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        raise OptionError(f"port {port} cannot be used: {getattr(error, 'strerror', None) or error}") from None
    return listener
