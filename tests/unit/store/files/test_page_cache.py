from __future__ import annotations

from pathlib import Path

from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.page_cache import is_in_memory, read_ahead, read_singly, unmap_pages


def test_pages_taken_out_of_the_page_table_keep_their_bytes_and_take_more(tmp_path: Path) -> None:
    file = Disk().create(tmp_path / "f", 1 << 20)
    view = file.map()
    file.allocate(0, 1 << 20)
    view[:12] = b"before after"
    unmap_pages(view, 0, 1 << 19)
    view[:6] = b"behind"
    assert bytes(view[:12]) == file.read(0, 12) == b"behind after"
    unmap_pages(view, 100, 200)  # no whole page
    file.close()


def test_a_view_that_is_no_map_is_left_as_it_is() -> None:
    view = memoryview(bytearray(8192))
    assert read_singly(view) is read_ahead(view) is view
    unmap_pages(view, 0, 8192)
    assert is_in_memory(view, 0)
