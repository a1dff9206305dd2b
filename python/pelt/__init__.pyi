"""Types of the public functions; python/tools/stubs.py writes this file."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float32]
Path = str | os.PathLike[str]
Source = Model | Path | Sequence[Path] | ArrayLike | tuple[ArrayLike, ArrayLike]
Progress = Callable[[str, float], object] | Literal[False] | None

__version__: str

class Binding:
    def __init__(
        self,
        source: Source,
        skeleton: Source | None = None,
        *,
        threads: int | None = None,
        memory_limit: int | None = None,
        progress: Progress = None,
        method: Literal['heat', 'geodesic', 'surface', 'closest', 'hierarchy'] | None = None,
        resolution: int | None = None,
        max_voxels: int | None = None,
        separate: bool | None = None,
        max_resolution: int | None = None,
        grid: str | Iterable[str] | None = None,
        views: str | Iterable[str] | None = None,
        distance: Literal['isotropic', 'paper'] | None = None,
        fit: bool | None = None,
        no_fit: bool | None = None,
        joints: Literal['weighted', 'all'] | None = None,
        exclude: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        falloff: float | None = None,
        falloffs: str | Iterable[str] | None = None,
        paint: str | Iterable[str] | None = None,
        curve: Literal['paper', 'sharp'] | None = None,
        influences: int | None = None,
        prune: float | None = None,
        smooth: int | None = None,
        mirror: Literal['off', 'x', 'y', 'z'] | None = None,
        rigid_parts: Literal['auto', 'off'] | None = None,
        rigid: str | Iterable[str] | None = None,
        lock: str | Iterable[str] | None = None,
        preset: Literal['voxel2013'] | None = None,
    ) -> None: ...
    def apply(
        self,
        *,
        vertex_falloff: ArrayLike | None = None,
        pose: ArrayLike | None = None,
        method: Literal['heat', 'geodesic', 'surface', 'closest', 'hierarchy'] | None = None,
        resolution: int | None = None,
        max_voxels: int | None = None,
        separate: bool | None = None,
        max_resolution: int | None = None,
        grid: str | Iterable[str] | None = None,
        views: str | Iterable[str] | None = None,
        distance: Literal['isotropic', 'paper'] | None = None,
        fit: bool | None = None,
        no_fit: bool | None = None,
        joints: Literal['weighted', 'all'] | None = None,
        exclude: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        falloff: float | None = None,
        falloffs: str | Iterable[str] | None = None,
        paint: str | Iterable[str] | None = None,
        curve: Literal['paper', 'sharp'] | None = None,
        influences: int | None = None,
        prune: float | None = None,
        smooth: int | None = None,
        mirror: Literal['off', 'x', 'y', 'z'] | None = None,
        rigid_parts: Literal['auto', 'off'] | None = None,
        rigid: str | Iterable[str] | None = None,
        lock: str | Iterable[str] | None = None,
        preset: Literal['voxel2013'] | None = None,
    ) -> Model: ...
    @property
    def report(self) -> dict[str, Any]: ...

class CancelledError(Error): ...

class Error(Exception): ...

class InputError(Error, ValueError): ...

class Jiggle:
    def __init__(
        self,
        rig: Source,
        *,
        gravity: Sequence[float] | None = (0, 0, 0),
        wind: Sequence[float] = (0, 0, 0),
        drag: float = 0.0,
        maps: Mapping[str, ArrayLike] | None = None,
        colliders: Iterable[Mapping[str, Any]] = (),
        threads: int | None = None,
        cells: int | None = None,
        particles: int | None = None,
        weights: Literal['skin', 'lattice', 'iterated'] | None = None,
        blend: Literal['centres', 'polar'] | None = None,
        volume_field: Literal['gradient', 'boundary'] | None = None,
        volume: float | None = None,
        stiffness: float | None = None,
        regions: Literal['skin', 'rest'] | None = None,
        delta: float | None = None,
        softness: Literal['thickness', 'even'] | None = None,
        bone_radius: float | None = None,
        frequency: float | None = None,
        damping: float | None = None,
        region_damping: float | None = None,
        max_distance: float | None = None,
        teleport: float | None = None,
        substep: float | None = None,
        preset: Literal['lattice2011'] | None = None,
    ) -> None: ...
    def set_pose(self, locals: ArrayLike, weights: ArrayLike | None = None) -> None: ...
    def step(
        self,
        seconds: float,
        out: Floats | None = None,
        *,
        normals: Floats | None = None,
    ) -> Floats: ...
    def reset(self) -> None: ...
    def set_forces(
        self,
        gravity: Sequence[float] | None = (0, 0, 0),
        wind: Sequence[float] = (0, 0, 0),
        drag: float = 0.0,
    ) -> None: ...
    def set_maps(self, maps: Mapping[str, ArrayLike] | None) -> None: ...
    @property
    def lattice(self) -> tuple[NDArray[np.uint32], Floats]: ...

class Model:
    report: dict[str, Any]
    @property
    def rest(self) -> Floats | None: ...
    @property
    def normals(self) -> Floats | None: ...
    @property
    def uvs(self) -> Floats | None: ...
    @property
    def triangles(self) -> NDArray[np.uint32] | None: ...
    @property
    def points(self) -> NDArray[np.uint32] | None: ...
    @property
    def joint_names(self) -> list[str]: ...
    @property
    def parents(self) -> NDArray[np.int64] | None: ...
    @property
    def joint_rest(self) -> Floats | None: ...
    @property
    def joints(self) -> NDArray[np.uint16] | None: ...
    @property
    def weights(self) -> Floats | None: ...
    @property
    def bone_joints(self) -> NDArray[np.uint32] | None: ...
    @property
    def bone_names(self) -> list[str]: ...
    @property
    def inverse_binds(self) -> Floats | None: ...
    @property
    def morph_names(self) -> list[str]: ...
    @property
    def motions(self) -> list[tuple[str, float, float]]: ...
    @property
    def clips(self) -> list[str]: ...
    def times(self, clip: int = 0) -> Floats: ...
    def positions(self, clip: int = 0, first: int = 0, count: int | None = None) -> Floats: ...
    @property
    def differences(self) -> list[dict[str, float]]: ...
    @property
    def error(self) -> float | None: ...
    def evaluate(
        self,
        frame: int | slice | Sequence[int] | None = None,
        *,
        time: float | ArrayLike | None = None,
        motion: int | str | None = 0,
        clip: int = 0,
        normals: bool = False,
        skinning: Literal["linear", "dual"] = 'linear',
    ) -> Any: ...
    def sample(self, time: float | ArrayLike | None = None, *, motion: int | str | None = 0) -> Floats: ...
    def palette(self, time: float | ArrayLike | None = None, *, motion: int | str | None = 0) -> Floats: ...
    @property
    def transforms(self) -> Floats: ...
    def pose(
        self,
        locals: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        normals: bool = False,
        skinning: Literal["linear", "dual"] = 'linear',
    ) -> Any: ...
    def morph_weights(self, locals: ArrayLike) -> Floats: ...
    def save(
        self,
        path: Path,
        *,
        clip: int | None = None,
        fps: float | None = None,
        motion: int | None = None,
        motion_fps: float | None = None,
        replace: bool | None = None,
        weights_format: Literal['f32', 'u16', 'u8'] | None = None,
        ply: Literal['binary', 'big-endian', 'ascii'] | None = None,
        order: Literal['kept', 'skin'] | None = None,
        one_object: bool | None = None,
        sparse: bool | None = None,
        skip_clips: bool | None = None,
        player_influences: int | None = None,
        normals: ArrayLike | None = None,
        compress: bool | None = None,
        compress_error: float | None = None,
        plain: bool | None = None,
        target: Literal['any', 'unreal', 'unity', 'maya'] | None = None,
        keep_order: bool | None = None,
    ) -> None: ...

class OutOfMemoryError(Error, MemoryError): ...

class OutputError(Error, OSError): ...

class Prepared:
    def __init__(self, model: Model, *, threads: int | None = 1) -> None: ...
    def run(
        self,
        palette: ArrayLike,
        out: Floats | None = None,
        *,
        normals: Floats | None = None,
    ) -> Floats: ...

class UnsupportedError(Error): ...

class UsageError(Error, ValueError): ...

def bind(
    source: Source,
    skeleton: Source | None = None,
    *,
    vertex_falloff: ArrayLike | None = None,
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: Progress = None,
    method: Literal['heat', 'geodesic', 'surface', 'closest', 'hierarchy'] | None = None,
    resolution: int | None = None,
    max_voxels: int | None = None,
    separate: bool | None = None,
    max_resolution: int | None = None,
    grid: str | Iterable[str] | None = None,
    views: str | Iterable[str] | None = None,
    distance: Literal['isotropic', 'paper'] | None = None,
    fit: bool | None = None,
    no_fit: bool | None = None,
    joints: Literal['weighted', 'all'] | None = None,
    exclude: str | Iterable[str] | None = None,
    only: str | Iterable[str] | None = None,
    falloff: float | None = None,
    falloffs: str | Iterable[str] | None = None,
    paint: str | Iterable[str] | None = None,
    curve: Literal['paper', 'sharp'] | None = None,
    influences: int | None = None,
    prune: float | None = None,
    smooth: int | None = None,
    mirror: Literal['off', 'x', 'y', 'z'] | None = None,
    rigid_parts: Literal['auto', 'off'] | None = None,
    rigid: str | Iterable[str] | None = None,
    lock: str | Iterable[str] | None = None,
    preset: Literal['voxel2013'] | None = None,
) -> Model: ...

def compare(a: Model | ArrayLike, b: Model | ArrayLike, triangles: ArrayLike | None = None) -> dict[str, float]: ...

def compare_weights(a: Model, b: Model) -> dict[str, float]: ...

def correct(
    rig: Source,
    target: ArrayLike | None = None,
    *,
    motion: int | str | None = 0,
    times: ArrayLike | None = None,
    fps: float = 30.0,
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: Progress = None,
    rank: int | None = None,
    error: float | None = None,
    basis: Literal['skinned', 'rest'] | None = None,
    sweeps: int | None = None,
    normals: ArrayLike | None = None,
    normal_rank: int | None = None,
    normal_rule: Literal['matrix', 'inverse'] | None = None,
) -> Model: ...

def decompose(
    source: Source,
    triangles: ArrayLike | None = None,
    *,
    times: ArrayLike | None = None,
    fps: float = 30.0,
    normals: ArrayLike | None = None,
    uvs: ArrayLike | None = None,
    rig: Model | None = None,
    given_motion: bool = False,
    given_weights: bool = False,
    rest_positions: ArrayLike | None = None,
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: Progress = None,
    bones: int | None = None,
    error: float | None = None,
    influences: int | None = None,
    transforms: Literal['affine', 'trs', 'rigid', 'similarity'] | None = None,
    effort: Literal['fast', 'default', 'best'] | None = None,
    iterations: int | None = None,
    tolerance: float | None = None,
    epsilon: float | None = None,
    reduce: Literal['svd', 'max', 'gram-schmidt', 'power1', 'power2', 'max-plain'] | None = None,
    memory: int | str | None = None,
    key_tolerance: float | None = None,
    seed_method: Literal['split', 'regions'] | None = None,
    smooth: float | None = None,
    fixed_rest: bool | None = None,
    free_rest: bool | None = None,
    free_bones: bool | None = None,
    refine: bool | None = None,
    add: int | None = None,
    lock_bones: str | Iterable[str] | None = None,
    lock_vertices: str | Iterable[str] | None = None,
    hierarchy: bool | None = None,
    published: bool | None = None,
    method: Literal['fesam', 'sma'] | None = None,
    rotation_tolerance: float | None = None,
    weight_solver: Literal['nnls', 'tsvd', 'bounded'] | None = None,
    min_weight: float | None = None,
    color_clusters: bool | None = None,
    preset: Literal['fesam2010', 'sma2005'] | None = None,
    corrections: int | None = None,
    rounds: int | None = None,
    weights_format: Literal['f32', 'u16', 'u8'] | None = None,
) -> Model: ...

def eigenskin(
    rig: Source,
    examples: Iterable[tuple[ArrayLike, ArrayLike]],
    *,
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: Progress = None,
    support: float | None = None,
    modes: int | None = None,
    error: float | None = None,
    max_per_vertex: int | None = None,
    normals: ArrayLike | None = None,
    kernel: Literal['exponential', 'gaussian', 'thin-plate', 'auto'] | None = None,
    radius: float | None = None,
    split: bool | None = None,
    regularise: float | None = None,
    exact: bool | None = None,
    interpolate: bool | None = None,
    coupled: bool | None = None,
    refit_weights: bool | None = None,
    against: str | Iterable[str] | None = None,
    centres: int | None = None,
    preset: Literal['eigenskin2002'] | None = None,
) -> Model: ...

def jiggle(
    rig: Source,
    *,
    into: Literal["clips", "bones", "morphs"] = 'clips',
    count: int | None = 0,
    gravity: Sequence[float] | None = None,
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: Progress = None,
    cells: int | None = None,
    particles: int | None = None,
    weights: Literal['skin', 'lattice', 'iterated'] | None = None,
    blend: Literal['centres', 'polar'] | None = None,
    volume_field: Literal['gradient', 'boundary'] | None = None,
    volume: float | None = None,
    stiffness: float | None = None,
    regions: Literal['skin', 'rest'] | None = None,
    delta: float | None = None,
    softness: Literal['thickness', 'even'] | None = None,
    bone_radius: float | None = None,
    frequency: float | None = None,
    damping: float | None = None,
    region_damping: float | None = None,
    max_distance: float | None = None,
    teleport: float | None = None,
    substep: float | None = None,
    preset: Literal['lattice2011'] | None = None,
    fps: float | None = None,
    preroll: float | None = None,
    loop: bool | None = None,
    from_: float | None = None,
    to: float | None = None,
) -> Model: ...

def load(
    *paths: Path,
    data: bytes | bytearray | memoryview | None = None,
    name: str | None = None,
    threads: int | None = None,
    progress: Progress = None,
    fps: float | None = None,
    amc_fps: float | None = None,
    object: str | Iterable[str] | None = None,
    up: str | Iterable[str] | None = None,
    scale: str | Iterable[str] | None = None,
    join: str | Iterable[str] | None = None,
) -> Model: ...

def mesh(
    positions: ArrayLike,
    triangles: ArrayLike | None = None,
    *,
    normals: ArrayLike | None = None,
    uvs: ArrayLike | None = None,
    times: ArrayLike | None = None,
    fps: float = 30.0,
    name: str = 'clip',
) -> Model: ...

def simplify(
    source: Source,
    *,
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: Progress = None,
    ratio: float | None = None,
    error: float | None = None,
    poses: int | None = None,
    keep_positions: bool | None = None,
) -> Model: ...

def skeleton(
    names: Sequence[str],
    parents: ArrayLike,
    rest: ArrayLike | None = None,
    *,
    positions: ArrayLike | None = None,
    motions: Iterable[tuple[str, ArrayLike, ArrayLike]] | None = None,
) -> Model: ...

def skin(
    positions: ArrayLike,
    joints: ArrayLike,
    weights: ArrayLike,
    palette: ArrayLike,
    *,
    normals: ArrayLike | None = None,
    out: Floats | None = None,
    out_normals: Floats | None = None,
) -> Any: ...
