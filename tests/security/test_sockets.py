"""Every socket that we open, attacked: the gates of `pilot`, `view` and `replay`, the viser servers behind them, a sweep's cluster.

Attackers are local processes without the address, pages of other sites in the user's browser, and guests who have the address
but not the controls.
"""

import contextlib
import http.client
import io
import json
import math
import random
import socket
import ssl
import struct
import threading
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
import viser
import zstandard
from PIL import Image
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage
from websockets.sync.client import connect

import hydromechs as hm
from hydromechs import viewer
from hydromechs.cli._pilot import catalog
from hydromechs.station import Station

LITTLE = Path(__file__).parents[1] / "station" / "files" / "little.yaml"
PROTOCOL = [f"viser-v{viser.__version__}"]
REJECTED = (InvalidHandshake, InvalidMessage, ConnectionClosed, OSError, EOFError)
UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
    f"Sec-WebSocket-Protocol: {PROTOCOL[0]}\r\n"
)
HANDLE = {"type": "TransformControlsUpdateMessage", "name": "/world/handle", "wxyz": [1, 0, 0, 0], "position": [3.0, 2.0, 1.0]}


@pytest.fixture(scope="module")
def station(tmp_path_factory):
    made = Station(catalog(str(LITTLE)), "little", tmp_path_factory.mktemp("runs"), lost_after=1e6)
    yield made
    made.close()


@pytest.fixture(scope="module")
def model_page():
    page = viewer.view(hm.load("held_load"))
    yield page
    page.close()


@pytest.fixture(scope="module")
def replay_page():
    model = hm.load("hand_pipe")
    start = hm.State(q=np.array([0, 0, 2.0, 1, 0, 0, 0]), v=np.zeros(6))
    ds = hm.Simulation(model, state=start, step=0.01).run(0.1).recording
    page = viewer.replay(viewer.recording_scene(model, ds, rate=10.0), ds)
    yield page
    page.close()


@pytest.fixture(params=["pilot", "view", "replay"])
def gate(request):
    """The gate of a command."""
    fixture = {"pilot": "station", "view": "model_page", "replay": "replay_page"}[request.param]
    page = request.getfixturevalue(fixture)
    return page if request.param == "replay" else page.gate


@pytest.fixture(params=["pilot", "view"])
def scene_gate(request):
    """The gate of a command whose page has a websocket."""
    return request.getfixturevalue({"pilot": "station", "view": "model_page"}[request.param]).gate


@pytest.fixture(params=["pilot", "view"])
def inner(request):
    """Port of the viser server of a command."""
    if request.param == "pilot":
        page = request.getfixturevalue("station").scenes.outside
    else:
        page = request.getfixturevalue("model_page")
    return int(page.server.get_port())


def raw(port, data, *, end=False):
    """All bytes that come back for some bytes, up to the end of the connection; with `end` we close our side first."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        out = b""
        with contextlib.suppress(ConnectionError):
            s.sendall(data if isinstance(data, bytes) else data.encode())
            if end:
                s.shutdown(socket.SHUT_WR)
            while part := s.recv(4096):
                out += part
        return out


def request(path, host="127.0.0.1", more=""):
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n"


def scene_path(gate):
    """Path of a scene's websocket, with the token; for the station with a seat."""
    return f"/{gate.token}/" + (f"outside/{gate._given[-1]}" if hasattr(gate, "_given") else "")


def alive(gate):
    """True if the gate still answers whoever has the token."""
    connection = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=20)
    connection.request("GET", f"/{gate.token}/")
    return connection.getresponse().status == 200


class Tab:
    """The link of a page of the station."""

    def __init__(self, station):
        self.station = station
        self.socket = connect(station.url.replace("http", "ws") + "link/new", max_size=None, proxy=None)
        self.seat = json.loads(self.socket.recv(timeout=10))["seat"]

    def say(self, **message):
        self.socket.send(json.dumps(message))

    def hear(self, kind):
        """The next message of a type."""
        while True:
            message = json.loads(self.socket.recv(timeout=30))
            if message["type"] == kind:
                return message

    def scene(self, view="outside"):
        return connect(
            self.station.url.replace("http", "ws") + f"{view}/{self.seat}", subprotocols=PROTOCOL, max_size=None, proxy=None
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        wait(lambda: self.seat not in self.station.gate._seated)


def wait(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


# -- who may come ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", ["", UPGRADE], ids=["page", "websocket"])
def test_without_the_token_a_gate_is_silent(gate, headers):
    wrong = gate.token[:-1] + ("A" if gate.token[-1] != "A" else "B")
    for path in (
        "/",
        f"/{wrong}/",
        f"/{wrong}/link/new",
        f"/x/{gate.token}/",
        f"/?{gate.token}",
        "/link/new",
        "//[",
        "/\u00e9/",
    ):
        assert raw(gate.port, request(path, more=headers)) == b""
    assert alive(gate)


@pytest.mark.parametrize("headers", ["", UPGRADE], ids=["page", "websocket"])
def test_names_that_other_sites_bind_to_this_machine_get_nothing(gate, headers):
    """DNS rebinding: the browser sends the other site's name as Host. Here even with the right token."""
    for host in (
        "evil.example",
        f"evil.example:{gate.port}",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "[",
        "10.0.0.1",
    ):
        assert raw(gate.port, request(f"/{gate.token}/", host, headers)) == b""
    assert raw(gate.port, request(f"/{gate.token}/", more=f"Host: evil.example\r\n{headers}")) == b""
    for host in ("127.0.0.1", f"localhost:{gate.port}", "[::1]:9"):
        assert raw(gate.port, request(f"/{gate.token}/", host)).startswith(b"HTTP/1.1 200")


def test_pages_of_other_sites_get_no_websocket(scene_gate, station):
    with Tab(station):
        path = scene_path(scene_gate)
        for origin in (
            "http://evil.example",
            "null",
            "http://127.0.0.1:1",
            "file://",
            f"http://127.0.0.1:{scene_gate.port}.evil.example",
        ):
            with pytest.raises(REJECTED):
                connect(f"ws://127.0.0.1:{scene_gate.port}{path}", origin=origin, subprotocols=PROTOCOL, proxy=None)
        own = f"http://127.0.0.1:{scene_gate.port}"
        connect(f"ws://127.0.0.1:{scene_gate.port}{path}", origin=own, subprotocols=PROTOCOL, max_size=None, proxy=None).close()


def test_pages_may_not_be_framed_by_other_sites_and_run_no_foreign_scripts(gate):
    connection = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=10)
    connection.request("GET", f"/{gate.token}/")
    policy = connection.getresponse().getheader("Content-Security-Policy")
    assert "frame-ancestors 'self'" in policy and "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


# -- behind the gate ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", ["", "X-HydroMechs-Ticket: \r\n", f"X-HydroMechs-Ticket: {'0' * 32}\r\n"])
@pytest.mark.parametrize("headers", ["", UPGRADE], ids=["page", "websocket"])
def test_a_local_process_gets_nothing_from_the_viser_server(inner, headers, more):
    """Neither its page, nor the scene, nor a handshake."""
    assert raw(inner, request("/", more=headers + more)) == b""


def test_nobody_but_the_gate_can_move_the_handle(station):
    with (
        pytest.raises(REJECTED),
        connect(
            f"ws://127.0.0.1:{station.scenes.outside.server.get_port()}", subprotocols=PROTOCOL, max_size=None, proxy=None
        ) as direct,
    ):
        direct.send(msgspec.msgpack.encode(HANDLE))
        direct.recv(timeout=10)
    assert station.session.inputs.now.target is None and not station.scenes.outside.server.get_clients()


def test_a_ticket_admits_one_connection_and_none_with_an_origin(station):
    page = station.scenes.outside
    port = page.server.get_port()

    def come(ticket, **options):
        headers = {"X-HydroMechs-Ticket": ticket}
        connect(f"ws://127.0.0.1:{port}", subprotocols=PROTOCOL, additional_headers=headers, proxy=None, **options).close()

    ticket = page.tickets.issue()
    come(ticket)
    with pytest.raises(REJECTED):
        come(ticket)
    with pytest.raises(REJECTED):
        come(page.tickets.issue(), origin=f"http://127.0.0.1:{port}")


def test_pages_without_an_address_cannot_be_reached():
    """A replay in one file and a picture need a viser server for a moment."""
    page = viewer.Page(viewer.model_scene(hm.load("held_load")))
    try:
        with pytest.raises(ValueError, match="open"):
            _ = page.url
        assert raw(page.server.get_port(), request("/")) == b""
    finally:
        page.close()


# -- what they may say ----------------------------------------------------------------------------------------------------


def test_garbage_and_half_open_requests_leave_a_gate_running(gate):
    rng = random.Random(7)
    open_ones = []
    for k in range(40):
        s = socket.create_connection(("127.0.0.1", gate.port), timeout=10)
        s.sendall([b"", b"GET /", f"GET /{gate.token}/ HTTP/1.1\r\nHost:".encode(), rng.randbytes(200)][k % 4])
        open_ones.append(s)
    for data in (b"\x16\x03\x01" + rng.randbytes(300), b"GET " + b"a" * 100_000, b"\r\n\r\n\r\n", b"POST / HTTP/1.0\r\n\r\n"):
        assert gate.token.encode() not in raw(gate.port, data, end=True)
    assert alive(gate)
    for s in open_ones:
        s.close()


def test_broken_and_oversized_frames_end_one_connection_only(scene_gate, station):
    """Reserved bits, a length of 2⁶³ bytes, a message without an end."""
    with Tab(station) as tab:
        path = scene_path(scene_gate)
        frames = (
            b"\xf2\x80\x00\x00\x00\x00",
            b"\x82\xff" + struct.pack(">Q", 2**62) + bytes(4),
            b"\x02\xfe\xff\xff" + bytes(500),
        )
        for frame in frames:
            with socket.create_connection(("127.0.0.1", scene_gate.port), timeout=10) as s:
                s.sendall(request(path, more=UPGRADE).encode())
                assert b"101" in s.recv(64)
                s.sendall(frame)
        with (
            pytest.raises(REJECTED),
            connect(
                f"ws://127.0.0.1:{scene_gate.port}{path}", subprotocols=PROTOCOL, max_size=None, proxy=None, open_timeout=20
            ) as big,
        ):
            big.send(bytes(8_000_000))
            while True:
                big.recv(timeout=20)
        tab.say(type="operator", axes=[0, 0, 0.5, 0, 0, 0])
        wait(lambda: station.session.inputs.now.axes[2] == 0.5)
        tab.say(type="operator", axes=[0] * 6)
        wait(lambda: station.session.inputs.now.axes[2] == 0)
    assert alive(scene_gate)


def test_a_guest_cannot_steer_by_any_message(station):
    """Neither on the link nor with the handle in the scene, in either view."""
    before = station.session.inputs.now
    with Tab(station) as pilot, Tab(station) as guest:
        count = sum(station.gate.rejected.counts.values())
        for kind in ("start", "pause", "step", "reset", "give", "picture", "ahead"):
            guest.say(type=kind)
        guest.say(type="operator", mode="manual", axes=[1, 0, 0, 0, 0, 0])
        guest.say(type="scale", value=5)
        guest.say(type="delay", delay=3)
        guest.say(type="configure", scenario="little", changes={})
        guest.say(type="save", scenario="little", changes={})
        with guest.scene() as scene, guest.scene("onboard") as other:
            for each in (scene, other):
                each.send(msgspec.msgpack.encode(HANDLE))
                each.send(msgspec.msgpack.encode({"type": "TransformControlsDragStartMessage", "name": "/world/handle"}))
            wait(lambda: sum(station.gate.rejected.counts.values()) - count >= 16)
        assert station.session.inputs.now == before and station.session.status["running"] is False
        assert station.session.snapshot.t == 0.0 and not list(station.session.folder.glob("*.yaml"))
        with pilot.scene() as scene:
            scene.send(msgspec.msgpack.encode(HANDLE))
            wait(lambda: station.session.inputs.now.target == (3.0, 2.0, 1.0))
            pilot.say(type="give")
            wait(lambda: not station.seats.steers(pilot.seat))
            scene.send(msgspec.msgpack.encode({**HANDLE, "position": [9.0, 9.0, 9.0]}))
            wait(lambda: station.gate.rejected.counts["scene"] >= 5)
            assert station.session.inputs.now.target == (3.0, 2.0, 1.0), "a seat that was handed over moves nothing"
        guest.say(type="ask")
        guest.say(type="operator", arm_mode="joints")
        wait(lambda: station.session.inputs.now.target is None)


CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": [1, 0, 0, 0],
    "position": [0, 0, 5],
    "look_at": [0, 0, 0],
    "up_direction": [0, 0, 1],
    "fov": 1.0,
    "near": 0.1,
    "far": 100.0,
    "image_height": 720,
    "image_width": 1280,
}
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"


def png(size, frames=1):
    file = io.BytesIO()
    more = {"compress_level": 1}
    more |= {"save_all": True, "append_images": [Image.new("RGB", size, "red")] * (frames - 1)} if frames > 1 else {}
    Image.new("RGB", size).save(file, "PNG", **more)
    return file.getvalue()


class OnBoard:
    """The view from on board in a browser that answers every request for a picture with some bytes."""

    def __init__(self, tab, payload):
        self.station, self.asked, self.payload = tab.station, 0, payload
        self.before = set(self.station.scenes.onboard.server.get_clients())
        self.socket = tab.scene("onboard")
        self.socket.send(msgspec.msgpack.encode(CAMERA))
        threading.Thread(target=self._answer, daemon=True).start()
        wait(lambda: set(self.station.scenes.onboard.server.get_clients()) > self.before)

    def _answer(self):
        with contextlib.suppress(ConnectionClosed):
            for packed in self.socket:
                size, length = struct.unpack("<QQ", packed[:16])
                text = zstandard.ZstdDecompressor().decompress(packed[16 : 16 + length], max_output_size=size)
                if b"GetRenderRequestMessage" not in text:
                    continue
                for message in msgspec.msgpack.decode(text)["messages"]:
                    if message["type"] == "GetRenderRequestMessage":
                        self.asked += 1
                        answer = {"payload": self.payload, "render_uuid": message["render_uuid"]}
                        self.socket.send(msgspec.msgpack.encode({"type": "GetRenderResponseMessage", **answer}))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        wait(lambda: set(self.station.scenes.onboard.server.get_clients()) <= self.before)


def test_only_the_browser_of_the_pilot_draws_the_picture(station):
    """A guest whose view is older is not asked; what it sends is rejected."""
    with Tab(station) as pilot, Tab(station) as guest, OnBoard(guest, png((1280, 720))) as other:
        pilot.say(type="picture")
        assert "show it first" in pilot.hear("picture")["problem"] and other.asked == 0
        with OnBoard(pilot, png((1280, 720))) as own:
            pilot.say(type="picture")
            assert Path(pilot.hear("picture")["file"]).read_bytes()[:4] == b"\x89PNG"
            assert (own.asked, other.asked) == (1, 0)
            count = station.gate.rejected.counts["scene"]
            answer = {"type": "GetRenderResponseMessage", "payload": png((1280, 720)), "render_uuid": "x"}
            other.socket.send(msgspec.msgpack.encode(answer))
            wait(lambda: station.gate.rejected.counts["scene"] > count)


PICTURES = {
    "EPS": EPS,
    "animation": png((1280, 720), frames=3),
    "another size": png((9000, 9000)),
    "damaged": png((1280, 720))[:80],
    "empty": b"",
}


@pytest.mark.parametrize("payload", PICTURES.values(), ids=PICTURES)
def test_a_picture_is_one_png_image_of_its_size(station, monkeypatch, payload):
    """Nothing else reaches the decoder of viser, and the pilot keeps the controls."""
    monkeypatch.setattr("hydromechs.station._station.PICTURE_WAIT", 0.5)
    opened = []
    monkeypatch.setattr("imageio.v3.imread", lambda *args, **kw: opened.append(args) or 1 / 0)
    with Tab(station) as pilot, OnBoard(pilot, payload):
        pilot.say(type="picture")
        assert pilot.hear("picture")["problem"] and station.seats.steers(pilot.seat)
    assert not opened


def test_no_error_of_ours_ends_the_link_of_the_pilot(station, monkeypatch):
    """A bug, a full disk: the page stays connected, and no guest gets the controls."""
    full = OSError(28, "No space left on device")

    def fails(*_, **__):
        raise full

    with Tab(station) as pilot, Tab(station) as guest, pilot.scene() as scene:
        guest.say(type="ask")
        monkeypatch.setattr(station, "_write", fails)
        pilot.say(type="save", scenario="little", changes={})
        assert "No space" in pilot.hear("checked")["problems"][0]
        monkeypatch.setattr(station.session, "scale", fails)
        monkeypatch.setattr(station.session, "drag", fails)
        pilot.say(type="scale", value=2)
        scene.send(msgspec.msgpack.encode(HANDLE))
        monkeypatch.setattr(station, "_picture", lambda seat: {"type": "picture", "problem": "alive"})
        pilot.say(type="picture")
        assert pilot.hear("picture") and station.seats.steers(pilot.seat)
        monkeypatch.undo()
        scene.send(msgspec.msgpack.encode(HANDLE))
        wait(lambda: station.session.inputs.now.target == (3.0, 2.0, 1.0))
        pilot.say(type="operator", arm_mode="joints")
        wait(lambda: station.session.inputs.now.target is None)


def test_guests_do_not_take_the_seats_of_open_pages(station, monkeypatch):
    """Many connections use up the stored seats of closed pages only; with all seats taken, there is no new one."""
    monkeypatch.setattr("hydromechs.station._gate.MOST_SEATS", 3)
    monkeypatch.setattr(station.gate, "_given", [])
    with Tab(station) as pilot:
        for _ in range(8):
            with Tab(station):
                pass
        with pilot.scene(), Tab(station), Tab(station):
            full = connect(station.url.replace("http", "ws") + "link/new", proxy=None)
            with pytest.raises(ConnectionClosed, match="all seats are taken"):
                full.recv(timeout=10)
        assert pilot.seat in station.gate._given and len(station.gate._given) == 3


def test_scenes_are_for_those_who_have_a_seat(station):
    for seat in ("0123456789abcdef", "new", "", "x" * 2000):
        with pytest.raises(REJECTED):
            connect(station.url.replace("http", "ws") + f"outside/{seat}", subprotocols=PROTOCOL, proxy=None)


NUMBERS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    "1" + "0" * 400,
    "9" * 5000,
    "1e308",
    "1e-308",
    "-1",
    "null",
    '"1"',
    "[]",
]


@pytest.mark.parametrize(
    "message",
    [
        '{"type": "operator", "axes": [%s, 0, 0, 0, 0, 0]}',
        '{"type": "operator", "arm_axes": [%s, 0, 0, 0, 0, 0]}',
        '{"type": "operator", "arm": %s}',
        '{"type": "scale", "value": %s}',
        '{"type": "delay", "delay": 1, "message_time": %s}',
    ],
)
def test_numbers_that_are_none_leave_a_run_that_continues(station, message):
    """Accepted messages must run; frames stay JSON, whose numbers are finite."""
    with Tab(station) as tab:
        for number in NUMBERS:
            tab.socket.send(message.replace("%s", number))
        tab.say(type="delay", delay=None)
        tab.say(type="scale", value=1)
        tab.say(type="start")
        wait(lambda: station.session.status["running"])
        t = station.session.snapshot.t
        wait(lambda: station.session.snapshot.t > t + 0.05)
        tab.say(type="pause")
        wait(lambda: not station.session.status["running"])
        frame = json.loads(station.frame()[1] + "}", parse_constant=pytest.fail)
        assert frame["status"]["problem"] == "" and math.isfinite(frame["hud"]["depth"])


@pytest.mark.parametrize(
    "changes",
    [
        '"position": [%s, 0, 0]',
        '"current": [%s, 0, 0]',
        '"heading_deg": %s',
        '"bandwidth": %s',
        '"wave_period": %s',
        '"seed": %s',
    ],
)
def test_hostile_numbers_configure_nothing(station, changes):
    """The station rejects the message, or answers with what is wrong; the same scenario is flown."""
    configured, run = station.session.configured, station.session.snapshot.run
    numbers = [x for x in NUMBERS if x not in ("-1", "null", "1e-308")]
    with Tab(station) as tab:
        for number in numbers:
            changed = changes.replace("%s", number)
            tab.socket.send(f'{{"type": "configure", "scenario": "little", "changes": {{{changed}}}}}')
        tab.socket.send('{"type": "configure", "scenario": "no such", "changes": {}}')
        answers = []
        while not any("no such" in problem for problem in answers):
            message = json.loads(tab.socket.recv(timeout=20))
            if message["type"] == "checked":
                assert message["problems"]
                answers += message["problems"]
        assert station.session.configured is configured and station.session.snapshot.run == run


def test_hostile_numbers_from_a_scene_change_nothing(station):
    with Tab(station) as tab, tab.scene() as scene:
        before, count = station.session.inputs.now, station.gate.rejected.counts["scene"]
        bad = [math.nan, math.inf, -math.inf, 1e300, 2**62, -(2**62), "1", None, [], True, b"1"]
        for x in bad:
            scene.send(msgspec.msgpack.encode({**HANDLE, "position": [x, 0.0, 0.0]}))
        for name in ("/world", "/world/handle/..", "", "x" * 10_000):
            scene.send(msgspec.msgpack.encode({**HANDLE, "name": name}))
        wait(lambda: station.gate.rejected.counts["scene"] - count == len(bad) + 4)
        assert station.session.inputs.now == before


def test_a_model_page_takes_controls_only(model_page):
    """No tunnel to other machines, no files, no properties but the value of a control."""
    q = model_page.q.copy()
    address = model_page.url.replace("http", "ws")
    slider = next(iter(model_page.server.gui._gui_input_handle_from_uuid.values()))
    uuid = slider._impl.uuid
    bad = [
        {"type": "ShareUrlRequest"},
        {"type": "FileTransferStartUpload", "source_component_uuid": uuid, "filename": "x", "mime_type": "x"},
        {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"_markdown": "<script>", "value": 1}},
        {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"label": "<b>"}},
        {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": math.nan}},
        {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": 1e300}},
        {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": {"a": 1}}},
        {"type": "GuiUpdateMessage", "uuid": uuid},
        {"type": "BackgroundImageMessage"},
        dict(HANDLE),
    ]
    count = model_page.gate.rejected.counts["scene"]
    with connect(address, subprotocols=PROTOCOL, max_size=None, proxy=None) as page:
        for message in bad:
            page.send(msgspec.msgpack.encode(message))
        wait(lambda: model_page.gate.rejected.counts["scene"] - count == len(bad))
    assert (model_page.q == q).all() and model_page.server._share_tunnel is None


# -- sweeps ---------------------------------------------------------------------------------------------------------------


def greeting(wrap, stream):
    """Return what a scheduler of Dask says to whoever connects: its handshake, or nothing to strangers."""
    try:
        with wrap(stream) as joined:
            joined.sendall(bytes(8))
            return joined.recv(8)
    except (ssl.SSLError, ConnectionError):
        return b""


def test_a_local_process_cannot_join_the_cluster_of_a_sweep():
    """Whoever may talk to a Dask scheduler runs code on its workers; it listens on this machine only, with keys of its own."""
    distributed = pytest.importorskip("distributed", reason="needs pip install 'hydromechs[dask]'")
    from hydromechs.sweeps._dask import local_cluster

    with local_cluster(distributed, 1) as cluster:
        assert cluster.scheduler_address.startswith("tls://127.0.0.1:")
        port = int(cluster.scheduler_address.rpartition(":")[2])
        keyless = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # a client of TLS without this cluster's keys
        keyless.check_hostname, keyless.verify_mode = False, ssl.CERT_NONE
        for wrap in (lambda stream: stream, keyless.wrap_socket):
            with socket.create_connection(("127.0.0.1", port), timeout=5) as stream:
                assert greeting(wrap, stream) == b""
        page = request("/info/main/workers.html", more="Connection: close\r\n")
        assert b"404" in raw(cluster.scheduler.http_server.port, page), "its page of status tells nothing"
        with distributed.Client(cluster) as client:
            assert client.submit(lambda: 7).result() == 7


def test_nothing_listens_beyond_this_machine(station, model_page, replay_page):
    """All sockets of this process that listen are on 127.0.0.1."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc")
    own = set()
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the folder itself was open
            own.add(str(link.readlink()))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [r[1] for r in rows if r[3] == "0A" and f"socket:[{r[9]}]" in own]
    assert listening and all(address.startswith("0100007F:") for address in listening)
