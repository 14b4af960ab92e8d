"""The official files: where they are, how large, and how to know them. One table for all datasets.

Sizes and checksums are those that others publish, cross-checked where two publish independently (docs/datasets.md
says who); those of the four Office-Caltech10 files were computed from the files themselves. **None stands where nobody
publishes a checksum**: such a file is fetched but not used before the caller has confirmed its sha256.
"""

from __future__ import annotations

from .._download import RemoteFile

TRANSFER_LEARNING = (
    "https://raw.githubusercontent.com/jindongwang/transferlearning/73cb050b7e8b969b9d0ebb04a9377aa033043eb2"
)


def _surf_file(domain: str, size: int, sha256: str) -> RemoteFile:
    # The authors' own archive has no published checksum; these are its four files in a repository, at a fixed commit.
    name = f"{domain}_SURF_L10.mat"
    url, page = f"{TRANSFER_LEARNING}/code/BDA/data/{name}", "https://github.com/jindongwang/transferlearning"
    return RemoteFile("office_caltech10", name, url=url, size=size, sha256=sha256, page=page)


CALTECH101 = RemoteFile(
    collection="caltech101",
    name="caltech-101.zip",
    url="https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip?download=1",
    size=137_414_764,
    sha256="331234750fc7f77520e50d9565e8b6907b03565e30320da1401130db08c61f91",
    page="https://data.caltech.edu/records/mzrjq-6wc02",
)
IMDB = RemoteFile(
    collection="imdb",
    name="aclImdb_v1.tar.gz",
    url="http://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    size=84_125_825,
    sha256="c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
    page="http://ai.stanford.edu/~amaas/data/sentiment/",
)
SENTIMENT140 = RemoteFile(
    collection="tweets",
    name="trainingandtestdata.zip",
    url="http://cs.stanford.edu/people/alecmgo/trainingandtestdata.zip",
    size=81_363_704,
    sha256="004a3772c8a7ff9bbfeb875880f47f0679d93fc63e5cf9cff72d54a8a6162e57",
    page="http://help.sentiment140.com/for-students",
)
KAGGLE_TWEETS = RemoteFile(
    collection="tweets",
    name="train.csv",
    url=None,
    size=None,
    sha256=None,
    page="https://www.kaggle.com/c/twitter-sentiment-analysis2/data (an account is needed)",
)
OFFICE_CALTECH10_ARCHIVE = RemoteFile(
    collection="office_caltech10",
    name="GFK_v1.zip",
    url="http://www-scf.usc.edu/~boqinggo/domain_adaptation/GFK_v1.zip",
    size=None,
    sha256=None,
    page="http://www-scf.usc.edu/~boqinggo/domain_adaptation/",
)
OFFICE_CALTECH10 = (
    _surf_file("amazon", 104_970, "df32548b994e18d364c99e1f317e1fae100597259f0423a41b90f4f68187bb1f"),
    _surf_file("Caltech10", 150_751, "4f9334c8ced489d5054de97a5fd51a61f017f3bcd1f38c9a85c6d78cb9d7bda5"),
    _surf_file("dslr", 18_348, "44d673c68e1d07b837893aa74dba3b986e4a6cc3fd66f0dd357683bdef059216"),
    _surf_file("webcam", 32_406, "a6a9c78b4b7181dfbb58bcfd351d4ebd737f171c31247b8884948aa156d3f700"),
)
REMOTE_FILES = (CALTECH101, IMDB, SENTIMENT140, KAGGLE_TWEETS, *OFFICE_CALTECH10, OFFICE_CALTECH10_ARCHIVE)
