"""Recordings that name foreign codecs or declare what they do not hold, and tampered entries of the cache of machine code."""

import json
import os
import shutil
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import xarray

import hydromechs as hm
from hydromechs import sweeps
from hydromechs.compiler import _cache
from hydromechs.compiler._cache import cached
from hydromechs.recording import RecordingError, Variable, structured
from hydromechs.recording import RecordingWriter as Writer

SCHEMA = [Variable(name="position", dims=("time", "body"), units="m", long_name="position")]


@pytest.fixture
def store(tmp_path):
    """A recording as a run writes it."""
    writer = Writer(tmp_path / "r.zarr", SCHEMA, {"body": ["hull", "arm"]}, {"title": "x"})
    writer.append({"time": np.arange(5.0), "position": np.ones((5, 2))})
    writer.close()
    return tmp_path / "r.zarr"


def changed(store, name="position", **values):
    file = store / name / ".zarray"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.fixture
def evil_codec(tmp_path):
    """A codec of another package that is installed here; decoding with it leaves a trace."""
    import numcodecs

    mark = tmp_path / "ran"

    class Evil(numcodecs.abc.Codec):
        codec_id = "evil"

        def encode(self, buf):
            return buf

        def decode(self, buf, out=None):
            mark.touch()
            return buf

    numcodecs.registry.register_codec(Evil)
    yield mark
    numcodecs.registry.codec_registry.pop("evil", None)


def test_the_stores_of_this_package_open(store, tmp_path):
    ds = hm.load_recording(store)
    assert ds.position.shape == (5, 2)
    for name in ("copy.zarr", "copy.nc"):
        hm.save_recording(ds, tmp_path / name)
        xarray.testing.assert_identical(hm.load_recording(tmp_path / name), ds)


def test_foreign_codecs_are_not_loaded(store, evil_codec):
    for change in ({"compressor": {"id": "evil"}}, {"filters": [{"id": "evil"}]}):
        fresh = shutil.copytree(store, store.with_name(f"{next(iter(change))}.zarr"))
        changed(fresh, **change)
        with pytest.raises(RecordingError, match=r"position/\.zarray: (compressor|filters)"):
            hm.load_recording(fresh)
    assert not evil_codec.exists()


def test_other_descriptions_of_a_store_are_not_read(store, evil_codec):
    """Consolidated metadata and those of format 3 would name codecs beside the files that were checked."""
    header = json.loads((store / "position" / ".zarray").read_text()) | {"compressor": {"id": "evil"}}
    metadata = {str(f.relative_to(store)): json.loads(f.read_text()) for f in store.rglob(".z*")}
    metadata["position/.zarray"] = header
    (store / ".zmetadata").write_text(json.dumps({"zarr_consolidated_format": 1, "metadata": metadata}))
    codecs = [{"name": "numcodecs.pickle", "configuration": {}}]
    (store / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))
    array = {"zarr_format": 3, "node_type": "array", "shape": [5], "data_type": "float64", "codecs": codecs, "fill_value": 0}
    (store / "time" / "zarr.json").write_text(json.dumps(array))
    assert hm.load_recording(store).time.values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert not evil_codec.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "|O"},
        {"dtype": [["a", "<f8"]]},
        {"dtype": "|V8"},
        {"dtype": "nonsense"},
        {"dtype": None},
        {"filters": [{"id": "pickle"}]},
        {"compressor": {"id": "pickle"}},
        {"compressor": "pickle"},
        {"compressor": ["blosc"]},
        {"zarr_format": 3},
        {"shape": [10**12, 2]},
        {"shape": [5, 2, 7]},
        {"shape": "many"},
        {"shape": [-1, 2]},
        {"shape": [5.5, 2]},
        {"chunks": [10**12, 2]},
        {"chunks": [0, 0]},
        {"dimension_separator": "/"},
    ],
)
def test_descriptions_that_this_package_does_not_write(store, change):
    changed(store, **change)
    with pytest.raises(RecordingError, match="zarr"):
        hm.load_recording(store)
    with pytest.raises((OSError, ValueError)):
        (store / ".zattrs").write_text(json.dumps({"hydromechs_sweep": 2, "parameters": []}))
        sweeps.load_results(store)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000, "\0", '{"zarr_format": 2}'])
@pytest.mark.parametrize("file", [".zattrs", ".zgroup", "time/.zarray", "position/.zattrs", "position/.zarray"])
def test_damaged_descriptions(store, file, text):
    (store / file).write_text(text)
    if file in (".zgroup", ".zattrs") and text == '{"zarr_format": 2}':
        hm.load_recording(store)  # as it was, and a recording without attributes
        return
    with pytest.raises(RecordingError):
        hm.load_recording(store)


@pytest.mark.parametrize("kind", ["pipe", "device", "link"])
@pytest.mark.parametrize("name", ["position/0.0", "position/.zattrs", ".zattrs"])
def test_a_recording_has_regular_files_only(store, tmp_path, name, kind):
    """Links too: a page generated from a recording must not contain other files of the user."""
    file, moved = store / name, tmp_path / "private"
    file.rename(moved)
    os.mkfifo(file) if kind == "pipe" else file.symlink_to("/dev/zero" if kind == "device" else moved)
    with pytest.raises(RecordingError, match="device, pipe|is a link"):
        hm.load_recording(store)


def test_chunks_of_another_size_are_damage(store):
    (store / "position" / "0.0").write_bytes(b"short")
    with pytest.raises(RecordingError, match="damaged"):
        hm.load_recording(store)


def packed(store, codec):
    """Compress the chunks of `position`; return the compressor and the one chunk."""
    import numcodecs

    compressor = numcodecs.Zstd(3) if codec.startswith("zstd") else numcodecs.Blosc("zstd", 9)
    changed(store, compressor=compressor.get_config())
    chunk = store / "position" / "0.0"
    chunk.write_bytes(compressor.encode(chunk.read_bytes()))
    assert hm.load_recording(store).position.values.tolist() == [[1.0, 1.0]] * 5
    return compressor, chunk


BLOCKS = b"".join((flags | 1 << 1 | 2**17 << 3).to_bytes(3, "little") + b"\0" for flags in [0] * 2000 + [1])
"""Blocks of a Zstandard frame: 262 MB of zeros in 8 kB."""


@pytest.mark.parametrize("bomb", ["zstd", "zstd, no size", "zstd, two frames", "zstd, small size", "zstd, zeros", "blosc"])
def test_a_chunk_that_unpacks_to_more_than_declared_is_not_unpacked(store, bomb):
    compressor, chunk = packed(store, bomb)
    big = compressor.encode(np.zeros(2**28, np.uint8))
    unsized = b"\x28\xb5\x2f\xfd\x00\x58" + BLOCKS
    chunk.write_bytes(
        {
            "zstd, no size": unsized,
            "zstd, two frames": chunk.read_bytes() + unsized,
            "zstd, small size": b"\x28\xb5\x2f\xfd\x20\x00" + BLOCKS,
            "zstd, zeros": b"\x28\xb5\x2f\xfd\x20\x00" + bytes(9000),
        }.get(bomb, big)
    )
    tracemalloc.start()
    with pytest.raises(RecordingError, match=r"position/0\.0 (unpacks to|has) .* malicious"):
        hm.load_recording(store)
    (store / ".zattrs").write_text(json.dumps({"hydromechs_sweep": 2, "parameters": []}))
    with pytest.raises((OSError, ValueError)):
        sweeps.load_results(store)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def test_a_chunk_that_is_larger_than_declared_is_not_read(store):
    with (store / "position" / "0.0").open("r+b") as chunk:
        chunk.truncate(2**28)  # sparse
    with pytest.raises(RecordingError, match=r"position/0\.0 has 268435456 bytes"):
        hm.load_recording(store)


@pytest.mark.parametrize("codec", ["zstd", "blosc"])
@pytest.mark.parametrize("count", [1, 30, 300, 10_000, 400_000])
@pytest.mark.parametrize("random", [False, True])
def test_compressed_recordings_open(tmp_path, codec, count, random):
    import numcodecs

    values = np.random.default_rng(1).random(count) if random else np.zeros(count)
    ds = xarray.Dataset({"z": ("time", values)}, {"time": np.arange(count) * 0.1}, {"hydromechs_recording": 2})
    compressor = numcodecs.Zstd(3, checksum=count > 30) if codec == "zstd" else numcodecs.Blosc("lz4")
    encoding = {name: {"compressors": compressor} for name in ("z", "time")}
    ds.to_zarr(tmp_path / "r.zarr", zarr_format=2, encoding=encoding)
    assert json.loads((tmp_path / "r.zarr/z/.zarray").read_text())["compressor"]["id"] == codec
    assert (hm.load_recording(tmp_path / "r.zarr").z.values == values).all()


@pytest.mark.parametrize("names", [[0x110000, 0xD800], [0x61, 0x61], [0x7FF00000, 0x62]])
def test_names_are_characters_and_differ(store, names):
    (store / "body" / "0").write_bytes(np.array([[n, 0, 0, 0] for n in names], "<u4").tobytes())
    with pytest.raises(RecordingError, match="body"):
        hm.load_recording(store)


def test_hostile_attributes_are_data(store):
    attrs = json.loads((store / ".zattrs").read_text())
    attrs |= {"variable_order": {"a": 1}, "scenario": ["x"], "seed": "abc", "title": {"a": 1}, "messages": 5, "q_units": "[1"}
    (store / ".zattrs").write_text(json.dumps(attrs))
    ds = hm.load_recording(store)
    assert ds.attrs["seed"] == "abc" and structured(ds, "messages") is structured(ds, "q_units") is None


def test_damaged_netcdf(store, tmp_path):
    """Any damage is an error of recordings, or harmless."""
    file = tmp_path / "r.nc"
    hm.save_recording(hm.load_recording(store), file)
    raw, rng = file.read_bytes(), np.random.default_rng(5)
    for n in range(150):
        broken = bytearray(raw)
        for place in rng.integers(0, min(len(raw), 900), 1 + n % 4):
            broken[place] = rng.choice([0, 1, 0x7F, 0xFF, int(rng.integers(256))])
        file.write_bytes(broken[: len(raw) if n % 3 else int(rng.integers(len(raw)))])
        try:
            hm.load_recording(file)
        except RecordingError as error:
            assert str(file) in str(error)


@pytest.mark.parametrize(
    "extra",
    [
        {"dtypes": {"position": "|O"}},
        {"dtypes": {"nothing": "<f8"}},
        {"dtypes": {"position": "<U5000000"}},
        {"empty": {"a": {"dims": ["x"], "shape": [10**12], "dtype": "<f8", "attrs": {}}}},
        {"empty": {"a": {"dims": ["x"], "shape": [0], "dtype": "|O", "attrs": {}}}},
        {"empty": [1]},
        {"order": ["nothing"]},
        [1],
        "text",
    ],
)
def test_hostile_attribute_of_netcdf(store, tmp_path, extra):
    ds = hm.load_recording(store)
    ds.attrs = {"hydromechs_extra": json.dumps(extra)}
    ds.to_netcdf(tmp_path / "r.nc", engine="scipy")
    with pytest.raises(RecordingError, match="hydromechs_extra"):
        hm.load_recording(tmp_path / "r.nc")


def test_variables_of_netcdf_that_are_larger_than_their_file(tmp_path):
    """A sparse file, and variables that share their bytes."""
    file = tmp_path / "r.nc"
    xarray.Dataset({"z": ("time", np.zeros(1000))}, {"time": np.arange(1000.0)}).to_netcdf(file, engine="scipy")
    raw, length = file.read_bytes(), b"time" + (1000).to_bytes(4, "big")
    assert raw.count(length) == 1
    file.write_bytes(raw.replace(length, b"time" + (10**7).to_bytes(4, "big")))
    os.truncate(file, 10**8)
    with pytest.raises(RecordingError, match="declares 160000000 bytes"):
        hm.load_recording(file)


# -- the cache of machine code ------------------------------------------------------------------------------------------

unix = pytest.mark.skipif(sys.platform == "win32", reason="no owners there")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A new folder of the cache, and a temporary folder beside it."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("HYDROMECHS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(_cache.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    _cache._warn.cache_clear()
    return tmp_path / "cache"


def test_an_entry_holds_for_its_key_only(cache):
    cached("a", lambda: b"code of a")
    (cache / "a.o").rename(cache / "b.o")
    assert cached("b", lambda: b"code of b") == b"code of b"


@unix
def test_the_folder_is_private(cache):
    before = os.umask(0)
    try:
        cached("a", lambda: b"x")
    finally:
        os.umask(before)
    assert cache.stat().st_mode & 0o777 == 0o700 and (cache / "a.o").stat().st_mode & 0o077 == 0


@unix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(cache, mode):
    cached("a", lambda: b"planted")
    cache.chmod(mode)
    with pytest.warns(RuntimeWarning, match=r"cache.*writable by others.*chmod go-w"):
        assert cached("a", lambda: b"built") == b"built"
    other = Path(_cache.tempfile.gettempdir()) / f"hydromechs-{os.geteuid()}"
    assert cached("a", lambda: b"once more") == b"built" and (other / "a.o").is_file()  # kept in a private folder


@unix
def test_a_folder_of_someone_else_is_not_used(cache, monkeypatch):
    cached("a", lambda: b"planted")
    other = Path(_cache.tempfile.gettempdir()) / f"hydromechs-{os.geteuid() + 1}"
    other.mkdir()
    someone = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: someone)
    with pytest.warns(RuntimeWarning, match=r"cache.*belongs to user.*nothing is cached"):
        assert cached("a", lambda: b"built") == b"built"
    assert not list(other.iterdir())


@unix
def test_an_entry_that_others_could_have_written_is_not_run(cache):
    cached("a", lambda: b"planted")
    (cache / "a.o").chmod(0o666)
    assert cached("a", lambda: b"built") == b"built"
    (cache / "a.o").unlink()
    os.mkfifo(cache / "a.o")
    assert cached("a", lambda: b"built") == b"built"
