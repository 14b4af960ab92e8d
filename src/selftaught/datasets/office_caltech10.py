"""Office-Caltech10: ten classes of objects in four domains, as bags of 800 SURF words.

Each domain is a MATLAB file `DOMAIN_SURF_L10.mat` with counts `fts` (n, 800) and `labels` 1 .. 10, shape (n, 1). The
authors ship the four inside `GFK_v1.zip`, in `ToRelease_GFK/data/`. The class names are not in the files; they are
those of the paper that made the dataset, and fit the counts.
"""

from __future__ import annotations

import io
import os
import zlib
from pathlib import Path, PurePosixPath

import numpy as np
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from .._download import fetch_file
from .archives import open_archive
from .checks import check_at_least
from .labelled import LabelledItems
from .problem import TransferProblem
from .remote import OFFICE_CALTECH10, OFFICE_CALTECH10_ARCHIVE

CLASSES = (
    *("backpack", "bike", "calculator", "headphones", "keyboard"),
    *("laptop", "monitor", "mouse", "mug", "projector"),
)
DOMAINS = {"amazon": "amazon", "caltech": "Caltech10", "dslr": "dslr", "webcam": "webcam"}
FILES = {f"{stem}_SURF_L10.mat": domain for domain, stem in DOMAINS.items()}
N_WORDS = 800
# loadmat has no error of its own for most kinds of damage.
DAMAGE = (MatReadError, ValueError, TypeError, KeyError, IndexError, EOFError, OSError, NotImplementedError, zlib.error)


def load_office_caltech10(path: str | os.PathLike) -> LabelledItems:
    """Read the four domains of Office-Caltech10.

    Parameters
    ----------
    path : path
        A folder with the four `*_SURF_L10.mat` files, or a zip or tar archive that holds them, such as the authors'
        `GFK_v1.zip`.

    Returns
    -------
    LabelledItems
        `items` are word counts, (2533, 800) float64; `groups` the domain of each row, "amazon", "caltech", "dslr" or
        "webcam"; ten classes.

    Examples
    --------
    >>> from selftaught.datasets import load_office_caltech10, office_caltech10_split
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> for domain in ("amazon", "Caltech10", "dslr", "webcam"):
    ...     labels = np.repeat(np.arange(1, 11), 4)[:, None].astype(np.uint8)
    ...     savemat(f"{domain}_SURF_L10.mat", {"fts": np.ones((40, 800), np.uint8), "labels": labels})
    >>> office = load_office_caltech10(".")
    >>> office
    LabelledItems('Office-Caltech10': 160 items of 10 classes, 16 each)
    >>> office_caltech10_split(office, source="amazon", target="webcam", random_state=0)
    TransferProblem('amazon to webcam': 30 labelled rows of 10 classes, 40 source rows (100 % relevant), 10 test rows,
    800 features)
    """
    path = Path(path)
    if path.is_dir():
        found = {
            FILES[file.name]: _read_domain(file.read_bytes(), file) for file in path.iterdir() if file.name in FILES
        }
        if not found and (path / OFFICE_CALTECH10_ARCHIVE.name).is_file():
            return load_office_caltech10(path / OFFICE_CALTECH10_ARCHIVE.name)
    else:
        with open_archive(path) as members:
            files = {PurePosixPath(name).name: (name, file) for name, file in _with_contents(members)}
        found = {FILES[short]: _read_domain(content, f"{path}: {name}") for short, (name, content) in files.items()}
    if missing := sorted(set(FILES) - {name for name, domain in FILES.items() if domain in found}):
        raise ValueError(f"{path} lacks {', '.join(missing)}. Expected the four files {', '.join(FILES)}.")
    counts, labels = zip(*(found[domain] for domain in DOMAINS), strict=True)
    return LabelledItems(
        name="Office-Caltech10",
        items=np.concatenate(counts),
        y=np.concatenate(labels),
        class_names=CLASSES,
        groups=np.repeat(list(DOMAINS), [len(rows) for rows in counts]),
    )


def fetch_office_caltech10(
    folder: str | os.PathLike | None = None,
    *,
    distribution: str = "files",
    url: str | None = None,
    sha256: str | None = None,
) -> LabelledItems:
    """Fetch Office-Caltech10 (0.3 MB) unless it is there, verify and load it.

    Parameters
    ----------
    folder : path, optional
        Data folder; `$SELFTAUGHT_DATA` or `~/selftaught_data` by default.
    distribution : {"files", "archive"}, default "files"
        "files" are the four MATLAB files in a public repository, at a fixed commit and with known checksums; "archive"
        is the authors' own `GFK_v1.zip`, of which nobody publishes a checksum, so that you have to confirm it.
    url : str, optional
        A mirror: the address of the archive, or of the place that holds the four files.
    sha256 : str, optional
        Your confirmation of the archive's checksum.

    Returns
    -------
    LabelledItems
        As `load_office_caltech10` returns it.
    """
    if distribution == "archive":
        return load_office_caltech10(fetch_file(OFFICE_CALTECH10_ARCHIVE, folder, url=url, sha256=sha256))
    if distribution != "files":
        raise ValueError(f"distribution must be 'files' or 'archive', got {distribution!r}.")
    if sha256 is not None:
        raise ValueError("sha256 is the archive's; the four files have checksums of their own. Leave it out.")
    addresses = [None if url is None else f"{url.rstrip('/')}/{remote.name}" for remote in OFFICE_CALTECH10]
    places = [fetch_file(r, folder, url=address) for r, address in zip(OFFICE_CALTECH10, addresses, strict=True)]
    return load_office_caltech10(places[0].parent)


def office_caltech10_split(
    data: LabelledItems, *, source: str, target: str, n_labels: int = 3, random_state=None
) -> TransferProblem:
    """Take one domain as the unlabelled source and a few labelled rows of another as the target.

    Parameters
    ----------
    data : LabelledItems
        What `load_office_caltech10` returned.
    source, target : {"amazon", "caltech", "dslr", "webcam"}
        Two different domains.
    n_labels : int, default 3
        Labelled rows per class of the target, drawn at random; 3 is customary. All others are the test.
    random_state : None, int or numpy.random.Generator, default None
        Seed of the draw, and of the order of the source.

    Returns
    -------
    TransferProblem
        Rows are the shares of the words, count over sum. All source rows are of the target's classes, and of another
        domain.
    """
    check_at_least(1, n_labels=n_labels)
    domains = [] if data.groups is None else sorted({*data.groups.tolist()})
    if source == target or source not in domains or target not in domains:
        raise ValueError(f"source and target must be two of {', '.join(domains)}, got {source!r} and {target!r}.")
    rng = np.random.default_rng(random_state)
    in_target = [np.flatnonzero((data.groups == target) & (data.y == code)) for code in range(len(data.class_names))]
    smallest = min(len(rows) for rows in in_target)
    if smallest <= n_labels:
        raise ValueError(
            f"n_labels must be below {smallest}, the rows of the smallest class of {target!r}, got {n_labels}."
        )
    shuffled = [rng.permutation(rows) for rows in in_target]
    train_idx = np.concatenate([rows[:n_labels] for rows in shuffled])
    test_idx = np.concatenate([rows[n_labels:] for rows in shuffled])
    source_idx = rng.permutation(np.flatnonzero(data.groups == source))
    shares = data.items / np.maximum(data.items.sum(axis=1, keepdims=True), 1)
    return TransferProblem(
        name=f"{source} to {target}",
        description=f"Office-Caltech10: SURF bags of ten classes, {source} images as the source of {target} images.",
        X=shares[train_idx],
        y=data.y[train_idx],
        X_source=shares[source_idx],
        source_is_relevant=np.ones(len(source_idx), dtype=bool),
        source_classes=data.y[source_idx],
        X_test=shares[test_idx],
        y_test=data.y[test_idx],
        class_names=data.class_names,
        source_kind=data.labels[source_idx],
    )


def _with_contents(members):
    """The wanted members with their bytes, which are gone when the archive is closed."""
    return [(name, file.read()) for name, file in members if PurePosixPath(name).name in FILES]


def _read_domain(content: bytes, where) -> tuple[np.ndarray, np.ndarray]:
    """Counts (n, 800) and codes 0 .. 9 of one domain."""
    try:
        matrices = loadmat(io.BytesIO(content), variable_names=("fts", "labels"))
        counts, labels = np.asarray(matrices["fts"], float), np.asarray(matrices["labels"]).ravel().astype(int)
    except DAMAGE as error:
        raise ValueError(f"{where} is damaged or no MATLAB file with fts and labels ({error}).") from error
    wrong_shape = counts.ndim != 2 or counts.shape[1] != N_WORDS or len(labels) != len(counts)
    if wrong_shape or not np.isin(labels, np.arange(1, len(CLASSES) + 1)).all():
        raise ValueError(
            f"{where} must hold fts of shape (n, {N_WORDS}) and n labels from 1 to {len(CLASSES)}, got fts of shape "
            f"{counts.shape} and labels {np.unique(labels)[:12]}."
        )
    return counts, labels - 1
