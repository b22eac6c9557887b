"""The server: what clients ask and tell, handed to the worker. pygls reads and writes the protocol."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams
from pygls.io_ import StdoutWriter
from pygls.lsp.server import LanguageServer

from kubesched_lint.lsp.messages import Messages
from kubesched_lint.lsp.project import Opener
from kubesched_lint.lsp.protocol import Protocol, strict_converter
from kubesched_lint.lsp.request_handler import Buffer, RequestHandler
from kubesched_lint.lsp.uris import file_of, folder_of
from kubesched_lint.lsp.worker import OutdatedError, Worker
from kubesched_lint.report.wording.words import utf8
from kubesched_lint.session.several import CONFIGURATIONS
from kubesched_lint.sources.manifests.limits import LARGEST
from kubesched_lint.version import __version__

T = TypeVar("T")
_WATCHED = ("**/*.{yaml,yml,json,md}", *(f"**/{name}" for name in CONFIGURATIONS))


class Server(LanguageServer):
    """Texts come whole with each change: pygls counts other line ends than the protocol does, such as U+2028."""

    protocol: Protocol

    def __init__(self, opener: Opener) -> None:
        kind = types.TextDocumentSyncKind.Full
        super().__init__("kubesched-lint", __version__, kind, None, Protocol, strict_converter)
        self._opener = opener
        self._loop: asyncio.AbstractEventLoop | None = None
        self.desk: RequestHandler
        self.worker: Worker

    def begin(self) -> None:
        """Start the worker, once the client's capabilities are known."""
        self._loop = asyncio.get_running_loop()
        can = self.client_capabilities
        edit = can.workspace.workspace_edit if can.workspace else None
        unit = types.PositionEncodingKind(self.workspace.position_encoding or "utf-16").value
        self.desk = RequestHandler(self._opener, self, unit, bool(edit and edit.document_changes))
        self.worker = Worker(self.desk)
        self.worker.start()

    async def answer(self, question: Callable[[], T]) -> T:
        """Have the worker answer. Raises JsonRpcContentModified when somebody typed on."""
        try:
            return await asyncio.wrap_future(self.worker.ask(question))
        except OutdatedError:
            raise JsonRpcContentModified() from None

    # --- what the worker says, in its thread --------------------------------------------------------------------------

    def _soon(self, call: Callable[[], object]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(_said, call)
        except RuntimeError:  # the server has ended
            pass

    def publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        params = types.PublishDiagnosticsParams(uri, diagnostics, version)
        self._soon(partial(self.text_document_publish_diagnostics, params))

    def log(self, text: str) -> None:
        self._soon(partial(self.window_log_message, types.LogMessageParams(types.MessageType.Info, utf8(text))))

    def show(self, text: str) -> None:
        self._soon(partial(self.window_show_message, types.ShowMessageParams(types.MessageType.Warning, utf8(text))))

    def lenses_have_changed(self) -> None:
        can = self.client_capabilities.workspace
        if can and can.code_lens and can.code_lens.refresh_support:
            self._soon(partial(self.workspace_code_lens_refresh, None))


def _said(call: Callable[[], object]) -> None:
    try:
        call()
    except BrokenPipeError:  # the client has gone: reading ends as well
        pass


def serve(opener: Opener) -> None:
    """Speak with one client on standard input and output until it goes."""
    logger = logging.getLogger("pygls")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False  # it would print the client's texts
    server = Server(opener)
    _handle_folders(server)
    _handle_documents(server)
    _handle_questions(server)
    stdin = open(os.dup(sys.stdin.fileno()), "rb", buffering=0)  # noqa: SIM115 - a thread may still read at the end
    with open(os.dup(sys.stdout.fileno()), "wb") as stdout:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # no print of a library may come between the messages
        server.protocol.set_writer(StdoutWriter(stdout))
        try:
            asyncio.run(server.protocol.listen(Messages(stdin.read)))
        except (BrokenPipeError, KeyboardInterrupt, SystemExit):  # the client has gone, or told the server to go
            pass
        finally:
            server.shutdown()  # type: ignore[no-untyped-call]


def _handle_folders(server: Server) -> None:
    """Register what clients tell of their session and its folders."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.begin()
        uris = [folder.uri for folder in params.workspace_folders or ()]
        for uri in uris or filter(None, [server.workspace.root_uri]):
            _add(server, uri)

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        can = server.client_capabilities.workspace
        watching = can.did_change_watched_files if can else None
        if watching and watching.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions(
                [types.FileSystemWatcher(glob) for glob in _WATCHED]
            )
            registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            server.client_register_capability(types.RegistrationParams([registration]))

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            server.worker.tell(partial(server.desk.remove, folder_of(folder.uri)))
        for folder in params.event.added:
            _add(server, folder.uri)


def _handle_documents(server: Server) -> None:
    """Register what clients tell of their files."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        _put(server, document.uri, document.version, document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        if any(isinstance(change, types.TextDocumentContentChangePartial) for change in params.content_changes):
            raise JsonRpcInvalidParams("a change of a part is ignored: the server asks for whole texts")
        for change in params.content_changes[-1:]:
            _put(server, params.text_document.uri, params.text_document.version, change.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        if path := file_of(params.text_document.uri):
            server.worker.tell(partial(server.desk.close, path))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        if path := file_of(params.text_document.uri):
            server.worker.tell(partial(server.desk.look_again, [path]))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params: types.DidChangeWatchedFilesParams) -> None:
        paths = [path for change in params.changes if (path := file_of(change.uri))]
        server.worker.tell(partial(server.desk.look_again, paths))


def _handle_questions(server: Server) -> None:
    """Register what clients ask."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        path = file_of(params.text_document.uri)
        text = await server.answer(partial(server.desk.hover, path, params.position)) if path else ""
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        path, only = file_of(params.text_document.uri), params.context.only
        if not path or (only and not any(kind in ("", types.CodeActionKind.QuickFix) for kind in only)):
            return []
        return await server.answer(partial(server.desk.actions, path, params.range))

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        path = file_of(params.text_document.uri)
        return await server.answer(partial(server.desk.lenses, path)) if path else []


def _add(server: Server, uri: str) -> None:
    """Open a folder."""
    try:
        path = folder_of(uri)
    except JsonRpcInvalidParams as error:
        server.show(str(error))
        return
    if path:
        server.worker.tell(partial(server.desk.add, path))


def _put(server: Server, uri: str, version: int | None, text: str) -> None:
    """Hand the text of an open file to the worker; of one that is too large, only so much that this shows."""
    if path := file_of(uri):
        server.worker.tell(partial(server.desk.put, Buffer(uri, path, version, text[: LARGEST + 1])))
