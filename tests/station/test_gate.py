"""The door of the station: the token, what a browser may say, who may steer. Plain sockets, no browser."""

import http.client
import json
import random
import socket

import msgspec
import pytest
import viser
from websockets.exceptions import InvalidHandshake, InvalidMessage
from websockets.sync.client import connect

from hydromechs.station import Station


@pytest.fixture(scope="module")
def station(catalog, tmp_path_factory):
    made = Station(catalog, "little", tmp_path_factory.mktemp("runs"), lost_after=1e6)
    yield made
    made.close()


class Tab:
    """A page's link."""

    def __init__(self, station, seat="new"):
        self.socket = connect(station.url.replace("http", "ws") + f"link/{seat}", max_size=None, proxy=None)
        self.hello = self.read("hello")

    def read(self, kind="frame"):
        while True:
            message = json.loads(self.socket.recv(timeout=10))
            if message["type"] == kind:
                return message

    def say(self, **message):
        self.socket.send(json.dumps(message))

    def until(self, condition):
        for _ in range(40):
            frame = self.read()
            if condition(frame):
                return frame
        raise AssertionError(f"it did not come true: {frame}")


def raw(station, text):
    """All bytes that come back for some bytes."""
    with socket.create_connection(("127.0.0.1", station.gate.port), timeout=5) as s:
        s.sendall(text.encode())
        out = b""
        try:
            while part := s.recv(4096):
                out += part
        except ConnectionResetError:
            pass
        return out


UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
)


@pytest.mark.parametrize(
    "path", ["/", "/station.js", "/link/new", "/outside/x", "/{wrong}/", "/{wrong}/link/new", "/x/{token}/", "/%2e%2e/{token}/"]
)
@pytest.mark.parametrize("headers", ["", UPGRADE])
def test_without_the_token_nothing_comes_back(station, path, headers):
    token = station.gate.token
    path = path.format(token=token, wrong=token[:-1] + ("A" if token[-1] != "A" else "B"))
    assert raw(station, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n") == b""


def test_with_the_token_the_page_comes_and_no_other_file(station):
    """Also not one that is on the disk beside the page."""
    assert raw(station, f"GET /{station.gate.token}/ HTTP/1.1\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 200")

    def get(path):
        connection = http.client.HTTPConnection("127.0.0.1", station.gate.port, timeout=10)
        connection.request("GET", f"/{station.gate.token}/{path}")
        answer = connection.getresponse()
        return answer.status, answer.read()

    for path, part in (
        ("", b"<title>HydroMechs"),
        ("station.js", b"gamepad"),
        ("station.css", b"#onboard"),
        ("instruments.css", b"#hud"),
        ("outside/abc", b"</head>"),
    ):
        status, body = get(path)
        assert status == 200 and part in body
    for path in ("scene.css", "../_gate.py", "%2e%2e/_gate.py", "outside/abc/../../x", "elsewhere/abc", "station.js/.."):
        assert get(path) == (404, b"")


def test_pages_of_other_sites_are_rejected(station):
    with pytest.raises((InvalidHandshake, InvalidMessage)):
        connect(station.url.replace("http", "ws") + "link/new", origin="http://evil.example", proxy=None)


def test_it_listens_on_this_machine_only_unless_told(station, monkeypatch):
    assert station.gate.host == "127.0.0.1" and station.url.startswith("http://127.0.0.1:")
    assert station.scenes.outside.server.get_host() == "127.0.0.1"
    assert len(station.gate.token) >= 20


def test_a_thousand_malformed_messages_leave_it_running(station, until):
    """On the link, some too fast, and on the viewer's socket; the pilot's next word still counts."""
    rng = random.Random(5)
    before = sum(station.gate.rejected.counts.values())
    tab = Tab(station)
    for k in range(720):
        kind = k % 4
        if kind == 0:
            tab.socket.send(rng.randbytes(rng.randrange(80)))
        elif kind == 1:
            tab.socket.send("".join(chr(rng.randrange(32, 300)) for _ in range(rng.randrange(80))))
        elif kind == 2:
            tab.say(
                type=rng.choice(["operator", "scale", "configure", "x", None]),
                axes=rng.choice([[9] * 6, "a", None, {}]),
                value=-1,
            )
        else:
            tab.say(type="operator", mode=rng.choice(["up", 3, None, [], {"a": 1}]))
    path = station.url.replace("http", "ws") + "outside/" + tab.hello["seat"]
    with connect(path, subprotocols=[f"viser-v{viser.__version__}"], max_size=None, proxy=None) as scene:
        scene.recv(timeout=10)
        for k in range(300):
            known = msgspec.msgpack.encode({"type": "ViewerCameraMessage", "wxyz": "abc" if k % 2 else [float("nan")]})
            scene.send(rng.randbytes(rng.randrange(1, 80)) if k % 3 else known)
    assert until(lambda: sum(station.gate.rejected.counts.values()) - before >= 1000)
    late = Tab(station)
    assert late.read()["status"]["problem"] == ""
    tab.socket.close()
    late.say(type="ask")
    late.until(lambda f: f["steers"])
    late.say(type="operator", mode="speed")
    late.until(lambda f: f["operator"]["mode"] == "speed")
    late.say(type="operator", mode="hold")
    late.until(lambda f: f["operator"]["mode"] == "hold")
    late.socket.close()


def test_only_who_steers_is_received(station, until):
    assert until(lambda: station.seats.view("")["seats"] == 0)
    pilot, watcher = Tab(station), Tab(station)
    watcher.say(type="operator", mode="manual")
    watcher.say(type="start")
    pilot.say(type="operator", axes=[0, 0, 0.25, 0, 0, 0])
    frame = pilot.until(lambda f: f["operator"]["axes"][2] == 0.25)
    assert frame["operator"]["mode"] == "hold" and not frame["status"]["running"] and frame["seats"] == 2
    watcher.say(type="ask")
    pilot.until(lambda f: f["asking"] == [watcher.hello["you"]])
    pilot.say(type="give")
    watcher.until(lambda f: f["steers"])
    watcher.say(type="start")
    watcher.until(lambda f: f["status"]["running"])
    watcher.say(type="pause")
    watcher.until(lambda f: not f["status"]["running"])
    for tab in (pilot, watcher):
        tab.socket.close()


def test_a_page_that_comes_back_has_its_seat_again(station, until):
    """Its scenes stay open; nobody else gets a seat that is taken, or one that was never given."""
    assert until(lambda: station.seats.view("")["seats"] == 0)
    tab = Tab(station)
    seat = tab.hello["seat"]
    other, made_up = Tab(station, seat), Tab(station, "0123456789abcdef")
    assert len({seat, other.hello["seat"], made_up.hello["seat"], "0123456789abcdef"}) == 4
    tab.socket.close()
    assert until(lambda: station.seats.view("")["seats"] == 2)
    back = Tab(station, seat)
    assert back.hello["seat"] == seat
    for each in (other, made_up, back):
        each.socket.close()


def test_a_scenario_is_changed_checked_and_saved(station, until, catalog):
    """Errors come back in words; a saved file is the scenario that is flown; its name is not the browser's."""
    assert until(lambda: station.seats.view("")["seats"] == 0)
    tab = Tab(station)
    tab.say(type="configure", scenario="little", changes={"position": [0, 0, "deep"]})
    assert "position" in tab.read("checked")["problems"][0]
    tab.say(type="configure", scenario="../little", changes={})
    assert "unknown scenario" in tab.read("checked")["problems"][0]
    tab.say(type="save", scenario="little", changes={"current": [0.2, 0, 0], "heading_deg": 90})
    saved = tab.read("saved")
    text = (station.session.folder / "little-piloted-1.yaml").read_text()
    assert saved["text"] == text and catalog.read(text, catalog.files["little"]).environment.current.velocity == (0.2, 0.0, 0.0)
    tab.say(type="configure", scenario="little", changes={"current": [0.2, 0, 0], "heading_deg": 90})
    assert tab.read("checked")["problems"] == []
    frame = tab.until(lambda f: f["hud"]["current"] == [0.2, 0.0, 0.0])
    assert frame["hud"]["heading"] == pytest.approx(90.0) and frame["t"] == 0.0
    tab.socket.close()
