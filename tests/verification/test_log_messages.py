"""Logs of messages: small MCAP files and bags are read as the same table, and what is wrong with them is named."""

import json
import math

import numpy as np
import pytest

from hydromechs.identification import validation

TIMES = 1_700_000_000.0 + 0.05 * np.arange(40)
MCAP, BAGS = (f"needs pip install 'hydromechs[{extra}]'" for extra in ("mcap", "rosbags"))
COLUMNS = {"x_ori": "orientation.x", "w_ori": "orientation.w", "x_angvel": "angular_velocity.x"}


def expected(k):
    """Half the roll, and its rate, of sample k."""
    return math.sin(0.1 * k), 0.3 * math.cos(0.2 * k)


def check(log):
    """Times of the messages' own clock, columns by the names of the study."""
    np.testing.assert_allclose(log.time, TIMES, atol=1e-6)
    data = log.dataset()
    np.testing.assert_allclose(data.x_ori.values, [expected(k)[0] for k in range(40)], atol=1e-12)
    np.testing.assert_allclose(data.x_angvel.values, [expected(k)[1] for k in range(40)], atol=1e-12)


def nanoseconds(t):
    return round(t * 1e9)


# -- MCAP ---------------------------------------------------------------------------------------------------------------


def write_json(path):
    """An MCAP file of JSON messages of an IMU and of joints."""
    writer = pytest.importorskip("mcap.writer", reason=MCAP).Writer(str(path))
    writer.start()
    schema = writer.register_schema("imu", "jsonschema", b"{}")
    imu, joints = (writer.register_channel(topic, "json", schema) for topic in ("/imu", "/joints"))
    for k, t in enumerate(TIMES):
        x, p = expected(k)
        stamp = {"sec": int(t), "nanosec": nanoseconds(t - int(t))}
        message = {
            "header": {"stamp": stamp},
            "orientation": {"x": x, "w": math.sqrt(1.0 - x * x)},
            "angular_velocity": {"x": p},
        }
        late = nanoseconds(t + 0.2)
        writer.add_message(imu, late, json.dumps(message).encode(), late)
        writer.add_message(joints, late, json.dumps({"name": ["base", "elbow"], "position": [0.0, 0.01 * k]}).encode(), late)
    writer.finish()
    return path


def test_mcap_of_json(tmp_path):
    path = write_json(tmp_path / "a.mcap")
    check(validation.read_log(path, "header.stamp", topic="/imu", columns=COLUMNS))
    logged = validation.read_log(path, topic="/imu", columns=COLUMNS)
    np.testing.assert_allclose(logged.time, TIMES + 0.2, atol=1e-6)


def test_joints_by_name_and_by_number(tmp_path):
    path = write_json(tmp_path / "a.mcap")
    log = validation.read_log(path, topic="/joints", columns={"named": "position.elbow", "second": "position.1"})
    np.testing.assert_allclose(log.column("named"), 0.01 * np.arange(40), atol=1e-12)
    np.testing.assert_array_equal(log.column("named"), log.column("second"))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"topic": "/imv", "columns": COLUMNS}, "a.mcap: no topic is named '/imv'.*available: /imu, /joints"),
        ({"topic": "/imu", "columns": {"x": "orientation.q"}}, "no message of /imu has a number at 'orientation.q'"),
        ({"topic": "/imu"}, "topic or columns are missing"),
        ({"topic": "/imu", "columns": COLUMNS, "units": {"y": "deg"}}, "units: no column is named 'y'"),
    ],
)
def test_what_messages_do_not_have_is_named(tmp_path, asked, said):
    with pytest.raises((KeyError, ValueError), match=said):
        validation.read_log(write_json(tmp_path / "a.mcap"), **asked)


def test_a_cut_mcap_file_is_rejected(tmp_path):
    path = write_json(tmp_path / "a.mcap")
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(ValueError, match="a.mcap cannot be read as a log"):
        validation.read_log(path, topic="/imu", columns=COLUMNS)


# -- bags ---------------------------------------------------------------------------------------------------------------


def imu_messages(store, **more):
    """IMU messages of ROS; `more` goes into their headers."""
    types = store.types
    time, header = types["builtin_interfaces/msg/Time"], types["std_msgs/msg/Header"]
    quaternion, vector = types["geometry_msgs/msg/Quaternion"], types["geometry_msgs/msg/Vector3"]
    nothing, none = np.zeros(9), vector(x=0.0, y=0.0, z=0.0)
    for k, t in enumerate(TIMES):
        x, p = expected(k)
        yield (
            t,
            types["sensor_msgs/msg/Imu"](
                header=header(stamp=time(sec=int(t), nanosec=nanoseconds(t - int(t))), frame_id="imu", **more),
                orientation=quaternion(x=x, y=0.0, z=0.0, w=math.sqrt(1.0 - x * x)),
                orientation_covariance=nothing,
                angular_velocity=vector(x=p, y=0.0, z=0.0),
                angular_velocity_covariance=nothing,
                linear_acceleration=none,
                linear_acceleration_covariance=nothing,
            ),
        )


@pytest.mark.parametrize("storage", ["SQLITE3", "MCAP"])
def test_bags_of_ros_2(tmp_path, storage):
    """Of both storages; the MCAP file of the second is read on its own, too."""
    rosbag2, typesys = (pytest.importorskip(f"rosbags.{x}", reason=BAGS) for x in ("rosbag2", "typesys"))
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    path = tmp_path / "bag"
    with rosbag2.Writer(path, version=9, storage_plugin=rosbag2.StoragePlugin[storage]) as writer:
        connection = writer.add_connection("/imu", "sensor_msgs/msg/Imu", typestore=store)
        for t, message in imu_messages(store):
            writer.write(connection, nanoseconds(t + 0.2), store.serialize_cdr(message, "sensor_msgs/msg/Imu"))
    check(validation.read_log(path, "header.stamp", topic="/imu", columns=COLUMNS))
    with pytest.raises(KeyError, match="no topic is named '/imv'"):
        validation.read_log(path, topic="/imv", columns=COLUMNS)
    if storage == "MCAP":
        pytest.importorskip("mcap", reason=MCAP)
        (file,) = path.glob("*.mcap")
        check(validation.read_log(file, "header.stamp", topic="/imu", columns=COLUMNS))


@pytest.mark.parametrize("compression", [None, "BZ2"])
def test_bags_of_ros_1(tmp_path, compression):
    """As rosbags writes them, with joints beside the IMU, plain and compressed."""
    rosbag1, typesys = (pytest.importorskip(f"rosbags.{x}", reason=BAGS) for x in ("rosbag1", "typesys"))
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    path, joint_state = tmp_path / "a.bag", store.types["sensor_msgs/msg/JointState"]
    writer = rosbag1.Writer(path)
    if compression is not None:
        writer.set_compression(rosbag1.Writer.CompressionFormat[compression])
    with writer:
        imu, joints = (
            writer.add_connection(topic, f"sensor_msgs/msg/{kind}", typestore=store)
            for topic, kind in (("/imu", "Imu"), ("/joint_states", "JointState"))
        )
        for k, (t, message) in enumerate(imu_messages(store, seq=0)):
            writer.write(imu, nanoseconds(t + 0.2), store.serialize_ros1(message, "sensor_msgs/msg/Imu"))
            none = np.zeros(0)
            angles = joint_state(message.header, ["base", "elbow"], np.array([0.0, 0.01 * k]), none, none)
            writer.write(joints, nanoseconds(t + 0.2), store.serialize_ros1(angles, "sensor_msgs/msg/JointState"))
    check(validation.read_log(path, "header.stamp", topic="/imu", columns=COLUMNS))
    elbow = validation.read_log(path, topic="/joint_states", columns={"elbow": "position.elbow"})
    np.testing.assert_allclose(elbow.column("elbow"), 0.01 * np.arange(40), atol=1e-12)
    np.testing.assert_allclose(elbow.time, TIMES + 0.2, atol=1e-6)
    with pytest.raises(KeyError, match="no topic is named '/imv'.*available: /imu, /joint_states"):
        validation.read_log(path, topic="/imv", columns=COLUMNS)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(ValueError, match="a.bag cannot be read as a log"):
        validation.read_log(path, topic="/imu", columns=COLUMNS)
