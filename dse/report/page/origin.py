"""Box of the page that says how to have the study again: command, seed, versions, digests."""

from hashlib import sha256
from html import escape

from dse.code_digests import versions
from dse.report.page.html_text import pairs
from dse.results.result import StudyResult
from dse.store.folder import STUDY, study_text

_SHORT = 16
"""Digits of a digest that are shown."""


def origin_html(result: StudyResult) -> str:
    """Command that repeats the study, its seed, versions of packages, hashes of files and code."""
    search = result.study.file.search
    rows = [
        ("sampler", f"{search.sampler}, {search.trials} trials, seed {result.study.file.seed}"),
        (STUDY, f"SHA-256 {_digest(study_text(result.study))}"),
    ]
    if result.provenances:
        last = result.provenances[-1]
        rows += [(name, f"SHA-256 {_digest(text)}") for name, text in last.files.items()]
        code = "\n".join(f"{name} {digest}" for name, digest in sorted(last.code.items()))
        rows.append((f"code, {len(last.code)} parts", f"SHA-256 {_digest(code)}"))
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    rows.append(("versions", packages))
    command = f"python -m dse study {STUDY} --executor serial --out again"
    return f"<pre tabindex='0'>{escape(command)}</pre>{pairs(rows)}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_SHORT]
