"""Listen, then read: the server of the app on this machine, until it is stopped."""

from __future__ import annotations

import ctypes
import gc
import signal
import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import InputError, RankgaugeWarning
from rankgauge.web.network import LOOPBACK, Network
from rankgauge.web.quantiles import recall_quantiles

if TYPE_CHECKING:
    from rankgauge.store.project import Project
    from rankgauge.store.store import Store
    from rankgauge.web.desk import Desk
    from rankgauge.web.served import Served
    from rankgauge.web.worker import Worker

__all__ = ["listening", "serve"]

PORT: Final = 8765
NEXT: Final = 20  # ports after the usual one that are tried
ALONE: Final = Network()
MOST_HEAPS: Final = -8  # M_ARENA_MAX of malloc.h
KEEP_ALIVE: Final = 75  # seconds: people think longer than a server would wait by default


def listening(host: str, port: int | None) -> socket.socket:
    """A socket that listens: at the port asked for, or at the first that is free from the usual one on."""
    tried = [port] if port is not None else [*range(PORT, PORT + NEXT), 0]
    for each in tried:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((host, each))
            made.listen(128)
            return made
        except OSError as error:
            made.close()
            if port is not None:
                words = error.strerror or str(error)
                raise InputError(f"port {port} cannot be used ({words}); give another with --port") from None
    raise InputError("no port is free; give one with --port")


def serve(
    served: Served,
    listener: socket.socket,
    host: str,
    ready: Callable[[str], Any],
    *,
    project: Project | None = None,
    store: Store | None = None,
    network: Network = ALONE,
) -> None:
    """Serve until interrupted; files are read while the app is still being made. `ready` is told the address, with its
    key if it has one, at which somebody listens already. On a project with its store, people judge, too."""
    _share_memory()
    gc.disable()  # what is made until somebody may ask lasts as long as the server
    # For good, and not while it reads: what is set and set back in one thread is set back in all.
    warnings.simplefilter("ignore", RankgaugeWarning)
    served.quiet = nullcontext
    patience = served.patience if recall_quantiles(served.cache) else 0  # without them, the first interval needs scipy
    served.later(import_module, "scipy.special", patience=patience)
    served.read()

    from rankgauge.web.access import Accounts, Key
    from rankgauge.web.app import make_app
    from rankgauge.web.worker import Worker

    port, worker = listener.getsockname()[1], Worker()
    access, desk = network.access(store, port), _desk(project, store, worker, network)
    app = make_app(served, worker, desk)
    if isinstance(access, Accounts):
        from rankgauge.web.log_in import add_log_in

        add_log_in(app, access)
    server = server_of(network.guard(app, access))
    key = f"?key={access.key}" if isinstance(access, Key) else ""
    gc.freeze()
    gc.enable()
    with closing(listener):
        ready(f"http://{_shown(host, network)}:{port}/{key}")
        try:
            with _signals(server):
                server.run(sockets=[listener])
        finally:
            worker.stop()


def _desk(project: Project | None, store: Store | None, worker: Worker, network: Network) -> Desk | None:
    if project is None or store is None:
        return None
    from rankgauge.web.desk import Desk

    return Desk(project, store, worker, network.images_from)


def server_of(guard: Any) -> Any:
    """The server. What proxies say is the guard's business: uvicorn would believe everybody on this machine."""
    import uvicorn

    config = uvicorn.Config(
        guard, log_level="warning", access_log=False, timeout_keep_alive=KEEP_ALIVE, server_header=False,
        lifespan="off", timeout_graceful_shutdown=2, proxy_headers=False,
    )  # fmt: skip
    return uvicorn.Server(config)


def _shown(host: str, network: Network) -> str:
    """The server's name, in an address."""
    name = network.names[0] if network.names and host not in LOOPBACK else host
    return f"[{name}]" if ":" in name and not name.startswith("[") else name


def _share_memory() -> None:
    """Have all threads take memory from one heap, where the C library would make several (glibc), each of which keeps
    what was taken from it."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(MOST_HEAPS, 1)


@contextmanager
def _signals(server: Any) -> Iterator[None]:
    """A signal asks the server to stop, a second one at once; uvicorn's own way would end the process, and leave the
    worker behind."""

    def stop(*_: Any) -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    server.capture_signals = nullcontext
    known = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in known.items():
            signal.signal(each, handler)
