"""Post a file as one comment on a pull request (GitHub) or merge request (GitLab), or update the earlier one in place.

``python3 comment.py FILE [ABOUT]``. The first line of the file, an HTML comment, marks the comment; with ABOUT (the
paths and the cluster, say), one pull request has a comment for each. A comment of somebody else is never changed, even
if it has the mark. Needs only Python. It reads what the runners set, and

- GitHub: ``GITHUB_TOKEN``, and ``COMMENT_AUTHOR`` (default ``github-actions[bot]``);
- GitLab: ``GITLAB_TOKEN``, a token with the scope ``api``; its user is the author.

Exit code 1 with one line of error if the comment cannot be posted; 0 also if there is no pull request.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

_PER_PAGE, _MOST_PAGES = 100, 50
_SECONDS = 30


class Forge:
    """The web API of a forge; ``comments`` is the address of the comments of one pull request."""

    def __init__(self, comments: str, headers: Mapping[str, str], author: str, update: str) -> None:
        self.comments = comments
        self.headers = headers
        self.author = author
        self.update = update

    def earlier(self, mark: str) -> Any | None:
        """Return the first comment of our own that begins with the mark."""
        for comment in self._pages():
            user = comment.get("user") or comment.get("author") or {}
            is_ours = self.author in (user.get("login"), user.get("username"))
            if is_ours and str(comment.get("body", "")).startswith(mark):
                return comment
        return None

    def _pages(self) -> Iterator[Any]:
        for page in range(1, _MOST_PAGES + 1):
            found = self.call("GET", f"{self.comments}?per_page={_PER_PAGE}&page={page}")
            yield from found
            if len(found) < _PER_PAGE:
                return

    def call(self, method: str, address: str, body: str | None = None) -> Any:
        data = None if body is None else json.dumps({"body": body}).encode()
        headers = {**self.headers, "Content-Type": "application/json"}
        request = urllib.request.Request(address, data=data, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return json.loads(answer.read() or b"null")


def github(environ: Mapping[str, str]) -> tuple[Forge, str] | None:
    """Return the forge and the address below which a comment is updated; None if there is no pull request."""
    with open(environ["GITHUB_EVENT_PATH"], encoding="utf-8") as file:
        number = (json.load(file).get("pull_request") or {}).get("number")
    if number is None:
        return None
    base = f"{environ['GITHUB_API_URL']}/repos/{environ['GITHUB_REPOSITORY']}/issues"
    headers = {"Authorization": f"Bearer {environ['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
    author = environ.get("COMMENT_AUTHOR") or "github-actions[bot]"
    return Forge(f"{base}/{number}/comments", headers, author, "PATCH"), f"{base}/comments"


def gitlab(environ: Mapping[str, str]) -> tuple[Forge, str] | None:
    """Return the forge and the address below which a note is updated; None if there is no merge request."""
    number = environ.get("CI_MERGE_REQUEST_IID")
    if not number:
        return None
    notes = f"{environ['CI_API_V4_URL']}/projects/{environ['CI_PROJECT_ID']}/merge_requests/{number}/notes"
    forge = Forge(notes, {"PRIVATE-TOKEN": environ["GITLAB_TOKEN"]}, "", "PUT")
    forge.author = str(forge.call("GET", f"{environ['CI_API_V4_URL']}/user")["username"])
    return forge, notes


def marked(body: str, about: str) -> tuple[str, str]:
    """Return the mark of what a comment is about, and the body that begins with it."""
    mark, line_end, rest = body.partition("\n")
    if about:
        mark = mark.replace("-->", f"{sha256(about.encode()).hexdigest()[:12]} -->")
    return mark, f"{mark}{line_end}{rest}"


def main(path: str, about: str, environ: Mapping[str, str]) -> int:
    with open(path, encoding="utf-8") as file:
        mark, body = marked(file.read(), about)
    try:
        found = gitlab(environ) if "CI_API_V4_URL" in environ else github(environ)
        if found is None:
            print("no pull request: no comment")
            return 0
        forge, updated = found
        earlier = forge.earlier(mark)
        if earlier is None:
            forge.call("POST", forge.comments, body)
        else:
            forge.call(forge.update, f"{updated}/{earlier['id']}", body)
    except (OSError, KeyError, ValueError, urllib.error.URLError) as error:
        print(f"error: no comment: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], " ".join(sys.argv[2:]), os.environ))
