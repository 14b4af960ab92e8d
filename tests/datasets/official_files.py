"""Small made-up files in the official formats, and archives of them, good and bad."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable

import numpy as np
from scipy.io import savemat

JPEG = b"\xff\xd8\xff stands for a picture \xff\xd9"

REVIEWS = {
    "aclImdb/README": b"about the dataset",
    "aclImdb/train/urls_pos.txt": b"http://example.invalid/1",
    "aclImdb/train/pos/0_9.txt": "Très bon!<br />Very good".encode(),
    "aclImdb/train/pos/10_7.txt": b"Nice",
    "aclImdb/train/pos/2_8.txt": b"Fine",
    "aclImdb/train/neg/0_3.txt": b"A bore,\nwith two lines",
    "aclImdb/train/unsup/0_0.txt": b"Nobody said",
    "aclImdb/test/pos/0_10.txt": b"Great",
    "aclImdb/test/neg/0_1.txt": b"Awful",
    "aclImdb/test/labeledBow.feat": b"1 0:1",
}

# Latin-1 in one line, UTF-8 in the next, a comma and a quote inside, an empty text, a repetition.
SENTIMENT140 = (
    b'"0","1467810369","Mon Apr 06 22:19:45 PDT 2009","NO_QUERY","_TheSpecialOne_","@you, that\'s a bummer. ;D"\r\n'
    b'"0","1467810672","Mon Apr 06 22:19:49 PDT 2009","NO_QUERY","scotthamilton","a sad caf\xe9"\r\n'
    b'"4","1467822272","Mon Apr 06 22:22:45 PDT 2009","NO_QUERY","ersle","I LOVE ""it"" caf\xc3\xa9 &amp; co"\r\n'
    b'"2","1467822273","Mon Apr 06 22:22:46 PDT 2009","NO_QUERY","ersle","so so"\r\n'
    b'"4","1467822283","Mon Apr 06 22:22:46 PDT 2009","NO_QUERY","becca","line\x85one"\r\n'
)
KAGGLE = (
    b"ItemID,Sentiment,SentimentText\n"
    b"1,0,                     is so sad for my APL friend.............\n"
    b'2,1,"omg, its already 7:30 :O"\n'
    b'3,0,"a ""quoted"" word, \xe9t\xe9"\n'
)
SENTIMENT140_ZIP = {
    "testdata.manual.2009.06.14.csv": b'"4","3","Mon May 11 03:17:40 UTC 2009","kindle2","tpryan","I loooove it"\n',
    "training.1600000.processed.noemoticon.csv": SENTIMENT140,
}


def caltech_images(classes=("BACKGROUND_Google", "Faces", "Faces_easy", "anchor"), n=2):
    """Names and contents as in `101_ObjectCategories.tar.gz`, the file that is no image included."""
    files = {f"101_ObjectCategories/{c}/image_{i:04d}.jpg": JPEG for c in classes for i in range(1, n + 1)}
    return {**files, "101_ObjectCategories/BACKGROUND_Google/tmp": b"not an image"}


def caltech_zip():
    """`caltech-101.zip`: the images in a tar.gz inside, beside other things and what macOS adds."""
    return zip_bytes(
        {
            "caltech-101/101_ObjectCategories.tar.gz": tar_bytes(caltech_images(), compress=gzip.compress),
            "__MACOSX/caltech-101/._101_ObjectCategories.tar.gz": b"\0\5\x16\7 what macOS adds",
            "caltech-101/Annotations.tar": b"",
            "caltech-101/show_annotation.m": b"function show_annotation",
        }
    )


def surf_files(n_per_class=4):
    """The four MATLAB files of Office-Caltech10, as bytes by name."""
    files = {}
    for i, domain in enumerate(("amazon", "Caltech10", "dslr", "webcam")):
        labels = np.repeat(np.arange(1, 11), n_per_class + i).astype(np.uint8)[:, None]
        counts = np.random.default_rng(i).integers(0, 4, size=(len(labels), 800)).astype(np.uint8)
        buffer = io.BytesIO()
        savemat(buffer, {"fts": counts, "labels": labels})
        files[f"{domain}_SURF_L10.mat"] = buffer.getvalue()
    return files


def zip_bytes(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tar_bytes(files, *, compress: Callable[[bytes], bytes] = bytes, links=()):
    """A tar archive with its folders; `links` are (name, target, type) of tarfile."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for folder in sorted({name.rpartition("/")[0] for name in files if "/" in name}):
            member = tarfile.TarInfo(folder)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(member)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name, target, kind in links:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
    return compress(buffer.getvalue())


def write_files(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
