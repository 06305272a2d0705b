// What scene.js uses of three.js, as one global. Built by: esbuild three.entry.js --bundle --minify --format=iife --global-name=THREE
export {
  WebGLRenderer, Scene, PerspectiveCamera, Group, Mesh, InstancedMesh, BufferGeometry, BufferAttribute, MeshStandardMaterial,
  CylinderGeometry, ConeGeometry, LineSegments, LineBasicMaterial, Line, HemisphereLight, DirectionalLight, Fog, Color, Vector3,
  Quaternion, Matrix4, CanvasTexture, RepeatWrapping, SRGBColorSpace, FrontSide, DoubleSide, PCFShadowMap,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
