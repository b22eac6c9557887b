"""What pygls leaves open: one answer to each request that cannot be read or comes out of turn, without a traceback."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from cattrs import BaseValidationError, Converter, transform_error
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, default_converter

from kubesched_lint.lsp.messages import Fault, Messages
from kubesched_lint.lsp.uris import check_uris

logger = logging.getLogger("pygls")
_NEXT_WORD = re.compile("_([a-z])")
_KEPT_BY_PYGLS = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)


def strict_converter() -> Converter:
    """Return a converter that takes no text for a number, no fraction for a whole one, and nothing else for a text."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    for kind in (int, str):
        converter.register_structure_hook(kind, _exactly)
    return converter


def _exactly(value: Any, kind: type) -> Any:
    """Return a value of a kind, or of an enumeration of that kind. Some editors say 1 for true."""
    if kind is bool:
        return bool(value)
    base, words = (int, "a whole number") if issubclass(kind, int) else (str, "a string")
    if type(value) is not base:
        raise TypeError(f"{words} is needed, not {value!a:.60}")
    return kind(value)


class Protocol(LanguageServerProtocol):
    """The request handler keeps the texts of documents.

    pygls would keep them too, and read what is not open from any path.
    """

    def __init__(self, server: Any, converter: Converter) -> None:
        super().__init__(server, converter)
        self._log: Callable[[str], None] = server.log
        for method in _KEPT_BY_PYGLS:
            self.fm.builtin_features.pop(method, None)

    async def listen(self, messages: Messages) -> None:
        """Answer until nobody speaks any more."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                message = await loop.run_in_executor(self._server.thread_pool, messages.next)
            except EOFError:
                return
            self.receive(message)

    def receive(self, message: object) -> None:
        if isinstance(message, Fault):
            self._refuse(None, JsonRpcParseError(f"not a message: {message.text}"))
        elif not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            self._refuse(_number(message), JsonRpcInvalidRequest('a message is an object with "jsonrpc": "2.0"'))
        elif "method" not in message:
            self._take_answer(message)
        elif not isinstance(message["method"], str):
            self._refuse(_number(message), JsonRpcInvalidRequest("the method must be a string"))
        elif "id" in message and _number(message) is None:
            self._refuse(None, JsonRpcInvalidRequest("the id must be a whole number or a string"))
        else:
            self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        try:
            self._check_turn(message["method"], is_request="id" in message)
            check_uris(message.get("params"))
            structured = self._structured(message)
        except JsonRpcException as error:
            if "id" in message:
                self._refuse(message["id"], error)
            elif self._workspace is not None:
                self._log(f"{message['method'][:100]!a} is ignored: {error}")
            return
        self.handle_message(structured)

    def _check_turn(self, method: str, *, is_request: bool) -> None:
        known = types.METHOD_TO_TYPES.get(method)
        if is_request and known is not None and known[1] is None:
            raise JsonRpcInvalidRequest(f"{method} is a notification, which has no id")
        if method == types.EXIT:
            return
        if self._shutdown:
            raise JsonRpcInvalidRequest("the server was told to shut down")
        if method == types.INITIALIZE and self._workspace is not None:
            raise JsonRpcInvalidRequest("the server is initialized already")
        if method != types.INITIALIZE and self._workspace is None:
            raise JsonRpcServerNotInitialized(f"{types.INITIALIZE} must come first")

    def _structured(self, message: dict[str, Any]) -> Any:
        if message["method"] == types.CANCEL_REQUEST and _number(message.get("params")) is None:
            raise JsonRpcInvalidParams("the id must be a whole number or a string")  # pygls takes anything for one
        try:
            return self.structure_message(message)
        except JsonRpcException as error:
            cause = error.__cause__
            if not isinstance(cause, BaseValidationError):
                raise JsonRpcInvalidParams(f"invalid parameters: {cause}") from None
            raise JsonRpcInvalidParams(_first_of(transform_error(cause, "message", format_exception=_words))) from None

    def _take_answer(self, message: dict[str, Any]) -> None:
        """Take the answer to a request of ours; none is sent to an answer, whatever is wrong with it."""
        try:
            self.handle_message(self.structure_message(message))
        except Exception as error:
            logger.warning("an answer is ignored: %s", error)

    # --- what pygls says of failures ----------------------------------------------------------------------------------

    def _refuse(self, number: Any, error: JsonRpcException) -> None:
        if number is None:  # pygls leaves null out, and an answer without an id is no message
            told = {"code": error.code, "message": error.message}
            self._send_data({"jsonrpc": self.VERSION, "id": None, "error": told})
        else:
            self._send_response(number, error=error.to_response_error())

    def _send_response(self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None) -> None:
        if error is not None and error.code == JsonRpcInternalError.CODE:
            text = f"kubesched-lint failed: {error.message}. This is a bug. Please report it"
            error = types.ResponseError(error.code, text)  # pygls would send the traceback
        super()._send_response(msg_id, result, error)

    def _check_handler_result(self, future: Future[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is not None:
            self._log(str(error))


def _number(message: object) -> int | str | None:
    """Return the id of a request if it is one."""
    number = message.get("id") if isinstance(message, dict) else None
    return number if type(number) in (int, str) else None


def _words(error: BaseException, _: object) -> str:
    return f"{error.args[0]!s} is missing" if isinstance(error, KeyError) else str(error)


def _first_of(errors: list[str]) -> str:
    """Return the first error after its place, which has the protocol's names instead of Python's."""
    text, _, place = errors[0].rpartition(" @ ")
    return f"{_NEXT_WORD.sub(lambda match: match[1].upper(), place)}: {text}"
