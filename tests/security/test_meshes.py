"""Mesh files: no image is decoded for any of them, and small files do not grow to gigabytes."""

import json
import struct

import numpy as np
import PIL.Image
import pytest
import trimesh

from hydromechs.geometry import _mesh_checks as checks
from hydromechs.geometry import read_mesh
from hydromechs.viewer._solids import mesh_file

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"
"""Pillow starts Ghostscript for this."""
OBJ = """mtllib {0}
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
vt 0 0
vt 1 0
vt 0 1
usemtl a
f 1/1 3/2 2/3
f 1/1 2/2 4/3
f 1/1 4/2 3/3
f 2/1 3/2 4/3
"""
PLY = """ply
format ascii 1.0
comment TextureFile t.eps
element vertex 3
property float x
property float y
property float z
property float s
property float t
element face 1
property list uchar int vertex_indices
end_header
0 0 0 0 0
1 0 0 1 0
0 1 0 0 1
3 0 1 2
"""
DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="1" name="m"/></asset>
<library_images><image id="i" name="i"><init_from>t.eps</init_from></image></library_images>
<library_effects><effect id="e"><profile_COMMON>
<newparam sid="s"><surface type="2D"><init_from>i</init_from></surface></newparam>
<newparam sid="n"><sampler2D><source>s</source></sampler2D></newparam>
<technique sid="c"><lambert>
<emission><texture texture="n" texcoord="UV"/></emission><diffuse>{diffuse}</diffuse></lambert>
<extra><technique profile="F"><bump><texture texture="n" texcoord="UV"/></bump></technique></extra></technique>
</profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh><source id="p">
<float_array id="pa" count="9">0 0 0 1 0 0 0 1 0</float_array><technique_common>
<accessor source="#pa" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="1" material="k"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries><library_nodes>{nodes}</library_nodes>
<library_visual_scenes><visual_scene id="s"><node id="root">{scene}</node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
PLACED = """<instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="k" target="#m"/></technique_common></bind_material></instance_geometry>"""


def dae(path, *, nodes="", scene=PLACED, diffuse='<texture texture="n" texcoord="UV"/>'):
    path.write_text(DAE.format(nodes=nodes, scene=scene, diffuse=diffuse))
    return path


def glb(path, change=lambda header: None):
    """Write a triangle with an EPS texture."""
    data = struct.pack("<3I", 0, 1, 2) + np.array([0, 0, 0, 1, 0, 0, 0, 1, 0], "<f4").tobytes()
    eps = EPS + b" " * (-len(EPS) % 4)
    header = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [1.0, 0.0, 0.0, 1.0], "baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}],
        "images": [{"bufferView": 2, "mimeType": "image/png"}],
        "accessors": [
            {"bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 0, "componentType": 5125, "count": 3, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 12},
            {"buffer": 0, "byteOffset": 12, "byteLength": 36},
            {"buffer": 0, "byteOffset": 48, "byteLength": len(EPS)},
        ],
        "buffers": [{"byteLength": 48 + len(EPS)}],
    }
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    data += eps
    chunks = struct.pack("<I", len(text)) + b"JSON" + text + struct.pack("<I", len(data)) + b"BIN\0" + data
    path.write_bytes(b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks)
    return path


def obj(path, material="a.mtl"):
    path.write_text(OBJ.format(material))
    (path.parent / "a.mtl").write_text("newmtl a\nKd 1 0 0\nmap_Kd t.eps\nmap_Kd b.mtl\n")
    (path.parent / "b.mtl").write_bytes(EPS)
    return path


def ply(path):
    path.write_text(PLY)
    return path


WRITERS = {"obj": obj, "ply": ply, "dae": dae, "glb": glb}


@pytest.fixture
def opened(monkeypatch):
    """Images that are opened."""
    seen = []

    def record(file, *args, **kwargs):
        seen.append(file)
        raise ValueError("an image")

    monkeypatch.setattr(PIL.Image, "open", record)
    return seen


@pytest.mark.parametrize("kind", WRITERS)
def test_no_image_is_decoded_for_a_mesh(tmp_path, opened, kind, caplog):
    (tmp_path / "t.eps").write_bytes(EPS)
    path = WRITERS[kind](tmp_path / f"m.{kind}")
    (part, color), *_ = mesh_file(path)
    assert len(part.faces) and opened == []
    assert color == {"obj": (1, 0, 0), "glb": (1, 0, 0), "dae": (1, 1, 1)}.get(kind, color)
    assert not caplog.records


def test_a_material_that_is_an_image_is_no_image(tmp_path, opened):
    obj(tmp_path / "m.obj", "t.eps")
    (tmp_path / "t.eps").write_bytes(EPS)
    assert read_mesh(tmp_path / "m.obj") and opened == []


def test_colours_of_collada_survive_the_checks(tmp_path):
    (_, color), *_ = mesh_file(dae(tmp_path / "m.dae", diffuse="<color>0.2 0.4 0.6 1</color>"))
    assert color == pytest.approx((0.2, 0.4, 0.6), abs=1 / 255)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_collada_in_any_encoding_without_document_types(tmp_path, encoding):
    text = DAE.format(nodes="", scene=PLACED, diffuse="<color>1 1 1 1</color>").replace('"1.0"', f'"1.0" encoding="{encoding}"')
    (tmp_path / "m.dae").write_bytes(text.encode(encoding))
    assert len(read_mesh(tmp_path / "m.dae")) == 1
    (tmp_path / "m.dae").write_bytes(text.replace("?><", '?><!DOCTYPE a [<!ENTITY b "c">]><').encode(encoding))
    with pytest.raises(ValueError, match="document type"):
        read_mesh(tmp_path / "m.dae")


def doubling(k):
    """Nodes of Collada, each of which places the one before twice."""
    nodes = '<node id="n0"><instance_geometry url="#g"/></node>'
    for i in range(1, k + 1):
        nodes += f'<node id="n{i}">' + f'<instance_node url="#n{i - 1}"/>' * 2 + "</node>"
    return {"nodes": nodes, "scene": f'<instance_node url="#n{k}"/>'}


def many_vertices(header):
    header["accessors"][0] = {"componentType": 5126, "count": 10**8, "type": "VEC3"}


def placed_often(header):
    header["meshes"][0]["primitives"] *= 100
    header["nodes"] += [{"children": [0] * 5000}]
    header["scenes"][0]["nodes"] = [1]


def strided(header):
    header["bufferViews"][1] = {"buffer": 0, "byteOffset": 0, "byteLength": 124, "byteStride": 1}
    header["accessors"] += [{"bufferView": 1, "componentType": 5126, "count": 60, "type": "MAT4"}] * 100


@pytest.mark.parametrize("change", [many_vertices, placed_often, strided])
def test_small_glb_files_stay_small(tmp_path, monkeypatch, change):
    monkeypatch.setattr(checks, "MAX_COPIED", 50_000)
    with pytest.raises(ValueError, match="compressed or sparse|the maxima are|repeat"):
        read_mesh(glb(tmp_path / "m.glb", change))


def test_small_collada_files_stay_small(tmp_path):
    assert len(read_mesh(dae(tmp_path / "m.dae", **doubling(6)))) == 64
    with pytest.raises(ValueError, match="33554432 parts with 100663296 vertices"):
        read_mesh(dae(tmp_path / "m.dae", **doubling(25)))


def test_nodes_that_place_each_other(tmp_path):
    nodes = '<node id="a"><instance_node url="#b"/></node><node id="b"><instance_node url="#a"/></node>'
    with pytest.raises(ValueError, match="cannot be read"):
        read_mesh(dae(tmp_path / "m.dae", nodes=nodes, scene='<instance_node url="#a"/>'))


def test_a_large_mesh_is_read(tmp_path, monkeypatch):
    """Counted vertices are those that trimesh makes."""
    for kind in ("glb", "dae"):
        scene = trimesh.Scene([trimesh.creation.icosphere(3), trimesh.creation.box()])
        path = tmp_path / f"m.{kind}"
        path.write_bytes(scene.export(file_type="glb") if kind == "glb" else trimesh.exchange.dae.export_collada(scene.dump()))
        assert sum(len(part.faces) for part in read_mesh(path)) == 1280 + 12
        monkeypatch.setattr(checks, "MAX_VERTICES", 100)
        with pytest.raises(ValueError, match="the maxima are"):
            read_mesh(path)
        monkeypatch.undo()
