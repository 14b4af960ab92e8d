"""The table of official files: complete, and honest about what nobody publishes."""

import re

import pytest

from selftaught.datasets import REMOTE_FILES
from selftaught.datasets.remote import KAGGLE_TWEETS, OFFICE_CALTECH10, OFFICE_CALTECH10_ARCHIVE


@pytest.mark.parametrize("remote", REMOTE_FILES, ids=lambda remote: remote.name)
def test_entries_are_well_formed(remote):
    assert remote.url is None or re.match("https?://", remote.url)
    assert remote.page
    assert remote.sha256 is None or re.fullmatch("[0-9a-f]{64}", remote.sha256)
    assert (remote.size is None) == (remote.sha256 is None)


def test_every_place_is_taken_once():
    places = [remote.place("data") for remote in REMOTE_FILES]
    assert len({*places}) == len(places)


def test_only_two_files_have_no_published_checksum():
    assert [r for r in REMOTE_FILES if r.sha256 is None] == [KAGGLE_TWEETS, OFFICE_CALTECH10_ARCHIVE]


@pytest.mark.parametrize("remote", OFFICE_CALTECH10, ids=lambda remote: remote.name)
def test_checksums_of_the_files_at_hand_are_right(shared_data, remote, sha256):
    content = (shared_data / remote.collection / remote.name).read_bytes()
    assert (len(content), sha256(content)) == (remote.size, remote.sha256)
